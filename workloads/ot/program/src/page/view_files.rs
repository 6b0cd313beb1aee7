//! Views as files of a run folder: `views/ROW.json`.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use super::choice::has_view;
use super::view::PairView;
use swathe_formats::atomic_file::{AtomicFile, temporary_target};
use swathe_run::store::row_numbers::RowNumbers;
use swathe_run::store::run_folder::{FolderError, RunJson, make_own_folder, read};

const FOLDER_NAME: &str = "views";

/// Writes views as pairs are solved. A view is not a result: if it cannot be written, the loss is
/// counted and the run continues.
#[derive(Clone, Debug)]
pub(crate) struct ViewFiles {
    folder: PathBuf,
    trouble: Arc<Mutex<ViewTrouble>>,
}

/// Views that could not be written, and why.
#[derive(Clone, Debug, Default)]
pub(crate) struct ViewTrouble {
    /// Number of lost views.
    pub(crate) n_lost: u64,
    /// The first error of the system.
    pub(crate) first: String,
}

impl ViewFiles {
    /// Views in the run folder `run`; all shards share one folder of views.
    pub(crate) fn new(run: &Path) -> ViewFiles {
        ViewFiles { folder: run.join(FOLDER_NAME), trouble: Arc::default() }
    }

    /// Makes the folder and removes views of these rows that an earlier process left. Views of
    /// other rows stay, because they may belong to another shard.
    ///
    /// # Errors
    /// If the folder is a link: views would be written elsewhere.
    pub(crate) fn prepare(&self, rows: &RowNumbers) -> Result<(), FolderError> {
        if rows.is_empty() {
            return Ok(());
        }
        match make_own_folder(&self.folder) {
            Err(FolderError::Write { source, .. }) => {
                self.note(&source, 0);
                return Ok(());
            }
            made => made?,
        }
        let prepared = || -> io::Result<()> {
            for entry in fs::read_dir(&self.folder)?.flatten() {
                let name = entry.file_name();
                let row = row_of(&name.to_string_lossy());
                if row.is_some_and(|row| rows.place(row).is_some()) {
                    fs::remove_file(entry.path())?;
                }
            }
            Ok(())
        };
        if let Err(error) = prepared() {
            self.note(&error, 0);
        }
        Ok(())
    }

    /// Writes a view atomically. The file is not synced: syncing costs more than making the view,
    /// and a view that a power failure damages is only missing from the page.
    pub(crate) fn write(&self, view: &PairView) {
        let path = self.folder.join(format!("{:06}.json", view.row));
        let written = serde_json::to_vec(view).map_err(io::Error::other).and_then(|text| {
            let mut file = AtomicFile::create(&path)?;
            file.write_all(&text)?;
            file.commit_unsynced()
        });
        if let Err(error) = written {
            self.note(&error, 1);
        }
    }

    /// The lost views so far, if there are any.
    pub(crate) fn trouble(&self) -> Option<ViewTrouble> {
        let trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        (!trouble.first.is_empty()).then(|| trouble.clone())
    }

    fn note(&self, error: &io::Error, n_lost: u64) {
        let mut trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        trouble.n_lost += n_lost;
        if trouble.first.is_empty() {
            trouble.first = error.to_string();
        }
    }
}

/// The row in the file name of a view, or of a view that is only partly written.
fn row_of(name: &str) -> Option<u64> {
    let name = temporary_target(name).map_or(name, |(whole, _)| whole);
    name.strip_suffix(".json")?.parse().ok()
}

/// The views of a run.
#[derive(Debug, Default)]
pub(super) struct Views {
    /// Rows and their views, ascending.
    pub(super) by_row: Vec<(u64, Value)>,
    /// Number of files that are not valid views.
    pub(super) n_damaged: u64,
    /// The system's error, if the folder cannot be read.
    pub(super) trouble: Option<String>,
}

impl Views {
    /// Reads the views of a run; those of a shard are in the folder of the whole run. A page works
    /// without views, so errors are recorded here for it to show.
    pub(super) fn read(run: &Path, run_json: &RunJson) -> Views {
        let folder = match run_json.identity.shard {
            Some(_) => run.join("..").join("..").join(FOLDER_NAME),
            None => run.join(FOLDER_NAME),
        };
        let mut views = Views::default();
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            // The run has no pairs, or an older version wrote it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return views,
            Err(error) => {
                views.trouble = Some(error.to_string());
                return views;
            }
        };
        let n_rows = run_json.identity.n_problems;
        let mut rows: Vec<(u64, PathBuf)> = Vec::new();
        for entry in entries.flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if let Some(row) = row_of(&name).filter(|_| !name.starts_with('.'))
                && has_view(row, n_rows)
            {
                rows.push((row, entry.path()));
            }
        }
        rows.sort_unstable();
        for (row, path) in rows {
            match read_view(&path, row) {
                Some(view) => views.by_row.push((row, view)),
                None => views.n_damaged += 1,
            }
        }
        views
    }
}

/// The view in a file, without the fields that the table has too; `None` if the file is damaged.
fn read_view(path: &Path, row: u64) -> Option<Value> {
    /// Far larger than any view: a larger file was not written by this program.
    const N_BYTES_MAX: u64 = 1 << 20;
    if fs::metadata(path).ok()?.len() > N_BYTES_MAX {
        return None;
    }
    let mut view: Value = serde_json::from_slice(&read(path).ok()?).ok()?;
    let fields = view.as_object_mut()?;
    let is_whole = fields.get("format").and_then(Value::as_u64) == Some(PairView::FORMAT.into())
        && fields.get("row").and_then(Value::as_u64) == Some(row);
    ["format", "row", "pair_id"].iter().for_each(|name| {
        fields.remove(*name);
    });
    is_whole.then_some(view)
}

#[cfg(test)]
mod tests {
    use super::*;
    use swathe_run::store::run_folder::Spans;

    #[test]
    fn names_of_views() {
        for (name, row) in [
            ("000012.json", Some(12)),
            ("1234567.json", Some(1_234_567)),
            (".000012.json.99-3.tmp", Some(12)),
            (".000012.json", None),
            ("x.json", None),
            ("000012.npz", None),
            ("", None),
        ] {
            assert_eq!(row_of(name), row, "{name:?}");
        }
    }

    #[test]
    fn leftovers_of_these_rows_go_and_others_stay() {
        let run = tempfile::tempdir().unwrap();
        let files = ViewFiles::new(run.path());
        let rows = RowNumbers::new(&Spans::of(vec![1, 5]));
        files.prepare(&rows).unwrap();
        let folder = run.path().join(FOLDER_NAME);
        for name in ["000001.json", ".000005.json.7-1.tmp", "000002.json", "notes.txt"] {
            fs::write(folder.join(name), "{}").unwrap();
        }
        files.prepare(&rows).unwrap();
        let mut left: Vec<String> = fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        assert_eq!(left, ["000002.json", "notes.txt"]);
        assert!(files.trouble().is_none());
    }
}
