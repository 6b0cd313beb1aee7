//! Natural order of names: frame2 before frame10.

use std::cmp::Ordering;

/// Compares names, with runs of digits as numbers. Names that differ only in leading zeros are
/// ordered as text.
///
/// ```
/// use swathe_ot_program::pair_input::natural_order;
/// let mut names = ["t10", "t2", "a", "t02b"];
/// names.sort_by(|a, b| natural_order(a, b));
/// assert_eq!(names, ["a", "t2", "t02b", "t10"]);
/// ```
pub fn natural_order(a: &str, b: &str) -> Ordering {
    let (mut rest_a, mut rest_b) = (a, b);
    loop {
        let (Some(first_a), Some(first_b)) = (rest_a.chars().next(), rest_b.chars().next()) else {
            return rest_a.len().cmp(&rest_b.len()).then_with(|| a.cmp(b));
        };
        if first_a.is_ascii_digit() && first_b.is_ascii_digit() {
            let (number_a, after_a) = split_digits(rest_a);
            let (number_b, after_b) = split_digits(rest_b);
            let (short_a, short_b) =
                (number_a.trim_start_matches('0'), number_b.trim_start_matches('0'));
            // Without leading zeros the longer number is larger; equal lengths compare as text.
            let order = short_a.len().cmp(&short_b.len()).then_with(|| short_a.cmp(short_b));
            if order != Ordering::Equal {
                return order;
            }
            (rest_a, rest_b) = (after_a, after_b);
        } else {
            if first_a != first_b {
                return first_a.cmp(&first_b);
            }
            rest_a = &rest_a[first_a.len_utf8()..];
            rest_b = &rest_b[first_b.len_utf8()..];
        }
    }
}

fn split_digits(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text.split_at(end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_count_as_numbers() {
        let sorted = [
            "a",
            "frame1",
            "frame2",
            "frame02",
            "frame2b",
            "frame10",
            "frame10.5",
            "frame10.40",
            "frame99999999999999999999998",
            "frame99999999999999999999999",
            "ä",
        ];
        for (i, a) in sorted.iter().enumerate() {
            for (j, b) in sorted.iter().enumerate() {
                // As text, frame02 comes before frame2.
                let swapped =
                    [*a, *b] == ["frame2", "frame02"] || [*a, *b] == ["frame02", "frame2"];
                let expected = if swapped { j.cmp(&i) } else { i.cmp(&j) };
                assert_eq!(natural_order(a, b), expected, "{a} {b}");
            }
        }
    }

    proptest! {
        #[test]
        fn it_is_an_order(a in "[a0-2]{0,6}", b in "[a0-2]{0,6}", c in "[a0-2]{0,6}") {
            prop_assert_eq!(natural_order(&a, &b), natural_order(&b, &a).reverse());
            prop_assert_eq!(natural_order(&a, &b) == Ordering::Equal, a == b);
            if natural_order(&a, &b) == Ordering::Less && natural_order(&b, &c) == Ordering::Less {
                prop_assert_eq!(natural_order(&a, &c), Ordering::Less);
            }
        }
    }
}
