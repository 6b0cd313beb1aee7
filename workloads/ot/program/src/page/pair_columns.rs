//! The pairs of a run as columns: the figures of `pairs.parquet`, times, failures.

use std::collections::HashMap;
use std::path::Path;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{DataType, Float64Type, UInt64Type};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use serde_json::{Map, Value, json};

use super::choice::{Key, shown};
use crate::pair_table::{PairRow, is_result_column};
use swathe_run::page::rounded;
use swathe_run::store::record::{Column, Record as _};
use swathe_run::store::run_folder::FolderError;
use swathe_run::store::table_reader::{TableReader, column, number_column, string_column};

/// The table of pairs.
pub(super) const TABLE: &str = "pairs.parquet";
const TIMING: &str = "timing.parquet";
const FAILURES: &str = "failures.parquet";
/// Columns with file names of inputs. The page leaves them out of its table.
const FRAMES: [&str; 2] = ["src", "tgt"];

/// Why the motion of a pair is in doubt; runs of earlier versions have no such column.
pub(super) const DOUBT: &str = "motion_doubt";
/// The most carried columns that a table on a page has room for.
const N_CARRIED_MAX: usize = 12;
/// The most characters of a text from the input; longer texts are cut.
const N_CHARS_MAX: usize = 200;

/// Pairs in the order of their rows.
#[derive(Debug, Default)]
pub(super) struct PairColumns {
    /// Number of pairs of the run, shown or not.
    pub(super) n_rows: u64,
    /// Number of failed pairs.
    pub(super) n_failed: u64,
    /// The rows that are shown, ascending.
    pub(super) rows: Vec<u64>,
    /// The columns that came with the input.
    pub(super) carried: Vec<Carried>,
    ids: Vec<Value>,
    statuses: Vec<Value>,
    doubts: Vec<Value>,
    messages: Vec<Value>,
    milliseconds: Vec<Value>,
    numbers: Vec<(&'static str, Vec<Value>)>,
}

/// A column that came with the input.
#[derive(Debug)]
pub(super) struct Carried {
    pub(super) name: String,
    pub(super) is_number: bool,
    pub(super) values: Vec<Value>,
}

impl PairColumns {
    /// Reads at most `n_max` rows, including those of `must`.
    pub(super) fn read(run: &Path, n_max: usize, must: &[u64]) -> Result<PairColumns, FolderError> {
        let failures = Failures::read(run)?;
        let (solved, keys) = solved_rows(run)?;
        let failed: Vec<u64> = failures.by_row.keys().copied().collect();
        let mut failed = failed;
        failed.sort_unstable();
        let has =
            |row: &&u64| solved.binary_search(row).is_ok() || failed.binary_search(row).is_ok();
        let must: Vec<u64> = must.iter().filter(has).copied().collect();
        let rows: Vec<u64> = shown(n_max, &must, &failed, &solved, &keys).into_iter().collect();
        let place_by_row: HashMap<u64, usize> =
            rows.iter().enumerate().map(|(at, row)| (*row, at)).collect();
        let n = rows.len();
        let mut columns = PairColumns {
            n_rows: (solved.len() + failed.len()) as u64,
            n_failed: failed.len() as u64,
            ids: vec![Value::Null; n],
            statuses: vec![Value::Null; n],
            doubts: vec![Value::Null; n],
            messages: vec![Value::Null; n],
            milliseconds: vec![Value::Null; n],
            numbers: numbers_where(|column| column.is_on_page)
                .map(|name| (name, vec![Value::Null; n]))
                .collect(),
            carried: carried_columns(run, n)?,
            rows,
        };
        columns.take_solved(run, &place_by_row)?;
        columns.take_times(run, &place_by_row)?;
        for (row, (id, message)) in failures.by_row {
            if let Some(&at) = place_by_row.get(&row) {
                columns.ids[at] = Value::from(id);
                columns.statuses[at] = Value::from("failed");
                columns.messages[at] = Value::from(message);
            }
        }
        Ok(columns)
    }

