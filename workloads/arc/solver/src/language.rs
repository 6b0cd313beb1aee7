//! The language: the parser of programs, and the names and kinds of primitives.

pub(crate) mod cone;
pub(crate) mod dialect;
pub(crate) mod explain;
pub(crate) mod parse;
pub(crate) mod primitive;
mod primitive_table;
pub(crate) mod program;
pub(crate) mod python_frames;
pub(crate) mod result_type;
pub(crate) mod safe_default;
pub(crate) mod source_text;
