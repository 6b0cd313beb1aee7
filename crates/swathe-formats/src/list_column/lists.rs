//! The lists of one decoded batch.

use std::ops::Range;

use arrow::array::{Array as ArrowArray, ArrayRef, AsArray, ListArray};
use arrow::datatypes::UInt64Type;
use swathe::array::{Array, Dtype, volume};

use super::ItemError;
use crate::arrow_elements::{copy, dtype_of};

/// Lists, or lists of lists, of numbers of one dtype.
#[derive(Debug)]
pub(super) struct Lists {
    /// The nested lists, outermost first.
    levels: Vec<ListArray>,
    values: ArrayRef,
    /// The arrays' extents, if there is a column of shapes.
    shapes: Option<ListArray>,
}

impl Lists {
    /// `None` if the column does not match the expected type.
    pub(super) fn new(column: &ArrayRef, dtype: Dtype, shapes: Option<&ArrayRef>) -> Option<Lists> {
        let mut levels = Vec::new();
        let mut values = column;
        while let Some(list) = values.as_list_opt::<i32>() {
            levels.push(list.clone());
            values = levels.last()?.values();
        }
        let values = values.clone();
        let shapes = match shapes {
            Some(shapes) => {
                let shapes = shapes.as_list_opt::<i32>()?;
                shapes.values().as_primitive_opt::<UInt64Type>()?;
                Some(shapes.clone())
            }
            None => None,
        };
        let is_right = !levels.is_empty() && dtype_of(values.data_type()) == Some(dtype);
        is_right.then_some(Lists { levels, values, shapes })
    }

    /// The array of row `idx` of the batch.
    pub(super) fn array(&self, idx: usize) -> Result<Array, ItemError> {
        let mut shape = Vec::with_capacity(self.levels.len());
        let range = self.place(idx, &mut shape)?;
        let elements = copy(&self.values, range).expect("offsets lie inside of the values");
        Ok(Array::new(shape, elements).expect("the shape has as many elements"))
    }

    /// The memory of all lists.
    pub(super) fn size_bytes(&self) -> usize {
        self.values.get_array_memory_size()
    }

    /// The extents of row `idx` and the range of its elements; an error if any are null.
    pub(super) fn place(
        &self,
        idx: usize,
        shape: &mut Vec<usize>,
    ) -> Result<Range<usize>, ItemError> {
        shape.clear();
        if self.levels[0].is_null(idx) {
            return Err(ItemError::NullList);
        }
        let mut range = elements(&self.levels[0], idx..idx + 1);
        shape.push(range.len());
        for list in &self.levels[1..] {
            check_nulls(list, &range)?;
            let lengths = range.clone().map(|at| list.value_length(at) as usize);
            let n = lengths.clone().next().unwrap_or(0);
            if let Some(other) = lengths.clone().find(|&other| other != n) {
                return Err(ItemError::Ragged { n, other });
            }
            shape.push(n);
            range = elements(list, range);
        }
        check_nulls(&self.values, &range)?;
        if let Some(shapes) = &self.shapes {
            *shape = stored_shape(shapes, idx, range.len())?;
        }
        Ok(range)
    }
}

/// The range of the elements of these lists.
fn elements(list: &ListArray, rows: Range<usize>) -> Range<usize> {
    let offsets = list.value_offsets();
    offsets[rows.start] as usize..offsets[rows.end] as usize
}

fn check_nulls(values: &dyn ArrowArray, range: &Range<usize>) -> Result<(), ItemError> {
    let Some(nulls) = values.nulls().filter(|nulls| nulls.null_count() > 0) else {
        return Ok(());
    };
    match nulls.slice(range.start, range.len()).null_count() {
        0 => Ok(()),
        n_nulls => Err(ItemError::NullElements {
            n_nulls,
            first_idx: range.clone().take_while(|&i| nulls.is_valid(i)).count(),
        }),
    }
}

/// The extents of row `idx` from the column of shapes, for an array of `n` elements.
fn stored_shape(shapes: &ListArray, idx: usize, n: usize) -> Result<Vec<usize>, ItemError> {
    let range = elements(shapes, idx..idx + 1);
    let extents = &shapes.values().as_primitive::<UInt64Type>().values()[range];
    let shape: Vec<usize> = extents.iter().map(|&extent| extent as usize).collect();
    if shapes.is_null(idx) || volume(&shape) != Some(n) {
        return Err(ItemError::ShapeMismatch { shape, n });
    }
    Ok(shape)
}
