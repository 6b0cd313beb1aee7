//! Errors of a list column and of its items.

use std::io;

use parquet::errors::ParquetError;
use swathe::array::Dtype;

/// Why a list column could not be read or written. The caller knows the file's name and adds it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ListColumnError {
    /// The file is not Parquet, is damaged, or uses an unsupported feature.
    #[error("cannot be read or written as Parquet: {0}")]
    Parquet(#[from] ParquetError),
    /// The Parquet decoder panicked, because the file is damaged.
    #[error("the Parquet decoder gave up ({message}); the file is damaged: copy or write it again")]
    DecoderPanicked {
        /// The panic message.
        message: String,
    },
    /// Row counts are negative or overflow.
    #[error("the file's row counts are negative or absurd; it is damaged: copy or write it again")]
    MalformedRowCount,
    /// The file has columns and no rows.
    #[error("it has no rows")]
    NoRows,
    /// The file holds fewer rows than it declares.
    #[error("{actual} rows of the {expected} that the file declares; copy or write it again")]
    RowsMissing {
        /// Rows requested.
        expected: u64,
        /// Rows found.
        actual: u64,
    },
    /// A row takes more memory to decode than there is.
    #[error("row {row} has {n_elements} elements, which take {} MiB to decode, and there are {} MiB", row_bytes.div_ceil(1 << 20), bytes_max >> 20)]
    RowTooLarge {
        /// The row, from 0.
        row: u64,
        /// Its elements.
        n_elements: u64,
        /// What decoding them takes.
        row_bytes: u64,
        /// The limit.
        bytes_max: u64,
    },
    /// The file changed after it was opened.
    #[error("the file was changed while it was in use; run again")]
    FileChanged,
    /// Rows beyond the end were requested.
    #[error("row {row} was asked for, but there are {n_rows}")]
    RowOutOfRange {
        /// The requested row, or the end of the range.
        row: u64,
        /// Rows in the file.
        n_rows: u64,
    },
    /// There is no column of that name.
    #[error("no column called {column:?}; there are {columns:?}")]
    NoSuchColumn {
        /// The requested name.
        column: String,
        /// The names there are.
        columns: Vec<String>,
    },
    /// None of the columns holds lists.
    #[error("none of the columns {columns:?} holds lists of numbers")]
    NoListColumn {
        /// The names there are.
        columns: Vec<String>,
    },
    /// More than one column holds lists, and the caller named none.
    #[error("several columns hold lists, {columns:?}; say which one is meant")]
    SeveralListColumns {
        /// Their names.
        columns: Vec<String>,
    },
    /// The named column does not hold lists.
    #[error("column {column:?} holds {found}, not lists of numbers")]
    NotAList {
        /// The column.
        column: String,
        /// Its type.
        found: String,
    },
    /// Lists of an unsupported type.
    #[error(
        "column {column:?} holds lists of {found}; integers, f32 and f64 are supported: cast it, e.g. to list<float>"
    )]
    UnsupportedElements {
        /// The column.
        column: String,
        /// The type of its elements.
        found: String,
    },
    /// The column that should name the items holds neither text nor integers.
    #[error("column {column:?} names the items but holds {found}; text or integers are wanted")]
    UnsupportedNames {
        /// The column.
        column: String,
        /// Its type.
        found: String,
    },
    /// Two items have the same name.
    #[error("rows {first_row} and {row} are both called {name:?}; each item needs its own name")]
    DuplicateName {
        /// The name.
        name: String,
        /// The row that had it first.
        first_row: u64,
        /// The row that repeats it.
        row: u64,
    },
    /// An array's dtype is not the dtype of the column.
    #[error("an array of {found} does not belong in a column of {expected}")]
    DtypeMismatch {
        /// The column's dtype.
        expected: Dtype,
        /// The array's dtype.
        found: Dtype,
    },
    /// An array that does not have exactly one axis.
    #[error("an array of shape {shape:?} is no list: only one axis fits; use .npz for others")]
    NotOneDimensional {
        /// The array's shape.
        shape: Vec<usize>,
    },
    /// An array that is too large for a Parquet page.
    #[error("an array of {size_bytes} bytes is too large for one row, which holds {max_bytes}")]
    ItemTooLarge {
        /// The array's size.
        size_bytes: u64,
        /// The limit.
        max_bytes: u64,
    },
    /// The file could not be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// What is wrong with one item; the others can be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ItemError {
    /// The list is null.
    #[error("the list is null; fill it or drop the row")]
    NullList,
    /// The list has null elements.
    #[error("{n_nulls} elements are null, the first at {first_idx}; fill them, e.g. with NaN")]
    NullElements {
        /// How many.
        n_nulls: usize,
        /// The index of the first, from 0.
        first_idx: usize,
    },
    /// The inner lists differ in length.
    #[error("its lists have {n} and {other} elements; an array needs lists of one length")]
    Ragged {
        /// The length of the first list.
        n: usize,
        /// Another length.
        other: usize,
    },
    /// The extents do not match the number of elements.
    #[error("the shape {shape:?} does not describe the list's {n} elements")]
    ShapeMismatch {
        /// The extents in the column of shapes.
        shape: Vec<usize>,
        /// Elements of the list.
        n: usize,
    },
    /// The name is null.
    #[error("column {column:?} names the items but is null here; give the row a name")]
    NullName {
        /// The column of names.
        column: String,
    },
}
