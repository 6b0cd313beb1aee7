//! Tables in memory, from CSV or Parquet files: their cells as text, and their columns with types.

use std::path::Path;

use arrow::array::{Array as _, AsArray as _, RecordBatch};
use arrow::compute::{cast, concat_batches};
use arrow::datatypes::{DataType, Field};
use swathe::Cpu;
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
    /// It takes more memory than it may.
    #[error("takes {} MiB or more, and there are {} MiB", bytes.div_ceil(1 << 20), bytes_max >> 20)]
    TooLarge {
        /// What it takes, as far as is known.
        bytes: u64,
        /// The limit.
        bytes_max: u64,
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
        TextTable::read_within(path, Cpu::detect().memory_default_bytes())
    }

    /// The same for a table of which no more than `bytes_max` may be decoded: a few bytes of
    /// Parquet can be millions of equal values.
    ///
    /// # Errors
    /// If the file is not such a table, or takes more.
    pub fn read_within(path: &Path, bytes_max: u64) -> Result<TextTable, TextTableError> {
        let extension = path.extension().unwrap_or_default();
        if extension.eq_ignore_ascii_case("parquet") {
            TextTable::of_parquet(path, bytes_max)
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

    fn of_parquet(path: &Path, bytes_max: u64) -> Result<TextTable, TextTableError> {
        /// No value takes less.
        const VALUE_BYTES_MIN: u64 = 4;
        let unsound = |error: FolderError| TextTableError::Parquet { message: error.reason() };
        let within = |bytes: u64| match bytes > bytes_max {
            true => Err(TextTableError::TooLarge { bytes, bytes_max }),
            false => Ok(()),
        };
        let table = TableReader::open(path).map_err(unsound)?;
        let groups = table.builder.metadata().row_groups().iter();
        let chunks = groups.flat_map(|group| group.columns());
        let n_values = chunks.map(|chunk| chunk.num_values().unsigned_abs());
        within(n_values.fold(0, u64::saturating_add).saturating_mul(VALUE_BYTES_MIN))?;
        let schema = table.builder.schema().clone();
        let (mut batches, mut n_bytes) = (Vec::new(), 0);
        for batch in table.batches().map_err(unsound)? {
            let batch = batch.map_err(unsound)?;
            n_bytes += batch.get_array_memory_size() as u64;
            within(n_bytes)?;
            batches.push(batch);
        }
        let batch = concat_batches(&schema, &batches);
        let batch = batch.map_err(FolderError::damaged(path)).map_err(unsound)?;
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
