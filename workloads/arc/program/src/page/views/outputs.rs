//! The outputs that a page shows: a few rows of a long table.

use std::ops::Range;
use std::path::Path;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, UInt64Type};
use parquet::arrow::arrow_reader::RowSelection;
use parquet::file::metadata::ParquetMetaData;
use serde_json::{Value, json};

use super::super::grid_text::short;
use crate::arc_picture::SIDE_DRAWN_MAX;
use crate::arc_table::RESULTS;
use swathe_run::store::run_folder::FolderError;
use swathe_run::store::table_reader::{TableReader, string_column};

/// A call whose output the page should show.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    /// The position of its row in the table.
    pub(super) position: u64,
    pub(super) view_idx: usize,
    /// The best program is the first.
    pub(super) program_idx: usize,
    pub(super) sample_idx: usize,
}

/// At most this many bytes of outputs are decompressed for a page. A row group stores each of its
/// outputs once and must be decompressed whole, whichever programs made them. All outputs of a
/// large run would take longer than the rest of the page.
const N_BYTES_MAX: u64 = 48 << 20;

/// Reads outputs from the row groups that hold the most outputs of the best programs, up to the
/// limit. `wanted` and the results are in the order of the table.
pub(super) fn outputs(run: &Path, wanted: &[Wanted]) -> Result<Vec<(Wanted, Value)>, FolderError> {
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let mut table = TableReader::of_run(run, RESULTS)?;
    let groups = groups(table.builder.metadata(), wanted);
    let chosen = chosen(&groups, N_BYTES_MAX);
    let mut read: Vec<Wanted> = Vec::new();
    let mut positions: Vec<usize> = Vec::new();
    let mut n_rows = 0;
    for group in chosen.iter().map(|&at| &groups[at]) {
        for wanted in &wanted[group.wanted.clone()] {
            positions.push(n_rows + (wanted.position - group.first_row) as usize);
            read.push(*wanted);
        }
        n_rows += group.n_rows as usize;
    }
    let ranges = positions.into_iter().map(|position| position..position + 1);
    let selection = RowSelection::from_consecutive_ranges(ranges, n_rows);
    table.builder = table.builder.with_row_groups(chosen).with_row_selection(selection);
    let mut outputs = Vec::with_capacity(read.len());
    let table = table.columns(&["error_kind", "output", "output_bytes"]);
    table.for_each(|batch| {
        outputs.extend(outputs_of(batch)?);
        Ok(())
    })?;
    Ok(read.into_iter().zip(outputs).collect())
}

/// A row group of the table.
struct Group {
    first_row: u64,
    n_rows: u64,
    /// The size of its outputs, decompressed.
    n_bytes: u64,
    /// Which of the wanted calls are in it.
    wanted: Range<usize>,
    /// How many of them are of the best programs.
    n_best: usize,
}

fn groups(metadata: &ParquetMetaData, wanted: &[Wanted]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let (mut first_row, mut first_wanted) = (0, 0);
    for group in metadata.row_groups() {
        let n_rows = u64::try_from(group.num_rows()).unwrap_or(0);
        let n_inside =
            wanted[first_wanted..].partition_point(|wanted| wanted.position < first_row + n_rows);
        let inside = first_wanted..first_wanted + n_inside;
        let outputs =
            group.columns().iter().find(|column| column.column_path().string() == "output");
        groups.push(Group {
            first_row,
            n_rows,
            n_bytes: outputs
                .and_then(|outputs| u64::try_from(outputs.uncompressed_size()).ok())
                .unwrap_or(0),
            n_best: wanted[inside.clone()].iter().filter(|wanted| wanted.program_idx == 0).count(),
            wanted: inside,
        });
        first_row += n_rows;
        first_wanted += n_inside;
    }
    groups
}

/// The numbers of the groups to read, ascending: at least one, if anything is wanted.
fn chosen(groups: &[Group], n_bytes_max: u64) -> Vec<usize> {
    let mut by_worth: Vec<usize> =
        (0..groups.len()).filter(|&at| !groups[at].wanted.is_empty()).collect();
    by_worth.sort_by_key(|&at| std::cmp::Reverse((groups[at].n_best, groups[at].wanted.len())));
    let mut n_bytes = 0;
    let mut chosen: Vec<usize> = Vec::new();
    for at in by_worth {
        if chosen.is_empty() || n_bytes + groups[at].n_bytes <= n_bytes_max {
            n_bytes += groups[at].n_bytes;
            chosen.push(at);
        }
    }
    chosen.sort_unstable();
    chosen
}

fn outputs_of(batch: &RecordBatch) -> Result<Vec<Value>, String> {
    let column = |name: &str| {
        let found = batch.column_by_name(name);
        found.ok_or_else(|| format!("it has no column {name}"))
    };
    let error_kind = string_column(batch, "error_kind")?;
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

/// An encoded output as a page shows it.
fn drawn(text: &str) -> Value {
    #[derive(serde::Deserialize)]
    struct Encoded {
        grid: Vec<Vec<i64>>,
    }
    let grid = text.strip_prefix("{\"grid\":").and_then(|rest| rest.strip_suffix('}'));
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

/// Whether neither side of a short grid is too long to be drawn. The text does not hold the height,
/// so the number of cells is compared instead.
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

/// Cuts a long encoding; the table holds all of it.
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
    fn the_groups_of_the_best_programs_come_first() {
        let group = |n_bytes: u64, n_wanted: usize, n_best: usize| Group {
            first_row: 0,
            n_rows: 10,
            n_bytes,
            wanted: 0..n_wanted,
            n_best,
        };
        let groups =
            [group(40, 3, 0), group(40, 9, 0), group(10, 0, 0), group(50, 1, 1), group(10, 2, 0)];
        assert_eq!(chosen(&groups, 100), [1, 3, 4]);
        assert_eq!(chosen(&groups, 1), [3], "one is always read");
        assert_eq!(chosen(&groups, 1000), [0, 1, 3, 4]);
        assert_eq!(chosen(&groups[2..3], 1000), [0usize; 0]);
    }

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
