//! The error bar of a displacement: how far ε and ρ may have moved it.

use crate::debias::subtract;
use crate::failure::Failure;
use crate::frame::Pair;
use crate::geometry::{Crop, Geometry, place_live, pool_live};
use crate::scratch::Scratch;
use crate::self_transport::solve_self;
use crate::settings::{Coupling, Settings};
use crate::shape::Shape;
use crate::solution::{Fields, Solution};
use crate::solve::solve_watched;
use crate::stop_latch::StopLatch;
use std::sync::Arc;

/// How far the displacement of a pair may be from the motion, px: a bound on the mean length of the
/// error over the source's mass.
///
/// Two things are left after debiasing. Entropy still couples neighbours that move differently;
/// that part is seen by comparing with a solve at 2ε, and by how well the displaced source has the
/// moments of what arrives. A finite ρ lets the plan leave out the mass that has the longest way,
/// which shortens all ways; that part is proportional to 1/ρ and seen by comparing solves at ρ and
/// 2ρ. All of these solves run on grids so coarse that they take a small part of the time.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ErrorBar {
    /// The part of entropy, px.
    pub epsilon_px: f64,
    /// The part of relaxed marginals, px; 0 for balanced transport.
    pub relaxation_px: f64,
    /// What a grid of pixels cannot show, px.
    pub grid_px: f64,
}

impl ErrorBar {
    /// The whole error bar, px: the sum of its parts.
    pub fn total_px(&self) -> f64 {
        self.epsilon_px + self.relaxation_px + self.grid_px
    }

    /// The part of entropy as it was measured, px: without the margin that makes it a bound.
    pub fn epsilon_measured_px(&self) -> f64 {
        self.epsilon_px / EPSILON_CHANGES
    }
}

/// The displacement is known to this part of a pixel at best …
const GRID_SHARE: f64 = 0.01;
/// … and at a rim to this part more: a pixel has one value for all of its area, so the mass of a
/// pixel that an edge divides is up to a quarter of a pixel from the pixel's middle.
const RIM_SHARE: f64 = 0.04;
/// The part of entropy in changes from ε to 2ε. An error proportional to ε changes by as much as it
/// is; the margin is for errors that grow more slowly.
const EPSILON_CHANGES: f64 = 1.25;
/// The part of ρ in changes from ρ to 2ρ. An error proportional to 1/ρ changes by half of it.
const RHO_CHANGES: f64 = 2.1;
/// The blur of the coarse grid that shows the part of entropy, in its pixels.
const BLUR_CELLS: f64 = 2.0;
/// No coarse grid has fewer pixels than this across the shorter side.
const SIDE_CELLS_MIN: usize = 12;
/// From this many pixels along the longer side on, a coarse grid is at least two times coarser.
const HALVED_FROM: usize = 64;
/// The least tolerance of the solves on coarse grids.
const COARSE_TOLERANCE: f64 = 1e-4;
/// Pixels along the longer side of the grid that shows the part of ρ.
const RHO_SIDE_CELLS: usize = 24;

/// The error bar of a debiased solution; `None` if its maps were not kept.
pub(crate) fn error_bar(
    solution: &Solution,
    pair: &Pair,
    settings: &Settings,
    scratch: &mut Scratch,
    watch: &StopLatch<'_>,
) -> Result<Option<ErrorBar>, Failure> {
    let Some(fields) = &solution.fields else {
        return Ok(None);
    };
    let shape = solution.geometry.live_work();
    let px = solution.coord_scale * settings.pool as f64;
    let mass = pool_live(&pair.source, &solution.geometry);
    let by = coarsening(shape, settings.epsilon.sqrt() / px);
    let twice = Settings { epsilon: 2.0 * settings.epsilon, ..coarse_settings(settings, by) };
    let coarse = coarse_solve(pair, solution, &twice, true, scratch, watch)?;
    let change = mean_change(&mass, &fields.velocity_yx_px, shape, &coarse, by);
    let missed = missed_moments(solution, fields, &mass, pair);
    let relaxation_px = if settings.relaxations().iter().any(|rho| rho.is_finite()) {
        RHO_CHANGES * rho_change(pair, solution, settings, px, scratch, watch)?
    } else {
        0.0
    };
    Ok(Some(ErrorBar {
        epsilon_px: EPSILON_CHANGES * change + missed,
        relaxation_px,
        grid_px: settings.pool as f64 * (GRID_SHARE + RIM_SHARE * rim_share(&mass, shape)),
    }))
}

