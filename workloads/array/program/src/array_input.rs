//! Array inputs: the items of `.npy`, `.npz` and Parquet files, surveyed first and loaded later.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use swathe::array::{Array, Dtype};
use swathe_array::ArrayFailure;

use swathe_formats::list_column::{Item, ListColumn, ListColumnError};
use swathe_formats::npy::{self, NpyError};
use swathe_formats::npz::{Npz, NpzError};

/// Named arrays, still on disk.
#[derive(Debug)]
pub struct ArrayInput {
    items: Vec<ArrayItem>,
    files: Vec<OpenFile>,
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
    /// It is no `.npy` file.
    #[error("{path}: {source}", path = path.display())]
    Npy {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: NpyError,
    },
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
    #[error("{path} is neither .npy nor .npz nor .parquet", path = path.display())]
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
    /// Opens files and learns the name, shape and type of every array in them, reading headers
    /// only (of a Parquet file, all its rows once). An array that is of no use is an item all the
    /// same; a file that is of none is an error.
    pub fn open(paths: &[PathBuf], column: Option<&str>) -> Result<ArrayInput, ArrayInputError> {
        let mut input = ArrayInput {
            items: Vec::new(),
            files: Vec::new(),
        };
        let mut file_by_name: HashMap<String, usize> = HashMap::new();
        for path in paths {
            let first_new = input.items.len();
            input.open_one(path, column)?;
            for item in &input.items[first_new..] {
                if let Some(file_idx) = file_by_name.insert(item.name.clone(), item.file_idx) {
                    return Err(ArrayInputError::DuplicateName {
                        name: item.name.clone(),
                        first: paths[file_idx].clone(),
                        second: path.clone(),
                    });
                }
            }
        }
        Ok(input)
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

    fn open_one(&mut self, path: &Path, column: Option<&str>) -> Result<(), ArrayInputError> {
        let file_idx = self.files.len();
        let extension = path.extension().map(|e| e.to_string_lossy().to_lowercase());
        match extension.as_deref() {
            Some("npy") => {
                let header = npy::load_header(path).map_err(|source| ArrayInputError::Npy {
                    path: path.to_owned(),
                    source,
                })?;
                let name = path
                    .file_stem()
                    .unwrap_or_default()
                    .to_string_lossy()
                    .into_owned();
                let header = Ok((header.shape, header.dtype));
                self.items.push(ArrayItem {
                    name,
                    header,
                    file_idx,
                    member: 0,
                });
                self.files.push(OpenFile::Npy(path.to_owned()));
            }
            Some("npz") => {
                let npz = Npz::open(path).map_err(|source| ArrayInputError::Npz {
                    path: path.to_owned(),
                    source,
                })?;
                for (member, described) in npz.members().iter().enumerate() {
                    let header = npz
                        .header(&described.name)
                        .map(|header| (header.shape, header.dtype))
                        .map_err(|error| error.to_string());
                    let name = described.name.clone();
                    self.items.push(ArrayItem {
                        name,
                        header,
                        file_idx,
                        member,
                    });
                }
                self.files.push(OpenFile::Npz(npz));
            }
            Some("parquet") => {
                let unusable = |source| ArrayInputError::Parquet {
                    path: path.to_owned(),
                    source,
                };
                let opened = ListColumn::open(path, column).map_err(unusable)?;
                let survey = opened.survey().map_err(unusable)?;
                let dtype = opened.dtype();
                let file = ParquetFile::new(opened, &survey);
                for item in survey {
                    let header = item
                        .content
                        .map(|n| (vec![n], dtype))
                        .map_err(|e| e.to_string());
                    let member = item.row as usize;
                    self.items.push(ArrayItem {
                        name: item.name,
                        header,
                        file_idx,
                        member,
                    });
                }
                self.files.push(OpenFile::Parquet(Box::new(file)));
            }
            _ => {
                return Err(ArrayInputError::UnknownFormat {
                    path: path.to_owned(),
                });
            }
        }
        Ok(())
    }
}

/// A Parquet file whose rows are decoded some at a time: to find one row, its whole row group may
/// have to be gone through, so its neighbours are kept for those who come next.
#[derive(Debug)]
struct ParquetFile {
    column: ListColumn,
    /// The first row of every block, and the number of rows at the end.
    bounds: Vec<u64>,
    /// The blocks decoded last, by number.
    blocks: Mutex<Vec<(usize, Arc<Block>)>>,
}

type Block = Vec<Result<Array, String>>;

impl ParquetFile {
    /// Rows in a block at most …
    const BLOCK_ROWS: u64 = 256;
    /// … if they are not larger than this: what is kept stands in no budget. A larger row is a
    /// block of its own, and not kept.
    const BLOCK_BYTES: usize = 1 << 20;
    const N_BLOCKS_KEPT: usize = 4;

    fn new(column: ListColumn, survey: &[Item<usize>]) -> ParquetFile {
        let element_bytes = column.dtype().size_bytes();
        let mut bounds = vec![0];
        let mut block_bytes = 0;
        for item in survey {
            let n_bytes = item.content.as_ref().map_or(0, |&n| n * element_bytes);
            let n_rows = item.row - bounds[bounds.len() - 1];
            let is_full = block_bytes + n_bytes > Self::BLOCK_BYTES || n_rows >= Self::BLOCK_ROWS;
            if n_rows > 0 && is_full {
                bounds.push(item.row);
                block_bytes = 0;
            }
            block_bytes += n_bytes;
        }
        bounds.push(column.n_rows());
        ParquetFile {
            column,
            bounds,
            blocks: Mutex::default(),
        }
    }

    fn load(&self, row: u64) -> Result<Array, String> {
        let number = self.bounds.partition_point(|&first| first <= row) - 1;
        let (from, to) = (self.bounds[number], self.bounds[number + 1]);
        if to - from == 1 {
            return self.decode(from, to)?.swap_remove(0);
        }
        let block = self.block(number)?;
        block[(row - from) as usize].clone()
    }

    fn block(&self, number: usize) -> Result<Arc<Block>, String> {
        // Held while decoding: two workers that want one block should not both decode it.
        let mut blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, block)) = blocks.iter().find(|(kept, _)| *kept == number) {
            return Ok(Arc::clone(block));
        }
        let block = Arc::new(self.decode(self.bounds[number], self.bounds[number + 1])?);
        if blocks.len() >= Self::N_BLOCKS_KEPT {
            blocks.remove(0);
        }
        blocks.push((number, Arc::clone(&block)));
        Ok(block)
    }

    fn decode(&self, from: u64, to: u64) -> Result<Block, String> {
        let items = self.column.rows(from..to);
        let items = items.map_err(|error| error.to_string())?;
        let block: Block = items
            .map(|item| match item {
                Ok(item) => item.content.map_err(|error| error.to_string()),
                Err(error) => Err(error.to_string()),
            })
            .collect();
        if block.len() as u64 != to - from {
            return Err(format!("rows {from} to {to} cannot be read"));
        }
        Ok(block)
    }
}
