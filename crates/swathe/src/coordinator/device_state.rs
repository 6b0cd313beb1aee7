//! What a run has learnt about a device.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::{Shape, Size};

#[derive(Clone, Debug, Default)]
#[cfg_attr(test, derive(Hash))]
pub(super) struct DeviceState {
    /// Why it is not used any more.
    pub(super) retired: Option<String>,
    /// A launch runs on it, or it is being reopened; its other worker loads meanwhile.
    pub(super) is_busy: bool,
    pub(super) n_losses: u32,
    /// Failed launches by class.
    n_failures: BTreeMap<u32, u32>,
    size_searches: BTreeMap<(u32, Shape), BatchSizeSearch>,
}

impl DeviceState {
    /// A device that is lost more often than this is retired.
    pub(super) const N_LOSSES_MAX: u32 = 3;
    /// After this many failed launches, a class is left to the CPU.
    const N_FAILURES_MAX: u32 = 3;

    /// Whether the device accepts problems of this class.
    pub(super) fn accepts(&self, class: u32) -> bool {
        let n_failures = self.n_failures.get(&class).copied().unwrap_or(0);
        self.retired.is_none() && n_failures < Self::N_FAILURES_MAX
    }

    pub(super) fn count_failure(&mut self, class: u32) {
        *self.n_failures.entry(class).or_default() += 1;
    }

    /// The number of lanes to try next.
    pub(super) fn n_lanes_next(&self, class: u32, padded: Shape, best: Option<u64>) -> usize {
        let size_search = self.size_searches.get(&(class, padded));
        size_search.map_or_else(|| BatchSizeSearch::new(best).n_next, |search| search.n_next)
    }

    /// Records the time of a launch. Returns the launch size with the best throughput so far.
    pub(super) fn learn(
        &mut self,
        padded: &Size,
        best: Option<u64>,
        n_lanes: usize,
        took: Duration,
    ) -> Option<u64> {
        let size_search = self.size_searches.entry((padded.class, padded.shape));
        let size_search = size_search.or_insert_with(|| BatchSizeSearch::new(best));
        size_search.learn(n_lanes, took);
        size_search.best.map(|(n_lanes, _)| n_lanes as u64)
    }
}

/// Searches for the launch size with the best throughput by doubling it as long as that pays.
#[derive(Clone, Debug)]
struct BatchSizeSearch {
    n_next: usize,
    /// Lanes, and lanes per second.
    best: Option<(usize, f64)>,
}

impl BatchSizeSearch {
    const N_FIRST: usize = 4;
    /// The gain in throughput that a doubling must bring.
    const GAIN: f64 = 1.05;

    fn new(best: Option<u64>) -> BatchSizeSearch {
        BatchSizeSearch {
            n_next: best.map_or(BatchSizeSearch::N_FIRST, |n| n.max(1) as usize),
            best: None,
        }
    }

    fn learn(&mut self, n_lanes: usize, took: Duration) {
        // A small rest of a lot does not represent full launches.
        if n_lanes * 2 < self.n_next {
            return;
        }
        let rate = n_lanes as f64 / took.as_secs_f64().max(1e-9);
        match self.best {
            Some((n_best, rate_best)) if n_lanes > n_best => {
                if rate > rate_best * BatchSizeSearch::GAIN {
                    self.best = Some((n_lanes, rate));
                    self.n_next = n_lanes * 2;
                } else {
                    self.n_next = n_best;
                }
            }
            Some((n_best, rate_best)) if n_lanes == n_best => {
                self.best = Some((n_best, 0.5 * (rate + rate_best)));
            }
            Some(_) => {}
            None => {
                self.best = Some((n_lanes, rate));
                self.n_next = n_lanes * 2;
            }
        }
    }
}

#[cfg(test)]
impl std::hash::Hash for BatchSizeSearch {
    /// Times are no part of a state that the simulator compares.
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.n_next.hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_grow_while_that_pays() {
        let mut size_search = BatchSizeSearch::new(None);
        // A fixed cost of 1 ms and 10 us per lane: beyond 1,024 lanes little is gained.
        let took = |n: usize| Duration::from_secs_f64(1e-3 + 1e-5 * n as f64);
        for _ in 0..20 {
            let n = size_search.n_next;
            size_search.learn(n, took(n));
        }
        let (n_best, _) = size_search.best.unwrap();
        assert_eq!(size_search.n_next, n_best);
        assert!((512..=2048).contains(&n_best), "{n_best}");
        // A small rest changes nothing.
        size_search.learn(3, took(3));
        assert_eq!(size_search.n_next, n_best);
    }
}
