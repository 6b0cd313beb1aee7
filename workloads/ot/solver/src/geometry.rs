//! Where the work grid of a pair lies in its frames, and how results are mapped back.

use crate::failure::Failure;
use crate::frame::Frame;
use crate::shape::{PixelBox, Shape};
use crate::solution::{Fields, Potentials, Solution};

/// How the work grid is cut out of the frame. The choice does not change a bit of the answer: the
/// solver works on the box of live pixels, and the work grid is only the shape of a padded launch.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Crop {
    /// The tight box around both frames, grown by `padding_px` on each side.
    Union {
        /// How far the box is grown, within the frame.
        padding_px: usize,
    },
    /// The whole frame.
    Fixed,
    /// Like `Union`, then padded to the smallest bucket that holds the box, with the box centred.
    Bucketed {
        /// How far the box is grown, within the frame.
        padding_px: usize,
        /// The shapes to choose from, in pooled pixels.
        buckets: Vec<Shape>,
    },
}

/// Where the work grid of a pair lies in the frame; used to map results back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Geometry {
    /// Shape of the original frame.
    pub frame: Shape,
    /// The box that was cut out of it.
    pub crop: PixelBox,
    /// Side of the square of pixels summed into one.
    pub pool: usize,
    /// Shape of the work grid: the crop, pooled, padded to its bucket.
    pub work: Shape,
    /// Empty rows above the crop, in work pixels.
    pub pad_y_px: usize,
    /// Empty columns left of the crop, in work pixels.
    pub pad_x_px: usize,
    /// The box around the live pixels of both frames, which the solver works on; `None` if no pixel
    /// is live.
    pub live: Option<PixelBox>,
}

impl Geometry {
    /// Shape of the live box in work pixels.
    pub fn live_work(&self) -> Shape {
        self.live.map_or(Shape::new(0, 0), |live| pooled_shape(live.shape, self.pool))
    }

    /// Where the live box begins in a frame of this shape: the whole frame, or a frame that was cut
    /// to the box.
    fn live_start(&self, shape: Shape) -> (usize, usize) {
        match self.live {
            Some(live) if shape == self.frame => (live.y0_px, live.x0_px),
            _ => (0, 0),
        }
    }
}

/// Places the work grid for two whole frames of one shape.
///
/// # Errors
/// If the crop is bucketed and no bucket holds the grid.
///
/// # Panics
/// If `pool` is 0.
pub fn place(
    source: &Frame,
    target: &Frame,
    crop: &Crop,
    pool: usize,
) -> Result<Geometry, Failure> {
    let live = match (
        PixelBox::around_live(&source.density, source.shape),
        PixelBox::around_live(&target.density, source.shape),
    ) {
        (Some(a), Some(b)) => Some(a.union(b)),
        (a, b) => a.or(b),
    };
    place_live(source.shape, live, crop, pool)
}

/// Places the work grid for two frames of this shape, given the box around the live pixels of both.
///
/// # Errors
/// If the crop is bucketed and no bucket holds the grid.
///
/// # Panics
/// If `pool` is 0.
pub fn place_live(
    frame: Shape,
    live: Option<PixelBox>,
    crop: &Crop,
    pool: usize,
) -> Result<Geometry, Failure> {
    let whole = PixelBox { y0_px: 0, x0_px: 0, shape: frame };
    let cut = match (crop, live) {
        (Crop::Union { padding_px } | Crop::Bucketed { padding_px, .. }, Some(live)) => {
            grown(live, *padding_px, frame)
        }
        _ => whole,
    };
    let pooled = pooled_shape(cut.shape, pool);
    let work = match crop {
        Crop::Bucketed { buckets, .. } => smallest_bucket(pooled, buckets)?,
        _ => pooled,
    };
    Ok(Geometry {
        frame,
        crop: cut,
        pool,
        work,
        pad_y_px: (work.h_px - pooled.h_px) / 2,
        pad_x_px: (work.w_px - pooled.w_px) / 2,
        live,
    })
}

/// Cuts the live box out of a frame and sums squares of `pool` pixels. The squares are anchored
/// at the live box, so that neither padding nor the crop moves them.
///
/// # Panics
/// If the frame does not contain the live box.
pub fn pool_live(frame: &Frame, geometry: &Geometry) -> Vec<f64> {
    let mut pooled = vec![0.0; geometry.live_work().n_px()];
    pool_live_into(frame, geometry, &mut pooled);
    pooled
}

/// Like [`pool_live`], into existing memory; elements beyond the last pixel are not touched.
pub(crate) fn pool_live_into(frame: &Frame, geometry: &Geometry, pooled: &mut [f64]) {
    let Some(live) = geometry.live else {
        return;
    };
    let shape = geometry.live_work();
    pooled[..shape.n_px()].fill(0.0);
    let (y0_px, x0_px) = geometry.live_start(frame.shape);
    for y in 0..live.shape.h_px {
        let start = (y0_px + y) * frame.shape.w_px + x0_px;
        let row = &frame.density[start..start + live.shape.w_px];
        let out = &mut pooled[y / geometry.pool * shape.w_px..][..shape.w_px];
        for (x, v) in row.iter().enumerate() {
            out[x / geometry.pool] += v;
        }
    }
}

