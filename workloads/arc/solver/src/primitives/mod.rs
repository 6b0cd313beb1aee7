//! The primitives, one function each, in files by subject.
//!
//! The general path of a primitive follows the Python reference statement by statement, so that ragged grids, unusual
//! elements and errors give the same results. Common forms take a fast path before it.
//!
//! # To add a primitive
//!
//! 1. Write its function here, in the file of its subject (in `batt` if only that dialect has it), unless one that is
//!    there does it with other arguments.
//! 2. Add its row at the end of the [table](crate::language::primitive::PRIMITIVES). Parser, evaluator, column kernels,
//!    mutants and texts of programs read all that they know of it from the row.
//! 3. Record calls of the Python reference: `tests/golden/<name>.json` for arc-dsl, `tests/golden-batt` and
//!    `tests/golden-rearc` for what differs in the other dialects. A file is a list of cases
//!    `{"fn": name, "args": [...], "out": value}` or `"error": exception`, made by calling the function of the reference
//!    under CPython 3.11 on inputs of all kinds, wrong ones included; the `README.md` in the folder has the encoding,
//!    the version of the reference and the number of cases. `tests/golden.rs` replays the files in both orders of sets,
//!    counts their cases, and requires a file for each primitive.
//! 4. Use it in a program of `samples/programs.py` or `samples/batt.py`. `tests/samples.rs` requires that of arc-dsl's
//!    primitives, and compares the outcomes with those of the reference in `tests/samples.txt`.
//! 5. With a Python implementation at hand, `cargo xtask soak random_programs_give` compares random programs with it.

pub(crate) mod batt;
pub(crate) mod collection;
pub(crate) mod color;
pub(crate) mod cut;
pub(crate) mod extent;
pub(crate) mod function;
pub(crate) mod line;
pub(crate) mod mapping;
pub(crate) mod mirror;
pub(crate) mod number;
pub(crate) mod object;
pub(crate) mod paint;
pub(crate) mod patch;
pub(crate) mod scale;
pub(crate) mod sorting;
