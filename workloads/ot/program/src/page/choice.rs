//! Which pairs get a view, and which rows of a long table are shown.

use std::collections::BTreeSet;

/// The most views of a run.
pub(crate) const N_VIEWS_MAX: u64 = 48;

/// Whether the pair at this row has a view. In a small run all pairs have one; in a large run,
/// evenly spaced pairs from the first to the last. The choice depends only on the row and the
/// number of rows, so that a resumed or sharded run makes the same choice.
pub(crate) fn has_view(row: u64, n_rows: u64) -> bool {
    if n_rows <= N_VIEWS_MAX {
        return row < n_rows;
    }
    let (n_steps, last) = (u128::from(N_VIEWS_MAX - 1), u128::from(n_rows - 1));
    let step = (u128::from(row) * n_steps).div_ceil(last);
    step <= n_steps && step * last / n_steps == u128::from(row)
}

/// The values, row by row, of a quantity whose extremes must be shown.
pub(super) type Key = Vec<f64>;

/// The rows to show of a table, ascending. Of a table with more than `n_max` rows: those in `must`,
/// failed rows, the highest rows by each key, and evenly spaced rows of the rest.
pub(super) fn shown(
    n_max: usize,
    must: &[u64],
    failed: &[u64],
    solved: &[u64],
    keys: &[Key],
) -> BTreeSet<u64> {
    if failed.len() + solved.len() <= n_max {
        return failed.iter().chain(solved).copied().collect();
    }
    let mut shown: BTreeSet<u64> = must.iter().copied().take(n_max).collect();
    let room = |shown: &BTreeSet<u64>| n_max - shown.len();
    let n_failed = failed.len().min(n_max / 2).min(room(&shown));
    shown.extend(evenly(failed, n_failed));
    for key in keys {
        let mut order: Vec<usize> = (0..solved.len()).filter(|&at| !key[at].is_nan()).collect();
        let n_highest = (n_max / 40).min(order.len());
        if n_highest > 0 {
            order.select_nth_unstable_by(n_highest - 1, |&a, &b| key[b].total_cmp(&key[a]));
        }
        for at in &order[..n_highest] {
            if room(&shown) > 0 {
                shown.insert(solved[*at]);
            }
        }
    }
    let rest: Vec<u64> =
        failed.iter().chain(solved).copied().filter(|row| !shown.contains(row)).collect();
    let mut rest_sorted = rest;
    rest_sorted.sort_unstable();
    let n_rest = room(&shown).min(rest_sorted.len());
    shown.extend(evenly(&rest_sorted, n_rest));
    shown
}

/// `n` evenly spaced rows.
fn evenly(rows: &[u64], n: usize) -> impl Iterator<Item = u64> {
    (0..n).map(move |k| rows[(k as u128 * rows.len() as u128 / n as u128) as usize])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_are_evenly_spaced_from_first_to_last() {
        for n_rows in (1..400).chain([960, 4_999, 100_000]) {
            let rows: Vec<u64> = (0..n_rows).filter(|&row| has_view(row, n_rows)).collect();
            assert_eq!(rows.len() as u64, n_rows.min(N_VIEWS_MAX), "{n_rows}");
            assert_eq!((rows[0], rows[rows.len() - 1]), (0, n_rows - 1));
            let gaps = || rows.windows(2).map(|w| w[1] - w[0]);
            let spread = gaps().max().unwrap_or(0) - gaps().min().unwrap_or(0);
            assert!(spread <= 1, "{n_rows}: {rows:?}");
        }
        assert!(!has_view(0, 0));
        assert!(!has_view(1000, 1000), "beyond the last");
    }

    #[test]
    fn short_tables_are_shown_whole() {
        let solved: Vec<u64> = (0..10).filter(|row| *row != 4).collect();
        let shown = shown(10, &[2], &[4], &solved, &[vec![0.0; 9]]);
        assert!(shown.into_iter().eq(0..10));
    }

    #[test]
    fn long_tables_keep_failures_extremes_and_views() {
        let failed: Vec<u64> = (0..100_000).step_by(1000).collect();
        let solved: Vec<u64> = (0..100_000).filter(|row| row % 1000 != 0).collect();
        // The highest values are at arbitrary rows; NaN is not an extreme.
        let mut cost = vec![1.0; solved.len()];
        (cost[777], cost[50_001], cost[3]) = (9.0, 8.0, f64::NAN);
        let must: Vec<u64> = (0..100_000).filter(|&row| has_view(row, 100_000)).collect();
        let shown = shown(2000, &must, &failed, &solved, &[cost]);
        assert_eq!(shown.len(), 2000);
        assert!(failed.iter().chain(&must).all(|row| shown.contains(row)));
        assert!(shown.contains(&solved[777]) && shown.contains(&solved[50_001]));
        let halves = shown.iter().filter(|row| **row < 50_000).count();
        assert!((900..1100).contains(&halves), "{halves}");
    }

    #[test]
    fn failures_do_not_crowd_out_everything_else() {
        let failed: Vec<u64> = (0..50_000).collect();
        let solved: Vec<u64> = (50_000..100_000).collect();
        let shown = shown(1000, &[], &failed, &solved, &[]);
        assert_eq!(shown.len(), 1000);
        let n_failed = shown.iter().filter(|row| **row < 50_000).count();
        assert!((500..900).contains(&n_failed), "{n_failed}");
    }
}
