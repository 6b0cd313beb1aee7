//! The table of array results: `items.parquet`.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, LargeListBuilder, ListBuilder, PrimitiveBuilder, StringBuilder, UInt64Builder,
};
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Field, Float32Type, Float64Type, Schema, SchemaRef, UInt8Type,
    UInt32Type, UInt64Type,
};
use swathe_array::{Answer, Dtype, Elements};

use crate::rows::Rows;

/// Array results as rows: the name, type and shape of each, and its elements in the column of
/// their type (`values_f32` …), row-major.
pub struct ArrayRows {
    names: Arc<Vec<String>>,
    name: StringBuilder,
    dtype: StringBuilder,
    shape: ListBuilder<UInt64Builder>,
    n_nan: UInt64Builder,
    values: Vec<Values>,
    n_bytes: usize,
    n_nan_in_all: u64,
}

/// The lists of one element type.
enum Values {
    U8(LargeListBuilder<PrimitiveBuilder<UInt8Type>>),
    U32(LargeListBuilder<PrimitiveBuilder<UInt32Type>>),
    U64(LargeListBuilder<PrimitiveBuilder<UInt64Type>>),
    F32(LargeListBuilder<PrimitiveBuilder<Float32Type>>),
    F64(LargeListBuilder<PrimitiveBuilder<Float64Type>>),
}

impl ArrayRows {
    /// Rows for items of these names, with columns for these element types.
    pub fn new(names: Arc<Vec<String>>, dtypes: &BTreeSet<Dtype>) -> ArrayRows {
        let values = dtypes.iter().map(|dtype| match dtype {
            Dtype::U8 => Values::U8(lists()),
            Dtype::U32 => Values::U32(lists()),
            Dtype::U64 => Values::U64(lists()),
            Dtype::F32 => Values::F32(lists()),
            Dtype::F64 => Values::F64(lists()),
        });
        ArrayRows {
            names,
            name: StringBuilder::new(),
            dtype: StringBuilder::new(),
            shape: ListBuilder::new(UInt64Builder::new()).with_field(element(DataType::UInt64)),
            n_nan: UInt64Builder::new(),
            values: values.collect(),
            n_bytes: 0,
            n_nan_in_all: 0,
        }
    }
}

fn lists<T: ArrowPrimitiveType>() -> LargeListBuilder<PrimitiveBuilder<T>> {
    LargeListBuilder::new(PrimitiveBuilder::<T>::new()).with_field(element(T::DATA_TYPE))
}

fn element(data_type: DataType) -> Field {
    Field::new("element", data_type, false)
}

impl Values {
    fn dtype(&self) -> Dtype {
        match self {
            Values::U8(_) => Dtype::U8,
            Values::U32(_) => Dtype::U32,
            Values::U64(_) => Dtype::U64,
            Values::F32(_) => Dtype::F32,
            Values::F64(_) => Dtype::F64,
        }
    }

    fn data_type(&self) -> DataType {
        match self {
            Values::U8(_) => DataType::UInt8,
            Values::U32(_) => DataType::UInt32,
            Values::U64(_) => DataType::UInt64,
            Values::F32(_) => DataType::Float32,
            Values::F64(_) => DataType::Float64,
        }
    }

    /// A list if the elements are of this type, null otherwise.
    fn append(&mut self, elements: &Elements) {
        fn add<T: ArrowPrimitiveType>(
            lists: &mut LargeListBuilder<PrimitiveBuilder<T>>,
            elements: Option<&[T::Native]>,
        ) {
            lists.values().append_slice(elements.unwrap_or_default());
            lists.append(elements.is_some());
        }
        match (self, elements) {
            (Values::U8(lists), Elements::U8(data)) => add(lists, Some(data)),
            (Values::U32(lists), Elements::U32(data)) => add(lists, Some(data)),
            (Values::U64(lists), Elements::U64(data)) => add(lists, Some(data)),
            (Values::F32(lists), Elements::F32(data)) => add(lists, Some(data)),
            (Values::F64(lists), Elements::F64(data)) => add(lists, Some(data)),
            (Values::U8(lists), _) => add(lists, None),
            (Values::U32(lists), _) => add(lists, None),
            (Values::U64(lists), _) => add(lists, None),
            (Values::F32(lists), _) => add(lists, None),
            (Values::F64(lists), _) => add(lists, None),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Values::U8(lists) => Arc::new(lists.finish()),
            Values::U32(lists) => Arc::new(lists.finish()),
            Values::U64(lists) => Arc::new(lists.finish()),
            Values::F32(lists) => Arc::new(lists.finish()),
            Values::F64(lists) => Arc::new(lists.finish()),
        }
    }
}

impl Rows for ArrayRows {
    type Solution = Answer;

    fn table(&self) -> &'static str {
        "items"
    }

    fn schema(&self) -> SchemaRef {
        let field = |name: &str, data_type: DataType, nullable: bool, description: &str| {
            let metadata = [("description".to_owned(), description.to_owned())];
            Field::new(name, data_type, nullable).with_metadata(metadata.into())
        };
        let list_of = |data_type: DataType| Arc::new(element(data_type));
        let mut fields = vec![
            field(
                "name",
                DataType::Utf8,
                false,
                "the item's name in the input",
            ),
            field(
                "dtype",
                DataType::Utf8,
                false,
                "the type of the result's elements",
            ),
            field(
                "shape",
                DataType::List(list_of(DataType::UInt64)),
                false,
                "the result's extents, outermost first",
            ),
            field(
                "n_nan",
                DataType::UInt64,
                false,
                "elements that are NaN where no operand was",
            ),
        ];
        fields.extend(self.values.iter().map(|values| {
            field(
                &format!("values_{}", values.dtype()),
                DataType::LargeList(list_of(values.data_type())),
                true,
                "the result's elements, row-major; null if they are of another type",
            )
        }));
        Arc::new(Schema::new(fields))
    }

    fn id(&self, index: usize) -> String {
        self.names[index].clone()
    }

    fn append(&mut self, index: usize, answer: &Answer) -> usize {
        self.name.append_value(&self.names[index]);
        self.dtype.append_value(answer.array.dtype().name());
        for &extent in answer.array.shape() {
            self.shape.values().append_value(extent as u64);
        }
        self.shape.append(true);
        self.n_nan.append_value(answer.n_nan);
        self.n_nan_in_all += answer.n_nan;
        for values in &mut self.values {
            values.append(answer.array.elements());
        }
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
        let mut columns: Vec<ArrayRef> = vec![
            Arc::new(self.name.finish()),
            Arc::new(self.dtype.finish()),
            Arc::new(self.shape.finish()),
            Arc::new(self.n_nan.finish()),
        ];
        columns.extend(self.values.iter_mut().map(Values::finish));
        columns
    }
}
