//! Converts the elements of arrays to Arrow arrays and back.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, AsArray, PrimitiveArray};
use arrow::datatypes::{
    DataType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use swathe::array::{Dtype, Elements};

macro_rules! elements {
    ($($variant:ident $arrow:ident $type:ident),*) => {
        /// The Arrow type for elements of this dtype.
        pub fn data_type(dtype: Dtype) -> DataType {
            match dtype {
                $(Dtype::$variant => DataType::$arrow,)*
            }
        }

        /// The dtype for an Arrow type, if arrays support it.
        pub fn dtype_of(data_type: &DataType) -> Option<Dtype> {
            match data_type {
                $(DataType::$arrow => Some(Dtype::$variant),)*
                _ => None,
            }
        }

        /// The elements as an Arrow array, without a copy.
        pub fn arrow_array(elements: Elements) -> ArrayRef {
            match elements {
                $(Elements::$variant(v) => Arc::new(PrimitiveArray::<$type>::new(v.into(), None)),)*
            }
        }

        /// A copy of some elements of an Arrow array; `None` if the range or the type does not fit.
        /// Nulls are not checked.
        pub fn copy(values: &ArrayRef, range: Range<usize>) -> Option<Elements> {
            Some(match values.data_type() {
                $(DataType::$arrow => {
                    let values = values.as_primitive::<$type>().values();
                    Elements::$variant(values.get(range)?.to_vec())
                })*
                _ => return None,
            })
        }
    };
}
elements!(
    U8 UInt8 UInt8Type,
    U16 UInt16 UInt16Type,
    U32 UInt32 UInt32Type,
    U64 UInt64 UInt64Type,
    I8 Int8 Int8Type,
    I16 Int16 Int16Type,
    I32 Int32 Int32Type,
    I64 Int64 Int64Type,
    F32 Float32 Float32Type,
    F64 Float64 Float64Type
);
