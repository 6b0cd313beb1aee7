//! Elements by their rank: in a sorted order, by a key, or by how often they occur.

use super::container::at_rank;
use crate::evaluate::meter;
use crate::primitives::color::row_values;
use crate::primitives::mapping::key;
use crate::primitives::sorting;
use crate::set;
use crate::value::Value;
use crate::value::closure::call;
use crate::value::fault::{Fault, Result};
use crate::value::operator as op;
use crate::value::value_table::ValueTable;
use std::collections::HashMap;

/// Sorted falling; 0 if there is no such rank.
pub(crate) fn get_rank(a: &[Value]) -> Result {
    let all = op::items(&a[0])?;
    meter::spend(all.len())?;
    let order = sorting::sorted_falling(&all)?;
    ranked(&all, &order, &a[1], || Ok(Value::Int(0)))
}

pub(crate) fn get_arg_rank(a: &[Value]) -> Result {
    falling_by_key(a, || op::rebuilt(&a[0], Vec::new()))
}

pub(crate) fn get_arg_rank_t(a: &[Value]) -> Result {
    falling_by_key(a, empty_tuple)
}

pub(crate) fn get_arg_rank_f(a: &[Value]) -> Result {
    falling_by_key(a, || Ok(set::empty()))
}

fn empty_tuple() -> Result {
    Value::tuple(Vec::new())
}

fn falling_by_key(a: &[Value], other: impl FnOnce() -> Result) -> Result {
    let (all, keys) = with_keys(&a[0], &a[1])?;
    let order = sorting::sorted_falling(&keys)?;
    ranked(&all, &order, &a[2], other)
}

fn with_keys(container: &Value, f: &Value) -> Result<(Vec<Value>, Vec<Value>)> {
    let all = op::items(container)?;
    let keys = all.iter().map(|e| key(f, e)).collect::<Result<Vec<_>>>()?;
    meter::spend(all.len())?;
    Ok((all, keys))
}

/// The element at a rank of an order of elements.
fn ranked(all: &[Value], order: &[u32], rank: &Value, other: impl FnOnce() -> Result) -> Result {
    match at_rank(rank, order.len())? {
        Some(k) => Ok(all[order[k] as usize].clone()),
        None => other(),
    }
}

/// The key of the element at a rank, sorted rising; that of 0 if there is no such rank.
pub(crate) fn get_val_rank(a: &[Value]) -> Result {
    let (all, keys) = with_keys(&a[0], &a[1])?;
    let order = sorting::sorted(&keys)?;
    let element = ranked(&all, &order, &a[2], || Ok(Value::Int(0)))?;
    call(&a[1], &[element])
}

pub(crate) fn get_common_rank(a: &[Value]) -> Result {
    if !a[0].is_tuple() {
        // Only tuples have a method `count`.
        return Err(Fault::AttributeError);
    }
    common_rank(a, || op::rebuilt(&a[0], Vec::new()))
}

pub(crate) fn get_common_rank_f(a: &[Value]) -> Result {
    common_rank(a, || Ok(set::empty()))
}

/// The distinct elements in set order, sorted by how often they occur.
fn common_rank(a: &[Value], other: impl FnOnce() -> Result) -> Result {
    let all = op::items(&a[0])?;
    let counts = counted(&all)?;
    let table = ValueTable::collect(counts.iter().map(|c| c.0.clone()));
    let distinct: Vec<Value> = table.iter().cloned().collect();
    let of: HashMap<u64, Vec<usize>> = by_hash(&counts);
    let count = |v: &Value| {
        let same = of.get(&v.py_hash()).into_iter().flatten();
        let mut same = same.filter(|&&k| counts[k].0 == *v);
        Value::Int(same.next().map_or(0, |&k| counts[k].1))
    };
    let keys: Vec<Value> = distinct.iter().map(count).collect();
    let order = sorting::sorted(&keys)?;
    ranked(&distinct, &order, &a[1], other)
}

fn by_hash(counts: &[(Value, i64)]) -> HashMap<u64, Vec<usize>> {
    let mut of: HashMap<u64, Vec<usize>> = HashMap::new();
    for (k, (v, _)) in counts.iter().enumerate() {
        of.entry(v.py_hash()).or_default().push(k);
    }
    of
}

/// The distinct values in the order of their first appearance, with their counts.
fn counted(all: &[Value]) -> Result<Vec<(Value, i64)>> {
    meter::spend(all.len())?;
    let mut counts: Vec<(Value, i64)> = Vec::new();
    let mut of: HashMap<u64, Vec<usize>> = HashMap::new();
    for v in all {
        let same_hash = of.entry(v.py_hash()).or_default();
        match same_hash.iter().find(|&&k| counts[k].0 == *v) {
            Some(&k) => counts[k].1 += 1,
            None => {
                same_hash.push(counts.len());
                counts.push((v.clone(), 1));
            }
        }
    }
    Ok(counts)
}

/// The colours of a grid by falling count, equal ones as they first appear.
pub(crate) fn get_color_rank_t(a: &[Value]) -> Result {
    by_falling_count(&row_values(&a[0])?, &a[1], empty_tuple)
}

pub(crate) fn get_color_rank_f(a: &[Value]) -> Result {
    let colors = super::object::colors_of(&a[0])?;
    by_falling_count(&colors, &a[1], || Ok(set::empty()))
}

fn by_falling_count(colors: &[Value], rank: &Value, other: impl FnOnce() -> Result) -> Result {
    let mut counts = counted(colors)?;
    counts.sort_by_key(|c| std::cmp::Reverse(c.1));
    match at_rank(rank, counts.len())? {
        Some(k) => Ok(counts[k].0.clone()),
        None => other(),
    }
}

/// The element at a rank, sorted rising by a key that may be left out; None for an empty container.
pub(crate) fn get_nth_by_key_t(a: &[Value]) -> Result {
    let sorted = sorted_by(a)?;
    if sorted.is_empty() {
        return Ok(Value::None);
    }
    let at = at_rank(&a[1], sorted.len())?.ok_or(Fault::IndexError)?;
    Ok(sorted[at].clone())
}

/// As `get_nth_by_key_t`, but ranks below 0 count as 0 and a missing rank gives None.
pub(crate) fn get_nth_by_key_f(a: &[Value]) -> Result {
    let sorted = sorted_by(a)?;
    let rank = usize::try_from(op::int(&a[1])?).unwrap_or(0);
    Ok(sorted.get(rank).cloned().unwrap_or(Value::None))
}

fn sorted_by(a: &[Value]) -> Result<Vec<Value>> {
    let (all, keys) = with_keys(&a[0], a.get(2).unwrap_or(&Value::None))?;
    let order = sorting::sorted(&keys)?;
    Ok(order.into_iter().map(|k| all[k as usize].clone()).collect())
}
