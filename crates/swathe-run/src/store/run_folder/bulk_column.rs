//! Bulk columns: long lists of numbers, whose Parquet pages refer to the numbers in memory.
//!
//! Arrow's encoder copies every element three times and keeps an index and two levels for each. For
//! numbers of four and eight bytes the plain encoding is what memory holds, so a page is its header,
//! its levels and a piece of the array. Parquet has no shorter numbers; those are written as indices
//! into a dictionary of all values of their type, which again are the bytes that memory holds.

use std::io::{self, Read, Write};

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::buffer::Buffer;
use arrow::datatypes::{DataType, Field};
use parquet::basic::{Compression, Encoding};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::ParquetError;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::writer::SerializedRowGroupWriter;
use parquet::schema::types::ColumnDescPtr;

const _: () = assert!(cfg!(target_endian = "little"), "pages hold numbers as memory does");

/// Whether a column is written as bulk: large lists of numbers none of which is null.
pub(super) fn is_bulk(data_type: &DataType) -> bool {
    let DataType::LargeList(element) = data_type else {
        return false;
    };
    !element.is_nullable() && element_bytes(element).is_some()
}

/// The bytes of an element of a bulk column.
fn element_bytes(element: &Field) -> Option<usize> {
    let data_type = element.data_type();
    let is_float = matches!(data_type, DataType::Float32 | DataType::Float64);
    (data_type.is_integer() || is_float).then(|| data_type.primitive_width())?
}

/// The bytes of the elements of some lists, which may be a slice of more.
pub(super) fn size_bytes(array: &ArrayRef) -> usize {
    let lists = array.as_list::<i64>();
    let offsets = lists.value_offsets();
    let n_elements = (offsets[lists.len()] - offsets[0]) as usize;
    n_elements * lists.value_type().primitive_width().unwrap_or(1)
}

/// Appends lists, which may be spread over several arrays, to a row group as its next column.
pub(super) fn append<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    column: ColumnDescPtr,
    field: &Field,
    arrays: &[ArrayRef],
) -> Result<(), ParquetError> {
    let chunk = Chunk::of(field, arrays);
    let mut encodings = vec![Encoding::PLAIN, Encoding::RLE];
    if chunk.data_start > 0 {
        encodings.push(Encoding::RLE_DICTIONARY);
    }
    let metadata = ColumnChunkMetaData::builder(column)
        .set_compression(Compression::UNCOMPRESSED)
        .set_encodings(encodings)
        .set_num_values(chunk.n_levels as i64)
        .set_total_compressed_size(chunk.n_bytes as i64)
        .set_total_uncompressed_size(chunk.n_bytes as i64)
        .set_data_page_offset(chunk.data_start as i64)
        .set_dictionary_page_offset((chunk.data_start > 0).then_some(0))
        .build()?;
    let close = ColumnCloseResult {
        bytes_written: chunk.n_bytes,
        rows_written: arrays.iter().map(|array| array.len() as u64).sum(),
        metadata,
        bloom_filter: None,
        column_index: None,
        offset_index: None,
    };
    group.append_column(&chunk, close)
}

/// The pages of a column in a row group.
struct Chunk {
    segments: Vec<Buffer>,
    n_bytes: u64,
    /// Where the first page with elements begins: after the dictionary, if there is one.
    data_start: u64,
    /// Elements, and lists without any.
    n_levels: u64,
    element_bytes: usize,
    /// The definition level of an empty list, which is 1 less than that of an element. In a
    /// nullable column a missing list has level 0.
    empty_level: u8,
}

impl Chunk {
    fn of(field: &Field, arrays: &[ArrayRef]) -> Chunk {
        let DataType::LargeList(element) = field.data_type() else {
            unreachable!("bulk columns are large lists");
        };
        let mut chunk = Chunk {
            segments: Vec::new(),
            n_bytes: 0,
            data_start: 0,
            n_levels: 0,
            element_bytes: element_bytes(element).expect("bulk columns have numbers"),
            empty_level: u8::from(field.is_nullable()),
        };
        if let Some(words) = dictionary(element.data_type()) {
            let n_words = (words.len() / size_of::<i32>()) as i64;
            let header = page_header(2, words.len(), 7, &[n_words, PLAIN]);
            chunk.push(Buffer::from(header));
            chunk.push(Buffer::from(words));
            chunk.data_start = chunk.n_bytes;
        }
        for array in arrays {
            chunk.add_lists(array);
        }
        chunk
    }

