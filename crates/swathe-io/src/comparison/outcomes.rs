//! Outcomes: which problems ended otherwise.

use std::collections::BTreeMap;
use std::path::Path;

use arrow::array::AsArray;
use arrow::datatypes::UInt64Type;

use crate::reported_run::ReportedRun;
use crate::run_folder::{FolderError, RunState};
use crate::table_reader::open;

/// Problems that ended otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutcomeChanges {
    /// How many.
    pub n_changed: u64,
    /// How many have no answer in each run.
    pub n_unsolved: [u64; 2],
    /// The first few.
    pub first: Vec<OutcomeChange>,
}

/// A problem that ended otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutcomeChange {
    /// The problem.
    pub row: u64,
    /// The name users know it by.
    pub id: String,
    /// Why it has no answer in each run; absent where it has one.
    pub kinds: [Option<String>; 2],
}

/// Enough to see what kind of problems they are.
pub(super) const N_FIRST: usize = 5;

/// Joins what both runs say of their failures, by row. Absent if one of them has no tables.
pub(super) fn outcomes(runs: [&ReportedRun; 2]) -> Result<Option<OutcomeChanges>, FolderError> {
    if runs.iter().any(|run| run.run.state != RunState::Complete) {
        return Ok(None);
    }
    let [before, after] = runs.map(|run| failures(&run.path.join("failures.parquet")));
    let unsolved = [before?, after?];
    let mut changes = OutcomeChanges {
        n_unsolved: unsolved.each_ref().map(|unsolved| unsolved.len() as u64),
        ..OutcomeChanges::default()
    };
    let mut rows: Vec<u64> = unsolved
        .iter()
        .flat_map(|side| side.keys().copied())
        .collect();
    rows.sort_unstable();
    rows.dedup();
    for row in rows {
        let sides = unsolved.each_ref().map(|side| side.get(&row));
        let kinds = sides.map(|side| side.map(|(_, kind)| kind.clone()));
        if kinds[0] == kinds[1] {
            continue;
        }
        changes.n_changed += 1;
        if changes.first.len() < N_FIRST {
            let id = sides.iter().flatten().map(|(id, _)| id.clone()).next();
            changes.first.push(OutcomeChange {
                row,
                id: id.unwrap_or_default(),
                kinds,
            });
        }
    }
    Ok(Some(changes))
}

/// Id and kind of every failure, by row.
fn failures(path: &Path) -> Result<BTreeMap<u64, (String, String)>, FolderError> {
    let mut failures = BTreeMap::new();
    let table = open(path, &|name| ["row", "id", "kind"].contains(&name))?;
    for batch in table.reader {
        let batch = batch.map_err(|error| FolderError::Damaged {
            path: path.to_owned(),
            reason: error.to_string(),
        })?;
        let column = |name: &str| batch.column_by_name(name);
        let (Some(rows), Some(ids), Some(kinds)) = (column("row"), column("id"), column("kind"))
        else {
            return Err(FolderError::Damaged {
                path: path.to_owned(),
                reason: "it has no columns row, id and kind".to_owned(),
            });
        };
        let rows = rows.as_primitive_opt::<UInt64Type>();
        let (ids, kinds) = (ids.as_string_opt::<i32>(), kinds.as_string_opt::<i32>());
        let (Some(rows), Some(ids), Some(kinds)) = (rows, ids, kinds) else {
            return Err(FolderError::Damaged {
                path: path.to_owned(),
                reason: "its columns row, id and kind have other types".to_owned(),
            });
        };
        for at in 0..rows.len() {
            let told = (ids.value(at).to_owned(), kinds.value(at).to_owned());
            failures.insert(rows.value(at), told);
        }
    }
    Ok(failures)
}
