//! Products of stacks of matrices and of vectors, by the rules of NumPy's `matmul`.

use ndarray::{ArrayViewD, ArrayViewMutD};

use super::{MatmulError, ProductShape, Scratch, check_operands, matmul_into};
use crate::element::Float;
use crate::volume;
use swathe::Simd;

/// How operands of two shapes are multiplied. A vector counts as one row on the left and as one
/// column on the right; the axes before the last two are broadcast.
///
/// ```
/// use swathe_array::matmul::StackShape;
/// let stack = StackShape::of(&[5, 1, 2, 3], &[4, 3, 7]).unwrap();
/// assert_eq!(stack.out_shape(), [5, 4, 2, 7]);
/// assert_eq!(stack.n_products(), 20);
/// assert_eq!(StackShape::of(&[2, 3], &[3]).unwrap().out_shape(), [2]);
/// assert_eq!(StackShape::of(&[2, 3], &[2, 3]), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StackShape {
    product: ProductShape,
    axes: Vec<Axis>,
    n_left: usize,
    n_right: usize,
    out_shape: Vec<usize>,
}

/// An axis of the stack: its extent, and the distance in matrices between neighbours in each
/// operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Axis {
    n: usize,
    left_step: usize,
    right_step: usize,
}

impl StackShape {
    /// The plan for these shapes; `None` if they do not fit together.
    pub fn of(left: &[usize], right: &[usize]) -> Option<StackShape> {
        let (left_stack, n_rows, n_inner) = match left {
            [n_inner] => (&[][..], None, *n_inner),
            [stack @ .., n_rows, n_inner] => (stack, Some(*n_rows), *n_inner),
            [] => return None,
        };
        let (right_stack, n_inner_too, n_cols) = match right {
            [n_inner] => (&[][..], *n_inner, None),
            [stack @ .., n_inner, n_cols] => (stack, *n_inner, Some(*n_cols)),
            [] => return None,
        };
        if n_inner != n_inner_too {
            return None;
        }
        let mut axes = broadcast(left_stack, right_stack)?;
        let mut out_shape: Vec<usize> = axes.iter().map(|axis| axis.n).collect();
        out_shape.extend(n_rows);
        out_shape.extend(n_cols);
        volume(&out_shape)?;
        let (mut n_left, n_right) = (volume(left_stack)?, volume(right_stack)?);
        let mut n_rows = n_rows.unwrap_or(1);
        if n_right == 1 {
            // One right operand serves all: the left matrices, stacked below each other, are one
            // matrix.
            n_rows *= n_left;
            n_left = 1;
            axes.clear();
        }
        Some(StackShape {
            product: ProductShape { n_rows, n_inner, n_cols: n_cols.unwrap_or(1) },
            axes,
            n_left,
            n_right,
            out_shape,
        })
    }

    /// The extents of the result.
    pub fn out_shape(&self) -> &[usize] {
        &self.out_shape
    }

    /// The number of matrix products.
    pub fn n_products(&self) -> usize {
        self.axes.iter().map(|axis| axis.n).product()
    }

    /// The extents of each product.
    pub fn product(&self) -> ProductShape {
        self.product
    }

    /// The indices of the matrices to multiply, in the order of the results.
    fn pairs(&self) -> impl Iterator<Item = (usize, usize)> {
        (0..self.n_products()).map(|at| {
            let (mut at, mut left, mut right) = (at, 0, 0);
            for axis in self.axes.iter().rev() {
                left += at % axis.n * axis.left_step;
                right += at % axis.n * axis.right_step;
                at /= axis.n;
            }
            (left, right)
        })
    }
}

/// The combined axes of two stacks, aligned at the last one; an extent of 1 is repeated.
fn broadcast(left: &[usize], right: &[usize]) -> Option<Vec<Axis>> {
    let n_axes = left.len().max(right.len());
    let extent = |shape: &[usize], at: usize| match (at + shape.len()).checked_sub(n_axes) {
        Some(at) => shape[at],
        None => 1,
    };
    let (mut left_step, mut right_step) = (1, 1);
    let mut axes = Vec::with_capacity(n_axes);
    for at in (0..n_axes).rev() {
        let (n_left, n_right) = (extent(left, at), extent(right, at));
        let n = match (n_left, n_right) {
            (n_left, n_right) if n_left == n_right => n_left,
            (1, n) | (n, 1) => n,
            _ => return None,
        };
        axes.push(Axis {
            n,
            left_step: if n_left == 1 { 0 } else { left_step },
            right_step: if n_right == 1 { 0 } else { right_step },
        });
        left_step *= n_left;
        right_step *= n_right;
    }
    axes.reverse();
    Some(axes)
}

