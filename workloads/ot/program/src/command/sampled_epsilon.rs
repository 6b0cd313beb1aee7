//! `--epsilon auto`: one ε for the whole input, decided on a sample of its pairs.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use crate::frame::LiveFrame;
use crate::frame_cache::FrameCache;
use crate::pair_input::NamedPair;
use swathe::{Size, Source, Stop};
use swathe_ot::synth::Rng;
use swathe_ot::{
    Crop, EPSILONS, EpsilonSearch, Failure, Geometry, Pair, PixelBox, Settings, choose_epsilon,
    place_live, placed_size,
};

/// The work grid of trials: the box of live pixels, which takes the least memory. It changes no
/// result.
pub(super) const TIGHT: Crop = Crop::Union { padding_px: 0 };

/// The most pairs that are tried.
const N_SAMPLE: usize = 8;

/// An ε that was chosen on a sample of pairs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AutoEpsilon {
    /// The ε.
    pub epsilon: f64,
    /// How many pairs of the sample decided; without any it is the largest one.
    pub n_pairs: usize,
}

impl AutoEpsilon {
    fn of(found: &[f64]) -> AutoEpsilon {
        AutoEpsilon { epsilon: choose_epsilon(found).unwrap_or(EPSILONS[0]), n_pairs: found.len() }
    }

    /// How it was chosen, in a sentence.
    pub(super) fn text(&self) -> String {
        let epsilon = self.epsilon;
        match self.n_pairs {
            0 => format!(
                "epsilon {epsilon:e}, the largest (--epsilon auto: no pair of the sample could be solved)"
            ),
            1 => format!("epsilon {epsilon:e} suits the pair that was tried (--epsilon auto)"),
            n => format!("epsilon {epsilon:e} suits most of the {n} pairs tried (--epsilon auto)"),
        }
    }
}

/// The ε for the pairs of an input, from the frames in a cache.
pub(super) fn epsilon_of_input(
    pairs: &[NamedPair],
    cache: &Arc<FrameCache>,
    settings: &Settings,
    engine: &swathe::Settings,
) -> Option<AutoEpsilon> {
    let sample = sample_of(pairs.len(), engine.seed);
    let named: Vec<(usize, NamedPair)> = sample.iter().map(|&n| (n, pairs[n].clone())).collect();
    let (cache, pool) = (Arc::clone(cache), settings.pool);
    let read = move |number: usize| {
        let at = named.binary_search_by_key(&number, |(n, _)| *n).ok();
        let placed = at.and_then(|at| Placed::read(&named[at].1, &cache, pool));
        placed.ok_or(Failure::Stopped)
    };
    let load = read.clone();
    sampled_epsilon(
        pairs.len(),
        move |number| {
            let geometry = read(number)?.geometry;
            Ok(placed_size(geometry.work, geometry.frame))
        },
        move |number| Ok(load(number)?.cut()),
        settings,
        engine,
    )
}

/// The ε for `n` pairs. The sample is chosen by the seed over the whole input, before it is divided
/// into shards, so every shard and a resumed run find the same. Pairs that cannot be solved do not
/// count. `size` and `load` take the number of a pair; `load` returns it cut to its live box. Solves
/// are inside of the engine's memory budget. `None` if the run was stopped meanwhile.
pub fn sampled_epsilon(
    n: usize,
    size: impl Fn(usize) -> Result<Size, Failure> + Send + Sync + 'static,
    load: impl Fn(usize) -> Result<Pair, Failure> + Send + Sync + 'static,
    settings: &Settings,
    engine: &swathe::Settings,
) -> Option<AutoEpsilon> {
    let sample = Arc::new(sample_of(n, engine.seed));
    let workload = Arc::new(EpsilonSearch::new(settings.clone()));
    let (sizes, loads) = (Arc::clone(&sample), Arc::clone(&sample));
    let source = Source::new(
        sample.len(),
        move |index| size(sizes[index]),
        move |index, _| load(loads[index]),
    );
    let quiet = swathe::Settings {
        n_threads: engine.n_threads,
        memory: engine.memory.clone(),
        time_limit: engine.time_limit,
        stop: engine.stop.clone(),
        ..swathe::Settings::default()
    };
    let mut found = Vec::new();
    swathe::run(&workload, &source, &quiet, &mut |done| {
        found.extend(done.outcome.solution().copied().flatten());
        ControlFlow::Continue(())
    });
    (!engine.stop.requested()).then(|| AutoEpsilon::of(&found))
}

/// The ε for `n` pairs, decided on some of them without an engine. `load` returns a pair cut to its
/// live box, or `None` if it cannot be used. `None` if the search was stopped.
pub fn auto_epsilon(
    n: usize,
    load: impl Fn(usize) -> Option<Pair> + Sync,
    settings: &Settings,
    seed: u64,
    stop: &Stop,
) -> Option<f64> {
    let sample = sample_of(n, seed);
    let load = |at: usize| load(sample[at]);
    let is_stopped = || stop.requested();
    let epsilon = swathe_ot::auto_epsilon(sample.len(), load, settings, &is_stopped);
    (!stop.requested()).then_some(epsilon)
}

