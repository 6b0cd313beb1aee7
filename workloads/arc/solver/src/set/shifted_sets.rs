//! Moved copies of sets, and lists of such copies that are built at the first access.
//!
//! A program that tries a shape at every place of a grid makes thousands of copies and uses one.

use crate::primitives::collection::one_color;
use crate::primitives::patch;
use crate::set::Set;
use crate::set::rectangle_hash;
use crate::value::Value;
use crate::value::packed::{self, Bounds, ElementKind};
use std::borrow::Cow;
use std::cell::OnceCell;
use std::ops::{Deref, Range};
use std::rc::Rc;

/// Copies of packed sets, each moved by a step. No object is empty, and every moved element fits the packed range.
#[derive(Clone)]
pub(crate) struct Copies {
    objects: Vec<Rc<Set>>,
    moves: Vec<Move>,
}

#[derive(Clone, Copy)]
struct Move {
    object: u32,
    /// None for the object itself, whose order may differ from that of a copy moved by (0, 0).
    by: Option<(i32, i32)>,
}

impl Copies {
    /// One object moved by each of these steps.
    pub(crate) fn of_one(object: &Rc<Set>, steps: &[(i32, i32)]) -> Copies {
        let moves = steps.iter().map(|&by| Move { object: 0, by: Some(by) });
        Copies { objects: vec![object.clone()], moves: moves.collect() }
    }

    /// Objects as they are.
    pub(crate) fn themselves(objects: Vec<Rc<Set>>) -> Copies {
        let moves = (0..objects.len() as u32).map(|object| Move { object, by: None });
        Copies { moves: moves.collect(), objects }
    }

    /// The copies of all lists, if no copy in one list can equal a copy in another list.
    pub(crate) fn all_of(lists: &[Cow<Copies>]) -> Option<Copies> {
        let (mut objects, mut moves) = (Vec::<Rc<Set>>::new(), Vec::new());
        for list in lists {
            let may_be_equal = |a: &Rc<Set>| list.objects.iter().any(|b| may_be_moved(a, b));
            if objects.iter().any(may_be_equal) {
                return None;
            }
            let n_before = objects.len() as u32;
            objects.extend(list.objects.iter().cloned());
            moves.extend(list.moves.iter().map(|m| Move { object: n_before + m.object, by: m.by }));
        }
        Some(Copies { objects, moves })
    }

    /// Some of the copies.
    pub(crate) fn part(&self, at: Range<usize>) -> Copies {
        Copies { objects: self.objects.clone(), moves: self.moves[at].to_vec() }
    }

    /// Adds the copies of one more list; false if they are not of the same object.
    pub(crate) fn add(&mut self, more: &Copies) -> bool {
        let are_same = match (&self.objects[..], &more.objects[..]) {
            ([a], [b]) => Rc::ptr_eq(a, b),
            _ => false,
        };
        if are_same {
            self.moves.extend_from_slice(&more.moves);
        }
        are_same
    }

    pub(crate) fn len(&self) -> usize {
        self.moves.len()
    }

    /// The object, if there is only one.
    pub(crate) fn only_object(&self) -> Option<&Rc<Set>> {
        match &self.objects[..] {
            [object] => Some(object),
            _ => None,
        }
    }

    pub(crate) fn objects(&self) -> &[Rc<Set>] {
        &self.objects
    }

