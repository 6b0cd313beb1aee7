//! The ledger: sums up all launches as they end, and keeps some of them.

use std::collections::BTreeMap;

use super::ms;
use crate::operation::Spent;
use crate::report::{BucketFigures, Launch, OperationFigures, Phase, Report};
use crate::run::keep_every_second;
use crate::{DeviceId, Shape};

/// The record of an ended launch.
pub(crate) struct Entry {
    pub(crate) launch: Launch,
    /// Whether its lanes were padded to its shape.
    pub(crate) is_padded: bool,
    pub(crate) operations: Vec<(Phase, Spent)>,
}

#[derive(Default)]
pub(crate) struct Ledger {
    pub(crate) kept: Vec<Launch>,
    pub(crate) n_launches: u64,
    /// One in `2^step_log2` launches is kept.
    step_log2: u32,
    buckets: BTreeMap<(DeviceId, u32, Shape), BucketFigures>,
}

impl Ledger {
    pub(crate) fn step(&self) -> u64 {
        1 << self.step_log2
    }

    pub(crate) fn enter(&mut self, entry: Entry, class_name: impl FnOnce(u32) -> String) {
        let Entry { launch, is_padded, operations } = entry;
        let shape = match is_padded {
            true => launch.shape,
            false => launch.shape.bin(),
        };
        let bucket =
            self.buckets.entry((launch.device, launch.class, shape)).or_insert_with(|| {
                BucketFigures {
                    device: launch.device,
                    class: launch.class,
                    class_name: class_name(launch.class),
                    shape,
                    n_launches: 0,
                    n_lanes: 0,
                    n_launches_by_lanes: Vec::new(),
                    volume_real: 0,
                    volume_launched: 0,
                    bytes_max: 0,
                    memory_ms: 0.0,
                    load_ms: 0.0,
                    turn_ms: 0.0,
                    solve_ms: 0.0,
                    operations: Vec::new(),
                }
            });
        bucket.n_launches += 1;
        bucket.n_lanes += launch.n_lanes as u64;
        let at = launch.n_lanes.max(1).ilog2() as usize;
        if bucket.n_launches_by_lanes.len() <= at {
            bucket.n_launches_by_lanes.resize(at + 1, 0);
        }
        bucket.n_launches_by_lanes[at] += 1;
        bucket.volume_real = bucket.volume_real.saturating_add(launch.volume_real);
        bucket.volume_launched = bucket.volume_launched.saturating_add(launch.volume_launched);
        bucket.bytes_max = bucket.bytes_max.max(launch.bytes);
        bucket.memory_ms += launch.memory_ms();
        bucket.load_ms += launch.load_ms();
        bucket.turn_ms += launch.turn_ms();
        bucket.solve_ms += launch.solve_ms();
        for (phase, spent) in operations {
            let known = bucket
                .operations
                .iter_mut()
                .find(|known| known.name == spent.name && known.phase == phase);
            match known {
                Some(known) => {
                    known.n_calls += spent.n_calls;
                    known.ms += ms(spent.took);
                }
                None => bucket.operations.push(OperationFigures {
                    name: spent.name.to_owned(),
                    phase,
                    n_calls: spent.n_calls,
                    ms: ms(spent.took),
                }),
            }
        }
        if self.n_launches.is_multiple_of(self.step()) {
            self.kept.push(launch);
        }
        self.n_launches += 1;
        if self.kept.len() > Report::N_LAUNCHES_KEPT {
            keep_every_second(&mut self.kept);
            self.step_log2 += 1;
        }
    }

    pub(crate) fn buckets(&mut self) -> Vec<BucketFigures> {
        std::mem::take(&mut self.buckets).into_values().collect()
    }
}
