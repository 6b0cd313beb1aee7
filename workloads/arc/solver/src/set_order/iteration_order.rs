//! How sets were made. The order of a set follows from it by a replay in CPython's tables.

use crate::evaluate::identity;
use crate::primitives::collection::one_color;
use crate::set::distinct;
use crate::set::labels::Growth;
use crate::set::line_segment::LineSegment;
use crate::set::{Items, Set, from_values};
use crate::set_order::layout::Layout;
use crate::set_order::table::{self, DUMMY, PackedTable};
use crate::value::Value;
use crate::value::hash;
use crate::value::packed::{self, Bounds, ElementKind};
use std::borrow::Cow;
use std::rc::Rc;

/// How a set was made, kept until its order is needed.
pub(crate) enum IterationOrder {
    /// The items are in the order of insertion.
    Sequence,
    /// Item k was made from the parent's item k; the parent was iterated.
    Via(Rc<Set>),
    /// The parent was iterated and the items at these positions kept.
    Kept(Rc<Set>, Vec<u32>),
    /// `parent & parent`: the parent was copied.
    Copied(Rc<Set>),
    /// `parent & other` for an equal set: the parent was copied if both are one object, which is ambiguous, and otherwise
    /// iterated and inserted. True if the two probably are one.
    CopiedOrKept(Rc<Set>, bool),
    /// `parent - other` with this many elements in other; the items at these positions stayed.
    Minus(Rc<Set>, Vec<u32>, usize),
    /// The parent was iterated and these packed results (one per parent item) inserted; duplicates possible.
    Mapped(Rc<Set>, Vec<u32>),
    /// The parent was iterated and the items with these numbers (one per parent item) inserted; duplicates possible.
    Numbered(Rc<Set>, Vec<u32>),
    /// Tuples of an element of the first and one of the second: item j·n + i, the second set in the outer loop.
    Product(Rc<Set>, Rc<Set>),
    /// The elements of these sets were inserted one set after the other.
    Chained(Vec<Value>),
    /// The parent is a set of sets; it was iterated and their elements inserted.
    ChainedOver(Rc<Set>),
    /// The parent is a set of sets that are stored as lists of values; it was iterated and the items with these numbers
    /// (one per element of the parent's items) inserted; duplicates possible.
    Joined(Rc<Set>, Vec<u32>),
    /// The sets were first put into a set of their own, then chained.
    Merged(Vec<Value>),
    /// The parent was iterated, these sets (one per parent item) put into a set of their own, then chained.
    MergedOver(Rc<Set>, Vec<Value>),
    /// As `MergedOver`, for one object shifted to each of the parent's places.
    ShiftedOver(Rc<Set>, Rc<Set>),
    /// As `MergedOver`, for sets that are lines of places or of cells.
    MergedLines(Rc<Set>, Vec<LineSegment>, ElementKind),
    /// An object grown from a grid.
    Grown(Rc<Growth>, u32),
    /// The objects of a grid, in the order in which the reference finds them.
    Objects(Rc<Growth>),
    /// `parent.union({x})`: the parent's items, then x if it is new.
    Inserted(Rc<Set>, Value),
    /// The temporary tables of a primitive, rebuilt.
    Rebuilt(Box<dyn Fn() -> PackedTable>),
}

