//! Primitives that enlarge grids and objects.

use super::collection::packed_set;
use super::extent::{bounds, corner};
use super::patch::{range, shifted};
use crate::evaluate::meter::{self, Usage};
use crate::set;
use crate::set_order::iteration_order::IterationOrder;
use crate::set_order::table::PackedTable;
use crate::value::Value;
use crate::value::fault::Result;
use crate::value::grid::{self, dense};
use crate::value::operator as op;
use crate::value::packed::{self, ElementKind};
use crate::value::value_table::ValueTable;

pub(crate) fn upscale(a: &[Value]) -> Result {
    if a[0].is_tuple() {
        return upscaled(&a[0], &a[1], (true, true));
    }
    upscaled_object(&a[0], &a[1])
}

/// Cells of repeated rows that are copied here for one unit of work.
const N_REPEATED_CELLS_UNIT: usize = 64;

/// Every row, every value or both repeated.
pub(crate) fn upscaled(grid: &Value, factor: &Value, (rows, values): (bool, bool)) -> Result {
    let times = |is_repeated: bool| -> Result<usize> {
        if is_repeated { Ok(usize::try_from(op::nearest_int(factor)?).unwrap_or(0)) } else { Ok(1) }
    };
    if let Some(g) = dense(grid) {
        let (n, m) = (times(rows)?, times(values)?);
        // Python makes each wide row once and repeats it, which takes no work for each cell.
        let n_cells = g.cells().len().saturating_mul(n).saturating_mul(m);
        meter::charge(Usage {
            work: (n_cells / N_REPEATED_CELLS_UNIT) as u64,
            bytes: n_cells as u64,
        })?;
        let mut cells = Vec::with_capacity(g.cells().len() * n * m);
        for row in g.rows() {
            let mut wide = Vec::with_capacity(row.len() * m);
            for &c in row {
                wide.resize(wide.len() + m, c);
            }
            for _ in 0..n {
                cells.extend_from_slice(&wide);
            }
        }
        return grid::value(g.height() * n, g.width() * m, cells);
    }
    let mut out = Vec::new();
    for row in op::items(grid)? {
        let mut wide = row.clone();
        if values {
            let mut cells = Vec::new();
            for v in op::items(&row)? {
                let m = times(true)?;
                meter::build(m, 16)?;
                cells.extend(std::iter::repeat_n(v, m));
            }
            wide = Value::tuple(cells)?;
        }
        let n = times(rows)?;
        meter::build(n, 16)?;
        out.extend(std::iter::repeat_n(wide, n));
    }
    Value::tuple(out)
}

pub(crate) fn upscaled_object(element: &Value, factor: &Value) -> Result {
    if op::len(element)? == 0 {
        return Ok(set::empty());
    }
    if let (Some(b), Some(f)) = (bounds(element), factor.as_int())
        && let Some((_, items, kind @ (ElementKind::Cell | ElementKind::Triple))) =
            packed_set(element)
        && (1..64).contains(&f)
        && packed::fits(i64::from(b.height()) * f, i64::from(b.width()) * f)
        && packed::fits(
            i64::from(b.top) + i64::from(b.height()) * f,
            i64::from(b.left) + i64::from(b.width()) * f,
        )
    {
        let f = f as i32;
        meter::build(items.len() * (f * f) as usize, 4)?;
        let normal = shifted(element, &Value::Pair(-b.top, -b.left))?;
        let (normal, items, _) = packed_set(&normal).expect("the object is not empty");
        let grow = move |x: u32| {
            let (c, i, j) = (packed::color(x), packed::row(x) * f, packed::col(x) * f);
            (0..f).flat_map(move |a| (0..f).map(move |d| packed::cell(c, i + a, j + d)))
        };
        let content: Vec<u32> = items.iter().flat_map(|&x| grow(x)).collect();
        let normal = normal.clone();
        let rebuild = move || {
            let in_order = normal.packed_in_order().expect("the object is packed");
            PackedTable::collect(kind, in_order.into_iter().flat_map(grow)).copied()
        };
        let grown = set::packed(content, kind, IterationOrder::Rebuilt(Box::new(rebuild)));
        return shifted(&grown, &Value::Pair(b.top, b.left));
    }
    let (di, dj) = op::unpack(&corner(element, [false, false])?)?;
    let normal = shifted(element, &Value::two(op::neg(&di)?, op::neg(&dj)?)?)?;
    let mut cells = Vec::new();
    if let Some(f) = factor.as_int() {
        let n_of_cell = usize::try_from(f.max(0).saturating_pow(2)).unwrap_or(usize::MAX);
        let n_cells = op::len(&normal)?.saturating_mul(n_of_cell);
        meter::build(n_cells, meter::TUPLE_BYTES)?;
        cells.reserve_exact(n_cells);
    }
    for e in op::items(&normal)? {
        let [i, j, value] = op::cell_parts(&e)?;
        let scaled = |v: &Value, by: i64| op::add(&op::mul(v, factor)?, &Value::Int(by));
        for a in range(0, op::int(factor)?)? {
            for d in range(0, op::int(factor)?)? {
                let row = scaled(&i, a)?;
                cells.push(op::cell_of(row, scaled(&j, d)?, value.clone())?);
            }
        }
    }
    let grown = ValueTable::collect(cells).copied().into_value()?;
    shifted(&grown, &Value::two(di, dj)?)
}