/// The part of the mass whose pixel has a neighbour without mass.
fn rim_share(mass: &[f64], shape: Shape) -> f64 {
    let Shape { h_px, w_px } = shape;
    let is_live = |y: usize, x: usize| y < h_px && x < w_px && mass[y * w_px + x] > 0.0;
    let (mut rim, mut total) = (0.0, 0.0);
    for (at, mass) in mass.iter().enumerate().filter(|(_, mass)| **mass > 0.0) {
        let (y, x) = (at / w_px, at % w_px);
        total += mass;
        let is_inside = y > 0
            && x > 0
            && is_live(y - 1, x)
            && is_live(y + 1, x)
            && is_live(y, x - 1)
            && is_live(y, x + 1);
        rim += if is_inside { 0.0 } else { *mass };
    }
    rim / total
}

/// How many pixels are summed along each side for the part of entropy.
fn coarsening(shape: Shape, blur_px: f64) -> usize {
    let (short, long) = (shape.h_px.min(shape.w_px), shape.longest_px());
    let by_blur = (blur_px / BLUR_CELLS) as usize;
    let by_blur = by_blur.max(if long >= HALVED_FROM { 2 } else { 1 });
    by_blur.min(short / SIDE_CELLS_MIN).max(1)
}

/// The most memory that an error bar takes besides the scratch: the masses of both frames, and on
/// the coarse grid the maps of a solve, of a self-transport and of its frame.
pub(crate) fn error_bar_bytes(live: Shape) -> usize {
    let by = if live.longest_px() >= HALVED_FROM && live.h_px.min(live.w_px) >= 2 * SIDE_CELLS_MIN {
        2
    } else {
        1
    };
    let n_cells = live.h_px.div_ceil(by) * live.w_px.div_ceil(by);
    // A self-transport cuts its frame out in pixels of the frame.
    (3 * live.n_px() + 14 * n_cells) * size_of::<f64>()
}

fn coarse_settings(settings: &Settings, by: usize) -> Settings {
    Settings {
        pool: settings.pool * by,
        tolerance: settings.tolerance.max(COARSE_TOLERANCE),
        fields: true,
        raw_velocity: true,
        potentials: false,
        target_cost: false,
        error_bar: false,
        coupling: Coupling::None,
        ..settings.clone()
    }
}

/// The same live box with squares of `pool` pixels.
fn pooled(geometry: &Geometry, pool: usize) -> Result<Geometry, Failure> {
    place_live(geometry.frame, geometry.live, &Crop::Fixed, pool)
}

/// The displacement of a pair on the same live box with other settings.
fn coarse_solve(
    pair: &Pair,
    solution: &Solution,
    settings: &Settings,
    is_debiased: bool,
    scratch: &mut Scratch,
    watch: &StopLatch<'_>,
) -> Result<Vec<[f64; 2]>, Failure> {
    let cut = pooled(&solution.geometry, settings.pool)?;
    let pair = Pair::cut(Arc::clone(&pair.source), Arc::clone(&pair.target), cut);
    let mut coarse = solve_watched(&pair, settings, scratch, watch)?;
    if is_debiased {
        let own = solve_self(&pair.source, &coarse.geometry, settings, scratch, watch)?;
        if let Some(own) = own {
            subtract(&mut coarse, &own);
        }
    }
    let fields = coarse.fields.unwrap_or_default();
    Ok(fields.velocity_yx_px)
}

/// The mean change of a displacement over the mass, compared by pixels of the coarse grid.
fn mean_change(
    mass: &[f64],
    velocity: &[[f64; 2]],
    shape: Shape,
    coarse: &[[f64; 2]],
    by: usize,
) -> f64 {
    let w_cells = shape.w_px.div_ceil(by);
    let mut sums = vec![[0.0; 3]; coarse.len()];
    for (at, (mass, velocity)) in mass.iter().zip(velocity).enumerate() {
        if *mass > 0.0 {
            let cell = at / shape.w_px / by * w_cells + at % shape.w_px / by;
            let [total, y, x] = &mut sums[cell];
            *total += mass;
            *y += mass * velocity[0];
            *x += mass * velocity[1];
        }
    }
    let total: f64 = sums.iter().map(|[total, ..]| total).sum();
    let change = sums.iter().zip(coarse).filter(|([total, ..], _)| *total > 0.0);
    let change = change.map(|([total, y, x], [vy, vx])| (y - total * vy).hypot(x - total * vx));
    change.sum::<f64>() / total
}