impl IterationOrder {
    /// The longest chain of orders that must be replayed before this one.
    pub(crate) fn n_pending(&self) -> u32 {
        let most = |l: &[Value]| {
            l.iter()
                .map(|v| if let Value::Set(s) = v { s.n_pending() } else { 0 })
                .max()
                .unwrap_or(0)
        };
        match self {
            IterationOrder::Sequence
            | IterationOrder::Grown(..)
            | IterationOrder::Objects(..)
            | IterationOrder::Rebuilt(_) => 0,
            IterationOrder::Via(p)
            | IterationOrder::Copied(p)
            | IterationOrder::CopiedOrKept(p, _)
            | IterationOrder::Kept(p, _)
            | IterationOrder::Minus(p, ..)
            | IterationOrder::Mapped(p, _)
            | IterationOrder::Numbered(p, _)
            | IterationOrder::MergedLines(p, ..)
            | IterationOrder::Inserted(p, _) => p.n_pending(),
            IterationOrder::Product(a, b) | IterationOrder::ShiftedOver(a, b) => {
                a.n_pending().max(b.n_pending())
            }
            IterationOrder::Chained(l) | IterationOrder::Merged(l) => most(l),
            IterationOrder::MergedOver(p, l) => p.n_pending().max(most(l)),
            IterationOrder::Joined(p, _) | IterationOrder::ChainedOver(p) => match p.items() {
                Items::General(sets, _) => match sets.copies() {
                    Some(copies) => {
                        let objects = copies.objects().iter().map(|o| o.n_pending());
                        p.n_pending().max(1 + objects.max().unwrap_or(0))
                    }
                    None => p.n_pending().max(most(sets)),
                },
                // A line of cells depends on its line of places.
                Items::Lines(..) => p.n_pending().max(2),
                _ => p.n_pending(),
            },
        }
    }
}

impl IterationOrder {
    /// The number of slots of the table, if it follows from the number of elements and none was ever discarded.
    pub(crate) fn n_slots(&self, n: usize) -> Option<usize> {
        match self {
            IterationOrder::Grown(..) | IterationOrder::Objects(..) => {
                Some(table::n_slots_copied(n))
            }
            IterationOrder::Minus(parent, _, n_other) if parent.len() >> 2 > *n_other => None,
            IterationOrder::Copied(_) | IterationOrder::CopiedOrKept(..) => None,
            IterationOrder::Inserted(..) | IterationOrder::Rebuilt(_) => None,
            _ => Some(table::n_slots_inserted(n)),
        }
    }
}

/// CPython's layout of a set that was made in this way.
pub(crate) fn layout(set: &Set, order: &IterationOrder) -> Layout {
    match order {
        IterationOrder::Sequence => Layout::of_hashes(&set.hashes(), None),
        IterationOrder::Via(parent) => {
            Layout::of_hashes(&set.hashes(), Some(&parent.layout().perm))
        }
        IterationOrder::Kept(parent, kept) => {
            Layout::of_hashes(&set.hashes(), Some(&kept_in_order(parent, kept)))
        }
        IterationOrder::Copied(parent) => copied(parent),
        IterationOrder::CopiedOrKept(parent, is_copied) => copied_or_kept(parent, *is_copied),
        IterationOrder::Minus(parent, kept, n_other) => minus(set, parent, kept, *n_other),
        IterationOrder::Mapped(parent, results) => {
            by_sequence(set, parent.layout().perm.iter().map(|&k| results[k as usize]))
        }
        IterationOrder::Numbered(parent, numbers) => {
            let mut seen = vec![false; set.len()];
            let in_order = parent.layout().perm.iter().map(|&k| numbers[k as usize]);
            let sequence: Vec<u32> =
                in_order.filter(|&k| !std::mem::replace(&mut seen[k as usize], true)).collect();
            Layout::of_hashes(&set.hashes(), Some(&sequence))
        }
        IterationOrder::Product(a, b) => {
            let n = a.len() as u32;
            let mut sequence = Vec::with_capacity(set.len());
            for &j in &b.layout().perm {
                sequence.extend(a.layout().perm.iter().map(|&i| j * n + i));
            }
            Layout::of_hashes(&set.hashes(), Some(&sequence))
        }
        IterationOrder::Chained(sets) => chained(set, sets),
        IterationOrder::ChainedOver(parent) => chained(set, &parent.iter().collect::<Vec<_>>()),
        IterationOrder::Joined(parent, numbers) => joined_over(set, parent, numbers),
        IterationOrder::Merged(sets) => chained(set, &as_set(sets.clone())),
        IterationOrder::MergedOver(parent, sets) => {
            let in_order = parent.layout().perm.iter().map(|&k| sets[k as usize].clone()).collect();
            chained(set, &as_set(in_order))
        }
        IterationOrder::ShiftedOver(places, object) => shifted_over(set, places, object),
        IterationOrder::MergedLines(parent, lines, kind) => {
            let in_order = parent.layout().perm.iter();
            let in_order = in_order.map(|&k| lines[k as usize].value(*kind)).collect();
            chained(set, &as_set(in_order))
        }
        IterationOrder::Grown(growth, k) => by_table(set, &growth.replay(*k)),
        IterationOrder::Objects(growth) => Layout::of_table(&growth.outer_table(&set.hashes())),
        IterationOrder::Inserted(parent, value) => inserted(set, parent, value),
        IterationOrder::Rebuilt(build) => by_table(set, &build()),
    }
}

