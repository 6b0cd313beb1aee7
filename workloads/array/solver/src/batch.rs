//! Functions that apply an operation to a slice of arrays, on all cores.

use swathe::{Outcome, Stop, solve_slice};

use crate::Array;
use crate::operation::{Key, MapKind, Operation};
use crate::workload::{Answer, ArrayFailure, ArrayWorkload, Item};

/// XORs every array with the key; a second XOR with the same key restores it bit for bit.
///
/// ```
/// use swathe_array::{Array, Key, xor};
/// let arrays = [Array::new(vec![3], vec![1u8, 2, 3])?, Array::new(vec![2, 1], vec![7u32, 9])?];
/// let hidden = xor(&arrays, &Key::Seed(42));
/// let hidden: Vec<Array> = hidden.into_iter().map(|result| result.unwrap()).collect();
/// assert_ne!(hidden[0], arrays[0]);
/// let shown = xor(&hidden, &Key::Seed(42));
/// assert_eq!(shown[1].as_ref().unwrap(), &arrays[1]);
/// # Ok::<(), swathe_array::ShapeMismatch>(())
/// ```
pub fn xor(arrays: &[Array], key: &Key) -> Vec<Result<Array, ArrayFailure>> {
    let items = arrays.iter().map(|first| Item { first, second: None });
    arrays_of(solve(Operation::Xor(key.clone()), items.collect()))
}

/// Multiplies every pair of matrices; the shapes of the pairs may differ.
///
/// ```
/// use swathe_array::{Array, matmul};
/// let a = Array::new(vec![1, 2], vec![1.0f32, 2.0])?;
/// let b = Array::new(vec![2, 1], vec![3.0f32, 4.0])?;
/// let products = matmul(&[(&a, &b), (&b, &a)]);
/// assert_eq!(products[0].as_ref().unwrap(), &Array::new(vec![1, 1], vec![11.0f32])?);
/// assert_eq!(products[1].as_ref().unwrap().shape(), [2, 2]);
/// # Ok::<(), swathe_array::ShapeMismatch>(())
/// ```
pub fn matmul(pairs: &[(&Array, &Array)]) -> Vec<Result<Array, ArrayFailure>> {
    let items = pairs.iter().map(|&(first, second)| Item { first, second: Some(second) });
    arrays_of(solve(Operation::Matmul, items.collect()))
}

/// Maps every element of every array. Each answer includes how many of its elements became NaN.
///
/// ```
/// use swathe_array::{Array, MapKind, map};
/// let roots = map(&[Array::new(vec![2], vec![4.0f64, -1.0])?], MapKind::Sqrt);
/// assert_eq!(roots[0].as_ref().unwrap().n_nan, 1);
/// # Ok::<(), swathe_array::ShapeMismatch>(())
/// ```
pub fn map(arrays: &[Array], kind: MapKind) -> Vec<Result<Answer, ArrayFailure>> {
    let items = arrays.iter().map(|first| Item { first, second: None });
    solve(Operation::Map(kind), items.collect())
}

/// Maps pairs: the second array of each is the operand of
/// [`MapOperand::Second`](crate::MapOperand).
pub fn map_pairs(pairs: &[(&Array, &Array)], kind: MapKind) -> Vec<Result<Answer, ArrayFailure>> {
    let items = pairs.iter().map(|&(first, second)| Item { first, second: Some(second) });
    solve(Operation::Map(kind), items.collect())
}

fn solve(operation: Operation, items: Vec<Item<&Array>>) -> Vec<Result<Answer, ArrayFailure>> {
    let workload: ArrayWorkload<&Array> = ArrayWorkload::new(operation);
    let outcomes = solve_slice(&workload, &items, 0, &Stop::new());
    outcomes
        .into_iter()
        .map(|outcome| match outcome {
            Outcome::Solved(answer) => Ok(answer),
            Outcome::Failed(failure) => Err(failure),
            // There is no time limit, memory limit or stop here, so any other outcome is a panic,
            // which is a bug.
            other => panic!("{}", other.message().unwrap_or_default()),
        })
        .collect()
}

fn arrays_of(answers: Vec<Result<Answer, ArrayFailure>>) -> Vec<Result<Array, ArrayFailure>> {
    answers.into_iter().map(|answer| answer.map(|answer| answer.array)).collect()
}