    fn add_lists(&mut self, array: &ArrayRef) {
        let lists = array.as_list::<i64>();
        let offsets = lists.value_offsets();
        let values = lists.values().to_data();
        let elements = values.buffers()[0].slice(values.offset() * self.element_bytes);
        let mut page = Page::default();
        for at in 0..lists.len() {
            let (mut from, to) = (offsets[at] as usize, offsets[at + 1] as usize);
            if lists.is_null(at) || from == to {
                let level = if lists.is_null(at) { 0 } else { self.empty_level };
                self.make_room(&mut page, &elements, None);
                page.add(1, level, true);
                continue;
            }
            let mut is_start = true;
            while from < to {
                let room = self.make_room(&mut page, &elements, Some(from));
                let n = room.min(to - from);
                page.elements.end = from + n;
                page.add(n, self.empty_level + 1, is_start);
                (from, is_start) = (from + n, false);
            }
        }
        self.end_page(page, &elements);
    }

    /// Ends a page that is full, or whose elements do not end at `from`. Returns how many levels
    /// the page has room for.
    fn make_room(&mut self, page: &mut Page, elements: &Buffer, from: Option<usize>) -> usize {
        const PAGE_BYTES: usize = 1 << 20;
        let n_levels_max = PAGE_BYTES / self.element_bytes;
        let is_elsewhere = from.is_some_and(|from| from != page.elements.end);
        if page.n_levels == n_levels_max || (is_elsewhere && !page.elements.is_empty()) {
            self.end_page(std::mem::take(page), elements);
        }
        if let Some(from) = from.filter(|_| page.elements.is_empty()) {
            page.elements = from..from;
        }
        n_levels_max - page.n_levels
    }

    fn end_page(&mut self, page: Page, elements: &Buffer) {
        if page.n_levels == 0 {
            return;
        }
        let mut before = page.levels();
        let (mut after, mut encoding) = (Vec::<u8>::new(), PLAIN);
        if self.data_start > 0 {
            encoding = RLE_DICTIONARY;
            let n_groups = page.elements.len().div_ceil(8);
            before.push(8 * self.element_bytes as u8);
            push_varint(&mut before, (n_groups as u64) << 1 | 1);
            after.resize((n_groups * 8 - page.elements.len()) * self.element_bytes, 0);
        }
        let elements = elements.slice_with_length(
            page.elements.start * self.element_bytes,
            page.elements.len() * self.element_bytes,
        );
        let n_bytes = before.len() + elements.len() + after.len();
        let n_levels = page.n_levels as i64;
        let header = page_header(0, n_bytes, 5, &[n_levels, encoding, RLE, RLE]);
        for segment in [header.into(), before.into(), elements, after.into()] {
            self.push(segment);
        }
        self.n_levels += page.n_levels as u64;
    }

    fn push(&mut self, segment: Buffer) {
        self.n_bytes += segment.len() as u64;
        self.segments.push(segment);
    }
}

/// The values that the bytes of a short number mean, in order, as Parquet stores them.
fn dictionary(element: &DataType) -> Option<Vec<u8>> {
    let words: Vec<i32> = match element {
        DataType::UInt8 => (0..=u8::MAX).map(i32::from).collect(),
        DataType::Int8 => (0..=u8::MAX).map(|byte| i32::from(byte as i8)).collect(),
        DataType::UInt16 => (0..=u16::MAX).map(i32::from).collect(),
        DataType::Int16 => (0..=u16::MAX).map(|word| i32::from(word as i16)).collect(),
        _ => return None,
    };
    Some(words.iter().flat_map(|word| word.to_le_bytes()).collect())
}

