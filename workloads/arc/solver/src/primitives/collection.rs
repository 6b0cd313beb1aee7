//! Primitives on containers: membership, combination and selection.

use crate::evaluate::{identity, meter};
use crate::set::distinct;
use crate::set::set_cache;
use crate::set::shifted_sets::{Copies, Listed};
use crate::set::{self, Items, Set};
use crate::set_order::iteration_order::{self, IterationOrder};
use crate::value::fault::{Fault, Result};
use crate::value::integer::wide;
use crate::value::operator as op;
use crate::value::packed::{self, ElementKind};
use crate::value::tuple::Tuple;
use crate::value::value_table::ValueTable;
use crate::value::{Value, nesting_of};
use std::rc::Rc;

/// `value in container`.
pub(crate) fn contains(container: &Value, value: &Value) -> Result<bool> {
    meter::spend(op::len(container)? / 8)?;
    match container {
        Value::Set(s) => Ok(s.contains(value)),
        Value::Tuple(t) => Ok(t.contains(value)),
        Value::Pair(i, j) => {
            Ok(value.as_int().is_some_and(|x| x == i64::from(*i) || x == i64::from(*j)))
        }
        _ => Ok(op::items(container)?.contains(value)),
    }
}

pub(crate) fn combine(a: &[Value]) -> Result {
    if let (Value::Set(_), Value::Set(_)) = (&a[0], &a[1])
        && let Ok(all) =
            iteration_order::union(vec![a[0].clone(), a[1].clone()], IterationOrder::Chained)
    {
        return all;
    }
    let mut all = op::items(&a[0])?;
    all.extend(op::items(&a[1])?);
    op::rebuilt(&a[0], all)
}

/// `a & b`: bitwise for integers; for sets the smaller is iterated, the second if they are equal in size.
pub(crate) fn intersection(a: &[Value]) -> Result {
    match (&a[0], &a[1]) {
        (Value::Bool(x), Value::Bool(y)) => return Ok(Value::Bool(x & y)),
        (Value::Set(x), Value::Set(y)) => {
            return common(x, y);
        }
        _ => {}
    }
    match (a[0].as_int(), a[1].as_int()) {
        (Some(x), Some(y)) => Ok(Value::Int(x & y)),
        _ => wide(&a[0], &a[1], op::linear, |x, y| x & y).ok_or(Fault::TypeError)?,
    }
}

/// `x & y`. CPython copies x if both are one object.
fn common(x: &Rc<Set>, y: &Rc<Set>) -> Result {
    let (larger, smaller) = if y.len() > x.len() { (y, x) } else { (x, y) };
    let kept = positions(smaller, larger, true)?;
    let is_one = Rc::ptr_eq(x, y);
    let are_equal = kept.len() == larger.len();
    Ok(at_positions(smaller, kept, |parent, kept| match (are_equal, identity::is_exact()) {
        (true, true) if is_one => IterationOrder::Copied(parent),
        (true, false) => {
            identity::record_made();
            IterationOrder::CopiedOrKept(parent, is_one)
        }
        _ => IterationOrder::Kept(parent, kept),
    }))
}

pub(crate) fn difference(a: &[Value]) -> Result {
    if let (Value::Set(x), Value::Set(y)) = (&a[0], &a[1]) {
        let kept = positions(x, y, false)?;
        return Ok(at_positions(x, kept, IterationOrder::Kept));
    }
    let mut kept = Vec::new();
    for e in op::items(&a[0])? {
        if !contains(&a[1], &e)? {
            kept.push(e);
        }
    }
    op::rebuilt(&a[0], kept)
}

/// `set - other`, by either of CPython's two algorithms.
pub(crate) fn minus(set: &Rc<Set>, other: &Rc<Set>) -> Result {
    let kept = positions(set, other, false)?;
    let n_other = other.len();
    Ok(at_positions(set, kept, |parent, kept| IterationOrder::Minus(parent, kept, n_other)))
}

/// Comparing fewer pairs of elements one by one is as fast as sorting hashes.
const N_SEARCHED_MAX: usize = 256;

