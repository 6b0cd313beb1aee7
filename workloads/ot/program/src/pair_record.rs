//! A pair of a finished run: its row of `pairs.parquet` and its maps.

use std::path::{Path, PathBuf};

use arrow::array::RecordBatch;
use swathe_ot::{Fields, Shape};

use crate::pair_table::PairRow;
use swathe_formats::npz::{Npz, NpzError};
use swathe_run::store::record::{ReadCells as _, Record as _};
use swathe_run::store::run_folder::FolderError;
use swathe_run::store::table_reader::{TableReader, string_column};

/// Why a pair's record cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum PairRecordError {
    /// The run has no such pair.
    #[error("the run has no pair {id:?}")]
    Unknown {
        /// The requested name.
        id: String,
        /// The most similar names of pairs.
        nearest: Vec<String>,
    },
    /// The pair has no solution.
    #[error("the pair {id:?} failed: {message}")]
    Failed {
        /// Its name.
        id: String,
        /// Why.
        message: String,
    },
    /// A table cannot be read.
    #[error("cannot read {}: {reason}", path.display())]
    Table {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The maps cannot be read.
    #[error("cannot read the maps in {}: {source}", path.display())]
    Maps {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: NpzError,
    },
    /// A map is of another shape than the frame.
    #[error("{}: {map} has {n_values} values, a frame of {shape} needs {n_wanted}", path.display())]
    MapShape {
        /// The file.
        path: PathBuf,
        /// The map.
        map: &'static str,
        /// How many values it has.
        n_values: usize,
        /// The frame's shape.
        shape: Shape,
        /// How many values it needs.
        n_wanted: usize,
    },
}

/// Finds the row of a pair by its name in the folder of a finished run.
///
/// # Errors
/// If the run has no such pair, the pair failed, or a table cannot be read.
pub fn find_pair(run: &Path, id: &str) -> Result<PairRow, PairRecordError> {
    let path = run.join("pairs.parquet");
    let (mut n_before, mut place) = (0, None);
    let mut near = Near::new(id);
    for_batches(&path, &["pair_id"], |batch| {
        let ids = string_column(batch, "pair_id")?;
        for at in 0..batch.num_rows() {
            if ids.value(at) == id {
                place = Some(n_before + at);
            }
            near.offer(ids.value(at));
        }
        n_before += batch.num_rows();
        Ok(())
    })?;
    if let Some(place) = place {
        return row_at(&path, place);
    }
    let failures = run.join("failures.parquet");
    let mut message = None;
    if failures.exists() {
        for_batches(&failures, &["id", "message"], |batch| {
            let ids = string_column(batch, "id")?;
            for at in 0..batch.num_rows() {
                if ids.value(at) == id {
                    message = Some(string_column(batch, "message")?.value(at).to_owned());
                }
            }
            Ok(())
        })?;
    }
    Err(match message {
        Some(message) => PairRecordError::Failed { id: id.to_owned(), message },
        None => PairRecordError::Unknown { id: id.to_owned(), nearest: near.names() },
    })
}

/// Reads the maps of a pair from the `.npz` file that a run wrote.
///
/// # Errors
/// If the file cannot be read, or a map does not fit the shape.
pub fn read_maps(path: &Path, shape: Shape) -> Result<Fields, PairRecordError> {
    let maps = |source| PairRecordError::Maps { path: path.to_owned(), source };
    let npz = Npz::open(path).map_err(maps)?;
    let read = |map: &'static str, per_px: usize| {
        let mut values = Vec::new();
        npz.for_each_number(map, &mut |some| values.extend_from_slice(some)).map_err(maps)?;
        let n_wanted = per_px * shape.n_px();
        if values.len() != n_wanted {
            return Err(PairRecordError::MapShape {
                path: path.to_owned(),
                map,
                n_values: values.len(),
                shape,
                n_wanted,
            });
        }
        Ok(values)
    };
    let velocity = read("velocity_yx", 2)?;
    Ok(Fields {
        velocity_yx_px: velocity.chunks_exact(2).map(|v| [v[0], v[1]]).collect(),
        created: read("created", 1)?,
        destroyed: read("destroyed", 1)?,
        cost_map: read("cost_map", 1)?,
        ..Fields::default()
    })
}

/// The row at this place of the table.
fn row_at(path: &Path, place: usize) -> Result<PairRow, PairRecordError> {
    let names: Vec<&str> = PairRow::declared().iter().map(|column| column.name.as_str()).collect();
    let mut rows = Vec::new();
    let table = TableReader::open(path).map(|table| table.columns(&names).slice(place, 1));
    let done = table.and_then(|table| {
        table.for_each(|batch| {
            rows.extend(PairRow::read(batch, &mut PairRow::declared().iter())?);
            Ok(())
        })
    });
    done.map_err(unreadable(path))?;
    rows.pop().ok_or_else(|| PairRecordError::Table {
        path: path.to_owned(),
        reason: format!("it has no row {place}"),
    })
}

/// Passes some columns of a table to `take`, a few rows at a time.
fn for_batches(
    path: &Path,
    names: &[&str],
    take: impl FnMut(&RecordBatch) -> Result<(), String>,
) -> Result<(), PairRecordError> {
    let table = TableReader::open(path).map(|table| table.columns(names));
    let done = table.and_then(|table| table.for_each(take));
    done.map_err(unreadable(path))
}

fn unreadable(path: &Path) -> impl Fn(FolderError) -> PairRecordError {
    move |error| PairRecordError::Table { path: path.to_owned(), reason: error.reason() }
}

/// The names most similar to a word.
struct Near<'a> {
    word: &'a str,
    /// Best first: the edit distance, and the name.
    best: Vec<(usize, String)>,
}

const N_NEAREST: usize = 3;

impl<'a> Near<'a> {
    fn new(word: &'a str) -> Near<'a> {
        Near { word, best: Vec::new() }
    }

    fn offer(&mut self, name: &str) {
        let n_changes = n_changes(self.word, name);
        let place = self.best.partition_point(|(n, _)| *n <= n_changes);
        if place < N_NEAREST {
            self.best.insert(place, (n_changes, name.to_owned()));
            self.best.truncate(N_NEAREST);
        }
    }

    fn names(self) -> Vec<String> {
        self.best.into_iter().map(|(_, name)| name).collect()
    }
}

/// The edit distance (Levenshtein) of two words: the number of characters to change, insert or
/// delete.
fn n_changes(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, c) in a.chars().enumerate() {
        let mut corner = row[0];
        row[0] = i + 1;
        for (j, d) in b.iter().enumerate() {
            let changed = corner + usize::from(c != *d);
            corner = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(corner + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_between_words() {
        for (a, b, n) in [
            ("", "", 0),
            ("abc", "", 3),
            ("kitten", "sitting", 3),
            ("s01_t002", "s01_t020", 2),
            ("µm", "mm", 1),
        ] {
            assert_eq!(n_changes(a, b), n);
            assert_eq!(n_changes(b, a), n);
        }
    }

    #[test]
    fn the_nearest_names_come_first() {
        let mut near = Near::new("s01_t002");
        for name in ["s09_t099", "s01_t003", "s01_t012", "other", "s11_t002"] {
            near.offer(name);
        }
        assert_eq!(near.names(), ["s01_t003", "s01_t012", "s11_t002"]);
    }

    #[test]
    fn a_file_that_is_no_table_is_told() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("pairs.parquet"), b"PAR1 nothing PAR1").unwrap();
        let error = find_pair(folder.path(), "x").unwrap_err();
        assert!(matches!(error, PairRecordError::Table { .. }), "{error}");
    }
}
