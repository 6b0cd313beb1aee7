//! The table of array results: `items.parquet`.

use std::io::Write as _;
use std::sync::Arc;

use arrow::array::{ArrayRef, LargeBinaryBuilder, ListBuilder, StringBuilder, UInt64Builder};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use swathe::array::{Dtype, Elements};
use swathe_array::Answer;

use swathe_formats::described_field::{described, mark_values};
use swathe_run::store::rows::Rows;

/// Array results as rows: the name, type and shape of each, and its elements as bytes.
///
/// Bytes, not lists: a list column costs its writer a dozen bytes of bookkeeping for every element,
/// several times what the elements themselves take.
pub struct ArrayRows {
    names: Arc<Vec<String>>,
    name: StringBuilder,
    dtype: StringBuilder,
    shape: ListBuilder<UInt64Builder>,
    /// For each item the extent that its product sums over.
    inner_extents: Option<Vec<Option<u64>>>,
    inner: UInt64Builder,
    n_nan: UInt64Builder,
    data: LargeBinaryBuilder,
    n_bytes: usize,
    n_nan_in_all: u64,
}

impl ArrayRows {
    /// Copies of a result that exist while it is stored: in the part, in its encoded page and in
    /// its compressed page.
    pub const N_COPIES: u64 = 3;

    /// Rows for items of these names.
    pub fn new(names: Arc<Vec<String>>) -> ArrayRows {
        ArrayRows {
            names,
            name: StringBuilder::new(),
            dtype: StringBuilder::new(),
            shape: ListBuilder::new(UInt64Builder::new()).with_field(extent()),
            inner_extents: None,
            inner: UInt64Builder::new(),
            n_nan: UInt64Builder::new(),
            data: LargeBinaryBuilder::with_capacity(0, 0),
            n_bytes: 0,
            n_nan_in_all: 0,
        }
    }

    /// Notes with every product the extent that it sums over, which its result does not show:
    /// without it nobody could tell how much work it was.
    pub fn with_inner(self, extents: Vec<Option<u64>>) -> ArrayRows {
        ArrayRows {
            inner_extents: Some(extents),
            ..self
        }
    }
}

fn extent() -> Field {
    Field::new("element", DataType::UInt64, false)
}

/// The name NumPy knows an element type by: `numpy.frombuffer(data, dtype).reshape(shape)`.
fn numpy_name(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::U8 => "uint8",
        Dtype::U32 => "uint32",
        Dtype::U64 => "uint64",
        Dtype::F32 => "float32",
        Dtype::F64 => "float64",
    }
}

/// Appends the elements' little-endian bytes as one value.
fn append_bytes(data: &mut LargeBinaryBuilder, elements: &Elements) {
    fn add<T: Copy, const N: usize>(
        data: &mut LargeBinaryBuilder,
        elements: &[T],
        bytes: fn(T) -> [u8; N],
    ) {
        let mut buffer = [0u8; 4096];
        for chunk in elements.chunks(buffer.len() / N) {
            for (at, &element) in buffer.chunks_exact_mut(N).zip(chunk) {
                at.copy_from_slice(&bytes(element));
            }
            data.write_all(&buffer[..chunk.len() * N])
                .expect("a builder takes every byte");
        }
    }
    match elements {
        Elements::U8(elements) => data
            .write_all(elements)
            .expect("a builder takes every byte"),
        Elements::U32(elements) => add(data, elements, u32::to_le_bytes),
        Elements::U64(elements) => add(data, elements, u64::to_le_bytes),
        Elements::F32(elements) => add(data, elements, f32::to_le_bytes),
        Elements::F64(elements) => add(data, elements, f64::to_le_bytes),
    }
    // Ends the value that was written.
    data.append_value([]);
}

/// The columns that `values_hash` is over. The list only grows at its end, and a column that is renamed
/// keeps its place.
const VALUES: &[&str] = &["name", "dtype", "shape", "n_nan", "data"];

impl Rows for ArrayRows {
    type Solution = Answer;

