//! Reading bulk columns into memory that is used again: fresh memory for every page would cost
//! several times what decoding it does.

use std::path::Path;
use std::sync::Arc;

use arrow::datatypes::DataType;
use parquet::column::page::PageReader;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::data_type::DataType as PhysicalType;
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaDataReader;
use parquet::file::serialized_reader::SerializedPageReader;

use super::table_file::ColumnBytes;
use swathe_formats::regular_file;

/// Calls `visit` with the bytes of every list's elements, or with `None` if the list is null.
/// `leaf` is the number of the Parquet column, whose lists have elements of this type.
pub(super) fn for_each_list(
    path: &Path,
    leaf: usize,
    element: &DataType,
    visit: &mut dyn FnMut(Option<&[u8]>),
) -> Result<(), ParquetError> {
    let file = regular_file::open(path)?;
    let metadata = ParquetMetaDataReader::new().parse_and_finish(&file)?;
    let mut buffer = Vec::new();
    for group in metadata.row_groups() {
        let column = group.column(leaf);
        let bytes = Arc::new(ColumnBytes::read(&file, column, buffer)?);
        let n_rows = group.num_rows() as usize;
        let pages = SerializedPageReader::new(Arc::clone(&bytes), column, n_rows, None)?;
        let pages: Box<dyn PageReader> = Box::new(pages);
        // Some lists at a time, so that their levels stay in the processor's caches.
        let n_levels_mean = column.num_values().max(1) as usize / n_rows.max(1);
        let n_lists = ((64 << 10) / n_levels_mean.max(1)).max(1);
        let reader = get_column_reader(column.column_descr_ptr(), pages);
        let max = column.column_descr().max_def_level();
        match (reader, element.primitive_width()) {
            (ColumnReader::Int32ColumnReader(reader), Some(1)) => {
                read(reader, (max, n_lists), visit, |values, bytes| {
                    bytes.extend(values.iter().map(|&value| value as u8));
                    bytes
                })
            }
            (ColumnReader::Int32ColumnReader(reader), Some(2)) => {
                read(reader, (max, n_lists), visit, |values, bytes| {
                    bytes.extend(values.iter().flat_map(|&value| (value as u16).to_le_bytes()));
                    bytes
                })
            }
            (ColumnReader::Int32ColumnReader(reader), Some(4)) => {
                read(reader, (max, n_lists), visit, |values, _| bytemuck::cast_slice(values))
            }
            (ColumnReader::FloatColumnReader(reader), Some(4)) => {
                read(reader, (max, n_lists), visit, |values, _| bytemuck::cast_slice(values))
            }
            (ColumnReader::Int64ColumnReader(reader), Some(8)) => {
                read(reader, (max, n_lists), visit, |values, _| bytemuck::cast_slice(values))
            }
            (ColumnReader::DoubleColumnReader(reader), Some(8)) => {
                read(reader, (max, n_lists), visit, |values, _| bytemuck::cast_slice(values))
            }
            _ => Err(ParquetError::General(format!("its lists do not hold {element}"))),
        }?;
        buffer = Arc::into_inner(bytes).map_or_else(Vec::new, ColumnBytes::into_buffer);
    }
    Ok(())
}

/// Reads all lists of a row group, `n_lists` at a time. An element has the definition level
/// `element_level`; `as_bytes` returns the bytes of elements, for which it may use the buffer.
fn read<P: PhysicalType>(
    mut reader: ColumnReaderImpl<P>,
    (element_level, n_lists): (i16, usize),
    visit: &mut dyn FnMut(Option<&[u8]>),
    as_bytes: for<'a> fn(&'a [P::T], &'a mut Vec<u8>) -> &'a [u8],
) -> Result<(), ParquetError> {
    let (mut definition, mut repetition, mut values) = (Vec::new(), Vec::new(), Vec::new());
    let mut bytes = Vec::new();
    loop {
        definition.clear();
        repetition.clear();
        values.clear();
        bytes.clear();
        let (definitions, repetitions) = (Some(&mut definition), Some(&mut repetition));
        let (n_read, ..) = reader.read_records(n_lists, definitions, repetitions, &mut values)?;
        if n_read == 0 {
            return Ok(());
        }
        let mut elements = as_bytes(&values, &mut bytes);
        let element_bytes = elements.len() / values.len().max(1);
        let mut from = 0;
        while from < definition.len() {
            let next = repetition[from + 1..].iter().position(|&level| level == 0);
            let to = next.map_or(definition.len(), |n| from + 1 + n);
            // A list without elements has one level.
            let n_elements = match definition[from] == element_level {
                true => to - from,
                false => 0,
            };
            let (list, rest) = elements
                .split_at_checked(n_elements * element_bytes)
                .ok_or_else(|| ParquetError::EOF("a list has fewer elements than levels".into()))?;
            elements = rest;
            let is_null = definition[from] + 1 < element_level;
            visit((!is_null).then_some(list));
            from = to;
        }
    }
}