/// Maps a solution's fields back to the pixels of the given frames; `None` if the solution has no
/// fields. Every pixel of a pooled square gets the square's velocity, which is in frame pixels
/// already. Masses and costs are divided among the pixels in proportion to their own mass. Off the
/// supports everything is NaN.
///
/// ```
/// use swathe_ot::{Frame, Pair, Settings, lift, solve};
/// let at = |x: usize| Frame::new(1, 8, (0..8).map(|i| f64::from(u8::from(i == x))).collect());
/// let pair = Pair::new(at(2)?, at(5)?);
/// let solution = solve(&pair, &Settings::default())?;
/// let fields = lift(&solution, &pair.source, &pair.target).unwrap();
/// assert!((fields.velocity_yx_px[2][1] - 3.0).abs() < 1e-3);
/// assert!(fields.velocity_yx_px[3][1].is_nan());
/// # Ok::<(), swathe_ot::Failure>(())
/// ```
///
/// # Panics
/// If a frame does not contain the live box of the solution.
pub fn lift(solution: &Solution, source: &Frame, target: &Frame) -> Option<Fields> {
    let fields = solution.fields.as_ref()?;
    let geometry = &solution.geometry;
    let n_px = source.shape.n_px();
    let mut lifted = Fields {
        velocity_yx_px: vec![[f64::NAN; 2]; n_px],
        velocity_raw_yx_px: if fields.velocity_raw_yx_px.is_empty() {
            Vec::new()
        } else {
            vec![[f64::NAN; 2]; n_px]
        },
        created: vec![f64::NAN; n_px],
        destroyed: vec![f64::NAN; n_px],
        cost_map: vec![f64::NAN; n_px],
        target_cost_map: if fields.target_cost_map.is_empty() {
            Vec::new()
        } else {
            vec![f64::NAN; n_px]
        },
    };
    let Some(live) = geometry.live else {
        return Some(lifted);
    };
    let work = geometry.live_work();
    let (cells_a, cells_b) = (pool_live(source, geometry), pool_live(target, geometry));
    let (y0_px, x0_px) = geometry.live_start(source.shape);
    for y in 0..live.shape.h_px {
        for x in 0..live.shape.w_px {
            let cell = y / geometry.pool * work.w_px + x / geometry.pool;
            let at = (y0_px + y) * source.shape.w_px + x0_px + x;
            let (a, b) = (source.density[at], target.density[at]);
            if a > 0.0 {
                let share = a / cells_a[cell];
                lifted.velocity_yx_px[at] = fields.velocity_yx_px[cell];
                if let Some(raw) = fields.velocity_raw_yx_px.get(cell) {
                    lifted.velocity_raw_yx_px[at] = *raw;
                }
                lifted.destroyed[at] = fields.destroyed[cell] * share;
                lifted.cost_map[at] = fields.cost_map[cell] * share;
            }
            if b > 0.0 {
                let share = b / cells_b[cell];
                lifted.created[at] = fields.created[cell] * share;
                if let Some(cost) = fields.target_cost_map.get(cell) {
                    lifted.target_cost_map[at] = cost * share;
                }
            }
        }
    }
    Some(lifted)
}

/// Lays the potentials of a solution out on its frames, as [`lift`] does with maps: NaN off the
/// support. `None` if they were not kept.
///
/// # Panics
/// If a frame does not contain the live box of the solution.
pub fn lift_potentials(solution: &Solution, source: &Frame, target: &Frame) -> Option<Potentials> {
    let potentials = solution.potentials.as_ref()?;
    let geometry = &solution.geometry;
    let live = geometry.live?;
    let work = geometry.live_work();
    let (y0_px, x0_px) = geometry.live_start(source.shape);
    let laid = |values: &[f64], frame: &Frame| {
        let mut all = vec![f64::NAN; frame.shape.n_px()];
        for y in 0..live.shape.h_px {
            for x in 0..live.shape.w_px {
                let at = (y0_px + y) * frame.shape.w_px + x0_px + x;
                if frame.density[at] > 0.0 {
                    all[at] = values[y / geometry.pool * work.w_px + x / geometry.pool];
                }
            }
        }
        all
    };
    Some(Potentials { f: laid(&potentials.f, source), g: laid(&potentials.g, target) })
}

fn grown(live: PixelBox, padding_px: usize, frame: Shape) -> PixelBox {
    let (y0_px, x0_px) =
        (live.y0_px.saturating_sub(padding_px), live.x0_px.saturating_sub(padding_px));
    let y1_px = (live.y1_px() + padding_px).min(frame.h_px);
    let x1_px = (live.x1_px() + padding_px).min(frame.w_px);
    PixelBox { y0_px, x0_px, shape: Shape::new(y1_px - y0_px, x1_px - x0_px) }
}

fn pooled_shape(shape: Shape, pool: usize) -> Shape {
    Shape::new(shape.h_px.div_ceil(pool), shape.w_px.div_ceil(pool))
}

fn smallest_bucket(shape: Shape, buckets: &[Shape]) -> Result<Shape, Failure> {
    let fitting = buckets.iter().filter(|b| b.holds(shape)).min_by_key(|b| b.n_px());
    fitting.copied().ok_or_else(|| {
        let largest = buckets.iter().copied().max_by_key(|b| b.n_px());
        Failure::NoBucket { shape, largest: largest.unwrap_or(Shape::new(0, 0)) }
    })
}
