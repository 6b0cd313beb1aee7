//! The sample workload: a problem is a list of numbers, its solution their sum.

use std::convert::Infallible;

use swathe::{DeviceKind, Need, Shape, Size, Stop, Workload};

/// Sums lists of numbers.
pub struct Sample;

/// The size of a list, by which problems are grouped.
pub fn size(n_numbers: usize) -> Size {
    Size::of(Shape::new(&[n_numbers as u32]))
}

impl Workload for Sample {
    type Problem = Vec<f64>;
    type Solution = f64;
    type Failure = Infallible;
    type Scratch = ();
    type Local = ();
    const NAME: &'static str = "sample";

    fn size(&self, numbers: &Vec<f64>) -> Size {
        size(numbers.len())
    }

    fn need(&self, size: &Size, _: DeviceKind) -> Need {
        Need {
            lane_bytes: size.shape.volume() * size_of::<f64>() as u64,
            ..Need::default()
        }
    }

    fn scratch(&self) {}

    fn local(&self) {}

    fn solve(
        &self,
        numbers: &Vec<f64>,
        (): &mut (),
        (): &mut (),
        _: &Stop,
    ) -> Result<f64, Infallible> {
        Ok(numbers.iter().sum())
    }
}
