//! Row numbers: an ascending list of them in little memory.

use crate::store::run_folder::Spans;

/// Numbers of rows, ascending, each found by its place and the other way round. Rows are nearly
/// always without gaps, so that a million of them take one span.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowNumbers {
    /// Ascending spans `[from, to)`, apart from one another.
    spans: Vec<(u64, u64)>,
    /// How many numbers come before each span.
    n_before: Vec<u64>,
    n_rows: u64,
}

impl RowNumbers {
    /// These numbers.
    pub fn new(spans: &Spans) -> RowNumbers {
        let mut numbers = RowNumbers::default();
        for &(from, to) in spans.spans() {
            numbers.push_span(from, to);
        }
        numbers
    }

    /// Adds a number; `false` if it is not greater than the last one.
    #[must_use]
    pub fn push(&mut self, number: u64) -> bool {
        match self.spans.last_mut() {
            Some((_, to)) if *to == number => {
                *to += 1;
                self.n_rows += 1;
                true
            }
            Some(&mut (_, to)) if number < to => false,
            _ => {
                self.push_span(number, number + 1);
                true
            }
        }
    }

    fn push_span(&mut self, from: u64, to: u64) {
        self.spans.push((from, to));
        self.n_before.push(self.n_rows);
        self.n_rows += to - from;
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.n_rows as usize
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.n_rows == 0
    }

    /// The number at a place.
    pub fn number(&self, place: usize) -> Option<u64> {
        let place = place as u64;
        let span = self.n_before.partition_point(|&n| n <= place);
        let (from, to) = self.spans[span.checked_sub(1)?];
        let number = from + (place - self.n_before[span - 1]);
        (number < to).then_some(number)
    }

    /// The place of a number.
    pub fn place(&self, number: u64) -> Option<usize> {
        let span = self.spans.partition_point(|&(from, _)| from <= number);
        let (from, to) = self.spans[span.checked_sub(1)?];
        (number < to).then(|| (self.n_before[span - 1] + (number - from)) as usize)
    }

    /// The numbers, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u64> {
        self.spans.iter().flat_map(|&(from, to)| from..to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_places_are_found() {
        let expected = [2, 3, 4, 9, 20, 21];
        let spans = Spans::of(expected.to_vec());
        let mut pushed = RowNumbers::default();
        assert!(expected.iter().all(|&number| pushed.push(number)));
        assert!(!pushed.push(21) && !pushed.push(5));
        assert_eq!(pushed, RowNumbers::new(&spans));
        assert!(pushed.iter().eq(expected));
        let found = (0..7).map(|place| pushed.number(place));
        assert!(found.eq(expected.iter().copied().map(Some).chain([None])));
        for number in 0..30 {
            let place = expected.iter().position(|&other| other == number);
            assert_eq!(pushed.place(number), place);
        }
        assert_eq!(RowNumbers::default().number(0), None);
        assert_eq!(RowNumbers::default().place(0), None);
    }
}
