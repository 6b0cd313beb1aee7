//! The result hash: one number for a whole table, whatever way it was cut into parts.

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{
    DataType, Decimal128Type, Field, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, Schema, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};

/// Takes in a table's rows in order, any number at a time.
pub(super) struct TableHash {
    columns: Vec<Buffered>,
}

/// A hasher that is fed in large pieces, without a copy of the whole column.
struct Buffered {
    hasher: blake3::Hasher,
    buffer: Vec<u8>,
}

impl Buffered {
    const N_BYTES: usize = 16 << 10;

    fn push(&mut self, byte: u8) {
        self.extend(&[byte]);
    }

    fn extend(&mut self, bytes: &[u8]) {
        if self.buffer.len() + bytes.len() > Self::N_BYTES {
            self.hasher.update(&self.buffer);
            self.buffer.clear();
        }
        if bytes.len() > Self::N_BYTES {
            self.hasher.update(bytes);
        } else {
            self.buffer.extend_from_slice(bytes);
        }
    }

    fn finish(mut self) -> blake3::Hash {
        self.hasher.update(&self.buffer);
        self.hasher.finalize()
    }
}

impl TableHash {
    pub(super) fn new(schema: &Schema) -> TableHash {
        let columns = schema.fields().iter().map(|field| {
            let mut hash = Buffered {
                hasher: blake3::Hasher::new(),
                buffer: Vec::with_capacity(Buffered::N_BYTES),
            };
            hash.extend(field.name().as_bytes());
            hash.push(0);
            hash
        });
        TableHash {
            columns: columns.collect(),
        }
    }

    pub(super) fn update(&mut self, batch: &RecordBatch) {
        for (hash, column) in self.columns.iter_mut().zip(batch.columns()) {
            write_values(column.as_ref(), hash);
        }
    }

    pub(super) fn finish(self) -> String {
        let mut all = blake3::Hasher::new();
        for column in self.columns {
            all.update(column.finish().as_bytes());
        }
        all.finalize().to_hex().to_string()
    }
}

/// Every value as a byte that says whether it is there, then its bytes, lengths first.
fn write_values(array: &dyn Array, out: &mut Buffered) {
    macro_rules! fixed {
        ($type:ty) => {{
            let values = array.as_primitive::<$type>();
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
    fn bytes(value: &[u8], out: &mut Buffered) {
        out.extend(&(value.len() as u64).to_le_bytes());
        out.extend(value);
    }
    fn list(value: arrow::array::ArrayRef, out: &mut Buffered) {
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
                out.push(if values.is_valid(at) {
                    1 + u8::from(values.value(at))
                } else {
                    0
                });
            }
        }
        DataType::Utf8 => with_length!(
            array.as_string::<i32>(),
            |v: &str, o: &mut Buffered| bytes(v.as_bytes(), o)
        ),
        DataType::LargeUtf8 => with_length!(
            array.as_string::<i64>(),
            |v: &str, o: &mut Buffered| bytes(v.as_bytes(), o)
        ),
        DataType::Binary => with_length!(array.as_binary::<i32>(), bytes),
        DataType::LargeBinary => with_length!(array.as_binary::<i64>(), bytes),
        DataType::List(_) => with_length!(array.as_list::<i32>(), list),
        DataType::LargeList(_) => with_length!(array.as_list::<i64>(), list),
        // Moments and amounts are whole numbers of their unit, which the schema names.
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
        DataType::Dictionary(_, values) => {
            // The same text must give the same bytes however it is stored.
            let plain =
                arrow::compute::cast(array, values).expect("a dictionary has its values' type");
            write_values(plain.as_ref(), out);
        }
        other => unreachable!("no table has a column of {other}"),
    }
}

/// Whether a column's values can be hashed; tables are checked before the first part is written.
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
    use arrow::array::{ArrayRef, Int32Array, LargeListArray, StringArray};
    use std::sync::Arc;

    fn batch() -> RecordBatch {
        let lists = LargeListArray::from_iter_primitive::<Float32Type, _, _>(vec![
            Some(vec![Some(1.0), None]),
            None,
            Some(vec![]),
            Some(vec![Some(f32::NAN), Some(-0.0)]),
        ]);
        RecordBatch::try_from_iter(vec![
            (
                "a",
                Arc::new(Int32Array::from(vec![Some(1), None, Some(3), Some(4)])) as ArrayRef,
            ),
            ("b", Arc::new(StringArray::from(vec!["x", "", "yz", "ü"]))),
            ("c", Arc::new(lists)),
        ])
        .unwrap()
    }

    fn hash(batches: &[RecordBatch]) -> String {
        let mut hash = TableHash::new(&batches[0].schema());
        batches.iter().for_each(|batch| hash.update(batch));
        hash.finish()
    }

    #[test]
    fn cuts_do_not_matter_and_values_do() {
        let whole = batch();
        let reference = hash(std::slice::from_ref(&whole));
        for cut in 0..=4 {
            assert_eq!(
                hash(&[whole.slice(0, cut), whole.slice(cut, 4 - cut)]),
                reference
            );
        }
        assert_ne!(hash(&[whole.slice(0, 3)]), reference);
        let mut columns = whole.columns().to_vec();
        columns[2] = Arc::new(LargeListArray::from_iter_primitive::<Float32Type, _, _>(
            vec![
                Some(vec![Some(1.0), None]),
                None,
                Some(vec![]),
                Some(vec![Some(f32::NAN), Some(0.0)]),
            ],
        ));
        let other = RecordBatch::try_new(whole.schema(), columns).unwrap();
        assert_ne!(hash(&[other]), reference, "zero is not minus zero");
    }
}
