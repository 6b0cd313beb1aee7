//! Buckets: shapes that problems are padded to, so that they can share a launch.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use crate::Shape;

/// How shapes are padded for launches that need equal shapes. On the CPU shapes stay exact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Padding {
    /// No padding: only equal shapes share a launch.
    Exact,
    /// Every extent is rounded up to a multiple of this.
    Multiple(u32),
    /// Each shape is padded to the smallest of these that fits.
    Buckets(Vec<Shape>),
    /// The engine chooses the shapes so that the padded volume of the problems is least.
    Auto {
        /// The maximum number of shapes for each class.
        n_buckets_max: usize,
    },
}

impl Default for Padding {
    fn default() -> Padding {
        Padding::Auto { n_buckets_max: 8 }
    }
}

/// Problems that are padded to the same shape.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bucket {
    /// The shape that the problems are padded to.
    pub shape: Shape,
    /// The class of the problems: problems of different classes never share a bucket.
    pub class: u32,
    /// The numbers of the problems, ascending.
    pub problems: Vec<usize>,
    /// The sum of the problems' own volumes.
    pub volume_real: u64,
}

impl Bucket {
    /// The sum of the problems' padded volumes.
    pub fn volume_padded(&self) -> u64 {
        self.shape.volume().saturating_mul(self.problems.len() as u64)
    }
}

/// The share of a set of buckets' volume that is padding, 0 to 1.
pub fn waste(buckets: &[Bucket]) -> f64 {
    // Volumes of absurd shapes are near the largest integer, so their sum would overflow.
    let volumes = buckets.iter().map(|bucket| bucket.volume_padded() as f64);
    let padded: f64 = volumes.sum();
    let real: f64 = buckets.iter().map(|bucket| bucket.volume_real as f64).sum();
    if padded == 0.0 { 0.0 } else { 1.0 - real / padded }
}

/// Sorts problems (number, class, shape) into buckets. The second part of the result lists the
/// problems that fit in no bucket of an explicit list.
///
/// ```
/// use swathe::{Padding, Shape, bucket};
/// let shapes = ["30x60", "64x100", "64x128"].map(|text| text.parse::<Shape>().unwrap());
/// let problems: Vec<_> = shapes.iter().enumerate().map(|(k, &shape)| (k, 0, shape)).collect();
/// let (buckets, unfit) = bucket(&problems, &Padding::Auto { n_buckets_max: 2 });
/// assert_eq!(buckets.iter().map(|b| b.shape.to_string()).collect::<Vec<_>>(), ["30x60", "64x128"]);
/// assert!(unfit.is_empty());
/// ```
pub fn bucket(problems: &[(usize, u32, Shape)], padding: &Padding) -> (Vec<Bucket>, Vec<usize>) {
    let mut classes: BTreeMap<(u32, usize), Vec<(usize, Shape)>> = BTreeMap::new();
    for &(index, class, shape) in problems {
        // Shapes with different numbers of axes never share a bucket either.
        classes.entry((class, shape.extents().len())).or_default().push((index, shape));
    }
    let mut buckets = Vec::new();
    let mut unfit = Vec::new();
    for ((class, _), members) in classes {
        let chosen = match padding {
            Padding::Exact | Padding::Multiple(_) => Vec::new(),
            Padding::Buckets(shapes) => by_volume(shapes.clone()),
            Padding::Auto { n_buckets_max } => {
                by_volume(least_padded(&members, (*n_buckets_max).max(1)))
            }
        };
        let mut by_shape: BTreeMap<Shape, Bucket> = BTreeMap::new();
        for (index, shape) in members {
            let padded = match padding {
                Padding::Exact => Some(shape),
                Padding::Multiple(step) => Some(shape.round_up(*step)),
                Padding::Buckets(_) | Padding::Auto { .. } => {
                    chosen.iter().copied().find(|bucket| shape.fits_in(bucket))
                }
            };
            let Some(padded) = padded else {
                unfit.push(index);
                continue;
            };
            let bucket = by_shape.entry(padded).or_insert_with(|| Bucket {
                shape: padded,
                class,
                problems: Vec::new(),
                volume_real: 0,
            });
            bucket.problems.push(index);
            bucket.volume_real = bucket.volume_real.saturating_add(shape.volume());
        }
        buckets.extend(by_shape.into_values());
    }
    (buckets, unfit)
}

