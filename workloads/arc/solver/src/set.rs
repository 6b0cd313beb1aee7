//! Sets of places, cells and objects.

pub(crate) mod distinct;
pub(crate) mod labels;
pub(crate) mod line_segment;
pub(crate) mod members;
pub(crate) mod rectangle_hash;
pub(crate) mod set_cache;
pub(crate) mod shifted_sets;

use crate::evaluate::identity;
use crate::evaluate::meter::{self, Order};
use crate::primitives::collection::one_color;
use crate::set::line_segment::LineSegment;
use crate::set::members::{Bits, Members};
use crate::set::shifted_sets::{Copies, Listed};
use crate::set_order::iteration_order::{self, IterationOrder};
use crate::set_order::layout::Layout;
use crate::set_order::set_table::SetTable;
use crate::set_order::slot_spans::{self, Span};
use crate::set_order::table::Table;
use crate::value::fault::Result;
use crate::value::hash;
use crate::value::packed::{self, Bounds, ElementKind};
use crate::value::{Value, check_weight, nesting_of, weight_of};
use std::cell::{Cell, OnceCell, RefCell};
use std::cmp::Ordering;
use std::rc::Rc;

/// A frozenset: its content without duplicates, and how it was made, from which its order is replayed on demand.
///
/// Most sets are never iterated in a way that a program can see, so their order is not computed. Making the content
/// alone is some fifty times faster than replaying CPython's table.
pub struct Set {
    items: Items,
    order: RefCell<IterationOrder>,
    /// How many orders must be replayed one after the other to know this one.
    n_pending: Cell<u32>,
    layout: OnceCell<Box<Layout>>,
    /// `NO_HASH` until it is known.
    hash: Cell<u64>,
    bounds: Cell<Option<Bounds>>,
    bits: OnceCell<Box<Bits>>,
    nesting: u32,
    weight: u32,
    /// Whether `spans` has been called; further calls compute the whole order instead.
    spans_taken: Cell<bool>,
}

/// The elements in an arbitrary but fixed order.
pub(crate) enum Items {
    /// Packed pairs, or packed cells.
    Packed(Vec<u32>, ElementKind),
    /// Tuples of two packed pairs or of two packed cells: the first in the high half.
    Duos(Vec<u64>, ElementKind),
    /// Tuples of an element of each of two sets, by position: the first in the high half.
    Couples(Rc<[Rc<Set>; 2]>, Vec<u64>),
    /// Sets that are lines of places, or of cells, with their hashes once they are known.
    Lines(Vec<LineSegment>, ElementKind, OnceCell<Vec<u64>>),
    /// Anything, with the hashes once they are known.
    General(Listed, OnceCell<Vec<u64>>),
}

/// An order that was not replayed keeps the sets it starts from alive. A longer chain of them is replayed at once, which
/// releases the sets.
const N_PENDING_MAX: u32 = 64;

/// CPython hashes nothing to -1.
const NO_HASH: u64 = u64::MAX;

/// Hashing fewer elements one by one is as fast.
const N_RECTANGLE_MIN: usize = 4;

thread_local! {
    static EMPTY_SET: Rc<Set> = Rc::new(Set::bare(Items::Packed(Vec::new(), ElementKind::Place), IterationOrder::Sequence, 0, 1, 0));
}

/// The empty set; there is one per thread.
pub(crate) fn empty() -> Value {
    Value::Set(EMPTY_SET.with(Rc::clone))
}

/// A set of distinct packed elements; `order` gives their order.
pub(crate) fn packed(items: Vec<u32>, kind: ElementKind, order: IterationOrder) -> Value {
    if items.is_empty() {
        return empty();
    }
    let weight = items.len() as u32;
    Value::Set(Set::new(Items::Packed(items, kind), order, 2, weight))
}

