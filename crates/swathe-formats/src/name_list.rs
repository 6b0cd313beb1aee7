//! Many names in little memory: one buffer of text, and a table that finds a name in it.
//!
//! A run of a million items keeps the name of each. A `String` costs 24 bytes and an allocation
//! beside its text; a [`NameList`] costs eight bytes.
//!
//! ```
//! use swathe_formats::name_list::{NameIndex, NameList};
//!
//! let names: NameList = ["left", "right"].into_iter().collect();
//! assert_eq!((names.len(), &names[1]), (2, "right"));
//! let index = NameIndex::of(&names).expect("they are distinct");
//! assert_eq!(index.find(&names, "right"), Some(1));
//! ```

use std::hash::{BuildHasher as _, RandomState};
use std::ops::Index;

use hashbrown::HashTable;

/// Names in order, each found by its place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NameList {
    text: String,
    /// Where each name ends in the text.
    ends: Vec<u64>,
}

impl NameList {
    /// A list with room for so many names.
    pub fn with_capacity(n_names: usize) -> NameList {
        NameList { text: String::new(), ends: Vec::with_capacity(n_names) }
    }

    /// Adds a name at the end.
    pub fn push(&mut self, name: &str) {
        self.text.push_str(name);
        self.ends.push(self.text.len() as u64);
    }

    /// How many names there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The names in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> + Clone {
        (0..self.len()).map(|at| &self[at])
    }

    /// The names at these places.
    pub fn choose(&self, chosen: &[usize]) -> NameList {
        chosen.iter().map(|&at| &self[at]).collect()
    }

    /// The memory it occupies.
    pub fn size_bytes(&self) -> u64 {
        (self.text.capacity() + self.ends.capacity() * size_of::<u64>()) as u64
    }

    /// Releases the memory that more names would take.
    pub fn shrink_to_fit(&mut self) {
        self.text.shrink_to_fit();
        self.ends.shrink_to_fit();
    }
}

impl Index<usize> for NameList {
    type Output = str;

    fn index(&self, at: usize) -> &str {
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start as usize..self.ends[at] as usize]
    }
}

impl<S: AsRef<str>> FromIterator<S> for NameList {
    fn from_iter<I: IntoIterator<Item = S>>(names: I) -> NameList {
        let mut list = NameList::default();
        names.into_iter().for_each(|name| list.push(name.as_ref()));
        list.shrink_to_fit();
        list
    }
}

/// Finds the place of a name in a [`NameList`], which it does not own.
#[derive(Clone, Debug, Default)]
pub struct NameIndex {
    places: HashTable<u32>,
    /// Seeded by the system: names come from files and may be chosen to collide.
    hasher: RandomState,
}

/// Two places with one name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Duplicate {
    /// The first place.
    pub first: usize,
    /// The place that has the name again.
    pub second: usize,
}

impl NameIndex {
    /// The index of a list.
    ///
    /// # Errors
    /// If two names are equal.
    pub fn of(names: &NameList) -> Result<NameIndex, Duplicate> {
        let mut index =
            NameIndex { places: HashTable::with_capacity(names.len()), hasher: RandomState::new() };
        (0..names.len()).try_for_each(|at| index.insert(names, at))?;
        Ok(index)
    }

    /// Adds the name at a place of the list.
    ///
    /// # Errors
    /// If the name is there already.
    ///
    /// # Panics
    /// If the list has 2³² names or more.
    pub fn insert(&mut self, names: &NameList, at: usize) -> Result<(), Duplicate> {
        let place = u32::try_from(at).expect("a list of names has fewer than 2^32");
        if let Some(first) = self.find(names, &names[at]) {
            return Err(Duplicate { first, second: at });
        }
        let hasher = &self.hasher;
        let hash = |&place: &u32| hasher.hash_one(&names[place as usize]);
        self.places.insert_unique(hash(&place), place, hash);
        Ok(())
    }

    /// The place of a name.
    pub fn find(&self, names: &NameList, name: &str) -> Option<usize> {
        let is_it = |&place: &u32| &names[place as usize] == name;
        let place = self.places.find(self.hasher.hash_one(name), is_it);
        place.map(|&place| place as usize)
    }

    /// The memory it occupies.
    pub fn size_bytes(&self) -> u64 {
        self.places.allocation_size() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_and_duplicates_told() {
        let words: Vec<String> = (0..1000).map(|n| format!("n{}", n * n)).collect();
        let mut names: NameList = words.iter().collect();
        let index = NameIndex::of(&names).unwrap();
        for (at, word) in words.iter().enumerate() {
            assert_eq!(index.find(&names, word), Some(at));
        }
        assert_eq!(index.find(&names, "n2"), None);
        assert!(names.iter().eq(words.iter()));
        assert_eq!(names.choose(&[3, 1]).iter().collect::<Vec<_>>(), ["n9", "n1"]);
        names.push("n49");
        let duplicate = Duplicate { first: 7, second: 1000 };
        assert_eq!(NameIndex::of(&names).unwrap_err(), duplicate);
    }

    #[test]
    fn empty_names_are_names() {
        let names: NameList = ["", "ü", ""].into_iter().collect();
        assert_eq!((&names[0], &names[1], &names[2]), ("", "ü", ""));
        assert!(NameIndex::of(&names).is_err());
        assert!(NameList::default().is_empty());
    }
}
