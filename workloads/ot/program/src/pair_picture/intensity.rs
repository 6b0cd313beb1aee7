//! One frame as it came: the mass of each pixel in shades of grey.

use super::figure::figure;
use super::layout::Layout;
use super::overlay::frame_image;
use super::scale::percentile;
use super::{INK, PairPicture, QUIET, RULE, caption};
use swathe_ot::Frame;
use swathe_run::canvas::{Canvas, Color, Rect, Text};

/// Draws the two frames with one scale of grey.
pub(super) fn draw(
    canvas: &mut Canvas,
    picture: &PairPicture<'_>,
    layout: &Layout,
    panels: [Rect; 2],
) {
    let frames = [("Source", picture.source), ("Target", picture.target)];
    let masses = frames.iter().flat_map(|(_, frame)| &frame.density);
    let mut live: Vec<f64> = masses.copied().filter(|mass| *mass > 0.0).collect();
    live.sort_unstable_by(f64::total_cmp);
    // A percentile, so that a hot pixel does not hide the others.
    let full = percentile(&live, 0.99);
    let full = if full > 0.0 { full } else { 1.0 };
    for ((name, frame), panel) in frames.into_iter().zip(panels) {
        caption(canvas, panel, name);
        frame_image(canvas, layout, panel, |at| shade(frame, at, full));
        scale_bar(canvas, layout.image(panel), full);
    }
}

fn shade(frame: &Frame, at: usize, full: f64) -> Color {
    Color::WHITE.towards(INK, (frame.density[at] / full).min(1.0))
}

fn scale_bar(canvas: &mut Canvas, image: Rect, full: f64) {
    let style = Text::of_size(22.0);
    let bar = Rect::new(image.x, image.bottom() + 20.0, image.w.max(260.0), 14.0);
    let n = bar.w as usize;
    canvas.image(bar, n, 1, |x, _| Color::WHITE.towards(INK, (x as f64 + 0.5) / n as f64));
    canvas.outline_rect(bar, 1.0, RULE);
    let y = bar.bottom() + 28.0;
    canvas.text((bar.x, y), "0", &style, QUIET);
    canvas.text((bar.right(), y), &figure(full), &style.right(), QUIET);
    let middle = bar.x + bar.w / 2.0;
    canvas.text((middle, y), "input mass per px", &style.centred(), QUIET);
}
