//! Frames that Python owns.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use swathe_ot::{
    Crop, Failure, Frame, Geometry, Pair, PixelBox, PixelFault, Shape, Side, place_live,
};
use swathe_python::ArrayView;

/// A frame: an array of masses and, if wanted, a mask outside of which there is none.
#[derive(Debug)]
pub(crate) struct FrameView {
    density: ArrayView,
    mask: Option<ArrayView>,
}

/// Two frames.
#[derive(Debug)]
pub(crate) struct PairView {
    pub(crate) source: FrameView,
    pub(crate) target: FrameView,
}

impl PairView {
    /// From `(source, target)` or `(source, target, source_mask, target_mask)`; `number` names the
    /// pair in errors.
    pub(crate) fn new(pair: &Bound<'_, PyAny>, number: usize) -> PyResult<PairView> {
        let parts: Vec<Bound<'_, PyAny>> = pair.extract().map_err(|_| {
            PyValueError::new_err(format!(
                "pair {number}: it is a {}; a pair is (source, target) or (source, target, source mask, target mask)",
                pair.get_type()
            ))
        })?;
        match &parts[..] {
            [source, target] => Ok(PairView {
                source: FrameView::new(source, None, number, "source")?,
                target: FrameView::new(target, None, number, "target")?,
            }),
            [source, target, source_mask, target_mask] => Ok(PairView {
                source: FrameView::new(source, Some(source_mask), number, "source")?,
                target: FrameView::new(target, Some(target_mask), number, "target")?,
            }),
            parts => Err(PyValueError::new_err(format!(
                "pair {number}: it has {} parts; a pair is (source, target) or (source, target, source mask, target mask)",
                parts.len()
            ))),
        }
    }

    /// Where the work grid lies, after every pixel was looked at.
    pub(crate) fn place(&self, crop: &Crop, pool: usize) -> Result<Geometry, Failure> {
        let (source, target) = (self.source.shape(), self.target.shape());
        if source != target {
            return Err(Failure::UnequalShapes {
                source_shape: source,
                target_shape: target,
            });
        }
        let live = match (
            self.source.live_box(Side::Source)?,
            self.target.live_box(Side::Target)?,
        ) {
            (Some(a), Some(b)) => Some(a.union(b)),
            (a, b) => a.or(b),
        };
        place_live(source, live, crop, pool)
    }

    /// The pixels that take part, copied.
    pub(crate) fn cut(&self, geometry: Geometry) -> Result<Pair, Failure> {
        let live = geometry.live.unwrap_or(PixelBox {
            y0_px: 0,
            x0_px: 0,
            shape: Shape::new(0, 0),
        });
        let (source, target) = (self.source.cut(live)?, self.target.cut(live)?);
        Ok(Pair::cut(source, target, geometry))
    }
}

impl FrameView {
    fn new(
        density: &Bound<'_, PyAny>,
        mask: Option<&Bound<'_, PyAny>>,
        number: usize,
        side: &str,
    ) -> PyResult<FrameView> {
        let what = || format!("pair {number}, {side}");
        let density = ArrayView::new(density, what)?;
        if density.shape().len() != 2 || density.n_elements() == 0 {
            return Err(PyValueError::new_err(format!(
                "{}: its shape is {:?}; a frame has two axes, height and width, and at least one pixel",
                what(),
                density.shape()
            )));
        }
        let mask = match mask.filter(|mask| !mask.is_none()) {
            None => None,
            Some(mask) => Some(ArrayView::new(mask, || format!("{} mask", what()))?),
        };
        if let Some(mask) = &mask
            && mask.shape() != density.shape()
        {
            return Err(PyValueError::new_err(format!(
                "{}: its mask is {:?}, and the frame is {:?}",
                what(),
                mask.shape(),
                density.shape()
            )));
        }
        Ok(FrameView { density, mask })
    }

    pub(crate) fn shape(&self) -> Shape {
        Shape::new(self.density.shape()[0], self.density.shape()[1])
    }

    /// Adds the frame's extents and pixels to a hash.
    pub(crate) fn hash_into(&self, hasher: &mut blake3::Hasher) {
        let Shape { h_px, w_px } = self.shape();
        let mut row = vec![0.0; w_px];
        let mut bytes = Vec::with_capacity(8 * w_px);
        hasher.update(&(h_px as u64).to_le_bytes());
        hasher.update(&(w_px as u64).to_le_bytes());
        for y in 0..h_px {
            self.read_row(y, 0, &mut row);
            bytes.clear();
            bytes.extend(row.iter().flat_map(|mass| mass.to_le_bytes()));
            hasher.update(&bytes);
        }
    }

    /// Fills `row` with a part of a row of the frame.
    fn read_row(&self, y: usize, x0: usize, row: &mut [f64]) {
        self.density.for_row(y, x0, row.len(), |x, v| row[x] = v);
        if let Some(mask) = &self.mask {
            mask.for_row(y, x0, row.len(), |x, v| {
                if v == 0.0 {
                    row[x] = 0.0;
                }
            });
        }
    }

    /// The box around the pixels with mass.
    fn live_box(&self, side: Side) -> Result<Option<PixelBox>, Failure> {
        let shape = self.shape();
        let (mut y0, mut y1, mut x0, mut x1) = (usize::MAX, 0, usize::MAX, 0);
        let mut row = vec![0.0; shape.w_px];
        for y in 0..shape.h_px {
            self.read_row(y, 0, &mut row);
            if let Some(x) = row.iter().position(|v| !(*v >= 0.0 && *v < f64::INFINITY)) {
                return Err(bad_pixel(side, y, x, row[x]));
            }
            let Some(first) = row.iter().position(|v| *v > 0.0) else {
                continue;
            };
            let last = row.iter().rposition(|v| *v > 0.0).unwrap_or(first);
            (y0, y1) = (y0.min(y), y + 1);
            (x0, x1) = (x0.min(first), x1.max(last + 1));
        }
        Ok((y0 != usize::MAX).then(|| PixelBox {
            y0_px: y0,
            x0_px: x0,
            shape: Shape::new(y1 - y0, x1 - x0),
        }))
    }

    /// All pixels of the frame.
    pub(crate) fn whole(&self) -> Result<Frame, Failure> {
        self.cut(PixelBox {
            y0_px: 0,
            x0_px: 0,
            shape: self.shape(),
        })
    }

    fn cut(&self, live: PixelBox) -> Result<Frame, Failure> {
        let Shape { h_px, w_px } = live.shape;
        let mut density = vec![0.0; h_px * w_px];
        if w_px > 0 {
            for (y, row) in density.chunks_exact_mut(w_px).enumerate() {
                self.read_row(live.y0_px + y, live.x0_px, row);
            }
        }
        Frame::new(h_px, w_px, density)
    }
}

fn bad_pixel(side: Side, y_px: usize, x_px: usize, value: f64) -> Failure {
    let fault = if value.is_nan() {
        PixelFault::NotANumber
    } else if value.is_infinite() {
        PixelFault::Infinite
    } else {
        PixelFault::Negative
    };
    Failure::BadPixel {
        side,
        y_px,
        x_px,
        value,
        fault,
    }
}
