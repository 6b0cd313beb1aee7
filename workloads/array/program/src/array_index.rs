//! The index of an input: what is known of every array before it is loaded.
//!
//! An input may have millions of items, so that an item takes its name and twenty bytes: the place
//! of its name, its file and its place there, and the number of its header. Headers are kept once
//! for all items that share them.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;

use hashbrown::HashTable;
use swathe::array::Dtype;
use swathe_formats::name_list::NameList;

/// What is known of each item of an input, in order.
#[derive(Debug, Default)]
pub(crate) struct ArrayIndex {
    names: Arc<NameList>,
    places: Vec<Place>,
    /// For each item the number of its header.
    headers: Vec<u32>,
    distinct: DistinctHeaders,
    /// Why items are of no use, by their numbers.
    faults: HashMap<usize, String>,
}

/// Where an item is: which of the open files, and which array in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) file: u32,
    pub(crate) member: u32,
}

/// An array's extents and element type.
type Header = (Box<[usize]>, Dtype);

/// The number of the header of an item that has none.
const NO_HEADER: u32 = u32::MAX;

impl ArrayIndex {
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    pub(crate) fn names(&self) -> &Arc<NameList> {
        &self.names
    }

    pub(crate) fn place(&self, item: usize) -> Place {
        self.places[item]
    }

    /// The extents and element type of an item, or why it is of no use.
    pub(crate) fn header(&self, item: usize) -> Result<(&[usize], Dtype), &str> {
        match self.headers[item] {
            NO_HEADER => Err(self.faults.get(&item).map_or("", String::as_str)),
            number => {
                let (shape, dtype) = &self.distinct.headers[number as usize];
                Ok((shape, *dtype))
            }
        }
    }

    pub(crate) fn push(
        &mut self,
        name: &str,
        header: Result<(&[usize], Dtype), String>,
        at: Place,
    ) {
        let number = match header {
            Ok((shape, dtype)) => self.distinct.number(shape, dtype),
            Err(fault) => {
                self.faults.insert(self.places.len(), fault);
                NO_HEADER
            }
        };
        Arc::make_mut(&mut self.names).push(name);
        self.headers.push(number);
        self.places.push(at);
    }

    /// Replaces the items by those of these numbers, in this order.
    pub(crate) fn choose(&mut self, chosen: &[usize]) {
        self.names = Arc::new(self.names.choose(chosen));
        self.places = chosen.iter().map(|&item| self.places[item]).collect();
        self.headers = chosen.iter().map(|&item| self.headers[item]).collect();
        let kept = chosen.iter().enumerate().filter_map(|(now, before)| {
            let fault = self.faults.get(before)?;
            Some((now, fault.clone()))
        });
        self.faults = kept.collect();
    }

    /// Releases what only growing needs.
    pub(crate) fn shrink_to_fit(&mut self) {
        Arc::make_mut(&mut self.names).shrink_to_fit();
        self.places.shrink_to_fit();
        self.headers.shrink_to_fit();
        self.distinct.by_header = HashTable::new();
    }

    /// The memory it occupies, roughly.
    pub(crate) fn size_bytes(&self) -> u64 {
        let lists_bytes = self.places.capacity() * size_of::<Place>()
            + self.headers.capacity() * size_of::<u32>()
            + self.distinct.size_bytes();
        let faults_bytes: usize = self.faults.values().map(|fault| 64 + fault.len()).sum();
        self.names.size_bytes() + (lists_bytes + faults_bytes) as u64
    }
}

/// Every header that occurs, once.
#[derive(Debug, Default)]
struct DistinctHeaders {
    headers: Vec<Header>,
    by_header: HashTable<u32>,
    hasher: RandomState,
}

impl DistinctHeaders {
    fn number(&mut self, shape: &[usize], dtype: Dtype) -> u32 {
        let (headers, hasher) = (&mut self.headers, &self.hasher);
        let is_it = |&number: &u32| {
            let (its_shape, its_dtype) = &headers[number as usize];
            **its_shape == *shape && *its_dtype == dtype
        };
        let hash = hasher.hash_one((shape, dtype));
        if let Some(&number) = self.by_header.find(hash, is_it) {
            return number;
        }
        let number = headers.len() as u32;
        headers.push((shape.into(), dtype));
        self.by_header.insert_unique(hash, number, |&number| {
            let (shape, dtype) = &headers[number as usize];
            hasher.hash_one((&**shape, *dtype))
        });
        number
    }

    fn size_bytes(&self) -> usize {
        let shapes = self.headers.iter().map(|(shape, _)| size_of_val(&**shape));
        self.headers.capacity() * size_of::<Header>() + shapes.sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_keep_their_headers_and_faults_when_some_are_chosen() {
        let mut index = ArrayIndex::default();
        let at = |member| Place { file: 0, member };
        index.push("a", Ok((&[2, 3], Dtype::F32)), at(0));
        index.push("b", Err("it is torn".to_owned()), at(1));
        index.push("c", Ok((&[2, 3], Dtype::F64)), at(2));
        index.push("d", Ok((&[2, 3], Dtype::F32)), at(3));
        index.shrink_to_fit();
        assert_eq!(index.distinct.headers.len(), 2);
        index.choose(&[3, 1]);
        assert_eq!(index.len(), 2);
        assert_eq!(index.header(0), Ok((&[2, 3][..], Dtype::F32)));
        assert_eq!(index.header(1), Err("it is torn"));
        assert_eq!((&index.names()[0], index.place(0).member), ("d", 3));
    }

    /// What `--memory` counts for an item is stated at the top of this file.
    #[test]
    fn an_item_takes_its_name_and_twenty_bytes() {
        let mut index = ArrayIndex::default();
        let n_items = 100_000u32;
        for member in 0..n_items {
            let shape = [16, member as usize % 100];
            let at = Place { file: 0, member };
            index.push(&format!("item{member:06}"), Ok((&shape, Dtype::F32)), at);
        }
        index.shrink_to_fit();
        let bytes_per_item = index.size_bytes() as f64 / f64::from(n_items);
        assert!(bytes_per_item < 30.2, "{bytes_per_item} bytes");
    }
}
