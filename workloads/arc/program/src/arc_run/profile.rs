//! Where the time of grid programs goes: `profile.parquet`.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use arrow::array::{ArrayRef, Float64Array, RecordBatch, StringArray, UInt64Array};
use arrow::datatypes::{DataType, Float64Type, Schema, UInt64Type};
use swathe_arc::StatementTime;

use swathe_command::program::Operation;
use swathe_formats::described_field::described;
use swathe_run::store::run_folder::{FolderError, write_table};
use swathe_run::store::table_reader::{TableReader, number_column, string_column};

/// What one primitive or one program took.
#[derive(Clone, Debug, PartialEq)]
pub struct ProfileRow {
    /// `primitive` or `program`.
    pub kind: &'static str,
    /// Its name.
    pub name: String,
    /// Statements evaluated.
    pub n_calls: u64,
    /// Time spent in them.
    pub time: Duration,
    /// The fraction of the time of all statements.
    pub share: f64,
}

/// Sums what statements took by primitive and by program, the slowest first.
pub fn profile_rows(statements: &[StatementTime]) -> Vec<ProfileRow> {
    let by_primitive = statements.iter().map(|statement| {
        let name = statement.primitive.unwrap_or("(a variable, or a tuple)");
        (name, statement)
    });
    let by_program = statements.iter().map(|statement| (statement.program.as_str(), statement));
    let mut rows = summed("primitive", by_primitive);
    rows.extend(summed("program", by_program));
    rows
}

fn summed<'a>(
    kind: &'static str,
    statements: impl Iterator<Item = (&'a str, &'a StatementTime)>,
) -> Vec<ProfileRow> {
    let mut sums: HashMap<&str, (u64, Duration)> = HashMap::new();
    let mut total = Duration::ZERO;
    for (name, statement) in statements {
        let (n_calls, time) = sums.entry(name).or_default();
        *n_calls += statement.n_runs;
        *time += statement.time;
        total += statement.time;
    }
    let total_s = total.as_secs_f64().max(f64::MIN_POSITIVE);
    let mut rows: Vec<ProfileRow> = sums
        .into_iter()
        .map(|(name, (n_calls, time))| ProfileRow {
            kind,
            name: name.to_owned(),
            n_calls,
            time,
            share: time.as_secs_f64() / total_s,
        })
        .collect();
    rows.sort_by(|a, b| b.time.cmp(&a.time).then_with(|| a.name.cmp(&b.name)));
    rows
}

/// The primitives of a profiled run, the slowest first.
pub(crate) fn read_operations(run: &Path) -> Result<Vec<Operation>, FolderError> {
    let mut operations = Vec::new();
    let columns = ["kind", "name", "calls", "milliseconds"];
    let table = TableReader::of_run(run, "profile")?.columns(&columns);
    table.for_each(|batch| {
        let (kind, name) = (string_column(batch, "kind")?, string_column(batch, "name")?);
        let n_calls = number_column::<UInt64Type>(batch, "calls")?;
        let ms = number_column::<Float64Type>(batch, "milliseconds")?;
        let rows = (0..batch.num_rows()).filter(|&at| kind.value(at) == "primitive");
        operations.extend(rows.map(|at| Operation {
            name: name.value(at).to_owned(),
            n_calls: n_calls.value(at),
            ms: ms.value(at),
        }));
        Ok(())
    })?;
    Ok(operations)
}

/// Writes `profile.parquet`.
///
/// # Errors
/// If the file cannot be written.
pub fn write_profile(run: &Path, rows: &[ProfileRow]) -> Result<(), FolderError> {
    let schema = Schema::new(vec![
        described(
            "row",
            DataType::UInt64,
            "the row's number: primitives first, then programs, the slowest of each first",
        ),
        described("kind", DataType::Utf8, "primitive or program"),
        described("name", DataType::Utf8, "the primitive's or the program's name"),
        described(
            "calls",
            DataType::UInt64,
            "statements evaluated; one that several programs share counts for the first of them",
        ),
        described("milliseconds", DataType::Float64, "time spent in them, ms"),
        described("share", DataType::Float64, "the fraction of the time of all statements"),
    ]);
    let columns: Vec<ArrayRef> = vec![
        Arc::new(UInt64Array::from_iter_values(0..rows.len() as u64)),
        Arc::new(StringArray::from_iter_values(rows.iter().map(|row| row.kind))),
        Arc::new(StringArray::from_iter_values(rows.iter().map(|row| &row.name))),
        Arc::new(UInt64Array::from_iter_values(rows.iter().map(|row| row.n_calls))),
        Arc::new(Float64Array::from_iter_values(
            rows.iter().map(|row| row.time.as_secs_f64() * 1e3),
        )),
        Arc::new(Float64Array::from_iter_values(rows.iter().map(|row| row.share))),
    ];
    let batch =
        RecordBatch::try_new(Arc::new(schema), columns).expect("the columns have one length");
    write_table(&run.join("profile.parquet"), &batch)
}