/// Different numbers below `n`, ascending; all of them if there are few.
fn sample_of(n: usize, seed: u64) -> Vec<usize> {
    if n <= N_SAMPLE {
        return (0..n).collect();
    }
    let mut dice = Rng::new(seed);
    let mut chosen = BTreeSet::new();
    while chosen.len() < N_SAMPLE {
        chosen.insert(dice.below(n));
    }
    chosen.into_iter().collect()
}

/// Two frames, and where their masses are.
struct Placed {
    source: Arc<LiveFrame>,
    target: Arc<LiveFrame>,
    live: PixelBox,
    geometry: Geometry,
}

impl Placed {
    /// Reads the frames of a pair; `None` if a frame cannot be read or the two do not belong
    /// together, which the run itself will report.
    fn read(pair: &NamedPair, cache: &FrameCache, pool: usize) -> Option<Placed> {
        let (source, target) = (cache.get(pair.source).ok()?, cache.get(pair.target).ok()?);
        if source.shape != target.shape {
            return None;
        }
        let live = source.live?.union(target.live?);
        let geometry = place_live(source.shape, Some(live), &TIGHT, pool).ok()?;
        Some(Placed { source, target, live, geometry })
    }

    /// The pair, cut to its live box.
    fn cut(&self) -> Pair {
        let (source, target) = (self.source.within(self.live), self.target.within(self.live));
        Pair::cut(source, target, self.geometry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::FrameRef;
    use swathe::array::Array;
    use swathe::{Budget, DeviceKind, Workload as _};
    use swathe_ot::Shape;

    /// Three frames of two discs each, and the two pairs of neighbours.
    fn series(folder: &std::path::Path) -> (Vec<FrameRef>, Vec<NamedPair>) {
        let frames = (0..3).map(|time| {
            let mass = |at: usize| {
                let (y, x) = ((at / 64) as f64, (at % 64) as f64);
                let is_inside = |y0: f64, x0: f64| (y - y0).hypot(x - x0) <= 6.0;
                let by = 2.0 * f64::from(time);
                f64::from(u8::from(is_inside(20.0 + by, 18.0) || is_inside(28.0 - by, 40.0)))
            };
            let path = folder.join(format!("{time}.npy"));
            let pixels: Vec<f64> = (0..48 * 64).map(mass).collect();
            swathe_formats::npy::save(&path, &Array::new(vec![48, 64], pixels).unwrap()).unwrap();
            FrameRef { path, ..FrameRef::default() }
        });
        let pair = |number: usize| NamedPair {
            id: number.to_string(),
            source: number,
            target: number + 1,
            source_um_per_px: None,
            target_um_per_px: None,
        };
        (frames.collect(), vec![pair(0), pair(1)])
    }

    #[test]
    fn the_search_is_inside_of_the_memory_budget() {
        let folder = tempfile::tempdir().unwrap();
        let (frames, pairs) = series(folder.path());
        let settings = Settings::default();
        let found = |memory_bytes: u64| {
            let engine = swathe::Settings {
                memory: Budget::new(memory_bytes),
                ..swathe::Settings::default()
            };
            let cache = FrameCache::new(Arc::default(), frames.clone(), None, &engine.memory);
            let chosen = epsilon_of_input(&pairs, &Arc::new(cache), &settings, &engine).unwrap();
            (chosen.epsilon, engine.memory.peak_bytes())
        };
        let (epsilon, peak_bytes) = found(1 << 30);
        // The same as without an engine.
        let load = |number: usize| {
            let cache =
                FrameCache::new(Arc::default(), frames.clone(), None, &Budget::new(1 << 30));
            Some(Placed::read(&pairs[number], &cache, 1)?.cut())
        };
        let direct = auto_epsilon(pairs.len(), load, &settings, 0, &Stop::new());
        assert_eq!(Some(epsilon), direct);
        let size = placed_size(Shape::new(21, 35), Shape::new(48, 64));
        let need = EpsilonSearch::new(settings.clone()).need(&size, DeviceKind::Cpu);
        assert!(peak_bytes >= need.total_bytes(), "{peak_bytes}");
        // No room: nothing is solved outside of the budget.
        let (epsilon, peak_bytes) = found(100_000);
        assert!(peak_bytes <= 100_000);
        assert_eq!(epsilon, EPSILONS[0]);
    }

    #[test]
    fn samples_depend_on_the_seed_alone() {
        assert_eq!(sample_of(3, 7), [0, 1, 2]);
        let sample = sample_of(1000, 7);
        assert_eq!(sample.len(), N_SAMPLE);
        assert_eq!(sample, sample_of(1000, 7));
        assert_ne!(sample, sample_of(1000, 8));
        assert!(sample.is_sorted() && sample.iter().all(|n| *n < 1000));
    }
}
