//! Functions applied to the elements of containers.
//!
//! A set's elements are visited in content order, so that the table order need not be computed. If a call fails, all
//! calls are repeated in table order, where the first failure decides.

use super::collection::{at_positions, merged};
use super::sorting;
use crate::columns::column::Column;
use crate::columns::columnwise::{self, N_TOGETHER, N_TOGETHER_MIN};
use crate::columns::result_collector::{ResultCollector, inserted_over};
use crate::evaluate::meter;
use crate::language::primitive::{Primitive, Shortcut};
use crate::set::distinct;
use crate::set::line_segment::LineSegment;
use crate::set::{self, Set};
use crate::set_order::iteration_order::{self, IterationOrder};
use crate::value::Value;
use crate::value::closure::{Form, call};
use crate::value::fault::{Fault, Result};
use crate::value::operator as op;
use crate::value::packed::ElementKind;
use std::ops::Range;
use std::rc::Rc;

/// Calls f on an element inside a generator expression.
#[inline]
fn call_in_generator(f: &Value, args: &[Value]) -> Result {
    call(f, args).map_err(Fault::through_generator)
}

/// Calls f on n lists of arguments in order, as columns where possible. `done` receives each part of the results and
/// its length.
fn sweep<'a, const N_ARGS: usize>(
    f: &Value,
    n: usize,
    columns: impl Fn(Range<usize>) -> [Column<'a>; N_ARGS],
    one: impl Fn(usize) -> [Value; N_ARGS],
    mut done: impl FnMut(&Column, usize),
) -> Result<()> {
    let mut together = n >= N_TOGETHER_MIN;
    let mut from = 0;
    while from < n {
        let to = n.min(from + N_TOGETHER);
        if together {
            let args = columns(from..to).map(Rc::new);
            if from == 0 && matches!(*args[0], Column::Values(_)) {
                // Sets and other large values gain little from columns, and a failure wastes the work of a whole
                // column. The work of the first element decides.
                let before = meter::used();
                let first = call(f, &one(0))?;
                done(&Column::Values(vec![first].into()), 1);
                from = 1;
                together = meter::used().since(before).work <= WORK_TOGETHER_MAX;
                continue;
            }
            if let Some(results) = columnwise::map(f, &args, to - from)? {
                done(&results, to - from);
                from = to;
                continue;
            }
            together = false;
        }
        let mut results = Vec::with_capacity(to - from);
        for k in from..to {
            results.push(call(f, &one(k))?);
        }
        done(&Column::Values(results.into()), to - from);
        from = to;
    }
    Ok(())
}

/// Units of work for one element beyond which elements are evaluated one by one.
const WORK_TOGETHER_MAX: u64 = 256;

fn over_set(f: &Value, s: &Set, done: impl FnMut(&Column, usize)) -> Result<()> {
    let columns = |at: Range<usize>| [Column::of_set(s, at)];
    sweep(f, s.len(), columns, |k| [s.get(k)], done)
}

/// The results of f on the elements of a set, by position; None if a call failed.
fn by_position(f: &Value, s: &Set) -> Result<Option<ResultCollector>> {
    meter::build(s.len(), 16)?;
    let mut results = ResultCollector::new();
    match over_set(f, s, |column, n| results.add(column, n)) {
        Ok(()) => Ok(Some(results)),
        Err(fault) if fault.is_limit() => Err(fault),
        Err(_) => Ok(None),
    }
}

/// The results of f on the elements in the order that programs see.
fn in_order(f: &Value, container: &Value) -> Result<ResultCollector> {
    let all = op::items(container)?;
    let mut results = ResultCollector::new();
    let columns = |at: Range<usize>| [Column::of_slice(&all[at])];
    sweep(f, all.len(), columns, |k| [all[k].clone()], |column, n| results.add(column, n))
        .map_err(Fault::through_generator)?;
    Ok(results)
}

/// `[f(e) for e in container]`.
pub(crate) fn results(f: &Value, container: &Value) -> Result<Vec<Value>> {
    meter::nested(1, || Ok(in_order(f, container)?.into_values()))
}

