//! Primitives on columns of straight lines, computed from the end points without building the sets.
//!
//! A kernel charges the meter what the primitive charges for building the sets.

use crate::columns::column::{Column, Shared};
use crate::columns::columnwise::Kernel;
use crate::evaluate::meter::{self, Usage};
use crate::set::line_segment::LineSegment;
use crate::value::packed::{self, Bounds, ElementKind};
use std::rc::Rc;

/// The lines between places.
pub(crate) fn connect<'a>(a: &[Shared<'a>], n: usize) -> Option<Shared<'a>> {
    let (x, y) = (a[0].pairs(n)?, a[1].pairs(n)?);
    lines(x.iter().zip(y.iter()).map(|(&p, &q)| (p, q)), n)
}

/// The rays from places in one direction.
pub(crate) fn shoot<'a>(a: &[Shared<'a>], n: usize) -> Option<Shared<'a>> {
    let (x, d) = (a[0].pairs(n)?, a[1].pairs(n)?);
    let far = |(i, j): (i32, i32), (di, dj): (i32, i32)| -> Option<(i32, i32)> {
        let far = |from: i32, by: i32| from.checked_add(by.checked_mul(42)?);
        Some((far(i, di)?, far(j, dj)?))
    };
    let ends = x.iter().zip(d.iter()).map(|(&p, &d)| Some((p, far(p, d)?)));
    lines(ends.collect::<Option<Vec<_>>>()?.into_iter(), n)
}

type Place = (i32, i32);

fn lines<'a>(ends: impl Iterator<Item = (Place, Place)>, n: usize) -> Option<Shared<'a>> {
    let fits = |p: Place| packed::fits(p.0.into(), p.1.into());
    let mut lines = Vec::with_capacity(n);
    for (p, q) in ends {
        if !fits(p) || !fits(q) {
            return None;
        }
        lines.push(LineSegment::between(p, q));
    }
    charge_build(&lines)?;
    Some(Rc::new(Column::Lines(lines, ElementKind::Place)))
}

/// Charges what building the sets costs.
fn charge_build(lines: &[LineSegment]) -> Option<()> {
    let mut usage = Usage::default();
    for line in lines {
        usage.work += line.len() as u64 / 8;
        usage.bytes += line.len() as u64 * 4;
    }
    meter::charge(usage).ok()
}

pub(crate) const VLINE: Kernel = |a, n| is_along(a, n, Bounds::height, Bounds::width);
pub(crate) const HLINE: Kernel = |a, n| is_along(a, n, Bounds::width, Bounds::height);

/// Whether each line lies along an axis: its extent along the axis is its length, and its extent
/// across is one.
fn is_along<'a>(
    a: &[Shared<'a>],
    n: usize,
    along: fn(&Bounds) -> i32,
    across: fn(&Bounds) -> i32,
) -> Option<Shared<'a>> {
    let Column::Lines(lines, _) = &*a[0] else {
        return None;
    };
    let mut bools = Vec::with_capacity(n);
    let mut work = 0;
    for line in lines {
        if *line == LineSegment::NONE {
            bools.push(false);
            continue;
        }
        let (b, len) = (line.bounds(), line.len());
        let is_long = along(&b) as usize == len;
        // The primitive computes the bounds once, and again if the first test passes.
        work += (len as u64 / 32) * (1 + u64::from(is_long));
        bools.push(is_long && across(&b) == 1);
    }
    meter::charge(Usage { work, bytes: 0 }).ok()?;
    Some(Rc::new(Column::Bools(bools)))
}

/// Lines of places, or single places, in colours.
pub(crate) fn recolor<'a>(a: &[Shared<'a>], n: usize) -> Option<Shared<'a>> {
    let colors = a[0].ints(n)?;
    if !colors.iter().all(|&c| packed::color_fits(c)) {
        return None;
    }
    match &*a[1] {
        Column::Lines(lines, ElementKind::Place) => {
            let colored = lines.iter().zip(colors.iter());
            let colored: Vec<LineSegment> = colored.map(|(l, &c)| l.colored(c as i32)).collect();
            charge_build(lines)?;
            Some(Rc::new(Column::Lines(colored, meter::cell_kind())))
        }
        Column::Singles(places, ElementKind::Place) => {
            let colored = places.iter().zip(colors.iter());
            let cells = colored.map(|(p, &c)| p | packed::color_bits(c as i32)).collect();
            let bytes = 4 * n as u64;
            meter::charge(Usage { work: 0, bytes }).ok()?;
            Some(Rc::new(Column::Singles(cells, meter::cell_kind())))
        }
        _ => None,
    }
}
