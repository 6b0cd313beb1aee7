//! What can be wrong with a list column, and with one of its items.

use std::io;

use parquet::errors::ParquetError;
use swathe::array::Dtype;

/// Why a list column could not be read or written. The caller knows the file's name and adds it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ListColumnError {
    /// The file is not Parquet, or damaged, or uses what cannot be read.
    #[error("cannot be read or written as Parquet: {0}")]
    Parquet(#[from] ParquetError),
    /// The damage was such that the Parquet decoder gave up in the middle.
    #[error("the Parquet decoder gave up ({message}); the file is damaged: copy or write it again")]
    DecoderPanicked {
        /// What it said.
        message: String,
    },
    /// Row counts that are negative or beyond any file.
    #[error("the file's row counts are negative or absurd; it is damaged: copy or write it again")]
    MalformedRowCount,
    /// Fewer rows came than the file declares.
    #[error("{actual} rows of the {expected} that the file declares; copy or write it again")]
    RowsMissing {
        /// Rows asked for.
        expected: u64,
        /// Rows that came.
        actual: u64,
    },
    /// The file is no longer the one that was opened.
    #[error("the file was changed while it was in use; run again")]
    FileChanged,
    /// Rows beyond the end were asked for.
    #[error("row {row} was asked for, but there are {n_rows}")]
    RowOutOfRange {
        /// The row asked for, or the end of a range.
        row: u64,
        /// Rows in the file.
        n_rows: u64,
    },
    /// No column of that name.
    #[error("no column called {column:?}; there are {columns:?}")]
    NoSuchColumn {
        /// The name asked for.
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
    /// More than one column holds lists and none was named.
    #[error("several columns hold lists, {columns:?}; say which one is meant")]
    SeveralListColumns {
        /// Their names.
        columns: Vec<String>,
    },
    /// The column named holds no lists.
    #[error("column {column:?} holds {found}, not lists of numbers")]
    NotAList {
        /// The column.
        column: String,
        /// Its type.
        found: String,
    },
    /// Lists of something else.
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
    /// Two items have one name.
    #[error("rows {first_row} and {row} are both called {name:?}; each item needs its own name")]
    DuplicateName {
        /// The name.
        name: String,
        /// The row that had it first.
        first_row: u64,
        /// The row that has it again.
        row: u64,
    },
    /// An array of another dtype than the column's.
    #[error("an array of {found} does not belong in a column of {expected}")]
    DtypeMismatch {
        /// The column's dtype.
        expected: Dtype,
        /// The array's.
        found: Dtype,
    },
    /// An array that is no list.
    #[error("an array of shape {shape:?} is no list: only one axis fits; use .npz for others")]
    NotOneDimensional {
        /// The array's shape.
        shape: Vec<usize>,
    },
    /// An array that no Parquet page can hold.
    #[error("an array of {size_bytes} bytes is too large for one row, which holds {max_bytes}")]
    ItemTooLarge {
        /// The array's size.
        size_bytes: u64,
        /// The limit.
        max_bytes: u64,
    },
    /// The bytes could not be read or written at all.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// What is wrong with one item; the others can be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ItemError {
    /// There is no list.
    #[error("the list is null; fill it or drop the row")]
    NullList,
    /// The list has holes.
    #[error("{n_nulls} elements are null, the first at {first_idx}; fill them, e.g. with NaN")]
    NullElements {
        /// How many.
        n_nulls: usize,
        /// Where the first stands, from 0.
        first_idx: usize,
    },
    /// Lists in a list that are not of one length.
    #[error("its lists have {n} and {other} elements; an array needs lists of one length")]
    Ragged {
        /// The length of the first list.
        n: usize,
        /// Another length.
        other: usize,
    },
    /// Extents that are not those of the list.
    #[error("the shape {shape:?} does not describe the list's {n} elements")]
    ShapeMismatch {
        /// The extents that stand beside the list.
        shape: Vec<usize>,
        /// Elements of the list.
        n: usize,
    },
    /// There is a column of names but no name.
    #[error("column {column:?} names the items but is null here; give the row a name")]
    NullName {
        /// The column of names.
        column: String,
    },
}
