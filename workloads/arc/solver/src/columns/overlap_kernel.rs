//! Primitives on columns of sets that are shifted or compared with one set. They count common elements without building
//! the sets.
//!
//! A kernel charges the meter what the primitive charges for building the sets.

use crate::columns::column::{Column, Shared};
use crate::evaluate::meter::{self, Usage};
use crate::primitives::collection;
use crate::set::Set;
use crate::set::shifted_sets::Copies;
use crate::value::Value;
use crate::value::packed::{self, Bounds, ElementKind};
use std::cell::OnceCell;
use std::rc::Rc;

/// The intersections of sets with another set, or their differences from it, built lazily.
pub(crate) struct Shares<'a> {
    sets: Shared<'a>,
    n: usize,
    other: Rc<Set>,
    share: Share,
    values: OnceCell<Vec<Value>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Share {
    /// `set & other`.
    Common,
    /// `other & set`.
    CommonSwapped,
    /// `set - other`.
    Own,
}

impl Shares<'_> {
    /// The result for one set. The first call builds all results.
    pub(crate) fn get(&self, k: usize) -> Option<Value> {
        if let Some(values) = self.values.get() {
            return Some(values[k].clone());
        }
        let other = || Value::Set(self.other.clone());
        let made = |k: usize| {
            let set = self.sets.get(k)?;
            let made = match self.share {
                Share::Common => collection::intersection(&[set, other()]),
                Share::CommonSwapped => collection::intersection(&[other(), set]),
                Share::Own => collection::difference(&[set, other()]),
            };
            made.ok()
        };
        let values = meter::unmetered(|| (0..self.n).map(made).collect::<Option<Vec<_>>>())?;
        Some(self.values.get_or_init(|| values)[k].clone())
    }

    fn sizes(&self) -> Option<Vec<i64>> {
        let wanted = self.share != Share::Own;
        let (items, kind) = self.other.packed()?;
        let kept = |n_all: usize, n_common: usize| {
            let n = if wanted { n_common } else { n_all - n_common };
            n as i64
        };
        if let Some((copies, object)) = copies_of_one(&self.sets) {
            let (own, own_kind) = object.packed()?;
            if own_kind != kind || items.is_empty() {
                return Some(vec![kept(own.len(), 0); self.n]);
            }
            let n_common = n_common_of_copies(copies, object, &self.other, items, kind);
            return Some(n_common.into_iter().map(|n| kept(own.len(), n)).collect());
        }
        let sets = packed_sets(&self.sets)?;
        let sizes = sets.map(|own| {
            let (own, own_kind) = own?;
            if own_kind != kind || items.is_empty() {
                return Some(kept(own.len(), 0));
            }
            let members = self.other.members(items, own.len());
            let n_common = own.iter().filter(|&&p| members.has(p)).count();
            Some(kept(own.len(), n_common))
        });
        sizes.collect()
    }
}

/// One object shifted to many places.
pub(crate) fn shift<'a>(a: &[Shared<'a>], n: usize) -> Option<Shared<'a>> {
    let (Column::Same(Value::Set(object)), Column::Pairs(steps)) = (&*a[0], &*a[1]) else {
        return None;
    };
    let (items, _) = object.packed().filter(|(items, _)| !items.is_empty())?;
    let bounds = object.bounds();
    let fits =
        |&(di, dj): &(i32, i32)| packed::fits(di.into(), dj.into()) && bounds.moved(di, dj).fits();
    if !steps.iter().all(fits) {
        return None;
    }
    meter::charge(Usage {
        work: n as u64 * (items.len() as u64 / 8),
        bytes: n as u64 * items.len() as u64 * 4,
    })
    .ok()?;
    let copies = Copies::of_one(object, steps);
    Some(Rc::new(Column::Copies(Box::new(copies.into()))))
}

/// A column's copies and their object, if all are copies of one object.
fn copies_of_one<'b>(column: &'b Column) -> Option<(&'b Copies, &'b Rc<Set>)> {
    let Column::Copies(list) = column else {
        return None;
    };
    let copies = list.copies()?;
    Some((copies, copies.only_object()?))
}

pub(crate) fn difference<'a>(a: &[Shared<'a>], n: usize) -> Option<Shared<'a>> {
    match &*a[1] {
        Column::Same(Value::Set(other)) => shares(&a[0], other, Share::Own, n),
        _ => None,
    }
}

pub(crate) fn intersection<'a>(a: &[Shared<'a>], n: usize) -> Option<Shared<'a>> {
    match (&*a[0], &*a[1]) {
        (_, Column::Same(Value::Set(other))) => shares(&a[0], other, Share::Common, n),
        (Column::Same(Value::Set(other)), _) => shares(&a[1], other, Share::CommonSwapped, n),
        _ => None,
    }
}

