//! Array inputs: the items of `.npy`, `.npz` and Parquet files and of run folders, surveyed first and
//! loaded later.

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use swathe::array::{Array, Dtype, Elements};
use swathe_array::ArrayFailure;

use crate::array_table::{ResultTable, result_table};
use swathe_formats::list_column::{Batch, Batches, Item, ItemError, ListColumn, ListColumnError};
use swathe_formats::npy;
use swathe_formats::npz::{Npz, NpzError};

/// A seeded XOR into an .npz file leaves its seed there under this name, so that the file alone is
/// enough to restore the data.
pub const SEED_MEMBER: &str = "swathe_xor_seed";

/// Named arrays, still on disk.
#[derive(Debug)]
pub struct ArrayInput {
    items: Vec<ArrayItem>,
    files: Vec<OpenFile>,
    /// For every path the seed that its data are XORed with.
    seeds: Vec<Option<u64>>,
}

/// One array, without its elements.
#[derive(Clone, Debug)]
pub struct ArrayItem {
    /// Its name: the file's stem, the member's name, or the row's.
    pub name: String,
    /// Its extents and element type, or why it is of no use.
    pub header: Result<(Vec<usize>, Dtype), String>,
    file_idx: usize,
    member: usize,
}

#[derive(Debug)]
enum OpenFile {
    Npy(PathBuf),
    Npz(Npz),
    Parquet(Box<ParquetFile>),
}

/// Why a file named on the command line cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ArrayInputError {
    /// It is no `.npz` file.
    #[error("{path}: {source}", path = path.display())]
    Npz {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: NpzError,
    },
    /// It is no Parquet file with a list column.
    #[error("{path}: {source}", path = path.display())]
    Parquet {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: ListColumnError,
    },
    /// Its name says nothing about its format.
    #[error("{path} is neither .npy nor .npz nor .parquet nor the folder of a finished run", path = path.display())]
    UnknownFormat {
        /// The file.
        path: PathBuf,
    },
    /// Two items have one name.
    #[error("two items are called '{name}', in {first} and in {second}", first = first.display(), second = second.display())]
    DuplicateName {
        /// The name.
        name: String,
        /// The file with the first.
        first: PathBuf,
        /// The file with the second.
        second: PathBuf,
    },
}

impl ArrayInput {
    /// Drops all items but these.
    pub fn keep(&mut self, chosen: &[usize]) {
        self.items = chosen.iter().map(|&at| self.items[at].clone()).collect();
    }

    /// Opens files and learns the name, shape and type of every array in them, reading headers
    /// only (of a Parquet file, all its rows once). An array that is of no use is an item all the
    /// same; a file of many arrays that is of none is an error. A run folder and its table stand for
    /// the arrays of its results, unless a column is named.
    pub fn open(paths: &[PathBuf], column: Option<&str>) -> Result<ArrayInput, ArrayInputError> {
        let mut input = ArrayInput {
            items: Vec::new(),
            files: Vec::new(),
            seeds: Vec::new(),
        };
        let mut path_by_name: HashMap<String, usize> = HashMap::new();
        for (at, path) in paths.iter().enumerate() {
            let first_new = input.items.len();
            let seed = input.open_one(&table_of(path), column)?;
            input.seeds.push(seed);
            // Names in one file were compared when it was opened.
            let new = input.items[first_new..].iter().filter(|_| paths.len() > 1);
            for item in new {
                if let Some(first) = path_by_name.insert(item.name.clone(), at) {
                    return Err(ArrayInputError::DuplicateName {
                        name: item.name.clone(),
                        first: paths[first].clone(),
                        second: path.clone(),
                    });
                }
            }
        }
        Ok(input)
    }

    /// For every path the seed that its data are XORed with, if any.
    pub fn seeds(&self) -> &[Option<u64>] {
        &self.seeds
    }

    /// The items, in the order of the files and of the arrays in them.
    pub fn items(&self) -> &[ArrayItem] {
        &self.items
    }

    /// Loads the array of an item.
    pub fn load(&self, index: usize) -> Result<Array, ArrayFailure> {
        let item = &self.items[index];
        let unreadable = |message: String| ArrayFailure::Unreadable { message };
        if let Err(message) = &item.header {
            return Err(unreadable(message.clone()));
        }
        match &self.files[item.file_idx] {
            OpenFile::Npy(path) => npy::load(path).map_err(|error| unreadable(error.to_string())),
            OpenFile::Npz(npz) => npz
                .read(&item.name)
                .map_err(|error| unreadable(error.to_string())),
            OpenFile::Parquet(file) => file.load(item.member as u64).map_err(unreadable),
        }
    }

    /// Returns the seed that the data are XORed with.
    fn open_one(
        &mut self,
        path: &Path,
        column: Option<&str>,
    ) -> Result<Option<u64>, ArrayInputError> {
        let file_idx = self.files.len();
        let extension = path.extension().map(|e| e.to_string_lossy().to_lowercase());
        match extension.as_deref() {
            Some("npy") => {
                let name = path.file_stem().unwrap_or_default().to_string_lossy();
                let header = npy::load_header(path);
                self.items.push(ArrayItem {
                    name: name.into_owned(),
                    header: header
                        .map(|header| (header.shape, header.dtype))
                        .map_err(|error| format!("{}: {error}", path.display())),
                    file_idx,
                    member: 0,
                });
                self.files.push(OpenFile::Npy(path.to_owned()));
                Ok(None)
            }
            Some("npz") => {
                let npz = Npz::open(path).map_err(|source| ArrayInputError::Npz {
                    path: path.to_owned(),
                    source,
                })?;
                let seed = stored_seed(&npz);
                let members = npz.members().iter().enumerate();
                for (member, described) in members {
                    if seed.is_some() && described.name == SEED_MEMBER {
                        continue;
                    }
                    let header = npz
                        .header(&described.name)
                        .map(|header| (header.shape, header.dtype))
                        .map_err(|error| error.to_string());
                    self.items.push(ArrayItem {
                        name: described.name.clone(),
                        header,
                        file_idx,
                        member,
                    });
                }
                self.files.push(OpenFile::Npz(npz));
                Ok(seed)
            }
            Some("parquet") => {
                self.open_parquet(path, column)
                    .map_err(|source| ArrayInputError::Parquet {
                        path: path.to_owned(),
                        source,
                    })
            }
            _ => Err(ArrayInputError::UnknownFormat {
                path: path.to_owned(),
            }),
        }
    }

