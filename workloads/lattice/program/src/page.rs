//! What a run of questions about lattices puts on its page: the answers, and how long they took by
//! the number of vertices.

use std::collections::BTreeMap;
use std::path::Path;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{Float64Type, UInt64Type};
use serde_json::{Value, json};

use swathe_run::page::significant;
use swathe_run::store::kept_rows::{N_ROWS_MAX, kept};
use swathe_run::store::run_folder::FolderError;
use swathe_run::store::table_reader::{TableReader, number_column, string_column};
use swathe_run::store::timing_table::Timings;

/// The data of the page.
pub(crate) fn data(run: &Path) -> Result<Value, FolderError> {
    // A run that was interrupted has no tables yet.
    for name in ["queries.parquet", "timing.parquet"] {
        if !run.join(name).exists() {
            return Ok(json!({ "absent": name }));
        }
    }
    let queries = queries(run, &Timings::read(run)?)?;
    let mut slowest: Vec<usize> = (0..queries.len()).collect();
    slowest.sort_by(|&a, &b| queries[b].ms.total_cmp(&queries[a].ms));
    let rows = kept(queries.len(), N_ROWS_MAX, slowest);
    let mut columns: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    let mut push = |name, value: Value| columns.entry(name).or_default().push(value);
    for query in rows.iter().map(|&at| &queries[at]) {
        push("row", json!(query.row));
        push("id", json!(query.id));
        push("op", json!(query.op));
        push("sizes", json!(query.sizes));
        push("n_vertices", json!(significant(query.n_vertices)));
        push("n_blocked", json!(query.n_blocked));
        push("ms", json!(significant(query.ms)));
        for (name, value) in &query.answer {
            push(name, value.clone());
        }
    }
    Ok(json!({
        "mazes": mazes(run)?,
        "n": queries.len(),
        "queries": columns,
        "sizes": sizes(&queries),
    }))
}

struct Query {
    row: u64,
    id: String,
    op: String,
    sizes: String,
    n_vertices: f64,
    n_blocked: u64,
    ms: f64,
    answer: Vec<(&'static str, Value)>,
}

/// What stands in a row of an answer, as far as a table of its kind has it. Paths and distances
/// stay in the table: they may be as long as the lattice is large.
const ANSWERS: [&str; 9] = [
    "from_vertex",
    "to_vertex",
    "found",
    "length",
    "connected",
    "diameter",
    "n_edges",
    "eccentricity",
    "n_unreachable",
];

fn queries(run: &Path, timings: &Timings) -> Result<Vec<Query>, FolderError> {
    let mut columns = vec!["row", "query_id", "op", "sizes", "n_blocked"];
    columns.extend(ANSWERS);
    let mut queries = Vec::new();
    let table = TableReader::of_run(run, "queries")?.columns(&columns);
    table.for_each(|batch| {
        let numbers = |name: &str| number_column::<UInt64Type>(batch, name);
        let texts = |name: &str| string_column(batch, name);
        let (row, n_blocked) = (numbers("row")?, numbers("n_blocked")?);
        let (id, op, sizes) = (texts("query_id")?, texts("op")?, texts("sizes")?);
        for at in 0..batch.num_rows() {
            let ms = timings.of(row.value(at)).map_or(0.0, |(ms, _)| ms);
            let sizes = sizes.value(at);
            queries.push(Query {
                row: row.value(at),
                id: id.value(at).to_owned(),
                op: op.value(at).to_owned(),
                n_vertices: n_vertices(sizes)
                    .ok_or_else(|| format!("it has a lattice of {sizes:?}"))?,
                sizes: sizes.to_owned(),
                n_blocked: n_blocked.value(at),
                ms,
                answer: answer(batch, at),
            });
        }
        Ok(())
    })?;
    Ok(queries)
}

/// All vertices of a lattice, blocked ones included; there may be more than any integer holds.
fn n_vertices(sizes: &str) -> Option<f64> {
    sizes
        .split('x')
        .map(|size| size.parse::<f64>().ok())
        .product()
}

fn answer(batch: &RecordBatch, at: usize) -> Vec<(&'static str, Value)> {
    let columns = ANSWERS.iter().filter_map(|name| {
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

/// Lattices of two axes with their blocked vertices and paths, the first few.
fn mazes(run: &Path) -> Result<Vec<Value>, FolderError> {
    const N_MAZES_MAX: usize = 12;
    let mut mazes = Vec::new();
    let table = TableReader::of_run(run, "queries")?;
    if table.builder.schema().field_with_name("blocked").is_err() {
        return Ok(mazes);
    }
    let table = table.columns(&["query_id", "sizes", "path", "blocked"]);
    table.for_each(|batch| {
        let (ids, sizes) = (
            string_column(batch, "query_id")?,
            string_column(batch, "sizes")?,
        );
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

/// Times by the number of vertices, in steps of ten.
fn sizes(queries: &[Query]) -> Value {
    let mut groups: BTreeMap<i32, Vec<f64>> = BTreeMap::new();
    for query in queries {
        let power = query.n_vertices.max(1.0).log10().floor() as i32;
        groups.entry(power).or_default().push(query.ms);
    }
    let groups = groups.into_iter().map(|(power, mut ms)| {
        ms.sort_by(f64::total_cmp);
        json!({
            "power": power,
            "n": ms.len(),
            "ms_median": significant(ms[ms.len() / 2]),
            "ms_max": ms.last().copied().map(significant),
            "ms": significant(ms.iter().sum()),
        })
    });
    groups.collect()
}

#[cfg(test)]
mod tests {
    use super::n_vertices;

    #[test]
    fn vertices_are_counted_beyond_integers() {
        assert_eq!(n_vertices("10x20x3"), Some(600.0));
        assert_eq!(n_vertices("7"), Some(7.0));
        let large = ["1000000000"; 5].join("x");
        // Five roundings of the last bit at most.
        assert!(n_vertices(&large).is_some_and(|n| (n / 1e45 - 1.0).abs() < 1e-15));
        assert_eq!(n_vertices("10x"), None);
    }
}