fn copied(parent: &Set) -> Layout {
    let hashes = parent.hashes();
    Layout::of_table(&parent.layout().table().copied(&|k| hashes[k as usize]))
}

fn copied_or_kept(parent: &Set, is_copied: bool) -> Layout {
    let copied = copied(parent);
    let kept = Layout::of_hashes(&parent.hashes(), Some(&parent.layout().perm));
    if copied != kept {
        identity::record_ambiguous_read();
    }
    if is_copied { copied } else { kept }
}

/// The layout after inserting the elements of the parent's items in the orders that programs see.
fn joined_over(set: &Set, parent: &Set, numbers: &[u32]) -> Layout {
    let Items::General(containers, _) = parent.items() else {
        unreachable!("sets without lists are joined otherwise");
    };
    let mut n = 0;
    let starts: Vec<usize> = containers
        .iter()
        .map(|c| {
            n += c.len().unwrap_or(0);
            n - c.len().unwrap_or(0)
        })
        .collect();
    let mut seen = vec![false; set.len()];
    let mut sequence = Vec::with_capacity(set.len());
    for &k in &parent.layout().perm {
        let Value::Set(container) = &containers[k as usize] else {
            continue;
        };
        for &element in &container.layout().perm {
            let number = numbers[starts[k as usize] + element as usize];
            if !std::mem::replace(&mut seen[number as usize], true) {
                sequence.push(number);
            }
        }
    }
    Layout::of_hashes(&set.hashes(), Some(&sequence))
}

/// The layout of an object's copies, shifted to each of these places and put into a set of their own before they
/// are chained. Copies differ, because the object is finite and the shifts differ.
fn shifted_over(set: &Set, places: &Set, object: &Set) -> Layout {
    let (Some((steps, _)), Some((items, kind))) = (places.packed(), object.packed()) else {
        unreachable!("both are packed when the order is made");
    };
    let step = |to: u32| packed::step(packed::row(to), packed::col(to));
    let copies = places.layout().perm.iter().map(|&k| step(steps[k as usize]));
    let copies: Vec<u32> = copies.collect();
    let hash = |x: u32| packed::hash(x, kind);
    let hashes: Vec<u64> = copies
        .iter()
        .map(|&step| hash::set(items.iter().map(|x| hash(x.wrapping_add(step)))))
        .collect();
    let outer = Layout::of_hashes(&hashes, None);
    let inserted = &object.layout().perm;
    let mut sequence = Sequence::new(set);
    for &k in &outer.perm {
        let step = copies[k as usize];
        let element = |k: u32| items[k as usize].wrapping_add(step);
        sequence.extend(items, element, || {
            let hashes: Vec<u64> = items.iter().map(|x| hash(x.wrapping_add(step))).collect();
            Cow::Owned(Layout::of_hashes(&hashes, Some(inserted)).perm)
        });
        if sequence.is_complete() {
            break;
        }
    }
    sequence.layout()
}

/// The positions of the kept items in the new set, in the parent's order.
fn kept_in_order(parent: &Set, kept: &[u32]) -> Vec<u32> {
    let mut position = vec![u32::MAX; parent.len()];
    for (ours, &theirs) in kept.iter().enumerate() {
        position[theirs as usize] = ours as u32;
    }
    parent.layout().perm.iter().map(|&k| position[k as usize]).filter(|&k| k != u32::MAX).collect()
}

