//! A Python set of any values while it is built.

use crate::evaluate::meter::{self, Order};
use crate::set::{self, Set};
use crate::set_order::table::Table;
use crate::value::Value;
use crate::value::fault::Result;

/// A Python set under construction, of any values: for the temporary sets inside primitives.
#[derive(Clone)]
pub(crate) struct ValueTable {
    items: Vec<Value>,
    hashes: Vec<u64>,
    table: Table,
}

impl ValueTable {
    /// `set(values)`.
    pub(crate) fn collect(values: impl IntoIterator<Item = Value>) -> ValueTable {
        let mut set = ValueTable { items: Vec::new(), hashes: Vec::new(), table: Table::new() };
        for v in values {
            set.add(v);
        }
        set
    }

    /// The table of a finished set.
    pub(crate) fn of_set(set: &Set) -> ValueTable {
        let items: Vec<Value> = (0..set.len()).map(|k| set.get(k)).collect();
        match meter::order() {
            Order::Cpython => {
                ValueTable { hashes: set.hashes(), table: set.layout().table(), items }
            }
            Order::Sorted => ValueTable::collect(items),
        }
    }

    pub(crate) fn add(&mut self, v: Value) {
        let hash = v.py_hash();
        self.hashes.push(hash);
        let (items, hashes) = (&self.items, &self.hashes);
        let is_new = self.table.insert(items.len() as u32, hash, &|k| hashes[k as usize], |k| {
            hashes[k as usize] == hash && items[k as usize] == v
        });
        if is_new {
            self.items.push(v);
        } else {
            self.hashes.pop();
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.table.used
    }

    /// `frozenset(self)`.
    pub(crate) fn copied(mut self) -> ValueTable {
        self.table = self.table.copied(&|k| self.hashes[k as usize]);
        self
    }

    /// `self |= other`.
    pub(crate) fn absorb(&mut self, other: &ValueTable) {
        let n = self.items.len() as u32;
        self.items.extend(other.items.iter().cloned());
        self.hashes.extend(&other.hashes);
        let mut theirs = other.table.clone();
        for slot in &mut theirs.slots {
            if *slot < crate::set_order::table::DUMMY {
                *slot += n;
            }
        }
        let (items, hashes) = (&self.items, &self.hashes);
        self.table.absorb(&theirs, &|k| hashes[k as usize], |a, b| {
            hashes[a as usize] == hashes[b as usize] && items[a as usize] == items[b as usize]
        });
    }

    /// `self | other`.
    pub(crate) fn union(&self, other: &ValueTable) -> ValueTable {
        let mut all = self.clone().copied();
        all.absorb(other);
        all
    }

    /// `self - other`.
    pub(crate) fn minus(&self, other: &ValueTable) -> ValueTable {
        self.minus_where(other.len(), |v| {
            let hash = v.py_hash();
            let same = |q: u32| other.hashes[q as usize] == hash && other.items[q as usize] == *v;
            other.table.find(hash, same).is_some()
        })
    }

    /// `self - other`, where other has this many elements and `gone` tests for them.
    pub(crate) fn minus_where(&self, n_other: usize, gone: impl Fn(&Value) -> bool) -> ValueTable {
        let hash_of = |k: u32| self.hashes[k as usize];
        let table = self.table.minus(n_other, &hash_of, |k| gone(&self.items[k as usize]));
        ValueTable { items: self.items.clone(), hashes: self.hashes.clone(), table }
    }

    /// The elements in iteration order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Value> {
        let mut keys: Vec<u32> = self.table.keys().collect();
        if meter::order() == Order::Sorted {
            keys.sort_by(|&a, &b| self.items[a as usize].ascending(&self.items[b as usize]));
        }
        keys.into_iter().map(|k| &self.items[k as usize])
    }

    /// The finished set, with this table.
    pub(crate) fn into_value(mut self) -> Result {
        if self.table.used == 0 {
            return Ok(set::empty());
        }
        // Elements that were discarded, or equal to earlier ones, are still in the list.
        let mut items = Vec::with_capacity(self.table.used);
        let mut hashes = Vec::with_capacity(self.table.used);
        for slot in &mut self.table.slots {
            if *slot < crate::set_order::table::DUMMY {
                items.push(self.items[*slot as usize].clone());
                hashes.push(self.hashes[*slot as usize]);
                *slot = items.len() as u32 - 1;
            }
        }
        set::with_table(items, hashes, &self.table)
    }
}