/// How far the displaced source is from what arrives, as far as means and covariances show: the
/// mean length of the affine map that carries the moments of one onto those of the other. Objects
/// smaller than the blur keep their shape at ε and at 2ε alike; only this shows that they grew.
fn missed_moments(solution: &Solution, fields: &Fields, mass: &[f64], pair: &Pair) -> f64 {
    let shape = solution.geometry.live_work();
    let pool = solution.geometry.pool as f64;
    let place = |at: usize| [at / shape.w_px, at % shape.w_px].map(|v| pool * v as f64);
    let unit = |left: f64, total: f64| (solution.mass_transported + left) / total;
    let per_src = unit(solution.mass_destroyed, solution.mass_src);
    let displaced = || {
        let live = mass.iter().enumerate().filter(|(_, mass)| **mass > 0.0);
        live.map(|(at, mass)| {
            let ([y, x], [vy, vx]) = (place(at), fields.velocity_yx_px[at]);
            (per_src * mass - fields.destroyed[at], [y + vy, x + vx])
        })
    };
    let per_tgt = unit(solution.mass_created, solution.mass_tgt);
    let arriving = pool_live(&pair.target, &solution.geometry);
    let arrived = arriving.iter().enumerate().filter(|(_, mass)| **mass > 0.0);
    let arrived = arrived.map(|(at, mass)| (per_tgt * mass - fields.created[at], place(at)));
    let (found, wanted) = (Moments::of(displaced()), Moments::of(arrived));
    let Some([yy, yx, xx]) = found.map_to(&wanted) else {
        return 0.0;
    };
    let [off_y, off_x] = [0, 1].map(|axis| wanted.mean[axis] - found.mean[axis]);
    let lengths = displaced().map(|(mass, [y, x])| {
        let (y, x) = (y - found.mean[0], x - found.mean[1]);
        let missed_y = off_y + (yy - 1.0) * y + yx * x;
        let missed_x = off_x + yx * y + (xx - 1.0) * x;
        mass * missed_y.hypot(missed_x)
    });
    lengths.sum::<f64>() / found.mass
}

/// Mass, mean and covariance (yy, yx, xx) of weighted places.
struct Moments {
    mass: f64,
    mean: [f64; 2],
    covariance: [f64; 3],
}

impl Moments {
    fn of(places: impl Iterator<Item = (f64, [f64; 2])>) -> Moments {
        let (mut mass, mut sum, mut square) = (0.0, [0.0; 2], [0.0; 3]);
        for (weight, [y, x]) in places {
            mass += weight;
            sum[0] += weight * y;
            sum[1] += weight * x;
            for (square, product) in square.iter_mut().zip([y * y, y * x, x * x]) {
                *square += weight * product;
            }
        }
        let [y, x] = sum.map(|v| v / mass);
        let [yy, yx, xx] = square.map(|v| v / mass);
        Moments { mass, mean: [y, x], covariance: [yy - y * y, yx - y * x, xx - x * x] }
    }

    /// The linear part of the map of optimal transport between Gaussians of these covariances,
    /// A = Σ^(−½)·(Σ^½·Σ′·Σ^½)^½·Σ^(−½); `None` if a covariance is not positive.
    fn map_to(&self, other: &Moments) -> Option<[f64; 3]> {
        let half = root(self.covariance)?;
        let inner = root(sandwich(half, other.covariance))?;
        Some(sandwich(inverse(half), inner))
    }
}

/// The root of a positive matrix M is (M + √det)/√(tr + 2·√det).
fn root([a, b, d]: [f64; 3]) -> Option<[f64; 3]> {
    let det = a * d - b * b;
    if !(det > 1e-12 * (a + d) * (a + d)) {
        return None;
    }
    let s = det.sqrt();
    let t = (a + d + 2.0 * s).sqrt();
    Some([(a + s) / t, b / t, (d + s) / t])
}

fn inverse([a, b, d]: [f64; 3]) -> [f64; 3] {
    let det = a * d - b * b;
    [d / det, -b / det, a / det]
}

/// p·q·p.
fn sandwich([pa, pb, pd]: [f64; 3], [qa, qb, qd]: [f64; 3]) -> [f64; 3] {
    let (ra, rb) = (pa * qa + pb * qb, pa * qb + pb * qd);
    let (rc, rd) = (pb * qa + pd * qb, pb * qb + pd * qd);
    [ra * pa + rb * pb, ra * pb + rb * pd, rc * pb + rd * pd]
}

/// The mean change of the displacement from ρ to 2ρ. It hardly depends on ε, so a blur of one pixel
/// of a very coarse grid does.
fn rho_change(
    pair: &Pair,
    solution: &Solution,
    settings: &Settings,
    px: f64,
    scratch: &mut Scratch,
    watch: &StopLatch<'_>,
) -> Result<f64, Failure> {
    let shape = solution.geometry.live_work();
    let by = shape.longest_px().div_ceil(RHO_SIDE_CELLS).max(1);
    let cell = px * by as f64;
    let mut at = |times: f64| {
        let settings = Settings {
            epsilon: (2.0 * settings.epsilon).max(cell * cell),
            relaxation: times * settings.relaxation,
            relaxation_tgt: settings.relaxation_tgt.map(|rho| times * rho),
            ..coarse_settings(settings, by)
        };
        coarse_solve(pair, solution, &settings, false, scratch, watch)
    };
    let (once, twice) = (at(1.0)?, at(2.0)?);
    let cut = pooled(&solution.geometry, settings.pool * by)?;
    let mass = pool_live(&pair.source, &cut);
    Ok(mean_change(&mass, &once, cut.live_work(), &twice, 1))
}