/// A packed set that is not empty, with a number added to each element: moved, coloured, or without its colour. The set
/// is inserted in the iteration order of the original.
pub(crate) fn sum(set: &Rc<Set>, added: u32, kind: ElementKind, bounds: Option<Bounds>) -> Value {
    let items = set.packed().map_or(&[][..], |(items, _)| items);
    let sums = items.iter().map(|x| x.wrapping_add(added)).collect();
    packed_within(sums, kind, IterationOrder::Via(set.clone()), bounds)
}

/// As `packed`, where the bounds are known already.
pub(crate) fn packed_within(
    items: Vec<u32>,
    kind: ElementKind,
    order: IterationOrder,
    bounds: Option<Bounds>,
) -> Value {
    let set = packed(items, kind, order);
    if let Value::Set(s) = &set
        && !s.is_empty()
    {
        s.bounds.set(bounds);
    }
    set
}

/// A set of distinct tuples of two packed elements.
pub(crate) fn duos(items: Vec<u64>, kind: ElementKind, order: IterationOrder) -> Value {
    if items.is_empty() {
        return empty();
    }
    let weight = items.len() as u32;
    Value::Set(Set::new(Items::Duos(items, kind), order, 3, weight))
}

/// A set of tuples of an element of the first set and one of the second, given by their positions. The elements of both
/// sets are packed sets.
pub(crate) fn couples(of: Rc<[Rc<Set>; 2]>, items: Vec<u64>, order: IterationOrder) -> Value {
    if items.is_empty() {
        return empty();
    }
    let [a, b] = [0, 1].map(|side| {
        let set = &of[side];
        (0..set.len()).map(|k| set.get(k).weight()).collect::<Vec<_>>()
    });
    let of_couple = |&d: &u64| 1 + u64::from(a[halves(d).0]) + u64::from(b[halves(d).1]);
    let weight = 1 + items.iter().map(of_couple).sum::<u64>();
    Value::Set(Set::new(
        Items::Couples(of, items),
        order,
        COUPLE_NESTING,
        u32::try_from(weight).unwrap_or(u32::MAX),
    ))
}

/// A set of tuples of sets of cells.
const COUPLE_NESTING: u32 = 5;

/// A set of distinct lines of one kind, one of which may be empty.
///
/// `nesting` is at least theirs.
pub(crate) fn lines(
    lines: Vec<LineSegment>,
    kind: ElementKind,
    order: IterationOrder,
    nesting: u32,
) -> Value {
    if lines.is_empty() {
        return empty();
    }
    let n_elements: u64 = lines.iter().map(|l| l.len() as u64).sum();
    let weight = u32::try_from(1 + n_elements).unwrap_or(u32::MAX);
    let items = Items::Lines(lines, kind, OnceCell::new());
    Value::Set(Set::new(items, order, nesting, weight))
}

/// A set of distinct values of any kind.
///
/// `nesting` is at least theirs; the hashes may be left out if they are not known yet.
pub(crate) fn general(
    items: Vec<Value>,
    hashes: Option<Vec<u64>>,
    order: IterationOrder,
    nesting: u32,
) -> Value {
    if items.is_empty() {
        return empty();
    }
    let weight = weight_of(items.iter());
    let items = Items::General(items.into(), hashes.map_or_else(OnceCell::new, OnceCell::from));
    Value::Set(Set::new(items, order, nesting, weight))
}

/// A set of distinct copies, at least one.
pub(crate) fn copies(copies: Copies, order: IterationOrder) -> Result {
    let n_elements = copies.sizes().fold(1u64, |sum, n| sum + n as u64);
    let weight = u32::try_from(n_elements).unwrap_or(u32::MAX);
    check_weight(weight)?;
    let items = Items::General(copies.into(), OnceCell::new());
    Ok(Value::Set(Set::new(items, order, 3, weight)))
}

