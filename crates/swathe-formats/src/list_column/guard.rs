//! Turns panics of the Parquet decoder into errors.

use std::any::Any;

use super::ListColumnError;

/// Runs a decoding step and turns a panic, which a damaged file can cause, into an error. After an
/// error, the caller must not use the decoder again.
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
    ListColumnError::DecoderPanicked { message: message.into() }
}
