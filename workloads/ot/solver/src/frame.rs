//! Frames and pairs of frames: the inputs of the solver.

use crate::failure::{Failure, PixelFault, Side};
use crate::geometry::Geometry;
use crate::self_cell::SelfCell;
use crate::shape::Shape;
use std::sync::Arc;

/// A frame: non-negative mass per pixel, row-major. A mask is 1 inside and 0 outside.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// Height and width.
    pub shape: Shape,
    /// Mass per pixel, row by row.
    pub density: Vec<f64>,
    /// Width of a pixel in µm, if known.
    pub um_per_px: Option<f64>,
}

impl Frame {
    /// A frame of `h_px` × `w_px` pixels.
    ///
    /// # Errors
    /// [`Failure::WrongLength`] if the number of values is not `h_px` × `w_px`.
    ///
    /// ```
    /// let frame = swathe_ot::Frame::new(2, 3, vec![0.0, 1.0, 0.0, 0.0, 1.0, 1.0])?;
    /// assert_eq!(frame.mass(), 3.0);
    /// # Ok::<(), swathe_ot::Failure>(())
    /// ```
    pub fn new(h_px: usize, w_px: usize, density: Vec<f64>) -> Result<Frame, Failure> {
        let shape = Shape::new(h_px, w_px);
        if density.len() != shape.n_px() {
            return Err(Failure::WrongLength { shape, n_values: density.len() });
        }
        Ok(Frame { shape, density, um_per_px: None })
    }

    /// The same frame with a known pixel width.
    pub fn with_um_per_px(mut self, um_per_px: f64) -> Frame {
        self.um_per_px = Some(um_per_px);
        self
    }

    /// The sum of all pixels. Adding zeros is exact, so padding does not change a bit of the sum.
    pub fn mass(&self) -> f64 {
        self.density.iter().sum()
    }

    /// Fails with the first pixel that is NaN, infinite or negative.
    pub(crate) fn check(&self, side: Side) -> Result<(), Failure> {
        let bad = |v: &f64| !(*v >= 0.0 && *v < f64::INFINITY);
        let Some(at) = self.density.iter().position(bad) else {
            return Ok(());
        };
        let value = self.density[at];
        let fault = if value.is_nan() {
            PixelFault::NotANumber
        } else if value.is_infinite() {
            PixelFault::Infinite
        } else {
            PixelFault::Negative
        };
        let (y_px, x_px) = (at / self.shape.w_px, at % self.shape.w_px);
        Err(Failure::BadPixel { side, y_px, x_px, value, fault })
    }
}

/// Two frames of one shape: where mass was, and where it is next.
#[derive(Clone, Debug)]
pub struct Pair {
    /// Where mass comes from. Shared, because a frame of a series belongs to two pairs.
    pub source: Arc<Frame>,
    /// Where mass goes to.
    pub target: Arc<Frame>,
    /// Where the frames were cut out of larger ones; `None` if they are whole.
    pub cut: Option<Geometry>,
    /// Where the self-transports of source and target are kept. Without a cell they are solved
    /// anew, with the same result.
    pub self_cells: [Option<Arc<SelfCell>>; 2],
}

impl Pair {
    /// A pair of whole frames.
    pub fn new(source: impl Into<Arc<Frame>>, target: impl Into<Arc<Frame>>) -> Pair {
        Pair { source: source.into(), target: target.into(), cut: None, self_cells: [None, None] }
    }

    /// The pair with cells that keep the self-transports of its two frames for other pairs. A cell
    /// belongs to the frame that is paired, whole or cut.
    pub fn with_self_cells(self, source: Arc<SelfCell>, target: Arc<SelfCell>) -> Pair {
        Pair { self_cells: [Some(source), Some(target)], ..self }
    }

    /// A pair of frames that were cut to the live box of this geometry. Only pixels in this box
    /// take part in a solve, so the solution equals that of the whole frames bit for bit, and a
    /// frame whose live box fills a tenth of it takes a tenth of the memory.
    pub fn cut(
        source: impl Into<Arc<Frame>>,
        target: impl Into<Arc<Frame>>,
        geometry: Geometry,
    ) -> Pair {
        Pair { cut: Some(geometry), ..Pair::new(source, target) }
    }
}
