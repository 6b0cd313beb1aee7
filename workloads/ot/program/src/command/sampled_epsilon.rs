//! `--epsilon auto`: one ε for the whole input, decided on a sample of its pairs.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use crate::frame::LiveFrame;
use crate::frame_cache::FrameCache;
use crate::pair_input::NamedPair;
use swathe::{Source, Stop};
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

/// The ε for all pairs of an input. The sample is chosen by the seed over the whole input, before
/// it is divided into shards, so every shard and a resumed run find the same. Pairs that cannot be
/// solved do not count. Frames and solves are inside of the engine's memory budget. `None` if the
/// run was stopped meanwhile.
pub(super) fn sampled_epsilon(
    pairs: &[NamedPair],
    cache: &Arc<FrameCache>,
    settings: &Settings,
    engine: &swathe::Settings,
) -> Option<f64> {
    let sample = sample_of(pairs.len(), engine.seed);
    let sample: Arc<Vec<NamedPair>> = Arc::new(sample.iter().map(|&n| pairs[n].clone()).collect());
    let workload = Arc::new(EpsilonSearch::new(settings.clone()));
    let n_sample = sample.len();
    let (cache, pool) = (Arc::clone(cache), settings.pool);
    let read = move |index: usize| {
        let placed = Placed::read(&sample[index], &cache, pool);
        placed.ok_or(Failure::Stopped)
    };
    let load = read.clone();
    let source = Source::new(
        n_sample,
        move |index| {
            let geometry = read(index)?.geometry;
            Ok(placed_size(geometry.work, geometry.frame))
        },
        move |index, _| Ok(load(index)?.cut()),
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
    (!engine.stop.requested()).then(|| choose_epsilon(&found).unwrap_or(EPSILONS[0]))
}

/// The ε for `n` pairs, decided on some of them. `load` returns a pair cut to its live box, or
/// `None` if it cannot be used. `None` if the search was stopped.
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
        Some(Placed {
            source,
            target,
            live,
            geometry,
        })
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
                f64::from(u8::from(
                    is_inside(20.0 + by, 18.0) || is_inside(28.0 - by, 40.0),
                ))
            };
            let path = folder.join(format!("{time}.npy"));
            let pixels: Vec<f64> = (0..48 * 64).map(mass).collect();
            swathe_formats::npy::save(&path, &Array::new(vec![48, 64], pixels).unwrap()).unwrap();
            FrameRef {
                path,
                ..FrameRef::default()
            }
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
            let epsilon = sampled_epsilon(&pairs, &Arc::new(cache), &settings, &engine);
            (epsilon.unwrap(), engine.memory.peak_bytes())
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
