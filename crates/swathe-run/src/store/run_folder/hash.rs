//! The result hash: one hash of a whole table that does not depend on how the table was split into
//! parts.

use std::cmp::Reverse;
use std::path::Path;

use arrow::array::{
    Array, ArrayAccessor, ArrayRef, AsArray, LargeStringArray, RecordBatch, StringArray,
};
use arrow::datatypes::{
    DataType, Decimal128Type, Field, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use parquet::arrow::ProjectionMask;

use super::FolderError;
use super::bulk_column::is_bulk;
use super::bulk_reader::for_each_list;
use super::on_threads::on_threads;
use crate::store::record::VALUE_PLACE;
use crate::store::table_reader::{TableReader, guarded};

/// The hashes of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TableHashes {
    /// The hash over the hashes of all columns. A column's hash is over its name and the hash of its
    /// values in row order.
    pub(super) result_hash: String,
    /// The hash over the column hashes without names, of the columns that are marked as values, in
    /// the order of their marks. If no column is marked, it covers all columns but `row`.
    pub(super) values_hash: String,
}

/// Hashes the columns of a table in parallel on `n_threads` threads.
pub(super) fn table_hashes(table: &Path, n_threads: usize) -> Result<TableHashes, FolderError> {
    let metadata = TableReader::open(table)?.builder;
    let fields = metadata.schema().fields().clone();
    let n_columns = fields.len();
    // The largest column first; started last, it would keep one thread busy after all others are
    // idle.
    let groups = metadata.metadata().row_groups();
    let mut n_bytes = vec![0; n_columns];
    for leaf in 0..metadata.parquet_schema().num_columns() {
        let sizes = groups.iter().map(|group| group.column(leaf).compressed_size());
        n_bytes[metadata.parquet_schema().get_column_root_idx(leaf)] += sizes.sum::<i64>();
    }
    let mut order: Vec<usize> = (0..n_columns).collect();
    order.sort_by_key(|&column| Reverse(n_bytes[column]));
    let mut hashes = on_threads("swathe-merge", n_threads, n_columns, &|number| {
        let column = order[number];
        Ok((column, column_hashes(table, column)?))
    })?;
    hashes.sort_by_key(|&(column, _)| column);
    let mut all = blake3::Hasher::new();
    for (_, (named, _)) in &hashes {
        all.update(named.as_bytes());
    }
    let place = |column: usize| fields[column].metadata().get(VALUE_PLACE)?.parse().ok();
    let is_marked = (0..n_columns).any(|column| place(column).is_some());
    let mut values: Vec<(usize, blake3::Hash)> = hashes
        .iter()
        .filter_map(|&(column, (_, values))| match is_marked {
            true => Some((place(column)?, values)),
            false => (fields[column].name() != "row").then_some((column, values)),
        })
        .collect();
    values.sort_by_key(|&(place, _)| place);
    let mut of_values = blake3::Hasher::new();
    for (_, values) in values {
        of_values.update(values.as_bytes());
    }
    Ok(TableHashes {
        result_hash: all.finalize().to_hex().to_string(),
        values_hash: of_values.finalize().to_hex().to_string(),
    })
}

/// The result hash of a table that consists of this batch.
pub(super) fn batch_hash(batch: &RecordBatch) -> String {
    let mut all = blake3::Hasher::new();
    for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
        let mut hash = ColumnHash::default();
        hash.update(column);
        all.update(hash.finish(field.name()).0.as_bytes());
    }
    all.finalize().to_hex().to_string()
}