/// A set whose table is known: `keys` of the table are positions in `items`, all of them in use.
pub(crate) fn with_table(items: Vec<Value>, hashes: Vec<u64>, table: &Table) -> Result {
    let (nesting, weight) = nesting_of(items.iter())?;
    let items = match all_packed(&items) {
        Some((packed, kind)) => Items::Packed(packed, kind),
        None => Items::General(items.into(), OnceCell::from(hashes)),
    };
    let set = Set::new(items, IterationOrder::Sequence, nesting, weight);
    if meter::order() == Order::Cpython {
        let _ = set.layout.set(Box::new(Layout::of_table(table)));
    }
    Ok(Value::Set(set))
}

/// A set that Python has: distinct elements in the order of their slots.
pub(crate) fn in_table(values: Vec<Value>, table: &SetTable) -> Result {
    if values.is_empty() {
        return Ok(empty());
    }
    let (nesting, weight) = nesting_of(values.iter())?;
    let items = match all_packed(&values) {
        Some((packed, kind)) => Items::Packed(packed, kind),
        None => Items::General(values.into(), OnceCell::new()),
    };
    let set = Set::new(items, IterationOrder::Sequence, nesting, weight);
    if meter::order() == Order::Cpython {
        let _ = set.layout.set(Box::new(Layout::of_set_table(table)));
    }
    Ok(Value::Set(set))
}

/// `frozenset(values)`: elements inserted one after the other.
pub(crate) fn from_values(values: Vec<Value>) -> Result {
    meter::build(values.len(), 16)?;
    let Some(first) = values.first() else {
        return Ok(empty());
    };
    if let Value::Set(_) = first {
        meter::spend(values.len())?;
        let Some((kept, _)) = distinct::sets(&values) else {
            meter::hash(&values)?;
            return hashed(values);
        };
        let sets: Vec<Value> = kept.iter().map(|&k| values[k as usize].clone()).collect();
        let (nesting, _) = nesting_of(sets.iter())?;
        return Ok(general(sets, None, IterationOrder::Sequence, nesting));
    }
    if let Some((items, kind)) = all_packed(&values) {
        return Ok(packed(distinct::cells(items), kind, IterationOrder::Sequence));
    }
    if let &Value::Duo(_, _, kind) = first {
        let items: Option<Vec<u64>> = values
            .iter()
            .map(|v| match *v {
                Value::Duo(a, b, c) if c == kind => Some(u64::from(a) << 32 | u64::from(b)),
                _ => None,
            })
            .collect();
        if let Some(items) = items {
            return Ok(duos(distinct::numbers(items), kind, IterationOrder::Sequence));
        }
    }
    // Hashing and comparing values of any kind costs about as much as calling a function.
    meter::spend(values.len())?;
    meter::hash(&values)?;
    meter::build(1, size_of::<Set>())?;
    hashed(values)
}

/// These values packed, if there are some and all are pairs or all are cells.
pub(crate) fn all_packed(values: &[Value]) -> Option<(Vec<u32>, ElementKind)> {
    let (_, kind) = values.first()?.packed()?;
    let packed = |v: &Value| v.packed().filter(|p| p.1 == kind).map(|p| p.0);
    let items = values.iter().map(packed).collect::<Option<_>>()?;
    Some((items, kind))
}

/// The set of any values, deduplicated by hash and equality.
fn hashed(mut items: Vec<Value>) -> Result {
    let mut hashes: Vec<u64> = Vec::with_capacity(items.len());
    let mut table = Table::new();
    for next in 0..items.len() {
        let hash = items[next].py_hash();
        let key = hashes.len();
        hashes.push(hash);
        let known = &hashes;
        let is_new = table.insert(key as u32, hash, &|k| known[k as usize], |k| {
            known[k as usize] == hash && items[k as usize] == items[next]
        });
        if is_new {
            items.swap(key, next);
        } else {
            hashes.pop();
        }
    }
    items.truncate(hashes.len());
    with_table(items, hashes, &table)
}

