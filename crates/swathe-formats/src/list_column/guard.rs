//! Panics of the Parquet decoder, turned into errors.

use std::any::Any;

use super::ListColumnError;

/// Damaged files can bring the decoder to panic: that becomes an error of the file. Whatever
/// `run` was at work on must not be used after an error.
pub(super) fn guarded<T>(
    run: impl FnOnce() -> Result<T, ListColumnError>,
) -> Result<T, ListColumnError> {
    swathe::guarded(run).unwrap_or_else(|payload| Err(panicked(payload.as_ref())))
}

fn panicked(payload: &(dyn Any + Send)) -> ListColumnError {
    let message = payload
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| payload.downcast_ref::<&str>().copied())
        .unwrap_or("no message");
    ListColumnError::DecoderPanicked {
        message: message.into(),
    }
}