pub(crate) fn apply(a: &[Value]) -> Result {
    meter::nested(1, || applied(&a[0], &a[1]))
}

fn applied(f: &Value, container: &Value) -> Result {
    match container {
        Value::Pair(i, j) => {
            let x = call_in_generator(f, &[Value::Int(i64::from(*i))])?;
            Value::two(x, call_in_generator(f, &[Value::Int(i64::from(*j))])?)
        }
        Value::Set(s) if s.len() > 1 => match by_position(f, s)? {
            Some(results) => results.into_set_over(s),
            None => in_order(f, container)?.into_set(),
        },
        Value::Set(_) => in_order(f, container)?.into_set(),
        _ => Value::tuple(in_order(f, container)?.into_values()),
    }
}

pub(crate) fn rapply(a: &[Value]) -> Result {
    meter::nested(1, || {
        let results = op::items(&a[0])?
            .into_iter()
            .map(|f| call_in_generator(&f, std::slice::from_ref(&a[1])))
            .collect::<Result<_>>()?;
        op::rebuilt(&a[0], results)
    })
}

pub(crate) fn mapply(a: &[Value]) -> Result {
    let (f, container) = (&a[0], &a[1]);
    meter::nested(2, || {
        let Value::Set(s) = container else {
            return merged(&applied(f, container)?);
        };
        if let Some(shifted) = shifted_everywhere(f, s) {
            return shifted;
        }
        let results = if s.len() > 1 { by_position(f, s)? } else { None };
        let Some(results) = results else {
            let results = in_order(f, container)?.into_values();
            return match iteration_order::union(results, IterationOrder::Merged) {
                Ok(all) => all,
                Err(results) => merged(&set::from_values(results)?),
            };
        };
        if let ResultCollector::Lines(lines, kind) = results {
            return merged_lines(s, lines, kind);
        }
        match iteration_order::union(results.into_values(), |sets| {
            IterationOrder::MergedOver(s.clone(), sets)
        }) {
            Ok(all) => all,
            Err(results) => merged(&inserted_over(&results, s)?),
        }
    })
}

/// The elements of lines, one for each item of the parent.
fn merged_lines(parent: &Rc<Set>, lines: Vec<LineSegment>, kind: ElementKind) -> Result {
    let n: usize = lines.iter().map(|l| l.len()).sum();
    if n == 0 {
        return Ok(set::empty());
    }
    meter::build(n + lines.len(), 4)?;
    Ok(set::packed(
        distinct::on_lines(&lines, n),
        kind,
        IterationOrder::MergedLines(parent.clone(), lines, kind),
    ))
}

/// `mapply(lbind(shift, object), indices)` without making the shifted objects.
fn shifted_everywhere(f: &Value, places: &Rc<Set>) -> Option<Result> {
    let Value::Closure(c) = f else { return None };
    let (Form::LeftBound(2), Value::Primitive(p), Value::Set(object)) =
        (c.form, &c.parts()[0], &c.parts()[1])
    else {
        return None;
    };
    let (steps, ElementKind::Place) = places.packed()? else {
        return None;
    };
    let (items, kind) = object.packed()?;
    if !matches!(Primitive::at(*p).traits.shortcut, Some(Shortcut::Shift))
        || items.is_empty()
        || steps.len() < 2
    {
        return None;
    }
    let (b, d) = (object.bounds(), places.bounds());
    if !b.moved(d.top, d.left).fits() || !b.moved(d.bottom, d.right).fits() {
        return None;
    }
    if let Err(fault) =
        meter::build(items.len() * steps.len(), 4).and_then(|()| meter::spend(steps.len()))
    {
        return Some(Err(fault));
    }
    let all = distinct::spread(object, places).unwrap_or_else(|| {
        let mut all = Vec::with_capacity(items.len() * steps.len());
        for &to in steps {
            let step = crate::value::packed::step(
                crate::value::packed::row(to),
                crate::value::packed::col(to),
            );
            all.extend(items.iter().map(|x| x.wrapping_add(step)));
        }
        distinct::cells(all)
    });
    Some(Ok(set::packed(all, kind, IterationOrder::ShiftedOver(places.clone(), object.clone()))))
}

