//! The page of a transport run: a table of its pairs, details of some pairs, and figures along
//! series.
//!
//! Nothing is solved again for the page. Workers write a small view ([`PairView`]) of some pairs
//! while the maps are in memory; everything else comes from the tables.

mod choice;
mod motion;
mod pair_columns;
mod series_columns;
mod shrink;
mod view;
mod view_files;

use std::path::Path;

use serde_json::{Map, Value, json};

use choice::N_VIEWS_MAX;
pub(crate) use choice::has_view;
use pair_columns::PairColumns;
use swathe_run::kind::Apart;
use swathe_run::store::run_folder::{FolderError, RunJson};
use swathe_run::store::table_reader::{TableReader, string_column};
pub(crate) use view::PairView;
pub(crate) use view_files::ViewFiles;
use view_files::Views;

/// The most rows on a page. The table file has all rows.
const N_ROWS_MAX: usize = 20_000;

/// The residual curve of a run's only pair, as a few lines of text.
pub(crate) fn residual_lines(run: &Path) -> Result<Vec<String>, FolderError> {
    const N_LINES: usize = 12;
    let views = Views::read(run, &RunJson::read(run)?);
    let Some((_, view)) = views.by_row.first() else {
        return Ok(Vec::new());
    };
    let numbers = |name: &str| -> Vec<f64> {
        let values = view["residuals"][name].as_array();
        let values = values.into_iter().flatten();
        values.filter_map(Value::as_f64).collect()
    };
    let points: Vec<(f64, f64)> = numbers("sweep").into_iter().zip(numbers("residual")).collect();
    let step = points.len().div_ceil(N_LINES).max(1);
    let is_shown = |at: usize| at.is_multiple_of(step) || at + 1 == points.len();
    let mut lines = vec!["sweep   residual".to_owned()];
    for (_, (sweep, residual)) in points.iter().enumerate().filter(|(at, _)| is_shown(*at)) {
        lines.push(format!("{sweep:>5}   {residual:.2e}"));
    }
    Ok(lines)
}

/// The pairs of which a frame has no mass: they have a row, and there was nothing to solve.
pub(crate) fn without_mass(run: &Path) -> Result<Option<Apart>, FolderError> {
    let path = run.join(pair_columns::TABLE);
    if !path.exists() {
        return Ok(None);
    }
    let mut n = 0;
    TableReader::open(&path)?.columns(&["status"]).for_each(|batch| {
        let statuses = string_column(batch, "status")?;
        let is_empty = |status: &Option<&str>| status.is_some_and(|s| s.contains("empty"));
        n += statuses.iter().filter(is_empty).count() as u64;
        Ok(())
    })?;
    Ok((n > 0).then_some(Apart { n, what: "without mass" }))
}

/// The data that `S.pages.ot` shows, from the files of a run folder; null if the run was
/// interrupted before it had a table.
pub(crate) fn data(run: &Path) -> Result<Value, FolderError> {
    if !run.join(pair_columns::TABLE).exists() {
        return Ok(Value::Null);
    }
    let run_json = RunJson::read(run)?;
    let views = Views::read(run, &run_json);
    let viewed: Vec<u64> = views.by_row.iter().map(|(row, _)| *row).collect();
    let columns = PairColumns::read(run, N_ROWS_MAX, &viewed)?;
    let series = series_columns::of(&columns.carried);
    let n_views_all = run_json.identity.n_problems.min(N_VIEWS_MAX);
    // The folder also holds the views of other shards' pairs.
    let views_shown: Map<String, Value> = views
        .by_row
        .into_iter()
        .filter(|(row, _)| columns.rows.binary_search(row).is_ok())
        .map(|(row, view)| (row.to_string(), view))
        .collect();
    let settings = &run_json.identity.settings;
    let setting = |name: &str| settings.get(name).cloned().unwrap_or(Value::Null);
    Ok(json!({
        "run": run.display().to_string(),
        "table": pair_columns::TABLE,
        "n_pairs": columns.n_rows,
        "n_failed": columns.n_failed,
        "motion": motion::figures(run)?,
        "settings": {
            "tolerance": setting("tolerance"),
            "max_iterations": setting("max-iterations"),
            "epsilon": setting("epsilon"),
            "relaxation": setting("relaxation"),
            "normalize": setting("normalize"),
            "raw_velocity": setting("raw-velocity"),
        },
        "n_views": views_shown.len(),
        "n_views_max": n_views_all,
        "n_views_damaged": views.n_damaged,
        "views_trouble": views.trouble,
        "views": views_shown,
        "series": series,
        "columns": columns.json(),
    }))
}
