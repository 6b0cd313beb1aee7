//! Parquet list columns: every row holds an array.
//!
//! A column of lists of integers, f32 or f64 is read row by row. Arrow's `List`, `LargeList` and
//! `FixedSizeList` are the same in Parquet. Rectangular lists of lists become arrays of more axes.
//! An item's name is the value of the column `id` or `name`, or else the row's number. Another
//! column can hold the extents ([`ListColumn::with_shapes`]).
//!
//! Rows are decoded in batches of a few megabytes, based on the average row size of the row group.
//! A row group that mixes long rows with many short ones can make a batch as large as the whole
//! group, unless [`ListColumn::within`] sets a limit. A null is an error of its item alone. The Parquet decoder checks page sizes, and trusts
//! sizes up to 2 GiB.
//!
//! ```
//! use swathe::array::{Array, Dtype};
//! use swathe_formats::list_column::{ListColumn, ListColumnWriter};
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("items.parquet");
//! let array = Array::new(vec![3], vec![1.0f32, 2.0, 3.0])?;
//! let mut writer = ListColumnWriter::create(&path, "values", Dtype::F32)?;
//! writer.push(0, "first", Some(&array))?;
//! writer.finish()?.commit()?;
//!
//! let column = ListColumn::open(&path, None)?;
//! assert_eq!((column.name(), column.dtype(), column.n_rows()), ("values", Dtype::F32, 1));
//! for item in column.rows(0..column.n_rows())? {
//!     let item = item?;
//!     assert_eq!((item.name.as_str(), item.content?), ("first", array.clone()));
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
mod guard;
mod lists;
mod row_lengths;
mod rows;
mod writer;

pub use error::{ItemError, ListColumnError};
pub use rows::{Batch, Batches, Item, Surveyed};
pub use writer::{ITEM_BYTES_MAX, ListColumnWriter};

use std::fs::Metadata;
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::regular_file;
use arrow::datatypes::{DataType, FieldRef};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};
use swathe::array::Dtype;

use crate::arrow_elements::dtype_of;
use guard::guarded;
use row_lengths::longest_row;

/// Columns that name the items; the first one that exists is used.
const NAME_COLUMNS: [&str; 2] = ["id", "name"];

/// The approximate size limit of a batch of decoded rows.
const BATCH_BYTES: u64 = 4 << 20;
const BATCH_ROWS_MAX: u64 = 4096;

/// A list column of a Parquet file: the metadata is in memory, the rows stay on disk.
#[derive(Debug)]
pub struct ListColumn {
    path: PathBuf,
    /// The file's state when it was opened, to detect a later replacement.
    file: Metadata,
    metadata: ArrowReaderMetadata,
    column: Root,
    /// The column with the items' names.
    names: Option<Root>,
    /// The column with the items' extents.
    shapes: Option<Root>,
    dtype: Dtype,
    n_rows: u64,
    /// For each row group, how many of its rows may be decoded at once.
    n_rows_at_once: Vec<u64>,
}

/// A top-level column of the file.
#[derive(Debug)]
struct Root {
    idx: usize,
    name: String,
}

impl ListColumn {
    /// Opens the list column called `column` in the file at `path`, or its only list column.
    ///
    /// # Errors
    /// If the file cannot be read as Parquet, or has no such list column of a supported type.
    pub fn open(path: &Path, column: Option<&str>) -> Result<ListColumn, ListColumnError> {
        let file = regular_file::open(path)?;
        let metadata = load_metadata(&file)?;
        let fields = metadata.schema().fields();
        let idx = match column {
            Some(name) => named(fields, name)?,
            None => only_list(fields)?,
        };
        let dtype = list_dtype(&fields[idx])?;
        let names = NAME_COLUMNS.iter().find_map(|name| {
            let idx = fields.iter().position(|field| field.name() == name)?;
            Some((idx, &fields[idx]))
        });
        let names = match names {
            // If the list column itself is called `id`, it does not name the items.
            None => None,
            Some((name_idx, _)) if name_idx == idx => None,
            Some((idx, field)) if is_name(field.data_type()) => Some(root(idx, field)),
            Some((_, field)) => {
                return Err(ListColumnError::UnsupportedNames {
                    column: field.name().clone(),
                    found: field.data_type().to_string(),
                });
            }
        };
        let n_rows = metadata
            .metadata()
            .row_groups()
            .iter()
            .map(|group| u64::try_from(group.num_rows()).ok())
            .try_fold(0u64, |sum, n| sum.checked_add(n?))
            .ok_or(ListColumnError::MalformedRowCount)?;
        Ok(ListColumn {
            path: path.to_owned(),
            file: file.metadata()?,
            column: root(idx, &fields[idx]),
            names,
            shapes: None,
            dtype,
            n_rows,
            n_rows_at_once: vec![BATCH_ROWS_MAX; metadata.metadata().num_row_groups()],
            metadata,
        })
    }

