//! Chooses the rows of a long table that a page embeds: a browser cannot show a million rows.

/// The most rows of one table that a page holds.
pub const N_ROWS_MAX: usize = 20_000;

/// The numbers of the rows to keep, ascending. If there are more than `n_max`, the `telling` rows
/// come first, up to half of `n_max`; the rest are other rows, evenly spaced.
pub fn kept(n_rows: usize, n_max: usize, telling: impl IntoIterator<Item = usize>) -> Vec<usize> {
    if n_rows <= n_max {
        return (0..n_rows).collect();
    }
    let mut is_kept = vec![false; n_rows];
    let mut n_kept = 0;
    for row in telling {
        if n_kept >= n_max / 2 {
            break;
        }
        if let Some(is_kept) = is_kept.get_mut(row)
            && !std::mem::replace(is_kept, true)
        {
            n_kept += 1;
        }
    }
    let (n_others, n_others_kept) = (n_rows - n_kept, n_max - n_kept);
    let (mut other, mut n_done) = (0, 0);
    (0..n_rows)
        .filter(|&row| {
            if is_kept[row] {
                return true;
            }
            let is_next = n_done < n_others_kept && other == n_done * n_others / n_others_kept;
            n_done += usize::from(is_next);
            other += 1;
            is_next
        })
        .collect()
}

/// The places of the `n_max` greatest of these values, greatest first; of equal ones the first.
pub fn greatest(values: &[f64], n_max: usize) -> Vec<usize> {
    let order = |&a: &u32, &b: &u32| {
        let descending = values[b as usize].total_cmp(&values[a as usize]);
        descending.then(a.cmp(&b))
    };
    let mut places: Vec<u32> = (0..values.len() as u32).collect();
    if n_max < places.len() {
        places.select_nth_unstable_by(n_max, order);
        places.truncate(n_max);
    }
    places.sort_unstable_by(order);
    places.into_iter().map(|place| place as usize).collect()
}

#[cfg(test)]
mod tests {
    use super::{greatest, kept};

    #[test]
    fn few_rows_are_all_kept() {
        assert_eq!(kept(3, 3, [2]), [0, 1, 2]);
        assert_eq!(kept(0, 3, []), [0usize; 0]);
    }

    #[test]
    fn telling_rows_come_first_and_leave_room() {
        let rows = kept(1000, 10, (990..1000).rev().chain([5]));
        assert_eq!(rows.len(), 10);
        assert!((995..1000).all(|row| rows.contains(&row)), "{rows:?}");
        assert_eq!(rows[0], 0, "the others are spread from the first on: {rows:?}");
        assert!(rows.windows(2).all(|pair| pair[0] < pair[1]));
        // A repeated row counts once, and a row out of range is ignored.
        assert_eq!(kept(100, 4, [7, 7, 1000, 9]).len(), 4);
    }

    #[test]
    fn the_greatest_come_first() {
        let values = [3.0, 9.0, 1.0, 9.0, 4.0];
        assert_eq!(greatest(&values, 3), [1, 3, 4]);
        assert_eq!(greatest(&values, 9), [1, 3, 4, 0, 2]);
        assert_eq!(greatest(&[], 3), [0usize; 0]);
    }
}
