//! The language: programs are read, primitives have names and kinds.

pub(crate) mod explain;
pub(crate) mod parse;
pub(crate) mod primitive;
pub(crate) mod program;
pub(crate) mod safe_default;