/// The hash of a column with its name, and of its values alone.
fn column_hashes(table: &Path, column: usize) -> Result<(blake3::Hash, blake3::Hash), FolderError> {
    let mut reader = TableReader::open(table)?;
    let builder = reader.builder;
    let field = builder.schema().field(column).clone();
    let mut hash = ColumnHash::default();
    match field.data_type() {
        DataType::LargeList(element) if is_bulk(field.data_type()) => {
            let parquet = builder.parquet_schema();
            let leaf = (0..parquet.num_columns())
                .find(|&leaf| parquet.get_column_root_idx(leaf) == column)
                .ok_or_else(|| FolderError::damaged(table)("a column has no leaf"))?;
            let mut visit = |list: Option<&[u8]>| hash.extend_list(list, element);
            let read = || for_each_list(table, leaf, element.data_type(), &mut visit);
            guarded(table, read)?;
        }
        _ => {
            let mask = ProjectionMask::roots(builder.parquet_schema(), [column]);
            reader.builder = builder.with_projection(mask);
            for batch in reader.batches()? {
                hash.update(batch?.column(0));
            }
        }
    }
    Ok(hash.finish(field.name()))
}

/// Hashes a column's values in order, any number at a time.
#[derive(Default)]
struct ColumnHash {
    hasher: blake3::Hasher,
    buffer: Vec<u8>,
}

impl ColumnHash {
    /// The hasher is fed in multiples of this size: BLAKE3 is fastest with powers of two.
    const N_BYTES: usize = 64 << 10;

    fn update(&mut self, column: &ArrayRef) {
        write_values(column.as_ref(), self);
    }

    fn push(&mut self, byte: u8) {
        self.extend(&[byte]);
    }

    #[inline]
    fn extend(&mut self, bytes: &[u8]) {
        if self.buffer.len() + bytes.len() < Self::N_BYTES {
            self.buffer.extend_from_slice(bytes);
        } else {
            self.spill(bytes);
        }
    }

    /// Adds values none of which is null: a 1 and then the bytes of each.
    fn extend_present<const N: usize>(
        &mut self,
        mut values: impl ExactSizeIterator<Item = [u8; N]>,
    ) {
        const N_STAGED: usize = 512;
        let mut staged = vec![1u8; N_STAGED.min(values.len()) * (N + 1)];
        while values.len() > 0 {
            let n_now = values.len().min(N_STAGED);
            let records = staged.chunks_exact_mut(N + 1).take(n_now);
            for (record, value) in records.zip(&mut values) {
                record[1..].copy_from_slice(&value);
            }
            self.extend(&staged[..n_now * (N + 1)]);
        }
    }

    /// Adds a list of a bulk column: a 1, the number of elements and their bytes; a 0 for null.
    fn extend_list(&mut self, list: Option<&[u8]>, element: &Field) {
        self.push(u8::from(list.is_some()));
        if let Some(bytes) = list {
            let element_bytes = element.data_type().primitive_width().unwrap_or(1);
            self.extend(&((bytes.len() / element_bytes) as u64).to_le_bytes());
            self.extend(bytes);
        }
    }

    fn spill(&mut self, bytes: &[u8]) {
        let (now, later) = bytes.split_at(Self::N_BYTES - self.buffer.len());
        self.buffer.extend_from_slice(now);
        self.flush();
        // Of large values only the end is copied.
        let (now, later) = later.split_at(later.len() / Self::N_BYTES * Self::N_BYTES);
        self.hasher.update(now);
        self.buffer.extend_from_slice(later);
    }

    fn flush(&mut self) {
        self.hasher.update(&self.buffer);
        self.buffer.clear();
    }

    /// The hash of the name and the values' hash, and the values' hash.
    fn finish(mut self, name: &str) -> (blake3::Hash, blake3::Hash) {
        self.flush();
        let values = self.hasher.finalize();
        let mut named = blake3::Hasher::new();
        named.update(name.as_bytes()).update(&[0]);
        named.update(values.as_bytes());
        (named.finalize(), values)
    }
}