    fn table(&self) -> &'static str {
        "items"
    }

    fn schema(&self) -> SchemaRef {
        let fields = vec![
            described("name", DataType::Utf8, "the item's name in the input"),
            described(
                "dtype",
                DataType::Utf8,
                "the type of the result's elements, as NumPy names it",
            ),
            described(
                "shape",
                DataType::List(Arc::new(extent())),
                "the result's extents, outermost first",
            ),
            described(
                "inner",
                DataType::UInt64,
                "the extent that a product sums over; null for other operations",
            )
            .with_nullable(true),
            described(
                "n_nan",
                DataType::UInt64,
                "elements that are NaN where no operand was",
            ),
            described(
                "data",
                DataType::LargeBinary,
                "the result's elements, little-endian, row-major: numpy.frombuffer(data, dtype).reshape(shape)",
            ),
        ];
        Arc::new(Schema::new(mark_values(fields, VALUES)))
    }

    fn id(&self, index: usize) -> String {
        self.names[index].clone()
    }

    fn append(&mut self, index: usize, answer: &Answer) -> usize {
        self.name.append_value(&self.names[index]);
        self.dtype.append_value(numpy_name(answer.array.dtype()));
        for &extent in answer.array.shape() {
            self.shape.values().append_value(extent as u64);
        }
        self.shape.append(true);
        let extents = self.inner_extents.as_ref();
        let inner = extents.and_then(|extents| extents.get(index).copied().flatten());
        self.inner.append_option(inner);
        self.n_nan.append_value(answer.n_nan);
        self.n_nan_in_all += answer.n_nan;
        if self.n_bytes == 0 {
            // Growing by doubling would take another copy of a large result.
            self.data = LargeBinaryBuilder::with_capacity(1, answer.array.size_bytes());
        }
        append_bytes(&mut self.data, answer.array.elements());
        self.n_bytes += answer.array.size_bytes() + self.names[index].len() + 64;
        1
    }

    fn n_bytes(&self) -> usize {
        self.n_bytes
    }

    fn figures(&self) -> Vec<(&'static str, u64)> {
        vec![("elements that became NaN", self.n_nan_in_all)]
    }

    fn take(&mut self) -> Vec<ArrayRef> {
        self.n_bytes = 0;
        vec![
            Arc::new(self.name.finish()),
            Arc::new(self.dtype.finish()),
            Arc::new(self.shape.finish()),
            Arc::new(self.inner.finish()),
            Arc::new(self.n_nan.finish()),
            Arc::new(
                std::mem::replace(&mut self.data, LargeBinaryBuilder::with_capacity(0, 0)).finish(),
            ),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::AsArray;
    use swathe::array::Array;

    #[test]
    fn elements_are_their_little_endian_bytes() {
        let names = Arc::new(vec!["a".to_owned(), "b".to_owned(), "c".to_owned()]);
        let mut rows = ArrayRows::new(names);
        let long: Vec<f64> = (0..3000).map(f64::from).collect();
        let arrays = [
            Array::new(vec![2, 1], vec![1.5f32, -0.0]).unwrap(),
            Array::new(vec![0], Vec::<u8>::new()).unwrap(),
            Array::new(vec![3000], long.clone()).unwrap(),
        ];
        for (index, array) in arrays.into_iter().enumerate() {
            let answer = Answer {
                array,
                n_nan: 0,
                error_max: 0.0,
            };
            assert_eq!(rows.append(index, &answer), 1);
        }
        let columns = rows.take();
        let data = columns[5].as_binary::<i64>();
        assert_eq!(data.value(0), [0, 0, 0xC0, 0x3F, 0, 0, 0, 0x80]);
        assert_eq!(data.value(1), [0u8; 0]);
        let bytes: Vec<u8> = long.iter().flat_map(|x| x.to_le_bytes()).collect();
        assert_eq!(data.value(2), bytes);
        assert_eq!(columns[1].as_string::<i32>().value(2), "float64");
    }
}
