//! Settings: how a run should go about its work.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::device::Cpu;
use crate::memory::Budget;
use crate::report::Event;
use crate::{Costs, Device, Padding, Placement, Stop};

/// How a run should go about its work. None of it changes an answer, except that answers of
/// different devices may differ in their last bits.
///
/// ```
/// use std::time::Duration;
/// use swathe::Settings;
/// let settings = Settings { n_threads: 2, time_limit: Duration::from_secs(10), ..Settings::default() };
/// ```
#[derive(Clone, Debug)]
pub struct Settings {
    /// Problems solved at once on the CPU.
    pub n_threads: usize,
    /// Batches loaded ahead of those being solved.
    pub n_prefetch: usize,
    /// Problems in a batch.
    pub batch_size: BatchSize,
    /// Problems in a batch at most, chosen or fixed.
    pub batch_size_max: usize,
    /// How shapes are padded for launches that need equal ones.
    pub padding: Padding,
    /// Devices for launches, beside the CPU's own threads.
    pub devices: Vec<Device>,
    /// Who takes what several devices could.
    pub routing: Routing,
    /// Fixes where problems are solved whose answers may differ between devices in the last bits;
    /// without it the first free device takes them.
    pub placement: Option<Placement>,
    /// The memory that may be used. Faults on purpose are given with it.
    pub memory: Budget,
    /// The time a problem may take to load, and again to be solved.
    pub time_limit: Duration,
    /// How long after its time is over a solver that does not poll is waited for.
    pub grace: Duration,
    /// Solvers that run on after they were told to stop, at most: one more ends the run, because
    /// they take the processor from those that are well.
    pub n_stuck_max: usize,
    /// So many outcomes, chosen by the seed, are solved again and compared.
    pub n_verify: usize,
    /// The seed of every choice the engine makes.
    pub seed: u64,
    /// Costs that were learnt before.
    pub costs: Costs,
    /// Cancels the run from outside.
    pub stop: Stop,
    /// Is told what happens while it happens.
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

/// Who takes what several devices could.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Routing {
    /// Whichever was measured to be best at it.
    #[default]
    Measured,
    /// Devices for launches, as long as there is one that can.
    Launch,
}

/// How many problems a batch has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BatchSize {
    /// What fits in memory and takes a few milliseconds, by measurement.
    #[default]
    Auto,
    /// Always so many, memory permitting.
    Fixed(usize),
}

/// Is told what happens while a run goes on, on the thread that called [`run`](crate::run).
#[derive(Clone)]
pub struct Observer(Arc<dyn Fn(&Event) + Send + Sync>);

impl Observer {
    /// Calls this function with every event.
    pub fn new(tell: impl Fn(&Event) + Send + Sync + 'static) -> Observer {
        Observer(Arc::new(tell))
    }

    /// Tells it of an event: for observers that pass events on to others.
    pub fn tell(&self, event: &Event) {
        (self.0)(event);
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Observer")
    }
}
