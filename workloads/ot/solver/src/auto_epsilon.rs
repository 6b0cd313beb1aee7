//! The choice of ε: the largest at which a smaller one would hardly change the displacement.

use crate::epsilon_range::EPSILON_PX2_MIN;
use crate::failure::Failure;
use crate::frame::Pair;
use crate::geometry::pool_live;
use crate::scratch::Scratch;
use crate::settings::{CoordScale, Coupling, Settings};
use crate::solution::{Solution, Status};
use crate::solve::solve_with;
use crate::workload::Transport;
use std::sync::atomic::{AtomicUsize, Ordering};
use swathe::{DeviceKind, Need, Size, Stop, Workload};

/// The ε to choose from, for frames one unit long, largest first. With debiasing a large one is
/// nearly exact and quick; a small one is needed where neighbours within the blur move differently.
pub const EPSILONS: [f64; 4] = [1e-3, 3e-4, 1e-4, 3e-5];

/// An error of the displacement is small if it is below this part of the median displacement …
const ERROR_SHARE: f64 = 0.02;
/// … or below this many pixels.
pub const ERROR_PX: f64 = 0.05;
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

/// The search for the ε of single pairs ([`sharp_epsilon`]) as a workload of the engine, which
/// reserves the memory for it. A pair with an empty side has `None`.
#[derive(Clone, Debug)]
pub struct EpsilonSearch(Transport);

impl EpsilonSearch {
    /// A search with these settings, except for ε.
    pub fn new(settings: Settings) -> EpsilonSearch {
        let settings = Settings { fields: true, raw_velocity: false, ..settings };
        EpsilonSearch(Transport { settings })
    }
}

impl Workload for EpsilonSearch {
    type Problem = Pair;
    type Solution = Option<f64>;
    type Failure = Failure;
    type Scratch = Scratch;
    type Local = ();
    const NAME: &'static str = "epsilon";

    fn size(&self, pair: &Pair) -> Size {
        self.0.size(pair)
    }

    fn need(&self, size: &Size, on: DeviceKind) -> Need {
        let solution_bytes = size_of::<Option<f64>>() as u64;
        self.0.need_to_compare(size, on, solution_bytes)
    }

    fn scratch(&self) -> Scratch {
        Scratch::new()
    }

    fn local(&self) {}

