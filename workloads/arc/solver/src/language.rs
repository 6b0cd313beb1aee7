//! The language: the parser of programs, and the names and kinds of primitives.

pub(crate) mod explain;
pub(crate) mod parse;
pub(crate) mod primitive;
pub(crate) mod program;
pub(crate) mod safe_default;
