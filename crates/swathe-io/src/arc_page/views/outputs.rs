//! The outputs that a page shows: a few rows of a long table.

use std::fs::File;
use std::path::Path;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, UInt64Type};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReaderBuilder, RowSelection};
use serde_json::{Value, json};

use super::super::grid_text::short;
use crate::arc_picture::SIDE_DRAWN_MAX;
use crate::arc_run::words;
use crate::arc_table::RESULTS;
use crate::run_folder::FolderError;

/// A call whose output is shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    /// Where in the table its row is.
    pub(super) position: u64,
    pub(super) view_idx: usize,
    pub(super) program_idx: usize,
    pub(super) sample_idx: usize,
}

/// Reads some outputs, given in the order of the table.
pub(super) fn outputs(run: &Path, wanted: &[Wanted]) -> Result<Vec<(Wanted, Value)>, FolderError> {
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let path = run.join(format!("{RESULTS}.parquet"));
    let damaged = |reason: String| FolderError::Damaged {
        path: path.clone(),
        reason,
    };
    let file = File::open(&path).map_err(|source| FolderError::Read {
        path: path.clone(),
        source,
    })?;
    let builder = ParquetRecordBatchReaderBuilder::try_new(file)
        .map_err(|error| damaged(error.to_string()))?;
    let n_rows = builder.metadata().file_metadata().num_rows();
    let ranges = wanted
        .iter()
        .map(|wanted| wanted.position as usize..wanted.position as usize + 1);
    let selection = RowSelection::from_consecutive_ranges(ranges, n_rows as usize);
    let mask = ProjectionMask::columns(
        builder.parquet_schema(),
        ["error_kind", "output", "output_bytes"],
    );
    let reader = builder
        .with_projection(mask)
        .with_row_selection(selection)
        .build()
        .map_err(|error| damaged(error.to_string()))?;
    let mut outputs = Vec::with_capacity(wanted.len());
    for batch in reader {
        let batch = batch.map_err(|error| damaged(error.to_string()))?;
        outputs.extend(outputs_of(&batch).map_err(damaged)?);
    }
    Ok(wanted.iter().copied().zip(outputs).collect())
}

fn outputs_of(batch: &RecordBatch) -> Result<Vec<Value>, String> {
    let column = |name: &str| {
        let found = batch.column_by_name(name);
        found.ok_or_else(|| format!("it has no column {name}"))
    };
    let error_kind = words(batch, "error_kind")?;
    let output =
        cast(column("output")?, &DataType::LargeUtf8).map_err(|error| error.to_string())?;
    let output = output.as_string::<i64>();
    let n_bytes = column("output_bytes")?
        .as_primitive_opt::<UInt64Type>()
        .ok_or("output_bytes is no number")?;
    let value = |at: usize| {
        if error_kind.is_valid(at) {
            json!({ "error": error_kind.value(at) })
        } else if output.is_null(at) {
            json!({ "not_kept": n_bytes.value(at) })
        } else {
            drawn(output.value(at))
        }
    };
    Ok((0..batch.num_rows()).map(value).collect())
}

/// An encoded output as a page draws or tells it.
fn drawn(text: &str) -> Value {
    #[derive(serde::Deserialize)]
    struct Encoded {
        grid: Vec<Vec<i64>>,
    }
    let grid = text
        .strip_prefix("{\"grid\":")
        .and_then(|rest| rest.strip_suffix('}'));
    // Most are small grids of colours.
    if text.len() <= 2 * SIDE_DRAWN_MAX * SIDE_DRAWN_MAX
        && let Some(short) = grid.and_then(short)
        && is_small(&short)
    {
        return json!(short);
    }
    match serde_json::from_str::<Encoded>(text) {
        Err(_) => json!({ "text": shortened(text) }),
        Ok(Encoded { grid }) => {
            let width = grid.iter().map(Vec::len).max().unwrap_or(0);
            if grid.len().max(width) > SIDE_DRAWN_MAX {
                json!({ "large": [grid.len(), width] })
            } else {
                json!({ "rows": grid })
            }
        }
    }
}

/// Whether neither side of a short grid is too long to be drawn; its height is not told by its
/// text, but its cells are at most so many.
fn is_small(short: &str) -> bool {
    let width = short.split(':').next().and_then(|width| width.parse().ok());
    let n_cells: usize = short
        .bytes()
        .skip_while(|byte| *byte != b':')
        .map(|byte| match byte {
            b'0'..=b'9' => 1,
            b'b'..=b'z' => usize::from(byte - b'a'),
            _ => 0,
        })
        .sum();
    width.is_some_and(|width: usize| width <= SIDE_DRAWN_MAX && n_cells <= width * SIDE_DRAWN_MAX)
}

/// Long encodings are cut: they are in the table.
fn shortened(text: &str) -> String {
    const N_CHARACTERS_MAX: usize = 200;
    match text.char_indices().nth(N_CHARACTERS_MAX) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_are_drawn_where_they_can_be() {
        let long = format!("{{\"grid\":[[{}]]}}", vec!["1"; 65].join(","));
        let tall = format!("{{\"grid\":[{}]}}", vec!["[1]"; 65].join(","));
        let cases = [
            (r#"{"grid":[[1,1],[0,2]]}"#, json!("2:1b02")),
            (r#"{"grid":[[1],[0,-2]]}"#, json!({"rows": [[1], [0, -2]]})),
            (r#"{"grid":[[12]]}"#, json!({"rows": [[12]]})),
            (long.as_str(), json!({"large": [1, 65]})),
            (tall.as_str(), json!({"large": [65, 1]})),
            ("3", json!({"text": "3"})),
            (r#"{"grid":[]}"#, json!({"rows": []})),
        ];
        for (text, expected) in cases {
            assert_eq!(drawn(text), expected, "{text}");
        }
        let text = "é".repeat(300);
        let cut = format!("{}…", "é".repeat(200));
        assert_eq!(drawn(&text), json!({ "text": cut }));
    }
}
