//! The layout: four panels of one size, two by two or in a row, whichever shows the frames larger.

use swathe_ot::{Frame, PixelBox, Shape};

use swathe_run::canvas::Rect;

/// The largest picture that fits on a slide.
const W_MAX_PX: f64 = 1920.0;
const H_MAX_PX: f64 = 1080.0;
/// Height of the title and the figures.
const HEADER_PX: f64 = 150.0;
const MARGIN_PX: f64 = 60.0;
/// Height above each panel for its name, and below it for legends and axes.
const ABOVE_PX: f64 = 56.0;
const BELOW_PX: f64 = 84.0;
/// Width between columns: the labels of an axis need room on its left.
const BETWEEN_PX: f64 = 120.0;
/// The smallest panel that holds a legend and a histogram.
const PANEL_W_MIN_PX: f64 = 340.0;
const PANEL_H_MIN_PX: f64 = 240.0;

/// The positions of all parts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub(super) w_px: usize,
    pub(super) h_px: usize,
    pub(super) margin_px: f64,
    /// Overlay, quiver, mass map, histogram.
    pub(super) panels: [Rect; 4],
    /// Width of the whole frame.
    pub(super) frame_w_px: usize,
    /// The part of the frame that is shown.
    pub(super) view: PixelBox,
    /// Canvas pixels in a pixel of the frame.
    pub(super) zoom: f64,
}

impl Layout {
    /// Where the shown part of the frame lies in a panel: at its upper left corner.
    pub(super) fn image(&self, panel: Rect) -> Rect {
        let w = self.view.shape.w_px as f64 * self.zoom;
        let h = self.view.shape.h_px as f64 * self.zoom;
        Rect::new(panel.x, panel.y, w, h)
    }
}

pub(super) fn layout(source: &Frame, target: &Frame) -> Layout {
    let view = view(source, target);
    let (w, h) = (view.shape.w_px.max(1) as f64, view.shape.h_px.max(1) as f64);
    let zoom_of = |n_across: f64, n_down: f64| {
        let room_w = (W_MAX_PX - 2.0 * MARGIN_PX - (n_across - 1.0) * BETWEEN_PX) / n_across;
        let room_h = (H_MAX_PX - HEADER_PX) / n_down - ABOVE_PX - BELOW_PX;
        (room_w / w).min(room_h / h)
    };
    let (square, row) = (zoom_of(2.0, 2.0), zoom_of(4.0, 1.0));
    let n_across: usize = if row > square { 4 } else { 2 };
    let zoom = whole(if n_across == 4 { row } else { square });
    let panel_w = (w * zoom).max(PANEL_W_MIN_PX);
    // The last row holds the histogram, which must not be too flat.
    let low = (h * zoom).max(PANEL_H_MIN_PX);
    let place = |i: usize| {
        let x = MARGIN_PX + (i % n_across) as f64 * (panel_w + BETWEEN_PX);
        let y = HEADER_PX + ABOVE_PX;
        match (n_across, i) {
            (2, 0 | 1) => Rect::new(x, y, panel_w, h * zoom),
            (2, _) => Rect::new(x, y + h * zoom + BELOW_PX + ABOVE_PX, panel_w, low),
            _ => Rect::new(x, y, panel_w, low),
        }
    };
    let last = place(3);
    Layout {
        w_px: (last.right() + MARGIN_PX).ceil() as usize,
        h_px: (last.bottom() + BELOW_PX).ceil() as usize,
        margin_px: MARGIN_PX,
        panels: [0, 1, 2, 3].map(place),
        frame_w_px: source.shape.w_px,
        view,
        zoom,
    }
}

/// Rounds a zoom down to an integer, so that all pixels are equally large; below four, to eighths.
fn whole(zoom: f64) -> f64 {
    if zoom >= 4.0 {
        zoom.floor()
    } else if zoom >= 1.0 {
        (zoom * 8.0).floor() / 8.0
    } else {
        zoom
    }
}

/// The box around all mass with a rim of a tenth, or the whole frame if it is not much larger.
fn view(source: &Frame, target: &Frame) -> PixelBox {
    let frame = source.shape;
    let live = |f: &Frame| PixelBox::around_live(&f.density, f.shape);
    let whole = PixelBox { y0_px: 0, x0_px: 0, shape: frame };
    let both = match (live(source), live(target)) {
        (Some(a), Some(b)) => a.union(b),
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) => return whole,
    };
    let rim = both.shape.h_px.max(both.shape.w_px).div_ceil(10).max(2);
    let (y0_px, x0_px) = (both.y0_px.saturating_sub(rim), both.x0_px.saturating_sub(rim));
    let y1_px = (both.y1_px() + rim).min(frame.h_px);
    let x1_px = (both.x1_px() + rim).min(frame.w_px);
    let cut = PixelBox { y0_px, x0_px, shape: Shape::new(y1_px - y0_px, x1_px - x0_px) };
    if 10 * cut.shape.n_px() >= 9 * frame.n_px() { whole } else { cut }
}
