//! Kinds of runs: what a workload adds to a run folder and to its page.

use std::path::Path;

use serde_json::Value;
use swathe::Shape;

use crate::store::run_folder::FolderError;

/// What a workload adds to its runs, as plain data. A run folder of a kind that is not registered
/// still merges, reports and can be watched, with the sections that all runs have.
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
    /// What is calculated, for a reader who does not know the name.
    pub title: &'static str,
    /// Scripts that draw the workload's section of a page: they set `swathe.pages.<name>`, a
    /// function from what [`page`](RunKind::page) returns to an element.
    pub scripts: &'static [&'static str],
    /// The style of that section.
    pub style: &'static str,
    /// What the section shows, read from the files of the run folder; null if it has none.
    pub page: fn(&Path) -> Result<Value, FolderError>,
    /// The shapes of the solved problems, in the order of their rows, where the table tells: advice on
    /// padding is made of them.
    pub shapes: fn(&Path) -> Result<Vec<Shape>, FolderError>,
    /// What is to be done when the tables are there. Lines for the user are returned.
    pub after_tables: fn(&Path, Extent) -> Result<Vec<String>, FolderError>,
    /// What a run of one problem that was replayed has to say, in lines.
    pub replayed: fn(&Path) -> Result<Vec<String>, FolderError>,
    /// What `--only` calls a problem with this id: usually the same.
    pub input_id: fn(&str) -> &str,
}

/// Which part of the input the tables of a folder hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// All of it, from one run.
    Whole,
    /// One shard.
    Shard,
    /// All of it, put together from shards.
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
