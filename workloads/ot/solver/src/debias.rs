//! The displacement without the pull of entropy, and the divergence of two frames.

use crate::failure::Failure;
use crate::frame::{Frame, Pair};
use crate::scratch::Scratch;
use crate::self_cell::SelfCell;
use crate::self_transport::{SelfKey, SelfTransport, solve_self};
use crate::settings::Settings;
use crate::solution::Solution;
use crate::stop_latch::StopLatch;
use std::sync::Arc;

/// Replaces the velocity v_ab of a solution by v_ab − v_aa, keeps v_ab as the raw velocity, and
/// sets the divergence. Nothing else changes.
pub(crate) fn debias(
    mut solution: Solution,
    reference_mass: f64,
    pair: &Pair,
    settings: &Settings,
    scratch: &mut Scratch,
    watch: &StopLatch<'_>,
) -> Result<Solution, Failure> {
    let [cell_a, cell_b] = &pair.self_cells;
    let mut of = |frame: &Frame, cell: &Option<Arc<SelfCell>>| {
        kept_or_solved(frame, cell.as_deref(), &solution, settings, scratch, watch)
    };
    let (own_a, own_b) = (of(&pair.source, cell_a)?, of(&pair.target, cell_b)?);
    let (Some(own_a), Some(own_b)) = (own_a, own_b) else {
        return Ok(solution);
    };
    // The masses of the reference measures cancel: that is what the term ε/2·(Σa − Σb)² of the
    // product measure is for.
    // Dual values are used: at a residual r they are off by ε·r², the primal ones by ρ·r².
    let objective = solution.dual_objective - settings.epsilon * reference_mass;
    let divergence = objective - 0.5 * own_a.objective - 0.5 * own_b.objective;
    // With two prices the problem is not symmetric, and no self-transport belongs to it exactly.
    let [src, tgt] = settings.relaxations();
    solution.sinkhorn_divergence = (src == tgt).then_some(divergence);
    subtract(&mut solution, &own_a);
    Ok(solution)
}

fn kept_or_solved(
    frame: &Frame,
    cell: Option<&SelfCell>,
    solution: &Solution,
    settings: &Settings,
    scratch: &mut Scratch,
    watch: &StopLatch<'_>,
) -> Result<Option<Arc<SelfTransport>>, Failure> {
    let geometry = &solution.geometry;
    let mut solve = || {
        swathe::timed("self-transport", || solve_self(frame, geometry, settings, scratch, watch))
    };
    match (cell, SelfKey::of(frame, geometry, settings)) {
        (_, None) => Ok(None),
        (None, Some(_)) => Ok(solve()?.map(Arc::new)),
        (Some(cell), Some(key)) => cell.get_or_solve(key, watch, solve),
    }
}

/// Subtracts the source's own velocity from the solution's.
pub(crate) fn subtract(solution: &mut Solution, own: &SelfTransport) {
    let (Some(fields), Some(live)) = (&mut solution.fields, solution.geometry.live) else {
        return;
    };
    let (w_px, pool) = (solution.geometry.live_work().w_px, solution.geometry.pool);
    fields.velocity_raw_yx_px = fields.velocity_yx_px.clone();
    let (y0, x0) = ((own.live.y0_px - live.y0_px) / pool, (own.live.x0_px - live.x0_px) / pool);
    for (y, row) in own.velocity_yx_px.chunks_exact(own.shape.w_px).enumerate() {
        let start = (y0 + y) * w_px + x0;
        for (v, own) in fields.velocity_yx_px[start..].iter_mut().zip(row) {
            // Off the support both are NaN.
            for axis in 0..2 {
                v[axis] -= f64::from(own[axis]);
            }
        }
    }
}
