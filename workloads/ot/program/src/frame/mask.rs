//! Run-length-encoded masks in COCO's format.

use swathe_ot::Shape;

use super::live::LiveBuilder;
use super::{EncodedMask, FrameError, LiveFrame};

/// Decodes a mask: alternating runs of 0 and 1, beginning with 0, down the columns. The runs are a
/// list of numbers (`[5, 3, 8]` or `5 3 8`) or COCO's compressed text.
pub(super) fn decode_mask(
    mask: &EncodedMask,
    mut builder: LiveBuilder,
) -> Result<LiveFrame, FrameError> {
    let shape = mask.shape;
    let runs = runs(&mask.text, shape)
        .map_err(|reason| FrameError::BadMask { line: mask.line, reason })?;
    let mut image: Vec<f64> = Vec::new();
    if image.try_reserve_exact(shape.n_px()).is_err() {
        return Err(FrameError::OutOfMemory { shape });
    }
    image.resize(shape.n_px(), 0.0);
    let mut at = 0;
    for (number, &run) in runs.iter().enumerate() {
        if number % 2 == 1 {
            for column_major in at..at + run {
                let (y, x) = (column_major % shape.h_px, column_major / shape.h_px);
                image[y * shape.w_px + x] = 1.0;
            }
        }
        at += run;
    }
    builder.push(&image);
    builder.finish()
}

/// The lengths of the runs. Fails unless they add up to the pixels of the mask.
fn runs(text: &str, shape: Shape) -> Result<Vec<usize>, String> {
    let text = text.trim();
    let n_px = shape
        .h_px
        .checked_mul(shape.w_px)
        .ok_or_else(|| format!("is for {shape}, which no memory can hold"))?;
    let list = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let is_list_text =
        |text: &str| text.chars().all(|c| c.is_ascii_digit() || c == ',' || c.is_whitespace());
    // Brackets can occur in compressed text; commas and spaces cannot.
    let found = match list {
        Some(inside) if is_list_text(inside) => listed(inside),
        _ if is_list_text(text) && text.contains([',', ' ', '\t', '\n']) => listed(text),
        _ => compressed(text),
    }?;
    let total = found.iter().try_fold(0usize, |sum, &run| sum.checked_add(run));
    match total {
        Some(total) if total == n_px => Ok(found),
        // Digits alone are read as compressed text first: `06` is a run of no zeros and one of six
        // ones. If that does not fit, they are one number: `24` is the empty mask of 24 pixels.
        _ if text.parse() == Ok(n_px) => Ok(vec![n_px]),
        total => Err(format!(
            "has runs of {} pixels in all, but {shape} has {n_px}",
            total.map_or("too many".to_owned(), |total| total.to_string())
        )),
    }
}

fn listed(text: &str) -> Result<Vec<usize>, String> {
    text.split(|c: char| c == ',' || c.is_whitespace())
        .filter(|word| !word.is_empty())
        .map(|word| {
            word.parse().map_err(|_| format!("has {word:?}, which is not the length of a run"))
        })
        .collect()
}

/// Decodes COCO's compressed text. Every number consists of digits of five bits, lowest first, in
/// the characters from `0` on. From the fourth number on, each is stored as the difference from the
/// number two before it.
fn compressed(text: &str) -> Result<Vec<usize>, String> {
    let mut runs: Vec<i64> = Vec::new();
    let mut bytes = text.bytes().enumerate();
    while let Some((start, first)) = bytes.next() {
        let mut digit = digit_of(start, first)?;
        let (mut value, mut n_bits) = (0i64, 0);
        loop {
            // Seven digits are enough for any mask. The limit of eleven stays within 64 bits.
            if n_bits > 50 {
                return Err(format!("has a number without end at character {start}"));
            }
            value |= i64::from(digit & 31) << n_bits;
            n_bits += 5;
            if digit & 32 == 0 {
                break;
            }
            let Some((at, next)) = bytes.next() else {
                return Err("ends in the middle of a number".to_owned());
            };
            digit = digit_of(at, next)?;
        }
        // The highest bit of the last digit is the sign.
        if digit & 16 != 0 {
            value |= -1 << n_bits;
        }
        if runs.len() > 2 {
            // Beyond any frame; the sum of the runs is refused later.
            value = value.saturating_add(runs[runs.len() - 2]);
        }
        if value < 0 {
            return Err(format!("has a run of {value} pixels at character {start}"));
        }
        runs.push(value);
    }
    Ok(runs.into_iter().map(|run| run as usize).collect())
}

