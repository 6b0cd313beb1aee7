//! Grid programs in the ARC DSL, exact and fast.
//!
//! A *program* is a straight line of calls to 160 primitives (and a few more in `batt` files), from an input grid to an output. This crate
//! [parses](parse) files of programs, merges them into one [`Library`], [evaluates](evaluate) the library on grids,
//! and [scores](score) the outputs. Results are those of the Python reference, bit for bit: values, kinds of
//! containers, kinds of errors, and the order of sets, which programs can see.
//!
//! ```
//! use swathe_arc::{Evaluator, Library, Limits, Order, Task, parse, score};
//!
//! let parsed = parse("mine.py", "def solve_flip(I):\n    O = hmirror(I)\n    return O\n");
//! let library = Library::new(parsed.programs);
//! let task = r#"{"train": [{"input": [[1, 2], [3, 4]], "output": [[3, 4], [1, 2]]}], "test": []}"#;
//! let task = Task::from_json("flip", task)?;
//!
//! let mut evaluator = Evaluator::new(&library, Order::Cpython, Limits::default());
//! let sample = &task.train[0];
//! evaluator.run(&sample.input, |_program, result| {
//!     assert!(score(result.unwrap(), sample.output.as_ref().unwrap()).equal);
//! });
//! # Ok::<(), swathe_arc::TaskError>(())
//! ```
//!
//! How it is exact and fast: tuples that programs make by the million are inline, sets of places and cells are
//! packed, a set's order is a recipe that is followed only when somebody looks, and errors are values. Whatever
//! does not fit a fast form (ragged grids, None in a grid, huge coordinates) takes a general path that follows
//! the reference statement by statement.

mod around_kernel;
mod closure;
mod column;
mod columnwise;
mod copies;
mod distinct;
mod encode;
mod evaluate;
mod explain;
mod fault;
mod gathered;
mod grid;
mod grid_ops;
mod hash;
mod index_order;
mod kept_values;
mod labels;
mod layout;
mod library;
mod line_kernel;
mod members;
mod memo;
mod meter;
mod operator;
mod overlap_kernel;
mod packed;
mod parse;
mod planes;
mod primitive;
mod primitives;
mod profile;
mod program;
mod recall;
mod recipe;
mod rectangle_hash;
mod safe_default;
pub mod samples;
mod score;
mod set;
mod settled;
mod straight;
mod table;
mod task;
mod tuple;
mod value;
mod value_table;
mod workload;

pub use closure::{Closure, call};
pub use encode::{Output, encode};
pub use evaluate::{Evaluator, Inputs, evaluate};
pub use fault::Fault;
pub use grid::{Grid, KnownGrid};
pub use grid_ops::{GridAnswer, GridOp, GridOps, GridProblem, ObjectLabels};
pub use library::{Counts, Library};
pub use meter::{Limits, Order, set_order};
pub use parse::{ParseError, Parsed, Reason, parse};
pub use primitive::{PRIMITIVES, Primitive, primitive};
pub use profile::StatementTime;
pub use program::Program;
pub use score::{Score, score};
pub use set::Set;
pub use task::{SIDE_MAX, Sample, Task, TaskError, grid_from_value};
pub use tuple::Tuple;
pub use value::Value;
pub use workload::{Call, GridPrograms, Pairing, Problem, Stopped};
