//! Where mass moved: arrows over the source frame.

use super::figure::figure;
use super::layout::Layout;
use super::overlay::{Shade, frame_image};
use super::scale::{Length, percentile, round_down};
use super::{INK, PairPicture, QUIET, SOURCE, caption, nothing};
use swathe_run::canvas::{Canvas, Color, Rect, Text};

/// Canvas pixels from arrow to arrow.
pub(super) const SPACING_PX: f64 = 36.0;
const THICKNESS_PX: f64 = 2.6;

pub(super) fn draw(canvas: &mut Canvas, picture: &PairPicture<'_>, layout: &Layout, panel: Rect) {
    caption(canvas, panel, "Displacement");
    let image = layout.image(panel);
    let shade = Shade::of(picture.source);
    frame_image(canvas, layout, panel, |at| Color::WHITE.towards(SOURCE, 0.17 * shade.at(at)));
    let arrows = arrows(picture, layout);
    if arrows.is_empty() {
        nothing(canvas, image, "no mass to move");
        return;
    }
    let mut lengths: Vec<f64> = arrows.iter().map(|arrow| arrow.vx.hypot(arrow.vy)).collect();
    lengths.sort_unstable_by(f64::total_cmp);
    // Long arrows reach from cell to cell. A speed far below a thousandth of the frame is
    // rounding of the solver, not motion.
    let (h, w) = (layout.view.shape.h_px as f64, layout.view.shape.w_px as f64);
    let long = percentile(&lengths, 0.95);
    if long < 1e-4 * h.max(w) {
        nothing(canvas, image, "no motion");
        return;
    }
    let stretch = SPACING_PX.max(layout.zoom) / long;
    for arrow in &arrows {
        let x = image.x + (arrow.x - layout.view.x0_px as f64) * layout.zoom;
        let y = image.y + (arrow.y - layout.view.y0_px as f64) * layout.zoom;
        let (dx, dy) = (arrow.vx * stretch, arrow.vy * stretch);
        // An arrow is centred on its cell, so that arrows fill the area evenly.
        let (from, to) = ((x - dx / 2.0, y - dy / 2.0), (x + dx / 2.0, y + dy / 2.0));
        if dx.hypot(dy) < 2.0 * THICKNESS_PX {
            canvas.disc((x, y), 0.7 * THICKNESS_PX, INK);
        } else {
            let [from, to] = [from, to].map(|end| cut_at(&image, (x, y), end));
            canvas.arrow(from, to, THICKNESS_PX, INK);
        }
    }
    let below = image.bottom() + 36.0;
    scale_arrow(canvas, Length::of(picture.source), stretch / layout.zoom, layout, (panel, below));
}

/// The mean displacement of a square of pixels, at the middle of its live pixels, in frame pixels.
pub(super) struct Arrow {
    pub(super) y: f64,
    pub(super) x: f64,
    vy: f64,
    vx: f64,
}

/// The end of an arrow, moved towards its middle until it is on the image: single pixels of noise can
/// seem to move far.
fn cut_at(image: &Rect, middle: (f64, f64), end: (f64, f64)) -> (f64, f64) {
    let (dx, dy) = (end.0 - middle.0, end.1 - middle.1);
    let room = |at: f64, step: f64, low: f64, high: f64| match step {
        step if step > 0.0 => (high - at) / step,
        step if step < 0.0 => (low - at) / step,
        _ => 1.0,
    };
    let along_x = room(middle.0, dx, image.x, image.right());
    let along_y = room(middle.1, dy, image.y, image.bottom());
    let share = along_x.min(along_y).clamp(0.0, 1.0);
    (middle.0 + share * dx, middle.1 + share * dy)
}

/// One arrow for each square of pixels that has source mass, at the middle of that mass: thin rings
/// and single particles have arrows, too.
pub(super) fn arrows(picture: &PairPicture<'_>, layout: &Layout) -> Vec<Arrow> {
    let view = layout.view;
    let step = (SPACING_PX / layout.zoom).round().max(1.0) as usize;
    let mut arrows = Vec::new();
    for y0 in (view.y0_px..view.y1_px()).step_by(step) {
        for x0 in (view.x0_px..view.x1_px()).step_by(step) {
            let (y1, x1) = ((y0 + step).min(view.y1_px()), (x0 + step).min(view.x1_px()));
            let (mut n, mut sum) = (0, [0.0; 4]);
            for y in y0..y1 {
                for x in x0..x1 {
                    let [vy, vx] = picture.fields.velocity_yx_px[y * layout.frame_w_px + x];
                    if vy.is_finite() && vx.is_finite() {
                        n += 1;
                        let parts = [y as f64 + 0.5, x as f64 + 0.5, vy, vx];
                        for (sum, part) in sum.iter_mut().zip(parts) {
                            *sum += part;
                        }
                    }
                }
            }
            if n > 0 {
                let [y, x, vy, vx] = sum.map(|v| v / f64::from(n as u32));
                arrows.push(Arrow { y, x, vy, vx });
            }
        }
    }
    arrows
}

/// Draws a scale below the image: an arrow of a round length.
fn scale_arrow(
    canvas: &mut Canvas,
    length: Length,
    times: f64,
    layout: &Layout,
    (panel, y): (Rect, f64),
) {
    let px_per_unit = times * layout.zoom / length.per_px;
    let units = round_down(80.0 / px_per_unit);
    let long = units * px_per_unit;
    canvas.arrow((panel.x, y - 7.0), (panel.x + long, y - 7.0), THICKNESS_PX, INK);
    let mut words = format!("{} {} per step", figure(units), length.unit);
    let style = Text::of_size(22.0);
    let drawn = format!("{words}, drawn ×{}", figure(times));
    if panel.x + long + 14.0 + style.width_px(&drawn) < panel.right() {
        words = drawn;
    }
    canvas.text((panel.x + long + 14.0, y), &words, &style, QUIET);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrows_end_on_the_image() {
        let image = Rect { x: 10.0, y: 20.0, w: 100.0, h: 50.0 };
        let middle = (50.0, 30.0);
        assert_eq!(cut_at(&image, middle, (70.0, 40.0)), (70.0, 40.0));
        assert_eq!(cut_at(&image, middle, (170.0, 30.0)), (110.0, 30.0));
        assert_eq!(cut_at(&image, middle, (50.0, -70.0)), (50.0, 20.0));
        let (x, y) = cut_at(&image, middle, (250.0, 230.0));
        assert!((x, y) == (90.0, 70.0), "{x} {y}");
    }
}
