//! Images: a pixel grid drawn into a rectangle of the canvas.

use super::{Canvas, Color, Rect};

impl Canvas {
    /// Draws an image of `w` × `h` pixels into a rectangle. Enlarged, every image pixel is a sharp
    /// rectangle; reduced, a canvas pixel is the mean of the image pixels it covers. A transparent
    /// image pixel leaves the canvas unchanged.
    pub fn image(&mut self, rect: Rect, w: usize, h: usize, color: impl Fn(usize, usize) -> Color) {
        if w == 0 || h == 0 || !(rect.w > 0.0 && rect.h > 0.0) {
            return;
        }
        let (xs, ys) = self.reach(rect);
        let across: Vec<Vec<(usize, f64)>> =
            xs.clone().map(|x| sources(x, rect.x, rect.w, w)).collect();
        for y in ys {
            let down = sources(y, rect.y, rect.h, h);
            for (x, across) in xs.clone().zip(&across) {
                if let ([(sx, 1.0)], [(sy, 1.0)]) = (across.as_slice(), down.as_slice()) {
                    self.blend(x, y, color(*sx, *sy), 1.0);
                    continue;
                }
                let (mut sum, mut alpha) = ([0.0; 3], 0.0);
                for (sy, share_y) in &down {
                    for (sx, share_x) in across {
                        let pixel = color(*sx, *sy);
                        let share = share_x * share_y * pixel.alpha;
                        alpha += share;
                        for (sum, channel) in sum.iter_mut().zip(pixel.channels()) {
                            *sum += share * f64::from(channel);
                        }
                    }
                }
                if alpha > 0.0 {
                    let [r, g, b] = sum.map(|v| (v / alpha).round() as u8);
                    self.blend(x, y, Color::rgb(r, g, b), alpha);
                }
            }
        }
    }
}

/// The image pixels that a canvas pixel shows along one axis, each with its share. In an enlarged
/// image this is the one pixel under the centre.
fn sources(at: usize, start: f64, length: f64, n: usize) -> Vec<(usize, f64)> {
    let per_px = n as f64 / length;
    let place = |v: f64| ((v - start) * per_px).clamp(0.0, n as f64);
    if per_px <= 1.0 {
        let centre = (place(at as f64 + 0.5) as usize).min(n - 1);
        return vec![(centre, 1.0)];
    }
    let (from, to) = (place(at as f64), place(at as f64 + 1.0));
    let last = (to.ceil() as usize).min(n);
    (from as usize..last)
        .map(|i| {
            let part = to.min(i as f64 + 1.0) - from.max(i as f64);
            (i, part / per_px)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reds(canvas: &Canvas, y: usize) -> Vec<u8> {
        (0..canvas.w_px()).map(|x| canvas.pixel(x, y).unwrap().r).collect()
    }

    #[test]
    fn enlarged_pixels_are_sharp_squares() {
        let mut canvas = Canvas::new(8, 4, Color::WHITE);
        let checks = |x: usize, y: usize| {
            if (x + y).is_multiple_of(2) { Color::BLACK } else { Color::rgb(100, 0, 0) }
        };
        canvas.image(Rect::new(1.0, 0.0, 6.0, 4.0), 3, 2, checks);
        assert_eq!(reds(&canvas, 0), [255, 0, 0, 100, 100, 0, 0, 255]);
        assert_eq!(reds(&canvas, 3), [255, 100, 100, 0, 0, 100, 100, 255]);
    }

    #[test]
    fn reduced_pixels_are_means() {
        let mut canvas = Canvas::new(3, 1, Color::WHITE);
        let steps = [0, 60, 120, 180, 240, 30];
        canvas.image(Rect::new(0.0, 0.0, 3.0, 1.0), 6, 2, |x, _| Color::rgb(steps[x], 0, 0));
        assert_eq!(reds(&canvas, 0), [30, 150, 135]);
    }

    #[test]
    fn transparent_pixels_leave_the_canvas() {
        let mut canvas = Canvas::new(2, 1, Color::WHITE);
        canvas.image(Rect::new(0.0, 0.0, 2.0, 1.0), 4, 1, |x, _| {
            Color::BLACK.with_alpha(f64::from(u8::from(x == 2)))
        });
        assert_eq!(reds(&canvas, 0), [255, 128]);
    }
}
