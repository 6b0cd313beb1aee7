//! Where mass appeared and vanished, on a scale from blue over white to red.

use super::figure::{figure, raised};
use super::layout::Layout;
use super::overlay::frame_image;
use super::scale::percentile;
use super::{INK, PairPicture, QUIET, RULE};
use swathe_run::canvas::{Canvas, Color, Rect, Text};

const DESTROYED: Color = Color::rgb(28, 84, 160);
const CREATED: Color = Color::rgb(178, 18, 42);
/// Pixels with mass that neither appeared nor vanished.
const NEITHER: Color = Color::rgb(244, 244, 246);

pub(super) fn draw(canvas: &mut Canvas, picture: &PairPicture<'_>, layout: &Layout, panel: Rect) {
    title(canvas, panel);
    let fields = picture.fields;
    let net = |at: usize| -> Option<f64> {
        let (created, destroyed) = (fields.created[at], fields.destroyed[at]);
        match (created.is_nan(), destroyed.is_nan()) {
            (true, true) => None,
            (true, false) => Some(-destroyed),
            (false, true) => Some(created),
            (false, false) => Some(created - destroyed),
        }
    };
    let mut sizes: Vec<f64> = (0..fields.created.len()).filter_map(net).map(f64::abs).collect();
    sizes.sort_unstable_by(f64::total_cmp);
    // A percentile, so that a few strong pixels at a rim do not make the rest pale.
    let full = percentile(&sizes, 0.995);
    let full = if full > 0.0 { full } else { 1.0 };
    frame_image(canvas, layout, panel, |at| match net(at) {
        None => Color::WHITE,
        Some(value) => color(value / full),
    });
    color_bar(canvas, layout.image(panel), panel, full);
}

/// The panel's name, with the words for the colours in these colours.
fn title(canvas: &mut Canvas, panel: Rect) {
    let style = Text::of_size(26.0).bold();
    let mut x = panel.x;
    let words = [("Created", CREATED), (" and ", INK), ("destroyed", DESTROYED), (" mass", INK)];
    for (words, color) in words {
        canvas.text((x, panel.y - 16.0), words, &style, color);
        x += style.advance_px(words);
    }
}

/// The colour of a value from −1 to 1.
fn color(value: f64) -> Color {
    let end = if value < 0.0 { DESTROYED } else { CREATED };
    // Lightness falls evenly from the middle to the end, through a clear middle tone.
    let size = value.abs().min(1.0);
    let middle = NEITHER.towards(end, 0.55);
    if size < 0.5 {
        NEITHER.towards(middle, 2.0 * size)
    } else {
        middle.towards(end, 2.0 * size - 1.0)
    }
}

fn color_bar(canvas: &mut Canvas, image: Rect, panel: Rect, full: f64) {
    let style = Text::of_size(22.0);
    // Three texts need room below the bar.
    let width = image.w.max(panel.w.min(340.0));
    let bar = Rect::new(image.x, image.bottom() + 20.0, width, 14.0);
    let n = bar.w as usize;
    canvas.image(bar, n, 1, |x, _| color(2.0 * (x as f64 + 0.5) / n as f64 - 1.0));
    canvas.outline_rect(bar, 1.0, RULE);
    let exponent = full.log10().floor() as i32;
    let (shown, unit) = if (-2..4).contains(&exponent) {
        (full, "mass per px".to_owned())
    } else {
        let power = raised(&exponent.to_string());
        let scaled = full / 10f64.powi(exponent);
        (scaled, format!("10{power} mass per px"))
    };
    let y = bar.bottom() + 28.0;
    let ends = (format!("−{}", figure(shown)), format!("+{}", figure(shown)));
    canvas.text((bar.x, y), &ends.0, &style, QUIET);
    canvas.text((bar.right(), y), &ends.1, &style.right(), QUIET);
    canvas.text((bar.x + bar.w / 2.0, y), &unit, &style.centred(), QUIET);
}
