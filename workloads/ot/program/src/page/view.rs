//! Views: a solved pair in a few kilobytes, made while its maps are in memory.

use base64::prelude::{BASE64_STANDARD, Engine};
use serde::Serialize;
use swathe_ot::{Fields, Frame, Residuals, Solution, Summary};

use super::shrink::{Bytes, Cells, signed, unsigned};
use swathe_run::page::{rounded, significant};

/// The most cells along the longer side of a view's maps.
const N_CELLS_MAX: usize = 96;
/// The most arrows along the longer side.
const N_ARROWS_MAX: usize = 24;
/// Bins of the histogram of displacements.
pub(super) const N_BINS: usize = 32;
/// The share of a map's values that the colour scale covers; larger values have the last colour.
const SHARE_FRAME: f64 = 0.99;
const SHARE_MASS: f64 = 0.995;

/// What a page needs to show a pair: small maps of the box that holds its mass, arrows, a
/// histogram and the residual curve.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct PairView {
    /// Version of the format; changes when older code could not read the file.
    format: u32,
    /// The pair's row.
    pub(super) row: u64,
    pair_id: String,
    /// Height and width of the original frame, px.
    frame: [usize; 2],
    /// First row, first column, height and width of the box that is shown, px.
    shown: [usize; 4],
    /// Pixels on a side of the squares that were summed before solving.
    pool: usize,
    um_per_px: Option<f64>,
    /// Rows and columns of the maps below.
    cells: [usize; 2],
    /// Pixels on a side of a cell; the last row and column of cells may be smaller.
    cell_px: usize,
    source: ViewMap,
    target: ViewMap,
    /// Mass that appeared, per px, signed.
    created: ViewMap,
    /// Mass that vanished, per px, signed.
    destroyed: ViewMap,
    /// Mean length of the displacement, px.
    speed: ViewMap,
    arrows: Arrows,
    histogram: Histogram,
    residuals: Curve,
}

/// A map as bytes in base 64. Byte 0 means no value. In an unsigned map, bytes 1 to 255 stand for 0
/// to `full`; in a signed map, byte 1 stands for −`full`, 128 for 0 and 255 for `full`.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct ViewMap {
    bytes: String,
    full: f64,
    max: f64,
}

/// Mean displacements of squares of pixels, as columns: position (the mean of the square's source
/// pixels, px from the corner of the shown box) and displacement.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
struct Arrows {
    /// Distance from square to square.
    step_px: usize,
    y: Vec<f64>,
    x: Vec<f64>,
    vy: Vec<f64>,
    vx: Vec<f64>,
}

/// Source pixels by the length of their displacement, in bins from 0 to `to_px`.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Histogram {
    to_px: f64,
    counts: Vec<u64>,
}

/// Residuals after some of the sweeps.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Curve {
    /// The sweep, from 1.
    sweep: Vec<u32>,
    residual: Vec<serde_json::Value>,
    /// Number of sweeps at the beginning on coarser grids or with larger ε.
    n_coarse: usize,
    /// Number of sweeps at the beginning on a graphics processor, which have no residuals.
    n_before: u32,
    n_sweeps: u32,
}

impl PairView {
    pub(super) const FORMAT: u32 = 1;

    /// Makes the view of a solved pair. Frames and maps cover the box that holds its mass;
    /// `solution` must still have its maps.
    pub(crate) fn of(
        row: u64,
        pair_id: &str,
        (source, target): (&Frame, &Frame),
        um_per_px: Option<f64>,
        solution: &Solution,
        summary: Option<&Summary>,
    ) -> PairView {
        let geometry = &solution.geometry;
        let nothing = Fields::default();
        let fields = solution.fields.as_ref().unwrap_or(&nothing);
        let work = geometry.live_work();
        let n_side = work.h_px.max(work.w_px).div_ceil(N_CELLS_MAX).max(1);
        let cell_px = n_side * geometry.pool;
        let speed_max = summary.map_or(f64::NAN, |summary| summary.displacement_px.max);
        let motion = Motion::of(&fields.velocity_yx_px, work.w_px, n_side, speed_max);
        let (h, w) = (work.h_px.div_ceil(n_side), work.w_px.div_ceil(n_side));
        // A pair without any mass has frames of one pixel, and nothing to show.
        let cells_of = |frame: &Frame| match geometry.live {
            Some(_) => Cells::of(&frame.density, frame.shape.w_px, cell_px),
            None => Cells::of(&[], 0, 1),
        };
        let (source, target) = (cells_of(source), cells_of(target));
        let per_px = |map: &[f64]| {
            let cells = Cells::of(map, work.w_px, n_side);
            let parts = cells.sums.iter().zip(&cells.counts).zip(&source.counts);
            let values = parts.map(|((sum, n), n_px)| match n {
                0 => f64::NAN,
                _ => sum / f64::from(*n_px),
            });
            ViewMap::new(&signed(&values.collect::<Vec<_>>(), SHARE_MASS))
        };
        let density = |cells: &Cells| {
            let values = cells.means().into_iter();
            let live = values.map(|v| if v > 0.0 { v } else { f64::NAN });
            ViewMap::new(&unsigned(&live.collect::<Vec<_>>(), SHARE_FRAME))
        };
        let shown = geometry
            .live
            .map_or([0; 4], |live| [live.y0_px, live.x0_px, live.shape.h_px, live.shape.w_px]);
        PairView {
            format: PairView::FORMAT,
            row,
            pair_id: pair_id.to_owned(),
            frame: [geometry.frame.h_px, geometry.frame.w_px],
            shown,
            pool: geometry.pool,
            um_per_px,
            cells: [h, w],
            cell_px,
            source: density(&source),
            target: density(&target),
            created: per_px(&fields.created),
            destroyed: per_px(&fields.destroyed),
            speed: ViewMap::new(&unsigned(&motion.speeds(), 1.0)),
            arrows: motion.arrows(cell_px),
            histogram: Histogram {
                to_px: significant(if speed_max.is_nan() { 0.0 } else { speed_max }),
                counts: motion.histogram.to_vec(),
            },
            residuals: Curve::of(&solution.residuals, solution.iterations_coarse),
        }
    }
}