fn by_volume(mut shapes: Vec<Shape>) -> Vec<Shape> {
    shapes.sort_by_key(|shape| (shape.volume(), *shape));
    shapes
}

/// A distinct shape and how many problems have it.
type Counted = (Shape, u64);

/// At most `n_max` shapes, such that padding every problem to the smallest shape that fits takes
/// the least volume. The result is optimal where the shapes form a chain (each fits in the next).
/// Other shapes are merged, which approximates the optimum.
fn least_padded(members: &[(usize, Shape)], n_max: usize) -> Vec<Shape> {
    let mut counts: HashMap<Shape, u64> = HashMap::new();
    for &(_, shape) in members {
        *counts.entry(shape).or_default() += 1;
    }
    let mut counted: Vec<Counted> = counts.into_iter().collect();
    counted.sort_by_key(|&(shape, _)| (shape.volume(), shape));
    if counted.len() <= n_max {
        return counted.into_iter().map(|(shape, _)| shape).collect();
    }
    if counted.windows(2).all(|pair| pair[0].0.fits_in(&pair[1].0)) {
        return least_padded_chain(&counted, n_max);
    }
    let coarse = coarsen(&counted);
    let powers = merge_counts(counted.iter().map(|&(shape, n)| (shape.bin(), n)));
    [coarse, powers]
        .into_iter()
        .map(|start| refine(merge_down(start, n_max), &counted))
        .min_by_key(|shapes| padded_volume(shapes, &counted))
        .unwrap_or_default()
}

/// The exact optimum for shapes that fit in one another, by dynamic programming: the best partition
/// into runs, each padded to its last shape. The cost is Monge, so the best cut point only moves
/// right and a layer takes O(m log m).
fn least_padded_chain(counted: &[Counted], n_max: usize) -> Vec<Shape> {
    let n = counted.len();
    let mut before = vec![0u64; n + 1];
    for (k, &(_, count)) in counted.iter().enumerate() {
        before[k + 1] = before[k] + count;
    }
    let run_cost = |from: usize, to: usize| -> u128 {
        u128::from(counted[to - 1].0.volume()) * u128::from(before[to] - before[from])
    };
    let mut best: Vec<u128> = (0..=n).map(|to| if to == 0 { 0 } else { run_cost(0, to) }).collect();
    let mut cuts: Vec<Vec<usize>> = Vec::new();
    for _ in 1..n_max {
        let mut next = vec![u128::MAX; n + 1];
        let mut cut = vec![0usize; n + 1];
        next[0] = 0;
        // (targets from..=to, cut points low..=high)
        let mut spans = vec![(1usize, n, 0usize, n - 1)];
        while let Some((from, to, low, high)) = spans.pop() {
            if from > to {
                continue;
            }
            let middle = from.midpoint(to);
            let (cost, at) = (low..=high.min(middle - 1))
                .map(|at| (best[at] + run_cost(at, middle), at))
                .min()
                .unwrap_or((u128::MAX, low));
            next[middle] = cost;
            cut[middle] = at;
            spans.push((from, middle - 1, low, at));
            spans.push((middle + 1, to, at, high));
        }
        best = next;
        cuts.push(cut);
    }
    let mut shapes = Vec::new();
    let mut to = n;
    for cut in cuts.iter().rev() {
        if to == 0 {
            break;
        }
        shapes.push(counted[to - 1].0);
        to = cut[to];
    }
    if to > 0 {
        shapes.push(counted[to - 1].0);
    }
    shapes
}