    /// The columns as JSON for the page. Columns without any value (µm of frames whose pixel size
    /// is not known) are left out.
    pub(super) fn json(&self) -> Value {
        let mut columns = Map::new();
        columns.insert("row".to_owned(), json!(self.rows));
        columns.insert("pair_id".to_owned(), json!(self.ids));
        columns.insert("status".to_owned(), json!(self.statuses));
        columns.insert("milliseconds".to_owned(), json!(self.milliseconds));
        if self.doubts.iter().any(|doubt| !doubt.is_null()) {
            columns.insert(DOUBT.to_owned(), json!(self.doubts));
        }
        for (name, values) in &self.numbers {
            if values.iter().any(|value| !value.is_null()) {
                columns.insert((*name).to_owned(), json!(values));
            }
        }
        let messages: Map<String, Value> = self
            .rows
            .iter()
            .zip(&self.messages)
            .filter(|(_, message)| !message.is_null())
            .map(|(row, message)| (row.to_string(), message.clone()))
            .collect();
        let carried: Vec<Value> = self
            .carried
            .iter()
            .map(|column| json!({"name": column.name, "is_number": column.is_number, "values": column.values}))
            .collect();
        json!({"figures": columns, "messages": messages, "carried": carried})
    }

    fn take_solved(
        &mut self,
        run: &Path,
        place_by_row: &HashMap<u64, usize>,
    ) -> Result<(), FolderError> {
        let carried: Vec<String> = self.carried.iter().map(|column| column.name.clone()).collect();
        let mut names = vec!["row", "pair_id", "status", DOUBT];
        names.extend(self.numbers.iter().map(|(name, _)| *name));
        names.extend(carried.iter().map(String::as_str));
        let table = TableReader::open(&run.join(TABLE))?.columns(&names);
        table.for_each(|batch| {
            let places = places(batch, place_by_row)?;
            let (ids, statuses) =
                (string_column(batch, "pair_id")?, string_column(batch, "status")?);
            for &(from, to) in &places {
                self.ids[to] = Value::from(ids.value(from));
                self.statuses[to] = Value::from(statuses.value(from));
            }
            if batch.column_by_name(DOUBT).is_some() {
                let doubts = string_column(batch, DOUBT)?;
                for &(from, to) in places.iter().filter(|(from, _)| !doubts.is_null(*from)) {
                    self.doubts[to] = Value::from(doubts.value(from));
                }
            }
            for (name, values) in &mut self.numbers {
                let numbers = numbers(batch, name)?;
                for &(from, to) in &places {
                    if !numbers.is_null(from) {
                        values[to] = rounded(numbers.value(from));
                    }
                }
            }
            for column in &mut self.carried {
                column.take(batch, &places)?;
            }
            Ok(())
        })
    }

