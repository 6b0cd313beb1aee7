//! Buckets and work grids, for users who keep their own solver.

use std::cell::RefCell;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use swathe_ot::{Crop, Shape, auto_buckets};
use swathe_python::Interrupt;

use crate::frame_view::PairView;

/// At most `n` shapes to which all of `shapes` are padded with the least waste.
#[pyfunction]
pub(crate) fn buckets(shapes: Vec<(usize, usize)>, n: usize) -> PyResult<Vec<(usize, usize)>> {
    if n == 0 {
        return Err(PyValueError::new_err("n is 0; it is 1 or more"));
    }
    let shapes: Vec<Shape> = shapes.iter().map(|&(h, w)| Shape::new(h, w)).collect();
    let buckets = auto_buckets(&shapes, n);
    Ok(buckets.iter().map(|shape| (shape.h_px, shape.w_px)).collect())
}

/// `(y0, x0, height, width)` of the crop, `(height, width)` of the work grid and `(y, x)` of the
/// crop in it.
type Placed = ((usize, usize, usize, usize), (usize, usize), (usize, usize));

/// Where the work grid of a pair lies.
#[pyfunction]
pub(crate) fn pair_geometry(
    py: Python<'_>,
    pair: &Bound<'_, PyAny>,
    policy: &str,
    padding: usize,
    pool: usize,
    buckets: Vec<(usize, usize)>,
) -> PyResult<Placed> {
    let bad = |message: String| PyValueError::new_err(message);
    let crop = match policy {
        "union" => Crop::Union { padding_px: padding },
        "fixed" => Crop::Fixed,
        "bucketed" => Crop::Bucketed {
            padding_px: padding,
            buckets: buckets.iter().map(|&(h, w)| Shape::new(h, w)).collect(),
        },
        other => {
            return Err(bad(format!(
                "policy is '{other}'; it is one of 'union', 'fixed', 'bucketed'"
            )));
        }
    };
    if pool == 0 {
        return Err(bad("pool is 0; it is 1 or more".to_owned()));
    }
    let view = PairView::new(pair, 0)?;
    let geometry = py.detach(|| {
        let interrupt = RefCell::new(Interrupt::new());
        let placed = view.place(&crop, pool, &|| interrupt.borrow_mut().is_due());
        interrupt.into_inner().finish()?;
        placed.map_err(|error| bad(error.to_string()))
    })?;
    let cut = geometry.crop;
    Ok((
        (cut.y0_px, cut.x0_px, cut.shape.h_px, cut.shape.w_px),
        (geometry.work.h_px, geometry.work.w_px),
        (geometry.pad_y_px, geometry.pad_x_px),
    ))
}
