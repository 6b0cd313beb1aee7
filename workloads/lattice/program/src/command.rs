//! `swathe lattice`: answers questions about grid graphs, one from flags or many from a table.

mod deferred_signals;
mod print;
mod scratch;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crate::PROGRAM;
use crate::lattice_queries::{LatticeQueries, ParsedQuery, QueryKind, parse_sizes, parse_vertices};
use crate::lattice_table::LatticeRows;
use serde_json::{Value, json};
use swathe::AsSolved;
use swathe_formats::regular_file;
use swathe_lattice::{
    Lattice, LatticeDescription, LatticeError, LatticeWorkload, Operation, QueryError,
};
use swathe_run::store::run_folder::InputFile;

use crate::flags::{LatticeFlags, LatticeVerb, QuestionFlags};
use swathe_command::cli_error::{CliError, Code};
use swathe_command::interrupt;
use swathe_command::run_command::{Provenance, reserve_index, run_command};
use swathe_command::settings::resolve;
use swathe_command::warning;

pub(crate) fn lattice(flags: &LatticeFlags) -> Result<Code, CliError> {
    let question = Question::of(&flags.verb);
    let shared = question.shared;
    let out = shared.out.as_deref().unwrap_or(Path::new(""));
    let run = resolve(&shared.run, out, &PROGRAM)?;
    if shared.out.is_none() && (run.output.resume || run.output.shard.is_some()) {
        return Err(CliError::usage("--resume and --shard need a run folder")
            .hint("say where with --out DIR"));
    }
    if let LatticeVerb::Path(path) = &flags.verb
        && let Some(file) = &path.scratch
    {
        let asked = question.asked()?;
        return scratch::path_in(file, &asked, path.length_max, shared.json, &run);
    }
    let mut queries = match &shared.queries {
        Some(path) => interrupt::while_reading(|| question.read(path))?,
        None => LatticeQueries::one(question.kind, "0", question.asked()?),
    };
    if let Some(chosen) = run.selection.choose("question", queries.ids().iter())? {
        queries.keep(&chosen);
    }
    let what = format!("the names and sizes of {} questions", queries.n_queries());
    let _index = reserve_index(&run.engine.memory, &what, queries.size_bytes())?;
    if shared.out.is_none() && !run.explain {
        let is_table = shared.queries.is_some();
        return print::answers(&queries, run, is_table, shared.json);
    }
    let provenance = question.provenance()?;
    let finish = Arc::new(AsSolved(Arc::new(LatticeWorkload)));
    let source = queries.source();
    let rows = LatticeRows::new(queries);
    let nothing = Box::new(|_| Ok(()));
    run_command(&finish, &source, run, provenance, rows, nothing)
}

/// The question that the flags express, in the same form for all subcommands.
struct Question<'a> {
    kind: QueryKind,
    from: Option<&'a str>,
    to: Option<&'a str>,
    shared: &'a QuestionFlags,
}

impl<'a> Question<'a> {
    fn of(verb: &'a LatticeVerb) -> Question<'a> {
        match verb {
            LatticeVerb::Analyze(flags) => {
                Question { kind: QueryKind::Analyze, from: None, to: None, shared: &flags.question }
            }
            LatticeVerb::Path(flags) => Question {
                kind: QueryKind::Path,
                from: flags.from.as_deref(),
                to: flags.to.as_deref(),
                shared: &flags.question,
            },
            LatticeVerb::Layers(flags) => Question {
                kind: QueryKind::Layers { with_distances: flags.distances },
                from: flags.from.as_deref(),
                to: None,
                shared: &flags.question,
            },
        }
    }

    /// The name of the subcommand.
    fn verb(&self) -> &'static str {
        match self.kind {
            QueryKind::Analyze => "analyze",
            QueryKind::Path => "path",
            QueryKind::Layers { .. } => "layers",
        }
    }

