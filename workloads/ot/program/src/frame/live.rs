//! The live part of a frame: the box around its pixels above zero.

use swathe_ot::{Frame, PixelBox, PixelFault, Shape};

use super::FrameError;

/// A frame of which only the box around the live pixels is stored. Embryos are small in their
/// images, and pixels outside the box have no effect.
#[derive(Clone, Debug, PartialEq)]
pub struct LiveFrame {
    /// Height and width of the whole frame.
    pub shape: Shape,
    /// The box around the pixels above zero; `None` if there are none.
    pub live: Option<PixelBox>,
    /// Mass per pixel of that box, row by row.
    pub density: Vec<f64>,
    /// Height and width of a pixel in µm, if the file says it.
    pub um_per_px: Option<[f64; 2]>,
}

impl LiveFrame {
    /// The pixels of a box.
    ///
    /// # Panics
    /// If the box does not contain all live pixels.
    pub fn within(&self, cut: PixelBox) -> Frame {
        let mut density = vec![0.0; cut.shape.n_px()];
        if let Some(live) = self.live {
            let (y0, x0) = (live.y0_px - cut.y0_px, live.x0_px - cut.x0_px);
            for (y, row) in self.density.chunks_exact(live.shape.w_px).enumerate() {
                let start = (y0 + y) * cut.shape.w_px + x0;
                density[start..start + row.len()].copy_from_slice(row);
            }
        }
        Frame { shape: cut.shape, density, um_per_px: None }
    }

    /// The whole frame.
    pub fn whole(&self) -> Frame {
        self.within(PixelBox { y0_px: 0, x0_px: 0, shape: self.shape })
    }

    /// Bytes it holds.
    pub fn n_bytes(&self) -> u64 {
        (self.density.capacity() * size_of::<f64>() + size_of::<LiveFrame>()) as u64
    }
}

/// Builds a live frame from pixels in reading order. Memory grows with the rows between the first
/// and the last live one, not with the size that a header claims.
#[derive(Debug)]
pub(super) struct LiveBuilder {
    shape: Shape,
    label: Option<f64>,
    /// The row that is not complete yet.
    row: Vec<f64>,
    y_px: usize,
    /// The first live row, and the pixels of the rows from it to the last live one.
    y0_px: Option<usize>,
    rows: Vec<f64>,
    /// First live column, and one past the last.
    x0_px: usize,
    x1_px: usize,
    bad: Option<FrameError>,
}

impl LiveBuilder {
    pub(super) fn new(shape: Shape, label: Option<f64>) -> Result<LiveBuilder, FrameError> {
        if shape.h_px == 0 || shape.w_px == 0 {
            return Err(FrameError::NoPixels { shape });
        }
        // The engine's extents have 32 bits; a larger frame does not fit in memory anyway.
        let most = u32::MAX as usize;
        if shape.h_px > most || shape.w_px > most {
            return Err(FrameError::OutOfMemory { shape });
        }
        Ok(LiveBuilder {
            shape,
            label,
            row: Vec::new(),
            y_px: 0,
            y0_px: None,
            rows: Vec::new(),
            x0_px: usize::MAX,
            x1_px: 0,
            bad: None,
        })
    }

    /// Adds the next pixels, any number at a time.
    pub(super) fn push(&mut self, mut pixels: &[f64]) {
        while !pixels.is_empty() && self.y_px < self.shape.h_px {
            let n_now = pixels.len().min(self.shape.w_px - self.row.len());
            if n_now == self.shape.w_px {
                self.push_row(&pixels[..n_now]);
            } else {
                self.row.extend_from_slice(&pixels[..n_now]);
                if self.row.len() == self.shape.w_px {
                    let row = std::mem::take(&mut self.row);
                    self.push_row(&row);
                    self.row = row;
                    self.row.clear();
                }
            }
            pixels = &pixels[n_now..];
        }
    }

