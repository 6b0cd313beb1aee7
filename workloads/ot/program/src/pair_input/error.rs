//! Errors of the input as a whole, as opposed to errors of single pairs.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};

use crate::frame::FrameError;
use crate::text_table::TextTableError;
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
    /// A table takes more memory than there is.
    #[error("{path} takes {} MiB or more, and there are {} MiB", bytes.div_ceil(1 << 20), bytes_max >> 20, path = path.display())]
    TableTooLarge {
        /// The table.
        path: PathBuf,
        /// What it takes, as far as is known.
        bytes: u64,
        /// The limit.
        bytes_max: u64,
    },
    /// The table has columns and no rows.
    #[error("{path} has no rows", path = path.display())]
    NoRows {
        /// The table.
        path: PathBuf,
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
    /// A column that the user named is absent.
    #[error("{path} has no column called {column:?}; it has {columns:?}", path = path.display())]
    NoSuchColumn {
        /// The table.
        path: PathBuf,
        /// The name.
        column: String,
        /// The names of the existing columns.
        columns: Vec<String>,
    },
    /// A table of frames has columns that tell series apart, and the user does not name them.
    #[error("{path} has a frame in each row and {}, so rows that follow each other may not belong together", unsaid(group, order), path = path.display())]
    UnsaidSeries {
        /// The table.
        path: PathBuf,
        /// The column that seems to tell series apart.
        group: Option<String>,
        /// The column that seems to order frames.
        order: Option<String>,
    },
    /// Two frames of a series are at the same place.
    #[error("{path}: rows {} and {} have the same {column} {value:?}{}", rows[0], rows[1], in_group(group), path = path.display())]
    DuplicateOrder {
        /// The table.
        path: PathBuf,
        /// The column that orders.
        column: String,
        /// The value in both rows.
        value: String,
        /// Their group.
        group: String,
        /// The rows.
        rows: [u64; 2],
    },
    /// A choice that is for series of frames, with another kind of input.
    #[error("{flag} is for tables with a frame in each row and series of frames, and {path} is neither", path = path.display())]
    NoSeries {
        /// The input.
        path: PathBuf,
        /// The choice.
        flag: &'static str,
    },
    /// A pixel that is not a label.
    #[error("{frame} is not a label image: a pixel is {value}")]
    NotALabel {
        /// The frame.
        frame: String,
        /// The pixel's value.
        value: f64,
    },
    /// No frame has a label.
    #[error("{path}: no frame has a label (a pixel above 0)", path = path.display())]
    NoLabels {
        /// The input.
        path: PathBuf,
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
    /// The error of a table at this path.
    pub(super) fn of_table(path: &Path) -> impl FnOnce(TextTableError) -> PairInputError {
        let path = path.to_owned();
        |error| match error {
            TextTableError::Csv(source) => PairInputError::Csv { path, source },
            TextTableError::Parquet { message } => PairInputError::Parquet { path, message },
            TextTableError::TooLarge { bytes, bytes_max } => {
                PairInputError::TableTooLarge { path, bytes, bytes_max }
            }
            TextTableError::ColumnType { column, data_type } => {
                PairInputError::ColumnType { path, column, data_type }
            }
        }
    }

    /// A hint for the user: how to correct the input.
    pub fn hint(&self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            PairInputError::Read { .. } => "check that it exists and may be read",
            PairInputError::Frames {
                source: FrameError::Stack(_) | FrameError::CutOff { .. },
                ..
            } => "`swathe ot --help` shows how the frames of a stack are chosen",
            PairInputError::UnknownFormat { .. }
            | PairInputError::TooFewFrames { .. }
            | PairInputError::Frames { .. } => {
                "give a .csv or .parquet table with pair_id, src and tgt, a folder of frames (.npy, .npz, .png, .tif), a TIFF file of many pages, a .npy or .npz stack, or a table with a frame or mask in each row"
            }
            PairInputError::Csv { .. } | PairInputError::Parquet { .. } => {
                "write the table again, as CSV in UTF-8 or as Parquet"
            }
            PairInputError::MissingColumn { .. } => {
                "a table of pairs has the columns pair_id, src and tgt; a table of frames has path; a table of masks has mask_rle, mask_height_px and mask_width_px"
            }
            PairInputError::TableTooLarge { bytes, .. } => {
                return Cow::Owned(format!(
                    "give --memory {}MiB or more",
                    (4 * bytes).div_ceil(1 << 20)
                ));
            }
            PairInputError::NoRows { .. } => "a table has a row for each pair or frame",
            PairInputError::NoSuchColumn { .. } => "name one of its columns, or none",
            PairInputError::UnsaidSeries { group, order, .. } => {
                let flag = |name: &str, column: &Option<String>| match column {
                    Some(column) => format!(" --{name} {column}"),
                    None => String::new(),
                };
                let said = flag("group-by", group) + &flag("order-by", order);
                return Cow::Owned(format!(
                    "add{said}; --group-by none takes all rows as one series, --order-by none in the order of the table"
                ));
            }
            PairInputError::DuplicateOrder { .. } => {
                "name all columns that tell series apart, as in --group-by experiment,embryo_id"
            }
            PairInputError::NoSeries { .. } => "leave it out, or give such an input",
            PairInputError::NotALabel { .. } | PairInputError::NoLabels { .. } => {
                "--label all is for images whose pixels are numbers of objects; leave it out for masses and masks"
            }
            PairInputError::ReservedColumn { .. } => "rename the column in the table",
            PairInputError::ColumnType { .. } => {
                "convert the column to text or numbers, or leave it out"
            }
            PairInputError::BadValue { .. } => "correct the value in the table",
            PairInputError::DuplicateId { .. } => "give every pair a pair_id of its own",
        })
    }
}

fn unsaid(group: &Option<String>, order: &Option<String>) -> String {
    match (group, order) {
        (Some(group), Some(order)) => format!("the columns {group} and {order}"),
        (Some(one), None) | (None, Some(one)) => format!("the column {one}"),
        (None, None) => "no order".to_owned(),
    }
}

fn in_group(group: &str) -> String {
    match group.is_empty() {
        true => String::new(),
        false => format!(" in the group {group}"),
    }
}
