//! Many values of one kind side by side, so that one step of a function runs over all of them.

use crate::columns::around_kernel::Around;
use crate::columns::overlap_kernel::Shares;
use crate::primitives::collection::initset;
use crate::set::line_segment::LineSegment;
use crate::set::shifted_sets::Listed;
use crate::set::{Items, Set, all_packed, halves};
use crate::value::Value;
use crate::value::closure::{Closure, Form};
use crate::value::grid::KnownGrid;
use crate::value::packed::{self, ElementKind};
use std::borrow::Cow;
use std::ops::Range;
use std::rc::Rc;

/// The values of a function for several elements. A column does not store its length; the caller
/// passes it.
pub(crate) enum Column<'a> {
    /// One value for all elements.
    Same(Value),
    Bools(Vec<bool>),
    Ints(Vec<i64>),
    Pairs(Vec<(i32, i32)>),
    /// Packed cells.
    Cells(Vec<u32>, ElementKind),
    /// Tuples of two packed pairs, or of two packed cells.
    Duos(Vec<u64>, ElementKind),
    /// Tuples of two values, built lazily.
    Two(Shared<'a>, Shared<'a>),
    /// Sets of one packed pair or cell each.
    Singles(Vec<u32>, ElementKind),
    /// Sets that are lines of places, or of cells.
    Lines(Vec<LineSegment>, ElementKind),
    /// The set of the places around each of these places.
    Neighbors(Around, Vec<(i32, i32)>),
    /// The object of the grid's cells around each of these places.
    NeighborCells(Around, Vec<(i32, i32)>, Rc<KnownGrid>),
    /// Objects shifted by many steps.
    Copies(Box<Listed>),
    /// The intersections of sets with another set, or their differences from it.
    Shares(Box<Shares<'a>>),
    /// Functions of one form with different parts, built lazily.
    Functions(Form, [Shared<'a>; 3]),
    Values(Cow<'a, [Value]>),
}

/// Shared, because several steps of a function read one column.
pub(crate) type Shared<'a> = Rc<Column<'a>>;

impl<'a> Column<'a> {
    /// The elements of a set at these positions of its content.
    pub(crate) fn of_set(set: &'a Set, at: Range<usize>) -> Column<'a> {
        match set.items() {
            Items::Packed(items, kind) if kind.has_color() => {
                Column::Cells(items[at].to_vec(), *kind)
            }
            Items::Packed(items, _) => Column::Pairs(items[at].iter().map(|&p| place(p)).collect()),
            Items::Duos(items, kind) => Column::Duos(items[at].to_vec(), *kind),
            Items::Couples(of, items) => {
                let half = |side: usize| {
                    let at = items[at.clone()].iter().map(|&d| halves(d));
                    let values = at.map(|d| of[side].get(if side == 0 { d.0 } else { d.1 }));
                    Rc::new(Column::Values(values.collect()))
                };
                Column::Two(half(0), half(1))
            }
            Items::Lines(lines, kind, _) => Column::Lines(lines[at].to_vec(), *kind),
            Items::General(items, _) => match items.copies() {
                Some(copies) => Column::Copies(Box::new(copies.part(at).into())),
                None => Column::of_slice(&items[at]),
            },
        }
    }

    /// A column of these values, in a narrow form if all are of one kind.
    pub(crate) fn of_slice(values: &'a [Value]) -> Column<'a> {
        narrow(values).unwrap_or(Column::Values(Cow::Borrowed(values)))
    }

    /// As `of_slice`, for owned values.
    pub(crate) fn of(values: Vec<Value>) -> Column<'a> {
        narrow(&values).unwrap_or(Column::Values(Cow::Owned(values)))
    }

    /// One element; None if it would be nested too deeply.
    #[inline]
    pub(crate) fn get(&self, k: usize) -> Option<Value> {
        Some(match self {
            Column::Same(v) => v.clone(),
            Column::Bools(v) => Value::Bool(v[k]),
            Column::Ints(v) => Value::Int(v[k]),
            Column::Pairs(v) => Value::Pair(v[k].0, v[k].1),
            Column::Cells(v, kind) => Value::unpacked(v[k], *kind),
            Column::Duos(v, kind) => Value::unpacked_duo(v[k], *kind),
            Column::Two(a, b) => Value::two(a.get(k)?, b.get(k)?).ok()?,
            Column::Lines(v, kind) => v[k].value(*kind),
            Column::Neighbors(around, v) => around.value(v[k]).ok()?,
            Column::NeighborCells(around, v, grid) => around.object(v[k], grid).ok()?,
            Column::Copies(copies) => copies[k].clone(),
            Column::Shares(shares) => shares.get(k)?,
            Column::Functions(form, [a, b, c]) => {
                Closure::value(*form, [a.get(k)?, b.get(k)?, c.get(k)?]).ok()?
            }
            Column::Singles(v, kind) => initset(&[Value::unpacked(v[k], *kind)]).ok()?,
            Column::Values(v) => v[k].clone(),
        })
    }

    /// The n elements of a result of `columnwise::map`.
    pub(crate) fn values(&self, n: usize) -> impl Iterator<Item = Value> + '_ {
        (0..n).map(|k| self.get(k).expect("results can be had"))
    }

    /// Whether a tuple of such elements can be built lazily: building it later never fails.
    pub(crate) fn is_plain(&self) -> bool {
        fn plain(v: &Value) -> bool {
            match v {
                Value::Tuple(_) | Value::Grid(_) | Value::Closure(_) => false,
                Value::Set(s) => s.packed().is_some(),
                _ => true,
            }
        }
        match self {
            Column::Same(v) => plain(v),
            Column::Values(v) => v.iter().all(plain),
            Column::Two(..) | Column::Functions(..) => false,
            _ => true,
        }
    }

    /// The integers, if all elements are integers.
    pub(crate) fn ints(&self, n: usize) -> Option<Cow<'_, [i64]>> {
        match self {
            Column::Ints(v) => Some(Cow::Borrowed(v)),
            Column::Same(Value::Int(x)) => Some(Cow::Owned(vec![*x; n])),
            _ => None,
        }
    }

    /// The pairs of integers, if all elements are pairs.
    pub(crate) fn pairs(&self, n: usize) -> Option<Cow<'_, [(i32, i32)]>> {
        match self {
            Column::Pairs(v) => Some(Cow::Borrowed(v)),
            Column::Same(Value::Pair(i, j)) => Some(Cow::Owned(vec![(*i, *j); n])),
            _ => None,
        }
    }
}

/// The pair that a packed place stands for.
#[inline]
pub(crate) fn place(p: u32) -> (i32, i32) {
    (packed::row(p), packed::col(p))
}

fn narrow<'a>(values: &[Value]) -> Option<Column<'a>> {
    fn all<T>(values: &[Value], part: impl Fn(&Value) -> Option<T>) -> Option<Vec<T>> {
        let mut parts = Vec::with_capacity(values.len());
        for v in values {
            parts.push(part(v)?);
        }
        Some(parts)
    }
    match values.first()? {
        Value::Bool(_) => all(values, |v| match v {
            Value::Bool(b) => Some(*b),
            _ => None,
        })
        .map(Column::Bools),
        Value::Int(_) => all(values, |v| match v {
            Value::Int(n) => Some(*n),
            _ => None,
        })
        .map(Column::Ints),
        Value::Pair(..) => all(values, |v| match v {
            Value::Pair(i, j) => Some((*i, *j)),
            _ => None,
        })
        .map(Column::Pairs),
        Value::Cell(..) | Value::Triple(..) => {
            all_packed(values).map(|(cells, kind)| Column::Cells(cells, kind))
        }
        Value::Duo(_, _, kind) => all(values, |v| match v {
            Value::Duo(a, b, c) if c == kind => Some(u64::from(*a) << 32 | u64::from(*b)),
            _ => None,
        })
        .map(|duos| Column::Duos(duos, *kind)),
        _ => None,
    }
}
