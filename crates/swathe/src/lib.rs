//! swathe solves thousands of small problems of different shapes in one sweep.
//!
//! The engine plans batches of a [`Workload`]'s problems that fit in memory, loads them ahead of
//! time and solves them on every core. It survives panics, endless loops, refused memory and lost
//! workers. It delivers every outcome under its problem's number, together with the measured
//! figures of the run.
//!
//! The engine reads no files, prints nothing and knows no workload.
//!
//! # Example
//! ```
//! use std::ops::ControlFlow;
//! use std::sync::Arc;
//! use swathe::{DeviceKind, Need, Settings, Shape, Size, Source, Stop, Workload};
//!
//! /// Counts the primes below a number.
//! struct Primes;
//!
//! #[derive(Debug, thiserror::Error)]
//! #[error("{0} is too many")]
//! struct TooMany(u32);
//!
//! impl Workload for Primes {
//!     type Problem = u32;
//!     type Solution = usize;
//!     type Failure = TooMany;
//!     type Scratch = Vec<bool>;
//!     type Local = ();
//!     const NAME: &'static str = "primes";
//!
//!     fn size(&self, n: &u32) -> Size {
//!         Size::of(Shape::new(&[*n]))
//!     }
//!     fn need(&self, size: &Size, _: DeviceKind) -> Need {
//!         Need { lane_bytes: 4, scratch_bytes: size.shape.volume(), solution_bytes: 8 }
//!     }
//!     fn scratch(&self) -> Vec<bool> {
//!         Vec::new()
//!     }
//!     fn local(&self) {}
//!     fn solve(
//!         &self,
//!         &n: &u32,
//!         composite: &mut Vec<bool>,
//!         _: &mut (),
//!         stop: &Stop,
//!     ) -> Result<usize, TooMany> {
//!         if n > 1_000_000 {
//!             return Err(TooMany(n));
//!         }
//!         composite.clear();
//!         composite.resize(n as usize, false);
//!         let mut n_primes = 0;
//!         for k in 2..n as usize {
//!             if stop.requested() {
//!                 return Err(TooMany(n));
//!             }
//!             if !composite[k] {
//!                 n_primes += 1;
//!                 (k * k..n as usize).step_by(k).for_each(|multiple| composite[multiple] = true);
//!             }
//!         }
//!         Ok(n_primes)
//!     }
//! }
//!
//! let primes = Arc::new(Primes);
//! let source = Source::from_vec(&primes, vec![10, 100, 2_000_000, 1000]);
//! let mut answers = vec![None; 4];
//! let report = swathe::run(&primes, &source, &Settings::default(), &mut |done| {
//!     answers[done.index] = done.outcome.solution().copied();
//!     ControlFlow::Continue(())
//! });
//! assert_eq!(answers, [Some(4), Some(25), None, Some(168)]);
//! assert_eq!((report.counts.n_solved, report.counts.n_failed), (3, 1));
//! ```

pub mod array;
mod bucket;
mod coordinator;
mod cost;
mod device;
mod driver;
mod fault;
mod finish;
mod gpu;
mod joined_report;
mod memory;
mod operation;
mod outcome;
mod placement;
mod plan;
mod pool;
mod report;
mod resident;
mod run;
pub mod seed;
mod settings;
mod shape;
mod simd;
mod slice;
mod source;
mod spawn;
mod stop;
mod workload;

pub use bucket::{Bucket, Padding, bucket, waste};
pub use cost::{CostRow, Costs};
pub use device::{Cpu, Device, DeviceId, DeviceParseError, DeviceUse, GpuUse, Host, HostUse};
pub use fault::{Fault, FaultParseError, FaultPoint, Faults};
pub use finish::{AsSolved, Finish};
pub use gpu::{
    Access, Gpu, GpuBuffer, GpuError, GpuFigures, GpuInfo, GpuSearch, Gpus, Kernel, Recording,
    Refused, RefusedReason,
};
pub use memory::{Budget, OutOfMemory, ReclaimerGuard, Reservation, ReserveError};
pub use operation::{record_time, timed};
pub use outcome::{Outcome, OutcomeKind, Unsolved};
pub use placement::{PlacedOn, Placement, PlacementRow};
pub use plan::{Batch, GpuLane, GpuLimits, Limits, Plan, Planned, plan};
pub use pool::{Pool, PoolFigures, Pooled};
pub use report::{
    BucketFigures, Counts, EndCause, Event, Launch, MemoryFigures, Mismatch, OperationFigures,
    Phase, Remedy, Report, Route, RouteDevice, Sample, Setback, SetbackCause, Verification,
    WorkerFigures, WorkerNow,
};
pub use run::{
    Delivery, Done, Samples, explain, guarded, is_guarded, panic_message, run, run_finishing,
};
pub use settings::{BatchSize, Observer, Routing, Settings};
pub use shape::{Shape, ShapeParseError};
pub use simd::{Simd, SimdPath, SimdUnavailable};
pub use slice::solve_slice;
pub use source::Source;
pub use spawn::{Run, spawn};
pub use stop::Stop;
pub use workload::{DeviceKind, Difference, Lane, Need, OwnedWorkload, Size, Workload};