impl ViewMap {
    fn new(map: &Bytes) -> ViewMap {
        ViewMap {
            bytes: BASE64_STANDARD.encode(&map.bytes),
            full: significant(map.full),
            max: significant(map.max),
        }
    }
}

impl Curve {
    fn of(residuals: &Residuals, n_coarse: usize) -> Curve {
        let (sweep, residual) = residuals
            .points()
            .into_iter()
            .map(|(sweep, residual)| (sweep, rounded(residual)))
            .unzip();
        Curve {
            sweep,
            residual,
            n_coarse,
            n_before: residuals.n_before(),
            n_sweeps: residuals.n_sweeps(),
        }
    }
}

/// The displacement of every cell and the histogram of all pixels, from one pass over the pixels.
struct Motion {
    h: usize,
    w: usize,
    /// Speed, vy and vx summed over the source pixels of each cell, and the number of these pixels.
    sums: Vec<([f64; 3], u32)>,
    histogram: [u64; N_BINS],
}

impl Motion {
    fn of(velocity: &[[f64; 2]], w_px: usize, n_side: usize, speed_max: f64) -> Motion {
        let h_px = velocity.len() / w_px.max(1);
        let (h, w) = (h_px.div_ceil(n_side), w_px.div_ceil(n_side));
        let mut sums = vec![([0.0; 3], 0); h * w];
        let mut histogram = [0; N_BINS];
        let per_px = match speed_max > 0.0 {
            true => N_BINS as f64 / speed_max,
            false => 0.0,
        };
        for (y, row) in velocity.chunks_exact(w_px.max(1)).enumerate() {
            let cells = &mut sums[y / n_side * w..][..w];
            for (some, (sum, n)) in row.chunks(n_side).zip(cells) {
                for [vy, vx] in some {
                    if vy.is_nan() {
                        continue;
                    }
                    let speed = (vy * vy + vx * vx).sqrt();
                    sum[0] += speed;
                    sum[1] += vy;
                    sum[2] += vx;
                    *n += 1;
                    histogram[((speed * per_px) as usize).min(N_BINS - 1)] += 1;
                }
            }
        }
        Motion { h, w, sums, histogram }
    }

    /// The mean speed of each cell; NaN off the source.
    fn speeds(&self) -> Vec<f64> {
        let cells = self.sums.iter();
        cells.map(|(sum, n)| sum[0] / f64::from(*n)).collect()
    }

    /// An arrow for each square of cells with source pixels: thin rings and single particles have
    /// arrows, too.
    fn arrows(&self, cell_px: usize) -> Arrows {
        let step = self.h.max(self.w).div_ceil(N_ARROWS_MAX).max(1);
        let mut arrows = Arrows { step_px: step * cell_px, ..Arrows::default() };
        for y0 in (0..self.h).step_by(step) {
            for x0 in (0..self.w).step_by(step) {
                let (mut sum, mut middle, mut n_all) = ([0.0; 2], [0.0; 2], 0);
                for y in y0..(y0 + step).min(self.h) {
                    for x in x0..(x0 + step).min(self.w) {
                        let ([_, vy, vx], n) = self.sums[y * self.w + x];
                        let weight = f64::from(n);
                        sum = [sum[0] + vy, sum[1] + vx];
                        middle[0] += weight * (y as f64 + 0.5);
                        middle[1] += weight * (x as f64 + 0.5);
                        n_all += n;
                    }
                }
                if n_all == 0 {
                    continue;
                }
                let per = 1.0 / f64::from(n_all);
                let px = cell_px as f64 * per;
                arrows.y.push(significant(middle[0] * px));
                arrows.x.push(significant(middle[1] * px));
                arrows.vy.push(significant(sum[0] * per));
                arrows.vx.push(significant(sum[1] * per));
            }
        }
        arrows
    }
}

#[cfg(test)]
mod tests;
