//! Padding: the time that launches spent on padding, and shapes that would waste less.

use std::collections::BTreeSet;

use swathe::{BucketFigures, Padding, Report, Shape};

use super::turns::Turns;
use super::{Advice, Finding};

/// Shapes to pad problems to instead.
#[derive(Clone, Debug, PartialEq)]
pub struct BetterBuckets {
    /// The shapes, the smallest first.
    pub shapes: Vec<Shape>,
    /// The share of the volume that would be padding with them.
    pub waste: f64,
}

/// The cost of padding, assuming that time is proportional to volume.
pub(super) fn padding(report: &Report, turns: &Turns, shapes: &[Shape]) -> Option<Advice> {
    let padded = || report.buckets.iter().filter(|bucket| bucket.waste() > 0.0);
    let lost_ms = |bucket: &BucketFigures| bucket.solve_ms * bucket.waste();
    let worst = padded().max_by(|a, b| lost_ms(a).total_cmp(&lost_ms(b)))?;
    let launched: f64 = padded().map(|bucket| bucket.volume_launched as f64).sum();
    let real: f64 = padded().map(|bucket| bucket.volume_real as f64).sum();
    let waste_total = 1.0 - real / launched;
    let n_buckets = padded().map(|bucket| bucket.shape).collect::<BTreeSet<_>>().len();
    Some(Advice {
        cost_ms: padded().map(lost_ms).sum::<f64>() / turns.n_turns.max(1) as f64,
        finding: Finding::Padding {
            device: worst.device,
            class_name: worst.class_name.clone(),
            shape: worst.shape,
            waste: worst.waste(),
            waste_total,
            better: better(shapes, n_buckets, waste_total),
        },
    })
}

/// The fewest shapes that halve the waste, or else the best set with the most shapes allowed;
/// `None` if that saves too little.
fn better(shapes: &[Shape], n_buckets: usize, waste_now: f64) -> Option<BetterBuckets> {
    const N_BUCKETS_MAX: usize = 16;
    const SAVED_MIN: f64 = 0.05;
    let problems: Vec<(usize, u32, Shape)> =
        shapes.iter().enumerate().map(|(index, &shape)| (index, 0, shape)).collect();
    if problems.is_empty() {
        return None;
    }
    let mut best = None;
    for n_buckets_max in n_buckets.min(N_BUCKETS_MAX)..=N_BUCKETS_MAX {
        let (buckets, _) = swathe::bucket(&problems, &Padding::Auto { n_buckets_max });
        let waste = swathe::waste(&buckets);
        let mut shapes: Vec<Shape> = buckets.iter().map(|bucket| bucket.shape).collect();
        shapes.sort_by_key(Shape::volume);
        best = Some(BetterBuckets { shapes, waste });
        if waste <= 0.5 * waste_now {
            break;
        }
    }
    best.filter(|best| waste_now - best.waste >= SAVED_MIN)
}
