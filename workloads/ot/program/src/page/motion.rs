//! What came out of a run, in a few figures over all of its pairs.

use std::path::Path;

use arrow::array::Array;
use serde_json::{Value, json};

use super::pair_columns::{DOUBT, TABLE, numbers};
use swathe_run::page::rounded;
use swathe_run::store::run_folder::FolderError;
use swathe_run::store::table_reader::{TableReader, string_column};

/// The columns of the figures that the page begins with.
const NAMES: [&str; 7] = [
    "displacement_p50_px",
    "displacement_p50_um",
    "displacement_err_px",
    "displacement_err_um",
    "mass_change",
    "mass_created",
    "mass_destroyed",
];

/// An error bar below this part of the displacement makes a pair sure.
const SURE_SHARE: f64 = 0.1;

/// Medians and ranges over the pairs that have mass on both sides.
pub(super) fn figures(run: &Path) -> Result<Value, FolderError> {
    let mut columns: Vec<Vec<f64>> = vec![Vec::new(); NAMES.len()];
    let (mut n_moved, mut n_converged, mut n_doubted) = (0_u64, 0_u64, 0_u64);
    let mut names = vec!["status", DOUBT];
    names.extend(NAMES);
    let table = TableReader::open(&run.join(TABLE))?.columns(&names);
    table.for_each(|batch| {
        let statuses = string_column(batch, "status")?;
        let moved = |at: &usize| ["converged", "max_iterations"].contains(&statuses.value(*at));
        let places: Vec<usize> = (0..batch.num_rows()).filter(moved).collect();
        n_moved += places.len() as u64;
        let is_converged = |at: &&usize| statuses.value(**at) == "converged";
        n_converged += places.iter().filter(is_converged).count() as u64;
        if batch.column_by_name(DOUBT).is_some() {
            let doubts = string_column(batch, DOUBT)?;
            n_doubted += (doubts.len() - doubts.null_count()) as u64;
        }
        for (values, name) in columns.iter_mut().zip(NAMES) {
            let numbers = numbers(batch, name)?;
            let value = |at: &usize| {
                if numbers.is_null(*at) { f64::NAN } else { numbers.value(*at) }
            };
            values.extend(places.iter().map(value));
        }
        Ok(())
    })?;
    let [px, um, err_px, err_um, change, created, destroyed] = &columns[..] else {
        return Ok(Value::Null);
    };
    let pairs = err_px.iter().zip(px);
    let n_sure = pairs.filter(|(err, px)| **err <= SURE_SHARE * **px).count();
    Ok(json!({
        "n_moved": n_moved,
        "n_converged": n_converged,
        "n_doubted": n_doubted,
        "n_sure": n_sure,
        "has_error_bar": err_px.iter().any(|err| !err.is_nan()),
        "displacement_px": spread(px),
        "displacement_um": spread(um),
        "err_px": spread(err_px),
        "err_um": spread(err_um),
        "mass_change": spread(change),
        "created": spread(created),
        "destroyed": spread(destroyed),
    }))
}

/// The 10th, 50th and 90th percentiles of what is known; null if nothing is.
fn spread(values: &[f64]) -> Value {
    let mut known: Vec<f64> = values.iter().copied().filter(|v| !v.is_nan()).collect();
    known.sort_unstable_by(f64::total_cmp);
    let Some(last) = known.len().checked_sub(1) else {
        return Value::Null;
    };
    let at = |share: f64| rounded(known[(share * last as f64).round() as usize]);
    json!({"p10": at(0.1), "p50": at(0.5), "p90": at(0.9)})
}

#[cfg(test)]
mod tests {
    use super::{DOUBT, NAMES};
    use crate::pair_table::PairRow;
    use swathe_run::store::record::Record as _;

    #[test]
    fn the_columns_are_declared() {
        for name in NAMES.into_iter().chain(["status", DOUBT]) {
            assert!(PairRow::declared().iter().any(|column| column.name == name), "{name}");
        }
    }
}
