//! Bulk columns: long lists of numbers, written to Parquet without Arrow's encoder.
//!
//! Arrow's encoder keeps an index and two levels for every element of a list, twelve bytes beside
//! a four-byte number, and holds the encoded row group until it ends. Here levels are made for a
//! few lists at a time and pages go to the file at once.

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, LargeListArray};
use arrow::datatypes::{
    DataType, Field, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use parquet::data_type as physical;
use parquet::errors::ParquetError;
use parquet::file::writer::SerializedColumnWriter;

/// Whether a column is written as bulk: large lists of numbers none of which is null.
pub(super) fn is_bulk(field: &Field) -> bool {
    let DataType::LargeList(element) = field.data_type() else {
        return false;
    };
    let data_type = element.data_type();
    !element.is_nullable() && (data_type.is_integer() || is_float(data_type))
}

/// Numbers that take as many bytes in Parquet as in memory. Shorter ones are widened to four bytes,
/// of which compression takes the empty ones away.
pub(super) fn is_wide(element: &DataType) -> bool {
    is_float(element)
        || element
            .primitive_width()
            .is_some_and(|n_bytes| n_bytes >= 4)
}

fn is_float(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Float32 | DataType::Float64)
}

/// The bytes of the elements of some lists, which may be a slice of more.
pub(super) fn size_bytes(array: &ArrayRef) -> usize {
    let lists = array.as_list::<i64>();
    let offsets = lists.value_offsets();
    let n_elements = (offsets[lists.len()] - offsets[0]) as usize;
    n_elements * lists.value_type().primitive_width().unwrap_or(1)
}

/// Writes lists, which may be spread over several arrays, as a column of a row group.
pub(super) fn write(
    column: &mut SerializedColumnWriter<'_>,
    is_nullable: bool,
    arrays: &[ArrayRef],
) -> Result<(), ParquetError> {
    for array in arrays {
        let lists = array.as_list::<i64>();
        match lists.value_type() {
            DataType::Float32 => {
                as_is::<Float32Type, physical::FloatType>(column, is_nullable, lists)
            }
            DataType::Float64 => {
                as_is::<Float64Type, physical::DoubleType>(column, is_nullable, lists)
            }
            DataType::Int32 => as_is::<Int32Type, physical::Int32Type>(column, is_nullable, lists),
            DataType::Int64 => as_is::<Int64Type, physical::Int64Type>(column, is_nullable, lists),
            DataType::UInt32 => {
                mapped::<UInt32Type, physical::Int32Type>(column, is_nullable, lists, |n| n as i32)
            }
            DataType::UInt64 => {
                mapped::<UInt64Type, physical::Int64Type>(column, is_nullable, lists, |n| n as i64)
            }
            DataType::UInt8 => {
                mapped::<UInt8Type, physical::Int32Type>(column, is_nullable, lists, i32::from)
            }
            DataType::UInt16 => {
                mapped::<UInt16Type, physical::Int32Type>(column, is_nullable, lists, i32::from)
            }
            DataType::Int8 => {
                mapped::<Int8Type, physical::Int32Type>(column, is_nullable, lists, i32::from)
            }
            DataType::Int16 => {
                mapped::<Int16Type, physical::Int32Type>(column, is_nullable, lists, i32::from)
            }
            other => Err(ParquetError::General(format!(
                "lists of {other} are no bulk"
            ))),
        }?;
    }
    Ok(())
}

/// Lists whose elements are what Parquet stores.
fn as_is<A, P>(
    column: &mut SerializedColumnWriter<'_>,
    is_nullable: bool,
    lists: &LargeListArray,
) -> Result<(), ParquetError>
where
    A: ArrowPrimitiveType,
    P: physical::DataType<T = A::Native>,
{
    let values = lists.values().as_primitive::<A>().values();
    for_each_chunk(lists, is_nullable, |range, definition, repetition| {
        let typed = column.typed::<P>();
        typed.write_batch(&values[range], Some(definition), Some(repetition))
    })
}

/// Lists whose elements are converted, some at a time.
fn mapped<A, P>(
    column: &mut SerializedColumnWriter<'_>,
    is_nullable: bool,
    lists: &LargeListArray,
    convert: fn(A::Native) -> P::T,
) -> Result<(), ParquetError>
where
    A: ArrowPrimitiveType,
    P: physical::DataType,
{
    let values = lists.values().as_primitive::<A>().values();
    let mut converted: Vec<P::T> = Vec::new();
    for_each_chunk(lists, is_nullable, |range, definition, repetition| {
        converted.clear();
        converted.extend(values[range].iter().map(|&value| convert(value)));
        let typed = column.typed::<P>();
        typed.write_batch(&converted, Some(definition), Some(repetition))
    })
}

