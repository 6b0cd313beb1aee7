//! How many steps of a series lie between the frames of a pair: more than one where frames are
//! missing.

use std::sync::Arc;

use arrow::array::UInt64Array;
use arrow::datatypes::DataType;
use swathe_run::store::record::Column;

use super::{CarriedColumn, NamedPair};

/// The name of the column.
const COLUMN: &str = "steps";

/// The column.
pub(super) fn steps_column() -> Column {
    let meaning = "steps of the series from the source frame to the target frame: more than --step where frames are missing between; the displacement is that of all of them";
    Column::new(COLUMN, meaning).of(DataType::UInt64, true)
}

/// The steps between the frames of each pair of a series; `None` where the frames do not say it.
#[derive(Debug)]
pub(super) struct Steps {
    of_pairs: Vec<Option<u64>>,
    /// Every frame forms a pair with the one this many places later.
    step: usize,
}

impl Steps {
    /// The steps of the pairs of all groups, from the position of each frame. One step is the
    /// smallest distance between neighbours in any group. Positions that were measured, such as
    /// times, need not be exact multiples of it.
    pub(super) fn of(groups: &[Vec<Option<f64>>], step: usize) -> Steps {
        let known = |group: &Vec<Option<f64>>| -> Option<Vec<f64>> {
            let places: Vec<f64> = group.iter().copied().collect::<Option<_>>()?;
            let ascends = places.windows(2).all(|two| two[0] < two[1]);
            (ascends && places.iter().all(|place| place.is_finite())).then_some(places)
        };
        let all: Vec<(usize, Option<Vec<f64>>)> =
            groups.iter().map(|group| (group.len(), known(group))).collect();
        let one_step = all
            .iter()
            .filter_map(|(_, places)| places.as_ref())
            .flat_map(|places| places.windows(2))
            .map(|two| two[1] - two[0])
            .fold(f64::INFINITY, f64::min);
        let mut of_pairs = Vec::new();
        for (n, places) in &all {
            match places {
                Some(places) => of_pairs.extend(places.windows(step + 1).map(|two| {
                    let n_steps = (two[step] - two[0]) / one_step;
                    Some(n_steps.round() as u64)
                })),
                None => of_pairs.extend(std::iter::repeat_n(None, n.saturating_sub(step))),
            }
        }
        Steps { of_pairs, step }
    }

    /// The column with the steps of all pairs, if any is known. Pairs beyond those of the series
    /// have none.
    pub(super) fn column(&self, n_pairs: usize) -> Option<CarriedColumn> {
        self.of_pairs.iter().flatten().next()?;
        let padded = self.of_pairs.iter().copied().chain(std::iter::repeat(None));
        Some(CarriedColumn {
            field: steps_column().field(),
            values: Arc::new(UInt64Array::from_iter(padded.take(n_pairs))),
        })
    }

    /// A note on pairs with more steps than were asked for. `what` says the places of frames.
    pub(super) fn note(&self, pairs: &[NamedPair], what: &str) -> Option<String> {
        let far: Vec<(usize, u64)> = self
            .of_pairs
            .iter()
            .enumerate()
            .filter_map(|(at, steps)| Some((at, (*steps)?)))
            .filter(|(_, steps)| *steps > self.step as u64)
            .collect();
        let (first, steps) = far.first()?;
        Some(format!(
            "{} of {} pairs are further apart by {what} than neighbours are, such as {} ({steps} steps): frames are missing between, and the displacement of such a pair is that of all its steps (see the column {COLUMN})",
            far.len(),
            self.of_pairs.len(),
            pairs[*first].id,
        ))
    }
}

/// The numbers by which names count: where all names are alike but for one number.
///
/// ```text
/// e1_t08.png, e1_t09.png, e1_t11.png  ->  8, 9, 11
/// ```
pub(super) fn counting_numbers(names: &[&str]) -> Vec<Option<f64>> {
    let unknown = || vec![None; names.len()];
    let parts: Vec<Vec<&str>> = names.iter().map(|name| split(name)).collect();
    let Some((first, others)) = parts.split_first() else {
        return unknown();
    };
    let mut counting = None;
    for (at, part) in first.iter().enumerate() {
        let differs = |other: &Vec<&str>| other.get(at) != Some(part);
        match others.iter().any(differs) {
            true if counting.is_some() => return unknown(),
            true => counting = Some(at),
            false => {}
        }
    }
    match counting {
        Some(at) if others.iter().all(|other| other.len() == first.len()) => {
            parts.iter().map(|parts| parts[at].parse::<u32>().ok().map(f64::from)).collect()
        }
        _ => unknown(),
    }
}

/// Runs of digits, and what is between them.
fn split(name: &str) -> Vec<&str> {
    let is_digit = |c: char| c.is_ascii_digit();
    let mut parts = Vec::new();
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c| is_digit(c) != is_digit(first));
        let (part, after) = rest.split_at(end.unwrap_or(rest.len()));
        parts.push(part);
        rest = after;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_frames_are_steps() {
        let check = |groups: &[&[f64]], step: usize, expected: &[u64]| {
            let groups: Vec<Vec<Option<f64>>> = groups
                .iter()
                .map(|group| group.iter().map(|place| Some(*place)).collect())
                .collect();
            let steps: Vec<u64> = Steps::of(&groups, step).of_pairs.into_iter().flatten().collect();
            assert_eq!(steps, expected, "{groups:?}");
        };
        check(&[&[0.0, 1.0, 3.0]], 1, &[1, 2]);
        check(&[&[0.0, 10.0, 20.0, 40.0]], 1, &[1, 1, 2]);
        check(&[&[0.0, 1.0, 3.0, 4.0]], 2, &[3, 3]);
        // Seconds as they were measured.
        check(&[&[0.0, 61.0, 120.0, 182.0]], 1, &[1, 1, 1]);
        check(&[&[0.0, 1.0], &[4.0, 6.0]], 1, &[1, 2]);
        // A group without an order of its own says nothing.
        check(&[&[3.0, 1.0], &[0.0, 1.0]], 1, &[1]);
    }

    #[test]
    fn names_count_by_the_number_that_differs() {
        let check = |names: &[&str], expected: &[Option<f64>]| {
            assert_eq!(counting_numbers(names), expected, "{names:?}");
        };
        check(&["e1_t08", "e1_t09", "e1_t11"], &[Some(8.0), Some(9.0), Some(11.0)]);
        check(&["0", "1", "3"], &[Some(0.0), Some(1.0), Some(3.0)]);
        check(&["e1_t8", "e2_t9"], &[None, None]);
        check(&["before", "after"], &[None, None]);
        check(&["t1", "t2b"], &[None, None]);
        check(&[], &[]);
    }
}
