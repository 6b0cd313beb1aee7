//! The differs of a run: `differ_rows.parquet`.

use std::path::Path;

use crate::differ_parts::DifferRow;
use swathe_run::store::record::SideTable;
use swathe_run::store::run_folder::FolderError;

/// The differs that are run.
pub(super) const DIFFER_ROWS: SideTable<DifferRow> =
    SideTable::new("differ_rows", "the differ's number, from 0");

/// Writes the table of the differs that are run.
///
/// # Errors
/// If the table cannot be written.
pub fn write_differ_rows(run: &Path, differs: &[DifferRow]) -> Result<(), FolderError> {
    DIFFER_ROWS.write(run, differs)
}

/// The differs of a run, in order.
///
/// # Errors
/// If the table cannot be read or has other columns.
pub(crate) fn read_differ_rows(run: &Path) -> Result<Vec<DifferRow>, FolderError> {
    DIFFER_ROWS.read(run)
}

/// The same; None if the run has no such table, because it is without differs.
pub(crate) fn find_differ_rows(run: &Path) -> Result<Option<Vec<DifferRow>>, FolderError> {
    run.join(DIFFER_ROWS.file_name()).exists().then(|| read_differ_rows(run)).transpose()
}