/// Rounds thousands of distinct shapes up to a grid of quantiles, because merging compares all
/// pairs.
fn coarsen(counted: &[Counted]) -> Vec<Counted> {
    const N_SHAPES_MAX: usize = 192;
    if counted.len() <= N_SHAPES_MAX {
        return counted.to_vec();
    }
    let n_axes = counted[0].0.extents().len();
    let n_steps = (N_SHAPES_MAX as f64).powf(1.0 / n_axes as f64).floor().max(2.0) as usize;
    let steps: Vec<Vec<u32>> = (0..n_axes)
        .map(|axis| {
            let mut extents: Vec<u32> =
                counted.iter().map(|(shape, _)| shape.extents()[axis]).collect();
            extents.sort_unstable();
            let mut steps: Vec<u32> = (1..=n_steps)
                .map(|step| extents[(step * extents.len()).div_ceil(n_steps) - 1])
                .collect();
            steps.dedup();
            steps
        })
        .collect();
    merge_counts(counted.iter().map(|&(shape, n)| {
        let extents: Vec<u32> = shape
            .extents()
            .iter()
            .zip(&steps)
            .map(|(extent, steps)| steps[steps.partition_point(|step| step < extent)])
            .collect();
        (Shape::new(&extents), n)
    }))
}

fn merge_counts(counted: impl Iterator<Item = Counted>) -> Vec<Counted> {
    let mut counts: BTreeMap<Shape, u64> = BTreeMap::new();
    for (shape, n) in counted {
        *counts.entry(shape).or_default() += n;
    }
    counts.into_iter().collect()
}

/// Joins the two shapes whose union adds the least volume, until at most `n_max` are left.
fn merge_down(mut clusters: Vec<Counted>, n_max: usize) -> Vec<Shape> {
    let volume = |(shape, n): &Counted| u128::from(shape.volume()) * u128::from(*n);
    let added = |a: &Counted, b: &Counted| {
        let joined = (a.0.union(&b.0), a.1 + b.1);
        volume(&joined) - volume(a).saturating_add(volume(b)).min(volume(&joined))
    };
    while clusters.len() > n_max {
        let pairs = (1..clusters.len()).flat_map(|b| (0..b).map(move |a| (a, b)));
        let Some((_, a, b)) = pairs.map(|(a, b)| (added(&clusters[a], &clusters[b]), a, b)).min()
        else {
            break;
        };
        let joined = (clusters[a].0.union(&clusters[b].0), clusters[a].1 + clusters[b].1);
        clusters.swap_remove(b);
        clusters[a] = joined;
    }
    clusters.into_iter().map(|(shape, _)| shape).collect()
}

/// Assigns every shape to the smallest bucket that fits it and shrinks each bucket to the union of
/// its shapes, until nothing changes.
fn refine(mut shapes: Vec<Shape>, counted: &[Counted]) -> Vec<Shape> {
    const N_ROUNDS_MAX: usize = 20;
    for _ in 0..N_ROUNDS_MAX {
        shapes = by_volume(shapes);
        let mut held: Vec<Option<Shape>> = vec![None; shapes.len()];
        for (shape, _) in counted {
            let at = shapes.iter().position(|bucket| shape.fits_in(bucket));
            if let Some(held) = at.map(|at| &mut held[at]) {
                *held = Some(held.map_or(*shape, |held| held.union(shape)));
            }
        }
        let shrunk: Vec<Shape> = held.into_iter().flatten().collect();
        if shrunk == shapes {
            break;
        }
        shapes = shrunk;
    }
    shapes
}