fn digit_of(at: usize, byte: u8) -> Result<u8, String> {
    match byte.checked_sub(48) {
        Some(digit) if digit < 64 => Ok(digit),
        _ => Err(format!(
            "is neither a list of runs nor COCO's compressed text: character {at} is {:?}",
            char::from(byte)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decode(text: &str, shape: Shape) -> Result<Vec<f64>, FrameError> {
        let builder = LiveBuilder::new(shape, None)?;
        let mask = EncodedMask {
            id: "m".to_owned(),
            shape,
            text: text.to_owned(),
            line: 2,
            um_per_px: None,
            empty_cell: None,
        };
        decode_mask(&mask, builder).map(|frame| frame.whole().density)
    }

    /// Runs of a mask, counted pixel by pixel down the columns.
    fn plain_runs(mask: &[f64], shape: Shape) -> Vec<usize> {
        let mut runs = vec![0];
        let mut value = 0.0;
        for x in 0..shape.w_px {
            for y in 0..shape.h_px {
                if mask[y * shape.w_px + x] != value {
                    value = mask[y * shape.w_px + x];
                    runs.push(0);
                }
                *runs.last_mut().unwrap() += 1;
            }
        }
        runs
    }

    /// COCO's compressed text of runs, written from the description of the format.
    fn plain_text(runs: &[usize]) -> String {
        let mut text = String::new();
        for (at, &run) in runs.iter().enumerate() {
            let mut x = run as i64 - if at > 2 { runs[at - 2] as i64 } else { 0 };
            loop {
                let digit = x & 31;
                x >>= 5;
                let is_last = if digit & 16 != 0 { x == -1 } else { x == 0 };
                text.push(char::from(48 + digit as u8 + if is_last { 0 } else { 32 }));
                if is_last {
                    break;
                }
            }
        }
        text
    }

    #[test]
    fn what_pycocotools_writes() {
        // mask.encode(np.asfortranarray([[0,1,1],[0,0,1]], dtype=uint8)) of pycocotools 2.0.
        let expected = [0.0, 1.0, 1.0, 0.0, 0.0, 1.0];
        assert_eq!(decode("2111", Shape::new(2, 3)).unwrap(), expected);
        assert_eq!(decode("[2, 1, 1, 2]", Shape::new(2, 3)).unwrap(), expected);
        assert_eq!(decode("2 1 1 2", Shape::new(2, 3)).unwrap(), expected);
        assert_eq!(decode("6", Shape::new(2, 3)).unwrap(), [0.0; 6]);
        assert_eq!(decode("06", Shape::new(2, 3)).unwrap(), [1.0; 6]);
        assert_eq!(decode("24", Shape::new(4, 6)).unwrap(), [0.0; 24]);
    }

    proptest! {
        #[test]
        fn both_ways_give_the_mask_back(
            (h, mask) in (1usize..40).prop_flat_map(|h| {
                (Just(h), (1usize..30, 1u64..u64::MAX).prop_map(move |(w, seed)| {
                    // Long runs and short ones.
                    let mut state = seed;
                    let mut value = 0.0;
                    (0..h * w).map(|_| {
                        state = state.wrapping_mul(6364136223846793005).wrapping_add(seed | 1);
                        if state >> 60 == 0 { value = 1.0 - value; }
                        value
                    }).collect::<Vec<f64>>()
                }))
            }),
        ) {
            let shape = Shape::new(h, mask.len() / h);
            let runs = plain_runs(&mask, shape);
            prop_assert_eq!(&decode(&format!("{runs:?}"), shape).unwrap(), &mask);
            prop_assert_eq!(&decode(&plain_text(&runs), shape).unwrap(), &mask);
        }

        #[test]
        fn any_text_is_a_mask_or_an_error(text in "[ -~]{0,24}", h in 0usize..9, w in 0usize..9) {
            if let Ok(mask) = decode(&text, Shape::new(h, w)) {
                prop_assert_eq!(mask.len(), h * w);
            }
        }
    }

    #[test]
    fn runs_that_are_no_mask_are_told_why() {
        let why = |text: &str| decode(text, Shape::new(2, 3)).unwrap_err().to_string();
        assert!(why("[2, 1]").contains("3 pixels in all, but 2x3 has 6"));
        assert!(why("[2, x]").contains("neither a list of runs"));
        assert!(why("").contains("0 pixels"));
        assert!(why("2P").contains("middle of a number"));
        assert!(why("O").contains("a run of -1 pixels"));
        assert!(why("oooooooooooooooooooo").contains("without end"));
        assert!(why("[99999999999999999999999]").contains("length of a run"));
        assert!(why("[18446744073709551615, 7]").contains("too many"));
    }
}