/// The positions of the elements of `set` whose membership of `other` is as wanted.
fn positions(set: &Set, other: &Set, wanted: bool) -> Result<Vec<u32>> {
    meter::build(set.len() + other.len(), 8)?;
    let all = 0..set.len() as u32;
    if let (Some((x, kind)), Some((y, other_kind))) = (set.packed(), other.packed()) {
        if kind != other_kind || y.is_empty() {
            return Ok(if wanted { Vec::new() } else { all.collect() });
        }
        let members = other.members(y, x.len());
        let x: &[u32] = x;
        return Ok(all.filter(|&k| members.has(x[k as usize]) == wanted).collect());
    }
    meter::spend(set.len() + other.len())?;
    if set.len() * other.len() <= N_SEARCHED_MAX {
        return Ok(all.filter(|&k| other.contains(&set.get(k as usize)) == wanted).collect());
    }
    let hashes = set.hashes();
    let mut others: Vec<(u64, u32)> = other.hashes().into_iter().zip(0..).collect();
    others.sort_unstable();
    let is_in_other = |k: usize| {
        let from = others.partition_point(|e| e.0 < hashes[k]);
        let mut same_hash = others[from..].iter().take_while(|e| e.0 == hashes[k]);
        same_hash.any(|e| other.get(e.1 as usize) == set.get(k))
    };
    Ok(all.filter(|&k| is_in_other(k as usize) == wanted).collect())
}

/// The set of the elements at these positions; `order` makes their order of the parent and the positions.
pub(crate) fn at_positions(
    set: &Rc<Set>,
    kept: Vec<u32>,
    order: impl FnOnce(Rc<Set>, Vec<u32>) -> IterationOrder,
) -> Value {
    let at = kept.iter().map(|&k| k as usize);
    match set.items() {
        Items::Packed(v, kind) => {
            let v: &[u32] = v;
            let items: Vec<u32> = at.map(|k| v[k]).collect();
            set::packed(items, *kind, order(set.clone(), kept))
        }
        Items::Duos(v, kind) => {
            let items = at.map(|k| v[k]).collect();
            set::duos(items, *kind, order(set.clone(), kept))
        }
        Items::Couples(of, v) => {
            let items = at.map(|k| v[k]).collect();
            set::couples(of.clone(), items, order(set.clone(), kept))
        }
        Items::Lines(v, kind, _) => {
            let items = at.map(|k| v[k]).collect();
            set::lines(items, *kind, order(set.clone(), kept), set.nesting())
        }
        Items::General(v, hashes) => {
            let items = at.clone().map(|k| v[k].clone()).collect();
            let hashes = hashes.get().map(|hashes| at.map(|k| hashes[k]).collect::<Vec<_>>());
            set::general(items, hashes, order(set.clone(), kept), set.nesting())
        }
    }
}

pub(crate) fn dedupe(a: &[Value]) -> Result {
    let all = op::items(&a[0])?;
    if !a[0].is_tuple() && !all.is_empty() {
        // The reference calls `index`, which sets do not have.
        return Err(Fault::AttributeError);
    }
    let mut hashes = std::collections::HashMap::<u64, Vec<u32>>::new();
    let mut kept: Vec<Value> = Vec::new();
    meter::spend(all.len())?;
    meter::hash(&all)?;
    for e in all {
        let same_hash = hashes.entry(e.py_hash()).or_default();
        if !same_hash.iter().any(|&k| kept[k as usize] == e) {
            same_hash.push(kept.len() as u32);
            kept.push(e);
        }
    }
    Value::tuple(kept)
}

pub(crate) fn repeat(a: &[Value]) -> Result {
    let n = usize::try_from(op::nearest_int(&a[1])?).unwrap_or(0);
    meter::build(n, 16)?;
    Value::tuple(vec![a[0].clone(); n])
}

pub(crate) fn size(a: &[Value]) -> Result {
    Ok(Value::Int(op::len(&a[0])? as i64))
}

pub(crate) fn merge(a: &[Value]) -> Result {
    merged(&a[0])
}