/// Calls `write` with the elements of some whole lists, and the levels of these.
fn for_each_chunk(
    lists: &LargeListArray,
    is_nullable: bool,
    mut write: impl FnMut(std::ops::Range<usize>, &[i16], &[i16]) -> Result<usize, ParquetError>,
) -> Result<(), ParquetError> {
    const N_ELEMENTS: usize = 64 << 10;
    let offsets = lists.value_offsets();
    // The definition levels: a null list, an empty one, an element.
    let (empty, element) = if is_nullable { (1, 2) } else { (0, 1) };
    let (mut definition, mut repetition): (Vec<i16>, Vec<i16>) = (Vec::new(), Vec::new());
    let mut at = 0;
    while at < lists.len() {
        definition.clear();
        repetition.clear();
        let start = offsets[at] as usize;
        let mut end = start;
        while at < lists.len() && (end == start || end - start < N_ELEMENTS) {
            let n = (offsets[at + 1] - offsets[at]) as usize;
            repetition.push(0);
            if n == 0 || lists.is_null(at) {
                definition.push(if lists.is_null(at) { 0 } else { empty });
            } else {
                definition.resize(definition.len() + n, element);
                repetition.resize(repetition.len() + n - 1, 1);
            }
            end = offsets[at + 1] as usize;
            at += 1;
        }
        write(start..end, &definition, &repetition)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{PrimitiveArray, RecordBatch};
    use arrow::buffer::{NullBuffer, OffsetBuffer};
    use arrow::datatypes::Schema;

    use super::*;
    use crate::store::run_folder::table_file::TableFile;
    use crate::store::table_reader::TableReader;

    /// Lists of these lengths (`None`: null) with the numbers 0, 1, 2 … as elements.
    fn lists<A: ArrowPrimitiveType>(
        lengths: &[Option<usize>],
        convert: fn(usize) -> A::Native,
    ) -> ArrayRef {
        let n = lengths.iter().map(|length| length.unwrap_or(0)).sum();
        let values = PrimitiveArray::<A>::from_iter_values((0..n).map(convert));
        let lengths_or_0 = lengths.iter().map(|length| length.unwrap_or(0));
        let offsets = OffsetBuffer::<i64>::from_lengths(lengths_or_0);
        let nulls = NullBuffer::from_iter(lengths.iter().map(Option::is_some));
        let nulls = Some(nulls).filter(|nulls| nulls.null_count() > 0);
        let element = Arc::new(Field::new("element", A::DATA_TYPE, false));
        Arc::new(LargeListArray::new(
            element,
            offsets,
            Arc::new(values),
            nulls,
        ))
    }

    #[test]
    fn lists_of_every_type_and_length_come_back() {
        let some = [
            Some(3),
            Some(0),
            Some(70_000),
            Some(1),
            Some(65_536),
            Some(0),
            Some(0),
        ];
        let with_nulls = [None, Some(2), None, Some(0), Some(100_000), None];
        let columns: Vec<(&str, ArrayRef, bool)> = vec![
            (
                "f32",
                lists::<Float32Type>(&some, |n| n as f32 * 0.5),
                false,
            ),
            ("f64", lists::<Float64Type>(&some, |n| -(n as f64)), false),
            ("u8", lists::<UInt8Type>(&some, |n| n as u8), false),
            ("i16", lists::<Int16Type>(&some, |n| n as i16), false),
            (
                "u64",
                lists::<UInt64Type>(&some, |n| u64::MAX - n as u64),
                false,
            ),
        ];
        check(columns, 7);
        let columns: Vec<(&str, ArrayRef, bool)> = vec![
            (
                "u32",
                lists::<UInt32Type>(&with_nulls, |n| u32::MAX - n as u32),
                true,
            ),
            ("i8", lists::<Int8Type>(&with_nulls, |n| n as i8), true),
            (
                "i64",
                lists::<Int64Type>(&with_nulls, |n| -(n as i64)),
                true,
            ),
        ];
        check(columns, 6);
    }

    fn check(columns: Vec<(&str, ArrayRef, bool)>, n_rows: usize) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lists.parquet");
        let fields = columns.iter().map(|(name, array, is_nullable)| {
            Field::new(*name, array.data_type().clone(), *is_nullable)
        });
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        assert!(schema.fields().iter().all(|field| is_bulk(field)));
        let arrays = columns.iter().map(|(_, array, _)| Arc::clone(array));
        let batch = RecordBatch::try_new(Arc::clone(&schema), arrays.collect()).unwrap();
        let mut file = TableFile::create(&path, schema).unwrap();
        // In two row groups, the second from the middle of the arrays.
        file.write(&batch.slice(0, 2)).unwrap();
        file.end_group().unwrap();
        file.write(&batch.slice(2, n_rows - 2)).unwrap();
        file.commit().unwrap();
        let read: Vec<RecordBatch> = TableReader::open(&path)
            .unwrap()
            .batches()
            .unwrap()
            .map(Result::unwrap)
            .collect();
        let read = arrow::compute::concat_batches(&read[0].schema(), &read).unwrap();
        assert_eq!(read.columns(), batch.columns());
    }
}
