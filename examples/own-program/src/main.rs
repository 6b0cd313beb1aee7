//! An example of a command built on swathe: it counts the words of text files and has all features
//! of swathe's own commands. `cargo run --release -p own-program -- *.txt --out RUN`

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray};
use arrow::datatypes::{SchemaRef, UInt64Type};
use clap::{Args, FromArgMatches};
use serde_json::{Value, json};
use swathe::{AsSolved, DeviceKind, Need, Shape, Size, Source, Stop, Workload};
use swathe_command::cli_error::{CliError, Code};
use swathe_command::program::{self, Program};
use swathe_command::run_command::{Provenance, run_command};
use swathe_command::{run_flags::RunFlags, settings::resolve};
use swathe_run::kind::RunKind;
use swathe_run::record;
use swathe_run::store::record::{Cells as _, Record as _};
use swathe_run::store::rows::Rows;
use swathe_run::store::run_folder::{FolderError, InputFile};
use swathe_run::store::table_reader::TableReader;

/// The solver: counts the words of a text.
struct Words;

impl Workload for Words {
    type Problem = String;
    type Solution = u64;
    type Failure = std::io::Error;
    type Scratch = ();
    type Local = ();
    const NAME: &'static str = "words";

    fn size(&self, text: &String) -> Size {
        Size::of(Shape::new(&[text.len() as u32]))
    }
    fn need(&self, size: &Size, _: DeviceKind) -> Need {
        let lane_bytes = size.shape.volume();
        Need { lane_bytes, ..Need::default() }
    }
    fn scratch(&self) {}
    fn local(&self) {}
    fn solve(&self, text: &String, (): &mut (), (): &mut (), _: &Stop) -> std::io::Result<u64> {
        Ok(text.split_whitespace().count() as u64)
    }
}

record! {
    /// The words of a file.
    struct WordRow / WordColumns {
        /// the file's name
        file: String;
        /// words in it
        n_words: u64;
    }
}

/// The table: a row for each file.
struct WordRows {
    files: Arc<Vec<PathBuf>>,
    columns: WordColumns,
    n_bytes: usize,
}

impl Rows for WordRows {
    type Solution = u64;
    fn table(&self) -> &'static str {
        "words"
    }
    fn schema(&self) -> SchemaRef {
        WordRow::schema()
    }
    fn id(&self, index: usize) -> String {
        self.files[index].display().to_string()
    }
    fn append(&mut self, index: usize, n_words: &u64) -> usize {
        WordRow { file: self.id(index), n_words: *n_words }.append(&mut self.columns);
        self.n_bytes += 64;
        1
    }
    fn n_bytes(&self) -> usize {
        self.n_bytes
    }
    fn take(&mut self) -> Vec<ArrayRef> {
        self.n_bytes = 0;
        WordRow::arrays(&mut self.columns)
    }
}

/// The section of the page: `words.js` draws what `page` returns.
static KIND: RunKind = RunKind {
    title: "Words of text files",
    scripts: &[include_str!("words.js")],
    page,
    ..RunKind::plain("words")
};

fn page(run: &Path) -> Result<Value, FolderError> {
    let mut n_words = 0;
    let table = TableReader::open(&run.join("words.parquet"))?.columns(&["n_words"]);
    table.for_each(|batch| {
        let counts = batch.column(0).as_primitive::<UInt64Type>();
        n_words += counts.values().iter().sum::<u64>();
        Ok(())
    })?;
    Ok(json!({ "n_words": n_words }))
}

/// Counts the words of text files.
#[derive(Args)]
struct Flags {
    /// Text files
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The run folder
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    #[command(flatten)]
    run: RunFlags,
}

static PROGRAM: Program = Program::plain(
    &KIND,
    || Flags::augment_args(clap::Command::new("words")),
    |matches| count(&Flags::from_arg_matches(matches).unwrap_or_else(|error| error.exit())),
);

fn count(flags: &Flags) -> Result<Code, CliError> {
    let run = resolve(&flags.run, &flags.out, &PROGRAM)?;
    let (files, mut inputs) = (Arc::new(flags.files.clone()), Vec::new());
    for file in files.iter() {
        let unusable = |error| CliError::usage(format!("cannot read {}: {error}", file.display()));
        inputs.push(InputFile::of(file).map_err(unusable)?);
    }
    let sizes: Vec<u32> = inputs.iter().map(|input| input.n_bytes as u32).collect();
    let loaded = Arc::clone(&files);
    let source = Source::new(
        sizes.len(),
        move |index| Ok(Size::of(Shape::new(&[sizes[index]]))),
        move |index, _| std::fs::read_to_string(&loaded[index]),
    );
    let settings = [].into();
    let provenance = Provenance { settings, inputs };
    let finish = Arc::new(AsSolved(Arc::new(Words)));
    let rows = WordRows { files, columns: WordRow::builder(), n_bytes: 0 };
    let nothing_more = Box::new(|_| Ok(()));
    run_command(&finish, &source, run, provenance, rows, nothing_more)
}

fn main() -> ExitCode {
    program::main(&PROGRAM)
}