/// Multiplies stacks of row-major matrices into `out`, whose old contents are overwritten.
///
/// ```
/// use swathe_array::Simd;
/// use swathe_array::matmul::{Scratch, StackShape, matmul_stack_into};
/// let stack = StackShape::of(&[2, 1, 2], &[2, 2, 1]).unwrap();
/// let (a, b) = ([1.0f32, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]);
/// let mut out = [0.0; 2];
/// matmul_stack_into(&a, &b, &mut out, &stack, &mut Scratch::new(), Simd::detect())?;
/// assert_eq!(out, [17.0, 53.0]);
/// # Ok::<(), swathe_array::matmul::MatmulError>(())
/// ```
///
/// # Errors
/// If an operand or `out` does not have the number of elements that the stack requires.
pub fn matmul_stack_into<T: Float>(
    a: &[T],
    b: &[T],
    out: &mut [T],
    stack: &StackShape,
    scratch: &mut Scratch,
    simd: Simd,
) -> Result<(), MatmulError> {
    let shape = stack.product;
    if stack.axes.is_empty() {
        return matmul_into(a, b, out, shape, scratch, simd);
    }
    let [n_a, n_b, n_out] =
        [shape.n_rows * shape.n_inner, shape.n_inner * shape.n_cols, shape.n_rows * shape.n_cols];
    check_stack(a.len(), b.len(), stack)?;
    if out.len() != n_out * stack.n_products() {
        return Err(MatmulError::OutLength { shape, n_elements: out.len() });
    }
    for (at, (left, right)) in stack.pairs().enumerate() {
        matmul_into(
            &a[left * n_a..][..n_a],
            &b[right * n_b..][..n_b],
            &mut out[at * n_out..][..n_out],
            shape,
            scratch,
            simd,
        )?;
    }
    Ok(())
}

/// Multiplies views of any strides by the same rules, including vectors and stacks.
///
/// ```
/// use ndarray::{arr2, Array2};
/// use swathe_array::Simd;
/// use swathe_array::matmul::{Scratch, matmul_views};
/// let a = arr2(&[[1.0f32, 2.0], [3.0, 4.0]]);
/// let mut out = Array2::zeros((2, 2));
/// let (left, right) = (a.view().into_dyn(), a.t().into_dyn());
/// matmul_views(&left, &right, &mut out.view_mut().into_dyn(), &mut Scratch::new(), Simd::detect())?;
/// assert_eq!(out, arr2(&[[5.0, 11.0], [11.0, 25.0]]));
/// # Ok::<(), swathe_array::matmul::ViewsMismatch>(())
/// ```
///
/// # Errors
/// If the operands' shapes do not fit together, or their product does not have the shape of `out`.
pub fn matmul_views<T: Float>(
    left: &ArrayViewD<'_, T>,
    right: &ArrayViewD<'_, T>,
    out: &mut ArrayViewMutD<'_, T>,
    scratch: &mut Scratch,
    simd: Simd,
) -> Result<(), ViewsMismatch> {
    let stack = StackShape::of(left.shape(), right.shape())
        .filter(|stack| stack.out_shape() == out.shape())
        .ok_or_else(|| ViewsMismatch {
            left: left.shape().to_vec(),
            right: right.shape().to_vec(),
            out: out.shape().to_vec(),
        })?;
    // Copies a view whose rows are not contiguous.
    let (left, right) = (left.as_standard_layout(), right.as_standard_layout());
    let (a, b) = (left.as_slice(), right.as_slice());
    let (a, b) = a.zip(b).expect("both are in standard layout");
    if let Some(out) = out.as_slice_mut() {
        matmul_stack_into(a, b, out, &stack, scratch, simd).expect("the shapes fit");
        return Ok(());
    }
    let mut product = vec![T::ZERO; out.len()];
    matmul_stack_into(a, b, &mut product, &stack, scratch, simd).expect("the shapes fit");
    for (out, x) in out.iter_mut().zip(product) {
        *out = x;
    }
    Ok(())
}

/// Views whose shapes do not fit together; no output has been written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("shapes {left:?} and {right:?} do not give a product of shape {out:?}")]
pub struct ViewsMismatch {
    /// The left operand's extents.
    pub left: Vec<usize>,
    /// The right operand's extents.
    pub right: Vec<usize>,
    /// The output's extents.
    pub out: Vec<usize>,
}

/// Fails unless the numbers of elements agree with the extents of a stack.
pub(crate) fn check_stack(
    n_left: usize,
    n_right: usize,
    stack: &StackShape,
) -> Result<(), MatmulError> {
    let shape = stack.product;
    if stack.axes.is_empty() {
        return check_operands(n_left, n_right, shape);
    }
    if shape.n_rows * shape.n_inner * stack.n_left != n_left {
        return Err(MatmulError::LeftLength { shape, n_elements: n_left });
    }
    if shape.n_inner * shape.n_cols * stack.n_right != n_right {
        return Err(MatmulError::RightLength { shape, n_elements: n_right });
    }
    Ok(())
}