    /// Decodes no more at once than takes `bytes_max`, however few bytes the file has: a row that
    /// alone takes more is an error, before anything of it is decoded.
    ///
    /// # Errors
    /// If there is such a row, or if the file cannot be read.
    pub fn within(mut self, bytes_max: u64) -> Result<ListColumn, ListColumnError> {
        /// The two levels of an entry while it is decoded.
        const LEVEL_BYTES: u64 = 4;
        /// Parquet has no narrower numbers.
        const VALUE_BYTES_MIN: u64 = 4;
        let entry_bytes = VALUE_BYTES_MIN.max(self.dtype.size_bytes() as u64) + LEVEL_BYTES;
        let mut first_row = 0;
        for (group, n_at_once) in
            self.metadata.metadata().row_groups().iter().zip(&mut self.n_rows_at_once)
        {
            let n_rows = group.num_rows() as u64;
            let mut chunks = group.columns().iter();
            let chunk = chunks.find(|chunk| chunk.column_path().parts()[0] == self.column.name);
            let n_entries = chunk.map_or(0, |chunk| chunk.num_values().unsigned_abs());
            if let Some(chunk) = chunk
                && n_entries.saturating_mul(entry_bytes) > bytes_max
            {
                // Each other row has an entry, even if it is empty.
                let most = (0, n_entries.saturating_sub(n_rows.saturating_sub(1)));
                let (row, n_elements) = match n_rows {
                    1 => most,
                    _ => guarded(|| {
                        let file = regular_file::open(&self.path)?;
                        Ok(longest_row(file, chunk, n_rows)?.unwrap_or(most))
                    })?,
                };
                let row_bytes = n_elements.saturating_mul(entry_bytes);
                if row_bytes > bytes_max {
                    let row = first_row + row;
                    return Err(ListColumnError::RowTooLarge {
                        row,
                        n_elements,
                        row_bytes,
                        bytes_max,
                    });
                }
                *n_at_once = (bytes_max / row_bytes.max(1)).min(BATCH_ROWS_MAX);
            }
            first_row += n_rows;
        }
        Ok(self)
    }

    /// Reads the arrays' extents from the column of this name, which holds a list of u64 per row.
    ///
    /// # Errors
    /// If there is no such column.
    pub fn with_shapes(self, column: &str) -> Result<ListColumn, ListColumnError> {
        let fields = self.metadata.schema().fields();
        let idx = named(fields, column)?;
        let shapes = Some(root(idx, &fields[idx]));
        Ok(ListColumn { shapes, ..self })
    }

    /// The columns of the file: the name of each, and the dtype of its elements if it is a list
    /// column.
    ///
    /// # Errors
    /// If the file cannot be read as Parquet.
    pub fn columns(path: &Path) -> Result<Vec<(String, Option<Dtype>)>, ListColumnError> {
        let metadata = load_metadata(&regular_file::open(path)?)?;
        let fields = metadata.schema().fields().iter();
        let described = fields.map(|field| (field.name().clone(), list_dtype(field).ok()));
        Ok(described.collect())
    }

    /// The column's name.
    pub fn name(&self) -> &str {
        &self.column.name
    }

    /// The type of every item's elements.
    pub fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// The number of items.
    pub fn n_rows(&self) -> u64 {
        self.n_rows
    }

    /// The items of these rows, in order, with their arrays. Several threads may read at once.
    ///
    /// # Errors
    /// If the rows are out of range, or if the file changed or cannot be read.
    pub fn rows(
        &self,
        rows: Range<u64>,
    ) -> Result<impl Iterator<Item = Result<Item, ListColumnError>> + use<>, ListColumnError> {
        Ok(rows::items(Batches::new(self, rows, true)?))
    }

    /// The rows from `first_row` to the end in batches, without their names.
    ///
    /// # Errors
    /// If the row is out of range, or if the file changed or cannot be read.
    pub fn batches(&self, first_row: u64) -> Result<Batches, ListColumnError> {
        Batches::new(self, first_row..self.n_rows, false)
    }

    /// Whether a column of the file names the items; otherwise their row numbers are their names.
    pub fn has_names(&self) -> bool {
        self.names.is_some()
    }