    fn take_times(
        &mut self,
        run: &Path,
        place_by_row: &HashMap<u64, usize>,
    ) -> Result<(), FolderError> {
        let table = TableReader::open(&run.join(TIMING))?.columns(&["row", "milliseconds"]);
        table.for_each(|batch| {
            let times = numbers(batch, "milliseconds")?;
            for (from, to) in places(batch, place_by_row)? {
                if !times.is_null(from) {
                    self.milliseconds[to] = rounded(times.value(from));
                }
            }
            Ok(())
        })
    }
}

impl Carried {
    fn take(&mut self, batch: &RecordBatch, places: &[(usize, usize)]) -> Result<(), String> {
        if self.is_number {
            let numbers = numbers(batch, &self.name)?;
            for &(from, to) in places {
                if !numbers.is_null(from) {
                    self.values[to] = Value::from(numbers.value(from));
                }
            }
            return Ok(());
        }
        let column = column(batch, &self.name)?;
        let options = FormatOptions::default().with_display_error(true);
        let texts = ArrayFormatter::try_new(column, &options).map_err(|error| error.to_string())?;
        for &(from, to) in places {
            if !column.is_null(from) {
                self.values[to] = Value::from(shortened(texts.value(from).to_string()));
            }
        }
        Ok(())
    }
}

/// Pairs without a solution.
#[derive(Default)]
struct Failures {
    /// Names and messages.
    by_row: HashMap<u64, (String, String)>,
}

impl Failures {
    fn read(run: &Path) -> Result<Failures, FolderError> {
        let mut failures = Failures::default();
        let table = TableReader::open(&run.join(FAILURES))?.columns(&["row", "id", "message"]);
        table.for_each(|batch| {
            let rows = number_column::<UInt64Type>(batch, "row")?;
            let (ids, messages) = (string_column(batch, "id")?, string_column(batch, "message")?);
            for at in 0..batch.num_rows() {
                let message = shortened(messages.value(at).to_owned());
                let named = (ids.value(at).to_owned(), message);
                failures.by_row.insert(rows.value(at), named);
            }
            Ok(())
        })?;
        Ok(failures)
    }
}

/// The rows that have a solution, ascending, and the figures whose extremes must be shown.
fn solved_rows(run: &Path) -> Result<(Vec<u64>, Vec<Key>), FolderError> {
    let mut solved = Vec::new();
    let ranked: Vec<&str> = numbers_where(|column| column.is_ranked).collect();
    let mut keys: Vec<Key> = ranked.iter().map(|_| Key::new()).collect();
    let names: Vec<&str> = std::iter::once("row").chain(ranked.iter().copied()).collect();
    let table = TableReader::open(&run.join(TABLE))?.columns(&names);
    table.for_each(|batch| {
        solved.extend_from_slice(number_column::<UInt64Type>(batch, "row")?.values());
        for (key, name) in keys.iter_mut().zip(&ranked) {
            let numbers = numbers(batch, name)?;
            key.extend(numbers.iter().map(|number| number.unwrap_or(f64::NAN)));
        }
        Ok(())
    })?;
    Ok((solved, keys))
}

/// The names of the figures for which this is so.
fn numbers_where(is_wanted: impl Fn(&Column) -> bool) -> impl Iterator<Item = &'static str> {
    let numbers = PairRow::declared().iter().filter(|column| column.data_type.is_numeric());
    numbers.filter(move |column| is_wanted(column)).map(|column| column.name.as_str())
}

/// The columns of the table that come from the input, still without values.
fn carried_columns(run: &Path, n_rows: usize) -> Result<Vec<Carried>, FolderError> {
    let builder = TableReader::open(&run.join(TABLE))?.builder;
    let fields = builder.schema().fields().iter();
    let carried = fields
        .filter(|field| !is_result_column(field.name()) && !FRAMES.contains(&field.name().as_str()))
        .take(N_CARRIED_MAX);
    Ok(carried
        .map(|field| Carried {
            name: field.name().clone(),
            is_number: field.data_type().is_numeric() && *field.data_type() != DataType::Null,
            values: vec![Value::Null; n_rows],
        })
        .collect())
}

/// For each row of a batch that is shown: its place in the batch, and its place on the page.
fn places(
    batch: &RecordBatch,
    place_by_row: &HashMap<u64, usize>,
) -> Result<Vec<(usize, usize)>, String> {
    let rows = number_column::<UInt64Type>(batch, "row")?;
    let rows = rows.values().iter().enumerate();
    Ok(rows.filter_map(|(from, row)| Some((from, *place_by_row.get(row)?))).collect())
}

/// A column of any numeric type, as f64.
pub(super) fn numbers(
    batch: &RecordBatch,
    name: &str,
) -> Result<arrow::array::Float64Array, String> {
    let cast = arrow::compute::cast(column(batch, name)?, &DataType::Float64);
    let cast = cast.map_err(|error| error.to_string())?;
    Ok(cast.as_primitive::<Float64Type>().clone())
}

fn shortened(text: String) -> String {
    match text.char_indices().nth(N_CHARS_MAX) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}