fn minus(set: &Set, parent: &Set, kept: &[u32], n_other: usize) -> Layout {
    if parent.len() >> 2 <= n_other {
        return Layout::of_hashes(&set.hashes(), Some(&kept_in_order(parent, kept)));
    }
    let hashes = parent.hashes();
    let mut position = vec![DUMMY; parent.len()];
    for (ours, &theirs) in kept.iter().enumerate() {
        position[theirs as usize] = ours as u32;
    }
    let gone = |k: u32| position[k as usize] == DUMMY;
    let mut rest = parent.layout().table().minus(n_other, &|k| hashes[k as usize], gone);
    for slot in &mut rest.slots {
        if *slot < DUMMY {
            *slot = position[*slot as usize];
        }
    }
    Layout::of_table(&rest)
}

fn inserted(set: &Set, parent: &Set, value: &Value) -> Layout {
    let mut hashes = parent.hashes();
    let n = hashes.len() as u32;
    let hash = value.py_hash();
    hashes.push(hash);
    let hash_of = |k: u32| hashes[k as usize];
    let mut table = parent.layout().table().copied(&hash_of);
    if (table.fill + 1) * 5 >= table.mask() * 3 {
        table.resize((table.used + 1) * 2, &hash_of);
    }
    if set.len() > parent.len() {
        table.insert_new(n, &hash_of);
    }
    Layout::of_table(&table)
}

/// The layout after inserting the elements of packed sets, one set after the other in their own orders.
fn chained(set: &Set, sets: &[Value]) -> Layout {
    let mut sequence = Sequence::new(set);
    for v in sets {
        let Value::Set(s) = v else { continue };
        let Some((items, _)) = s.packed() else {
            continue;
        };
        sequence.extend(items, |k| items[k as usize], || Cow::Borrowed(&s.layout().perm));
        if sequence.is_complete() {
            break;
        }
    }
    sequence.layout()
}

/// The items of a set in the order of their first insertion.
struct Sequence<'a> {
    items: &'a [u32],
    kind: ElementKind,
    positions: Positions<'a>,
    seen: Vec<bool>,
    sequence: Vec<u32>,
}

impl<'a> Sequence<'a> {
    fn new(set: &'a Set) -> Sequence<'a> {
        let (items, kind) = set.packed().expect("only packed sets are chained");
        Sequence {
            items,
            kind,
            positions: Positions::new(items, set.bounds()),
            seen: vec![false; items.len()],
            sequence: Vec::with_capacity(items.len()),
        }
    }

    #[inline]
    fn insert(&mut self, x: u32) {
        let k = self.positions.of(x);
        if !std::mem::replace(&mut self.seen[k as usize], true) {
            self.sequence.push(k);
        }
    }

    /// Inserts the elements of a set; its order is computed only if it adds more than one new element.
    fn extend<'b>(
        &mut self,
        items: &[u32],
        element: impl Fn(u32) -> u32,
        perm: impl FnOnce() -> Cow<'b, [u32]>,
    ) {
        let is_new = |k: &u32| !self.seen[self.positions.of(element(*k)) as usize];
        let mut new = (0..items.len() as u32).filter(is_new);
        let (first, second) = (new.next(), new.next());
        match (first, second) {
            (None, _) => {}
            (Some(only), None) => self.insert(element(only)),
            _ => perm().iter().for_each(|&k| self.insert(element(k))),
        }
    }

    fn is_complete(&self) -> bool {
        self.sequence.len() == self.items.len()
    }

    fn layout(&self) -> Layout {
        let hash = |&p: &u32| packed::hash(p, self.kind);
        let hashes: Vec<u64> = self.items.iter().map(hash).collect();
        Layout::of_hashes(&hashes, Some(&self.sequence))
    }
}

