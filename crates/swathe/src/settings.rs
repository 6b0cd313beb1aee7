//! Settings: how a run is executed.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::device::Cpu;
use crate::memory::Budget;
use crate::report::Event;
use crate::{Costs, Device, Padding, Placement, Stop};

/// How a run is executed. No setting changes an answer, except that answers of different devices
/// may differ in their last bits.
///
/// ```
/// use std::time::Duration;
/// use swathe::Settings;
/// let settings = Settings { n_threads: 2, time_limit: Duration::from_secs(10), ..Settings::default() };
/// ```
#[derive(Clone, Debug)]
pub struct Settings {
    /// Problems solved at the same time on the CPU.
    pub n_threads: usize,
    /// Batches loaded ahead of those being solved.
    pub n_prefetch: usize,
    /// Problems in a batch.
    pub batch_size: BatchSize,
    /// The maximum number of problems in a batch, chosen or fixed.
    pub batch_size_max: usize,
    /// How shapes are padded for launches that need equal shapes.
    pub padding: Padding,
    /// Devices for launches, besides the CPU's own threads.
    pub devices: Vec<Device>,
    /// Whether the CPU takes problems that devices can launch.
    pub routing: Routing,
    /// Where to solve problems whose answers may differ between devices in the last bits. Without
    /// it, the first free device takes them.
    pub placement: Option<Placement>,
    /// The memory that may be used. Injected faults come with it.
    pub memory: Budget,
    /// The time limit for loading a problem, and again for solving it.
    pub time_limit: Duration,
    /// How long the run waits for a solver that does not poll, after its time limit has passed.
    pub grace: Duration,
    /// The maximum number of solvers that keep running after a stop. One more ends the run, because
    /// stuck solvers take processor time from healthy ones.
    pub n_stuck_max: usize,
    /// How many outcomes, chosen by the seed, are solved again and compared.
    pub n_verify: usize,
    /// The seed of every choice the engine makes.
    pub seed: u64,
    /// Costs learnt in earlier runs.
    pub costs: Costs,
    /// Cancels the run from outside.
    pub stop: Stop,
    /// Receives the events of the run.
    pub observer: Option<Observer>,
}

impl Default for Settings {
    fn default() -> Settings {
        let cpu = Cpu::detect();
        Settings {
            n_threads: cpu.n_threads,
            n_prefetch: cpu.n_threads,
            batch_size: BatchSize::Auto,
            batch_size_max: 4096,
            padding: Padding::default(),
            devices: Vec::new(),
            routing: Routing::Measured,
            placement: None,
            memory: Budget::new(cpu.memory_default_bytes()),
            time_limit: Duration::from_secs(300),
            grace: Duration::from_millis(500),
            n_stuck_max: (4 * cpu.n_threads).max(8),
            n_verify: 0,
            seed: 0,
            costs: Costs::default(),
            stop: Stop::new(),
            observer: None,
        }
    }
}

/// Whether the CPU takes problems that devices can launch. A [`Placement`] decides it for sizes whose
/// answers depend on the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Routing {
    /// Idle workers of the CPU and of the devices take them.
    #[default]
    Measured,
    /// Devices for launches, as long as one of them can solve the problem.
    Launch,
}

/// How many problems a batch has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BatchSize {
    /// As many as fit in memory and take a few milliseconds, by measurement.
    #[default]
    Auto,
    /// Always so many, if memory permits.
    Fixed(usize),
}

/// Receives the events of a run, on the thread that called [`run`](crate::run).
#[derive(Clone)]
pub struct Observer(Arc<dyn Fn(&Event) + Send + Sync>);

impl Observer {
    /// Calls this function with every event.
    pub fn new(tell: impl Fn(&Event) + Send + Sync + 'static) -> Observer {
        Observer(Arc::new(tell))
    }

    /// Passes an event to the observer. For observers that forward events to others.
    pub fn tell(&self, event: &Event) {
        (self.0)(event);
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Observer")
    }
}
