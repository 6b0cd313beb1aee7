//! The background of frames: light on pixels where nothing is. It is mass to transport, and since
//! it lies on most pixels, it hides how far objects move.

use super::live::LiveBuilder;
use super::{FrameError, LiveFrame};

/// What is taken off every pixel of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Background {
    /// Nothing.
    #[default]
    None,
    /// This much; pixels below it become 0.
    Level(f64),
    /// The median of the frame. Pixels up to three standard deviations of the noise above it become
    /// 0 too; the noise is estimated by the median distance from the median.
    Auto,
}

/// How many standard deviations of the noise count as background.
const NOISE_FACTOR: f64 = 3.0;
/// The standard deviation of normal noise, for a median distance of 1.
const STD_PER_MEDIAN_DISTANCE: f64 = 1.4826;

impl Background {
    /// The frame without its background.
    pub(super) fn removed_from(self, frame: LiveFrame) -> Result<LiveFrame, FrameError> {
        let (level, noise) = match self {
            Background::None => return Ok(frame),
            Background::Level(level) => (level, 0.0),
            Background::Auto => estimate(&frame),
        };
        let Some(live) = frame.live.filter(|_| level + noise > 0.0) else {
            return Ok(frame);
        };
        let kept = |v: &f64| if *v > level + noise { v - level } else { 0.0 };
        let w_px = frame.shape.w_px;
        let mut builder = LiveBuilder::new(frame.shape, None)?;
        let dead = vec![0.0; w_px];
        let mut row = dead.clone();
        (0..live.y0_px).for_each(|_| builder.push(&dead));
        for pixels in frame.density.chunks_exact(live.shape.w_px) {
            let place = &mut row[live.x0_px..live.x0_px + pixels.len()];
            for (out, v) in place.iter_mut().zip(pixels) {
                *out = kept(v);
            }
            builder.push(&row);
        }
        (live.y0_px + live.shape.h_px..frame.shape.h_px).for_each(|_| builder.push(&dead));
        let removed = builder.finish()?;
        Ok(LiveFrame { um_per_px: frame.um_per_px, ..removed })
    }
}

/// Level and noise of the background: both are 0 if most pixels are.
fn estimate(frame: &LiveFrame) -> (f64, f64) {
    let n_outside = frame.shape.n_px() - frame.density.len();
    let mut values = frame.density.clone();
    let level = median_with(&mut values, n_outside, 0.0);
    for v in &mut values {
        *v = (*v - level).abs();
    }
    let distance = median_with(&mut values, n_outside, level);
    (level, NOISE_FACTOR * STD_PER_MEDIAN_DISTANCE * distance)
}

/// The median of these values and `n_more` times another one.
fn median_with(values: &mut [f64], n_more: usize, more: f64) -> f64 {
    let middle = (values.len() + n_more) / 2;
    let n_below = values.iter().filter(|v| **v < more).count();
    // The others take the places from `n_below` on.
    match middle {
        at if at < n_below => *values.select_nth_unstable_by(at, f64::total_cmp).1,
        at if at < n_below + n_more => more,
        at => *values.select_nth_unstable_by(at - n_more, f64::total_cmp).1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use swathe_ot::Shape;

    fn frame(shape: Shape, pixels: &[f64]) -> LiveFrame {
        let mut builder = LiveBuilder::new(shape, None).unwrap();
        builder.push(pixels);
        builder.finish().unwrap()
    }

    #[test]
    fn the_median_counts_pixels_outside_of_the_box() {
        for (values, n_more, more) in [
            (vec![3.0, 1.0, 2.0], 0, 0.0),
            (vec![3.0, 1.0, 2.0], 4, 0.0),
            (vec![3.0, 1.0, 2.0], 2, 5.0),
            (vec![0.0, 7.0, 2.0, 9.0], 3, 4.0),
        ] {
            let mut all = values.clone();
            all.extend(std::iter::repeat_n(more, n_more));
            all.sort_by(f64::total_cmp);
            let median = median_with(&mut values.clone(), n_more, more);
            assert_eq!(median, all[all.len() / 2], "{values:?} {n_more}");
        }
    }

    #[test]
    fn a_noisy_background_is_removed_and_an_object_stays() {
        let shape = Shape::new(20, 30);
        let mut pixels: Vec<f64> = (0..600).map(|k| 10.0 + ((k * 7919) % 5) as f64).collect();
        for y in 5..9 {
            pixels[y * 30 + 10..y * 30 + 16].fill(500.0);
        }
        let kept = Background::Auto.removed_from(frame(shape, &pixels)).unwrap();
        let live = kept.live.unwrap();
        assert_eq!((live.y0_px, live.x0_px), (5, 10));
        assert_eq!(live.shape, Shape::new(4, 6));
        assert!(kept.density.iter().all(|v| *v == 488.0), "{:?}", kept.density);
        let less = Background::Level(12.5).removed_from(frame(shape, &pixels));
        let less = less.unwrap().whole().density;
        assert_eq!((less[5 * 30 + 10], less[0]), (487.5, 0.0));
        assert!(less.contains(&0.5) && less.contains(&1.5));
    }

    #[test]
    fn a_frame_that_is_mostly_empty_stays_as_it_is() {
        let mut pixels = vec![0.0; 600];
        pixels[35..41].fill(2.0);
        let before = frame(Shape::new(20, 30), &pixels);
        assert_eq!(Background::Auto.removed_from(before.clone()).unwrap(), before);
        assert_eq!(Background::None.removed_from(before.clone()).unwrap(), before);
        let nothing = Background::Level(2.0).removed_from(before).unwrap();
        assert_eq!(nothing.live, None);
    }
}
