//! Errors of graphics processors.

use std::time::Duration;

/// Why a launch has no results.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GpuError {
    /// Memory was refused: fewer lanes may fit.
    #[error("{wanted_bytes} bytes wanted on the device, {free_bytes} free")]
    OutOfMemory {
        /// The bytes that were requested.
        wanted_bytes: u64,
        /// The bytes that were free, as far as known.
        free_bytes: u64,
    },
    /// More than the device can ever hold in one buffer or bind to one kernel.
    #[error("{wanted_bytes} bytes in one buffer, the device allows {limit_bytes}")]
    TooLarge {
        /// The bytes that were requested.
        wanted_bytes: u64,
        /// The device's limit.
        limit_bytes: u64,
    },
    /// The device or the kernel does not support this.
    #[error("not possible on this device: {what}")]
    Unsupported {
        /// What was requested.
        what: String,
    },
    /// The device was lost.
    #[error("the device was lost")]
    Lost,
    /// The device did not respond in time.
    #[error("no answer within {after:?}")]
    TimedOut {
        /// The time limit.
        after: Duration,
    },
    /// A kernel is invalid, or the driver reports an error.
    #[error("kernel {kernel}: {message}")]
    Kernel {
        /// The name of the kernel.
        kernel: &'static str,
        /// The message of the driver or the validator.
        message: String,
    },
    /// A stop was requested.
    #[error("stopped")]
    Stopped,
}
