//! The page section of a lattice run: the answers, and their times by the number of vertices.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{Float64Type, UInt64Type};
use serde_json::{Value, json};

use crate::lattice_row::{AnalysisRow, LayersRow, MazeRow, Question};
use swathe_run::page::significant;
use swathe_run::store::kept_rows::{N_ROWS_MAX, greatest, kept};
use swathe_run::store::record::Record as _;
use swathe_run::store::run_folder::FolderError;
use swathe_run::store::table_reader::{TableReader, number_column, string_column};
use swathe_run::store::timing_table::Timings;

/// The data of the page.
pub(crate) fn data(run: &Path) -> Result<Value, FolderError> {
    // An interrupted run has no tables yet.
    for name in ["queries.parquet", "timing.parquet"] {
        if !run.join(name).exists() {
            return Ok(json!({ "absent": name }));
        }
    }
    let timings = Timings::read(run)?;
    let (all_ms, sizes) = times(run, &timings)?;
    let slowest = greatest(&all_ms, N_ROWS_MAX);
    let rows = kept(all_ms.len(), N_ROWS_MAX, slowest);
    Ok(json!({
        "mazes": mazes(run)?,
        "n": all_ms.len(),
        "queries": columns(run, &timings, &rows)?,
        "sizes": sizes,
    }))
}

/// The columns of answers that the page shows, of all kinds of tables. Paths and distances stay in the table: they may be
/// as long as the lattice is large.
fn answers() -> BTreeSet<&'static str> {
    let kinds = [AnalysisRow::declared(), MazeRow::declared(), LayersRow::declared()];
    let n_asked = Question::declared().len();
    let columns = kinds.into_iter().flat_map(move |columns| &columns[n_asked..]);
    columns.filter(|column| column.is_on_page).map(|column| column.name.as_str()).collect()
}

/// What each question took, and the times by the number of vertices in steps of ten. There may be
/// millions of questions: of each only its time is held.
fn times(run: &Path, timings: &Timings) -> Result<(Vec<f64>, Value), FolderError> {
    let mut all_ms = Vec::new();
    let mut groups: BTreeMap<i32, Vec<f32>> = BTreeMap::new();
    let table = TableReader::of_run(run, "queries")?.columns(&["row", "sizes"]);
    table.for_each(|batch| {
        let row = number_column::<UInt64Type>(batch, "row")?;
        let sizes = string_column(batch, "sizes")?;
        for at in 0..batch.num_rows() {
            let ms = timings.of(row.value(at)).map_or(0.0, |(ms, _)| ms);
            let power = n_vertices(sizes.value(at))?.max(1.0).log10().floor() as i32;
            all_ms.push(ms);
            groups.entry(power).or_default().push(ms as f32);
        }
        Ok(())
    })?;
    let groups = groups.into_iter().map(|(power, mut ms)| {
        ms.sort_by(f32::total_cmp);
        json!({
            "power": power,
            "n": ms.len(),
            "ms_median": significant(ms[ms.len() / 2].into()),
            "ms_max": ms.last().map(|&ms| significant(ms.into())),
            "ms": significant(ms.iter().copied().map(f64::from).sum()),
        })
    });
    Ok((all_ms, groups.collect()))
}

