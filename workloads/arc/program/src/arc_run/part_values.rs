//! The values of differs in the files of parts, in the order of their rows.

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};

use arrow::array::RecordBatch;
use arrow::datatypes::UInt64Type;

use crate::differ_parts::{FOLDER, ROW, first_sample};
use swathe_run::store::run_folder::FolderError;
use swathe_run::store::table_reader::{Batches, TableReader, number_column};

/// Reads the files of parts side by side. Parts hold stretches of the input, so that few files are open at a time.
pub(super) struct PartValues {
    /// Files that are not open yet, by their first rows.
    files: VecDeque<(u64, PathBuf)>,
    /// By their next rows.
    open: BTreeMap<u64, OpenPart>,
}

/// A file whose next rows are in memory.
struct OpenPart {
    path: PathBuf,
    batches: Batches,
    batch: RecordBatch,
}

impl PartValues {
    /// The files of a run's parts.
    pub(super) fn of(run: &Path, n_differs: usize) -> Result<PartValues, FolderError> {
        let folder = run.join(FOLDER);
        let entries = fs::read_dir(&folder)
            .map_err(|source| FolderError::Read { path: folder.clone(), source })?;
        let files = entries.flatten().filter_map(|entry| {
            let first = first_sample(&entry.file_name().to_string_lossy())?;
            Some(((first * n_differs) as u64, entry.path()))
        });
        let mut files: Vec<(u64, PathBuf)> = files.collect();
        files.sort_unstable();
        Ok(PartValues { files: files.into(), open: BTreeMap::new() })
    }

    /// The next rows, in ascending order, and the file that they are from.
    pub(super) fn next(&mut self) -> Result<Option<(PathBuf, RecordBatch)>, FolderError> {
        while let Some((first, path)) = self.files.front()
            && self.open.keys().next().is_none_or(|row| first <= row)
        {
            let (path, batches) = (path.clone(), TableReader::open(path)?.batches()?);
            self.files.pop_front();
            self.read_on(path, batches)?;
        }
        let Some((_, part)) = self.open.pop_first() else {
            return Ok(None);
        };
        let rows = part.rows()?;
        // The rows before those of any other file.
        let others = self.files.front().map(|(first, _)| first);
        let n = match others.into_iter().chain(self.open.keys()).min() {
            Some(end) => rows.partition_point(|row| row < end).max(1),
            None => rows.len(),
        };
        let (taken, n_left) = (part.batch.slice(0, n), rows.len() - n);
        let path = part.path.clone();
        match n_left {
            0 => self.read_on(part.path, part.batches)?,
            _ => self.put_back(OpenPart { batch: part.batch.slice(n, n_left), ..part })?,
        }
        Ok(Some((path, taken)))
    }

    /// Reads the next rows of a file, if it has more.
    fn read_on(&mut self, path: PathBuf, mut batches: Batches) -> Result<(), FolderError> {
        match batches.next().transpose()? {
            Some(batch) => self.put_back(OpenPart { path, batches, batch }),
            None => Ok(()),
        }
    }

    fn put_back(&mut self, part: OpenPart) -> Result<(), FolderError> {
        let damaged = FolderError::damaged(&part.path);
        let Some(&row) = part.rows()?.first() else {
            return Err(damaged("a batch of rows is empty"));
        };
        match self.open.insert(row, part) {
            Some(_) => Err(damaged("another file has the values of one of its samples")),
            None => Ok(()),
        }
    }
}

impl OpenPart {
    fn rows(&self) -> Result<&[u64], FolderError> {
        let rows = number_column::<UInt64Type>(&self.batch, ROW);
        let rows = rows.map_err(FolderError::damaged(&self.path))?;
        Ok(rows.values())
    }
}
