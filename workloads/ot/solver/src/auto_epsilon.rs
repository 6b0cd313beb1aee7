//! The choice of ε: the largest at which a smaller one would hardly change the displacement.

use crate::failure::Failure;
use crate::frame::Pair;
use crate::geometry::pool_live;
use crate::scratch::Scratch;
use crate::settings::{CoordScale, Coupling, Settings};
use crate::solution::{Solution, Status};
use crate::solve::solve_with;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The ε to choose from, for frames one unit long, largest first. With debiasing a large one is
/// nearly exact and quick; a small one is needed where neighbours within the blur move differently.
pub const EPSILONS: [f64; 4] = [1e-3, 3e-4, 1e-4, 3e-5];

/// A change of the displacement is small if it is below this part of the median displacement …
const CHANGE_SHARE: f64 = 0.02;
/// … or below this many pixels.
const CHANGE_PX: f64 = 0.05;
/// The chosen ε is small enough for at least this part of the pairs.
const PAIRS_SHARE: f64 = 0.75;

/// The ε for all of these pairs: the largest of [`EPSILONS`] that is small enough
/// ([`sharp_epsilon`]) for three quarters of them. `load` returns a pair by its number, or `None` if
/// it cannot be used. Such pairs, pairs that fail and pairs with an empty side do not count; without
/// any that counts it is the largest. Uses all cores; the answer depends on the pairs and the
/// settings alone, unless `stop` ends the search early.
///
/// ```
/// use swathe_ot::{Pair, Settings, Shape, auto_epsilon, synth};
/// let pair = synth::embryo_pair(Shape::new(48, 64), 1, synth::Change::default());
/// let settings = Settings { relaxation: 10.0, ..Settings::default() };
/// let epsilon = auto_epsilon(1, |_| Some(pair.clone()), &settings, &|| false);
/// assert!(swathe_ot::EPSILONS.contains(&epsilon));
/// ```
pub fn auto_epsilon(
    n_pairs: usize,
    load: impl Fn(usize) -> Option<Pair> + Sync,
    settings: &Settings,
    stop: &(dyn Fn() -> bool + Sync),
) -> f64 {
    let n_threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    let next = AtomicUsize::new(0);
    let work = || {
        let mut scratch = Scratch::new();
        let mut found = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= n_pairs || stop() {
                return found;
            }
            if let Some(pair) = load(number) {
                let epsilon = sharp_epsilon(&pair, settings, &mut scratch, &|| stop());
                found.extend(epsilon.ok().flatten());
            }
        }
    };
    let found = std::thread::scope(|scope| {
        let threads: Vec<_> = (1..n_threads.min(n_pairs))
            .map_while(|_| std::thread::Builder::new().spawn_scoped(scope, work).ok())
            .collect();
        let mut found = work();
        for thread in threads {
            let joined = thread.join();
            found.extend(joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        found
    });
    choose_epsilon(&found).unwrap_or(EPSILONS[0])
}

/// The largest ε that is small enough for three quarters of the pairs, given the largest one for
/// each pair; `None` if there are no pairs. The order of the pairs does not matter.
///
/// ```
/// use swathe_ot::choose_epsilon;
/// assert_eq!(choose_epsilon(&[1e-3, 1e-4, 1e-3, 1e-3]), Some(1e-3));
/// assert_eq!(choose_epsilon(&[1e-3, 1e-4, 3e-4, 1e-3]), Some(3e-4));
/// ```
pub fn choose_epsilon(of_pairs: &[f64]) -> Option<f64> {
    let mut sorted = of_pairs.to_vec();
    sorted.sort_unstable_by(|a, b| b.total_cmp(a));
    let n_least = (PAIRS_SHARE * sorted.len() as f64).ceil() as usize;
    sorted.get(n_least.checked_sub(1)?).copied()
}

/// The largest ε of [`EPSILONS`] from which the next smaller one changes the displacement of this
/// pair by at most 2 % of its median or 0.05 px, in the mean over the mass; the smallest if there
/// is none. `None` if a frame is empty. The ε of the settings is ignored. If the coordinate scale
/// is fixed, the values are scaled to frames of this length.
///
/// # Errors
/// As [`solve_with`].
pub fn sharp_epsilon(
    pair: &Pair,
    settings: &Settings,
    scratch: &mut Scratch,
    stop: &dyn Fn() -> bool,
) -> Result<Option<f64>, Failure> {
    let unit = unit(pair, settings);
    let mut solve = |epsilon: f64| {
        let settings = Settings {
            epsilon: unit * epsilon,
            raw_velocity: false,
            error_bar: false,
            fields: true,
            potentials: false,
            target_cost: false,
            coupling: Coupling::None,
            ..settings.clone()
        };
        solve_with(pair, &settings, scratch, stop)
    };
    let mut now = solve(EPSILONS[0])?;
    if !matches!(now.status, Status::Converged | Status::MaxIterations) {
        return Ok(None);
    }
    for step in EPSILONS.windows(2) {
        let next = solve(step[1])?;
        let (change_px, median_px) = change(&now, &next, pair);
        // A solve that ran out of sweeps is no measure of another one.
        if next.status != Status::Converged || change_px <= CHANGE_PX.max(CHANGE_SHARE * median_px)
        {
            return Ok(Some(unit * step[0]));
        }
        now = next;
    }
    Ok(Some(unit * EPSILONS[EPSILONS.len() - 1]))
}

/// What an ε for frames one unit long is multiplied by.
fn unit(pair: &Pair, settings: &Settings) -> f64 {
    let frame = pair.cut.map_or(pair.source.shape, |cut| cut.frame);
    match settings.coord_scale {
        CoordScale::Auto => 1.0,
        CoordScale::Fixed(scale) => (scale * frame.longest_px() as f64).powi(2),
    }
}

/// The mean change of the displacement over the source's mass, and the median displacement, px.
fn change(before: &Solution, after: &Solution, pair: &Pair) -> (f64, f64) {
    let (Some(before_maps), Some(after_maps)) = (&before.fields, &after.fields) else {
        return (0.0, 0.0);
    };
    let mass = pool_live(&pair.source, &before.geometry);
    let velocities = before_maps.velocity_yx_px.iter();
    let velocities = velocities.zip(&after_maps.velocity_yx_px);
    let (mut sum, mut total) = (0.0, 0.0);
    let mut lengths = Vec::new();
    for (mass, (u, v)) in mass.iter().zip(velocities).filter(|(mass, _)| **mass > 0.0) {
        sum += mass * (u[0] - v[0]).hypot(u[1] - v[1]);
        total += mass;
        lengths.push(v[0].hypot(v[1]));
    }
    lengths.sort_unstable_by(f64::total_cmp);
    (sum / total, lengths[lengths.len() / 2])
}
