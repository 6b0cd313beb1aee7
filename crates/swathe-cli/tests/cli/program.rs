//! Runs the program under test and reads its outputs.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::UInt64Type;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::Value;
use swathe::array::Array;
use swathe_formats::npz::{self, Compression};

pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    pub(crate) fn of(output: Output) -> Ended {
        Ended {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Ended {
        assert_eq!(self.code, code, "{}", self.stderr);
        self
    }
}

/// A command line in a folder, independent of the variables and caches of the user who runs the
/// tests.
pub(crate) fn command(folder: &Path, line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_swathe"));
    command.args(line.split_whitespace());
    in_folder(command, folder)
}

pub(crate) fn in_folder(mut command: Command, folder: &Path) -> Command {
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("SWATHE_")) {
        command.env_remove(name);
    }
    command
        .current_dir(folder)
        .env("COLUMNS", "100")
        .env("XDG_CACHE_HOME", folder.join("cache"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

pub(crate) fn swathe(folder: &Path, line: &str) -> Ended {
    Ended::of(command(folder, line).output().unwrap())
}

pub(crate) fn swathe_with(folder: &Path, variable: &str, value: &str, line: &str) -> Ended {
    Ended::of(command(folder, line).env(variable, value).output().unwrap())
}

pub(crate) fn json(path: &Path) -> Value {
    let text = std::fs::read_to_string(path);
    serde_json::from_str(&text.unwrap_or_else(|error| panic!("{}: {error}", path.display())))
        .unwrap()
}

#[track_caller]
pub(crate) fn result_hash(run: &Path) -> String {
    let run = json(&run.join("run.json"));
    assert_eq!(run["state"], "complete");
    run["result_hash"].as_str().unwrap().to_owned()
}

/// The indices of the problems that the manifest announces, in its order.
pub(crate) fn announced(run: &Path) -> Vec<u64> {
    let text = std::fs::read_to_string(run.join("manifest.jsonl")).unwrap_or_default();
    // Text after the last line break is an incomplete line.
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    let lines = whole.lines().map(|line| serde_json::from_str(line).unwrap());
    lines
        .flat_map(|line: Value| line["problems"].as_array().unwrap().clone())
        .flat_map(|span| span[0].as_u64().unwrap()..span[1].as_u64().unwrap())
        .collect()
}

pub(crate) fn table(path: &Path) -> Vec<RecordBatch> {
    let file = std::fs::File::open(path).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    reader.build().unwrap().map(|batch| batch.unwrap()).collect()
}

/// `row`, `id`, `kind` and `message` of every failure.
pub(crate) fn failures(run: &Path) -> Vec<(u64, String, String, String)> {
    let mut failures = Vec::new();
    for batch in table(&run.join("failures.parquet")) {
        let text = |name: &str, at: usize| {
            let column = batch.column_by_name(name).unwrap();
            column.as_string::<i32>().value(at).to_owned()
        };
        let rows = batch.column_by_name("row").unwrap();
        for (at, &row) in rows.as_primitive::<UInt64Type>().values().iter().enumerate() {
            failures.push((row, text("id", at), text("kind", at), text("message", at)));
        }
    }
    failures
}

/// SplitMix64: gives the same inputs on every machine.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        swathe::seed::draw(&mut self.0)
    }

    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    pub(crate) fn floats(&mut self, shape: &[usize]) -> Array {
        let n = shape.iter().product();
        let data: Vec<f32> =
            (0..n).map(|_| (self.next() >> 40) as f32 / (1u64 << 24) as f32).collect();
        Array::new(shape.to_vec(), data).unwrap()
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            items.swap(at, self.below(at as u64 + 1) as usize);
        }
    }
}

/// Writes arrays into an .npz file in a folder.
pub(crate) fn save(folder: &Path, name: &str, arrays: &[(String, Array)]) -> PathBuf {
    let path = folder.join(name);
    let named = arrays.iter().map(|(name, array)| (name.as_str(), array));
    npz::save(&path, named, Compression::Stored).unwrap();
    path
}

/// Sixty arrays of about 16 KiB.
pub(crate) fn many_floats(folder: &Path) -> PathBuf {
    let mut random = Random(3);
    let arrays: Vec<(String, Array)> = (0..60)
        .map(|k| {
            let n = 3500 + random.below(1000) as usize;
            (format!("item{k}"), random.floats(&[n]))
        })
        .collect();
    save(folder, "in.npz", &arrays)
}
