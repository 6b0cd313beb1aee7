//! Deduplicates lists before they become the content of a set; first occurrences are kept.

use crate::set::line_segment::LineSegment;
use crate::set::shifted_sets::Copies;
use crate::set::{Items, Set};
use crate::value::Value;
use crate::value::packed::{self, Bounds, ElementKind};
use std::collections::HashSet;
use std::rc::Rc;

/// Packed elements without duplicates.
pub(crate) fn cells(mut items: Vec<u32>) -> Vec<u32> {
    let n = items.len();
    if n <= 12 {
        let mut k = 0;
        for q in 0..n {
            let x = items[q];
            if !items[..k].contains(&x) {
                items[k] = x;
                k += 1;
            }
        }
        items.truncate(k);
        return items;
    }
    let mut kept = SeenItems::new(n, Bounds::of(&items), colors(&items));
    kept.add(items.iter().copied());
    kept.items
}

/// The distinct elements of packed sets that are not empty, `n` elements in all.
pub(crate) fn joined<'a>(
    sets: impl Iterator<Item = (&'a Set, &'a [u32])> + Clone,
    n: usize,
) -> Vec<u32> {
    let Some(bounds) = sets.clone().map(|(s, _)| s.bounds()).reduce(Bounds::around) else {
        return Vec::new();
    };
    let ranges = sets.clone().map(|(_, items)| colors(items));
    let range = ranges.fold((u32::MAX, 0), |r, c| (r.0.min(c.0), r.1.max(c.1)));
    let mut kept = SeenItems::new(n, bounds, range);
    for (_, items) in sets {
        kept.add(items.iter().copied());
    }
    kept.items
}

/// The distinct elements of lines of one kind, at least one.
pub(crate) fn on_lines(lines: &[LineSegment], n: usize) -> Vec<u32> {
    let lines = lines.iter().filter(|l| **l != LineSegment::NONE);
    let bounds = lines.clone().map(|l| l.bounds()).reduce(Bounds::around);
    let ranges = lines.clone().map(|l| l.color_byte());
    let range = ranges.fold((u32::MAX, 0), |r, c| (r.0.min(c), r.1.max(c)));
    let Some(bounds) = bounds else {
        return Vec::new();
    };
    let mut kept = SeenItems::new(n, bounds, range);
    for line in lines {
        kept.add(line.items());
    }
    kept.items
}

/// Distinct packed elements inside known bounds.
struct SeenItems {
    items: Vec<u32>,
    seen: SeenCells,
}

enum SeenCells {
    Bits { words: Vec<u64>, width: u32, area: u32, first: (u32, u32, u32) },
    Hashed(HashSet<u32>),
}

impl SeenItems {
    /// Allocates for n elements inside these bounds, with colour bytes in this range.
    fn new(n: usize, bounds: Bounds, (low, high): (u32, u32)) -> SeenItems {
        let n_bits = bounds.area() * (high - low + 1) as usize;
        let seen = if n_bits <= 1 << 20 {
            let (top, left) = corner(&bounds);
            SeenCells::Bits {
                words: vec![0; n_bits.div_ceil(64)],
                width: bounds.width() as u32,
                area: bounds.area() as u32,
                first: (low, top, left),
            }
        } else {
            SeenCells::Hashed(HashSet::new())
        };
        SeenItems { items: Vec::with_capacity(n.min(n_bits)), seen }
    }

    fn add(&mut self, items: impl Iterator<Item = u32>) {
        match &mut self.seen {
            SeenCells::Bits { words, width, area, first } => {
                for x in items {
                    let (c, i, j) =
                        ((x >> 24) - first.0, (x >> 12 & 4095) - first.1, (x & 4095) - first.2);
                    let at = (c * *area + i * *width + j) as usize;
                    let bit = 1u64 << (at & 63);
                    let word = &mut words[at >> 6];
                    if *word & bit == 0 {
                        *word |= bit;
                        self.items.push(x);
                    }
                }
            }
            SeenCells::Hashed(seen) => {
                self.items.extend(items.filter(|&x| seen.insert(x)));
            }
        }
    }
}