/// Writes every value as a validity byte followed by its bytes; values of variable length are
/// prefixed with the length.
fn write_values(array: &dyn Array, out: &mut ColumnHash) {
    macro_rules! fixed {
        ($type:ty) => {{
            let values = array.as_primitive::<$type>();
            if values.null_count() == 0 {
                let bytes = values.values().iter().map(|value| value.to_le_bytes());
                return out.extend_present(bytes);
            }
            for at in 0..values.len() {
                out.push(u8::from(values.is_valid(at)));
                if values.is_valid(at) {
                    out.extend(&values.value(at).to_le_bytes());
                }
            }
        }};
    }
    macro_rules! with_length {
        ($values:expr, $bytes:expr) => {{
            let values = $values;
            for at in 0..values.len() {
                out.push(u8::from(values.is_valid(at)));
                if values.is_valid(at) {
                    $bytes(values.value(at), &mut *out);
                }
            }
        }};
    }
    fn bytes(value: &[u8], out: &mut ColumnHash) {
        out.extend(&(value.len() as u64).to_le_bytes());
        out.extend(value);
    }
    fn text(value: &str, out: &mut ColumnHash) {
        bytes(value.as_bytes(), out);
    }
    fn list(value: ArrayRef, out: &mut ColumnHash) {
        out.extend(&(value.len() as u64).to_le_bytes());
        write_values(value.as_ref(), out);
    }
    match array.data_type() {
        DataType::UInt8 => fixed!(UInt8Type),
        DataType::UInt16 => fixed!(UInt16Type),
        DataType::UInt32 => fixed!(UInt32Type),
        DataType::UInt64 => fixed!(UInt64Type),
        DataType::Int8 => fixed!(Int8Type),
        DataType::Int16 => fixed!(Int16Type),
        DataType::Int32 => fixed!(Int32Type),
        DataType::Int64 => fixed!(Int64Type),
        DataType::Float32 => fixed!(Float32Type),
        DataType::Float64 => fixed!(Float64Type),
        DataType::Boolean => {
            let values = array.as_boolean();
            for at in 0..values.len() {
                out.push(if values.is_valid(at) { 1 + u8::from(values.value(at)) } else { 0 });
            }
        }
        DataType::Utf8 => with_length!(array.as_string::<i32>(), text),
        DataType::LargeUtf8 => with_length!(array.as_string::<i64>(), text),
        DataType::Binary => with_length!(array.as_binary::<i32>(), bytes),
        DataType::LargeBinary => with_length!(array.as_binary::<i64>(), bytes),
        DataType::List(_) => with_length!(array.as_list::<i32>(), list),
        DataType::LargeList(element) if is_bulk(array.data_type()) => {
            let lists = array.as_list::<i64>();
            for at in 0..lists.len() {
                let values = lists.is_valid(at).then(|| lists.value(at).to_data());
                let bytes = values.as_ref().map(|values| {
                    let element_bytes = element.data_type().primitive_width().unwrap_or(1);
                    let bytes = &values.buffers()[0][values.offset() * element_bytes..];
                    &bytes[..values.len() * element_bytes]
                });
                out.extend_list(bytes, element);
            }
        }
        DataType::LargeList(_) => with_length!(array.as_list::<i64>(), list),
        // Dates, times and durations are integers; the schema holds their unit.
        DataType::Date32 | DataType::Time32(_) => {
            let plain = arrow::compute::cast(array, &DataType::Int32).expect("it is a number");
            write_values(plain.as_ref(), out);
        }
        DataType::Date64
        | DataType::Time64(_)
        | DataType::Timestamp(..)
        | DataType::Duration(_) => {
            let plain = arrow::compute::cast(array, &DataType::Int64).expect("it is a number");
            write_values(plain.as_ref(), out);
        }
        DataType::Decimal128(..) => fixed!(Decimal128Type),
        // The hash of a text must not depend on whether it is dictionary-encoded.
        DataType::Dictionary(_, words) => {
            let keyed = array.as_dictionary_opt::<Int32Type>();
            let keyed = keyed.filter(|keyed| keyed.values().null_count() == 0);
            match keyed {
                Some(keyed) if **words == DataType::Utf8 => {
                    let texts = keyed.downcast_dict::<StringArray>();
                    with_length!(texts.expect("it has its type"), text);
                }
                Some(keyed) if **words == DataType::LargeUtf8 => {
                    let texts = keyed.downcast_dict::<LargeStringArray>();
                    with_length!(texts.expect("it has its type"), text);
                }
                _ => {
                    let plain = arrow::compute::cast(array, words);
                    let plain = plain.expect("a dictionary has its words' type");
                    write_values(plain.as_ref(), out);
                }
            }
        }
        other => unreachable!("no table has a column of {other}"),
    }
}