/// The elements of the containers in a container, in one container of the outer kind.
pub(crate) fn merged(containers: &Value) -> Result {
    match containers {
        Value::Set(s) => {
            if let Items::General(items, _) = s.items()
                && let Some(all) = iteration_order::joined(items)
            {
                let (all, kind) = all?;
                return Ok(set::packed(all, kind, IterationOrder::ChainedOver(s.clone())));
            }
            if let Some(all) = merged_sets(s) {
                return all;
            }
            if let Items::Lines(lines, kind, _) = s.items() {
                let n: usize = lines.iter().map(|l| l.len()).sum();
                if n == 0 {
                    return Ok(set::empty());
                }
                meter::build(n + lines.len(), 4)?;
                let all = distinct::on_lines(lines, n);
                return Ok(set::packed(all, *kind, IterationOrder::ChainedOver(s.clone())));
            }
        }
        Value::Tuple(t) => {
            if let Some(all) = chained(t) {
                return all;
            }
            let grids: Option<Vec<_>> = t
                .items()
                .iter()
                .map(|v| if let Value::Grid(g) = v { Some(g) } else { None })
                .collect();
            if let Some(grids) =
                grids.filter(|g| g.windows(2).all(|p| p[0].width() == p[1].width()))
                && let Some(first) = grids.first()
            {
                let n = grids.iter().map(|g| g.cells().len()).sum();
                meter::build(n, 1)?;
                let mut cells: Vec<i8> = Vec::with_capacity(n);
                for grid in &grids {
                    cells.extend_from_slice(grid.cells());
                }
                return crate::value::grid::value(
                    cells.len() / first.width(),
                    first.width(),
                    cells,
                );
            }
        }
        _ => {}
    }
    let mut all = Vec::new();
    for c in op::items(containers)? {
        all.extend(op::items(&c)?);
    }
    op::rebuilt(containers, all)
}

/// The elements of a set of sets of packed sets; None for other sets. The order is not needed.
fn merged_sets(outer: &Rc<Set>) -> Option<Result> {
    let Items::General(containers, _) = outer.items() else {
        return None;
    };
    let is_empty_set = |v: &Value| matches!(v, Value::Set(s) if s.is_empty());
    let has_sets = |v: &Value| is_empty_set(v) || distinct::has_packed_sets(v);
    if !containers.iter().all(has_sets) {
        return None;
    }
    let lists = || {
        containers.iter().filter_map(|container| match container {
            Value::Set(s) => match s.items() {
                Items::General(sets, _) => Some(sets),
                _ => None,
            },
            _ => None,
        })
    };
    let n: usize = lists().map(Listed::len).sum();
    let paid = meter::build(containers.len(), 16)
        .and_then(|()| lists().try_for_each(|sets| meter::build(sets.len(), 16)))
        .and_then(|()| meter::build(n, 16));
    if let Err(fault) = paid.and_then(|()| meter::spend(n)) {
        return Some(Err(fault));
    }
    let copies: Option<Vec<_>> = lists().map(Listed::copies_or_few).collect();
    if let Some(all) = copies.and_then(|lists| Copies::all_of(&lists))
        && n > 0
    {
        let order = IterationOrder::Joined(outer.clone(), (0..n as u32).collect());
        return Some(set::copies(all, order));
    }
    let all: Vec<Value> = lists().flat_map(|sets| sets.iter()).cloned().collect();
    let (kept, numbers) = distinct::sets(&all)?;
    let sets: Vec<Value> = kept.iter().map(|&k| all[k as usize].clone()).collect();
    let order = IterationOrder::Joined(outer.clone(), numbers);
    Some(nesting_of(sets.iter()).map(|(nesting, _)| set::general(sets, None, order, nesting)))
}

/// The elements of a tuple of packed sets of one kind; None for other tuples. Results of up to two elements have other
/// forms.
fn chained(containers: &Tuple) -> Option<Result> {
    let mut sets = Vec::with_capacity(containers.len());
    let mut one_kind = None;
    let mut n = 0;
    for container in containers.items() {
        let Value::Set(s) = container else {
            return None;
        };
        let (items, kind) = s.packed()?;
        if !items.is_empty() {
            if *one_kind.get_or_insert(kind) != kind {
                return None;
            }
            n += items.len();
            sets.push(s.clone());
        }
    }
    let kind = one_kind.filter(|_| n > 2)?;
    let paid = meter::build(containers.len(), 16)
        .and_then(|()| sets.iter().try_for_each(|s| meter::build(s.len(), 16)));
    Some(paid.map(|()| Value::Tuple(Rc::new(Tuple::chain(sets, kind)))))
}

pub(crate) fn extreme(container: &Value, greatest: bool) -> Result {
    if let Value::Pair(i, j) = *container {
        return Ok(Value::Int(if greatest { i.max(j) } else { i.min(j) }.into()));
    }
    Ok(op::extreme(op::items(container)?, greatest)?.unwrap_or(Value::Int(0)))
}

pub(crate) fn mostcommon(a: &[Value]) -> Result {
    most_common(&a[0], true)
}

pub(crate) fn leastcommon(a: &[Value]) -> Result {
    most_common(&a[0], false)
}

/// The first element of `set(container)` with the extreme count.
fn most_common(container: &Value, most: bool) -> Result {
    let all = op::items(container)?;
    if !container.is_tuple() {
        return Err(Fault::AttributeError);
    }
    let best = most_counted(&all, most)?;
    best.ok_or(Fault::ValueError)
}

