//! Pairs of frames, from a table of pairs or from neighbours in a series.
//!
//! A table (CSV or Parquet) has the columns `pair_id`, `src` and `tgt`; its other columns are
//! carried to the output. A series is a folder of frames, a stack (TIFF, `.npy`, `.npz`) or a table
//! with a frame in each row: every frame forms a pair with the next one of its group.

mod carried;
mod choices;
mod error;
mod frame_table;
mod labels;
mod natural;
mod series;
mod steps;
mod table;

pub use carried::CarriedColumn;
pub use choices::InputChoices;
pub use error::PairInputError;
use labels::label_column;
pub use natural::natural_order;
use steps::steps_column;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{StringArray, UInt64Array};
use arrow::compute::take;
use arrow::datatypes::DataType;
use swathe_run::store::record::{Column, PATH_UNIT};

use crate::frame::{Format, FrameFiles, FrameRef};
use crate::text_table::TextTable;

/// The pairs of a run and the places of their frames. No frame has been read yet.
#[derive(Debug)]
pub struct PairInput {
    /// The pairs, in input order.
    pub pairs: Vec<NamedPair>,
    /// Every frame once, even if several pairs use it.
    pub frames: Vec<FrameRef>,
    /// Columns of the table that are carried unchanged to the output.
    pub carried: Vec<CarriedColumn>,
    /// The table, if there is one. It counts as an input like the frames.
    pub table: Option<PathBuf>,
    /// The files that are open already.
    pub files: Arc<FrameFiles>,
    /// What the user should know about the pairs.
    pub notes: Vec<String>,
}

/// Two frames under a name.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedPair {
    /// Its name in the input.
    pub id: String,
    /// Number of the frame that mass comes from.
    pub source: usize,
    /// Number of the frame that mass goes to.
    pub target: usize,
    /// Width of the source's pixels in µm, if the input has it.
    pub source_um_per_px: Option<f64>,
    /// Width of the target's pixels in µm, if the input has it.
    pub target_um_per_px: Option<f64>,
}

impl PairInput {
    /// Keeps only the pairs at these places, which must ascend. Frames that no pair uses any more
    /// will not be read.
    ///
    /// # Panics
    /// If a place is beyond the last pair.
    pub fn keep(&mut self, chosen: &[usize]) {
        let mut numbers = chosen.iter().copied().peekable();
        let mut at = 0;
        self.pairs.retain(|_| {
            at += 1;
            numbers.next_if_eq(&(at - 1)).is_some()
        });
        let rows = UInt64Array::from_iter_values(chosen.iter().map(|&at| at as u64));
        for column in &mut self.carried {
            column.values =
                take(&column.values, &rows, None).expect("pairs and columns have one length");
        }
    }

    /// Opens a table or a series.
    ///
    /// # Errors
    /// If the path cannot be read, or is not a valid table of pairs or series of frames.
    pub fn open(path: &Path) -> Result<PairInput, PairInputError> {
        PairInput::open_with(path, &InputChoices::default())
    }

    /// Opens a table or a series, with what the user says about it.
    ///
    /// # Errors
    /// If the path cannot be read, is not a valid table of pairs or series of frames, or if the
    /// choices do not belong to it.
    pub fn open_with(path: &Path, choices: &InputChoices) -> Result<PairInput, PairInputError> {
        let metadata = std::fs::metadata(path)
            .map_err(|source| PairInputError::Read { path: path.to_owned(), source })?;
        let files = FrameFiles::new(choices.axes.clone(), choices.background);
        let format = Format::of(path);
        let mut takes_columns = false;
        let input = if metadata.is_dir() {
            series::of_folder(path, choices.step, files)
        } else if matches!(format, Some(Format::Tiff | Format::Npy | Format::Npz)) {
            series::of_stack(path, choices.step, files)
        } else if format == Some(Format::Masks) {
            let table = TextTable::read_within(path, choices.bytes_max)
                .map_err(PairInputError::of_table(path))?;
            takes_columns = frame_table::is_frame_table(&table);
            match takes_columns {
                true => frame_table::pairs(path, &table, choices, files),
                false if choices.step > 1 => {
                    Err(PairInputError::NoSeries { path: path.to_owned(), flag: "--step" })
                }
                false => table::pairs(path, &table, files),
            }
        } else {
            return Err(PairInputError::UnknownFormat { path: path.to_owned() });
        }?;
        let has_columns = choices.group_by.is_some() || choices.order_by.is_some();
        if has_columns && !takes_columns {
            return Err(PairInputError::NoSeries {
                path: path.to_owned(),
                flag: "--group-by or --order-by",
            });
        }
        match choices.all_labels {
            true => labels::by_label(path, input),
            false => Ok(input),
        }
    }
}

/// Collects pairs; deduplicates frames and rejects duplicate ids.
#[derive(Default)]
struct Collector {
    pairs: Vec<NamedPair>,
    frames: Vec<FrameRef>,
    number_by_frame: HashMap<FrameRef, usize>,
    row_by_id: HashMap<String, u64>,
}

impl Collector {
    fn frame(&mut self, frame: FrameRef) -> usize {
        if let Some(&number) = self.number_by_frame.get(&frame) {
            return number;
        }
        let number = self.frames.len();
        self.number_by_frame.insert(frame.clone(), number);
        self.frames.push(frame);
        number
    }

    /// Adds the pair at `row` of its table.
    fn pair(&mut self, path: &Path, row: u64, pair: NamedPair) -> Result<(), PairInputError> {
        if let Some(first_row) = self.row_by_id.insert(pair.id.clone(), row) {
            return Err(PairInputError::DuplicateId {
                path: path.to_owned(),
                id: pair.id,
                first_row,
                row,
            });
        }
        self.pairs.push(pair);
        Ok(())
    }

    /// Makes the input. The columns `src` and `tgt`, with paths relative to `folder`, come before
    /// the carried columns.
    fn finish(
        self,
        folder: &Path,
        table: Option<PathBuf>,
        mut carried: Vec<CarriedColumn>,
        files: FrameFiles,
    ) -> PairInput {
        let names: Vec<String> = self.frames.iter().map(|frame| frame.name_in(folder)).collect();
        let carry = |column: Column, of: fn(&NamedPair) -> usize| {
            let values = self.pairs.iter().map(|pair| &names[of(pair)]);
            let values = Arc::new(StringArray::from_iter_values(values));
            CarriedColumn { field: column.field(), values }
        };
        let [source, target] = frame_columns();
        let (source, target) =
            (carry(source, |pair| pair.source), carry(target, |pair| pair.target));
        carried.splice(0..0, [source, target]);
        PairInput {
            pairs: self.pairs,
            frames: self.frames,
            carried,
            table,
            files: Arc::new(files),
            notes: Vec::new(),
        }
    }
}

/// The columns with the paths of frames.
fn frame_columns() -> [Column; 2] {
    let column =
        |name: &str, meaning| Column::new(name, meaning).unit(PATH_UNIT).of(DataType::Utf8, false);
    [column("src", "the frame that mass comes from"), column("tgt", "the frame that mass goes to")]
}

/// The columns that an input brings beyond its own, for the reference.
pub(crate) fn input_columns() -> Vec<Column> {
    let [source, target] = frame_columns();
    vec![source, target, label_column(), steps_column()]
}
