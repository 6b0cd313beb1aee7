//! Lines, arrows and filled outlines. The coverage of a pixel follows from the distance between its
//! centre and the nearest edge: it falls from 1 to 0 over one pixel. Edges are smooth, and exact
//! where they are straight and follow the pixel grid.
//!
//! The few shapes that pictures need take some hundred lines. `tiny-skia` 0.12, a library for
//! arbitrary paths, has 22,500 together with `tiny-skia-path`.

use super::{Canvas, Color, Point, Rect};

impl Canvas {
    /// Draws a line with round ends.
    pub fn line(&mut self, from: Point, to: Point, thickness_px: f64, color: Color) {
        self.polyline(&[from, to], thickness_px, color);
    }

    /// Draws a line through points. A pixel where the line crosses itself is blended only once, so
    /// a transparent colour stays even. A single point is drawn as a dot.
    pub fn polyline(&mut self, points: &[Point], thickness_px: f64, color: Color) {
        self.strokes(&[points.to_vec()], thickness_px, color);
    }

    /// Draws several lines as one shape.
    pub(super) fn strokes(&mut self, lines: &[Vec<Point>], thickness_px: f64, color: Color) {
        // A line thinner than a pixel is drawn one pixel wide with less opacity.
        let radius = thickness_px.max(1.0) / 2.0;
        let color = color.with_alpha(color.alpha * thickness_px.clamp(0.0, 1.0));
        let n_ends = |line: &Vec<Point>| line.len().saturating_sub(1).max(1);
        let segments: Vec<(Point, Point)> = lines
            .iter()
            .filter(|line| !line.is_empty())
            .flat_map(|line| {
                (0..n_ends(line)).map(|i| (line[i], line[(i + 1).min(line.len() - 1)]))
            })
            .collect();
        self.cover(&segments, radius, color);
    }

    /// Draws an arrow with a filled head at `to`. A short arrow consists of the head alone.
    pub fn arrow(&mut self, from: Point, to: Point, thickness_px: f64, color: Color) {
        let (dx, dy) = (to.0 - from.0, to.1 - from.1);
        let length = dx.hypot(dy);
        if !(length > 0.0 && length.is_finite()) {
            return;
        }
        let head = (4.2 * thickness_px).min(length);
        let half = 0.42 * head;
        let (ux, uy) = (dx / length, dy / length);
        let neck = (to.0 - head * ux, to.1 - head * uy);
        if head < length {
            // The shaft ends inside the head, where its round end is hidden.
            let end = (neck.0 + 0.3 * head * ux, neck.1 + 0.3 * head * uy);
            self.line(from, end, thickness_px, color);
        }
        let left = (neck.0 - half * uy, neck.1 + half * ux);
        let right = (neck.0 + half * uy, neck.1 - half * ux);
        self.polygon(&[to, left, right], color);
    }

    /// Fills a convex outline, given clockwise or counter-clockwise.
    pub fn polygon(&mut self, outline: &[Point], color: Color) {
        let n = outline.len();
        if n < 3 || !outline.iter().all(is_drawable) {
            return;
        }
        let edge = |i: usize| (outline[i], outline[(i + 1) % n]);
        let twice_area: f64 = (0..n).map(edge).map(|(a, b)| a.0 * b.1 - b.0 * a.1).sum();
        let sign = twice_area.signum();
        let (xs, ys) = self.reach(around(outline.iter().copied(), 1.0));
        for y in ys {
            for x in xs.clone() {
                let (px, py) = (x as f64 + 0.5, y as f64 + 0.5);
                let inside = (0..n).map(edge).map(|(a, b)| {
                    let (dx, dy) = (b.0 - a.0, b.1 - a.1);
                    sign * (dx * (py - a.1) - dy * (px - a.0)) / dx.hypot(dy).max(1e-9)
                });
                let depth = inside.fold(f64::INFINITY, f64::min);
                self.blend(x, y, color, (depth + 0.5).clamp(0.0, 1.0));
            }
        }
    }

    /// Fills a circle.
    pub fn disc(&mut self, centre: Point, radius_px: f64, color: Color) {
        self.cover(&[(centre, centre)], radius_px, color);
    }

