//! The lists of one decoded batch.

use std::ops::Range;

use arrow::array::{Array as ArrowArray, AsArray, ListArray};
use arrow::datatypes::{
    ArrowPrimitiveType, Float32Type, Float64Type, UInt8Type, UInt32Type, UInt64Type,
};
use swathe::array::{Array, Dtype, Elements};

use super::ItemError;

/// Lists of numbers of one dtype.
#[derive(Debug)]
pub(super) struct Lists {
    pub(super) column: ListArray,
    pub(super) dtype: Dtype,
}

impl Lists {
    /// How many elements the list of row `idx` of the batch has.
    pub(super) fn size(&self, idx: usize) -> Result<usize, ItemError> {
        Ok(self.range(idx)?.len())
    }

    /// The list of row `idx` of the batch.
    pub(super) fn array(&self, idx: usize) -> Result<Array, ItemError> {
        let range = self.range(idx)?;
        let n = range.len();
        let elements = match self.dtype {
            Dtype::U8 => Elements::U8(self.copy::<UInt8Type>(range)),
            Dtype::U32 => Elements::U32(self.copy::<UInt32Type>(range)),
            Dtype::U64 => Elements::U64(self.copy::<UInt64Type>(range)),
            Dtype::F32 => Elements::F32(self.copy::<Float32Type>(range)),
            Dtype::F64 => Elements::F64(self.copy::<Float64Type>(range)),
        };
        Ok(Array::new(vec![n], elements).expect("the shape is the number of elements"))
    }

    fn copy<T: ArrowPrimitiveType>(&self, range: Range<usize>) -> Vec<T::Native> {
        self.column.values().as_primitive::<T>().values()[range].to_vec()
    }

    /// Where the elements of row `idx` stand, if all of them are there.
    fn range(&self, idx: usize) -> Result<Range<usize>, ItemError> {
        if self.column.is_null(idx) {
            return Err(ItemError::NullList);
        }
        let offsets = self.column.value_offsets();
        let range = offsets[idx] as usize..offsets[idx + 1] as usize;
        if let Some(nulls) = self.column.values().nulls() {
            let n_nulls = nulls.slice(range.start, range.len()).null_count();
            if n_nulls > 0 {
                let first_idx = range.take_while(|&i| nulls.is_valid(i)).count();
                return Err(ItemError::NullElements { n_nulls, first_idx });
            }
        }
        Ok(range)
    }
}
