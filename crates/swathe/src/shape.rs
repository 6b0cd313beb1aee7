//! Shapes: the extents of a problem.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The extents of a problem, outermost first: `64x128` is 64 rows of 128 columns.
///
/// At most four extents, held inline, so that a million shapes cost no allocations. A problem
/// with more dimensions folds the outer ones together; a scalar has none.
///
/// ```
/// use swathe::Shape;
/// let shape: Shape = "64x128".parse().unwrap();
/// assert_eq!(shape, Shape::new(&[64, 128]));
/// assert_eq!(shape.volume(), 8192);
/// assert_eq!(shape.to_string(), "64x128");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Shape {
    n_extents: u8,
    extents: [u32; Shape::N_EXTENTS_MAX],
}

impl Shape {
    /// How many extents a shape can hold.
    pub const N_EXTENTS_MAX: usize = 4;

    /// Makes a shape of up to four extents.
    ///
    /// # Panics
    /// With more than [`Shape::N_EXTENTS_MAX`] extents; fold the outer ones together first.
    pub fn new(extents: &[u32]) -> Shape {
        assert!(
            extents.len() <= Shape::N_EXTENTS_MAX,
            "a shape has at most {} extents, not {}",
            Shape::N_EXTENTS_MAX,
            extents.len()
        );
        let mut shape = Shape { n_extents: extents.len() as u8, ..Shape::default() };
        shape.extents[..extents.len()].copy_from_slice(extents);
        shape
    }

    /// The extents, outermost first.
    pub fn extents(&self) -> &[u32] {
        &self.extents[..usize::from(self.n_extents)]
    }

    /// The product of the extents: 1 for a scalar, 0 if any extent is 0. Saturates at `u64::MAX`.
    pub fn volume(&self) -> u64 {
        if self.extents().contains(&0) {
            return 0;
        }
        self.extents().iter().fold(1u64, |volume, &extent| volume.saturating_mul(u64::from(extent)))
    }

    /// Whether a problem of this shape can be padded to `other`.
    pub fn fits_in(&self, other: &Shape) -> bool {
        self.n_extents == other.n_extents
            && self.extents().iter().zip(other.extents()).all(|(mine, theirs)| mine <= theirs)
    }

    /// The smallest shape that both fit in. Both must have the same number of extents.
    ///
    /// # Panics
    /// In debug builds, if the numbers of extents differ.
    pub fn union(&self, other: &Shape) -> Shape {
        debug_assert_eq!(self.n_extents, other.n_extents);
        self.map(|axis, extent| extent.max(other.extents[axis]))
    }

    /// Every extent rounded up to a multiple of `step`.
    pub fn round_up(&self, step: u32) -> Shape {
        self.map(|_, extent| extent.div_ceil(step.max(1)).saturating_mul(step.max(1)))
    }

    /// Every extent rounded up to a power of two: a coarse bin for measurements.
    pub fn bin(&self) -> Shape {
        self.map(|_, extent| extent.checked_next_power_of_two().unwrap_or(u32::MAX))
    }

    fn map(&self, f: impl Fn(usize, u32) -> u32) -> Shape {
        let mut shape = *self;
        for axis in 0..usize::from(self.n_extents) {
            shape.extents[axis] = f(axis, self.extents[axis]);
        }
        shape
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.n_extents == 0 {
            return f.write_str("scalar");
        }
        for (axis, extent) in self.extents().iter().enumerate() {
            if axis > 0 {
                f.write_str("x")?;
            }
            write!(f, "{extent}")?;
        }
        Ok(())
    }
}

/// A text that is not a shape.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{text}' is not a shape: write extents joined by 'x', such as 128x256 (at most {} of them)",
    Shape::N_EXTENTS_MAX
)]
pub struct ShapeParseError {
    /// The text that was given.
    pub text: String,
}

impl FromStr for Shape {
    type Err = ShapeParseError;

    fn from_str(text: &str) -> Result<Shape, ShapeParseError> {
        let error = || ShapeParseError { text: text.to_owned() };
        if text == "scalar" {
            return Ok(Shape::default());
        }
        let extents = text
            .split('x')
            .map(|extent| extent.trim().parse::<u32>().map_err(|_| error()))
            .collect::<Result<Vec<u32>, _>>()?;
        if extents.len() > Shape::N_EXTENTS_MAX {
            return Err(error());
        }
        Ok(Shape::new(&extents))
    }
}

// Serialised as text, so that `report.json` and the cost file show shapes as users write them.
impl Serialize for Shape {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Shape {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Shape, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_back() {
        for text in ["scalar", "7", "64x128", "2x3x4x5"] {
            assert_eq!(text.parse::<Shape>().unwrap().to_string(), text);
        }
        for text in ["", "x", "3x", "axb", "1x2x3x4x5", "-1", "1e3"] {
            assert!(text.parse::<Shape>().is_err(), "{text}");
        }
    }

    #[test]
    fn volumes() {
        assert_eq!(Shape::default().volume(), 1);
        assert_eq!(Shape::new(&[0, u32::MAX, u32::MAX, u32::MAX]).volume(), 0);
        assert_eq!(Shape::new(&[u32::MAX; 4]).volume(), u64::MAX);
    }
}