/// A page in the making.
#[derive(Default)]
struct Page {
    /// The elements in the array, contiguous.
    elements: std::ops::Range<usize>,
    n_levels: usize,
    /// The levels at which lists begin.
    starts: Vec<usize>,
    /// Definition levels, with how often each occurs in a row.
    runs: Vec<(u8, usize)>,
}

impl Page {
    fn add(&mut self, n_levels: usize, level: u8, is_start: bool) {
        if is_start {
            self.starts.push(self.n_levels);
        }
        self.n_levels += n_levels;
        match self.runs.last_mut() {
            Some((last, n)) if *last == level => *n += n_levels,
            _ => self.runs.push((level, n_levels)),
        }
    }

    /// The repetition levels (0 where a list begins, otherwise 1), then the definition levels.
    fn levels(&self) -> Vec<u8> {
        let mut levels = Vec::new();
        with_length(&mut levels, |out| {
            // Short lists take less room as bits.
            if self.starts.len() * 16 > self.n_levels {
                let n_groups = self.n_levels.div_ceil(8);
                push_varint(out, (n_groups as u64) << 1 | 1);
                let first = out.len();
                out.resize(first + n_groups, u8::MAX);
                for start in &self.starts {
                    out[first + start / 8] &= !(1 << (start % 8));
                }
                return;
            }
            let mut from = 0;
            for &start in &self.starts {
                push_run(out, 1, start - from);
                push_run(out, 0, 1);
                from = start + 1;
            }
            push_run(out, 1, self.n_levels - from);
        });
        with_length(&mut levels, |out| {
            for &(level, n) in &self.runs {
                push_run(out, level, n);
            }
        });
        levels
    }
}

/// Calls `write` and puts the length of what it wrote before that.
fn with_length(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    out.extend([0; 4]);
    write(out);
    let n_bytes = (out.len() - at - 4) as u32;
    out[at..at + 4].copy_from_slice(&n_bytes.to_le_bytes());
}

/// A run of equal levels.
fn push_run(out: &mut Vec<u8>, level: u8, n: usize) {
    if n > 0 {
        push_varint(out, (n as u64) << 1);
        out.push(level);
    }
}

fn push_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

// Encodings as Parquet numbers them.
const PLAIN: i64 = 0;
const RLE: i64 = 3;
const RLE_DICTIONARY: i64 = 8;

/// A page header in Thrift's compact protocol: the page's type and sizes, and as field
/// `details_id` the fields of its type.
fn page_header(page_type: i64, n_bytes: usize, details_id: u8, details: &[i64]) -> Vec<u8> {
    const I32: u8 = 5;
    const STRUCT: u8 = 12;
    const STOP: u8 = 0;
    let mut header = Vec::with_capacity(32);
    // A field begins with its distance from the one before and its type.
    let fields = |out: &mut Vec<u8>, numbers: &[i64]| {
        for &number in numbers {
            out.push(1 << 4 | I32);
            push_varint(out, ((number << 1) ^ (number >> 63)) as u64);
        }
    };
    fields(&mut header, &[page_type, n_bytes as i64, n_bytes as i64]);
    header.push((details_id - 3) << 4 | STRUCT);
    fields(&mut header, details);
    header.extend([STOP, STOP]);
    header
}

impl Length for Chunk {
    fn len(&self) -> u64 {
        self.n_bytes
    }
}

impl ChunkReader for Chunk {
    type T = Segments;