/// The first value in set order that occurs most often, or least.
pub(crate) fn most_counted(all: &[Value], most: bool) -> Result<Option<Value>> {
    meter::spend(all.len())?;
    meter::hash(all)?;
    let mut distinct: Vec<(Value, usize)> = Vec::new();
    let mut by_hash = std::collections::HashMap::<u64, Vec<usize>>::new();
    for v in all {
        let same_hash = by_hash.entry(v.py_hash()).or_default();
        match same_hash.iter().find(|&&k| distinct[k].0 == *v) {
            Some(&k) => distinct[k].1 += 1,
            None => {
                same_hash.push(distinct.len());
                distinct.push((v.clone(), 1));
            }
        }
    }
    let count = distinct.iter().map(|d| d.1);
    let Some(best) = (if most { count.max() } else { count.min() }) else {
        return Ok(None);
    };
    let set = ValueTable::collect(distinct.iter().map(|d| d.0.clone()));
    let is_best = |v: &&Value| distinct.iter().any(|d| d.1 == best && d.0 == **v);
    Ok(set.iter().find(is_best).cloned())
}

pub(crate) fn initset(a: &[Value]) -> Result {
    match a[0].packed() {
        Some((p, kind)) => {
            let key = (6 + kind as u64) << 56 | u64::from(p);
            Ok(set_cache::set(key, || set::packed(vec![p], kind, IterationOrder::Sequence)))
        }
        None => set::from_values(vec![a[0].clone()]),
    }
}

pub(crate) fn totuple(a: &[Value]) -> Result {
    Value::tuple(op::items(&a[0])?)
}

pub(crate) fn first(a: &[Value]) -> Result {
    op::first(&a[0])
}

pub(crate) fn last(a: &[Value]) -> Result {
    match &a[0] {
        Value::Set(s) => {
            s.layout().perm.last().map(|&k| s.get(k as usize)).ok_or(Fault::ValueError)
        }
        v => match v.tuple_len() {
            Some(0) => Err(Fault::ValueError),
            Some(n) => Ok(v.tuple_item(n - 1)),
            None => Err(Fault::TypeError),
        },
    }
}

/// `container.union({value})`.
pub(crate) fn insert(a: &[Value]) -> Result {
    let (value, Value::Set(s)) = (&a[0], &a[1]) else {
        return Err(Fault::AttributeError);
    };
    meter::build(s.len() + 1, 16)?;
    if s.is_empty() {
        return set::from_values(vec![value.clone()]);
    }
    let is_new = !s.contains(value);
    let order = IterationOrder::Inserted(s.clone(), value.clone());
    if let Items::Packed(items, kind) = s.items() {
        let added = value.packed().filter(|p| p.1 == *kind).map(|p| p.0);
        if !is_new || added.is_some() {
            let mut items = items.to_vec();
            items.extend(added.filter(|_| is_new));
            return Ok(set::packed(items, *kind, order));
        }
    }
    let mut items: Vec<Value> = (0..s.len()).map(|k| s.get(k)).collect();
    let mut hashes = s.hashes();
    if is_new {
        items.push(value.clone());
        hashes.push(value.py_hash());
    }
    let (nesting, _) = nesting_of(items.iter())?;
    Ok(set::general(items, Some(hashes), order, nesting))
}

pub(crate) fn remove(a: &[Value]) -> Result {
    removed(&a[0], &a[1])
}

pub(crate) fn other(a: &[Value]) -> Result {
    op::first(&removed(&a[1], &a[0])?)
}

fn removed(value: &Value, container: &Value) -> Result {
    if let Value::Set(s) = container {
        meter::build(s.len(), 8)?;
        let kept: Vec<u32> = match (s.packed(), value.packed()) {
            (Some((items, kind)), Some((p, value_kind))) => {
                let items: &[u32] = items;
                let gone = |k: &u32| kind == value_kind && items[*k as usize] == p;
                (0..s.len() as u32).filter(|k| !gone(k)).collect()
            }
            _ => (0..s.len() as u32).filter(|&k| !op::equal(&s.get(k as usize), value)).collect(),
        };
        return Ok(at_positions(s, kept, IterationOrder::Kept));
    }
    let mut all = op::items(container)?;
    all.retain(|e| !op::equal(e, value));
    Value::tuple(all)
}

