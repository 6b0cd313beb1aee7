//! The record of a pair in a finished run: its row of `pairs.parquet` and its maps.

use std::path::{Path, PathBuf};

use arrow::array::{Array, RecordBatch};
use arrow::datatypes::Float64Type;
use swathe_ot::{Fields, Shape, Status};

use crate::pair_picture::PairFigures;
use swathe_formats::npz::{Npz, NpzError};
use swathe_run::store::table_reader::{TableReader, number_column, string_column};

/// A pair's row of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct PairRecord {
    /// Its figures.
    pub figures: PairFigures,
    /// Entropic blur ε that was used.
    pub epsilon: f64,
    /// Price ρ of creating and destroying mass that was used.
    pub relaxation: f64,
    /// Why its motion is in doubt; runs of earlier versions do not say it.
    pub motion_doubt: Option<String>,
    /// The file of its maps, relative to the run folder; `None` if they were not kept.
    pub fields_path: Option<String>,
}

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

impl PairRecord {
    /// Finds a pair by its name in the folder of a finished run.
    ///
    /// # Errors
    /// If the run has no such pair, the pair failed, or a table cannot be read.
    pub fn find(run: &Path, id: &str) -> Result<PairRecord, PairRecordError> {
        let path = run.join("pairs.parquet");
        let mut found = None;
        let mut near = Near::new(id);
        for_batches(&path, &COLUMNS, |batch| {
            let ids = string_column(batch, "pair_id")?;
            for at in 0..batch.num_rows() {
                if ids.value(at) == id {
                    found = Some(record(batch, at)?);
                }
                near.offer(ids.value(at));
            }
            Ok(())
        })?;
        if let Some(found) = found {
            return Ok(found);
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

const COLUMNS: [&str; 11] = [
    "pair_id",
    "status",
    "residual",
    "cost_px2",
    "mass_transported",
    "mass_created",
    "mass_destroyed",
    "epsilon",
    "relaxation",
    "motion_doubt",
    "fields_path",
];

fn record(batch: &RecordBatch, at: usize) -> Result<PairRecord, String> {
    let number = |name: &str| -> Result<f64, String> {
        let numbers = number_column::<Float64Type>(batch, name)?;
        Ok(if numbers.is_null(at) { f64::NAN } else { numbers.value(at) })
    };
    let statuses = string_column(batch, "status")?;
    let word = statuses.value(at);
    let all = [
        Status::Converged,
        Status::MaxIterations,
        Status::EmptySource,
        Status::EmptyTarget,
        Status::BothEmpty,
    ];
    let status = all.into_iter().find(|status| status.name() == word);
    let text = |name: &str| -> Result<Option<String>, String> {
        if batch.column_by_name(name).is_none() {
            return Ok(None);
        }
        let texts = string_column(batch, name)?;
        Ok((!texts.is_null(at)).then(|| texts.value(at).to_owned()))
    };
    Ok(PairRecord {
        figures: PairFigures {
            status: status.ok_or_else(|| format!("the status {word:?} is not known"))?,
            residual: number("residual")?,
            cost_px2: number("cost_px2")?,
            mass_transported: number("mass_transported")?,
            mass_created: number("mass_created")?,
            mass_destroyed: number("mass_destroyed")?,
        },
        epsilon: number("epsilon")?,
        relaxation: number("relaxation")?,
        motion_doubt: text("motion_doubt")?,
        fields_path: text("fields_path")?,
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
    done.map_err(|error| PairRecordError::Table { path: path.to_owned(), reason: error.reason() })
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
        let error = PairRecord::find(folder.path(), "x").unwrap_err();
        assert!(matches!(error, PairRecordError::Table { .. }), "{error}");
    }
}
