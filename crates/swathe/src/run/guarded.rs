//! Guarded calls: code whose panic becomes an outcome or an error.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static N_GUARDS: Cell<u32> = const { Cell::new(0) };
}

/// Whether a panic on this thread would be caught and become an outcome or an error. For panic
/// hooks: such a panic is reported elsewhere and needs no message of its own.
///
/// ```
/// assert!(!swathe::is_guarded());
/// ```
pub fn is_guarded() -> bool {
    N_GUARDS.get() > 0
}

/// Calls a function and catches its panic. Meanwhile [`is_guarded`] is true on this thread.
///
/// ```
/// assert!(swathe::guarded(|| swathe::is_guarded()).unwrap());
/// ```
///
/// # Errors
/// If the function panicked; the error is the payload of the panic.
pub fn guarded<T>(call: impl FnOnce() -> T) -> Result<T, Box<dyn Any + Send>> {
    /// Decrements the count on return and on a panic.
    struct Guard;
    impl Drop for Guard {
        fn drop(&mut self) {
            N_GUARDS.set(N_GUARDS.get() - 1);
        }
    }
    catch_unwind(AssertUnwindSafe(|| {
        N_GUARDS.set(N_GUARDS.get() + 1);
        let _guard = Guard;
        call()
    }))
}

/// The message of a panic.
///
/// ```
/// let panic = swathe::guarded(|| panic!("no more")).unwrap_err();
/// assert_eq!(swathe::panic_message(panic), "no more");
/// ```
pub fn panic_message(panic: Box<dyn Any + Send>) -> String {
    match panic.downcast::<String>() {
        Ok(message) => *message,
        Err(panic) => match panic.downcast::<&'static str>() {
            Ok(message) => (*message).to_owned(),
            Err(_) => "something that is not text".to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_ends_its_guard() {
        assert_eq!(guarded(is_guarded).ok(), Some(true));
        let nested = guarded(|| guarded(|| panic!("on purpose")).is_err() && is_guarded());
        assert_eq!(nested.ok(), Some(true));
        assert!(!is_guarded());
    }
}
