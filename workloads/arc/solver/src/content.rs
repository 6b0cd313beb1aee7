use crate::set::Set;
use std::cell::{Cell, OnceCell};
use std::ops::Deref;
use std::rc::Rc;

/// The packed elements of a set, or where they come from until somebody looks at them.
///
/// A patch that is shifted, or gets another colour, is another set plus a number: programs make many such sets of
/// which they only ask the size, or which they throw away.
pub(crate) struct Content {
    items: OnceCell<Vec<u32>>,
    n: u32,
    /// Whose elements these are once the number is added.
    source: Cell<Option<Rc<Set>>>,
    added: u32,
}

/// Fewer elements than this are as fast made at once.
const N_LATER_MIN: usize = 24;

impl Content {
    /// The elements of a packed set with a number added to each.
    pub(crate) fn sum(set: &Rc<Set>, added: u32) -> Content {
        let content = set.packed().expect("only packed sets have a content").0;
        if content.len() < N_LATER_MIN {
            return content.iter().map(|x| x.wrapping_add(added)).collect();
        }
        // Sums of sums are sums of the first set, so that nothing in between need be kept.
        let first = content.with_source(|source| match source {
            Some(source) => (source.clone(), content.added.wrapping_add(added)),
            None => (set.clone(), added),
        });
        Content {
            items: OnceCell::new(),
            n: content.n,
            source: Cell::new(Some(first.0)),
            added: first.1,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.n as usize
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// The elements without keeping them, if they are not there yet.
    #[inline]
    pub(crate) fn for_each(&self, mut f: impl FnMut(u32)) {
        self.with_parts(|items, added| items.iter().for_each(|x| f(x.wrapping_add(added))));
    }

    /// Elements and the number to add to each.
    #[inline]
    pub(crate) fn with_parts<T>(&self, f: impl FnOnce(&[u32], u32) -> T) -> T {
        match self.items.get() {
            Some(items) => f(items, 0),
            None => self.with_source(|source| {
                let source = source.and_then(|s| s.packed()).expect(WITH_SOURCE).0;
                f(source, self.added)
            }),
        }
    }

    /// Where the elements come from and what is added, unless they are there.
    pub(crate) fn source(&self) -> Option<(Rc<Set>, u32)> {
        self.with_source(|source| source.map(|s| (s.clone(), self.added)))
    }

    fn with_source<T>(&self, f: impl FnOnce(Option<&Rc<Set>>) -> T) -> T {
        let source = self.source.take();
        let result = f(source.as_ref());
        self.source.set(source);
        result
    }

    #[cold]
    fn make(&self) -> Vec<u32> {
        let source = self.source.take().expect(WITH_SOURCE);
        let items = source.packed().expect(WITH_SOURCE).0.iter();
        items.map(|x| x.wrapping_add(self.added)).collect()
    }
}

const WITH_SOURCE: &str = "elements that are not there come from a packed set";

impl Deref for Content {
    type Target = [u32];

    #[inline]
    fn deref(&self) -> &[u32] {
        self.items.get_or_init(|| self.make())
    }
}

impl<'a> IntoIterator for &'a Content {
    type Item = &'a u32;
    type IntoIter = std::slice::Iter<'a, u32>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl From<Vec<u32>> for Content {
    fn from(items: Vec<u32>) -> Content {
        Content {
            n: items.len() as u32,
            items: OnceCell::from(items),
            source: Cell::new(None),
            added: 0,
        }
    }
}

impl FromIterator<u32> for Content {
    fn from_iter<I: IntoIterator<Item = u32>>(items: I) -> Content {
        Vec::from_iter(items).into()
    }
}
