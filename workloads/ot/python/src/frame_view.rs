//! Frames that Python owns.

use std::ops::Range;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use swathe::{DeviceKind, Size, Stop, Workload as _};
use swathe_ot::{
    Crop, Failure, Frame, Geometry, Pair, PixelBox, PixelFault, Settings, Shape, Side, Transport,
    place_live, placed_size,
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

    /// Where the work grid lies, after every pixel was looked at; a failure if `stop` says so.
    pub(crate) fn place(
        &self,
        crop: &Crop,
        pool: usize,
        stop: &dyn Fn() -> bool,
    ) -> Result<Geometry, Failure> {
        self.check_shapes()?;
        let source = self.source.live_box(Side::Source, stop)?;
        let live = union(source, self.target.live_box(Side::Target, stop)?);
        place_live(self.source.shape(), live, crop, pool)
    }

    /// The size of the pair and its place. Where a few rows of the frames show that it needs more
    /// memory than this, its size by those rows and no place: a frame that does not fit is not read
    /// to its end.
    pub(crate) fn size(
        &self,
        settings: &Settings,
        memory_bytes: u64,
        stop: &dyn Fn() -> bool,
    ) -> Result<SizedPair, Failure> {
        self.check_shapes()?;
        let (crop, pool) = (&settings.crop, settings.pool);
        let seen = union(self.source.sampled_box(), self.target.sampled_box());
        // Without any mass in these rows nothing is known.
        if seen.is_some()
            && let Ok(geometry) = place_live(self.source.shape(), seen, crop, pool)
        {
            let sized = SizedPair::new(geometry, settings);
            if sized.need_bytes > memory_bytes {
                return Ok(SizedPair { geometry: None, ..sized });
            }
        }
        Ok(SizedPair::new(self.place(crop, pool, stop)?, settings))
    }

    /// The size of the pair, for the engine. After a stop it is any: nothing is solved any more, and
    /// a failure would be recorded.
    pub(crate) fn size_while(
        &self,
        settings: &Settings,
        memory_bytes: u64,
        stop: &Stop,
    ) -> Result<Size, Failure> {
        match self.size(settings, memory_bytes, &|| stop.is_cancelled()) {
            Ok(sized) => Ok(sized.size),
            Err(Failure::Stopped) => Ok(placed_size(Shape::new(1, 1), self.source.shape())),
            Err(failure) => Err(failure),
        }
    }

    fn check_shapes(&self) -> Result<(), Failure> {
        let (source, target) = (self.source.shape(), self.target.shape());
        match source == target {
            true => Ok(()),
            false => Err(Failure::UnequalShapes { source_shape: source, target_shape: target }),
        }
    }

    /// The pixels that take part, copied.
    pub(crate) fn cut(&self, geometry: Geometry) -> Result<Pair, Failure> {
        let live =
            geometry.live.unwrap_or(PixelBox { y0_px: 0, x0_px: 0, shape: Shape::new(0, 0) });
        let (source, target) = (self.source.cut(live)?, self.target.cut(live)?);
        Ok(Pair::cut(source, target, geometry))
    }
}

/// What solving a pair takes.
pub(crate) struct SizedPair {
    pub(crate) size: Size,
    /// The memory that solving it takes.
    pub(crate) need_bytes: u64,
    /// Where its work grid lies, if it was read to its end.
    pub(crate) geometry: Option<Geometry>,
}

impl SizedPair {
    fn new(geometry: Geometry, settings: &Settings) -> SizedPair {
        let size = placed_size(geometry.work, geometry.frame);
        SizedPair { size, need_bytes: need_bytes(settings, &size), geometry: Some(geometry) }
    }
}

/// The memory that solving a pair of this size takes.
pub(crate) fn need_bytes(settings: &Settings, size: &Size) -> u64 {
    let transport = Transport { settings: settings.clone() };
    transport.need(size, DeviceKind::Cpu).total_bytes()
}

fn union(a: Option<PixelBox>, b: Option<PixelBox>) -> Option<PixelBox> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.union(b)),
        (a, b) => a.or(b),
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

    /// Adds the frame's extents and pixels to a hash; gives up if `stop` says so.
    pub(crate) fn hash_into(&self, hasher: &mut blake3::Hasher, stop: &dyn Fn() -> bool) {
        let Shape { h_px, w_px } = self.shape();
        let mut row = vec![0.0; w_px];
        let mut bytes = Vec::with_capacity(8 * w_px);
        hasher.update(&(h_px as u64).to_le_bytes());
        hasher.update(&(w_px as u64).to_le_bytes());
        for y in (0..h_px).take_while(|_| !stop()) {
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
    fn live_box(&self, side: Side, stop: &dyn Fn() -> bool) -> Result<Option<PixelBox>, Failure> {
        let shape = self.shape();
        let mut found = LiveBox::default();
        let mut row = vec![0.0; shape.w_px];
        for y in 0..shape.h_px {
            if stop() {
                return Err(Failure::Stopped);
            }
            self.read_row(y, 0, &mut row);
            if let Some(x) = row.iter().position(|v| !(*v >= 0.0 && *v < f64::INFINITY)) {
                return Err(bad_pixel(side, y, x, row[x]));
            }
            found.add(y, &row);
        }
        Ok(found.pixels())
    }

    /// The box around the pixels with mass of some rows: a part of the live box.
    fn sampled_box(&self) -> Option<PixelBox> {
        const N_ROWS: usize = 32;
        let shape = self.shape();
        let mut found = LiveBox::default();
        let mut row = vec![0.0; shape.w_px];
        for at in 0..N_ROWS.min(shape.h_px) {
            let y = at * (shape.h_px - 1) / (N_ROWS.min(shape.h_px) - 1).max(1);
            self.read_row(y, 0, &mut row);
            found.add(y, &row);
        }
        found.pixels()
    }

    /// All pixels of the frame.
    pub(crate) fn whole(&self) -> Result<Frame, Failure> {
        self.cut(PixelBox { y0_px: 0, x0_px: 0, shape: self.shape() })
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

/// A box that grows by rows, from the top.
#[derive(Default)]
struct LiveBox {
    ys: Option<Range<usize>>,
    xs: Range<usize>,
}

impl LiveBox {
    fn add(&mut self, y: usize, row: &[f64]) {
        let Some(first) = row.iter().position(|v| *v > 0.0) else {
            return;
        };
        let last = row.iter().rposition(|v| *v > 0.0).unwrap_or(first);
        match &mut self.ys {
            None => (self.ys, self.xs) = (Some(y..y + 1), first..last + 1),
            Some(ys) => {
                ys.end = y + 1;
                self.xs = self.xs.start.min(first)..self.xs.end.max(last + 1);
            }
        }
    }

    fn pixels(&self) -> Option<PixelBox> {
        let ys = self.ys.as_ref()?;
        Some(PixelBox {
            y0_px: ys.start,
            x0_px: self.xs.start,
            shape: Shape::new(ys.len(), self.xs.len()),
        })
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
    Failure::BadPixel { side, y_px, x_px, value, fault }
}