impl Set {
    #[inline]
    fn bare(items: Items, order: IterationOrder, n_pending: u32, nesting: u32, weight: u32) -> Set {
        Set {
            items,
            order: RefCell::new(order),
            n_pending: Cell::new(n_pending),
            layout: OnceCell::new(),
            hash: Cell::new(NO_HASH),
            bounds: Cell::new(None),
            bits: OnceCell::new(),
            nesting,
            weight,
            spans_taken: Cell::new(false),
        }
    }

    #[inline]
    fn new(items: Items, order: IterationOrder, nesting: u32, weight: u32) -> Rc<Set> {
        let n_pending = 1 + order.n_pending();
        let set = Rc::new(Set::bare(items, order, n_pending, nesting, weight));
        if n_pending > N_PENDING_MAX {
            set.layout();
        }
        set
    }

    /// The number of elements.
    #[inline]
    pub fn len(&self) -> usize {
        match &self.items {
            Items::Packed(v, _) => v.len(),
            Items::Duos(v, _) => v.len(),
            Items::Couples(_, v) => v.len(),
            Items::Lines(v, ..) => v.len(),
            Items::General(v, _) => v.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The elements in the order that programs see.
    pub fn iter(&self) -> impl Iterator<Item = Value> + '_ {
        self.layout().perm.iter().map(|&k| self.get(k as usize))
    }

    /// The hash table, and the hashes of the elements in iteration order. In [sorted order](Order::Sorted) there is none,
    /// and the table has no slots.
    pub fn table(&self) -> (SetTable, Vec<u64>) {
        let layout = self.layout();
        let table = match layout.has_dummies {
            true => SetTable::with_dummies(layout.n_slots, self.len()),
            false => SetTable {
                n_slots: layout.n_slots,
                slots: layout.slots().map(|slot| slot as u32).collect(),
                has_dummies: false,
            },
        };
        let hashes = self.hashes();
        (table, layout.perm.iter().map(|&k| hashes[k as usize]).collect())
    }

    /// The first element in iteration order.
    pub(crate) fn first(&self) -> Option<Value> {
        self.first_where(|_| true).map(|k| self.get(k))
    }

    /// The position of the first element in iteration order whose position is wanted.
    pub(crate) fn first_where(&self, is_wanted: impl Fn(usize) -> bool) -> Option<usize> {
        let mut wanted = (0..self.len()).filter(|&k| is_wanted(k));
        let (first, second) = (wanted.next()?, wanted.next());
        if second.is_none() {
            return Some(first);
        }
        if let Some(spans) = self.spans() {
            let wanted = (0..self.len()).filter(|&k| is_wanted(k));
            let least = wanted.clone().min_by_key(|&k| spans[k].1)?;
            let mut others = wanted.filter(|&k| k != least);
            if others.all(|k| spans[k].0 > spans[least].1) {
                return Some(least);
            }
        }
        let in_order = self.layout().perm.iter().map(|&k| k as usize);
        in_order.into_iter().find(|&k| is_wanted(k))
    }

    /// The slots of the table that each item may have, derived without computing the order. None if they cannot be
    /// derived, if the order is known, or if this is not the first call.
    pub(crate) fn spans(&self) -> Option<Vec<Span>> {
        if self.layout.get().is_some()
            || self.spans_taken.replace(true)
            || meter::order() != Order::Cpython
        {
            return None;
        }
        let n_slots = self.order.borrow().n_slots(self.len())?;
        slot_spans::spans(&self.hashes(), n_slots)
    }

    pub(crate) fn items(&self) -> &Items {
        &self.items
    }

    /// An element by its position in the content, which is not the order that programs see.
    #[inline]
    pub(crate) fn get(&self, k: usize) -> Value {
        match &self.items {
            Items::Packed(v, kind) => Value::unpacked(v[k], *kind),
            Items::Duos(v, kind) => Value::unpacked_duo(v[k], *kind),
            Items::Couples(of, v) => {
                let (i, j) = halves(v[k]);
                Value::two(of[0].get(i), of[1].get(j))
                    .expect("sets of packed sets are not nested deeply")
            }
            Items::Lines(v, kind, _) => v[k].value(*kind),
            Items::General(v, _) => v.get(k),
        }
    }

    /// The packed elements, and whether they are cells.
    #[inline]
    pub(crate) fn packed(&self) -> Option<(&[u32], ElementKind)> {
        match &self.items {
            Items::Packed(v, kind) => Some((v, *kind)),
            _ => None,
        }
    }

    /// The kind of the packed elements, `Place` if they are not packed.
    pub(crate) fn kind(&self) -> ElementKind {
        match self.items {
            Items::Packed(_, kind) => kind,
            _ => ElementKind::Place,
        }
    }

    /// The packed elements in iteration order.
    pub(crate) fn packed_in_order(&self) -> Option<Vec<u32>> {
        let (items, _) = self.packed()?;
        let in_order = self.layout().perm.iter();
        Some(in_order.map(|&k| items[k as usize]).collect())
    }

    pub(crate) fn nesting(&self) -> u32 {
        self.nesting
    }

    /// How deep each element is nested, if the items are `General` and all nested equally.
    pub(crate) fn nesting_of_each(&self) -> Option<u32> {
        let Items::General(items, _) = &self.items else {
            return None;
        };
        if items.copies().is_some() {
            return Some(2);
        }
        let nesting = items.first()?.nesting();
        let are_same = items.iter().all(|item| item.nesting() == nesting);
        are_same.then_some(nesting)
    }

    pub(crate) fn weight(&self) -> u32 {
        self.weight
    }

    pub(crate) fn n_pending(&self) -> u32 {
        if self.layout.get().is_some() { 0 } else { self.n_pending.get() }
    }

    /// The order, computed at the first request.
    #[inline]
    pub(crate) fn layout(&self) -> &Layout {
        if let Some(layout) = self.layout.get() {
            if layout.is_ambiguous {
                identity::record_ambiguous_read();
            }
            return layout;
        }
        self.replay_order()
    }

    #[cold]
    fn replay_order(&self) -> &Layout {
        let (mut layout, is_ambiguous) = identity::watched(|| {
            meter::unmetered(|| match meter::order() {
                Order::Cpython => iteration_order::layout(self, &self.order.borrow()),
                Order::Sorted => self.sorted_layout(),
            })
        });
        layout.is_ambiguous = is_ambiguous;
        // How the set was made is no longer needed: release the sets it started from.
        self.order.replace(IterationOrder::Sequence);
        self.layout.get_or_init(|| Box::new(layout))
    }

    fn sorted_layout(&self) -> Layout {
        let mut perm: Vec<u32> = (0..self.len() as u32).collect();
        match &self.items {
            Items::Packed(v, kind) => {
                let v: &[u32] = v;
                perm.sort_unstable_by_key(|&k| kind.sort_key(v[k as usize]));
            }
            Items::Duos(v, kind) => perm.sort_unstable_by_key(|&k| {
                let d = v[k as usize];
                (kind.sort_key((d >> 32) as u32), kind.sort_key(d as u32))
            }),
            Items::Couples(..) | Items::Lines(..) => {
                let all: Vec<Value> = (0..self.len()).map(|k| self.get(k)).collect();
                perm.sort_by(|&a, &b| all[a as usize].ascending(&all[b as usize]));
            }
            Items::General(v, _) => perm.sort_by(|&a, &b| v[a as usize].ascending(&v[b as usize])),
        }
        Layout::sorted(perm)
    }

    /// The hashes of the elements by position.
    pub(crate) fn hashes(&self) -> Vec<u64> {
        match &self.items {
            Items::Packed(v, kind) => v.iter().map(|&p| packed::hash(p, *kind)).collect(),
            Items::Duos(v, kind) => v.iter().map(|&d| packed::hash_duo(d, *kind)).collect(),
            Items::Couples(of, v) => {
                let (a, b) = (of[0].hashes(), of[1].hashes());
                let hash = |&d: &u64| hash::two(a[halves(d).0], b[halves(d).1]);
                v.iter().map(hash).collect()
            }
            Items::Lines(v, kind, hashes) => known_of_lines(v, *kind, hashes).to_vec(),
            Items::General(v, hashes) => known(v, hashes).to_vec(),
        }
    }

    pub(crate) fn py_hash(&self) -> u64 {
        if self.hash.get() != NO_HASH {
            return self.hash.get();
        }
        let h = match &self.items {
            Items::Packed(v, kind) => self.rectangle_hash(v, *kind).unwrap_or_else(|| {
                // A loop of its own for each kind.
                match *kind {
                    ElementKind::Place => {
                        hash::set(v.iter().map(|&p| packed::hash(p, ElementKind::Place)))
                    }
                    ElementKind::Cell => {
                        hash::set(v.iter().map(|&p| packed::hash(p, ElementKind::Cell)))
                    }
                    ElementKind::Triple => {
                        hash::set(v.iter().map(|&p| packed::hash(p, ElementKind::Triple)))
                    }
                }
            }),
            Items::Duos(v, kind) => hash::set(v.iter().map(|&d| packed::hash_duo(d, *kind))),
            Items::Couples(..) | Items::Lines(..) => hash::set(self.hashes().into_iter()),
            Items::General(v, hashes) => hash::set(known(v, hashes).iter().copied()),
        };
        self.hash.set(h);
        h
    }

    /// The hash of a set that fills its bounds, if they are known.
    fn rectangle_hash(&self, items: &[u32], kind: ElementKind) -> Option<u64> {
        let bounds = self.bounds.get().filter(|b| b.area() == items.len())?;
        if items.len() < N_RECTANGLE_MIN || !one_color(items) {
            return None;
        }
        rectangle_hash::of(bounds, items[0] & !packed::PLACE_MASK, kind)
    }

    /// The rectangle around a non-empty packed set.
    pub(crate) fn bounds(&self) -> Bounds {
        if let Some(b) = self.bounds.get() {
            return b;
        }
        let (items, _) = self.packed().expect("only packed sets have bounds");
        let b = Bounds::of(items);
        self.bounds.set(Some(b));
        b
    }

    /// A membership test for the packed items of this set, prepared for about `n_questions` lookups.
    pub(crate) fn members<'a>(&'a self, items: &'a [u32], n_questions: usize) -> Members<'a> {
        if let Some(bits) = self.bits.get() {
            return Members::Known(bits);
        }
        if items.len() <= 16 || n_questions <= 4 {
            return Members::Few(items);
        }
        let bits = || Box::new(Bits::of(items, self.bounds()));
        Members::Known(self.bits.get_or_init(bits))
    }

    /// The bounds, if they have been computed.
    pub(crate) fn known_bounds(&self) -> Option<Bounds> {
        self.bounds.get()
    }

    /// Python's `value in self`.
    pub(crate) fn contains(&self, value: &Value) -> bool {
        match (&self.items, value) {
            (Items::Packed(v, kind), Value::Pair(..) | Value::Cell(..) | Value::Triple(..)) => {
                match value.packed() {
                    Some((p, c)) => c == *kind && v.contains(&p),
                    None => false,
                }
            }
            (Items::Duos(v, kind), &Value::Duo(a, b, c)) => {
                c == *kind && v.contains(&(u64::from(a) << 32 | u64::from(b)))
            }
            (Items::General(v, hashes), _) => {
                let hash = value.py_hash();
                let hashes = known(v, hashes);
                hashes.iter().zip(v.iter()).any(|(&h, x)| h == hash && x == value)
            }
            (Items::Lines(v, kind, hashes), Value::Set(_)) => {
                let hash = value.py_hash();
                let hashes = known_of_lines(v, *kind, hashes);
                let mut same_hash = hashes.iter().zip(v).filter(|(h, _)| **h == hash);
                same_hash.any(|(_, line)| line.value(*kind) == *value)
            }
            // Other forms of tuples may be equal to packed ones: (True, 1) is (1, 1).
            (_, Value::Tuple(_) | Value::Grid(_)) => (0..self.len()).any(|k| self.get(k) == *value),
            _ => false,
        }
    }

    pub(crate) fn equals(&self, other: &Set) -> bool {
        if self.len() != other.len() {
            return false;
        }
        match (&self.items, &other.items) {
            (Items::Packed(a, x), Items::Packed(b, y)) => {
                if a.is_empty() {
                    return true;
                }
                if x != y || self.bounds() != other.bounds() {
                    return false;
                }
                if **a == **b {
                    return true;
                }
            }
            (Items::Duos(a, x), Items::Duos(b, y)) if x == y && a == b => return true,
            _ => {}
        }
        let (a, b) = (self.hash.get(), other.hash.get());
        if a != NO_HASH && b != NO_HASH && a != b {
            return false;
        }
        self.is_subset(other)
    }

    /// Python's `self <= other`.
    pub(crate) fn is_subset(&self, other: &Set) -> bool {
        if self.len() > other.len() {
            return false;
        }
        match (&self.items, &other.items) {
            (Items::Packed(a, x), Items::Packed(b, y)) => {
                if a.is_empty() {
                    return true;
                }
                if x != y {
                    return false;
                }
                let members = other.members(b, a.len());
                a.iter().all(|&p| members.has(p))
            }
            (Items::General(a, hashes), Items::General(b, others)) if a.len() > 8 => {
                let others = known(b, others);
                let mut by_hash: Vec<(u64, u32)> = others.iter().copied().zip(0..).collect();
                by_hash.sort_unstable();
                a.iter().zip(known(a, hashes)).all(|(v, &h)| {
                    let start = by_hash.partition_point(|e| e.0 < h);
                    by_hash[start..].iter().take_while(|e| e.0 == h).any(|e| b[e.1 as usize] == *v)
                })
            }
            (Items::Duos(a, x), Items::Duos(b, y)) if x == y => {
                let known: std::collections::HashSet<u64> = b.iter().copied().collect();
                a.iter().all(|d| known.contains(d))
            }
            _ => (0..self.len()).all(|k| other.contains(&self.get(k))),
        }
    }

    pub(crate) fn ascending(&self, other: &Set) -> Ordering {
        let sorted = |s: &Set| -> Vec<Value> {
            let layout = s.sorted_layout();
            layout.perm.iter().map(|&k| s.get(k as usize)).collect()
        };
        let (a, b) = (sorted(self), sorted(other));
        for (x, y) in a.iter().zip(&b) {
            let o = x.ascending(y);
            if o.is_ne() {
                return o;
            }
        }
        a.len().cmp(&b.len())
    }
}

/// Two positions in one number.
#[inline]
pub(crate) fn halves(d: u64) -> (usize, usize) {
    ((d >> 32) as usize, d as u32 as usize)
}

/// The hashes of these lines, computed at the first request.
fn known_of_lines<'a>(
    lines: &[LineSegment],
    kind: ElementKind,
    hashes: &'a OnceCell<Vec<u64>>,
) -> &'a [u64] {
    let hash = |line: &LineSegment| line.value(kind).py_hash();
    hashes.get_or_init(|| lines.iter().map(hash).collect())
}

/// The hashes of these values, computed at the first request.
fn known<'a>(values: &Listed, hashes: &'a OnceCell<Vec<u64>>) -> &'a [u64] {
    hashes.get_or_init(|| match values.copies() {
        Some(copies) => copies.hashes(),
        None => values.iter().map(Value::py_hash).collect(),
    })
}