pub(crate) fn papply(a: &[Value]) -> Result {
    meter::nested(1, || Value::tuple(pairwise(a)?))
}

pub(crate) fn mpapply(a: &[Value]) -> Result {
    meter::nested(2, || merged(&Value::tuple(pairwise(a)?)?))
}

fn pairwise(a: &[Value]) -> Result<Vec<Value>> {
    let (x, y) = (op::items(&a[1])?, op::items(&a[2])?);
    let n = x.len().min(y.len());
    let mut results = ResultCollector::new();
    let columns = |at: Range<usize>| [Column::of_slice(&x[at.clone()]), Column::of_slice(&y[at])];
    sweep(&a[0], n, columns, |k| [x[k].clone(), y[k].clone()], |column, n| results.add(column, n))
        .map_err(Fault::through_generator)?;
    Ok(results.into_values())
}

pub(crate) fn prapply(a: &[Value]) -> Result {
    meter::nested(1, || {
        let second = op::items(&a[2])?;
        if second.is_empty() {
            return Ok(set::empty());
        }
        let firsts = op::items(&a[1])?;
        let mut results = ResultCollector::new();
        for j in &second {
            let columns =
                |at: Range<usize>| [Column::of_slice(&firsts[at]), Column::Same(j.clone())];
            sweep(
                &a[0],
                firsts.len(),
                columns,
                |k| [firsts[k].clone(), j.clone()],
                |column, n| results.add(column, n),
            )
            .map_err(Fault::through_generator)?;
        }
        results.into_set()
    })
}

pub(crate) fn sfilter(a: &[Value]) -> Result {
    meter::nested(1, || filtered(&a[0], &a[1]))
}

pub(crate) fn mfilter(a: &[Value]) -> Result {
    meter::nested(2, || merged(&filtered(&a[0], &a[1])?))
}

/// The elements for which the condition holds, in a container of the same kind.
pub(crate) fn filtered(container: &Value, condition: &Value) -> Result {
    if let Value::Set(s) = container
        && s.len() > 1
    {
        meter::build(s.len(), 8)?;
        let mut kept = Vec::with_capacity(s.len());
        let mut at = 0;
        let found = over_set(condition, s, |column, n| {
            match column {
                Column::Bools(v) => kept.extend((at..).zip(v).filter(|(_, b)| **b).map(|(k, _)| k)),
                _ => kept.extend(
                    (at..).zip(column.values(n)).filter(|(_, v)| v.truth()).map(|(k, _)| k),
                ),
            }
            at += n as u32;
        });
        match found {
            Ok(()) => return Ok(at_positions(s, kept, IterationOrder::Kept)),
            Err(fault) if fault.is_limit() => return Err(fault),
            Err(_) => {}
        }
    }
    op::rebuilt(container, kept(container, condition)?)
}

/// The elements for which the condition holds, in iteration order.
pub(crate) fn kept(container: &Value, condition: &Value) -> Result<Vec<Value>> {
    let mut kept = Vec::new();
    for e in op::items(container)? {
        if call_in_generator(condition, std::slice::from_ref(&e))?.truth() {
            kept.push(e);
        }
    }
    Ok(kept)
}

pub(crate) fn extract(a: &[Value]) -> Result {
    meter::nested(1, || {
        for e in op::items(&a[0])? {
            if call_in_generator(&a[1], std::slice::from_ref(&e))?.truth() {
                return Ok(e);
            }
        }
        Err(Fault::StopIteration)
    })
}

pub(crate) fn order(a: &[Value]) -> Result {
    let all = op::items(&a[0])?;
    let keys = all.iter().map(|e| key(&a[1], e));
    // CPython counts `sorted`, `max` and `min` as frames.
    let keys = meter::nested(1, || keys.collect::<Result<Vec<_>>>())?;
    meter::spend(all.len())?;
    let order = sorting::sorted(&keys)?;
    Value::tuple(order.into_iter().map(|k| all[k as usize].clone()).collect())
}

/// A key function of None stands for the element itself.
pub(crate) fn key(f: &Value, element: &Value) -> Result {
    match f {
        Value::None => Ok(element.clone()),
        _ => call(f, std::slice::from_ref(element)),
    }
}

