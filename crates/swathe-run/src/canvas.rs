//! A canvas: pixels to draw pictures on, with shapes, images and text, saved as PNG.
//!
//! Positions are in pixels from the upper left corner, x to the right and y down; pixel (0, 0)
//! covers the square from (0, 0) to (1, 1). Drawing never fails: whatever lies off the canvas is
//! clipped, and a shape with a NaN position is skipped.
//!
//! ```
//! use swathe_run::canvas::{Canvas, Color, Rect, Text};
//!
//! let mut canvas = Canvas::new(200, 60, Color::WHITE);
//! canvas.fill_rect(Rect::new(10.0, 10.0, 40.0, 40.0), Color::rgb(0, 114, 178));
//! canvas.text((60.0, 36.0), "12 µm", &Text::of_size(18.0), Color::BLACK);
//! assert_eq!(canvas.pixel(20, 20), Some(Color::rgb(0, 114, 178)));
//! assert!(canvas.png().starts_with(b"\x89PNG"));
//! ```

mod color;
mod glyphs;
mod image;
mod stroke;
mod text;

pub use color::Color;
pub use text::{Align, Text};

/// A position: x to the right and y down, px.
pub type Point = (f64, f64);

/// An opaque picture that is being drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Canvas {
    w_px: usize,
    h_px: usize,
    /// Red, green and blue, row by row.
    pixels: Vec<[u8; 3]>,
}

impl Canvas {
    /// A canvas of one colour.
    pub fn new(w_px: usize, h_px: usize, background: Color) -> Canvas {
        Canvas { w_px, h_px, pixels: vec![background.channels(); w_px * h_px] }
    }

    /// Width, px.
    pub fn w_px(&self) -> usize {
        self.w_px
    }

    /// Height, px.
    pub fn h_px(&self) -> usize {
        self.h_px
    }

    /// The colour of a pixel, if it is on the canvas.
    pub fn pixel(&self, x: usize, y: usize) -> Option<Color> {
        let on = x < self.w_px && y < self.h_px;
        on.then(|| {
            let [r, g, b] = self.pixels[y * self.w_px + x];
            Color::rgb(r, g, b)
        })
    }

    /// Fills a rectangle; pixels that it covers in part are blended.
    pub fn fill_rect(&mut self, rect: Rect, color: Color) {
        let (xs, ys) = self.reach(rect);
        for y in ys {
            let down = overlap(y, rect.y, rect.bottom());
            for x in xs.clone() {
                self.blend(x, y, color, down * overlap(x, rect.x, rect.right()));
            }
        }
    }

    /// Draws the edge of a rectangle, `thickness_px` wide, inside it.
    pub fn outline_rect(&mut self, rect: Rect, thickness_px: f64, color: Color) {
        let t = thickness_px.min(rect.w / 2.0).min(rect.h / 2.0);
        let Rect { x, y, w, h } = rect;
        self.fill_rect(Rect::new(x, y, w, t), color);
        self.fill_rect(Rect::new(x, y + h - t, w, t), color);
        self.fill_rect(Rect::new(x, y + t, t, h - 2.0 * t), color);
        self.fill_rect(Rect::new(x + w - t, y + t, t, h - 2.0 * t), color);
    }

    /// The picture as a PNG file.
    pub fn png(&self) -> Vec<u8> {
        // The PNG format does not allow a width or height of zero.
        let (w_px, h_px) = (self.w_px.max(1), self.h_px.max(1));
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, w_px as u32, h_px as u32);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let mut data = self.pixels.as_flattened().to_vec();
        data.resize(w_px * h_px * 3, 255);
        let mut writer = encoder.write_header().expect("memory takes every header");
        writer.write_image_data(&data).expect("memory takes every picture of the header's size");
        writer.finish().expect("memory takes the end");
        bytes
    }

    /// Blends a colour over one pixel.
    fn blend(&mut self, x: usize, y: usize, color: Color, coverage: f64) {
        let pixel = &mut self.pixels[y * self.w_px + x];
        *pixel = color.over(*pixel, coverage);
    }

    /// The columns and rows that a rectangle touches.
    fn reach(&self, rect: Rect) -> (std::ops::Range<usize>, std::ops::Range<usize>) {
        let within = |from: f64, to: f64, n: usize| {
            if !(from.is_finite() && to.is_finite() && from < to) {
                return 0..0;
            }
            let clamp = |v: f64| v.clamp(0.0, n as f64) as usize;
            clamp(from.floor())..clamp(to.ceil())
        };
        (within(rect.x, rect.right(), self.w_px), within(rect.y, rect.bottom(), self.h_px))
    }
}