/// The elements of an object shifted to each of these places, all of which fit; None if bit planes would be no faster.
///
/// A row of the object in one colour is one word, so that a copy costs a few operations for each row.
pub(crate) fn spread(object: &Set, places: &Set) -> Option<Vec<u32>> {
    let ((items, _), (steps, _)) = (object.packed()?, places.packed()?);
    let (b, d) = (object.bounds(), places.bounds());
    if b.width() > 64 || items.len() < 8 {
        return None;
    }
    let (h, w) = (b.height() + d.height() - 1, b.width() + d.width() - 1);
    let (low, high) = colors(items);
    let n_words = w as usize / 64 + 2;
    let n_rows = (high - low + 1) as usize * h as usize;
    if n_rows * n_words > 1 << 16 {
        return None;
    }
    let (n_of_color, stride) = ((high - low + 1) as usize, b.height() as usize);
    let mut patterns = vec![0u64; n_of_color * stride];
    for &x in items {
        let (i, j) = (packed::row(x) - b.top, packed::col(x) - b.left);
        patterns[((x >> 24) - low) as usize * stride + i as usize] |= 1 << j;
    }
    let patterns: Vec<(usize, u64)> = patterns
        .iter()
        .enumerate()
        .filter(|(_, bits)| **bits != 0)
        .map(|(k, bits)| (k / stride * h as usize + k % stride, *bits))
        .collect();
    let mut words = vec![0u64; n_rows * n_words];
    for &to in steps {
        let (i, j) = (packed::row(to) - d.top, packed::col(to) - d.left);
        let at = i as usize * n_words + j as usize / 64;
        let shift = j as u32 % 64;
        for &(row, bits) in &patterns {
            let at = at + row * n_words;
            words[at] |= bits << shift;
            // In two steps, because a shift by 64 overflows.
            words[at + 1] |= bits >> 1 >> (63 - shift);
        }
    }
    let mut all = Vec::with_capacity(items.len().max(steps.len()) * 2);
    let first = packed::place(b.top + d.top, b.left + d.left);
    for (row, of_row) in words.chunks_exact(n_words).enumerate() {
        let (c, i) = (row / h as usize, row % h as usize);
        let start = (low + c as u32) << 24 | (first + ((i as u32) << 12));
        for (k, &word) in of_row.iter().enumerate() {
            let mut left = word;
            while left != 0 {
                all.push(start + k as u32 * 64 + left.trailing_zeros());
                left &= left - 1;
            }
        }
    }
    Some(all)
}

/// The lowest and the highest colour byte.
fn colors(items: &[u32]) -> (u32, u32) {
    let (mut low, mut high) = (u32::MAX, 0);
    for &x in items {
        low = low.min(x >> 24);
        high = high.max(x >> 24);
    }
    (low, high)
}

/// The first row and column, as stored in a packed place.
fn corner(bounds: &Bounds) -> (u32, u32) {
    let p = packed::place(bounds.top, bounds.left);
    (p >> 12, p & 4095)
}

/// Numbers without duplicates.
pub(crate) fn numbers(mut items: Vec<u64>) -> Vec<u64> {
    let mut seen = Seen::new(items.len());
    let mut n = 0;
    for k in 0..items.len() {
        let x = items[k];
        if seen.number(mixed(x), n as u32, |q| items[q as usize] == x) == n as u32 {
            items[n] = x;
            n += 1;
        }
    }
    items.truncate(n);
    items
}

/// The positions of the first occurrences among lines; `tell` receives for every line the number of its first
/// occurrence.
pub(crate) fn lines(lines: &[LineSegment], mut tell: impl FnMut(u32)) -> Vec<u32> {
    // Most pairs of places are not connected, so the empty line is kept out of the hash table.
    let n = lines.iter().filter(|l| **l != LineSegment::NONE).count();
    let mut seen = Seen::new(n);
    let mut kept: Vec<u32> = Vec::new();
    let mut of_none = None;
    for (k, line) in (0..).zip(lines) {
        let next = kept.len() as u32;
        let number = if *line == LineSegment::NONE {
            *of_none.get_or_insert(next)
        } else {
            let same = |q: u32| lines[kept[q as usize] as usize] == *line;
            seen.number(mixed(line.number()), next, same)
        };
        if number == next {
            kept.push(k);
        }
        tell(number);
    }
    kept
}

