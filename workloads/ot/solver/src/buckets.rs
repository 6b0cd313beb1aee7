//! Bucket shapes for a set of work grids.

use crate::shape::Shape;

/// Chooses at most `n_buckets_max` bucket shapes, smallest first, for work grids of these shapes.
/// Every grid fits in a bucket, and padding every grid to the smallest bucket that holds it takes
/// the least total volume. `work` holds the work shapes of a union crop
/// ([`place`](crate::place)); the result is for [`Crop::Bucketed`](crate::Crop::Bucketed).
///
/// ```
/// use swathe_ot::{Shape, auto_buckets};
/// let grids = [(30, 60), (31, 58), (64, 100), (64, 128)].map(|(h, w)| Shape::new(h, w));
/// assert_eq!(auto_buckets(&grids, 2), [Shape::new(31, 60), Shape::new(64, 128)]);
/// ```
pub fn auto_buckets(work: &[Shape], n_buckets_max: usize) -> Vec<Shape> {
    let grids: Vec<(usize, u32, swathe::Shape)> = work
        .iter()
        .enumerate()
        .map(|(index, shape)| {
            let extents = [shape.h_px as u32, shape.w_px as u32];
            (index, 0, swathe::Shape::new(&extents))
        })
        .collect();
    let (buckets, _) = swathe::bucket(&grids, &swathe::Padding::Auto { n_buckets_max });
    let mut shapes: Vec<Shape> = buckets
        .iter()
        .map(|bucket| {
            let extents = bucket.shape.extents();
            Shape::new(extents[0] as usize, extents[1] as usize)
        })
        .collect();
    shapes.sort_unstable_by_key(|shape| (shape.n_px(), shape.h_px));
    shapes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synth::Rng;

    #[test]
    fn every_grid_fits_and_little_is_padding() {
        let mut dice = Rng::new(5);
        let grids: Vec<Shape> = (0..2000)
            .map(|_| {
                let side = 16.0 * dice.between(0.0, 3.0).exp2();
                Shape::new(side as usize, 2 * side as usize)
            })
            .collect();
        let real: usize = grids.iter().map(|grid| grid.n_px()).sum();
        for (n_buckets_max, waste_max) in [(1, 0.9), (2, 0.55), (8, 0.17), (32, 0.05)] {
            let buckets = auto_buckets(&grids, n_buckets_max);
            assert!((1..=n_buckets_max).contains(&buckets.len()));
            let padded = grids.iter().map(|grid| {
                let fits = buckets.iter().find(|bucket| bucket.holds(*grid));
                fits.expect("every grid fits").n_px()
            });
            let waste = 1.0 - real as f64 / padded.sum::<usize>() as f64;
            assert!(waste < waste_max, "{n_buckets_max} buckets waste {waste}");
        }
    }

    #[test]
    fn no_grids_need_no_buckets() {
        assert!(auto_buckets(&[], 8).is_empty());
    }
}
