//! Conversions from and to the arrays of the crate `ndarray`.

use ndarray::{ArrayBase, ArrayD, ArrayViewD, Data, Dimension, IxDyn, OwnedRepr};

use super::{Array, Dtype, Elements};

/// An element type that arrays support.
pub trait Element: Copy + 'static + Sized {
    /// The [`Dtype`] of this type.
    const DTYPE: Dtype;

    /// The elements as a slice, if they are of this type.
    fn slice(elements: &Elements) -> Option<&[Self]>;

    /// The elements as a vector, without a copy.
    ///
    /// # Errors
    /// If the elements are of another type; they are returned unchanged.
    fn vector(elements: Elements) -> Result<Vec<Self>, Elements>;
}

/// The elements of an array are not of the requested type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the array has {found} elements, not {wanted}")]
pub struct OtherDtype {
    /// The requested type.
    pub wanted: Dtype,
    /// The type of the array's elements.
    pub found: Dtype,
}

impl Array {
    /// A view of the elements, if they are of this type.
    ///
    /// ```
    /// use swathe::array::Array;
    /// let array = Array::new(vec![2, 2], vec![1.0f32, 2.0, 3.0, 4.0])?;
    /// let view = array.view::<f32>().unwrap();
    /// assert_eq!(view[[1, 0]], 3.0);
    /// assert!(array.view::<f64>().is_none());
    /// # Ok::<(), swathe::array::ShapeMismatch>(())
    /// ```
    pub fn view<T: Element>(&self) -> Option<ArrayViewD<'_, T>> {
        let elements = T::slice(&self.elements)?;
        ArrayViewD::from_shape(IxDyn(&self.shape), elements).ok()
    }
}

/// Copies a view with any strides.
///
/// ```
/// use swathe::array::Array;
/// let matrix = ndarray::arr2(&[[1u8, 2, 3], [4, 5, 6]]);
/// let columns = Array::from(&matrix.t());
/// assert_eq!(columns, Array::new(vec![3, 2], vec![1u8, 4, 2, 5, 3, 6])?);
/// # Ok::<(), swathe::array::ShapeMismatch>(())
/// ```
impl<T, S, D> From<&ArrayBase<S, D>> for Array
where
    T: Element,
    S: Data<Elem = T>,
    D: Dimension,
    Elements: From<Vec<T>>,
{
    fn from(array: &ArrayBase<S, D>) -> Array {
        let elements = match array.as_slice() {
            Some(elements) => elements.to_vec(),
            None => array.iter().copied().collect(),
        };
        Array { shape: array.shape().to_vec(), elements: elements.into() }
    }
}

/// Takes ownership of an array. Its elements are copied only if they are not in row-major order.
impl<T, D> From<ArrayBase<OwnedRepr<T>, D>> for Array
where
    T: Element,
    D: Dimension,
    Elements: From<Vec<T>>,
{
    fn from(array: ndarray::Array<T, D>) -> Array {
        let shape = array.shape().to_vec();
        if !array.is_standard_layout() {
            return Array::from(&array);
        }
        let n = array.len();
        let (mut elements, first) = array.into_raw_vec_and_offset();
        elements.truncate(first.unwrap_or(0) + n);
        elements.drain(..first.unwrap_or(0));
        Array { shape, elements: elements.into() }
    }
}

/// Moves the elements out without a copy, if they are of this type.
///
/// ```
/// use ndarray::ArrayD;
/// use swathe::array::Array;
/// let array = Array::new(vec![2], vec![1i64, 2])?;
/// assert!(ArrayD::<u8>::try_from(array.clone()).is_err());
/// assert_eq!(ArrayD::<i64>::try_from(array)?, ndarray::arr1(&[1, 2]).into_dyn());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl<T: Element> TryFrom<Array> for ArrayD<T> {
    type Error = OtherDtype;

    fn try_from(array: Array) -> Result<ArrayD<T>, OtherDtype> {
        let elements = T::vector(array.elements)
            .map_err(|elements| OtherDtype { wanted: T::DTYPE, found: elements.dtype() })?;
        let array = ArrayD::from_shape_vec(IxDyn(&array.shape), elements);
        Ok(array.expect("a shape describes its elements"))
    }
}

macro_rules! element {
    ($($variant:ident $type:ident),*) => {$(
        impl Element for $type {
            const DTYPE: Dtype = Dtype::$variant;

            fn slice(elements: &Elements) -> Option<&[$type]> {
                match elements {
                    Elements::$variant(v) => Some(v),
                    _ => None,
                }
            }

            fn vector(elements: Elements) -> Result<Vec<$type>, Elements> {
                match elements {
                    Elements::$variant(v) => Ok(v),
                    other => Err(other),
                }
            }
        }
    )*};
}
element!(U8 u8, U16 u16, U32 u32, U64 u64, I8 i8, I16 i16, I32 i32, I64 i64, F32 f32, F64 f64);

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array2, s};

    #[test]
    fn views_of_any_strides_come_back() {
        let matrix = Array2::from_shape_fn((6, 5), |(y, x)| (10 * y + x) as i32);
        let views =
            [matrix.view(), matrix.t(), matrix.slice(s![..;-2, 1..4]), matrix.slice(s![2..2, ..])];
        for view in views {
            let array = Array::from(&view);
            assert_eq!(array.shape(), view.shape());
            assert_eq!(array.view::<i32>().unwrap(), view.into_dyn());
        }
        // An owned slice of rows keeps the allocation of the whole matrix and begins in its middle.
        let rows = matrix.clone().slice_move(s![2..4, ..]);
        let expected = Array::from(&matrix.slice(s![2..4, ..]));
        assert_eq!(Array::from(rows), expected);
        let columns = matrix.clone().reversed_axes();
        assert_eq!(Array::from(columns), Array::from(&matrix.t()));
        let back = ArrayD::<i32>::try_from(expected).unwrap();
        assert_eq!(back, matrix.slice(s![2..4, ..]).into_dyn());
    }
}
