//! A thread-local cache of sets that recur on every sample: indices of grids, palettes, neighbourhoods and lines.

use crate::set;
use crate::set_order::iteration_order::IterationOrder;
use crate::set_order::table::PackedTable;
use crate::value::Value;
use crate::value::packed::{self, ElementKind};
use std::cell::RefCell;
use std::collections::HashMap;

/// Indices of grids up to this size are cached; larger ones are rare.
const SIDE_MAX: usize = 128;
/// All index sets are evicted once they would hold more places than this in sum.
const N_INDICES_MAX: usize = 1 << 19;
const N_SLOTS: usize = 1 << 15;

#[derive(Default)]
struct SetCache {
    /// Nothing is looked up or kept.
    is_off: bool,
    indices: HashMap<(usize, usize), Value>,
    /// The number of places in `indices`.
    n_indices: usize,
    /// Sets of colours, where they do not depend on the order of insertion.
    palettes: HashMap<u16, Option<Value>>,
    /// Finished sets by a key that encodes a primitive and its argument.
    sets: Vec<(u64, Value)>,
}

thread_local! {
    static SET_CACHE: RefCell<SetCache> = RefCell::default();
}

/// Empties the cache, because the set order has changed.
pub(crate) fn clear() {
    SET_CACHE.with(|m| *m.borrow_mut() = SetCache::default());
}

/// Replaces the cache by an empty one that stays empty, until the guard is dropped.
pub(crate) fn turn_off() -> CacheOff {
    CacheOff(SET_CACHE.replace(SetCache { is_off: true, ..SetCache::default() }))
}

/// The cache that was replaced.
pub(crate) struct CacheOff(SetCache);

impl Drop for CacheOff {
    fn drop(&mut self) {
        SET_CACHE.set(std::mem::take(&mut self.0));
    }
}

fn is_off() -> bool {
    SET_CACHE.with_borrow(|m| m.is_off)
}

/// The set of all indices of an h × w grid, inserted row by row; both sides fit the packed range.
pub(crate) fn indices(h: usize, w: usize) -> Value {
    if let Some(v) = SET_CACHE.with(|m| m.borrow().indices.get(&(h, w)).cloned()) {
        return v;
    }
    let mut items = Vec::with_capacity(h * w);
    for i in 0..h as i32 {
        items.extend((0..w as i32).map(|j| packed::place(i, j)));
    }
    let v = set::packed(items, ElementKind::Place, IterationOrder::Sequence);
    if h <= SIDE_MAX && w <= SIDE_MAX && !is_off() {
        let old = SET_CACHE.with(|m| {
            let memo = &mut *m.borrow_mut();
            let indices = &mut memo.indices;
            let is_full = memo.n_indices + h * w > N_INDICES_MAX;
            memo.n_indices = if is_full { 0 } else { memo.n_indices } + h * w;
            let old = if is_full { std::mem::take(indices) } else { HashMap::new() };
            indices.insert((h, w), v.clone());
            old
        });
        drop(old);
    }
    v
}

/// The set of the colours whose bits are set, if it does not depend on the order in which they were inserted.
pub(crate) fn palette(colors: u16, make: impl FnOnce() -> Option<Value>) -> Option<Value> {
    if let Some(known) = SET_CACHE.with(|m| m.borrow().palettes.get(&colors).cloned()) {
        return known;
    }
    let made = make();
    if !is_off() {
        SET_CACHE.with(|m| m.borrow_mut().palettes.insert(colors, made.clone()));
    }
    made
}

/// The set with this key, made only if its slot of the direct-mapped cache holds another key.
#[inline]
pub(crate) fn set(key: u64, make: impl FnOnce() -> Value) -> Value {
    let at = (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - N_SLOTS.trailing_zeros())) as usize;
    let found = SET_CACHE.with(|m| {
        let memo = m.borrow();
        memo.sets.get(at).filter(|e| e.0 == key).map(|e| e.1.clone())
    });
    found.unwrap_or_else(|| {
        let v = make();
        let old = SET_CACHE.with(|m| {
            let mut memo = m.borrow_mut();
            if memo.is_off {
                return (0, Value::None);
            }
            if memo.sets.is_empty() {
                memo.sets = vec![(u64::MAX, Value::None); N_SLOTS];
            }
            std::mem::replace(&mut memo.sets[at], (key, v.clone()))
        });
        // Dropped outside the borrow: a set's order may hold sets of its own.
        drop(old);
        v
    })
}

/// The reference's table of the four places beside (i, j).
pub(crate) fn dneighbors(i: i32, j: i32) -> PackedTable {
    four([(i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1)])
}

/// The four places diagonal to (i, j).
pub(crate) fn ineighbors(i: i32, j: i32) -> PackedTable {
    four([(i - 1, j - 1), (i - 1, j + 1), (i + 1, j - 1), (i + 1, j + 1)])
}

/// All eight places around (i, j).
pub(crate) fn neighbors(i: i32, j: i32) -> PackedTable {
    dneighbors(i, j).union(&ineighbors(i, j))
}

fn four(places: [(i32, i32); 4]) -> PackedTable {
    PackedTable::collect(ElementKind::Place, places.map(|(i, j)| packed::place(i, j))).copied()
}
