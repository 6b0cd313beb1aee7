//! Submissions: two attempts for every test, in the format of the ARC Prize.

use std::cmp::Reverse;
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

/// How attempts are chosen among the outputs of programs.
#[derive(Clone, Debug, Default)]
pub struct AttemptRules {
    /// Programs that are equally good vote: the output that more of them give comes first.
    pub has_votes: bool,
    /// The user's key of each program, the largest first. Programs without a key come after, in the usual order.
    pub keys: HashMap<String, f64>,
}

/// Writes `submission.json` of a complete run.
///
/// Programs are ranked by the user's key if there is one, demonstrations solved, mean score, fewer statements and name;
/// the attempts at a test are the first two different valid grids (colours 0 to 9, at most 30 × 30). With votes, programs
/// with the same key, or without keys with as many demonstrations solved, are equally good. A missing second attempt
/// repeats the first; without any, both are `[[0]]`.
///
/// # Errors
/// If a table of the run cannot be read or the file cannot be written.
pub fn write_submission(run: &Path, path: &Path, rules: &AttemptRules) -> Result<(), FolderError> {
    let mut text = serde_json::to_string(&submission(run, rules)?).unwrap_or_default();
    text.push('\n');
    write_file(path, text.as_bytes())
}

/// The contents of a submission.
///
/// # Errors
/// If a table of the run cannot be read.
pub fn submission(run: &Path, rules: &AttemptRules) -> Result<Value, FolderError> {
    let attempts = attempts(run, rules)?;
    let mut tasks: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for sample in read_samples(run)?.into_iter().filter(|sample| sample.is_test) {
        let none = json!([[0]]);
        let found = attempts.get(&(sample.task.clone(), sample.index as u32));
        let (first, second) = match found.map(Vec::as_slice) {
            None | Some([]) => (&none, &none),
            Some([only]) => (only, only),
            Some([first, second, ..]) => (first, second),
        };
        let tests = tasks.entry(sample.task).or_default();
        tests.push(json!({"attempt_1": first, "attempt_2": second}));
    }
    Ok(json!(tasks))
}

/// The place of a program among those that ran on a task.
#[derive(Clone, Copy)]
struct Place {
    rank: usize,
    /// The same for programs that are equally good; 0 is the best.
    level: usize,
}

/// A valid output at a test.
#[derive(Clone, Copy)]
struct Attempt {
    /// The best of the programs that give it.
    best: Place,
    /// How many programs of the level of the best give it.
    n_votes: usize,
}

impl Attempt {
    fn add(&mut self, place: Place) {
        match place.level.cmp(&self.best.level) {
            std::cmp::Ordering::Less => self.n_votes = 1,
            std::cmp::Ordering::Equal => self.n_votes += 1,
            std::cmp::Ordering::Greater => {}
        }
        if place.rank < self.best.rank {
            self.best = place;
        }
    }
}

/// The attempts at each test by the text of the output.
type Attempts = HashMap<(String, u32), HashMap<String, Attempt>>;

/// The best two different grids at each test, the best first.
fn attempts(
    run: &Path,
    rules: &AttemptRules,
) -> Result<HashMap<(String, u32), Vec<Value>>, FolderError> {
    let places: HashMap<(String, String), Place> = ranking(run)?
        .into_iter()
        .flat_map(|(task, programs)| {
            let placed = places(programs, rules).into_iter();
            placed.map(move |(program, place)| ((task.clone(), program), place))
        })
        .collect();
    let mut attempts = Attempts::new();
    let columns = ["program", "task", "split", "sample", "output"];
    let table = TableReader::of_run(run, RESULTS)?.columns(&columns);
    table.for_each(|batch| add(&mut attempts, batch, &places, rules.has_votes))?;
    let best_two = |of_test: HashMap<String, Attempt>| {
        let mut all: Vec<(String, Attempt)> = of_test.into_iter().collect();
        all.sort_by_key(|(_, attempt)| {
            let votes = rules.has_votes.then_some((attempt.best.level, Reverse(attempt.n_votes)));
            (votes, attempt.best.rank)
        });
        let grids = all.iter().filter_map(|(text, _)| valid_grid(text));
        grids.take(2).collect()
    };
    let tests = attempts.into_iter();
    Ok(tests.map(|(test, all)| (test, best_two(all))).collect())
}

/// The places of the programs that ran on a task, given in the usual order.
fn places(mut programs: Vec<Ranked>, rules: &AttemptRules) -> Vec<(String, Place)> {
    let key = |program: &Ranked| rules.keys.get(&program.program).copied();
    let worst_first = |a: Option<f64>, b: Option<f64>| match (a, b) {
        (Some(a), Some(b)) => a.total_cmp(&b),
        _ => a.is_some().cmp(&b.is_some()),
    };
    programs.sort_by(|a, b| worst_first(key(b), key(a)));
    let quality = |program: &Ranked| match key(program) {
        Some(key) => (Some(key.to_bits()), 0),
        None => (None, program.n_right),
    };
    let mut level = 0;
    let mut placed: Vec<(String, Place)> = Vec::with_capacity(programs.len());
    for rank in 0..programs.len() {
        if rank > 0 && quality(&programs[rank]) != quality(&programs[rank - 1]) {
            level += 1;
        }
        placed.push((programs[rank].program.clone(), Place { rank, level }));
    }
    placed
}

fn add(
    attempts: &mut Attempts,
    batch: &RecordBatch,
    places: &HashMap<(String, String), Place>,
    has_votes: bool,
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
    let index = column("sample")?.as_primitive_opt::<UInt32Type>().ok_or("index is no number")?;
    let output = column("output")?
        .as_dictionary_opt::<Int32Type>()
        .ok_or("output is stored in another way")?;
    let texts: &LargeStringArray =
        output.values().as_string_opt::<i64>().ok_or("output is stored in another way")?;
    for at in 0..batch.num_rows() {
        if split.value(at) != "test" || output.keys().is_null(at) {
            continue;
        }
        let key = (task.value(at).to_owned(), program.value(at).to_owned());
        let place = *places.get(&key).ok_or("it has a call that was not ranked")?;
        let of_test = attempts.entry((key.0, index.value(at))).or_default();
        let text = texts.value(output.keys().value(at) as usize);
        if let Some(known) = of_test.get_mut(text) {
            known.add(place);
            continue;
        }
        // Most outputs rank too low to be chosen, so they are not parsed.
        let is_better = |known: &&Attempt| match has_votes {
            true => known.best.level < place.level,
            false => known.best.rank < place.rank,
        };
        if of_test.values().filter(is_better).count() < 2 && valid_grid(text).is_some() {
            let (best, n_votes) = (place, 1);
            of_test.insert(text.to_owned(), Attempt { best, n_votes });
        }
    }
    Ok(())
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
