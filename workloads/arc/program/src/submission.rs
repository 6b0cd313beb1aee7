//! Submissions: two attempts for every test, in the format of the ARC Prize.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use arrow::array::{Array, AsArray, LargeStringArray, RecordBatch};
use arrow::datatypes::{Int32Type, UInt32Type};
use serde_json::{Value, json};
use swathe_arc::{TaskJson, grid_from_value};

use crate::arc_run::{Ranked, ranking, read_samples};
use crate::arc_table::RESULTS;
use swathe_run::store::run_folder::{FolderError, write_file};
use swathe_run::store::table_reader::{TableReader, string_column};

/// Writes `submission.json` of a complete run.
///
/// Programs are ranked by demonstrations solved, mean score, fewer statements and name; the attempts at a test are the
/// first two different valid grids (colours 0 to 9, at most 30 × 30). A missing second attempt repeats the first;
/// without any, both are `[[0]]`.
///
/// # Errors
/// If a table of the run cannot be read or the file cannot be written.
pub fn write_submission(run: &Path, path: &Path) -> Result<(), FolderError> {
    let mut text = serde_json::to_string(&submission(run)?).unwrap_or_default();
    text.push('\n');
    write_file(path, text.as_bytes())
}

/// The contents of a submission.
///
/// # Errors
/// If a table of the run cannot be read.
pub fn submission(run: &Path) -> Result<Value, FolderError> {
    let attempts = attempts(run)?;
    let mut tasks: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for sample in read_samples(run)?
        .into_iter()
        .filter(|sample| sample.is_test)
    {
        let none = json!([[0]]);
        let found = attempts.get(&(sample.task.clone(), sample.index as u32));
        let (first, second) = match found.map(Vec::as_slice) {
            None | Some([]) => (&none, &none),
            Some([only]) => (&only.grid, &only.grid),
            Some([first, second, ..]) => (&first.grid, &second.grid),
        };
        let tests = tasks.entry(sample.task).or_default();
        tests.push(json!({"attempt_1": first, "attempt_2": second}));
    }
    Ok(json!(tasks))
}

/// An attempt and the rank of the program that makes it.
struct Attempt {
    rank: usize,
    grid: Value,
}

/// The best two different attempts at each test, the best first.
type Attempts = HashMap<(String, u32), Vec<Attempt>>;

fn attempts(run: &Path) -> Result<Attempts, FolderError> {
    let ranks: HashMap<(String, String), usize> = ranking(run)?
        .into_iter()
        .flat_map(|(task, programs)| {
            let ranked = programs.into_iter().enumerate();
            ranked.map(move |(rank, Ranked { program, .. })| ((task.clone(), program), rank))
        })
        .collect();
    let mut attempts = Attempts::new();
    let columns = ["program", "task", "split", "sample", "output"];
    let table = TableReader::of_run(run, RESULTS)?.columns(&columns);
    table.for_each(|batch| add(&mut attempts, batch, &ranks))?;
    Ok(attempts)
}

fn add(
    attempts: &mut Attempts,
    batch: &RecordBatch,
    ranks: &HashMap<(String, String), usize>,
) -> Result<(), String> {
    let column = |name: &str| {
        let found = batch.column_by_name(name);
        found.ok_or_else(|| format!("it has no column {name}"))
    };
    let (program, task, split) = (
        string_column(batch, "program")?,
        string_column(batch, "task")?,
        string_column(batch, "split")?,
    );
    let index = column("sample")?
        .as_primitive_opt::<UInt32Type>()
        .ok_or("index is no number")?;
    let output = column("output")?
        .as_dictionary_opt::<Int32Type>()
        .ok_or("output is stored in another way")?;
    let texts: &LargeStringArray = output
        .values()
        .as_string_opt::<i64>()
        .ok_or("output is stored in another way")?;
    for at in 0..batch.num_rows() {
        if split.value(at) != "test" || output.keys().is_null(at) {
            continue;
        }
        let key = (task.value(at).to_owned(), program.value(at).to_owned());
        let rank = *ranks.get(&key).ok_or("it has a call that was not ranked")?;
        let best = attempts.entry((key.0, index.value(at))).or_default();
        // Most outputs rank too low to be kept, so they are not parsed.
        if best.len() == 2 && best[1].rank < rank {
            continue;
        }
        if let Some(grid) = valid_grid(texts.value(output.keys().value(at) as usize)) {
            insert(best, Attempt { rank, grid });
        }
    }
    Ok(())
}

/// Adds an attempt and keeps the best two that differ.
fn insert(best: &mut Vec<Attempt>, attempt: Attempt) {
    if let Some(same) = best.iter_mut().find(|known| known.grid == attempt.grid) {
        same.rank = same.rank.min(attempt.rank);
    } else {
        best.push(attempt);
    }
    best.sort_by_key(|attempt| attempt.rank);
    best.truncate(2);
}

/// The longest text of a valid grid: 30 rows of 30 digits, brackets and commas, and its name.
const TEXT_BYTES_MAX: usize = 30 * 62 + 11;

/// The rows of an encoded output that is a grid of colours.
fn valid_grid(text: &str) -> Option<Value> {
    if text.len() > TEXT_BYTES_MAX || !text.starts_with("{\"grid\":") {
        return None;
    }
    let encoded: TaskJson = serde_json::from_str(text).ok()?;
    grid_from_value(encoded.get("grid")?, "output").ok()?;
    let mut encoded: Value = serde_json::from_str(text).ok()?;
    Some(encoded.get_mut("grid")?.take())
}
