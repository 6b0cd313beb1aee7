//! Collects the results of a function in the narrowest form that holds them, and makes sets of
//! them.

use crate::columns::column::Column;
use crate::evaluate::meter;
use crate::set::distinct;
use crate::set::line_segment::LineSegment;
use crate::set::shifted_sets::Copies;
use crate::set::{self, Set};
use crate::set_order::iteration_order::IterationOrder;
use crate::value::fault::Result;
use crate::value::packed::{self, ElementKind};
use crate::value::{Value, nesting_of};
use std::rc::Rc;

/// Results of a function as they come, in the narrowest form that holds all of them.
pub(crate) enum ResultCollector {
    /// Sets that are straight lines.
    Lines(Vec<LineSegment>, ElementKind),
    /// One object, moved.
    Copies(Copies),
    Values(Vec<Value>),
}

impl ResultCollector {
    pub(crate) fn new() -> ResultCollector {
        ResultCollector::Values(Vec::new())
    }

    /// Adds the n elements of a result of `columnwise::map`.
    pub(crate) fn add(&mut self, column: &Column, n: usize) {
        if matches!(self, ResultCollector::Values(v) if v.is_empty()) {
            match column {
                Column::Lines(_, kind) | Column::Singles(_, kind) => {
                    *self = ResultCollector::Lines(Vec::new(), *kind);
                }
                Column::Copies(list) => {
                    if let Some(copies) = list.copies().filter(|c| c.only_object().is_some()) {
                        *self = ResultCollector::Copies(copies.part(0..n));
                        return;
                    }
                }
                _ => {}
            }
        }
        if let (ResultCollector::Copies(all), Column::Copies(list)) = (&mut *self, column)
            && let Some(copies) = list.copies()
            && all.add(copies)
        {
            return;
        }
        match (&mut *self, column) {
            (ResultCollector::Lines(all, kind), Column::Lines(lines, c)) if kind == c => {
                all.extend_from_slice(lines);
            }
            (ResultCollector::Lines(all, kind), Column::Singles(singles, c)) if kind == c => {
                all.extend(singles.iter().map(|&p| LineSegment::single(p)));
            }
            _ => {
                let before = std::mem::replace(self, ResultCollector::new());
                let mut all = before.into_values();
                all.extend(column.values(n));
                *self = ResultCollector::Values(all);
            }
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            ResultCollector::Lines(v, _) => v.len(),
            ResultCollector::Copies(copies) => copies.len(),
            ResultCollector::Values(v) => v.len(),
        }
    }

    pub(crate) fn into_values(self) -> Vec<Value> {
        match self {
            ResultCollector::Lines(v, kind) => v.into_iter().map(|l| l.value(kind)).collect(),
            ResultCollector::Copies(copies) => (0..copies.len()).map(|k| copies.get(k)).collect(),
            ResultCollector::Values(v) => v,
        }
    }

    /// `frozenset(self)`: inserted one after the other.
    pub(crate) fn into_set(self) -> Result {
        match self {
            ResultCollector::Lines(v, kind) => {
                meter::build(v.len(), 16)?;
                meter::spend(v.len())?;
                let kept = distinct::lines(&v, |_| ());
                lines_at(&v, &kept, kind, IterationOrder::Sequence)
            }
            values => set::from_values(values.into_values()),
        }
    }

    /// `frozenset(self)`, where result k was made from the parent's item k and the parent was iterated.
    pub(crate) fn into_set_over(self, parent: &Rc<Set>) -> Result {
        meter::build(self.len(), 16)?;
        match self {
            ResultCollector::Lines(v, kind) => {
                meter::build(v.len(), 16)?;
                meter::spend(v.len())?;
                let mut numbers = Vec::with_capacity(v.len());
                let kept = distinct::lines(&v, |number| numbers.push(number));
                let order = IterationOrder::Numbered(parent.clone(), numbers);
                lines_at(&v, &kept, kind, order)
            }
            ResultCollector::Copies(copies) if is_moved_by(&copies, parent) => {
                meter::build(copies.len(), 16)?;
                meter::spend(copies.len())?;
                set::copies(copies, IterationOrder::Via(parent.clone()))
            }
            values => values_over(values.into_values(), parent),
        }
    }
}

/// Whether the steps of copies are the elements of a set. If so, no two copies are equal.
fn is_moved_by(copies: &Copies, parent: &Set) -> bool {
    let Some((places, ElementKind::Place)) = parent.packed() else {
        return false;
    };
    let places = places.iter().map(|&p| (packed::row(p), packed::col(p)));
    places.eq(copies.steps())
}

fn lines_at(
    lines: &[LineSegment],
    kept: &[u32],
    kind: ElementKind,
    order: IterationOrder,
) -> Result {
    let lines: Vec<LineSegment> = kept.iter().map(|&k| lines[k as usize]).collect();
    let all_empty = lines.iter().all(|l| *l == LineSegment::NONE);
    let set = set::lines(lines, kind, order, if all_empty { 2 } else { 3 });
    nesting_of(std::iter::once(&set))?;
    Ok(set)
}

fn values_over(values: Vec<Value>, parent: &Rc<Set>) -> Result {
    if let Some((packed, kind)) = set::all_packed(&values) {
        let items = distinct::cells(packed.clone());
        let order = IterationOrder::Mapped(parent.clone(), packed);
        return Ok(set::packed(items, kind, order));
    }
    inserted_over(&values, parent)
}

/// The set of these values, where value k was made from the parent's item k and the parent was iterated.
pub(crate) fn inserted_over(values: &[Value], parent: &Rc<Set>) -> Result {
    if let Some((kept, numbers)) = distinct::sets(values) {
        meter::build(values.len(), 16)?;
        meter::spend(values.len())?;
        let sets: Vec<Value> = kept.iter().map(|&k| values[k as usize].clone()).collect();
        let (nesting, _) = nesting_of(sets.iter())?;
        let order = IterationOrder::Numbered(parent.clone(), numbers);
        return Ok(set::general(sets, None, order, nesting));
    }
    let in_order = parent.layout().perm.iter();
    set::from_values(in_order.map(|&k| values[k as usize].clone()).collect())
}
