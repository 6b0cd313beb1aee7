//! Tables in memory, from CSV or Parquet files: their cells as text, and their columns with types.

use std::path::Path;

use arrow::array::{Array as _, AsArray as _, RecordBatch};
use arrow::compute::{cast, concat_batches};
use arrow::datatypes::{DataType, Field};
use swathe_formats::csv::{CsvError, CsvReader};
use swathe_run::store::run_folder::{FolderError, can_be_in_a_table};
use swathe_run::store::table_reader::TableReader;

use crate::pair_input::CarriedColumn;

/// A table in memory.
#[derive(Debug)]
pub struct TextTable {
    columns: Vec<String>,
    rows: Vec<u64>,
    cells: Cells,
}

#[derive(Debug)]
enum Cells {
    /// The fields of each column.
    Csv(Vec<Vec<String>>),
    Parquet(RecordBatch),
}

/// Why a file is not a usable table. The caller knows the file's name and adds it to the message.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TextTableError {
    /// It is not a valid CSV table.
    #[error(transparent)]
    Csv(#[from] CsvError),
    /// It is not a valid Parquet table.
    #[error("is not a sound Parquet file: {message}")]
    Parquet {
        /// What is wrong with it.
        message: String,
    },
    /// A column's type is not supported.
    #[error("the column {column:?} holds {data_type}")]
    ColumnType {
        /// The column.
        column: String,
        /// Its type.
        data_type: String,
    },
}

impl TextTable {
    /// Reads a table: Parquet if the file's name ends so, else CSV.
    ///
    /// # Errors
    /// If the file is not such a table.
    pub fn read(path: &Path) -> Result<TextTable, TextTableError> {
        let extension = path.extension().unwrap_or_default();
        if extension.eq_ignore_ascii_case("parquet") {
            TextTable::of_parquet(path)
        } else {
            TextTable::of_csv(path)
        }
    }

    fn of_csv(path: &Path) -> Result<TextTable, TextTableError> {
        let reader = CsvReader::open(path)?;
        let columns = reader.columns().to_vec();
        let mut fields: Vec<Vec<String>> = vec![Vec::new(); columns.len()];
        let mut rows = Vec::new();
        for record in reader {
            let record = record?;
            rows.push(record.line);
            for (column, field) in fields.iter_mut().zip(record.fields) {
                column.push(field);
            }
        }
        Ok(TextTable { columns, rows, cells: Cells::Csv(fields) })
    }

    fn of_parquet(path: &Path) -> Result<TextTable, TextTableError> {
        let read = || -> Result<RecordBatch, FolderError> {
            let table = TableReader::open(path)?;
            let schema = table.builder.schema().clone();
            let batches: Vec<RecordBatch> = table.batches()?.collect::<Result<_, _>>()?;
            concat_batches(&schema, &batches).map_err(FolderError::damaged(path))
        };
        let batch = read().map_err(|error| TextTableError::Parquet { message: error.reason() })?;
        let schema = batch.schema();
        Ok(TextTable {
            columns: schema.fields().iter().map(|f| f.name().clone()).collect(),
            rows: (0..batch.num_rows() as u64).collect(),
            cells: Cells::Parquet(batch),
        })
    }

    /// The names of the columns.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// The number of each row in messages: the line of a CSV file, the row of a Parquet file from 0.
    pub fn rows(&self) -> &[u64] {
        &self.rows
    }

    /// Whether there is a column of this name.
    pub fn has(&self, name: &str) -> bool {
        self.columns.iter().any(|column| column == name)
    }

    /// The cells of a column as text, a null as an empty text; `None` if there is no such column.
    ///
    /// # Errors
    /// If its type has no text.
    pub fn texts(&self, name: &str) -> Result<Option<Vec<String>>, TextTableError> {
        let Some(place) = self.columns.iter().position(|column| column == name) else {
            return Ok(None);
        };
        let batch = match &self.cells {
            Cells::Csv(fields) => return Ok(Some(fields[place].clone())),
            Cells::Parquet(batch) => batch,
        };
        let values = batch.column(place);
        let texts = cast(values, &DataType::Utf8).map_err(|_| TextTableError::ColumnType {
            column: name.to_owned(),
            data_type: values.data_type().to_string(),
        })?;
        let texts = texts.as_string::<i32>().iter();
        Ok(Some(texts.map(|text| text.unwrap_or_default().to_owned()).collect()))
    }

    /// The columns but for some, with types that a table of results can hold.
    ///
    /// # Errors
    /// If a type is not supported.
    pub fn carried(&self, without: &[&str]) -> Result<Vec<CarriedColumn>, TextTableError> {
        let columns = self.columns.iter().enumerate();
        let wanted = columns.filter(|(_, name)| !without.contains(&name.as_str()));
        wanted
            .map(|(place, name)| match &self.cells {
                Cells::Csv(fields) => Ok(CarriedColumn::of_texts(name, &fields[place])),
                Cells::Parquet(batch) => plain(batch, place),
            })
            .collect()
    }
}

/// A column in a type that the output table can hold: neither a dictionary nor a view.
fn plain(batch: &RecordBatch, place: usize) -> Result<CarriedColumn, TextTableError> {
    let schema = batch.schema();
    let field = schema.field(place);
    let wrong = || TextTableError::ColumnType {
        column: field.name().clone(),
        data_type: field.data_type().to_string(),
    };
    let data_type = match field.data_type() {
        DataType::Dictionary(_, values) => values.as_ref().clone(),
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        other => other.clone(),
    };
    let values = cast(batch.column(place), &data_type).map_err(|_| wrong())?;
    let field = Field::new(field.name(), data_type, true).with_metadata(field.metadata().clone());
    if !can_be_in_a_table(&field) {
        return Err(wrong());
    }
    Ok(CarriedColumn { field, values })
}
