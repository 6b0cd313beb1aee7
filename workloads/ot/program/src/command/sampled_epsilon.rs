//! `--epsilon auto`: one ε for the whole input, decided on a sample of its pairs.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::frame_cache::FrameCache;
use crate::pair_input::NamedPair;
use swathe::Stop;
use swathe_ot::synth::Rng;
use swathe_ot::{
    Crop, EPSILONS, Pair, PixelBox, Scratch, Settings, choose_epsilon, place_live, sharp_epsilon,
};

/// The most pairs that are tried.
const N_SAMPLE: usize = 8;

/// The ε for all pairs of an input. The sample is chosen by the seed over the whole input, before
/// it is divided into shards, so every shard and a resumed run find the same. Pairs that cannot be
/// solved do not count. `None` if the run was stopped meanwhile.
pub(super) fn sampled_epsilon(
    pairs: &[NamedPair],
    cache: &FrameCache,
    settings: &Settings,
    seed: u64,
    stop: &Stop,
) -> Option<f64> {
    let load = |index: usize| load(&pairs[index], cache, settings);
    auto_epsilon(pairs.len(), load, settings, seed, stop)
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
    let next = AtomicUsize::new(0);
    let work = || {
        let mut scratch = Scratch::new();
        let mut found = Vec::new();
        while let Some(index) = sample.get(next.fetch_add(1, Ordering::Relaxed)) {
            let Some(pair) = load(*index) else {
                continue;
            };
            let epsilon = sharp_epsilon(&pair, settings, &mut scratch, &|| stop.requested());
            found.extend(epsilon.ok().flatten());
        }
        found
    };
    let n_threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    let found = std::thread::scope(|scope| {
        let threads: Vec<_> = (1..n_threads.min(sample.len()))
            .map_while(|_| std::thread::Builder::new().spawn_scoped(scope, work).ok())
            .collect();
        let mut found = work();
        for thread in threads {
            let joined = thread.join();
            found.extend(joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        found
    });
    if stop.requested() {
        return None;
    }
    Some(choose_epsilon(&found).unwrap_or(EPSILONS[0]))
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

/// A pair cut to its live box; `None` if a frame cannot be read or the two do not belong together,
/// which the run itself will report.
fn load(pair: &NamedPair, cache: &FrameCache, settings: &Settings) -> Option<Pair> {
    let (source, target) = (cache.get(pair.source).ok()?, cache.get(pair.target).ok()?);
    if source.shape != target.shape {
        return None;
    }
    let live: PixelBox = source.live?.union(target.live?);
    let geometry = place_live(source.shape, Some(live), &Crop::Fixed, settings.pool).ok()?;
    Some(Pair::cut(
        source.within(live),
        target.within(live),
        geometry,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

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
