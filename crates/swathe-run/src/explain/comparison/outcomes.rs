//! Outcomes: problems that ended differently in two runs.

use std::collections::BTreeMap;
use std::path::Path;

use arrow::datatypes::UInt64Type;

use crate::store::reported_run::ReportedRun;
use crate::store::run_folder::{FolderError, RunState};
use crate::store::table_reader::{TableReader, number_column, string_column};

/// Problems that ended differently in two runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutcomeChanges {
    /// How many.
    pub n_changed: u64,
    /// How many problems have no answer in each run.
    pub n_unsolved: [u64; 2],
    /// The first few.
    pub first: Vec<OutcomeChange>,
}

/// A problem that ended differently in two runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutcomeChange {
    /// The problem's row.
    pub row: u64,
    /// The problem's id.
    pub id: String,
    /// Why it has no answer in each run; absent where it has one.
    pub kinds: [Option<String>; 2],
}

/// Enough examples to recognise a pattern.
pub(super) const N_FIRST: usize = 5;

/// Joins the failures of both runs by row. `None` if one of the runs has no tables, or if the
/// workloads differ.
pub(super) fn outcomes(runs: [&ReportedRun; 2]) -> Result<Option<OutcomeChanges>, FolderError> {
    let is_other = runs[0].run.identity.workload != runs[1].run.identity.workload;
    if is_other || runs.iter().any(|run| run.run.state != RunState::Complete) {
        return Ok(None);
    }
    let [before, after] = runs.map(|run| failures(&run.path.join("failures.parquet")));
    let unsolved = [before?, after?];
    let mut changes = OutcomeChanges {
        n_unsolved: unsolved.each_ref().map(|unsolved| unsolved.len() as u64),
        ..OutcomeChanges::default()
    };
    let mut rows: Vec<u64> = unsolved.iter().flat_map(|side| side.keys().copied()).collect();
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
            changes.first.push(OutcomeChange { row, id: id.unwrap_or_default(), kinds });
        }
    }
    Ok(Some(changes))
}

/// Id and kind of every failure, by row.
fn failures(path: &Path) -> Result<BTreeMap<u64, (String, String)>, FolderError> {
    let mut failures = BTreeMap::new();
    let table = TableReader::open(path)?.columns(&["row", "id", "kind"]);
    table.for_each(|batch| {
        let rows = number_column::<UInt64Type>(batch, "row")?;
        let (ids, kinds) = (string_column(batch, "id")?, string_column(batch, "kind")?);
        for at in 0..rows.len() {
            let told = (ids.value(at).to_owned(), kinds.value(at).to_owned());
            failures.insert(rows.value(at), told);
        }
        Ok(())
    })?;
    Ok(failures)
}