    fn push_row(&mut self, row: &[f64]) {
        let y_px = self.y_px;
        self.y_px += 1;
        if self.bad.is_some() {
            return;
        }
        let mut masked = Vec::new();
        let row = match self.label {
            None => row,
            Some(label) => {
                masked.extend(row.iter().map(|v| f64::from(u8::from(*v == label))));
                &masked
            }
        };
        let is_bad = |v: &f64| !(*v >= 0.0 && *v < f64::INFINITY);
        if let Some(x_px) = row.iter().position(is_bad) {
            self.bad = Some(bad_pixel(y_px, x_px, row[x_px]));
            return;
        }
        let Some(first) = row.iter().position(|v| *v > 0.0) else {
            return;
        };
        let last = row.iter().rposition(|v| *v > 0.0).unwrap_or(first);
        self.x0_px = self.x0_px.min(first);
        self.x1_px = self.x1_px.max(last + 1);
        let y0_px = *self.y0_px.get_or_insert(y_px);
        let start = (y_px - y0_px) * self.shape.w_px;
        // Dead rows in between are added only when a live row follows.
        if self.rows.try_reserve(start + row.len() - self.rows.len()).is_err() {
            self.bad = Some(FrameError::OutOfMemory { shape: self.shape });
            return;
        }
        self.rows.resize(start, 0.0);
        self.rows.extend_from_slice(row);
    }

    /// The frame. Fails if a pixel is missing or not a valid mass.
    pub(super) fn finish(self) -> Result<LiveFrame, FrameError> {
        if let Some(bad) = self.bad {
            return Err(bad);
        }
        if self.y_px < self.shape.h_px {
            return Err(FrameError::Image {
                message: format!("only {} of {} rows are there", self.y_px, self.shape.h_px),
            });
        }
        let Some(y0_px) = self.y0_px else {
            return Ok(LiveFrame {
                shape: self.shape,
                live: None,
                density: Vec::new(),
                um_per_px: None,
            });
        };
        let w_px = self.shape.w_px;
        let live = PixelBox {
            y0_px,
            x0_px: self.x0_px,
            shape: Shape::new(self.rows.len() / w_px, self.x1_px - self.x0_px),
        };
        let mut density = Vec::with_capacity(live.shape.n_px());
        for row in self.rows.chunks_exact(w_px) {
            density.extend_from_slice(&row[self.x0_px..self.x1_px]);
        }
        Ok(LiveFrame { shape: self.shape, live: Some(live), density, um_per_px: None })
    }
}

fn bad_pixel(y_px: usize, x_px: usize, value: f64) -> FrameError {
    let fault = if value.is_nan() {
        PixelFault::NotANumber
    } else if value.is_infinite() {
        PixelFault::Infinite
    } else {
        PixelFault::Negative
    };
    FrameError::BadPixel { y_px, x_px, value, fault }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// For any chunking of the pixels, the box is the solver's and the whole frame the input.
        #[test]
        fn nothing_live_is_lost(
            (w, pixels) in (1usize..7).prop_flat_map(|w| {
                (Just(w), proptest::collection::vec(
                    prop_oneof![3 => Just(0.0), 1 => 0.5f64..4.0], w..=8 * w))
            }),
            cut in 1usize..9,
        ) {
            let h = pixels.len() / w;
            let pixels = &pixels[..h * w];
            let shape = Shape::new(h, w);
            let mut builder = LiveBuilder::new(shape, None).unwrap();
            pixels.chunks(cut).for_each(|some| builder.push(some));
            let frame = builder.finish().unwrap();
            prop_assert_eq!(frame.live, PixelBox::around_live(pixels, shape));
            prop_assert_eq!(frame.whole().density, pixels);
        }
    }

    #[test]
    fn labels_become_masks_and_bad_pixels_are_named() {
        let build = |label: Option<f64>, pixels: &[f64]| {
            let mut builder = LiveBuilder::new(Shape::new(2, 2), label).unwrap();
            builder.push(pixels);
            builder.finish()
        };
        let frame = build(Some(3.0), &[3.0, -1.0, 4.0, 3.0]).unwrap();
        assert_eq!(frame.whole().density, [1.0, 0.0, 0.0, 1.0]);
        for (value, kind) in
            [(f64::NAN, "nan_pixel"), (f64::INFINITY, "infinite_pixel"), (-0.5, "negative_pixel")]
        {
            let error = build(None, &[1.0, 1.0, value, 0.0]).unwrap_err();
            assert_eq!(error.kind(), kind);
            assert!(error.to_string().starts_with("pixel (1, 0) is "), "{error}");
        }
        assert!(build(None, &[1.0, 1.0, 1.0]).unwrap_err().to_string().contains("1 of 2 rows"));
        assert!(LiveBuilder::new(Shape::new(0, 4), None).is_err());
    }
}
