//! Array inputs: the items of `.npy`, `.npz` and Parquet files and of run folders. Headers are read
//! first, elements later.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use swathe::array::{Array, Dtype, Elements};
use swathe_array::ArrayFailure;

use crate::array_index::{ArrayIndex, Place};
use crate::array_table::{ResultTable, result_table};
use swathe_formats::list_column::{
    Batch, Batches, ItemError, ListColumn, ListColumnError, Surveyed,
};
use swathe_formats::name_list::{Duplicate, NameIndex, NameList};
use swathe_formats::npy;
use swathe_formats::npz::{Npz, NpzError};

/// The member under which a seeded XOR stores its seed in an .npz file, so that the file alone is
/// enough to restore the data.
pub const SEED_MEMBER: &str = "swathe_xor_seed";

/// Named arrays, whose elements are still on disk.
#[derive(Debug, Default)]
pub struct ArrayInput {
    index: ArrayIndex,
    files: Vec<OpenFile>,
    /// For every path, the seed with which its data are XORed.
    seeds: Vec<Option<u64>>,
    /// For every path the number of its first item.
    first_items: Vec<usize>,
    /// The most that may be decoded at once.
    bytes_max: u64,
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
    /// The file is not a valid `.npz` file.
    #[error("{path}: {source}", path = path.display())]
    Npz {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: NpzError,
    },
    /// The file is not a Parquet file with a list column.
    #[error("{path}: {source}", path = path.display())]
    Parquet {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: ListColumnError,
    },
    /// The file's extension is unknown.
    #[error("{path} is neither .npy nor .npz nor .parquet nor the folder of a finished run", path = path.display())]
    UnknownFormat {
        /// The file.
        path: PathBuf,
    },
    /// Two items have the same name.
    #[error("two items are called '{name}', in {first} and in {second}", first = first.display(), second = second.display())]
    DuplicateName {
        /// The name.
        name: String,
        /// The file with the first item.
        first: PathBuf,
        /// The file with the second item.
        second: PathBuf,
    },
}

impl ArrayInput {
    /// Keeps only the items at these positions.
    pub fn keep(&mut self, chosen: &[usize]) {
        self.index.choose(chosen);
    }

    /// Opens files and reads the name, shape and type of every array in them. Only headers are
    /// read; of a Parquet file, all rows are read once. An array that cannot be used is still an
    /// item, which fails when it is loaded. A run folder and its table stand for the arrays of its
    /// results, unless a column is named. No more than `bytes_max` is decoded at once.
    ///
    /// # Errors
    /// If an `.npz` or Parquet file cannot be used as a whole, a format is unknown, or two items of
    /// different files have the same name.
    pub fn open(
        paths: &[PathBuf],
        column: Option<&str>,
        bytes_max: u64,
    ) -> Result<ArrayInput, ArrayInputError> {
        let mut input = ArrayInput { bytes_max, ..ArrayInput::default() };
        for path in paths {
            input.first_items.push(input.index.len());
            let seed = input.open_one(&table_of(path), column)?;
            input.seeds.push(seed);
            // Names within one file were compared when it was opened.
        }
        input.index.shrink_to_fit();
        // Opening an .npz file compares its names, and rows have numbers of their own.
        let is_named = |file: &OpenFile| match file {
            OpenFile::Parquet(file) => file.column.has_names(),
            _ => false,
        };
        if (paths.len() > 1 || input.files.iter().any(is_named))
            && let Err(duplicate) = NameIndex::of(input.names())
        {
            return Err(input.duplicate_error(duplicate, paths));
        }
        Ok(input)
    }

    fn duplicate_error(&self, duplicate: Duplicate, paths: &[PathBuf]) -> ArrayInputError {
        let Duplicate { first, second } = duplicate;
        let path_of = |item: usize| {
            let after = self.first_items.partition_point(|&first| first <= item);
            &paths[after - 1]
        };
        let name = self.names()[first].to_owned();
        match path_of(first) == path_of(second) {
            true => ArrayInputError::Parquet {
                path: path_of(first).clone(),
                source: ListColumnError::DuplicateName {
                    name,
                    first_row: self.index.place(first).member.into(),
                    row: self.index.place(second).member.into(),
                },
            },
            false => ArrayInputError::DuplicateName {
                name,
                first: path_of(first).clone(),
                second: path_of(second).clone(),
            },
        }
    }

    /// For every path, the seed with which its data are XORed, if any.
    pub fn seeds(&self) -> &[Option<u64>] {
        &self.seeds
    }

    /// How many items there are.
    pub fn n_items(&self) -> usize {
        self.index.len()
    }

    /// The names of the items, in the order of the files and of the arrays in them: the file's
    /// stem, the member's name, or the row's.
    pub fn names(&self) -> &Arc<NameList> {
        self.index.names()
    }

    /// The extents and element type of an item, or why it is of no use.
    ///
    /// # Errors
    /// If the item is of no use.
    pub fn header(&self, item: usize) -> Result<(&[usize], Dtype), &str> {
        self.index.header(item)
    }

    /// The memory that knowing the items takes.
    pub fn size_bytes(&self) -> u64 {
        let directories = self.files.iter().map(|file| match file {
            OpenFile::Npy(path) => (size_of::<OpenFile>() + path.as_os_str().len()) as u64,
            OpenFile::Npz(npz) => npz.size_bytes(),
            OpenFile::Parquet(_) => 0,
        });
        self.index.size_bytes() + directories.sum::<u64>()
    }

