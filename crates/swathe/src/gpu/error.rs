//! What can go wrong on a graphics processor.

use std::time::Duration;

/// Why a launch has no results.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GpuError {
    /// Memory was refused: fewer lanes may fit.
    #[error("{wanted_bytes} bytes wanted on the device, {free_bytes} free")]
    OutOfMemory {
        /// What was asked for.
        wanted_bytes: u64,
        /// What was there, as far as it is known.
        free_bytes: u64,
    },
    /// More than the device can ever hold in one buffer or show to one kernel.
    #[error("{wanted_bytes} bytes in one buffer, the device allows {limit_bytes}")]
    TooLarge {
        /// What was asked for.
        wanted_bytes: u64,
        /// The device's limit.
        limit_bytes: u64,
    },
    /// The device or the kernel cannot do this.
    #[error("not possible on this device: {what}")]
    Unsupported {
        /// What was wanted.
        what: String,
    },
    /// The device is gone.
    #[error("the device was lost")]
    Lost,
    /// It did not answer in time.
    #[error("no answer within {after:?}")]
    TimedOut {
        /// The limit.
        after: Duration,
    },
    /// A kernel is wrong, or the driver says so.
    #[error("kernel {kernel}: {message}")]
    Kernel {
        /// Its name.
        kernel: &'static str,
        /// What the driver or the validator said.
        message: String,
    },
    /// The results are no longer wanted.
    #[error("stopped")]
    Stopped,
}
