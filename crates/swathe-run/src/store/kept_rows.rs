//! Which rows of a long table a page holds: a browser cannot show a million of them.

/// The most rows of one table that a page holds.
pub const N_ROWS_MAX: usize = 20_000;

/// The numbers of the rows to keep, ascending: all if there are no more than `n_max`, otherwise
/// the telling ones, as far as they fill half of the room, and others evenly spaced between them.
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
    let others: Vec<usize> = (0..n_rows).filter(|&row| !is_kept[row]).collect();
    let n_others = n_max - n_kept;
    for k in 0..n_others {
        is_kept[others[k * others.len() / n_others]] = true;
    }
    (0..n_rows).filter(|&row| is_kept[row]).collect()
}

#[cfg(test)]
mod tests {
    use super::kept;

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
        assert_eq!(
            rows[0], 0,
            "the others are spread from the first on: {rows:?}"
        );
        assert!(rows.windows(2).all(|pair| pair[0] < pair[1]));
        // Twice the same, or one that is not there, counts once or not at all.
        assert_eq!(kept(100, 4, [7, 7, 1000, 9]).len(), 4);
    }
}