/// The positions of the first occurrences among sets of packed elements, or sets of such sets, and for every set the
/// number of its first occurrence; None if there are other values.
///
/// Sums over the elements distinguish sets at a fraction of the cost of CPython's hash, which is needed only if a
/// program reads the order of the sets.
pub(crate) fn sets(values: &[Value]) -> Option<(Vec<u32>, Vec<u32>)> {
    if !values.iter().all(|v| is_packed(v) || has_packed_sets(v)) {
        return None;
    }
    let mut seen = Seen::new(values.len());
    let mut kept: Vec<u32> = Vec::with_capacity(values.len());
    let mut numbers = Vec::with_capacity(values.len());
    for (k, v) in values.iter().enumerate() {
        let Value::Set(s) = v else { return None };
        let next = kept.len() as u32;
        let same = |q: u32| match &values[kept[q as usize] as usize] {
            Value::Set(other) => Rc::ptr_eq(s, other) || s.equals(other),
            _ => false,
        };
        numbers.push(seen.number(fingerprint(s), next, same));
        if numbers[k] == next {
            kept.push(k as u32);
        }
    }
    Some((kept, numbers))
}

/// Whether it is a set of places or cells.
fn is_packed(v: &Value) -> bool {
    matches!(v, Value::Set(s) if s.packed().is_some())
}

/// Whether it is a set of such sets, stored as a list of values.
pub(crate) fn has_packed_sets(v: &Value) -> bool {
    match v {
        Value::Set(s) => match s.items() {
            Items::General(items, _) => items.copies().is_some() || items.iter().all(is_packed),
            _ => false,
        },
        _ => false,
    }
}

/// A number that equal sets always share and different sets hardly ever.
fn fingerprint(set: &Set) -> u64 {
    match set.items() {
        Items::Packed(items, kind) => Sums::of(items).print(items.len() as u64, *kind),
        Items::General(sets, _) => {
            if let Some(copies) = sets.copies() {
                return of_copies(copies);
            }
            let prints = sets.iter().map(|v| match v {
                Value::Set(s) => mixed(fingerprint(s)),
                _ => 0,
            });
            prints.fold(sets.len() as u64, u64::wrapping_add)
        }
        _ => 0,
    }
}

/// The fingerprint of a set of copies.
fn of_copies(copies: &Copies) -> u64 {
    let sums = |object: &Rc<Set>| object.packed().map_or_else(Sums::default, |(c, _)| Sums::of(c));
    let known: Vec<Sums> = copies.objects().iter().map(sums).collect();
    let prints = copies.sums().map(|(k, added)| {
        let object = &copies.objects()[k];
        let sums = known[k].with_step(object, added);
        mixed(sums.print(object.len() as u64, object.kind()))
    });
    prints.fold(copies.len() as u64, u64::wrapping_add)
}

/// The sum of some elements and the sum of their squares, with wrapping arithmetic.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Sums {
    sum: u64,
    squares: u64,
}

impl Sums {
    fn of(items: &[u32]) -> Sums {
        let mut sums = Sums::default();
        for &x in items.iter() {
            sums.sum = sums.sum.wrapping_add(u64::from(x));
            sums.squares = sums.squares.wrapping_add(u64::from(x) * u64::from(x));
        }
        sums
    }

    /// The sums after a packed step is added to each element of `source`, which has these sums.
    fn with_step(self, source: &Set, step: u32) -> Sums {
        let Some((content, _)) = source.packed() else {
            return self;
        };
        // No element leaves its range, so one element shows whether the step subtracts.
        let first = content.first().map_or(0, |x| *x);
        let added = i64::from(first.wrapping_add(step)) - i64::from(first);
        self.with_added(added, content.len() as u64)
    }

