//! Tables of pairs: the columns `pair_id`, `src` and `tgt`, and any other columns.

use std::path::Path;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StringArray};
use arrow::compute::{cast, concat_batches};
use arrow::datatypes::{DataType, Field};

use super::{CarriedColumn, Collector, NamedPair, PairInput, PairInputError};
use crate::frame::{FrameFiles, FrameRef};
use swathe_formats::csv::CsvReader;
use swathe_run::store::run_folder::{FolderError, can_be_in_a_table};
use swathe_run::store::table_reader::TableReader;

/// The columns that define a pair; all others are carried unchanged.
const NEEDED: [&str; 3] = ["pair_id", "src", "tgt"];

/// Columns with the width of a pixel, of the source and of the target; the first that has a value
/// counts.
const UM_COLUMNS: [[&str; 2]; 2] = [
    ["src_um_per_px", "um_per_px"],
    ["tgt_um_per_px", "um_per_px"],
];

pub(super) fn from_csv(path: &Path) -> Result<PairInput, PairInputError> {
    let unusable = |source| PairInputError::Csv {
        path: path.to_owned(),
        source,
    };
    let reader = CsvReader::open(path).map_err(unusable)?;
    let columns = reader.columns().to_vec();
    let mut fields: Vec<Vec<String>> = vec![Vec::new(); columns.len()];
    let mut lines = Vec::new();
    for record in reader {
        let record = record.map_err(unusable)?;
        lines.push(record.line);
        for (column, field) in fields.iter_mut().zip(record.fields) {
            column.push(field);
        }
    }
    let find = |name: &str| columns.iter().position(|column| column == name);
    let mut carried = Vec::new();
    for (name, texts) in columns.iter().zip(&fields) {
        if !NEEDED.contains(&name.as_str()) {
            carried.push(CarriedColumn::of_texts(name, texts));
        }
    }
    let table = Table {
        path,
        columns: &columns,
        rows: &lines,
        text: &|name, at| find(name).map(|column| fields[column][at].clone()),
    };
    table.pairs(carried)
}

pub(super) fn from_parquet(path: &Path) -> Result<PairInput, PairInputError> {
    let unusable = |message: String| PairInputError::Parquet {
        path: path.to_owned(),
        message,
    };
    let read = || -> Result<RecordBatch, FolderError> {
        let table = TableReader::open(path)?;
        let schema = table.builder.schema().clone();
        let batches: Vec<RecordBatch> = table.batches()?.collect::<Result<_, _>>()?;
        concat_batches(&schema, &batches).map_err(FolderError::damaged(path))
    };
    let batch = read().map_err(|error| unusable(error.reason()))?;
    let schema = batch.schema();
    let columns: Vec<String> = schema.fields().iter().map(|f| f.name().clone()).collect();
    let mut carried = Vec::new();
    for (field, values) in schema.fields().iter().zip(batch.columns()) {
        if !NEEDED.contains(&field.name().as_str()) {
            carried.push(plain(path, field, values)?);
        }
    }
    // Names and paths may have any text type, and names may be numbers.
    let mut texts: Vec<(String, StringArray)> = Vec::new();
    let meaning = NEEDED.iter().chain(UM_COLUMNS.iter().flatten());
    for &name in meaning {
        if let Some(values) = batch.column_by_name(name) {
            let text = cast(values, &DataType::Utf8).map_err(|_| PairInputError::ColumnType {
                path: path.to_owned(),
                column: name.to_owned(),
                data_type: values.data_type().to_string(),
            })?;
            texts.push((name.to_owned(), text.as_string::<i32>().clone()));
        }
    }
    let rows: Vec<u64> = (0..batch.num_rows() as u64).collect();
    let table = Table {
        path,
        columns: &columns,
        rows: &rows,
        text: &|name, at| {
            let (_, values) = texts.iter().find(|(column, _)| column == name)?;
            Some(if values.is_valid(at) {
                values.value(at).to_owned()
            } else {
                String::new()
            })
        },
    };
    table.pairs(carried)
}

/// A carried column in a type that the output table can hold: neither a dictionary nor a view.
fn plain(path: &Path, field: &Field, values: &ArrayRef) -> Result<CarriedColumn, PairInputError> {
    let wrong = || PairInputError::ColumnType {
        path: path.to_owned(),
        column: field.name().clone(),
        data_type: field.data_type().to_string(),
    };
    let data_type = match field.data_type() {
        DataType::Dictionary(_, values) => values.as_ref().clone(),
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        other => other.clone(),
    };
    let values = cast(values, &data_type).map_err(|_| wrong())?;
    let field = Field::new(field.name(), data_type, true).with_metadata(field.metadata().clone());
    if !can_be_in_a_table(&field) {
        return Err(wrong());
    }
    Ok(CarriedColumn { field, values })
}

/// A table in memory, from a CSV or a Parquet file.
struct Table<'a> {
    path: &'a Path,
    columns: &'a [String],
    /// The number of each row in messages.
    rows: &'a [u64],
    /// The text of a column in a row; `None` if there is no such column.
    text: &'a dyn Fn(&str, usize) -> Option<String>,
}

impl Table<'_> {
    fn pairs(&self, carried: Vec<CarriedColumn>) -> Result<PairInput, PairInputError> {
        for column in NEEDED {
            if !self.columns.iter().any(|name| name == column) {
                return Err(PairInputError::MissingColumn {
                    path: self.path.to_owned(),
                    column,
                    columns: self.columns.to_vec(),
                });
            }
        }
        let folder = self.path.parent().unwrap_or(Path::new(""));
        let mut collector = Collector::default();
        for (at, &row) in self.rows.iter().enumerate() {
            let text = |name: &str| (self.text)(name, at).unwrap_or_default();
            let mut frame = |name: &str| {
                let path = text(name);
                if path.trim().is_empty() {
                    return Err(self.bad_value(row, name, path, "the path of a frame"));
                }
                Ok(collector.frame(FrameRef::parse(&path).in_folder(folder)))
            };
            let (source, target) = (frame("src")?, frame("tgt")?);
            let pair = NamedPair {
                id: text("pair_id"),
                source,
                target,
                source_um_per_px: self.um_per_px(UM_COLUMNS[0], at, row)?,
                target_um_per_px: self.um_per_px(UM_COLUMNS[1], at, row)?,
            };
            collector.pair(self.path, row, pair)?;
        }
        let table = Some(self.path.to_owned());
        Ok(collector.finish(folder, table, carried, FrameFiles::default()))
    }

    /// The width of a pixel, from the first of two columns that has a value.
    fn um_per_px(
        &self,
        names: [&str; 2],
        at: usize,
        row: u64,
    ) -> Result<Option<f64>, PairInputError> {
        for name in names {
            let text = (self.text)(name, at).unwrap_or_default();
            if text.trim().is_empty() {
                continue;
            }
            return match text.trim().parse::<f64>() {
                Ok(um) if um > 0.0 && um.is_finite() => Ok(Some(um)),
                _ => Err(self.bad_value(row, name, text, "a width in µm")),
            };
        }
        Ok(None)
    }

    fn bad_value(
        &self,
        row: u64,
        column: &str,
        value: String,
        expected: &'static str,
    ) -> PairInputError {
        PairInputError::BadValue {
            path: self.path.to_owned(),
            row,
            column: column.to_owned(),
            value,
            expected,
        }
    }
}
