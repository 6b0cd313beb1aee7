//! Source and target in one image.

use super::figure::figure;
use super::layout::Layout;
use super::scale::{Length, round_down};
use super::{BOTH, INK, PairPicture, QUIET, RULE, SOURCE, TARGET, caption};
use swathe_ot::Frame;
use swathe_run::canvas::{Canvas, Color, Rect, Text};

pub(super) fn draw(canvas: &mut Canvas, picture: &PairPicture<'_>, layout: &Layout, panel: Rect) {
    caption(canvas, panel, "Source and target");
    let image = layout.image(panel);
    let (source, target) = (Shade::of(picture.source), Shade::of(picture.target));
    frame_image(canvas, layout, panel, |at| {
        let (s, t) = (source.at(at), target.at(at));
        let most = s.max(t);
        if most == 0.0 {
            return Color::WHITE;
        }
        // Neutral as far as both frames have mass; beyond that, the colour of the frame with more.
        let end = if s > t { full(SOURCE) } else { full(TARGET) };
        Color::WHITE.towards(end.towards(BOTH, s.min(t) / most), most)
    });
    let below = image.bottom() + 36.0;
    let used = legend(canvas, panel.x, below);
    scale_bar(canvas, Length::of(picture.source), layout, panel, (used, below));
}

/// A pixel of one frame alone, at its brightest.
fn full(color: Color) -> Color {
    Color::WHITE.towards(color, 0.88)
}

/// Draws the shown part of the frame, with a colour for each pixel.
pub(super) fn frame_image(
    canvas: &mut Canvas,
    layout: &Layout,
    panel: Rect,
    color: impl Fn(usize) -> Color,
) {
    let view = layout.view;
    let image = layout.image(panel);
    canvas.image(image, view.shape.w_px, view.shape.h_px, |x, y| {
        color((view.y0_px + y) * layout.frame_w_px + view.x0_px + x)
    });
    let edge = Rect::new(image.x - 1.5, image.y - 1.5, image.w + 3.0, image.h + 3.0);
    canvas.outline_rect(edge, 1.5, RULE);
}

/// Mass of a frame's pixels as shades from 0 to 1.
pub(super) struct Shade<'a> {
    density: &'a [f64],
    full: f64,
}

impl<'a> Shade<'a> {
    /// The brightest hundredth of the live pixels has the full shade, so that one hot pixel does
    /// not hide the others.
    pub(super) fn of(frame: &'a Frame) -> Shade<'a> {
        let mut live: Vec<f64> = frame.density.iter().copied().filter(|v| *v > 0.0).collect();
        live.sort_unstable_by(f64::total_cmp);
        Shade { density: &frame.density, full: super::scale::percentile(&live, 0.99) }
    }

    /// The shade of a pixel: 0 without mass, else from a visible 0.15 to 1.
    pub(super) fn at(&self, at: usize) -> f64 {
        let mass = self.density[at];
        if mass > 0.0 && self.full > 0.0 { 0.15 + 0.85 * (mass / self.full).min(1.0) } else { 0.0 }
    }
}

/// Draws the legend from `x` on and returns where it ends.
fn legend(canvas: &mut Canvas, mut x: f64, y: f64) -> f64 {
    let style = Text::of_size(22.0);
    let swatches = [(full(SOURCE), "source"), (full(TARGET), "target"), (BOTH, "both")];
    for (color, words) in swatches {
        canvas.fill_rect(Rect::new(x.round(), (y - 16.0).round(), 18.0, 18.0), color);
        canvas.text((x + 25.0, y), words, &style, QUIET);
        x += 25.0 + style.width_px(words) + 22.0;
    }
    x
}

/// A bar of a round length, about a fifth of the panel, at its lower right; on a second line if
/// the legend leaves no room.
fn scale_bar(
    canvas: &mut Canvas,
    length: Length,
    layout: &Layout,
    panel: Rect,
    (used, below): (f64, f64),
) {
    let px_per_unit = layout.zoom / length.per_px;
    let units = round_down(0.25 * panel.w / px_per_unit);
    let bar = units * px_per_unit;
    let style = Text::of_size(22.0);
    let words = format!("{} {}", figure(units), length.unit);
    let width = bar + 10.0 + style.width_px(&words);
    let right = layout.image(panel).right().max(used);
    let (x, y) =
        if used + 20.0 + width < right { (right - width, below) } else { (panel.x, below + 34.0) };
    canvas.fill_rect(Rect::new(x, y - 9.0, bar, 4.0), INK);
    canvas.text((x + bar + 10.0, y), &words, &style, QUIET);
}