    /// The steps by which the objects are moved.
    pub(crate) fn steps(&self) -> impl Iterator<Item = (i32, i32)> + '_ {
        self.moves.iter().map(|m| m.by.unwrap_or((0, 0)))
    }

    /// The object of each copy, by its number, and what is added to its elements.
    pub(crate) fn sums(&self) -> impl Iterator<Item = (usize, u32)> + '_ {
        let added = |(di, dj): (i32, i32)| packed::step(di, dj);
        let sum = move |m: &Move| (m.object as usize, m.by.map_or(0, added));
        self.moves.iter().map(sum)
    }

    /// How many elements each copy has.
    pub(crate) fn sizes(&self) -> impl Iterator<Item = usize> + '_ {
        self.moves.iter().map(|m| self.object(m).len())
    }

    /// A copy.
    pub(crate) fn get(&self, k: usize) -> Value {
        self.made(&self.moves[k])
    }

    fn made(&self, m: &Move) -> Value {
        match m.by {
            Some((di, dj)) => patch::moved(self.object(m), di, dj),
            None => Value::Set(self.object(m).clone()),
        }
    }

    fn object(&self, m: &Move) -> &Rc<Set> {
        &self.objects[m.object as usize]
    }

    /// Python's hash of each copy.
    pub(crate) fn hashes(&self) -> Vec<u64> {
        let rectangles: Vec<Option<Rectangle>> =
            self.objects.iter().map(|o| Rectangle::of(o)).collect();
        let hash = |m: &Move| {
            let rectangle = rectangles[m.object as usize].as_ref();
            let hash = rectangle.zip(m.by).and_then(|(r, by)| r.hash(by));
            hash.unwrap_or_else(|| self.made(m).py_hash())
        };
        self.moves.iter().map(hash).collect()
    }
}

/// Up to this many plain sets are treated as copies.
const N_FEW: usize = 8;

/// Whether one set may be a moved copy of the other.
fn may_be_moved(a: &Set, b: &Set) -> bool {
    let sides = |set: &Set| (set.bounds().height(), set.bounds().width());
    a.len() == b.len() && a.kind() == b.kind() && sides(a) == sides(b)
}

/// An object that fills its bounds with one colour, or with places.
struct Rectangle {
    bounds: Bounds,
    color_bits: u32,
    kind: ElementKind,
}

impl Rectangle {
    fn of(object: &Set) -> Option<Rectangle> {
        let bounds = object.bounds();
        let (items, kind) = object.packed()?;
        let is_one = bounds.area() == items.len() && one_color(items);
        is_one.then(|| Rectangle { bounds, color_bits: items[0] & !packed::PLACE_MASK, kind })
    }

    fn hash(&self, (di, dj): (i32, i32)) -> Option<u64> {
        rectangle_hash::of(self.bounds.moved(di, dj), self.color_bits, self.kind)
    }
}

/// Values of any kind. Copies are built when the values are first accessed as a slice.
pub(crate) struct Listed {
    values: OnceCell<Vec<Value>>,
    copies: Option<Box<Copies>>,
}

impl Listed {
    pub(crate) fn len(&self) -> usize {
        match &self.copies {
            Some(copies) => copies.len(),
            None => self.deref().len(),
        }
    }

    /// The values as copies, if they are copies or a few packed sets.
    pub(crate) fn copies_or_few(&self) -> Option<Cow<'_, Copies>> {
        if let Some(copies) = self.copies() {
            return Some(Cow::Borrowed(copies));
        }
        let object = |v: &Value| match v {
            Value::Set(set) if !set.packed()?.0.is_empty() => Some(set.clone()),
            _ => None,
        };
        let few = Some(&**self).filter(|values| values.len() <= N_FEW)?;
        let objects = few.iter().map(object).collect::<Option<_>>()?;
        Some(Cow::Owned(Copies::themselves(objects)))
    }

    /// The values as copies, if they are copies that have not been built.
    pub(crate) fn copies(&self) -> Option<&Copies> {
        match self.values.get() {
            Some(_) => None,
            None => self.copies.as_deref(),
        }
    }

    /// One value; of a list of copies, only this copy is built.
    pub(crate) fn get(&self, k: usize) -> Value {
        match self.copies() {
            Some(copies) => copies.get(k),
            None => self[k].clone(),
        }
    }
}

impl Deref for Listed {
    type Target = [Value];

    #[inline]
    fn deref(&self) -> &[Value] {
        self.values.get_or_init(|| {
            let copies = self.copies.as_ref().expect("values are given or copies");
            copies.moves.iter().map(|m| copies.made(m)).collect()
        })
    }
}

