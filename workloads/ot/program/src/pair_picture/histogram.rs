//! How fast mass moved: a histogram over the source's pixels.

use super::figure::figure;
use super::scale::{Length, percentile, ticks};
use super::{INK, PairPicture, QUIET, RULE, SOURCE, caption, nothing};
use swathe_run::canvas::{Canvas, Color, Rect, Text};

const N_BINS: usize = 40;

pub(super) fn draw(canvas: &mut Canvas, picture: &PairPicture<'_>, panel: Rect) {
    caption(canvas, panel, "Speed");
    let length = Length::of(picture.source);
    let mut speeds: Vec<f64> =
        picture.speeds_px().into_iter().map(|px| px * length.per_px).collect();
    speeds.sort_unstable_by(f64::total_cmp);
    let Some(fastest) = speeds.last().copied() else {
        canvas.outline_rect(panel, 1.5, RULE);
        nothing(canvas, panel, "no mass to move");
        return;
    };
    let (median, p90) = (percentile(&speeds, 0.5), percentile(&speeds, 0.9));
    // The axis begins at zero, so that pictures of different pairs can be compared.
    let end = if fastest > 0.0 { 1.04 * fastest } else { 1.0 };
    let mut counts = [0_usize; N_BINS];
    for speed in &speeds {
        counts[((speed / end * N_BINS as f64) as usize).min(N_BINS - 1)] += 1;
    }
    let share = |n: usize| 100.0 * n as f64 / speeds.len() as f64;
    let most = share(counts.into_iter().max().unwrap_or(0));
    // Leaves room above the bars for the labels of the two marks.
    let top = most * panel.h / (panel.h - 78.0).max(1.0);
    let x_of = |speed: f64| panel.x + speed / end * panel.w;
    let y_of = |share: f64| panel.bottom() - share / top * panel.h;
    axes(canvas, panel, end, most, (&x_of, &y_of));
    let width = panel.w / N_BINS as f64;
    for (i, n) in counts.iter().enumerate() {
        let y = y_of(share(*n));
        let bar = Rect::new(panel.x + i as f64 * width + 1.0, y, width - 2.0, panel.bottom() - y);
        canvas.fill_rect(bar, Color::WHITE.towards(SOURCE, 0.7));
    }
    canvas.fill_rect(Rect::new(panel.x, panel.bottom() - 1.0, panel.w, 2.0), INK);
    let label = format!("speed ({} per step)", length.unit);
    canvas.text(
        (panel.x + panel.w / 2.0, panel.bottom() + 64.0),
        &label,
        &Text::of_size(22.0).centred(),
        QUIET,
    );
    canvas.text(
        (panel.x - 58.0, panel.y + panel.h / 2.0),
        "% of pixels",
        &Text::of_size(22.0).centred().upwards(),
        QUIET,
    );
    marks(canvas, panel, (x_of(median), median), (x_of(p90), p90));
}

type Place<'a> = &'a dyn Fn(f64) -> f64;

fn axes(canvas: &mut Canvas, panel: Rect, end: f64, most: f64, (x_of, y_of): (Place, Place)) {
    let style = Text::of_size(20.0);
    for share in ticks(most, 4) {
        let y = y_of(share).round();
        canvas.fill_rect(Rect::new(panel.x, y - 0.5, panel.w, 1.0), RULE);
        canvas.text(
            (panel.x - 12.0, y + style.cap_px() / 2.0),
            &figure(share),
            &style.right(),
            QUIET,
        );
    }
    let n_ticks = (panel.w / 85.0).floor().max(2.0) as usize;
    for speed in ticks(end, n_ticks) {
        let x = x_of(speed).round();
        canvas.fill_rect(Rect::new(x - 1.0, panel.bottom(), 2.0, 8.0), INK);
        canvas.text((x, panel.bottom() + 32.0), &figure(speed), &style.centred(), QUIET);
    }
}

/// Lines at the median and the 90th percentile, with labels above the bars. The line further right
/// is taller, so that its label can be placed above the other line.
fn marks(canvas: &mut Canvas, panel: Rect, median: (f64, f64), p90: (f64, f64)) {
    let style = Text::of_size(22.0).bold();
    let (high, low) = (panel.y + 20.0, panel.y + 52.0);
    let line = |canvas: &mut Canvas, x: f64, y: f64| {
        let top = y - 18.0;
        canvas.fill_rect(Rect::new(x - 1.25, top, 2.5, panel.bottom() - top), INK);
    };
    line(canvas, p90.0, high);
    let words = format!("p90 {}", figure(p90.1));
    if p90.0 + 10.0 + style.width_px(&words) < panel.right() {
        canvas.text((p90.0 + 10.0, high), &words, &style, INK);
    } else {
        canvas.text((p90.0 - 10.0, high), &words, &style.right(), INK);
    }
    let words = format!("median {}", figure(median.1));
    let width = style.width_px(&words);
    if median.0 - 10.0 - width > panel.x {
        canvas.text((median.0 - 10.0, low), &words, &style.right(), INK);
    } else {
        // A white background under the label interrupts the other line.
        let behind = Rect::new(median.0 + 5.0, low - 19.0, width + 10.0, 24.0);
        canvas.fill_rect(behind, Color::WHITE);
        canvas.text((median.0 + 10.0, low), &words, &style, INK);
    }
    line(canvas, median.0, low);
}
