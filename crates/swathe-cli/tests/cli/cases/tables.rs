//! Parquet tables: made of a short description, and printed as text.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{
    Array as _, ArrayRef, BooleanArray, Float64Array, Int32Array, ListArray, RecordBatch,
    StringArray, TimestampMillisecondArray,
};
use arrow::compute::{cast, concat_batches};
use arrow::datatypes::{DataType, Float32Type, UInt32Type};
use arrow::util::display::array_value_to_string;
use parquet::arrow::ArrowWriter;

use super::arrays::number;
use super::vocabulary::{Said, option};

/// `parquet FILE NAME=TYPE:VALUE,VALUE…`: a value that is empty is null. Types are `str`, `i32`,
/// `bool`, `ms` (a time stamp), `f32s` and `u32s` (lists, numbers separated by spaces).
pub(crate) fn parquet(folder: &Path, arguments: &[String]) -> Result<Said, String> {
    let (file, columns) = arguments.split_first().ok_or("parquet FILE COLUMNS")?;
    let columns: Vec<(&str, ArrayRef)> =
        columns.iter().map(|text| column(text)).collect::<Result<_, _>>()?;
    let batch = RecordBatch::try_from_iter(columns).map_err(|error| error.to_string())?;
    let file = File::create(folder.join(file)).map_err(|error| error.to_string())?;
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    Ok(Said::default())
}

fn column(text: &str) -> Result<(&str, ArrayRef), String> {
    let (name, rest) = text.split_once('=').ok_or("NAME=TYPE:VALUES")?;
    let (kind, values) = rest.split_once(':').ok_or("NAME=TYPE:VALUES")?;
    let cells: Vec<&str> = if values.is_empty() { vec![] } else { values.split(',').collect() };
    let given = |cell: &&str| (!cell.is_empty()).then(|| (*cell).to_owned());
    let cells = cells.iter().map(given);
    fn numbers<T: std::str::FromStr>(
        cells: impl Iterator<Item = Option<String>>,
    ) -> Result<Vec<Option<T>>, String> {
        cells.map(|cell| cell.map(|cell| number(&cell)).transpose()).collect()
    }
    type Lists<T> = Result<Vec<Option<Vec<Option<T>>>>, String>;
    fn lists<T: std::str::FromStr>(cells: impl Iterator<Item = Option<String>>) -> Lists<T> {
        let list = |cell: String| cell.split(' ').map(|text| number(text).map(Some)).collect();
        cells.map(|cell| cell.map(list).transpose()).collect()
    }
    let array: ArrayRef = match kind {
        "str" => Arc::new(cells.collect::<StringArray>()),
        "i32" => Arc::new(Int32Array::from(numbers(cells)?)),
        "bool" => Arc::new(BooleanArray::from(numbers(cells)?)),
        "ms" => Arc::new(TimestampMillisecondArray::from(numbers(cells)?)),
        "f32s" => Arc::new(ListArray::from_iter_primitive::<Float32Type, _, _>(lists(cells)?)),
        "u32s" => Arc::new(ListArray::from_iter_primitive::<UInt32Type, _, _>(lists(cells)?)),
        other => return Err(format!("no type {other}")),
    };
    Ok((name, array))
}

fn read(folder: &Path, file: &str) -> Result<RecordBatch, String> {
    let path = folder.join(file);
    if !path.exists() {
        return Err(format!("there is no {file}"));
    }
    let batches = crate::program::table(&path);
    match batches.first() {
        Some(first) => concat_batches(&first.schema(), &batches).map_err(|error| error.to_string()),
        None => Err(format!("{file} has no rows")),
    }
}

/// `table FILE [--where COLUMN=TEXT] COLUMN…`: the rows of a table, with a null as `-`. `COLUMN:2`
/// rounds numbers to so many significant digits.
pub(crate) fn table(folder: &Path, arguments: &[String]) -> Result<Said, String> {
    let mut arguments = arguments.to_vec();
    let only = option(&mut arguments, "--where");
    let (file, columns) = arguments.split_first().ok_or("table FILE COLUMN…")?;
    let batch = match read(folder, file) {
        Err(why) if why.ends_with("has no rows") => {
            return Ok(Said::printed("no rows\n".to_owned()));
        }
        batch => batch?,
    };
    let columns: Vec<(String, Vec<String>)> =
        columns.iter().map(|name| cells(&batch, name)).collect::<Result<_, _>>()?;
    let is_wanted: Vec<bool> = match only.as_deref().map(|only| only.split_once('=')) {
        None => vec![true; batch.num_rows()],
        Some(None) => return Err("--where COLUMN=TEXT".to_owned()),
        Some(Some((name, text))) => {
            let (_, cells) = cells(&batch, name)?;
            cells.iter().map(|cell| cell == text).collect()
        }
    };
    let rows = (0..batch.num_rows()).filter(|&row| is_wanted[row]);
    let heads: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
    let row = |row: usize| columns.iter().map(|(_, cells)| cells[row].as_str()).collect();
    Ok(Said::printed(aligned(std::iter::once(heads).chain(rows.map(row)).collect())))
}