pub(crate) fn argmax(a: &[Value]) -> Result {
    best(&a[0], &a[1], true)?.map(|b| b.0).ok_or(Fault::ValueError)
}

pub(crate) fn argmin(a: &[Value]) -> Result {
    best(&a[0], &a[1], false)?.map(|b| b.0).ok_or(Fault::ValueError)
}

/// As `argmax`, but None for an empty container.
pub(crate) fn argmax_or_none(a: &[Value]) -> Result {
    Ok(best(&a[0], &a[1], true)?.map_or(Value::None, |b| b.0))
}

/// As `argmin`, but None for an empty container.
pub(crate) fn argmin_or_none(a: &[Value]) -> Result {
    Ok(best(&a[0], &a[1], false)?.map_or(Value::None, |b| b.0))
}

pub(crate) fn valmax(a: &[Value]) -> Result {
    value_of_best(a, true)
}

pub(crate) fn valmin(a: &[Value]) -> Result {
    value_of_best(a, false)
}

/// The reference calls the function once more on the best element; the key is that value already.
fn value_of_best(a: &[Value], greatest: bool) -> Result {
    match best(&a[0], &a[1], greatest)? {
        Some(_) if matches!(a[1], Value::None) => Err(Fault::TypeError),
        Some((_, key)) => Ok(key),
        None => call(&a[1], &[Value::Int(0)]),
    }
}

/// The first element with the extreme key, and the key.
fn best(container: &Value, f: &Value, greatest: bool) -> Result<Option<(Value, Value)>> {
    meter::nested(1, || best_by_key(container, f, greatest))
}

fn best_by_key(container: &Value, f: &Value, greatest: bool) -> Result<Option<(Value, Value)>> {
    if let Value::Set(s) = container
        && s.len() > 1
        && let Some(found) = best_without_order(s, f, greatest)?
    {
        return Ok(Some(found));
    }
    let mut best: Option<(Value, Value)> = None;
    for e in op::items(container)? {
        let key = key(f, &e)?;
        let better = match &best {
            None => true,
            Some((_, b)) if greatest => op::less(b, &key)?,
            Some((_, b)) => op::less(&key, b)?,
        };
        if better {
            best = Some((e, key));
        }
    }
    Ok(best)
}

/// The best element if all keys are integers; the order is computed only if several keys tie.
fn best_without_order(s: &Set, f: &Value, greatest: bool) -> Result<Option<(Value, Value)>> {
    meter::build(s.len(), 8)?;
    let keys = match meter::attempt(|| int_keys(s, f)) {
        Some(keys) => keys,
        None => {
            let mut keys = Vec::with_capacity(s.len());
            for k in 0..s.len() {
                match key(f, &s.get(k)) {
                    Ok(Value::Int(key)) => keys.push(key),
                    Err(fault) if fault.is_limit() => return Err(fault),
                    _ => return Ok(None),
                }
            }
            keys
        }
    };
    let extreme = if greatest { keys.iter().max() } else { keys.iter().min() };
    let extreme = *extreme.expect("the set is not empty");
    let mut best = keys.iter().enumerate().filter(|(_, key)| **key == extreme).map(|(k, _)| k);
    let (Some(first), second) = (best.next(), best.next()) else {
        return Ok(None);
    };
    let at = match second {
        None => first,
        Some(_) => s.first_where(|k| keys[k] == extreme).unwrap_or(first),
    };
    Ok(Some((s.get(at), Value::Int(extreme))))
}

/// The keys of the elements by position, if columns can compute them and all are integers.
fn int_keys(s: &Set, f: &Value) -> Option<Vec<i64>> {
    let n = s.len();
    if n < N_TOGETHER_MIN {
        return None;
    }
    let mut keys = Vec::with_capacity(n);
    for from in (0..n).step_by(N_TOGETHER) {
        let to = n.min(from + N_TOGETHER);
        let elements = Rc::new(Column::of_set(s, from..to));
        let column = columnwise::map(f, &[elements], to - from).ok()??;
        keys.extend_from_slice(&column.ints(to - from)?);
    }
    Some(keys)
}