    /// The fingerprint of a set of n elements with these sums.
    fn print(self, n: u64, kind: ElementKind) -> u64 {
        mixed(self.sum ^ mixed(self.squares.wrapping_add(n * 4 + kind as u64)))
    }

    /// The sums once a number is added to each of the n elements.
    fn with_added(self, added: i64, n: u64) -> Sums {
        let added = added as u64;
        let twice = self.sum.wrapping_mul(2).wrapping_add(n.wrapping_mul(added));
        Sums {
            sum: self.sum.wrapping_add(n.wrapping_mul(added)),
            squares: self.squares.wrapping_add(added.wrapping_mul(twice)),
        }
    }
}

fn mixed(x: u64) -> u64 {
    let y = (x ^ (x >> 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    y ^ (y >> 29)
}

/// A hash table of positions in a list.
struct Seen {
    slots: Vec<(u32, u32)>,
}

const EMPTY_SLOT: u32 = u32::MAX;

impl Seen {
    /// A table for n positions.
    fn new(n: usize) -> Seen {
        Seen { slots: vec![(0, EMPTY_SLOT); (2 * n).next_power_of_two().max(4)] }
    }

    /// The number stored for an element that `same` recognises. If there is none, stores and returns `next`.
    #[inline]
    fn number(&mut self, hash: u64, next: u32, same: impl Fn(u32) -> bool) -> u32 {
        let mask = self.slots.len() - 1;
        let tag = (hash >> 32) as u32;
        let mut at = hash as usize & mask;
        loop {
            let (found, k) = self.slots[at];
            if k == EMPTY_SLOT {
                self.slots[at] = (tag, next);
                return next;
            }
            if found == tag && same(k) {
                return k;
            }
            at = (at + 1) & mask;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_first_occurrences() {
        let many: Vec<u64> = (0..1000).map(|k| k * k % 37).collect();
        let mut wanted = Vec::new();
        for &x in &many {
            if !wanted.contains(&x) {
                wanted.push(x);
            }
        }
        assert_eq!(numbers(many), wanted);
    }

    #[test]
    fn lines_keep_their_first_occurrences() {
        let places: Vec<(i32, i32)> = (0..40).map(|k| (k * 7 % 11, k * k % 13)).collect();
        let pairs = places.iter().flat_map(|&a| places.iter().map(move |&b| (a, b)));
        let all: Vec<LineSegment> = pairs.map(|(a, b)| LineSegment::between(a, b)).collect();
        let (mut wanted, mut wanted_numbers) = (Vec::new(), Vec::new());
        for (k, line) in (0..).zip(&all) {
            let known = wanted.iter().position(|&q: &u32| all[q as usize] == *line);
            wanted_numbers.push(known.unwrap_or(wanted.len()) as u32);
            if known.is_none() {
                wanted.push(k);
            }
        }
        assert!(all.contains(&LineSegment::NONE) && wanted.len() > 100);
        let mut numbers = Vec::new();
        assert_eq!(lines(&all, |number| numbers.push(number)), wanted);
        assert_eq!(numbers, wanted_numbers);
    }

    #[test]
    fn sets_are_told_apart_by_content_not_by_order() {
        let set = |places: &[(i32, i32)]| {
            Value::set(places.iter().map(|p| Value::Pair(p.0, p.1)).collect()).expect("a set")
        };
        // The second and third have equal sums; the fourth is the first again.
        let all = vec![
            set(&[(0, 0), (3, 1)]),
            set(&[(1, 0), (2, 3)]),
            set(&[(0, 3), (3, 0)]),
            set(&[(3, 1), (0, 0)]),
            set(&[]),
            set(&[]),
        ];
        assert_eq!(sets(&all), Some((vec![0, 1, 2, 4], vec![0, 1, 2, 0, 3, 3])));
        assert_eq!(sets(&[Value::Int(1)]), None);
    }
}
