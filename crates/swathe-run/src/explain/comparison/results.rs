//! Results: which answers differ, value by value.

use std::collections::HashMap;
use std::path::Path;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Float64Type, SchemaRef, UInt64Type};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use swathe::Cpu;

use super::outcomes::N_FIRST;
use crate::store::record::PATH_UNIT;
use crate::store::reported_run::ReportedRun;
use crate::store::run_folder::{FolderError, RunState, verify_tables};
use crate::store::table_reader::{Batches, TableReader, number_column};

/// How the answers of two runs compare.
#[derive(Clone, Debug, PartialEq)]
pub enum ResultChanges {
    /// The result hashes are equal and match the tables: every value is the same, to the last bit.
    Same,
    /// The tables were compared.
    Tables(TableChanges),
    /// The runs have tables of different kinds.
    OtherTables([String; 2]),
    /// This run (0 or 1) is not complete and has no table.
    NoTable(usize),
}

/// How two tables of one kind compare.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableChanges {
    /// Rows that both tables have for the same problem.
    pub n_compared: u64,
    /// How many of these rows have a value that differs.
    pub n_changed: u64,
    /// Columns with values that differ, each with the number of such rows.
    pub columns: Vec<(String, u64)>,
    /// Rows that only one of the tables has.
    pub n_alone: [u64; 2],
    /// Rows with the same number but different problem ids: these are not compared.
    pub n_other_problem: u64,
    /// Columns that only one of the tables has, or whose types differ.
    pub columns_alone: [Vec<String>; 2],
    /// The largest difference of two numbers, relative to the larger of them.
    pub largest_relative: f64,
    /// The first few rows that differ.
    pub first: Vec<RowChange>,
}

/// A row in which values differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowChange {
    /// The row.
    pub row: u64,
    /// The id of its problem.
    pub id: String,
    /// The columns that differ, and their values.
    pub values: Vec<(String, [String; 2])>,
}

/// Compares the tables, row by row where their hashes differ.
pub(super) fn results(runs: [&ReportedRun; 2]) -> Result<ResultChanges, FolderError> {
    for (which, run) in runs.iter().enumerate() {
        if run.run.state != RunState::Complete || run.run.table.is_none() {
            return Ok(ResultChanges::NoTable(which));
        }
    }
    let names = runs.map(|run| run.run.table.clone().unwrap_or_default());
    if names[0] != names[1] {
        return Ok(ResultChanges::OtherTables(names));
    }
    // The hashes in `run.json` cannot reveal that a table was damaged after it was written.
    for run in runs {
        verify_tables(&run.path, &run.run, Cpu::detect().n_threads)?;
    }
    let hashes = runs.map(|run| &run.run.result_hash);
    if hashes[0].is_some() && hashes[0] == hashes[1] {
        return Ok(ResultChanges::Same);
    }
    let paths = runs.map(|run| run.path.join(format!("{}.parquet", names[0])));
    tables([&paths[0], &paths[1]]).map(ResultChanges::Tables)
}

/// Columns that identify the problem of a row. A table has some of them.
const ID_NAMES: [&str; 7] = ["pair_id", "name", "id", "query_id", "program", "task", "split"];

/// Columns that distinguish the rows of one problem.
const KEY_NAMES: [&str; 1] = ["sample"];

/// Whether a column holds file paths, which are not results.
fn is_path(field: &Field) -> bool {
    let unit = field.metadata().get("unit");
    field.name().ends_with("_path") || unit.is_some_and(|unit| unit == PATH_UNIT)
}

fn tables(paths: [&Path; 2]) -> Result<TableChanges, FolderError> {
    let schemas = [
        TableReader::open(paths[0])?.builder.schema().clone(),
        TableReader::open(paths[1])?.builder.schema().clone(),
    ];
    let is_path_name = |name: &str| {
        let fields = schemas.iter().map(|schema| schema.field_with_name(name));
        fields.flatten().any(is_path)
    };
    let is_common = |name: &str| {
        let types = schemas
            .each_ref()
            .map(|schema| schema.field_with_name(name).ok().map(|field| field.data_type()));
        types[0].is_some() && types[0] == types[1] && !is_path_name(name)
    };
    let alone = |schema: &SchemaRef| -> Vec<String> {
        let names = schema.fields().iter().map(|field| field.name());
        let names = names.filter(|name| !is_common(name) && !is_path_name(name));
        names.cloned().collect()
    };
    let mut changes =
        TableChanges { columns_alone: schemas.each_ref().map(alone), ..TableChanges::default() };
    let names: Vec<&String> = schemas[0].fields().iter().map(|field| field.name()).collect();
    let names: Vec<&String> = names.into_iter().filter(|name| is_common(name)).collect();
    let mut counts = vec![0u64; names.len()];
    let mut sides = [Cursor::open(paths[0], &is_common)?, Cursor::open(paths[1], &is_common)?];
    loop {
        let [before, after] = &mut sides;
        before.refill()?;
        after.refill()?;
        match (before.row(), after.row()) {
            (None, None) => break,
            (Some(a), Some(b)) if a == b => {
                let n_rows = before.n_in_step(after);
                compare_rows([before, after], n_rows, &names, &mut counts, &mut changes);
                before.at += n_rows;
                after.at += n_rows;
            }
            (a, b) => {
                let which = match (a, b) {
                    (Some(a), Some(b)) => usize::from(b < a),
                    (Some(_), None) => 0,
                    _ => 1,
                };
                changes.n_alone[which] += 1;
                sides[which].at += 1;
            }
        }
    }
    changes.columns = names
        .iter()
        .zip(&counts)
        .filter(|(_, n)| **n > 0)
        .map(|(name, n)| ((*name).clone(), *n))
        .collect();
    Ok(changes)
}