    /// Blends every pixel by its distance to the nearest segment.
    fn cover(&mut self, segments: &[(Point, Point)], radius: f64, color: Color) {
        let segments: Vec<_> =
            segments.iter().filter(|(a, b)| is_drawable(a) && is_drawable(b)).collect();
        if segments.is_empty() || !radius.is_finite() {
            return;
        }
        let ends = segments.iter().flat_map(|(a, b)| [*a, *b]);
        let (xs, ys) = self.reach(around(ends, radius + 1.0));
        let mut coverage = vec![0.0_f64; xs.len() * ys.len()];
        for (a, b) in segments {
            let (near_xs, near_ys) = self.reach(around([*a, *b].into_iter(), radius + 1.0));
            for y in near_ys {
                for x in near_xs.clone() {
                    let gap = distance((x as f64 + 0.5, y as f64 + 0.5), *a, *b);
                    let covered = (radius + 0.5 - gap).clamp(0.0, 1.0);
                    let at = (y - ys.start) * xs.len() + (x - xs.start);
                    coverage[at] = coverage[at].max(covered);
                }
            }
        }
        for (at, covered) in coverage.iter().enumerate() {
            if *covered > 0.0 {
                let (y, x) = (ys.start + at / xs.len(), xs.start + at % xs.len());
                self.blend(x, y, color, *covered);
            }
        }
    }
}

/// Whether a point is close enough that squared differences stay finite.
fn is_drawable(point: &Point) -> bool {
    point.0.abs() < 1e9 && point.1.abs() < 1e9
}

/// The bounding box of points, grown by a margin.
fn around(points: impl Iterator<Item = Point>, margin: f64) -> Rect {
    let start = (f64::INFINITY, f64::NEG_INFINITY);
    let (xs, ys) = points.fold((start, start), |(xs, ys), (x, y)| {
        ((xs.0.min(x), xs.1.max(x)), (ys.0.min(y), ys.1.max(y)))
    });
    Rect::new(xs.0 - margin, ys.0 - margin, xs.1 - xs.0 + 2.0 * margin, ys.1 - ys.0 + 2.0 * margin)
}

/// The distance between a point and a segment.
fn distance(p: Point, a: Point, b: Point) -> f64 {
    let (dx, dy) = (b.0 - a.0, b.1 - a.1);
    let length2 = dx * dx + dy * dy;
    let share = if length2 > 0.0 {
        (((p.0 - a.0) * dx + (p.1 - a.1) * dy) / length2).clamp(0.0, 1.0)
    } else {
        0.0
    };
    (p.0 - a.0 - share * dx).hypot(p.1 - a.1 - share * dy)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn red(canvas: &Canvas, x: usize, y: usize) -> u8 {
        canvas.pixel(x, y).unwrap().r
    }

    #[test]
    fn a_line_along_pixel_centres_is_exact() {
        let mut canvas = Canvas::new(8, 3, Color::WHITE);
        canvas.line((1.5, 1.5), (6.5, 1.5), 1.0, Color::BLACK);
        let rows: Vec<Vec<u8>> =
            (0..3).map(|y| (0..8).map(|x| red(&canvas, x, y)).collect()).collect();
        assert_eq!(rows[0], [255; 8]);
        assert_eq!(rows[1], [255, 0, 0, 0, 0, 0, 0, 255]);
        assert_eq!(rows[2], [255; 8]);
    }

    #[test]
    fn a_line_between_pixels_covers_half_of_each() {
        let mut canvas = Canvas::new(8, 4, Color::WHITE);
        canvas.line((-5.0, 2.0), (15.0, 2.0), 1.0, Color::BLACK);
        let column: Vec<u8> = (0..4).map(|y| red(&canvas, 4, y)).collect();
        assert_eq!(column, [255, 128, 128, 255]);
    }

    #[test]
    fn a_transparent_line_is_even_where_it_crosses_itself() {
        let mut canvas = Canvas::new(9, 9, Color::WHITE);
        let cross = [(1.5, 4.5), (7.5, 4.5), (4.5, 4.5), (4.5, 1.5), (4.5, 7.5)];
        canvas.polyline(&cross, 1.0, Color::BLACK.with_alpha(0.5));
        assert_eq!(red(&canvas, 4, 4), 128);
        assert_eq!(red(&canvas, 4, 6), 128);
        assert_eq!(red(&canvas, 6, 4), 128);
    }

    #[test]
    fn a_polygon_is_filled_in_either_direction() {
        let square = [(1.0, 1.0), (4.0, 1.0), (4.0, 3.0), (1.0, 3.0)];
        let mut turned = square;
        turned.reverse();
        for outline in [square, turned] {
            let mut canvas = Canvas::new(5, 4, Color::WHITE);
            canvas.polygon(&outline, Color::BLACK);
            let dark = (0..20).filter(|i| red(&canvas, i % 5, i / 5) == 0).count();
            assert_eq!(dark, 6);
        }
    }

    #[test]
    fn an_arrow_points_to_its_end() {
        let mut canvas = Canvas::new(40, 21, Color::WHITE);
        canvas.arrow((2.0, 10.0), (38.0, 10.0), 2.0, Color::BLACK);
        let width = |x: usize| (0..21).filter(|y| red(&canvas, x, *y) < 128).count();
        assert!(width(31) > width(35), "the head narrows");
        assert!(width(31) > width(10), "the head is wider than the shaft");
        assert_eq!(width(10), 2);
        assert_eq!(width(39), 0);
    }
}