impl From<Vec<Value>> for Listed {
    fn from(values: Vec<Value>) -> Listed {
        Listed { values: OnceCell::from(values), copies: None }
    }
}

impl From<Copies> for Listed {
    fn from(copies: Copies) -> Listed {
        Listed { values: OnceCell::new(), copies: Some(Box::new(copies)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::set;
    use crate::set::distinct;
    use crate::set_order::iteration_order::IterationOrder;

    fn object(items: Vec<u32>, kind: ElementKind) -> Rc<Set> {
        match set::packed(items, kind, IterationOrder::Sequence) {
            Value::Set(set) => set,
            _ => unreachable!("packed elements make a set"),
        }
    }

    fn rectangle(h: i32, w: i32, color: Option<i32>) -> Rc<Set> {
        let at = |k: i32| match color {
            Some(c) => packed::cell(c, k / w, k % w),
            None => packed::place(k / w, k % w),
        };
        let kind = match color {
            Some(_) => ElementKind::Cell,
            None => ElementKind::Place,
        };
        object((0..h * w).map(at).collect(), kind)
    }

    const STEPS: [(i32, i32); 5] = [(0, 0), (3, 4), (-2, 7), (60, 1), (-1, -1)];

    #[test]
    fn copies_have_the_hashes_and_sizes_of_the_sets_they_are() {
        let ragged = object(vec![packed::place(0, 0), packed::place(2, 5)], ElementKind::Place);
        let objects = [rectangle(3, 4, None), rectangle(6, 5, Some(3)), ragged];
        for object in objects {
            let copies = Copies::of_one(&object, &STEPS);
            let made: Vec<Value> = (0..copies.len()).map(|k| copies.get(k)).collect();
            let hashes: Vec<u64> = made.iter().map(Value::py_hash).collect();
            assert_eq!(copies.hashes(), hashes);
            assert!(copies.sizes().eq(made.iter().map(|v| v.len().unwrap())));
            // A set of copies equals the set of the built values.
            let of_copies = set::copies(copies, IterationOrder::Sequence).unwrap();
            let of_values = set::from_values(made).unwrap();
            let (kept, _) = distinct::sets(&[of_copies.clone(), of_values.clone()]).unwrap();
            assert_eq!(kept, [0], "fingerprints differ");
            assert_eq!(of_copies, of_values);
            assert_eq!(of_copies.weight(), of_values.weight());
            assert_eq!(of_copies.nesting(), of_values.nesting());
        }
    }

    #[test]
    fn lists_whose_copies_may_be_equal_are_not_put_together() {
        let of = |object: &Rc<Set>| Copies::of_one(object, &STEPS);
        let (wide, high, cells) =
            (rectangle(2, 3, None), rectangle(3, 2, None), rectangle(2, 3, Some(1)));
        let all_of = |lists: Vec<Copies>| {
            let lists: Vec<_> = lists.into_iter().map(Cow::Owned).collect();
            Copies::all_of(&lists)
        };
        let other = rectangle(1, 1, Some(1));
        let lists = vec![of(&wide), of(&high), of(&cells), Copies::themselves(vec![other.clone()])];
        let all = all_of(lists).unwrap();
        assert_eq!(all.len(), 16);
        assert!(matches!(all.get(15), Value::Set(set) if Rc::ptr_eq(&set, &other)));
        assert_eq!(all.hashes()[15], other.py_hash());
        assert!(all.only_object().is_none());
        assert_eq!(all.get(7), of(&high).get(2));
        assert_eq!(all.part(10..12).get(1), of(&cells).get(1));
        let again = rectangle(2, 3, None);
        assert!(all_of(vec![of(&wide), of(&again)]).is_none());
        assert!(all_of(vec![of(&wide), Copies::themselves(vec![again])]).is_none());
    }
}