fn shares<'a>(sets: &Shared<'a>, other: &Rc<Set>, share: Share, n: usize) -> Option<Shared<'a>> {
    let n_other = other.packed()?.0.len();
    let mut usage = Usage::default();
    let mut pay = |n: usize| {
        usage.work += (n + n_other) as u64 / 8;
        usage.bytes += (n + n_other) as u64 * 8;
    };
    match copies_of_one(sets) {
        Some((_, object)) => (0..n).for_each(|_| pay(object.len())),
        None => {
            for items in packed_sets(sets)? {
                pay(items?.0.len());
            }
        }
    }
    meter::charge(usage).ok()?;
    Some(Rc::new(Column::Shares(Box::new(Shares {
        sets: sets.clone(),
        n,
        other: other.clone(),
        share,
        values: OnceCell::new(),
    }))))
}

/// The sizes of sets and other containers.
pub(crate) fn size<'a>(a: &[Shared<'a>], _: usize) -> Option<Shared<'a>> {
    let of_values = |values: &[Value]| {
        let sizes = values.iter().map(|v| v.len().map(|n| n as i64));
        sizes.collect::<Option<_>>()
    };
    let sizes = match &*a[0] {
        Column::Lines(lines, _) => lines.iter().map(|l| l.len() as i64).collect(),
        Column::Copies(list) => match list.copies() {
            Some(copies) => copies.sizes().map(|n| n as i64).collect(),
            None => of_values(list)?,
        },
        Column::Shares(shares) => shares.sizes()?,
        Column::Values(values) => of_values(values)?,
        _ => return None,
    };
    Some(Rc::new(Column::Ints(sizes)))
}

/// The content of each set of a column: None for a set that is not packed, and None for a column without values.
fn packed_sets<'b>(
    column: &'b Column,
) -> Option<impl Iterator<Item = Option<(&'b [u32], ElementKind)>>> {
    let values: &[Value] = match column {
        Column::Values(values) => values,
        Column::Copies(list) => list,
        _ => return None,
    };
    Some(values.iter().map(|v| match v {
        Value::Set(s) => s.packed(),
        _ => None,
    }))
}

/// How many elements each copy has in common with a set of the same kind that is not empty.
fn n_common_of_copies(
    copies: &Copies,
    object: &Set,
    other: &Set,
    items: &[u32],
    kind: ElementKind,
) -> Vec<usize> {
    let own: &[u32] = object.packed().map_or(&[], |(own, _)| own);
    let steps = copies.steps();
    let (b, c) = (object.bounds(), other.bounds());
    if kind == ElementKind::Place && b.width() <= 64 && c.width() <= 64 {
        let (rows, others) = (Rows::of(own, b), Rows::of(items, c));
        return steps.map(|(di, dj)| rows.n_common(&others, di, dj)).collect();
    }
    let members = other.members(items, own.len() * copies.len());
    let n_common = |(di, dj): (i32, i32)| {
        let step = packed::step(di, dj);
        let moved = own.iter().map(|p| p.wrapping_add(step));
        moved.filter(|&p| members.has(p)).count()
    };
    steps.map(n_common).collect()
}

/// Places as a word of bits for each row.
struct Rows {
    bounds: Bounds,
    words: Vec<u64>,
}

impl Rows {
    /// The bounds are those of the places, and at most 64 wide.
    fn of(places: &[u32], bounds: Bounds) -> Rows {
        let mut words = vec![0; bounds.height() as usize];
        for &p in places {
            words[(packed::row(p) - bounds.top) as usize] |= 1 << (packed::col(p) - bounds.left);
        }
        Rows { bounds, words }
    }

    /// How many places coincide with the other places after a move by a step.
    fn n_common(&self, others: &Rows, di: i32, dj: i32) -> usize {
        // Column j of ours is column j + right of the others'.
        let right = self.bounds.left + dj - others.bounds.left;
        let down = self.bounds.top + di - others.bounds.top;
        let from = down.max(0);
        let to = (down + self.bounds.height()).min(others.bounds.height());
        if from >= to || right.unsigned_abs() >= 64 {
            return 0;
        }
        let ours = &self.words[(from - down) as usize..(to - down) as usize];
        let theirs = &others.words[from as usize..to as usize];
        let both = ours.iter().zip(theirs);
        let n = if right >= 0 {
            both.map(|(x, y)| (x & (y >> right)).count_ones()).sum::<u32>()
        } else {
            both.map(|(x, y)| (x & (y << -right)).count_ones()).sum()
        };
        n as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_count_what_the_sets_have_in_common() {
        let places = |seed: i32, h: i32, w: i32| -> Vec<u32> {
            let all = (0..h * w).filter(|k| (k * k * seed + k) % 7 < 3);
            all.map(|k| packed::place(k / w - 3, k % w - seed)).collect()
        };
        let (ours, theirs) = (places(3, 5, 9), places(2, 12, 64));
        let rows = Rows::of(&ours, Bounds::of(&ours));
        let others = Rows::of(&theirs, Bounds::of(&theirs));
        for di in -20..20 {
            for dj in -80..80 {
                let moved = ours.iter().map(|p| p.wrapping_add(packed::step(di, dj)));
                let n = moved.filter(|p| theirs.contains(p)).count();
                assert_eq!(rows.n_common(&others, di, dj), n, "by ({di}, {dj})");
            }
        }
    }
}
