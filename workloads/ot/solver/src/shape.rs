//! Shapes of grids and boxes of pixels.

use std::fmt;

/// Height and width of a grid of pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Shape {
    /// Number of rows.
    pub h_px: usize,
    /// Number of columns.
    pub w_px: usize,
}

impl Shape {
    /// The longer of the two sides.
    pub fn longest_px(&self) -> usize {
        self.h_px.max(self.w_px)
    }

    /// A shape of `h_px` rows and `w_px` columns.
    pub const fn new(h_px: usize, w_px: usize) -> Shape {
        Shape { h_px, w_px }
    }

    /// Number of pixels.
    pub const fn n_px(self) -> usize {
        self.h_px * self.w_px
    }

    /// Whether `other` fits inside this shape.
    pub const fn holds(self, other: Shape) -> bool {
        other.h_px <= self.h_px && other.w_px <= self.w_px
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.h_px, self.w_px)
    }
}

/// A rectangle of pixels inside a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct PixelBox {
    /// First row.
    pub y0_px: usize,
    /// First column.
    pub x0_px: usize,
    /// Height and width.
    pub shape: Shape,
}

impl PixelBox {
    /// One past the last row.
    pub const fn y1_px(&self) -> usize {
        self.y0_px + self.shape.h_px
    }

    /// One past the last column.
    pub const fn x1_px(&self) -> usize {
        self.x0_px + self.shape.w_px
    }

    /// The smallest box that contains both boxes.
    pub fn union(self, other: PixelBox) -> PixelBox {
        let (y0_px, x0_px) = (self.y0_px.min(other.y0_px), self.x0_px.min(other.x0_px));
        let (y1_px, x1_px) = (self.y1_px().max(other.y1_px()), self.x1_px().max(other.x1_px()));
        PixelBox { y0_px, x0_px, shape: Shape::new(y1_px - y0_px, x1_px - x0_px) }
    }

    /// The tight box around the positive pixels of a row-major image, if there are any.
    pub fn around_live(pixels: &[f64], shape: Shape) -> Option<PixelBox> {
        let (mut y0, mut y1, mut x0, mut x1) = (usize::MAX, 0, usize::MAX, 0);
        for (y, row) in pixels.chunks_exact(shape.w_px.max(1)).enumerate() {
            let Some(first) = row.iter().position(|v| *v > 0.0) else {
                continue;
            };
            let last = row.iter().rposition(|v| *v > 0.0).unwrap_or(first);
            y0 = y0.min(y);
            y1 = y + 1;
            x0 = x0.min(first);
            x1 = x1.max(last + 1);
        }
        (y0 != usize::MAX).then(|| PixelBox {
            y0_px: y0,
            x0_px: x0,
            shape: Shape::new(y1 - y0, x1 - x0),
        })
    }
}
