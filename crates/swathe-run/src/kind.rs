//! Kinds of runs: what a workload adds to a run folder and to its report page.

use std::path::Path;

use serde_json::Value;
use swathe::Shape;

use crate::store::record::TableReference;
use crate::store::run_folder::FolderError;

/// What a workload adds to its runs, as plain data. A run folder of an unregistered kind can still
/// be merged, reported and watched; its page then has only the sections that all runs have.
///
/// ```
/// use swathe_run::kind::{RunKind, find};
/// static PRIMES: RunKind = RunKind { title: "Primes", ..RunKind::plain("primes") };
/// assert_eq!(find(&[&PRIMES], "primes").unwrap().title, "Primes");
/// assert!(find(&[&PRIMES], "words").is_none());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct RunKind {
    /// The workload's name, as `run.json` has it.
    pub name: &'static str,
    /// What the workload calculates, for a reader who does not know the name.
    pub title: &'static str,
    /// Scripts that draw the workload's section of a page. They set `swathe.pages.<name>` to a
    /// function that turns the value returned by [`page`](RunKind::page) into an element.
    pub scripts: &'static [&'static str],
    /// The CSS of that section.
    pub style: &'static str,
    /// The tables of the workload's runs, for the reference of columns.
    pub tables: fn() -> Vec<TableReference>,
    /// What the run achieved, in the words of the workload; none if counting the problems says it.
    pub headline: fn(&Path) -> Result<Option<String>, FolderError>,
    /// The answered problems that are not counted as solved, from the table of a finished run; none
    /// if an answer is always a solution.
    pub apart: fn(&Path) -> Result<Option<Apart>, FolderError>,
    /// The data of the section, read from the files of the run folder; null if there is no section.
    pub page: fn(&Path) -> Result<Value, FolderError>,
    /// The shapes of the solved problems in row order, empty if the table does not hold them.
    /// Advice on padding is computed from these shapes.
    pub shapes: fn(&Path) -> Result<Vec<Shape>, FolderError>,
    /// A step to run once the tables are written. Returns lines for the user.
    pub after_tables: fn(&Path, Extent) -> Result<Vec<String>, FolderError>,
    /// The result of replaying one problem, in lines for the user.
    pub replayed: fn(&Path) -> Result<Vec<String>, FolderError>,
    /// Turns a problem's id in the tables into the id that `--only` takes; usually the same.
    pub input_id: fn(&str) -> &str,
}

/// Problems that have an answer although there was nothing to solve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Apart {
    /// How many there are.
    pub n: u64,
    /// What they are, after their number: `without mass`.
    pub what: &'static str,
}

/// Which part of the input the tables of a folder hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// The whole input, from one run.
    Whole,
    /// One shard.
    Shard,
    /// The whole input, merged from shards.
    Merged,
}

impl RunKind {
    /// A kind with no page section and nothing to do after the tables.
    pub const fn plain(name: &'static str) -> RunKind {
        RunKind {
            name,
            title: name,
            scripts: &[],
            style: "",
            tables: Vec::new,
            headline: |_| Ok(None),
            apart: |_| Ok(None),
            page: |_| Ok(Value::Null),
            shapes: |_| Ok(Vec::new()),
            after_tables: |_, _| Ok(Vec::new()),
            replayed: |_| Ok(Vec::new()),
            input_id: |id| id,
        }
    }
}

/// The kind of this name, if it is among these.
pub fn find<'a>(kinds: &[&'a RunKind], name: &str) -> Option<&'a RunKind> {
    kinds.iter().copied().find(|kind| kind.name == name)
}
