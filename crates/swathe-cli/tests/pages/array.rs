//! The part of a report that is about `array`.
