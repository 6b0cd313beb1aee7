//! The range of ε for which the solver was proved.

use crate::settings::{CoordScale, Settings};
use crate::shape::Shape;

/// The least ε/s² that was proved, in px², where s is the coordinate scale: a blur of a third of
/// a pixel. The tests solve easy and hard pairs with it and compare with exact arithmetic. Below it
/// a plan is as sharp as one without entropy, and sweeps hardly converge.
pub const EPSILON_PX2_MIN: f64 = 0.1;
/// The largest ε that was proved, for frames one unit long: a blur of a sixth of the frame. Above it
/// every pixel goes everywhere, and residuals say less than they should.
pub const EPSILON_UNIT_MAX: f64 = 0.03;

/// Frames of at most this many pixels a side are compared with a dense solver at any ε.
const SIDE_PX_DENSE: usize = 12;

/// An ε outside of the range that was proved, for a frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EpsilonOutside {
    /// The ε that was asked for.
    pub epsilon: f64,
    /// Its blur, px: the root of ε/s².
    pub blur_px: f64,
    /// The same blur for frames one unit long, as `--coord-scale auto` has them.
    pub equivalent: f64,
    /// The range of ε for this scale.
    pub range: [f64; 2],
}

impl Settings {
    /// How far ε is outside of the range that was proved for frames of this shape; `None` if it is
    /// inside. Very small frames have no range.
    ///
    /// ```
    /// use swathe_ot::{CoordScale, Settings, Shape};
    /// let frame = Shape::new(200, 300);
    /// assert!(Settings::default().epsilon_outside(frame).is_none());
    /// // An ε for frames one unit long, with coordinates in pixels.
    /// let settings = Settings { epsilon: 1e-2, coord_scale: CoordScale::Fixed(1.0), ..Settings::default() };
    /// let outside = settings.epsilon_outside(frame).unwrap();
    /// assert!((outside.blur_px - 0.1).abs() < 1e-12 && (outside.range[0] - 0.1).abs() < 1e-12);
    /// ```
    pub fn epsilon_outside(&self, frame: Shape) -> Option<EpsilonOutside> {
        let longest_px = frame.longest_px().max(1);
        let length = longest_px as f64;
        let scale = match self.coord_scale {
            CoordScale::Auto => 1.0 / length,
            CoordScale::Fixed(scale) => scale,
        };
        let px2 = self.epsilon / (scale * scale);
        let range_px2 = [EPSILON_PX2_MIN, EPSILON_UNIT_MAX * length * length];
        // Values that were computed from the ends are inside.
        let is_inside = px2 >= range_px2[0] * (1.0 - 1e-9) && px2 <= range_px2[1] * (1.0 + 1e-9);
        if longest_px <= SIDE_PX_DENSE || is_inside {
            return None;
        }
        Some(EpsilonOutside {
            epsilon: self.epsilon,
            blur_px: px2.sqrt(),
            equivalent: px2 / (length * length),
            range: range_px2.map(|px2| px2 * scale * scale),
        })
    }
}
