//! Where the time went, if that was asked for.

use std::path::Path;

use arrow::array::AsArray;
use arrow::datatypes::{Float64Type, UInt64Type};
use serde_json::{Map, Value, json};

use crate::arc_run::{read_columns, words};
use crate::kept_rows::N_ROWS_MAX;
use crate::report_page::significant;
use crate::run_folder::FolderError;

/// The rows of `profile.parquet` by kind, as columns, the slowest first; null without `--profile`.
pub(super) fn json(run: &Path) -> Result<Value, FolderError> {
    const PROFILE: &str = "profile";
    let path = run.join(format!("{PROFILE}.parquet"));
    if !path.exists() {
        return Ok(Value::Null);
    }
    let damaged = |reason: String| FolderError::Damaged {
        path: path.clone(),
        reason,
    };
    let mut kinds: Map<String, Value> = Map::new();
    let columns = ["kind", "name", "calls", "milliseconds", "share"];
    for batch in read_columns(run, PROFILE, &columns)? {
        let batch = batch.map_err(|error| damaged(error.to_string()))?;
        let (kind, name) = (
            words(&batch, "kind").map_err(damaged)?,
            words(&batch, "name").map_err(damaged)?,
        );
        let floats = |column: &str| {
            let found = batch.column_by_name(column);
            let numbers = found.and_then(|column| column.as_primitive_opt::<Float64Type>());
            numbers.ok_or_else(|| damaged(format!("{column} is no number")))
        };
        let (ms, share) = (floats("milliseconds")?, floats("share")?);
        let n_calls = batch
            .column_by_name("calls")
            .and_then(|column| column.as_primitive_opt::<UInt64Type>())
            .ok_or_else(|| damaged("calls is no number".to_owned()))?;
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
    }
    Ok(Value::Object(kinds))
}