    fn get_read(&self, start: u64) -> Result<Segments, ParquetError> {
        debug_assert_eq!(start, 0, "a chunk is appended from its beginning");
        Ok(Segments(self.segments.clone().into_iter().collect()))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<bytes::Bytes, ParquetError> {
        let mut bytes = vec![0; start as usize + length];
        self.get_read(0)?.read_exact(&mut bytes)?;
        Ok(bytes::Bytes::from(bytes).slice(start as usize..))
    }
}

/// Reads segments one after the other.
struct Segments(std::collections::VecDeque<Buffer>);

impl Read for Segments {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while let Some(first) = self.0.front_mut() {
            let n = first.len().min(out.len());
            if n > 0 {
                out[..n].copy_from_slice(&first[..n]);
                *first = first.slice(n);
                return Ok(n);
            }
            if out.is_empty() {
                break;
            }
            self.0.pop_front();
        }
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrowPrimitiveType, LargeListArray};
    use arrow::array::{PrimitiveArray, RecordBatch, UInt64Array};
    use arrow::buffer::{NullBuffer, OffsetBuffer};
    use arrow::datatypes::{
        Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, Schema, UInt8Type,
        UInt16Type, UInt32Type, UInt64Type,
    };

    use super::*;
    use crate::store::run_folder::hash::{batch_hash, table_hashes};
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
        Arc::new(LargeListArray::new(element, offsets, Arc::new(values), nulls))
    }

    /// Among them lists that span pages, and lists that end with their page.
    #[test]
    fn lists_of_every_type_and_length_come_back() {
        let some = [Some(3), Some(0), Some(70_000), Some(1), Some(1 << 20), Some(0), Some(0)];
        let with_nulls = [None, Some(2), None, Some(0), Some(1_200_000), None];
        let columns: Vec<(&str, ArrayRef, bool)> = vec![
            ("f32", lists::<Float32Type>(&some, |n| n as f32 * 0.5), false),
            ("f64", lists::<Float64Type>(&some, |n| -(n as f64)), false),
            ("u8", lists::<UInt8Type>(&some, |n| n as u8), false),
            ("i16", lists::<Int16Type>(&some, |n| n as i16), false),
            ("u64", lists::<UInt64Type>(&some, |n| u64::MAX - n as u64), false),
        ];
        check(columns, 7);
        let columns: Vec<(&str, ArrayRef, bool)> = vec![
            ("u32", lists::<UInt32Type>(&with_nulls, |n| u32::MAX - n as u32), true),
            ("i8", lists::<Int8Type>(&with_nulls, |n| n as i8), true),
            ("i64", lists::<Int64Type>(&with_nulls, |n| -(n as i64)), true),
        ];
        check(columns, 6);
        // Short lists have their repetition levels as bits.
        let short: Vec<Option<usize>> = (0..5000).map(|at| Some(at * at % 7)).collect();
        let columns: Vec<(&str, ArrayRef, bool)> = vec![
            ("u16", lists::<UInt16Type>(&short, |n| n as u16), false),
            ("i32", lists::<Int32Type>(&short, |n| -(n as i32)), true),
        ];
        check(columns, short.len());
    }

    fn check(mut columns: Vec<(&str, ArrayRef, bool)>, n_rows: usize) {
        assert!(columns.iter().all(|(_, array, _)| is_bulk(array.data_type())));
        let numbers: ArrayRef = Arc::new(UInt64Array::from_iter_values(0..n_rows as u64));
        columns.insert(0, ("row", numbers, false));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lists.parquet");
        let fields = columns.iter().map(|(name, array, is_nullable)| {
            Field::new(*name, array.data_type().clone(), *is_nullable)
        });
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let arrays = columns.iter().map(|(_, array, _)| Arc::clone(array));
        let batch = RecordBatch::try_new(Arc::clone(&schema), arrays.collect()).unwrap();
        let mut file = TableFile::create(&path, schema).unwrap();
        // In two row groups, the second from the middle of the arrays.
        file.write(&batch.slice(0, 2)).unwrap();
        file.end_group().unwrap();
        file.write(&batch.slice(2, n_rows - 2)).unwrap();
        file.commit().unwrap();
        let read: Vec<RecordBatch> =
            TableReader::open(&path).unwrap().batches().unwrap().map(Result::unwrap).collect();
        let read = arrow::compute::concat_batches(&read[0].schema(), &read).unwrap();
        assert_eq!(read.columns(), batch.columns());
        // Hashing decodes without Arrow.
        let hashes = table_hashes(&path, 2).unwrap();
        assert_eq!(hashes.result_hash, batch_hash(&batch));
    }
}
