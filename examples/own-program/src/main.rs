//! A command of one's own on swathe: counts the words of text files, with everything that swathe's
//! own commands have. `cargo run --release -p own-program -- *.txt --out RUN`

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, StringArray, UInt64Array};
use arrow::datatypes::{DataType, Schema, SchemaRef, UInt64Type};
use clap::{Args, FromArgMatches};
use serde_json::{Value, json};
use swathe::{AsSolved, DeviceKind, Need, Shape, Size, Source, Stop, Workload};
use swathe_command::fault::{Code, Fault};
use swathe_command::program::{self, Program};
use swathe_command::run_flags::RunFlags;
use swathe_command::settings::resolve;
use swathe_command::sweep::{Provenance, sweep};
use swathe_formats::described_field::described;
use swathe_run::kind::RunKind;
use swathe_run::store::rows::Rows;
use swathe_run::store::run_folder::{FolderError, InputFile};
use swathe_run::store::table_reader::TableReader;

/// The solver: words and different words of a text.
struct Words;

#[derive(Debug, thiserror::Error)]
#[error("cannot read it: {0}")]
struct Unreadable(#[from] std::io::Error);

impl Workload for Words {
    type Problem = String;
    type Solution = [u64; 2];
    type Failure = Unreadable;
    type Scratch = ();
    type Local = ();
    const NAME: &'static str = "words";

    fn size(&self, text: &String) -> Size {
        Size::of(Shape::new(&[text.len() as u32]))
    }
    fn need(&self, size: &Size, _: DeviceKind) -> Need {
        let lane_bytes = size.shape.volume();
        Need {
            lane_bytes,
            scratch_bytes: 8 * lane_bytes,
            solution_bytes: 16,
        }
    }
    fn scratch(&self) {}
    fn local(&self) {}
    fn solve(
        &self,
        text: &String,
        _: &mut (),
        _: &mut (),
        _: &Stop,
    ) -> Result<[u64; 2], Unreadable> {
        let words = text.split_whitespace();
        let different: HashSet<&str> = words.clone().collect();
        Ok([words.count() as u64, different.len() as u64])
    }
}

/// The table: a row for each file.
struct WordRows {
    files: Arc<Vec<PathBuf>>,
    waiting: Vec<(String, [u64; 2])>,
}

impl Rows for WordRows {
    type Solution = [u64; 2];
    fn table(&self) -> &'static str {
        "words"
    }
    fn schema(&self) -> SchemaRef {
        Arc::new(Schema::new(vec![
            described("file", DataType::Utf8, "the file's name"),
            described("n_words", DataType::UInt64, "words in it"),
            described("n_different", DataType::UInt64, "different words in it"),
        ]))
    }
    fn id(&self, index: usize) -> String {
        self.files[index].display().to_string()
    }
    fn append(&mut self, index: usize, counts: &[u64; 2]) -> usize {
        self.waiting.push((self.id(index), *counts));
        1
    }
    fn n_bytes(&self) -> usize {
        self.waiting.len() * 64
    }
    fn take(&mut self) -> Vec<ArrayRef> {
        let rows = std::mem::take(&mut self.waiting);
        let count = |k: usize| UInt64Array::from_iter_values(rows.iter().map(|row| row.1[k]));
        let files = StringArray::from_iter_values(rows.iter().map(|row| &row.0));
        vec![Arc::new(files), Arc::new(count(0)), Arc::new(count(1))]
    }
}

/// The section of the page: what `page` returns is drawn by `words.js`.
static KIND: RunKind = RunKind {
    title: "Words of text files",
    scripts: &[include_str!("words.js")],
    page: |run: &Path| -> Result<Value, FolderError> {
        let mut n_words = 0;
        let table = TableReader::open(&run.join("words.parquet"))?.columns(&["n_words"]);
        table.for_each(|batch| {
            n_words += batch
                .column(0)
                .as_primitive::<UInt64Type>()
                .values()
                .iter()
                .sum::<u64>();
            Ok::<(), String>(())
        })?;
        Ok(json!({ "n_words": n_words }))
    },
    ..RunKind::plain("words")
};

/// Counts the words of text files.
#[derive(Args)]
struct Flags {
    /// Text files
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The run folder
    #[arg(long, short, value_name = "DIR")]
    out: PathBuf,
    #[command(flatten)]
    run: RunFlags,
}

static PROGRAM: Program = Program {
    command: || Flags::augment_args(clap::Command::new("words")),
    run: |matches| count(&Flags::from_arg_matches(matches).unwrap_or_else(|error| error.exit())),
    ..Program::plain(&KIND)
};

fn count(flags: &Flags) -> Result<Code, Fault> {
    let run = resolve(&flags.run, &flags.out, &PROGRAM)?;
    let mut inputs = Vec::new();
    for file in &flags.files {
        let read = InputFile::of(file);
        inputs.push(read.map_err(|e| Fault::usage(format!("{}: {e}", file.display())))?);
    }
    let sizes: Vec<u32> = inputs.iter().map(|input| input.n_bytes as u32).collect();
    let files = Arc::new(flags.files.clone());
    let (rows, loaded) = (
        WordRows {
            files: Arc::clone(&files),
            waiting: Vec::new(),
        },
        files,
    );
    let source = Source::new(
        sizes.len(),
        move |index| Ok(Size::of(Shape::new(&[sizes[index]]))),
        move |index, _| Ok(std::fs::read_to_string(&loaded[index])?),
    );
    let provenance = Provenance {
        settings: Default::default(),
        inputs,
    };
    let finish = Arc::new(AsSolved(Arc::new(Words)));
    sweep(
        &KIND,
        &finish,
        &source,
        run,
        provenance,
        rows,
        Box::new(|_| Ok(())),
    )
}

fn main() -> ExitCode {
    program::main(&PROGRAM)
}