/// The distinct sets among these, in the iteration order of the set of them.
fn as_set(sets: Vec<Value>) -> Vec<Value> {
    match from_values(sets) {
        Ok(Value::Set(s)) => s.iter().collect(),
        _ => unreachable!("sets of packed sets are not nested deeply"),
    }
}

/// The layout after inserting a sequence of packed elements in which every item occurs.
fn by_sequence(set: &Set, elements: impl Iterator<Item = u32>) -> Layout {
    let mut sequence = Sequence::new(set);
    for x in elements {
        sequence.insert(x);
        if sequence.is_complete() {
            break;
        }
    }
    sequence.layout()
}

/// The layout of a table of the packed items themselves.
fn by_table(set: &Set, table: &PackedTable) -> Layout {
    let (items, _) = set.packed().expect("only packed sets are rebuilt");
    let positions = Positions::new(items, set.bounds());
    let mut table = table.table.clone();
    for slot in &mut table.slots {
        if *slot < DUMMY {
            *slot = positions.of(*slot);
        }
    }
    Layout::of_table(&table)
}

/// The position of each packed item.
enum Positions<'a> {
    Few(&'a [u32]),
    /// Direct, by place; the items share one colour.
    Direct(Vec<u32>, Bounds),
    Sorted(Vec<(u32, u32)>),
}

impl<'a> Positions<'a> {
    fn new(items: &'a [u32], bounds: Bounds) -> Positions<'a> {
        if items.len() <= 8 {
            return Positions::Few(items);
        }
        if one_color(items) && bounds.area() <= 16 * items.len() + 1024 {
            let mut direct = vec![0; bounds.area()];
            for (k, &x) in items.iter().enumerate() {
                direct[bounds.rank(x)] = k as u32;
            }
            return Positions::Direct(direct, bounds);
        }
        let mut sorted: Vec<(u32, u32)> = items.iter().copied().zip(0..).collect();
        sorted.sort_unstable();
        Positions::Sorted(sorted)
    }

    #[inline]
    fn of(&self, x: u32) -> u32 {
        match self {
            Positions::Few(items) => {
                items.iter().position(|&y| y == x).expect("an item of the set") as u32
            }
            Positions::Direct(direct, bounds) => direct[bounds.rank(x)],
            Positions::Sorted(sorted) => {
                sorted[sorted.binary_search_by_key(&x, |e| e.0).expect("an item of the set")].1
            }
        }
    }
}

/// The set of all elements of these sets; returns the list unless all are sets of packed elements of one kind.
///
/// `order` makes their order of the list.
pub(crate) fn union(
    sets: Vec<Value>,
    order: impl FnOnce(Vec<Value>) -> IterationOrder,
) -> Result<crate::value::fault::Result, Vec<Value>> {
    match joined(&sets) {
        None => Err(sets),
        Some(Err(fault)) => Ok(Err(fault)),
        Some(Ok((all, kind))) => Ok(Ok(crate::set::packed(all, kind, order(sets)))),
    }
}

/// The distinct elements of these sets and whether they are cells; None unless all are packed and of one kind.
pub(crate) fn joined(
    sets: &[Value],
) -> Option<crate::value::fault::Result<(Vec<u32>, ElementKind)>> {
    let mut one_kind = None;
    let mut n = 0;
    for v in sets {
        let Value::Set(s) = v else { return None };
        if s.is_empty() {
            continue;
        }
        let (items, kind) = s.packed()?;
        if *one_kind.get_or_insert(kind) != kind {
            return None;
        }
        n += items.len();
    }
    let Some(kind) = one_kind else {
        return Some(Ok((Vec::new(), ElementKind::Place)));
    };
    if let Err(fault) = crate::evaluate::meter::build(n + sets.len(), 4) {
        return Some(Err(fault));
    }
    let parts = sets.iter().filter_map(|v| match v {
        Value::Set(s) => s.packed().map(|(items, _)| (&**s, items)),
        _ => None,
    });
    let parts = parts.filter(|(_, items)| !items.is_empty());
    Some(Ok((distinct::joined(parts, n), kind)))
}