    fn solve(
        &self,
        pair: &Pair,
        scratch: &mut Scratch,
        _: &mut (),
        stop: &Stop,
    ) -> Result<Option<f64>, Failure> {
        sharp_epsilon(pair, &self.0.settings, scratch, &|| stop.requested())
    }
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

/// The largest ε of [`EPSILONS`] whose error of the displacement is at most 2 % of the median or
/// 0.05 px, in the mean over the mass and in the median; the smallest if there is none. The error
/// of an ε is the change to the next smaller one, extrapolated to none at all: it is proportional to
/// ε. `None` if a frame is empty. The ε of the settings is ignored. If the coordinate scale is
/// fixed, the values are scaled to frames of this length; values below the range that was proved
/// ([`EPSILON_PX2_MIN`](crate::EPSILON_PX2_MIN)) are left out.
///
/// # Errors
/// As [`solve_with`].
pub fn sharp_epsilon(
    pair: &Pair,
    settings: &Settings,
    scratch: &mut Scratch,
    stop: &dyn Fn() -> bool,
) -> Result<Option<f64>, Failure> {
    let epsilons = epsilons_of(pair, settings);
    let mut solve = |epsilon: f64| {
        let settings = Settings {
            epsilon,
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
    let mut now = solve(epsilons[0])?;
    if !matches!(now.status, Status::Converged | Status::MaxIterations) {
        return Ok(None);
    }
    for step in epsilons.windows(2) {
        let next = solve(step[1])?;
        let change = Change::between(&now, &next, pair);
        // A solve that ran out of sweeps is no measure of another one.
        if next.status != Status::Converged || change.is_small(extrapolation(step[1], step[0])) {
            return Ok(Some(step[0]));
        }
        now = next;
    }
    Ok(epsilons.last().copied())
}

/// The values of [`EPSILONS`] for a pair: in the unit of its cost, and within the range that was
/// proved; at least the largest one.
pub fn epsilons_of(pair: &Pair, settings: &Settings) -> Vec<f64> {
    let frame = pair.cut.map_or(pair.source.shape, |cut| cut.frame);
    let longest_px = frame.longest_px() as f64;
    let unit = match settings.coord_scale {
        CoordScale::Auto => 1.0,
        CoordScale::Fixed(scale) => (scale * longest_px).powi(2),
    };
    let is_proved = |epsilon: &f64| epsilon * longest_px * longest_px >= EPSILON_PX2_MIN;
    let others = EPSILONS[1..].iter().copied().filter(is_proved);
    let all = std::iter::once(EPSILONS[0]).chain(others);
    all.map(|epsilon| unit * epsilon).collect()
}

/// The largest error of a displacement that is small: 2 % of the median length, or `floor_px` if
/// that is more.
///
/// ```
/// use swathe_ot::{ERROR_PX, error_limit_px};
/// assert_eq!(error_limit_px(1.0, ERROR_PX), 0.05);
/// assert_eq!(error_limit_px(10.0, ERROR_PX), 0.2);
/// ```
pub fn error_limit_px(median_px: f64, floor_px: f64) -> f64 {
    floor_px.max(ERROR_SHARE * median_px)
}

/// Whether something that holds for `n` of `n_pairs` pairs holds for enough of them to decide for
/// all: three quarters.
pub(crate) fn is_enough(n: usize, n_pairs: usize) -> bool {
    n as f64 >= PAIRS_SHARE * n_pairs as f64
}

/// The error at an ε in changes to a smaller one, if it is proportional to ε.
pub(crate) fn extrapolation(smaller: f64, epsilon: f64) -> f64 {
    1.0 / (1.0 - smaller / epsilon)
}

/// How far two displacements of a pair differ, px.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change {
    /// The mean length of the difference over the source's mass.
    pub(crate) mean_px: f64,
    /// The mean change of length of the pixels whose length is near the median.
    median_px: f64,
    /// The median length of the second one.
    length_px: f64,
}

impl Change {
    pub(crate) fn between(before: &Solution, after: &Solution, pair: &Pair) -> Change {
        let (Some(before_maps), Some(after_maps)) = (&before.fields, &after.fields) else {
            return Change { mean_px: 0.0, median_px: 0.0, length_px: 0.0 };
        };
        let mass = pool_live(&pair.source, &before.geometry);
        let velocities = before_maps.velocity_yx_px.iter();
        let velocities = velocities.zip(&after_maps.velocity_yx_px);
        let (mut sum, mut total) = (0.0, 0.0);
        let mut lengths = Vec::new();
        for (mass, (u, v)) in mass.iter().zip(velocities).filter(|(mass, _)| **mass > 0.0) {
            sum += mass * (u[0] - v[0]).hypot(u[1] - v[1]);
            total += mass;
            let length_px = v[0].hypot(v[1]);
            lengths.push((length_px, length_px - u[0].hypot(u[1])));
        }
        lengths.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        // The medians themselves jump where objects move by different lengths.
        let n = lengths.len();
        let middle = &lengths[2 * n / 5..3 * n / 5 + 1];
        let changes = middle.iter().map(|(_, change_px)| change_px);
        Change {
            mean_px: sum / total,
            median_px: changes.sum::<f64>().abs() / middle.len() as f64,
            length_px: lengths[n / 2].0,
        }
    }

    /// Whether an error of `times` the change is at most 2 % of the median displacement or 0.05 px.
    pub(crate) fn is_small(&self, times: f64) -> bool {
        times * self.largest_px() <= error_limit_px(self.length_px, ERROR_PX)
    }

    /// The larger of the changes in the mean over the mass and in the median.
    pub(crate) fn largest_px(&self) -> f64 {
        self.mean_px.max(self.median_px)
    }
}