/// A rectangle with its upper left corner at (x, y).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rect {
    /// Left edge, px.
    pub x: f64,
    /// Upper edge, px.
    pub y: f64,
    /// Width, px.
    pub w: f64,
    /// Height, px.
    pub h: f64,
}

impl Rect {
    /// A rectangle with this upper left corner and these extents.
    pub fn new(x: f64, y: f64, w: f64, h: f64) -> Rect {
        Rect { x, y, w, h }
    }

    /// The right edge.
    pub fn right(&self) -> f64 {
        self.x + self.w
    }

    /// The lower edge.
    pub fn bottom(&self) -> f64 {
        self.y + self.h
    }

    /// The same rectangle, smaller by `by_px` on each side.
    pub fn inset(&self, by_px: f64) -> Rect {
        Rect::new(
            self.x + by_px,
            self.y + by_px,
            (self.w - 2.0 * by_px).max(0.0),
            (self.h - 2.0 * by_px).max(0.0),
        )
    }
}

/// How much of pixel `at` lies between two edges.
fn overlap(at: usize, from: f64, to: f64) -> f64 {
    let at = at as f64;
    ((at + 1.0).min(to) - at.max(from)).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RED: Color = Color::rgb(255, 0, 0);

    /// The red channel by rows, for black drawn on white: 0 is fully covered, 255 is untouched.
    fn reds(canvas: &Canvas) -> Vec<Vec<u8>> {
        let rows = canvas.pixels.chunks(canvas.w_px);
        rows.map(|row| row.iter().map(|[r, _, _]| *r).collect()).collect()
    }

    #[test]
    fn rectangles_cover_whole_pixels_and_blend_halves() {
        let mut canvas = Canvas::new(5, 4, Color::WHITE);
        canvas.fill_rect(Rect::new(1.0, 1.0, 2.5, 2.0), Color::BLACK);
        let row = vec![255, 0, 0, 128, 255];
        assert_eq!(reds(&canvas), [vec![255; 5], row.clone(), row, vec![255; 5]]);
    }

    #[test]
    fn an_outline_leaves_the_inside_and_covers_corners_once() {
        let mut canvas = Canvas::new(6, 5, Color::WHITE);
        canvas.outline_rect(Rect::new(1.0, 1.0, 4.0, 3.0), 1.0, Color::BLACK.with_alpha(0.5));
        assert_eq!(
            reds(&canvas),
            [
                [255, 255, 255, 255, 255, 255],
                [255, 128, 128, 128, 128, 255],
                [255, 128, 255, 255, 128, 255],
                [255, 128, 128, 128, 128, 255],
                [255, 255, 255, 255, 255, 255],
            ]
        );
    }

    #[test]
    fn nothing_off_the_canvas_fails() {
        let odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1e300, 1e300, -3.0, 0.0, 2.5];
        for (w_px, h_px) in [(0, 0), (4, 3), (1, 9)] {
            let mut canvas = Canvas::new(w_px, h_px, Color::WHITE);
            for a in odd {
                for b in odd {
                    let rect = Rect::new(a, b, 4.0, b);
                    canvas.fill_rect(rect, RED);
                    canvas.outline_rect(rect, a, RED);
                    canvas.line((a, b), (b, a), 1.0, RED);
                    canvas.arrow((1.0, 1.0), (a, b), 1.5, RED);
                    canvas.polyline(&[(a, a), (b, b), (1.0, a)], b, RED);
                    canvas.polygon(&[(a, b), (2.0, 2.0), (b, 1.0)], RED);
                    canvas.disc((a, b), 2.0, RED);
                    canvas.image(rect, 2, 2, |_, _| RED);
                    canvas.text((a, b), "µm²", &Text::of_size(12.0), RED);
                    canvas.text((1.0, 1.0), "x", &Text::of_size(a), RED);
                }
            }
            assert!(canvas.png().starts_with(b"\x89PNG"));
        }
    }

    #[test]
    fn a_png_reads_back_as_it_was_drawn() {
        let mut canvas = Canvas::new(7, 3, Color::rgb(1, 2, 3));
        canvas.fill_rect(Rect::new(2.0, 0.0, 3.0, 2.0), RED);
        let bytes = canvas.png();
        let mut reader = png::Decoder::new(std::io::Cursor::new(&bytes)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        assert_eq!((info.width, info.height), (7, 3));
        assert_eq!(pixels, canvas.pixels.as_flattened());
    }
}
