//! `--epsilon auto`: one ε for the whole input, decided on a sample of its pairs.

use std::collections::BTreeSet;

use crate::frame_cache::FrameCache;
use crate::pair_input::NamedPair;
use swathe::Stop;
use swathe_ot::synth::Rng;
use swathe_ot::{Crop, Pair, PixelBox, Settings, place_live};

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