    fn open_parquet(
        &mut self,
        path: &Path,
        column: Option<&str>,
    ) -> Result<Option<u64>, ListColumnError> {
        let table = match column {
            Some(_) => None,
            None => result_table(path)?,
        };
        let Some(ResultTable { columns, seed }) = table else {
            self.survey(ListColumn::open(path, column)?, |_| true)?;
            return Ok(None);
        };
        let first_new = self.items.len();
        let is_one = columns.len() == 1;
        for column in columns {
            let opened = ListColumn::open(path, Some(&column))?.with_shapes("shape")?;
            // What is null in a column of one element type stands in another column.
            self.survey(opened, |item| {
                is_one || item.content != Err(ItemError::NullList)
            })?;
        }
        self.items[first_new..].sort_by_key(|item| item.member);
        Ok(seed)
    }

    fn survey(
        &mut self,
        column: ListColumn,
        is_wanted: impl Fn(&Item<Vec<usize>>) -> bool,
    ) -> Result<(), ListColumnError> {
        let (file_idx, dtype) = (self.files.len(), column.dtype());
        let survey = column.survey()?;
        let items = survey.into_iter().filter(|item| is_wanted(item));
        self.items.extend(items.map(|item| {
            ArrayItem {
                name: item.name,
                header: item
                    .content
                    .map(|shape| (shape, dtype))
                    .map_err(|error| error.to_string()),
                file_idx,
                member: item.row as usize,
            }
        }));
        self.files.push(OpenFile::Parquet(Box::new(ParquetFile {
            column,
            reading: Mutex::default(),
        })));
        Ok(())
    }
}

/// The file that a path stands for: of a run folder, its table.
pub fn table_of(path: &Path) -> PathBuf {
    let table = path.join("items.parquet");
    match table.is_file() {
        true => table,
        false => path.to_owned(),
    }
}

fn stored_seed(npz: &Npz) -> Option<u64> {
    let header = npz.header(SEED_MEMBER).ok()?;
    if !header.shape.is_empty() || header.dtype != Dtype::U64 {
        return None;
    }
    match npz.read(SEED_MEMBER).ok()?.elements() {
        Elements::U64(seed) => seed.first().copied(),
        _ => None,
    }
}

/// A Parquet file whose rows are decoded front to back, some at a time, as they are asked for.
#[derive(Debug)]
struct ParquetFile {
    column: ListColumn,
    reading: Mutex<Reading>,
}

#[derive(Debug, Default)]
struct Reading {
    batches: Option<Batches>,
    /// The batches decoded last: workers ask for rows nearly in order.
    kept: VecDeque<Arc<Batch>>,
}

impl ParquetFile {
    const N_BATCHES_KEPT: usize = 4;
    /// What is kept stands in no budget, so that larger batches are decoded again.
    const KEPT_BYTES_MAX: usize = 16 << 20;
    /// Rows farther ahead than this are not decoded on the way.
    const N_ROWS_AHEAD: u64 = 16 << 10;

    fn load(&self, row: u64) -> Result<Array, String> {
        let batch = self.batch(row).map_err(|error| error.to_string())?;
        batch.array(row).map_err(|error| error.to_string())
    }

    fn batch(&self, row: u64) -> Result<Arc<Batch>, ListColumnError> {
        // Held while decoding: the next row that is asked for is in the same batch, mostly.
        let mut reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        let reading = &mut *reading;
        if let Some(batch) = reading
            .kept
            .iter()
            .find(|batch| batch.rows().contains(&row))
        {
            return Ok(Arc::clone(batch));
        }
        let is_near = |batches: &Batches| {
            (batches.next_row()..batches.next_row() + Self::N_ROWS_AHEAD).contains(&row)
        };
        if !reading.batches.as_ref().is_some_and(is_near) {
            reading.batches = Some(self.column.batches(row)?);
        }
        loop {
            let batch = reading.batches.as_mut().and_then(Batches::next);
            let batch = match batch {
                Some(Ok(batch)) => Arc::new(batch),
                ended => {
                    reading.batches = None;
                    return Err(match ended {
                        Some(Err(error)) => error,
                        _ => ListColumnError::RowOutOfRange {
                            row,
                            n_rows: self.column.n_rows(),
                        },
                    });
                }
            };
            reading.kept.push_back(Arc::clone(&batch));
            let is_too_much = |kept: &VecDeque<Arc<Batch>>| {
                let bytes: usize = kept.iter().map(|batch| batch.size_bytes()).sum();
                kept.len() > Self::N_BATCHES_KEPT || bytes > Self::KEPT_BYTES_MAX
            };
            while is_too_much(&reading.kept) {
                reading.kept.pop_front();
            }
            if batch.rows().contains(&row) {
                return Ok(batch);
            }
        }
    }
}
