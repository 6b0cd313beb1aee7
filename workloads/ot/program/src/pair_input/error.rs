//! Errors of the input as a whole, as opposed to errors of single pairs.

use std::io;
use std::path::PathBuf;

use crate::frame::FrameError;
use swathe_formats::csv::CsvError;

/// Why a table or a series named on the command line cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PairInputError {
    /// The system cannot read the file or folder.
    #[error("cannot read {path}: {source}", path = path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file is neither a table nor a series.
    #[error("{path} is neither a table of pairs nor a series of frames", path = path.display())]
    UnknownFormat {
        /// The file.
        path: PathBuf,
    },
    /// The file is not a valid CSV table.
    #[error("{path}: {source}", path = path.display())]
    Csv {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: CsvError,
    },
    /// The file is not a valid Parquet table.
    #[error("{path} is not a sound Parquet file: {message}", path = path.display())]
    Parquet {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
    /// The file is not a valid stack of frames or table of masks.
    #[error("{path}: {source}", path = path.display())]
    Frames {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: FrameError,
    },
    /// A column is absent.
    #[error("{path} has no column called {column:?}; it has {columns:?}", path = path.display())]
    MissingColumn {
        /// The table.
        path: PathBuf,
        /// The name.
        column: &'static str,
        /// The names of the existing columns.
        columns: Vec<String>,
    },
    /// A column to be carried has the name of a result column.
    #[error("{path} has a column called {column:?}, which the results have too", path = path.display())]
    ReservedColumn {
        /// The table.
        path: PathBuf,
        /// The name.
        column: String,
    },
    /// A column's type is not supported.
    #[error("{path}: the column {column:?} holds {data_type}", path = path.display())]
    ColumnType {
        /// The table.
        path: PathBuf,
        /// The column.
        column: String,
        /// Its type.
        data_type: String,
    },
    /// A value is not valid.
    #[error("{path}, row {row}: {column} is {value:?}, which is not {expected}", path = path.display())]
    BadValue {
        /// The table.
        path: PathBuf,
        /// The line of a CSV file, the row of a Parquet file from 0.
        row: u64,
        /// The column.
        column: String,
        /// The value in the table.
        value: String,
        /// What it should be.
        expected: &'static str,
    },
    /// A pair has no name.
    #[error("{path}, row {row}: pair_id is empty", path = path.display())]
    NoId {
        /// The table.
        path: PathBuf,
        /// The row.
        row: u64,
    },
    /// Two pairs have the same name.
    #[error("{path}: rows {first_row} and {row} have the same pair_id {id:?}", path = path.display())]
    DuplicateId {
        /// The table or series.
        path: PathBuf,
        /// The name.
        id: String,
        /// The row that had it first.
        first_row: u64,
        /// The row that has it again.
        row: u64,
    },
    /// The series has fewer than two frames.
    #[error("{path} has {n_frames} frames; a series needs at least two", path = path.display())]
    TooFewFrames {
        /// The folder or file.
        path: PathBuf,
        /// How many there are.
        n_frames: usize,
    },
}

impl PairInputError {
    /// A hint for the user: how to correct the input.
    pub fn hint(&self) -> &'static str {
        match self {
            PairInputError::Read { .. } => "check that it exists and may be read",
            PairInputError::UnknownFormat { .. }
            | PairInputError::TooFewFrames { .. }
            | PairInputError::Frames { .. } => {
                "give a .csv or .parquet table with pair_id, src and tgt, a folder of frames (.npy, .npz, .png, .tif), a TIFF file of many pages, or a .csv of masks"
            }
            PairInputError::Csv { .. } | PairInputError::Parquet { .. } => {
                "write the table again, as CSV in UTF-8 or as Parquet"
            }
            PairInputError::MissingColumn { .. } => {
                "a table of pairs has the columns pair_id, src and tgt; a table of masks has mask_rle, mask_height_px and mask_width_px"
            }
            PairInputError::ReservedColumn { .. } => "rename the column in the table",
            PairInputError::ColumnType { .. } => {
                "convert the column to text or numbers, or leave it out"
            }
            PairInputError::BadValue { .. } => "correct the value in the table",
            PairInputError::NoId { .. } => "give every pair a name of its own",
            PairInputError::DuplicateId { .. } => "give every pair a pair_id of its own",
        }
    }
}
