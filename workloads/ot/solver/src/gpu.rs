//! Transport on a graphics processor: many pairs swept together, in the log domain, by kernels that
//! store a logarithm as an integer and an f32 fraction.
//!
//! The device sweeps until the residual of each lane's potential is small; the CPU solver continues
//! from this potential. It computes the residual in its own arithmetic, sweeps again if needed, and
//! makes all outputs. Only the path to the potential differs from a solve on the CPU alone.

mod kernel;
mod launch;

use swathe::{Gpu, GpuError, Lane, Need, Size, Stop};

use crate::descent::{Start, descend};
use crate::failure::Failure;
use crate::frame::Pair;
use crate::outputs::empty_outputs;
use crate::problem::{Problem, prepare};
use crate::scratch::Scratch;
use crate::settings::{CoordScale, Precision, Settings};
use crate::shape::Shape;
use crate::solution::Solution;
use crate::solve::finish as finish_solution;
use crate::stop_latch::StopLatch;
use kernel::LINE_MAX;
use launch::{Ended, Lanes, device_bytes, n_lanes_max};

/// The most pixels of a lane.
const N_PX_MAX: usize = 256 * 512;
/// The least ε for a frame one unit long. Below it, f32 sums are not accurate enough and plain
/// sweeps converge too slowly.
const EPSILON_MIN: f64 = 1e-3;
/// Below this tolerance f32 sums may not reach the residual.
const TOLERANCE_MIN: f64 = 1e-6;

/// The shape in which a pair with a work grid of this size can be launched; `None` if these
/// settings or this size do not suit the kernels.
pub(crate) fn form(size: &Size, settings: &Settings) -> Option<swathe::Shape> {
    let shape = shape_of(&size.shape)?;
    let longest = shape.h_px.max(shape.w_px);
    let Settings { epsilon, relaxation, .. } = *settings;
    // The longer side in cost units; at most one with the automatic scale.
    let length = match settings.coord_scale {
        CoordScale::Auto => 1.0,
        CoordScale::Fixed(scale) => scale * (settings.pool * longest) as f64,
    };
    let fits = settings.check().is_ok()
        && shape.n_px() > 0
        && shape.n_px() <= N_PX_MAX
        && longest <= LINE_MAX
        && settings.precision != Precision::F64
        && settings.tolerance >= TOLERANCE_MIN
        && settings.max_iterations > 1
        && epsilon >= EPSILON_MIN * length * length
        && relaxation >= epsilon
        // The kernels have one price for both sides.
        && settings.relaxations() == [relaxation; 2];
    fits.then_some(size.shape)
}

/// Device memory of lanes of this size.
pub(crate) fn need(size: &Size) -> Need {
    let shape = shape_of(&size.shape).unwrap_or(Shape::new(0, 0));
    let (lane_bytes, scratch_bytes) = device_bytes(shape);
    Need { lane_bytes, scratch_bytes, solution_bytes: 0 }
}

/// Solves the pairs of one launch.
pub(crate) fn solve(
    settings: &Settings,
    gpu: &Gpu,
    padded: swathe::Shape,
    pairs: &[&Pair],
    stop: &Stop,
) -> Result<Vec<Lane<Solution, Failure>>, GpuError> {
    let padded = shape_of(&padded)
        .ok_or_else(|| GpuError::Unsupported { what: format!("lanes of {padded}") })?;
    let mut waiting = Vec::new();
    let mut lanes: Vec<Option<Lane<Solution, Failure>>> = Vec::with_capacity(pairs.len());
    for (at, pair) in pairs.iter().enumerate() {
        lanes.push(match prepare(pair, settings) {
            Err(failure) => Some(Lane::Done(Err(failure))),
            Ok(problem) if problem.mass_src <= 0.0 || problem.mass_tgt <= 0.0 => {
                Some(Lane::Done(Ok(empty_outputs(&problem, pair, settings))))
            }
            Ok(problem) => match misfit(&problem, padded) {
                Some(reason) => Some(Lane::ToCpu(reason)),
                None => {
                    waiting.push((at, *pair, problem));
                    None
                }
            },
        });
    }
    let mut scratch = Scratch::new();
    for chunk in waiting.chunks(n_lanes_max(gpu, padded)) {
        let on_device: Vec<_> = chunk.iter().map(|(_, pair, p)| (*pair, p)).collect();
        let problems: Vec<_> = chunk.iter().map(|(_, _, problem)| problem).collect();
        let ended = swathe::timed("sweep on the device", || {
            Lanes::upload(gpu, padded, &on_device, settings)?.run(&problems, stop)
        })?;
        for ((at, pair, problem), ended) in chunk.iter().zip(ended) {
            let lane = finish(problem, pair, settings, &ended, &mut scratch, stop)?;
            lanes[*at] = Some(lane);
        }
    }
    Ok(lanes.into_iter().flatten().collect())
}

/// Why the device cannot solve a lane, as far as only the loaded frames show it.
fn misfit(problem: &Problem, padded: Shape) -> Option<String> {
    if !padded.holds(problem.shape) {
        return Some(format!("{} does not fit into {padded}", problem.shape));
    }
    let tolerance = problem.tolerance;
    (tolerance < TOLERANCE_MIN)
        .then(|| format!("residual {tolerance:.1e} of unit masses is beyond f32"))
}

/// Continues on the CPU from the device's potential, usually for one sweep, and makes the outputs.
fn finish(
    problem: &Problem,
    pair: &Pair,
    settings: &Settings,
    ended: &Ended,
    scratch: &mut Scratch,
    stop: &Stop,
) -> Result<Lane<Solution, Failure>, GpuError> {
    if !ended.converged {
        return Ok(Lane::ToCpu(format!(
            "residual {:.1e} after {} sweeps",
            ended.residual, ended.iterations
        )));
    }
    let start = Start {
        phi: &ended.phi,
        iterations: ended.iterations,
        iterations_coarse: ended.iterations_coarse,
    };
    let stopped = || stop.requested();
    let watch = StopLatch::new(&stopped);
    let mut solve = || -> Result<Solution, Failure> {
        let descent = swathe::timed("check and go on", || {
            descend(problem, pair, settings, Some(&start), scratch, &watch)
        })?;
        finish_solution(problem, pair, settings, &descent, scratch, &watch)
    };
    match solve() {
        Err(Failure::Stopped) => Err(GpuError::Stopped),
        outcome => Ok(Lane::Done(outcome)),
    }
}

fn shape_of(shape: &swathe::Shape) -> Option<Shape> {
    match shape.extents() {
        [h, w] => Some(Shape::new(*h as usize, *w as usize)),
        _ => None,
    }
}