/// Compares the next `n_rows` rows of both cursors.
fn compare_rows(
    sides: [&Cursor; 2],
    n_rows: usize,
    names: &[&String],
    counts: &mut [u64],
    changes: &mut TableChanges,
) {
    let slices = sides.map(|side| side.batch.slice(side.at, n_rows));
    let columns = |name: &str| slices.each_ref().map(|slice| slice.column_by_name(name));
    // For each row, the columns that differ. Most columns are equal as a whole.
    let mut differing: Vec<Vec<usize>> = vec![Vec::new(); n_rows];
    let mut is_other_problem = vec![false; n_rows];
    for (which, name) in names.iter().enumerate() {
        let [Some(before), Some(after)] = columns(name) else {
            continue;
        };
        if before.as_ref() == after.as_ref() {
            continue;
        }
        for at in 0..n_rows {
            if before.slice(at, 1).as_ref() != after.slice(at, 1).as_ref() {
                match ID_NAMES.contains(&name.as_str()) {
                    true => is_other_problem[at] = true,
                    false => {
                        let largest = relative_difference([before, after], at);
                        changes.largest_relative = changes.largest_relative.max(largest);
                        differing[at].push(which);
                    }
                }
            }
        }
    }
    for (at, differing) in differing.iter().enumerate() {
        if is_other_problem[at] {
            changes.n_other_problem += 1;
            continue;
        }
        changes.n_compared += 1;
        if differing.is_empty() {
            continue;
        }
        changes.n_changed += 1;
        differing.iter().for_each(|&which| counts[which] += 1);
        if changes.first.len() < N_FIRST {
            let ids = ID_NAMES.iter().filter_map(|name| columns(name)[0]);
            let ids: Vec<String> = ids.map(|column| value_text(column.as_ref(), at)).collect();
            let value = |column: Option<&ArrayRef>| {
                column.map_or(String::new(), |column| value_text(column.as_ref(), at))
            };
            changes.first.push(RowChange {
                row: sides[0].row_at(sides[0].at + at).unwrap_or_default(),
                id: ids.join(" "),
                values: differing
                    .iter()
                    .map(|&which| (names[which].clone(), columns(names[which]).map(value)))
                    .collect(),
            });
        }
    }
}

/// The largest relative difference of the numbers, or lists of numbers, in a row; infinite where
/// they cannot be subtracted.
fn relative_difference(columns: [&ArrayRef; 2], at: usize) -> f64 {
    let numbers = columns.map(|column| {
        let value = column.slice(at, 1);
        let flat = match value.as_list_opt::<i32>() {
            Some(list) => list.value(0),
            None => match value.as_list_opt::<i64>() {
                Some(list) => list.value(0),
                None => value,
            },
        };
        let is_number = flat.data_type().is_numeric();
        let cast = is_number.then(|| cast(&flat, &DataType::Float64).ok());
        cast.flatten().map(|numbers| numbers.as_primitive::<Float64Type>().values().to_vec())
    });
    let [Some(a), Some(b)] = numbers else {
        return f64::INFINITY;
    };
    if a.len() != b.len() {
        return f64::INFINITY;
    }
    let differences = a.iter().zip(&b).map(|(a, b)| match a == b {
        true => 0.0,
        false => (a - b).abs() / a.abs().max(b.abs()),
    });
    differences.fold(0.0, |most, next| match next.is_nan() {
        true => f64::INFINITY,
        false => most.max(next),
    })
}

