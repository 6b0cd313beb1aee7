//! Transport on a graphics processor: many pairs swept together, in log domain, by kernels that
//! keep a logarithm as a whole number and an f32 part.
//!
//! The device brings the potential of each lane to where its residual is small; the CPU's own
//! solver goes on from there. It finds the residual in its own arithmetic, sweeps again should that
//! be needed, and makes all outputs, so that an answer is the CPU's in everything but the way to it.

mod kernel;
mod launch;

use swathe::{Gpu, GpuError, Lane, Need, Size, Stop};

use crate::descent::{Start, descend};
use crate::failure::Failure;
use crate::frame::Pair;
use crate::outputs::{empty_outputs, outputs};
use crate::problem::{Problem, prepare};
use crate::scratch::Scratch;
use crate::settings::{CoordScale, Precision, Settings};
use crate::shape::Shape;
use crate::solution::Solution;
use crate::stop_latch::StopLatch;
use kernel::LINE_MAX;
use launch::{Ended, Lanes, device_bytes, n_lanes_max};

/// The most pixels of a lane.
const N_PX_MAX: usize = 256 * 512;
/// The least ε of a frame one unit long: below, f32 sums are no longer good enough and plain
/// sweeps too many.
const EPSILON_MIN: f64 = 1e-3;
/// Below this tolerance f32 sums cannot be trusted to get there.
const TOLERANCE_MIN: f64 = 1e-6;

/// The shape in which a pair with a work grid of this size can be launched.
pub(crate) fn form(size: &Size, settings: &Settings) -> Option<swathe::Shape> {
    let shape = shape_of(&size.shape)?;
    let longest = shape.h_px.max(shape.w_px);
    let Settings {
        epsilon,
        relaxation,
        ..
    } = *settings;
    // The longer side in cost units. With a scale of the frame's own it is at most one.
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
        && relaxation >= epsilon;
    fits.then_some(size.shape)
}

/// Device memory of lanes of this size.
pub(crate) fn need(size: &Size) -> Need {
    let shape = shape_of(&size.shape).unwrap_or(Shape::new(0, 0));
    let (lane_bytes, scratch_bytes) = device_bytes(shape);
    Need {
        lane_bytes,
        scratch_bytes,
        solution_bytes: 0,
    }
}

/// Solves pairs together.
pub(crate) fn solve(
    settings: &Settings,
    gpu: &Gpu,
    padded: swathe::Shape,
    pairs: &[&Pair],
    stop: &Stop,
) -> Result<Vec<Lane<Solution, Failure>>, GpuError> {
    let padded = shape_of(&padded).ok_or_else(|| GpuError::Unsupported {
        what: format!("lanes of {padded}"),
    })?;
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

/// What only the frames tell: why a lane is not for the device.
fn misfit(problem: &Problem, padded: Shape) -> Option<String> {
    if !padded.holds(problem.shape) {
        return Some(format!("{} does not fit into {padded}", problem.shape));
    }
    let tolerance = problem.tolerance;
    (tolerance < TOLERANCE_MIN)
        .then(|| format!("residual {tolerance:.1e} of unit masses is beyond f32"))
}

/// The CPU goes on from where the device came to, mostly for one sweep, and makes the outputs.
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
        swathe::timed("outputs", || {
            outputs(problem, settings, &descent, scratch, &watch)
        })
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
