//! Solving one pair, and many pairs on all cores.

use crate::debias::debias;
use crate::descent::{Descent, descend};
use crate::error_bar::error_bar;
use crate::failure::Failure;
use crate::frame::Pair;
use crate::outputs::{Maps, empty_outputs, outputs};
use crate::problem::{Problem, prepare};
use crate::scratch::Scratch;
use crate::settings::Settings;
use crate::solution::Solution;
use crate::stop_latch::StopLatch;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Solves one pair.
///
/// ```
/// use swathe_ot::{Frame, Pair, Settings, Status, solve};
/// let mut source = vec![0.0; 8 * 8];
/// let mut target = vec![0.0; 8 * 8];
/// source[2 * 8 + 2] = 1.0;
/// target[2 * 8 + 4] = 1.0;
/// let pair = Pair::new(Frame::new(8, 8, source)?, Frame::new(8, 8, target)?);
/// let solution = solve(&pair, &Settings { relaxation: f64::INFINITY, ..Settings::default() })?;
/// assert_eq!(solution.status, Status::Converged);
/// assert!((solution.cost_px2 - 4.0).abs() < 1e-4);
/// # Ok::<(), swathe_ot::Failure>(())
/// ```
///
/// # Errors
/// If the settings, the frames or their combination are not valid; see [`Failure`].
pub fn solve(pair: &Pair, settings: &Settings) -> Result<Solution, Failure> {
    solve_with(pair, settings, &mut Scratch::new(), &|| false)
}

/// Solves one pair in memory that is reused for the next pair. `stop` is polled every few hundred
/// microseconds of work.
///
/// # Errors
/// As [`solve`], and [`Failure::Stopped`] once `stop` returns true.
pub fn solve_with(
    pair: &Pair,
    settings: &Settings,
    scratch: &mut Scratch,
    stop: &dyn Fn() -> bool,
) -> Result<Solution, Failure> {
    solve_watched(pair, settings, scratch, &StopLatch::new(stop))
}

/// Like [`solve_with`], as a part of a longer work that is stopped as a whole.
pub(crate) fn solve_watched(
    pair: &Pair,
    settings: &Settings,
    scratch: &mut Scratch,
    watch: &StopLatch<'_>,
) -> Result<Solution, Failure> {
    let problem = swathe::timed("prepare", || prepare(pair, settings))?;
    if problem.mass_src <= 0.0 || problem.mass_tgt <= 0.0 {
        return Ok(empty_outputs(&problem, pair, settings));
    }
    let descent =
        swathe::timed("anneal", || descend(&problem, pair, settings, None, scratch, watch))?;
    finish(&problem, pair, settings, &descent, scratch, watch)
}

/// Makes the solution from the potentials that a descent left in `scratch`.
pub(crate) fn finish(
    problem: &Problem,
    pair: &Pair,
    settings: &Settings,
    descent: &Descent,
    scratch: &mut Scratch,
    watch: &StopLatch<'_>,
) -> Result<Solution, Failure> {
    let solution = swathe::timed("outputs", || {
        outputs(problem, settings, Maps::of(settings), descent, scratch, watch)
    })?;
    if settings.raw_velocity {
        return Ok(solution);
    }
    let reference_mass = scratch.reference_mass(problem);
    let solution = debias(solution, reference_mass, pair, settings, scratch, watch)?;
    if !settings.error_bar {
        return Ok(solution);
    }
    let error_bar =
        swathe::timed("error bar", || error_bar(&solution, pair, settings, scratch, watch))?;
    Ok(Solution { error_bar, ..solution })
}

/// Solves many pairs on all cores. Each pair has its own result, in input order, with the same bits
/// for any number of threads. A failing pair does not affect the others.
///
/// ```
/// use swathe_ot::{Frame, Pair, Settings, solve_all};
/// let good = Frame::new(2, 2, vec![1.0, 0.0, 0.0, 1.0])?;
/// let bad = Frame::new(2, 2, vec![1.0, f64::NAN, 0.0, 1.0])?;
/// let pairs = [Pair::new(good.clone(), good.clone()), Pair::new(good, bad)];
/// let solutions = solve_all(&pairs, &Settings::default());
/// assert!(solutions[0].is_ok());
/// assert_eq!(solutions[1].as_ref().unwrap_err().kind(), "nan_pixel");
/// # Ok::<(), swathe_ot::Failure>(())
/// ```
pub fn solve_all(pairs: &[Pair], settings: &Settings) -> Vec<Result<Solution, Failure>> {
    let n_threads = std::thread::available_parallelism().map_or(1, |n| n.get()).min(pairs.len());
    let next = AtomicUsize::new(0);
    let work = || {
        let mut scratch = Scratch::new();
        let mut solved = Vec::new();
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            let Some(pair) = pairs.get(i) else {
                return solved;
            };
            solved.push((i, solve_with(pair, settings, &mut scratch, &|| false)));
        }
    };
    let mut solved: Vec<_> = std::thread::scope(|scope| {
        // If the system refuses a thread, fewer threads share the work: this one always works.
        let threads: Vec<_> = (1..n_threads)
            .map_while(|_| std::thread::Builder::new().spawn_scoped(scope, work).ok())
            .collect();
        let mut solved = work();
        for thread in threads {
            let joined = thread.join();
            solved.extend(joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        solved
    });
    solved.sort_unstable_by_key(|(i, _)| *i);
    solved.into_iter().map(|(_, solution)| solution).collect()
}
