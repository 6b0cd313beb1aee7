//! Grid programs in the ARC DSL, exact and fast.
//!
//! A *program* is a straight line of calls to primitives that turns an input grid into an output. This crate
//! [parses](parse) files of programs, merges them into one [`Library`], [evaluates](evaluate) the library on grids, and
//! [scores](score) the outputs. Programs are in one of three [dialects](Dialect), which one evaluator runs: 160 primitives
//! of arc-dsl, the same of re-arc but for three, and 292 of `batt`, whose cells and failures have other forms. Results are those of the Python
//! reference, bit for bit: values, kinds of containers, kinds of errors, and the order of sets, which programs can see.
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
//! How it is exact and fast: frequent kinds of tuples are stored inline, sets of places and cells are packed, the order
//! of a set is computed only when a program reads it, and errors are values. Values that fit no fast form (ragged grids,
//! None in a grid, huge coordinates) take a general path that follows the reference statement by statement.

mod batt;
mod columns;
mod evaluate;
mod generate;
mod grid_ops;
mod language;
mod primitives;
pub mod samples;
mod set;
mod set_order;
mod task;
mod task_json;
mod value;
mod workload;

pub use batt::{Batt, BattCalls, DifferCall, Rating, SampleKey, ToRun};
pub use evaluate::library::{Counts, Library};
pub use evaluate::meter::{Limits, Order, set_dialect, set_order};
pub use evaluate::profile::StatementTime;
pub use evaluate::score::{Score, score};
pub use evaluate::{Evaluator, Inputs, evaluate};
pub use generate::augment::{Augmentation, augmented};
pub use generate::combine::combined;
pub use generate::harvest::Harvest;
pub use generate::mutate::mutants;
pub use grid_ops::{GridAnswer, GridOp, GridOps, GridProblem, ObjectLabels};
pub use language::dialect::Dialect;
pub use language::parse::{Excerpt, ParseError, Parsed, Reason, parse, parse_in};
pub use language::primitive::{PRIMITIVES, Primitive, primitive, primitive_in};
pub use language::program::{BattRow, Program, RowList};
pub use language::source_text::programs_text;
pub use set::Set;
pub use set_order::set_table::SetTable;
pub use task::{SIDE_MAX, Sample, Task, TaskError, grid_from_value};
pub use task_json::TaskJson;
pub use value::Value;
pub use value::closure::{Closure, call, call_within};
pub use value::encode::{Output, encode};
pub use value::fault::Fault;
pub use value::grid::{Grid, KnownGrid};
pub use value::integer::BigInteger;
pub use value::packed::ElementKind;
pub use value::tuple::Tuple;
pub use workload::{Call, GridPrograms, KeptValues, Pairing, Problem, Stopped};