/// Whether a column's values can be hashed. Schemas are checked with this before the first part is
/// written.
pub fn is_supported(field: &Field) -> bool {
    use DataType::{
        Binary, Boolean, Date32, Date64, Decimal128, Dictionary, Duration, Float32, Float64,
        LargeBinary, LargeList, LargeUtf8, List, Time32, Time64, Timestamp, Utf8,
    };
    match field.data_type() {
        List(item) | LargeList(item) => is_supported(item),
        Dictionary(_, values) => matches!(**values, Utf8 | LargeUtf8),
        Boolean | Float32 | Float64 | Utf8 | LargeUtf8 | Binary | LargeBinary => true,
        Date32 | Date64 | Time32(_) | Time64(_) | Timestamp(..) | Duration(_) => true,
        Decimal128(..) => true,
        other => other.is_integer(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::record::{Column, schema};
    use crate::store::run_folder::write_table;
    use arrow::array::{DictionaryArray, Int32Array, LargeListArray, UInt16Array};
    use std::sync::Arc;

    fn batch() -> RecordBatch {
        let lists = LargeListArray::from_iter_primitive::<Float32Type, _, _>(vec![
            Some(vec![Some(1.0), None]),
            None,
            Some(vec![]),
            Some(vec![Some(f32::NAN), Some(-0.0)]),
        ]);
        RecordBatch::try_from_iter(vec![
            ("a", Arc::new(Int32Array::from(vec![Some(1), None, Some(3), Some(4)])) as ArrayRef),
            ("b", Arc::new(StringArray::from(vec!["x", "", "yz", "ü"]))),
            ("c", Arc::new(lists)),
        ])
        .unwrap()
    }

    /// The hashes of the columns.
    fn hashes(batches: &[RecordBatch]) -> Vec<blake3::Hash> {
        let schema = batches[0].schema();
        let hash = |at: usize| {
            let mut hash = ColumnHash::default();
            batches.iter().for_each(|batch| hash.update(batch.column(at)));
            hash.finish(schema.field(at).name()).0
        };
        (0..schema.fields().len()).map(hash).collect()
    }

    #[test]
    fn cuts_do_not_matter_and_values_do() {
        let whole = batch();
        let reference = hashes(std::slice::from_ref(&whole));
        for cut in 0..=4 {
            assert_eq!(hashes(&[whole.slice(0, cut), whole.slice(cut, 4 - cut)]), reference);
        }
        assert_ne!(hashes(&[whole.slice(0, 3)]), reference);
        let mut columns = whole.columns().to_vec();
        columns[2] = Arc::new(LargeListArray::from_iter_primitive::<Float32Type, _, _>(vec![
            Some(vec![Some(1.0), None]),
            None,
            Some(vec![]),
            Some(vec![Some(f32::NAN), Some(0.0)]),
        ]));
        let other = RecordBatch::try_new(whole.schema(), columns).unwrap();
        assert_ne!(hashes(&[other]), reference, "zero is not minus zero");
    }

    /// The expected hash is computed by hand from its definition.
    #[test]
    fn a_table_is_hashed_by_column_and_words_as_if_they_were_written_out() {
        let folder = tempfile::tempdir().unwrap();
        let words = vec![Some("ü"), None, Some("ab"), Some("ü")];
        let keyed: DictionaryArray<Int32Type> = words.iter().copied().collect();
        let numbers = UInt16Array::from(vec![7, 8, 9, 258]);
        let tables: [ArrayRef; 2] = [Arc::new(keyed), Arc::new(StringArray::from(words))];
        let mut of_numbers = Vec::new();
        for bytes in [[7, 0], [8, 0], [9, 0], [2, 1]] {
            of_numbers.extend([&[1], &bytes[..]].concat());
        }
        let of_words = b"\x01\x02\0\0\0\0\0\0\0\xc3\xbc\0\x01\x02\0\0\0\0\0\0\0ab\x01\x02\0\0\0\0\0\0\0\xc3\xbc";
        let hashes = [blake3::hash(&of_numbers), blake3::hash(of_words)];
        let values = blake3::hash(hashes.map(|hash| *hash.as_bytes()).as_flattened());
        let named = [(b"n\0", hashes[0]), (b"w\0", hashes[1])]
            .map(|(name, hash)| blake3::hash(&[name, hash.as_bytes().as_slice()].concat()));
        let expected = blake3::hash(named.map(|hash| *hash.as_bytes()).as_flattened());
        for (number, words) in tables.into_iter().enumerate() {
            let path = folder.path().join(format!("{number}.parquet"));
            let numbers: ArrayRef = Arc::new(numbers.clone());
            let batch = RecordBatch::try_from_iter([("n", numbers), ("w", words)]).unwrap();
            write_table(&path, &batch).unwrap();
            for n_threads in [1, 2, 5] {
                let hashes = table_hashes(&path, n_threads).unwrap();
                assert_eq!(hashes.result_hash, expected.to_hex().to_string());
                assert_eq!(hashes.result_hash, batch_hash(&batch));
                assert_eq!(hashes.values_hash, values.to_hex().to_string());
            }
        }
    }

    /// Renamed, reordered or added columns do not change the hash of the values.
    #[test]
    fn the_hash_of_values_knows_no_names() {
        let folder = tempfile::tempdir().unwrap();
        let hash = |columns: &[(&str, u16)], values: &[&str]| {
            let column = |&(name, _): &(&str, u16)| {
                let place = values.iter().position(|value| *value == name);
                let column = Column::new(name, "").of(DataType::UInt16, true);
                Column { value_place: place, ..column }
            };
            let schema = schema(&columns.iter().map(column).collect::<Vec<_>>());
            let arrays = columns
                .iter()
                .map(|&(_, value)| Arc::new(UInt16Array::from(vec![value, 7])) as ArrayRef);
            let batch = RecordBatch::try_new(schema, arrays.collect()).unwrap();
            let path = folder.path().join("t.parquet");
            write_table(&path, &batch).unwrap();
            table_hashes(&path, 1).unwrap().values_hash
        };
        let before = hash(&[("row", 0), ("a", 1), ("b", 2)], &["a", "b"]);
        let after = [("row", 5), ("new", 9), ("c", 2), ("a", 1)];
        assert_eq!(hash(&after, &["a", "c"]), before);
        assert_ne!(hash(&after, &["c", "a"]), before);
        assert_eq!(hash(&[("row", 0), ("x", 1), ("y", 2)], &[]), before);
    }

    #[test]
    fn pieces_of_any_length_make_one_stream() {
        let bytes: Vec<u8> = (0..400_000u32).map(|at| (at.wrapping_mul(at) >> 7) as u8).collect();
        for n_piece in [1, 7, 1000, 65_535, 65_536, 65_537, 399_999] {
            let mut hash = ColumnHash::default();
            bytes.chunks(n_piece).for_each(|piece| hash.extend(piece));
            let values = blake3::hash(&bytes);
            let named = blake3::hash(&[b"x\0", values.as_bytes().as_slice()].concat());
            assert_eq!(hash.finish("x"), (named, values), "{n_piece}");
        }
    }
}
