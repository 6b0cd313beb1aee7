//! Turns: how many launches could have been solved at once, and how well that capacity was used.

use swathe::{Cpu, DeviceId, DeviceUse, Report};

/// Figures summed over all devices that solved at least one problem.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Turns {
    /// Launches that can be solved at once: one for each CPU thread and each GPU.
    pub n_turns: usize,
    /// Workers of these devices. There are more workers than turns; those without a turn prefetch.
    pub n_workers: usize,
    /// CPU workers beyond the number of threads.
    pub n_prefetch: usize,
    /// The number of turns times the run's wall time.
    pub capacity_ms: f64,
    /// Time spent solving.
    pub solve_ms: f64,
    /// Time workers waited for memory.
    pub memory_ms: f64,
    /// Time spent loading.
    pub load_ms: f64,
    /// Time workers waited for a turn. It costs nothing: their batches are prefetched.
    pub turn_ms: f64,
    /// Time spent delivering outcomes.
    pub deliver_ms: f64,
    /// Time without a problem to take.
    pub idle_ms: f64,
}

impl Turns {
    /// The turns of a run.
    pub fn of(report: &Report) -> Turns {
        let mut turns = Turns::default();
        let mut devices: Vec<DeviceId> = report
            .workers
            .iter()
            .filter(|worker| worker.solve_ms > 0.0)
            .map(|worker| worker.device)
            .collect();
        devices.sort_unstable();
        devices.dedup();
        for device in devices {
            let workers = || report.workers.iter().filter(|worker| worker.device == device);
            let n_workers = workers().count();
            turns.n_workers += n_workers;
            turns.n_turns += match device {
                DeviceId::Cpu => {
                    let n_threads = n_threads(report);
                    turns.n_prefetch = n_workers.saturating_sub(n_threads);
                    // A run with fewer problems than threads has fewer workers.
                    n_threads.min(n_workers)
                }
                DeviceId::Gpu(_) | DeviceId::Host(_) => 1,
            };
            for worker in workers() {
                turns.solve_ms += worker.solve_ms;
                turns.memory_ms += worker.memory_ms;
                turns.load_ms += worker.load_ms;
                turns.turn_ms += worker.turn_ms;
                turns.deliver_ms += worker.deliver_ms;
                turns.idle_ms += worker.idle_ms;
            }
        }
        turns.capacity_ms = turns.n_turns as f64 * report.wall_ms;
        turns
    }

    /// The share of the capacity that was spent on solving, 0 to 1.
    pub fn busy(&self) -> f64 {
        match self.capacity_ms > 0.0 {
            true => (self.solve_ms / self.capacity_ms).min(1.0),
            false => 0.0,
        }
    }

    /// The time in which turns had nothing to solve.
    pub(super) fn lost_ms(&self) -> f64 {
        (self.capacity_ms - self.solve_ms).max(0.0)
    }
}

/// Problems that the CPU solves at once.
pub(super) fn n_threads(report: &Report) -> usize {
    cpu(report).map_or(1, |cpu| cpu.n_threads)
}

/// The CPU, if the run used it.
pub(crate) fn cpu(report: &Report) -> Option<&Cpu> {
    report.devices.iter().find_map(DeviceUse::cpu)
}