/// The name of a column and its cells as text.
fn cells(batch: &RecordBatch, name: &str) -> Result<(String, Vec<String>), String> {
    let (name, digits) = match name.split_once(':') {
        Some((name, digits)) => (name, Some(number::<usize>(digits)?)),
        None => (name, None),
    };
    let column = batch.column_by_name(name).ok_or_else(|| format!("no column {name}"))?;
    let numbers = match digits {
        Some(_) => Some(cast(column, &DataType::Float64).map_err(|error| error.to_string())?),
        None => None,
    };
    let cell = |row: usize| match (&numbers, digits) {
        _ if column.is_null(row) => "-".to_owned(),
        (Some(numbers), Some(digits)) => {
            let numbers: &Float64Array = numbers.as_any().downcast_ref().unwrap();
            rounded(numbers.value(row), digits)
        }
        _ => array_value_to_string(column, row).unwrap(),
    };
    Ok((name.to_owned(), (0..batch.num_rows()).map(cell).collect()))
}

/// A number with so many significant digits.
fn rounded(value: f64, n_digits: usize) -> String {
    let text = format!("{value:.*e}", n_digits - 1);
    text.parse::<f64>().map_or(text, |value| value.to_string())
}

fn aligned(rows: Vec<Vec<&str>>) -> String {
    let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..rows[0].len()).map(width).collect();
    let line = |row: &Vec<&str>| {
        let cells = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:width$}  "));
        cells.collect::<String>().trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}

/// `columns FILE`: the columns of a table, their types, and units and descriptions where they have
/// some.
pub(crate) fn columns(folder: &Path, arguments: &[String]) -> Result<Said, String> {
    let [file] = arguments else {
        return Err("columns FILE".to_owned());
    };
    let batch = read(folder, file)?;
    let schema = batch.schema();
    let line = |field: &Arc<arrow::datatypes::Field>| {
        let of = |key: &str| field.metadata().get(key).map(|text| format!(" {key}={text:?}"));
        let more = [of("unit"), of("description")].into_iter().flatten().collect::<String>();
        format!("{} {}{more}\n", field.name(), field.data_type())
    };
    Ok(Said::printed(schema.fields().iter().map(line).collect()))
}

/// `same-table FILE FILE [--by COLUMN,COLUMN] [--but PREFIX,PREFIX] [--part]`: every bit of every
/// value is the same. With `--by`, rows in another order are found by columns, with `--part` the
/// second table has some of the rows; columns that begin with a prefix do not count (or end:
/// `*_um`).
pub(crate) fn same_table(folder: &Path, arguments: &[String]) -> Result<Said, String> {
    let mut arguments = arguments.to_vec();
    let by = option(&mut arguments, "--by");
    let but = option(&mut arguments, "--but").unwrap_or_default();
    let is_part = arguments.last().is_some_and(|last| last == "--part");
    arguments.truncate(arguments.len() - usize::from(is_part));
    let but: Vec<&str> = but.split(',').filter(|prefix| !prefix.is_empty()).collect();
    let [a, b] = arguments.as_slice() else {
        return Err("same-table FILE FILE".to_owned());
    };
    let keyed = |file: &String| -> Result<BTreeMap<String, Vec<String>>, String> {
        let batch = read(folder, file)?;
        let names: Vec<String> =
            batch.schema().fields().iter().map(|field| field.name().clone()).collect();
        let is_left_out = |name: &&String| {
            but.iter().any(|part| match part.strip_prefix('*') {
                Some(end) => name.ends_with(end),
                None => name.starts_with(part),
            })
        };
        let kept = names.iter().filter(|name| !is_left_out(name));
        let columns: Vec<(String, Vec<String>)> =
            kept.map(|name| cells(&batch, name)).collect::<Result<_, _>>()?;
        let keys: Vec<String> = match &by {
            Some(by) => {
                let parts = by.split(',').map(|name| Ok(cells(&batch, name)?.1));
                let parts = parts.collect::<Result<Vec<_>, String>>()?;
                let key = |row: usize| parts.iter().map(|cells| &*cells[row]).collect::<Vec<_>>();
                (0..batch.num_rows()).map(|row| key(row).join(" ")).collect()
            }
            None => (0..batch.num_rows()).map(|row| format!("{row:09}")).collect(),
        };
        let row = |(row, key): (usize, String)| {
            let cells = columns.iter().map(|(name, cells)| format!("{name}={}", cells[row]));
            (key, cells.collect())
        };
        Ok(keys.into_iter().enumerate().map(row).collect())
    };
    let (mut rows_a, rows_b) = (keyed(a)?, keyed(b)?);
    if is_part {
        rows_a.retain(|key, _| rows_b.contains_key(key));
    }
    if !rows_a.keys().eq(rows_b.keys()) {
        return Err(format!("{a} has {} rows, {b} {} others", rows_a.len(), rows_b.len()));
    }
    for (key, row) in &rows_a {
        if let Some((x, y)) = row.iter().zip(&rows_b[key]).find(|(x, y)| x != y) {
            return Err(format!("{key}: {x} in {a}, {y} in {b}"));
        }
    }
    Ok(Said::printed(format!("{} rows are the same\n", rows_a.len())))
}