    /// Loads the array of an item.
    ///
    /// # Errors
    /// If the item cannot be read.
    pub fn load(&self, item: usize) -> Result<Array, ArrayFailure> {
        let unreadable = |message: String| ArrayFailure::Unreadable { message };
        self.header(item).map_err(|fault| unreadable(fault.to_owned()))?;
        let place = self.index.place(item);
        match &self.files[place.file as usize] {
            OpenFile::Npy(path) => npy::load(path).map_err(|error| unreadable(error.to_string())),
            OpenFile::Npz(npz) => {
                npz.read(&self.names()[item]).map_err(|error| unreadable(error.to_string()))
            }
            OpenFile::Parquet(file) => file.load(place.member.into()).map_err(unreadable),
        }
    }

    /// Opens one file and returns the seed with which its data are XORed.
    fn open_one(
        &mut self,
        path: &Path,
        column: Option<&str>,
    ) -> Result<Option<u64>, ArrayInputError> {
        let file = self.files.len() as u32;
        let extension = path.extension().map(|e| e.to_string_lossy().to_lowercase());
        match extension.as_deref() {
            Some("npy") => {
                let name = path.file_stem().unwrap_or_default().to_string_lossy();
                let header = npy::load_header(path);
                let header = header.as_ref().map(|header| (&*header.shape, header.dtype));
                let header = header.map_err(|error| format!("{}: {error}", path.display()));
                self.index.push(&name, header, Place { file, member: 0 });
                self.files.push(OpenFile::Npy(path.to_owned()));
                Ok(None)
            }
            Some("npz") => {
                let npz = Npz::open(path)
                    .map_err(|source| ArrayInputError::Npz { path: path.to_owned(), source })?;
                let seed = stored_seed(&npz);
                for (member, name) in (0..).zip(npz.names().iter()) {
                    if seed.is_some() && name == SEED_MEMBER {
                        continue;
                    }
                    let header = npz.header(name);
                    let header = header.as_ref().map(|header| (&*header.shape, header.dtype));
                    let header = header.map_err(|error| error.to_string());
                    self.index.push(name, header, Place { file, member });
                }
                self.files.push(OpenFile::Npz(npz));
                Ok(seed)
            }
            Some("parquet") => self
                .open_parquet(path, column)
                .map_err(|source| ArrayInputError::Parquet { path: path.to_owned(), source }),
            _ => Err(ArrayInputError::UnknownFormat { path: path.to_owned() }),
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
            self.survey(ListColumn::open(path, column)?.within(self.bytes_max)?, |_| true)?;
            return Ok(None);
        };
        let first_new = self.index.len();
        let is_one = columns.len() == 1;
        for column in columns {
            let opened = ListColumn::open(path, Some(&column))?.within(self.bytes_max)?;
            let opened = opened.with_shapes("shape")?;
            // Results of several element types have a column each: a row that is null in one column
            // has its data in another.
            self.survey(opened, |item| is_one || item.shape != Err(ItemError::NullList))?;
        }
        if !is_one {
            let mut in_order: Vec<usize> = (0..self.index.len()).collect();
            in_order[first_new..].sort_by_key(|&item| self.index.place(item).member);
            self.index.choose(&in_order);
        }
        Ok(seed)
    }

    fn survey(
        &mut self,
        column: ListColumn,
        is_wanted: impl Fn(&Surveyed<'_>) -> bool,
    ) -> Result<(), ListColumnError> {
        let (file, dtype) = (self.files.len() as u32, column.dtype());
        if column.n_rows() == 0 {
            return Err(ListColumnError::NoRows);
        }
        if u32::try_from(column.n_rows()).is_err() {
            return Err(ListColumnError::MalformedRowCount);
        }
        column.survey(&mut |item| {
            if is_wanted(&item) {
                let member = item.row as u32;
                let header = item.shape.map(|shape| (shape, dtype));
                let header = header.map_err(|error| error.to_string());
                self.index.push(item.name, header, Place { file, member });
            }
        })?;
        self.files
            .push(OpenFile::Parquet(Box::new(ParquetFile { column, reading: Mutex::default() })));
        Ok(())
    }
}

/// The file that a path stands for: for a run folder, its table.
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

/// A Parquet file whose rows are decoded on demand, front to back, in batches.
#[derive(Debug)]
struct ParquetFile {
    column: ListColumn,
    reading: Mutex<Reading>,
}

#[derive(Debug, Default)]
struct Reading {
    batches: Option<Batches>,
    /// The batches decoded last: workers request rows nearly in order.
    kept: VecDeque<Arc<Batch>>,
}

impl ParquetFile {
    const N_BATCHES_KEPT: usize = 4;
    /// The cache is not part of the memory budget, so larger batches are not cached.
    const KEPT_BYTES_MAX: usize = 16 << 20;
    /// A row farther ahead is reached by seeking instead of decoding the rows before it.
    const N_ROWS_AHEAD: u64 = 16 << 10;

    fn load(&self, row: u64) -> Result<Array, String> {
        let batch = self.batch(row).map_err(|error| error.to_string())?;
        batch.array(row).map_err(|error| error.to_string())
    }

    fn batch(&self, row: u64) -> Result<Arc<Batch>, ListColumnError> {
        // The lock is held while decoding, because the next requested row is usually in the same
        // batch.
        let mut reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        let reading = &mut *reading;
        if let Some(batch) = reading.kept.iter().find(|batch| batch.rows().contains(&row)) {
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
                        _ => ListColumnError::RowOutOfRange { row, n_rows: self.column.n_rows() },
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