    /// Reads the table, and warns about columns that may be mistyped.
    fn read(&self, path: &Path) -> Result<LatticeQueries, CliError> {
        let queries = LatticeQueries::read(path, self.kind).map_err(|error| {
            CliError::usage(format!("{}: {error}", path.display())).hint(format!(
                "`swathe lattice {} --help` shows the columns of a table",
                self.verb()
            ))
        })?;
        const N_NAMED_MAX: usize = 5;
        let unused = queries.columns_unused();
        for column in unused.iter().take(N_NAMED_MAX) {
            warning!("{}: the column {column:?} is not used", path.display());
        }
        if unused.len() > N_NAMED_MAX {
            let n_more = unused.len() - N_NAMED_MAX;
            warning!("{}: and {n_more} more columns are not used", path.display());
        }
        Ok(queries)
    }

    /// The single question that the flags express. Every mistake in it is reported before the
    /// search starts.
    fn asked(&self) -> Result<ParsedQuery, CliError> {
        let fault = |error: QueryError| {
            CliError::usage(error.to_string())
                .hint(format!("`swathe lattice {} --help` shows what can be asked", self.verb()))
        };
        let sizes = parse_sizes(self.shared.size.as_deref().unwrap_or("")).map_err(fault)?;
        let blocked = match &self.shared.blocked_file {
            None => parse_vertices(&self.shared.blocked.join(" "), &sizes).map_err(fault)?,
            Some(path) => {
                let vertices =
                    regular_file::read_to_string(path).map_err(|error| unreadable(path, &error))?;
                parse_vertices(&vertices, &sizes).map_err(|error| {
                    CliError::usage(format!("{}: {error}", path.display()))
                        .hint("write ids, or coordinates such as 0,0,9, separated by spaces or line breaks")
                })?
            }
        };
        let described = LatticeDescription::new(&sizes, blocked);
        let lattice = described.map_err(|error| fault(error.into()))?;
        let (from, to) = (self.from.unwrap_or(""), self.to.unwrap_or(""));
        let asked = ParsedQuery::parse(self.kind, Arc::new(lattice), from, to).map_err(fault)?;
        check_ends(&asked).map_err(fault)?;
        Ok(asked)
    }

    /// The settings on which the answers of a run depend.
    fn provenance(&self) -> Result<Provenance, CliError> {
        let mut settings: BTreeMap<String, Value> = BTreeMap::new();
        let mut set = |name: &str, value: Value| settings.insert(name.to_owned(), value);
        set("op", json!(self.verb()));
        if let QueryKind::Layers { with_distances } = self.kind {
            set("distances", json!(with_distances));
        }
        let blocked = Some(self.shared.blocked.join(" ")).filter(|text| !text.is_empty());
        let texts = [
            ("size", self.shared.size.as_deref()),
            ("blocked", blocked.as_deref()),
            ("from", self.from),
            ("to", self.to),
        ];
        for (name, text) in texts {
            if let Some(text) = text {
                let number = text.parse::<u64>().ok();
                set(name, number.map_or(json!(text), |number| json!(number)));
            }
        }
        let files = [&self.shared.queries, &self.shared.blocked_file];
        let inputs = files
            .into_iter()
            .flatten()
            .map(|path| InputFile::of(path).map_err(|error| unreadable(path, &error)));
        Ok(Provenance { settings, inputs: inputs.collect::<Result<_, _>>()? })
    }
}

fn unreadable(path: &Path, error: &std::io::Error) -> CliError {
    CliError::usage(format!("cannot read {}: {error}", path.display()))
        .hint("check that it exists and may be read")
}

/// Fails unless the end vertices are in the lattice and free.
fn check_ends(asked: &ParsedQuery) -> Result<(), QueryError> {
    let ends = match asked.operation {
        Operation::Analyze => vec![],
        Operation::Path { from, to } => vec![from, to],
        Operation::Layers { from, .. } => vec![from],
    };
    let open = Lattice::new(asked.lattice.sizes())?;
    for vertex in ends {
        open.coordinates_of(vertex)?;
        if asked.lattice.is_blocked(vertex) {
            return Err(LatticeError::Blocked { vertex }.into());
        }
    }
    Ok(())
}
