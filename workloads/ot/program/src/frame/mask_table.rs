//! Tables of masks: a CSV or Parquet file with a run-length-encoded mask in each row.

use std::collections::HashMap;
use std::path::Path;

use swathe_ot::Shape;

use super::FrameError;
use crate::text_table::{TextTable, TextTableError};

/// The masks of a table, still encoded.
#[derive(Debug)]
pub struct MaskTable {
    masks: Vec<EncodedMask>,
    by_id: HashMap<String, usize>,
}

/// One mask of a table.
#[derive(Clone, Debug)]
pub struct EncodedMask {
    /// Its `frame_id`, or the number of its row, from 0.
    pub id: String,
    /// Height and width.
    pub shape: Shape,
    /// The runs, as text.
    pub text: String,
    /// The line of the table it stands on.
    pub line: u64,
    /// Width of its pixels in µm, if the table has it.
    pub um_per_px: Option<f64>,
    /// A column that the mask needs and does not have.
    pub empty_cell: Option<&'static str>,
}

/// Why a table of masks cannot be used. The caller knows the file's name and adds it to the
/// message.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MaskTableError {
    /// The file is not a table.
    #[error(transparent)]
    Table(#[from] TextTableError),
    /// A column is absent.
    #[error("no column called {column:?}; there are {columns:?}")]
    MissingColumn {
        /// The name.
        column: &'static str,
        /// The names of the existing columns.
        columns: Vec<String>,
    },
    /// A height or width is not a number of pixels.
    #[error("line {line}: {column} is {value:?}, which is not a number of pixels")]
    BadExtent {
        /// The line.
        line: u64,
        /// The column.
        column: &'static str,
        /// The value in the table.
        value: String,
    },
    /// The width of a pixel is not a positive number.
    #[error("line {line}: um_per_px is {value:?}, which is not a width in µm")]
    BadWidth {
        /// The line.
        line: u64,
        /// The value in the table.
        value: String,
    },
    /// Two masks have the same id.
    #[error("lines {first_line} and {line} have the same frame_id {id:?}")]
    DuplicateId {
        /// The id.
        id: String,
        /// The line that had it first.
        first_line: u64,
        /// The line that has it again.
        line: u64,
    },
}

pub(crate) const RLE_COLUMN: &str = "mask_rle";
const HEIGHT_COLUMN: &str = "mask_height_px";
const WIDTH_COLUMN: &str = "mask_width_px";

impl MaskTable {
    /// Reads a table with the columns `mask_rle`, `mask_height_px`, `mask_width_px` and,
    /// optionally, `frame_id` (default: the number of the row, from 0) and `um_per_px`. A mask with
    /// an empty cell can be named, but not read.
    ///
    /// # Errors
    /// If the file is not such a table, or a value or id in it is not valid.
    pub fn read(path: &Path) -> Result<MaskTable, MaskTableError> {
        let table = TextTable::read(path)?;
        let needed = |column: &'static str| {
            let missing =
                || MaskTableError::MissingColumn { column, columns: table.columns().to_vec() };
            table.texts(column)?.ok_or_else(missing)
        };
        let mut runs = needed(RLE_COLUMN)?;
        let sides = [needed(HEIGHT_COLUMN)?, needed(WIDTH_COLUMN)?];
        let ids = table.texts("frame_id")?;
        let widths = table.texts("um_per_px")?;
        let mut masks: Vec<EncodedMask> = Vec::new();
        let mut by_id: HashMap<String, usize> = HashMap::new();
        for (at, &line) in table.rows().iter().enumerate() {
            let mut empty = None;
            let mut extent = |side: usize, column: &'static str| {
                let text = sides[side][at].trim();
                if text.is_empty() {
                    empty = Some(column);
                    return Ok(0);
                }
                // Columns with empty cells are floats in many tables.
                let number = text.strip_suffix(".0").unwrap_or(text).parse::<u32>();
                number.map(|n| n as usize).map_err(|_| MaskTableError::BadExtent {
                    line,
                    column,
                    value: text.to_owned(),
                })
            };
            let shape = Shape::new(extent(0, HEIGHT_COLUMN)?, extent(1, WIDTH_COLUMN)?);
            let um_text = widths.as_ref().map_or("", |widths| widths[at].trim());
            let um_per_px = match um_text.parse::<f64>() {
                _ if um_text.is_empty() => None,
                Ok(um) if um > 0.0 && um.is_finite() => Some(um),
                _ => {
                    return Err(MaskTableError::BadWidth { line, value: um_text.to_owned() });
                }
            };
            if runs[at].trim().is_empty() {
                empty = Some(RLE_COLUMN);
            }
            let id = match &ids {
                Some(ids) if ids[at].trim().is_empty() => {
                    empty = Some("frame_id");
                    format!("row {line}")
                }
                Some(ids) => ids[at].clone(),
                None => masks.len().to_string(),
            };
            if let Some(first) = by_id.insert(id.clone(), masks.len()) {
                return Err(MaskTableError::DuplicateId {
                    id,
                    first_line: masks[first].line,
                    line,
                });
            }
            masks.push(EncodedMask {
                id,
                shape,
                text: std::mem::take(&mut runs[at]),
                line,
                um_per_px,
                empty_cell: empty,
            });
        }
        Ok(MaskTable { masks, by_id })
    }

    /// The masks, in the order of the table.
    pub fn masks(&self) -> &[EncodedMask] {
        &self.masks
    }

    /// The mask with this id; without an id, the only mask of the table.
    pub(super) fn find(&self, id: Option<&str>) -> Result<&EncodedMask, FrameError> {
        let mask = match (id, self.masks.as_slice()) {
            (None, [only]) => only,
            (None, _) => return Err(FrameError::WhichMask),
            (Some(id), masks) => match self.by_id.get(id) {
                Some(&at) => &masks[at],
                None => return Err(FrameError::NoSuchMask { id: id.to_owned() }),
            },
        };
        match mask.empty_cell {
            None => Ok(mask),
            Some(column) => Err(FrameError::Unnamed {
                reason: format!("row {}: the cell {column} is empty", mask.line),
            }),
        }
    }
}