pub(crate) fn product(a: &[Value]) -> Result {
    if let (Value::Set(x), Value::Set(y)) = (&a[0], &a[1])
        && let (Some((p, kind)), Some((q, other_kind))) = (x.packed(), y.packed())
        && kind == other_kind
    {
        meter::build(p.len() * q.len(), 8)?;
        let mut items = Vec::with_capacity(p.len() * q.len());
        let p: &[u32] = p;
        for &j in q {
            items.extend(p.iter().map(|&i| u64::from(i) << 32 | u64::from(j)));
        }
        return Ok(set::duos(items, kind, IterationOrder::Product(x.clone(), y.clone())));
    }
    if let (Value::Set(x), Value::Set(y)) = (&a[0], &a[1])
        && has_packed_sets(x)
        && has_packed_sets(y)
    {
        let n = x.len() * y.len();
        meter::build(y.len(), 16)?;
        meter::build(x.len(), 16)?;
        meter::build(n, 16)?;
        meter::build(n, 16)?;
        meter::spend(n)?;
        let mut items = Vec::with_capacity(n);
        for j in 0..y.len() as u64 {
            items.extend((0..x.len() as u64).map(|i| i << 32 | j));
        }
        let of = Rc::new([x.clone(), y.clone()]);
        let all = set::couples(of, items, IterationOrder::Product(x.clone(), y.clone()));
        nesting_of(std::iter::once(&all))?;
        return Ok(all);
    }
    let second = op::items(&a[1])?;
    if second.is_empty() {
        return Ok(set::empty());
    }
    let firsts = op::items(&a[0])?;
    meter::build(firsts.len() * second.len(), meter::TUPLE_BYTES)?;
    let mut all = Vec::with_capacity(firsts.len() * second.len());
    for j in &second {
        for i in &firsts {
            all.push(Value::two(i.clone(), j.clone())?);
        }
    }
    set::from_values(all)
}

/// Whether the elements are sets of places or cells; false for the empty set.
fn has_packed_sets(set: &Set) -> bool {
    let is_packed = |v: &Value| matches!(v, Value::Set(s) if s.packed().is_some());
    match set.items() {
        Items::General(items, _) => items.copies().is_some() || items.iter().all(is_packed),
        Items::Lines(..) => true,
        _ => false,
    }
}

pub(crate) fn pair(a: &[Value]) -> Result {
    let (x, y) = (op::items(&a[0])?, op::items(&a[1])?);
    Value::tuple(x.into_iter().zip(y).map(|(p, q)| Value::two(p, q)).collect::<Result<_>>()?)
}

pub(crate) fn sizefilter(a: &[Value]) -> Result {
    let is_wanted =
        |e: &Value| packed_set(e).map(|(_, items, _)| a[1] == Value::Int(items.len() as i64));
    if let Some(kept) = kept_sets(&a[0], is_wanted) {
        return kept;
    }
    let mut kept = Vec::new();
    for e in op::items(&a[0])? {
        if Value::Int(op::len(&e)? as i64) == a[1] {
            kept.push(e);
        }
    }
    set::from_values(kept)
}

/// The wanted sets of a set of sets, inserted in iteration order; None if `is_wanted` cannot decide for one of them.
///
/// The order is not computed, but the charge is that of iterating and inserting.
pub(crate) fn kept_sets(
    container: &Value,
    is_wanted: impl Fn(&Value) -> Option<bool>,
) -> Option<Result> {
    let Value::Set(s) = container else {
        return None;
    };
    let Items::General(items, _) = s.items() else {
        return None;
    };
    let mut kept = Vec::with_capacity(items.len());
    for (k, item) in (0..).zip(items.iter()) {
        if is_wanted(item)? {
            kept.push(k);
        }
    }
    let n = kept.len();
    let paid = meter::build(items.len(), 16).and_then(|()| meter::build(n, 16));
    let paid = paid.and_then(|()| meter::spend(n));
    Some(paid.map(|()| at_positions(s, kept, IterationOrder::Kept)))
}

/// The packed elements of a set and whether they are cells, if the set is packed and not empty.
#[inline]
pub(crate) fn packed_set(v: &Value) -> Option<(&Rc<Set>, &[u32], ElementKind)> {
    match v {
        Value::Set(s) => {
            s.packed().filter(|(items, _)| !items.is_empty()).map(|(items, c)| (s, items, c))
        }
        _ => None,
    }
}

/// Whether all the packed elements share one colour.
pub(crate) fn one_color(items: &[u32]) -> bool {
    items.iter().all(|x| (x ^ items[0]) & !packed::PLACE_MASK == 0)
}
