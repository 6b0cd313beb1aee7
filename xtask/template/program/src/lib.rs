//! The command `swathe sample`: sums the numbers of each line of a text file.

use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::SchemaRef;
use clap::{Args, FromArgMatches as _};
use swathe::{AsSolved, Source};
use swathe_command::cli_error::{CliError, Code};
use swathe_command::program::Program;
use swathe_command::run_command::{Provenance, run_command};
use swathe_command::run_flags::RunFlags;
use swathe_command::settings::resolve;
use swathe_run::kind::RunKind;
use swathe_run::record;
use swathe_run::store::record::{Cells as _, Record as _, TableReference};
use swathe_run::store::rows::Rows;
use swathe_run::store::run_folder::InputFile;
use swathe_sample::{Sample, size};

/// What the workload adds to its runs.
pub static KIND: RunKind = RunKind {
    title: "Sums",
    tables: || {
        let columns = SumRow::declared().iter().cloned();
        vec![TableReference::of_results(TABLE, "a row for each line", columns)]
    },
    ..RunKind::plain("sample")
};

/// The command that `swathe` registers.
pub static PROGRAM: Program = Program::plain(
    &KIND,
    || Flags::augment_args(clap::Command::new("sample")).about("Sum the numbers of each line"),
    |matches| sample(&Flags::from_arg_matches(matches).unwrap_or_else(|error| error.exit())),
);

#[derive(Args)]
struct Flags {
    /// A text file with numbers on each line
    #[arg(value_name = "FILE")]
    input: PathBuf,
    /// A folder for the run
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    #[command(flatten)]
    run: RunFlags,
}

fn sample(flags: &Flags) -> Result<Code, CliError> {
    let run = resolve(&flags.run, &flags.out, &PROGRAM)?;
    let path = flags.input.display();
    let unusable = |error| CliError::usage(format!("cannot read {path}: {error}"));
    let inputs = vec![InputFile::of(&flags.input).map_err(unusable)?];
    let text = std::fs::read_to_string(&flags.input).map_err(unusable)?;
    let mut lists: Vec<Vec<f64>> = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        let numbers = line.split_whitespace().map(str::parse::<f64>);
        lists.push(numbers.collect::<Result<_, _>>().map_err(|error| {
            CliError::usage(format!("{path}:{number}: {error}"))
                .hint("write numbers with spaces between them")
        })?);
    }
    let lengths: Vec<usize> = lists.iter().map(Vec::len).collect();
    let source = Source::new(
        lists.len(),
        move |index| Ok(size(lengths[index])),
        move |index, _| Ok(lists[index].clone()),
    );
    let provenance = Provenance {
        settings: [].into(),
        inputs,
    };
    let finish = Arc::new(AsSolved(Arc::new(Sample)));
    let rows = SumRows { columns: SumRow::builder(), n_rows: 0 };
    let nothing_more = Box::new(|_| Ok(()));
    run_command(&finish, &source, run, provenance, rows, nothing_more)
}

/// The table's name.
const TABLE: &str = "sums";

record! {
    /// The sum of a line.
    struct SumRow / SumColumns {
        /// the line's number, from 1
        line: u64;
        /// the sum of its numbers
        sum: f64;
    }
}

/// The table of results: a row for each line.
struct SumRows {
    columns: SumColumns,
    n_rows: usize,
}

impl Rows for SumRows {
    type Solution = f64;

    fn table(&self) -> &'static str {
        TABLE
    }

    fn schema(&self) -> SchemaRef {
        SumRow::schema()
    }

    fn id(&self, index: usize) -> String {
        format!("line {}", index + 1)
    }

    fn append(&mut self, index: usize, sum: &f64) -> usize {
        SumRow { line: index as u64 + 1, sum: *sum }.append(&mut self.columns);
        self.n_rows += 1;
        1
    }

    fn n_bytes(&self) -> usize {
        self.n_rows * 16
    }

    fn take(&mut self) -> Vec<ArrayRef> {
        self.n_rows = 0;
        SumRow::arrays(&mut self.columns)
    }
}