/// The rows at these places of the table, ascending, as columns.
fn columns(
    run: &Path,
    timings: &Timings,
    rows: &[usize],
) -> Result<BTreeMap<&'static str, Vec<Value>>, FolderError> {
    let mut names = vec!["row", "query_id", "op", "sizes", "n_blocked"];
    let answers = answers();
    names.extend(&answers);
    let mut columns: BTreeMap<&'static str, Vec<Value>> = BTreeMap::new();
    let mut push = |name, value: Value| columns.entry(name).or_default().push(value);
    let (mut n_before, mut rows) = (0, rows.iter().peekable());
    let table = TableReader::of_run(run, "queries")?.columns(&names);
    table.for_each(|batch| {
        let numbers = |name: &str| number_column::<UInt64Type>(batch, name);
        let texts = |name: &str| string_column(batch, name);
        let (row, n_blocked) = (numbers("row")?, numbers("n_blocked")?);
        let (id, op, sizes) = (texts("query_id")?, texts("op")?, texts("sizes")?);
        let end = n_before + batch.num_rows();
        while let Some(at) = rows.next_if(|&&at| at < end) {
            let at = at - n_before;
            let ms = timings.of(row.value(at)).map_or(0.0, |(ms, _)| ms);
            push("row", json!(row.value(at)));
            push("id", json!(id.value(at)));
            push("op", json!(op.value(at)));
            push("sizes", json!(sizes.value(at)));
            let n_vertices = n_vertices(sizes.value(at))?;
            push("n_vertices", json!(significant(n_vertices)));
            push("n_blocked", json!(n_blocked.value(at)));
            push("ms", json!(significant(ms)));
            for (name, value) in answer(batch, at, &answers) {
                push(name, value);
            }
        }
        n_before = end;
        Ok(())
    })?;
    Ok(columns)
}

/// All vertices of a lattice, including blocked ones; a float, because the count may exceed every
/// integer type.
fn n_vertices(sizes: &str) -> Result<f64, String> {
    let factors = sizes.split('x').map(|size| size.parse::<f64>().ok());
    let product: Option<f64> = factors.product();
    product.ok_or_else(|| format!("it has a lattice of {sizes:?}"))
}

fn answer(
    batch: &RecordBatch,
    at: usize,
    names: &BTreeSet<&'static str>,
) -> Vec<(&'static str, Value)> {
    let columns = names.iter().filter_map(|name| {
        let column = batch.column_by_name(name)?;
        let value = if column.is_null(at) {
            Value::Null
        } else if let Some(numbers) = column.as_primitive_opt::<UInt64Type>() {
            json!(numbers.value(at))
        } else if let Some(numbers) = column.as_primitive_opt::<Float64Type>() {
            json!(significant(numbers.value(at)))
        } else if let Some(flags) = column.as_boolean_opt() {
            json!(flags.value(at))
        } else {
            json!(column.as_string_opt::<i32>()?.value(at))
        };
        Some((*name, value))
    });
    columns.collect()
}

/// The first few lattices of two axes, with their blocked vertices and paths.
fn mazes(run: &Path) -> Result<Vec<Value>, FolderError> {
    const N_MAZES_MAX: usize = 12;
    let mut mazes = Vec::new();
    let table = TableReader::of_run(run, "queries")?;
    if table.builder.schema().field_with_name("blocked").is_err() {
        return Ok(mazes);
    }
    let table = table.columns(&["query_id", "sizes", "path", "blocked"]);
    table.for_each(|batch| {
        let (ids, sizes) = (string_column(batch, "query_id")?, string_column(batch, "sizes")?);
        let list = |name: &str, at: usize| -> Option<Vec<u64>> {
            let column = batch.column_by_name(name)?.as_list_opt::<i32>()?;
            let values = column.is_valid(at).then(|| column.value(at))?;
            Some(values.as_primitive_opt::<UInt64Type>()?.values().to_vec())
        };
        for at in 0..batch.num_rows() {
            if mazes.len() == N_MAZES_MAX {
                break;
            }
            if let Some(blocked) = list("blocked", at) {
                mazes.push(json!({
                    "id": ids.value(at),
                    "sizes": sizes.value(at),
                    "blocked": blocked,
                    "path": list("path", at),
                }));
            }
        }
        Ok(())
    })?;
    Ok(mazes)
}

/// The times, grouped by the power of ten of the number of vertices.
#[cfg(test)]
mod tests {
    use super::n_vertices;

    #[test]
    fn vertices_are_counted_beyond_integers() {
        assert_eq!(n_vertices("10x20x3"), Ok(600.0));
        assert_eq!(n_vertices("7"), Ok(7.0));
        let large = ["1000000000"; 5].join("x");
        // Five roundings of at most one unit in the last place.
        assert!(n_vertices(&large).is_ok_and(|n| (n / 1e45 - 1.0).abs() < 1e-15));
        assert!(n_vertices("10x").is_err());
    }
}