/// Compares the rows of `run` with the rows that `other`, usually a larger run, has for the same
/// problems, in whatever order.
///
/// # Errors
/// If the table of one of the runs cannot be read or is damaged.
pub fn same_problems(run: &Path, other: &Path, table: &str) -> Result<TableChanges, FolderError> {
    let is_key = |name: &str| ID_NAMES.contains(&name) || KEY_NAMES.contains(&name);
    let keys = |batch: &RecordBatch| -> Vec<String> {
        let names = ID_NAMES.iter().chain(&KEY_NAMES);
        let columns: Vec<_> = names.filter_map(|name| batch.column_by_name(name)).collect();
        (0..batch.num_rows())
            .map(|at| {
                let texts = columns.iter().map(|column| value_text(column.as_ref(), at));
                texts.collect::<Vec<_>>().join("\u{1f}")
            })
            .collect()
    };
    let mut wanted: HashMap<String, (usize, usize)> = HashMap::new();
    let mut batches: Vec<RecordBatch> = Vec::new();
    TableReader::of_run(run, table)?.for_each(|batch| {
        let keyed = keys(batch).into_iter().enumerate();
        wanted.extend(keyed.map(|(at, key)| (key, (batches.len(), at))));
        batches.push(batch.clone());
        Ok(())
    })?;
    let mut changes = TableChanges::default();
    TableReader::of_run(other, table)?.for_each(|batch| {
        for (at, key) in keys(batch).iter().enumerate() {
            let Some((its_batch, its_at)) = wanted.remove(key) else {
                continue;
            };
            changes.n_compared += 1;
            let mut values = Vec::new();
            for field in batch.schema().fields() {
                let name = field.name();
                if name == "row" || is_key(name) || is_path(field) {
                    continue;
                }
                let (Some(theirs), Some(ours)) =
                    (batch.column_by_name(name), batches[its_batch].column_by_name(name))
                else {
                    continue;
                };
                let pair = [&theirs.slice(at, 1), &ours.slice(its_at, 1)];
                if pair[0].as_ref() != pair[1].as_ref() {
                    let largest = relative_difference(pair, 0);
                    changes.largest_relative = changes.largest_relative.max(largest);
                    values.push((name.clone(), pair.map(|value| value_text(value, 0))));
                }
            }
            if !values.is_empty() {
                changes.n_changed += 1;
                if changes.first.len() < N_FIRST {
                    let rows = number_column::<UInt64Type>(&batches[its_batch], "row")?;
                    let (row, id) = (rows.value(its_at), key.replace('\u{1f}', " "));
                    changes.first.push(RowChange { row, id, values });
                }
            }
        }
        Ok(())
    })?;
    changes.n_alone[0] = wanted.len() as u64;
    Ok(changes)
}

/// A value as text, cut off if it is long.
fn value_text(column: &dyn Array, at: usize) -> String {
    const N_CHARACTERS_MAX: usize = 40;
    // Formatting bulk data in full only to cut it off would be slow.
    if let Some(bytes) = column.as_binary_opt::<i64>() {
        return match bytes.is_valid(at) {
            true => {
                let value = bytes.value(at);
                let mark = &blake3::hash(value).to_hex()[..8];
                format!("{} bytes ({mark})", value.len())
            }
            false => "null".to_owned(),
        };
    }
    let options = FormatOptions::default().with_null("null");
    let text = match ArrayFormatter::try_new(column, &options) {
        Ok(formatter) => formatter.value(at).to_string(),
        Err(error) => error.to_string(),
    };
    match text.char_indices().nth(N_CHARACTERS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// A table that is being read batch by batch.
struct Cursor {
    batches: Batches,
    batch: RecordBatch,
    at: usize,
}

impl Cursor {
    fn open(path: &Path, keep: &dyn Fn(&str) -> bool) -> Result<Cursor, FolderError> {
        let table = TableReader::open(path)?;
        Ok(Cursor {
            batch: RecordBatch::new_empty(table.builder.schema().clone()),
            batches: table.columns_where(keep).batches()?,
            at: 0,
        })
    }

    /// Reads the next batch if the current one is used up.
    fn refill(&mut self) -> Result<(), FolderError> {
        while self.at >= self.batch.num_rows() {
            let Some(batch) = self.batches.next().transpose()? else {
                return Ok(());
            };
            let rows = batch.column_by_name("row");
            if rows.is_none_or(|rows| rows.as_primitive_opt::<UInt64Type>().is_none()) {
                let reason = "it has no column row of whole numbers";
                return Err(self.batches.damaged(reason));
            }
            self.batch = batch;
            self.at = 0;
        }
        Ok(())
    }

    fn row(&self) -> Option<u64> {
        self.row_at(self.at)
    }

    fn row_at(&self, at: usize) -> Option<u64> {
        let rows = self.batch.column_by_name("row")?;
        let rows = rows.as_primitive_opt::<UInt64Type>()?;
        (at < rows.len()).then(|| rows.value(at))
    }

    /// How many of the following rows have the same numbers in both.
    fn n_in_step(&self, other: &Cursor) -> usize {
        (0..)
            .take_while(|&n| {
                let row = self.row_at(self.at + n);
                row.is_some() && row == other.row_at(other.at + n)
            })
            .count()
    }
}
