//! The score of an output: how many of its cells equal those of the expected grid.

use crate::value::Value;
use crate::value::grid::Grid;

/// How an output compares with the expected grid.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Score {
    /// Whether they are equal.
    pub equal: bool,
    /// The fraction of equal cells; 0 where the shape differs.
    pub score: f64,
}

/// Compares an output with the expected grid.
///
/// ```
/// use swathe_arc::{Grid, score};
/// let wanted = Grid::from_rows(&[vec![1, 2], vec![3, 4]]).unwrap();
/// let output = Grid::from_rows(&[vec![1, 2], vec![3, 0]]).unwrap();
/// assert_eq!(score(&output.into(), &wanted).score, 0.75);
/// ```
pub fn score(output: &Value, expected: &Grid) -> Score {
    let n = expected.cells().len() as f64;
    let n_equal = match output {
        Value::Grid(g) if g.width() == expected.width() && g.height() == expected.height() => {
            g.cells().iter().zip(expected.cells()).filter(|(a, b)| a == b).count()
        }
        Value::Grid(_) => 0,
        _ => n_equal_cells(output, expected).unwrap_or(0),
    };
    Score { equal: n_equal == expected.cells().len(), score: n_equal as f64 / n }
}

/// The number of equal cells of a tuple of tuples of the same shape.
fn n_equal_cells(output: &Value, expected: &Grid) -> Option<usize> {
    if output.tuple_len()? != expected.height() {
        return None;
    }
    let mut n = 0;
    for (i, wanted) in expected.rows().enumerate() {
        let row = output.tuple_item(i);
        if row.tuple_len()? != expected.width() {
            return None;
        }
        n += (0..wanted.len())
            .filter(|&j| row.tuple_item(j) == Value::Int(wanted[j].into()))
            .count();
    }
    Some(n)
}
