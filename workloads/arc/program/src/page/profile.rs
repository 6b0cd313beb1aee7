//! Where the time went, if the run was profiled.

use std::path::Path;

use arrow::datatypes::{Float64Type, UInt64Type};
use serde_json::{Map, Value, json};

use swathe_run::page::significant;
use swathe_run::store::kept_rows::N_ROWS_MAX;
use swathe_run::store::run_folder::FolderError;
use swathe_run::store::table_reader::{TableReader, number_column, string_column};

/// The rows of `profile.parquet` by kind, as columns, the slowest first; null without `--profile`.
pub(super) fn json(run: &Path) -> Result<Value, FolderError> {
    let path = run.join("profile.parquet");
    if !path.exists() {
        return Ok(Value::Null);
    }
    let mut kinds: Map<String, Value> = Map::new();
    let columns = ["kind", "name", "calls", "milliseconds", "share"];
    TableReader::open(&path)?.columns(&columns).for_each(|batch| {
        let (kind, name) = (string_column(batch, "kind")?, string_column(batch, "name")?);
        let floats = |column: &str| number_column::<Float64Type>(batch, column);
        let (ms, share) = (floats("milliseconds")?, floats("share")?);
        let n_calls = number_column::<UInt64Type>(batch, "calls")?;
        for at in 0..batch.num_rows() {
            let rows = kinds
                .entry(kind.value(at))
                .or_insert_with(|| json!({"name": [], "calls": [], "ms": [], "share": []}));
            if rows["name"].as_array().map_or(0, Vec::len) >= N_ROWS_MAX {
                continue;
            }
            let mut push = |column: &str, value: Value| {
                if let Some(column) = rows[column].as_array_mut() {
                    column.push(value);
                }
            };
            push("name", json!(name.value(at)));
            push("calls", json!(n_calls.value(at)));
            push("ms", json!(significant(ms.value(at))));
            push("share", json!(significant(share.value(at))));
        }
        Ok(())
    })?;
    Ok(Value::Object(kinds))
}