fn padded_volume(shapes: &[Shape], counted: &[Counted]) -> u128 {
    let shapes = by_volume(shapes.to_vec());
    counted
        .iter()
        .map(|(shape, n)| {
            let bucket = shapes.iter().find(|bucket| shape.fits_in(bucket));
            bucket.map_or(u128::MAX / 2, |bucket| u128::from(bucket.volume()) * u128::from(*n))
        })
        .fold(0u128, u128::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::mix;

    /// `n` log-uniform numbers from `low` to `high`.
    fn log_uniform(n: usize, low: f64, high: f64, seed: u64) -> Vec<u32> {
        (0..n as u64)
            .map(|k| {
                let u = (mix(seed ^ mix(k)) >> 11) as f64 / (1u64 << 53) as f64;
                (low * (high / low).powf(u)).round() as u32
            })
            .collect()
    }

    fn numbered(shapes: impl IntoIterator<Item = Shape>) -> Vec<(usize, u32, Shape)> {
        shapes.into_iter().enumerate().map(|(k, shape)| (k, 0, shape)).collect()
    }

    /// The number of distinct power-of-two shapes, and the waste of padding to them.
    fn powers_of_two(problems: &[(usize, u32, Shape)]) -> (usize, f64) {
        let mut shapes: Vec<Shape> = problems.iter().map(|(_, _, shape)| shape.bin()).collect();
        shapes.sort();
        shapes.dedup();
        let n = shapes.len();
        let (buckets, unfit) = bucket(problems, &Padding::Buckets(shapes));
        assert!(unfit.is_empty());
        (n, waste(&buckets))
    }

    #[test]
    fn auto_wastes_little_on_log_uniform_sizes() {
        for seed in 0..20 {
            let problems = numbered(
                log_uniform(1000, 16.0, 128.0, seed).into_iter().map(|n| Shape::new(&[n])),
            );
            let (buckets, unfit) = bucket(&problems, &Padding::Auto { n_buckets_max: 8 });
            assert!(unfit.is_empty());
            assert!(buckets.len() <= 8);
            assert!(waste(&buckets) <= 0.12, "seed {seed}: {:.3}", waste(&buckets));
        }
    }

    #[test]
    fn auto_is_never_worse_than_powers_of_two() {
        for seed in 0..10 {
            for n_axes in 1..=3 {
                let axes: Vec<Vec<u32>> = (0..n_axes)
                    .map(|axis| log_uniform(600, 16.0, 128.0, seed * 10 + axis))
                    .collect();
                let problems =
                    numbered((0..600).map(|k| {
                        Shape::new(&axes.iter().map(|axis| axis[k]).collect::<Vec<u32>>())
                    }));
                let (n_powers, waste_of_powers) = powers_of_two(&problems);
                let (buckets, _) = bucket(&problems, &Padding::Auto { n_buckets_max: n_powers });
                assert!(buckets.len() <= n_powers);
                assert!(
                    waste(&buckets) <= waste_of_powers + 1e-12,
                    "seed {seed}, {n_axes} axes: {} against {waste_of_powers}",
                    waste(&buckets)
                );
            }
        }
    }

    #[test]
    fn the_chain_optimum_is_the_optimum() {
        // Brute force: all cuts of 9 sizes into 3 runs.
        let sizes = [3u32, 5, 6, 10, 11, 17, 20, 21, 40];
        let counts = [4u64, 1, 7, 2, 2, 9, 1, 3, 1];
        let counted: Vec<Counted> =
            sizes.iter().zip(counts).map(|(&n, count)| (Shape::new(&[n]), count)).collect();
        let mut best = u128::MAX;
        for a in 0..sizes.len() {
            for b in a..sizes.len() {
                let shapes = [a, b, sizes.len() - 1].map(|k| Shape::new(&[sizes[k]]));
                best = best.min(padded_volume(&shapes, &counted));
            }
        }
        assert_eq!(padded_volume(&least_padded_chain(&counted, 3), &counted), best);
    }

    #[test]
    fn everybody_is_in_one_bucket_that_fits() {
        let rows = log_uniform(3000, 1.0, 300.0, 1);
        let columns = log_uniform(3000, 1.0, 300.0, 2);
        let problems: Vec<(usize, u32, Shape)> = rows
            .iter()
            .zip(&columns)
            .enumerate()
            .map(|(k, (&h, &w))| (k, k as u32 % 3, Shape::new(&[h, w])))
            .collect();
        for padding in [
            Padding::Exact,
            Padding::Multiple(32),
            Padding::Buckets(vec![Shape::new(&[64, 64]), Shape::new(&[200, 300])]),
            Padding::Auto { n_buckets_max: 5 },
        ] {
            let (buckets, unfit) = bucket(&problems, &padding);
            let mut seen = unfit.clone();
            for bucket in &buckets {
                for &index in &bucket.problems {
                    let (_, class, shape) = problems[index];
                    assert!(shape.fits_in(&bucket.shape) && class == bucket.class);
                }
                seen.extend(&bucket.problems);
            }
            seen.sort_unstable();
            assert_eq!(seen, (0..problems.len()).collect::<Vec<_>>());
            let explicit = matches!(padding, Padding::Buckets(_));
            assert_eq!(unfit.iter().any(|&k| rows[k] > 200), explicit);
            assert_eq!(unfit.is_empty(), !explicit);
        }
    }
}