    /// Calls `each` with the name and extents of every item. All data are decoded, but not kept.
    /// Names are not compared.
    ///
    /// # Errors
    /// If the file changed or cannot be read.
    pub fn survey(&self, each: &mut dyn FnMut(Surveyed<'_>)) -> Result<(), ListColumnError> {
        rows::survey(Batches::new(self, 0..self.n_rows, true)?, each)
    }

    /// The row groups that hold `rows`, the first row of the first group, and how many rows to
    /// decode at once.
    fn row_groups(&self, rows: &Range<u64>) -> (Vec<usize>, u64, u64) {
        let (mut groups, mut first_row) = (Vec::new(), 0);
        let mut batch_rows = BATCH_ROWS_MAX;
        let mut start = 0;
        for (group_idx, group) in self.metadata.metadata().row_groups().iter().enumerate() {
            let n_rows = group.num_rows() as u64;
            let end = start + n_rows;
            if start < rows.end && rows.start < end {
                if groups.is_empty() {
                    first_row = start;
                }
                groups.push(group_idx);
                // Counts values, not encoded bytes: a million equal values are encoded in a few
                // bytes.
                let n_values = group
                    .columns()
                    .iter()
                    .filter(|chunk| chunk.column_path().parts()[0] == self.column.name)
                    .map(|chunk| u64::try_from(chunk.num_values()).unwrap_or(0))
                    .fold(0, u64::saturating_add);
                let row_bytes =
                    (n_values / n_rows.max(1)).saturating_mul(self.dtype.size_bytes() as u64);
                batch_rows = batch_rows
                    .min(BATCH_BYTES / row_bytes.max(1))
                    .min(self.n_rows_at_once[group_idx]);
            }
            start = end;
        }
        (groups, first_row, batch_rows.max(1))
    }

    /// A decoder for these rows with its own file handle: threads must not share a file position.
    fn decoder(
        &self,
        rows: &Range<u64>,
        names: Option<&Root>,
    ) -> Result<ParquetRecordBatchReader, ListColumnError> {
        let file = regular_file::open(&self.path)?;
        let now = file.metadata()?;
        if (now.len(), now.modified()?) != (self.file.len(), self.file.modified()?) {
            return Err(ListColumnError::FileChanged);
        }
        let (groups, first_row, batch_rows) = self.row_groups(rows);
        let roots = [Some(&self.column), self.shapes.as_ref(), names];
        let mask = ProjectionMask::roots(
            self.metadata.parquet_schema(),
            roots.into_iter().flatten().map(|root| root.idx),
        );
        let builder =
            ParquetRecordBatchReaderBuilder::new_with_metadata(file, self.metadata.clone());
        Ok(builder
            .with_row_groups(groups)
            .with_projection(mask)
            .with_batch_size(batch_rows as usize)
            .with_offset((rows.start - first_row) as usize)
            .with_limit((rows.end - rows.start) as usize)
            .build()?)
    }
}

fn load_metadata(file: &std::fs::File) -> Result<ArrowReaderMetadata, ListColumnError> {
    // Parquet's own schema has all that is needed. The Arrow schema that many writers add would
    // only distinguish kinds of lists, and its decoder panics if it is damaged.
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    guarded(|| Ok(ArrowReaderMetadata::load(file, options)?))
}

fn root(idx: usize, field: &FieldRef) -> Root {
    Root { idx, name: field.name().clone() }
}

fn named(fields: &[FieldRef], name: &str) -> Result<usize, ListColumnError> {
    fields.iter().position(|field| field.name() == name).ok_or_else(|| {
        ListColumnError::NoSuchColumn { column: name.into(), columns: names_of(fields) }
    })
}

fn names_of(fields: &[FieldRef]) -> Vec<String> {
    fields.iter().map(|field| field.name().clone()).collect()
}

fn only_list(fields: &[FieldRef]) -> Result<usize, ListColumnError> {
    let lists: Vec<usize> = (0..fields.len())
        .filter(|&idx| matches!(fields[idx].data_type(), DataType::List(_)))
        .collect();
    match lists[..] {
        [] => Err(ListColumnError::NoListColumn { columns: names_of(fields) }),
        [idx] => Ok(idx),
        _ => Err(ListColumnError::SeveralListColumns {
            columns: lists.iter().map(|&idx| fields[idx].name().clone()).collect(),
        }),
    }
}

fn list_dtype(field: &FieldRef) -> Result<Dtype, ListColumnError> {
    let column = || field.name().clone();
    let mut data_type = field.data_type();
    if !matches!(data_type, DataType::List(_)) {
        return Err(ListColumnError::NotAList { column: column(), found: data_type.to_string() });
    }
    while let DataType::List(item) = data_type {
        data_type = item.data_type();
    }
    dtype_of(data_type).ok_or_else(|| ListColumnError::UnsupportedElements {
        column: column(),
        found: data_type.to_string(),
    })
}

fn is_name(column: &DataType) -> bool {
    match column {
        DataType::Utf8 => true,
        other => other.is_integer(),
    }
}
