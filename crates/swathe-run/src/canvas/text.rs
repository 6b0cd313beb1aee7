//! Text, drawn with the strokes of the built-in font at any size.

use super::glyphs::{EM, GAP, Glyph, glyph};
use super::{Canvas, Color, Point};

/// The size, weight and alignment of text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Text {
    /// Size of the font: the height of a line without space between lines, px.
    pub size_px: f64,
    /// Thickness of the strokes as a share of the size.
    pub weight: f64,
    /// Which point of the text is at its position.
    pub align: Align,
    /// Whether it is turned to run from the bottom up.
    pub upwards: bool,
}

/// Which point of a text is at its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Its beginning.
    Left,
    /// Its middle.
    Centre,
    /// Its end.
    Right,
}

impl Text {
    /// Text of a size, of usual weight, beginning at its position.
    pub fn of_size(size_px: f64) -> Text {
        Text { size_px, weight: 0.078, align: Align::Left, upwards: false }
    }

    /// The same, bold.
    pub fn bold(self) -> Text {
        Text { weight: 0.115, ..self }
    }

    /// The same, centred on its position.
    pub fn centred(self) -> Text {
        Text { align: Align::Centre, ..self }
    }

    /// The same, ending at its position.
    pub fn right(self) -> Text {
        Text { align: Align::Right, ..self }
    }

    /// The same, running from the bottom up.
    pub fn upwards(self) -> Text {
        Text { upwards: true, ..self }
    }

    /// The width of a text, px.
    ///
    /// ```
    /// use swathe_run::canvas::Text;
    /// let text = Text::of_size(20.0);
    /// assert!(text.width_px("median") > text.width_px("p90"));
    /// assert_eq!(text.width_px("111"), text.width_px("888"));
    /// ```
    pub fn width_px(&self, text: &str) -> f64 {
        (self.advance_px(text) - GAP * self.size_px / EM).max(0.0)
    }

    /// The distance from the beginning of a text to the beginning of the text after it, px.
    pub fn advance_px(&self, text: &str) -> f64 {
        let units: f64 = text.chars().map(|c| glyph(c).width + GAP).sum();
        units * self.size_px / EM
    }

    /// Height of capitals and digits, px.
    pub fn cap_px(&self) -> f64 {
        20.0 * self.size_px / EM
    }

    /// A text cut off to fit into a width, with an ellipsis if it was cut.
    pub fn cut_to(&self, text: &str, width_px: f64) -> String {
        if self.width_px(text) <= width_px {
            return text.to_owned();
        }
        let mut kept: Vec<char> = text.chars().collect();
        while kept.pop().is_some() {
            let cut: String = kept.iter().chain(&['…']).collect();
            if self.width_px(&cut) <= width_px {
                return cut;
            }
        }
        String::new()
    }
}

impl Canvas {
    /// Writes a line of text whose baseline is at `at`. Characters that the font lacks are drawn
    /// as boxes.
    pub fn text(&mut self, at: Point, text: &str, style: &Text, color: Color) {
        let px = style.size_px / EM;
        if !(px > 0.0 && px.is_finite()) {
            return;
        }
        let back = match style.align {
            Align::Left => 0.0,
            Align::Centre => style.width_px(text) / 2.0,
            Align::Right => style.width_px(text),
        };
        let mut along = -back;
        for c in text.chars() {
            let Glyph { width, strokes } = glyph(c);
            let placed: Vec<Vec<Point>> = strokes
                .iter()
                .map(|stroke| {
                    let place = |(x, y): &Point| {
                        let (right, up) = (along + x * px, y * px);
                        if style.upwards {
                            (at.0 - up, at.1 - right)
                        } else {
                            (at.0 + right, at.1 - up)
                        }
                    };
                    stroke.iter().map(place).collect()
                })
                .collect();
            self.strokes(&placed, style.weight * style.size_px, color);
            along += (width + GAP) * px;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bounding box of dark pixels: left, top, right, bottom.
    fn ink(canvas: &Canvas) -> Option<(usize, usize, usize, usize)> {
        let mut found: Option<(usize, usize, usize, usize)> = None;
        for y in 0..canvas.h_px() {
            for x in 0..canvas.w_px() {
                if canvas.pixel(x, y).unwrap().r < 128 {
                    let (l, t, r, b) = found.unwrap_or((x, y, x, y));
                    found = Some((l.min(x), t.min(y), r.max(x), b.max(y)));
                }
            }
        }
        found
    }

    #[test]
    fn text_stands_on_its_baseline_and_ends_at_its_width() {
        let style = Text::of_size(28.0);
        let mut canvas = Canvas::new(120, 60, Color::WHITE);
        canvas.text((10.0, 40.0), "HEH", &style, Color::BLACK);
        let (l, t, r, b) = ink(&canvas).unwrap();
        assert!((9..=10).contains(&l), "{l}");
        assert!((19..=20).contains(&t), "{t}");
        assert!((39..=41).contains(&b), "{b}");
        let end = 10.0 + style.width_px("HEH");
        assert!((r as f64 - end).abs() < 2.0, "{r} {end}");
    }

    #[test]
    fn alignment_and_turning_move_the_ink() {
        let write = |style: Text| {
            let mut canvas = Canvas::new(100, 100, Color::WHITE);
            canvas.text((50.0, 50.0), "MMM", &style, Color::BLACK);
            ink(&canvas).unwrap()
        };
        let style = Text::of_size(14.0);
        assert!(write(style).0 >= 48);
        assert!(write(style.right()).2 <= 51);
        let (l, _, r, _) = write(style.centred());
        assert!((l + r).abs_diff(100) <= 2);
        let (l, t, r, b) = write(style.upwards());
        assert!(b <= 51 && t < 40 && r <= 51 && l >= 38, "{l} {t} {r} {b}");
    }

    #[test]
    fn long_text_is_cut_with_an_ellipsis() {
        let style = Text::of_size(14.0);
        let cut = style.cut_to("a very long name of a pair", 80.0);
        assert!(cut.ends_with('…') && style.width_px(&cut) <= 80.0);
        assert!(cut.len() > 6);
        assert_eq!(style.cut_to("short", 80.0), "short");
    }
}
