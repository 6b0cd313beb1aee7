//! Small maps: every square of pixels becomes one cell.

/// A map of cells, row by row. Each cell stands for a square of pixels of a larger map.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Cells {
    pub(super) h: usize,
    pub(super) w: usize,
    /// The sum of the values in each square.
    pub(super) sums: Vec<f64>,
    /// The number of values in each square.
    pub(super) counts: Vec<u32>,
}

impl Cells {
    /// Sums squares of `side` pixels of a map that is `w_px` wide. Squares at the right and at the
    /// bottom may be smaller. NaN does not count as a value.
    pub(super) fn of(map: &[f64], w_px: usize, side: usize) -> Cells {
        let (h_px, w) = (map.len() / w_px.max(1), w_px.div_ceil(side));
        let h = h_px.div_ceil(side);
        let mut cells = Cells { h, w, sums: vec![0.0; h * w], counts: vec![0; h * w] };
        for (y, row) in map.chunks_exact(w_px.max(1)).enumerate() {
            let first = y / side * w;
            for (x, some) in row.chunks(side).enumerate() {
                let (mut sum, mut n) = (0.0, 0);
                for v in some {
                    let is_value = !v.is_nan();
                    sum += if is_value { *v } else { 0.0 };
                    n += u32::from(is_value);
                }
                cells.sums[first + x] += sum;
                cells.counts[first + x] += n;
            }
        }
        cells
    }

    /// The mean value of each cell; NaN for a cell without values.
    pub(super) fn means(&self) -> Vec<f64> {
        let cells = self.sums.iter().zip(&self.counts);
        cells.map(|(sum, n)| sum / f64::from(*n)).collect()
    }
}

/// A map as bytes, and what they mean.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Bytes {
    pub(super) bytes: Vec<u8>,
    /// The value of the highest byte; larger values have this byte too.
    pub(super) full: f64,
    /// The largest absolute value.
    pub(super) max: f64,
}

/// Encodes values of zero and above: byte 0 means no value, 1 to 255 stand for 0 to full.
pub(super) fn unsigned(values: &[f64], share: f64) -> Bytes {
    let (full, max) = scale(values, share);
    let byte = |v: &f64| match v.is_nan() {
        true => 0,
        false => 1 + (v / full * 254.0).clamp(0.0, 254.0).round() as u8,
    };
    Bytes { bytes: values.iter().map(byte).collect(), full, max }
}

/// Encodes values of both signs: byte 0 means no value, 1 is −full, 128 zero, 255 full.
pub(super) fn signed(values: &[f64], share: f64) -> Bytes {
    let (full, max) = scale(values, share);
    let byte = |v: &f64| match v.is_nan() {
        true => 0,
        false => (128.0 + (v / full * 127.0).clamp(-127.0, 127.0)).round() as u8,
    };
    Bytes { bytes: values.iter().map(byte).collect(), full, max }
}

/// The absolute value that this share of the values does not exceed, and the largest absolute
/// value. The share keeps one hot cell from hiding the others. The first result is never zero, so
/// that values can be divided by it.
fn scale(values: &[f64], share: f64) -> (f64, f64) {
    let sizes = values.iter().filter(|v| !v.is_nan() && **v != 0.0);
    let mut sizes: Vec<f64> = sizes.map(|v| v.abs()).collect();
    if sizes.is_empty() {
        return (1.0, 0.0);
    }
    let at = ((sizes.len() - 1) as f64 * share).round() as usize;
    let (_, full, larger) = sizes.select_nth_unstable_by(at, f64::total_cmp);
    let full = *full;
    let max = larger.iter().copied().fold(full, f64::max);
    (full, max)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ramp(n: usize) -> Vec<f64> {
        (0..n).map(|at| (at * at % 97) as f64).collect()
    }

    #[test]
    fn sums_and_means_are_conserved() {
        for (h, w, side) in [(12, 24, 6), (13, 29, 6), (1, 7, 3), (5, 5, 1), (4, 9, 100)] {
            let map = ramp(h * w);
            let cells = Cells::of(&map, w, side);
            assert_eq!((cells.h, cells.w), (h.div_ceil(side), w.div_ceil(side)));
            assert_eq!(cells.sums.iter().sum::<f64>(), map.iter().sum::<f64>());
            assert_eq!(cells.counts.iter().sum::<u32>() as usize, h * w);
            let weighted = cells.means().into_iter().zip(&cells.counts);
            let mean = weighted.map(|(v, n)| v * f64::from(*n)).sum::<f64>() / (h * w) as f64;
            let expected = map.iter().sum::<f64>() / (h * w) as f64;
            assert!((mean - expected).abs() < 1e-12 * expected.max(1.0));
        }
    }

    #[test]
    fn what_is_not_a_number_is_no_value() {
        let nan = f64::NAN;
        let cells = Cells::of(&[1.0, nan, nan, nan, 3.0, nan, nan, nan], 4, 2);
        assert_eq!(cells.counts, [2, 0]);
        assert_eq!(cells.means()[0], 2.0);
        assert!(cells.means()[1].is_nan());
    }

    #[test]
    fn no_pixels_no_cells() {
        let cells = Cells::of(&[], 0, 3);
        assert_eq!((cells.h, cells.w, cells.sums.len()), (0, 0, 0));
    }

    #[test]
    fn bytes_mean_what_they_say() {
        let coded = unsigned(&[0.0, 1.0, 2.0, f64::NAN], 1.0);
        assert_eq!(coded.bytes, [1, 128, 255, 0]);
        assert_eq!((coded.full, coded.max), (2.0, 2.0));
        let coded = signed(&[-4.0, 0.0, 2.0, f64::NAN], 1.0);
        assert_eq!(coded.bytes, [1, 128, 192, 0]);
        assert_eq!((coded.full, coded.max), (4.0, 4.0));
        let nothing = signed(&[0.0, f64::NAN], 1.0);
        assert_eq!((nothing.bytes, nothing.max), (vec![128, 0], 0.0));
    }

    #[test]
    fn one_hot_cell_does_not_hide_the_others() {
        let mut values = vec![1.0; 1000];
        values[17] = 1e6;
        let coded = unsigned(&values, 0.99);
        assert_eq!((coded.full, coded.max), (1.0, 1e6));
        assert!(coded.bytes.iter().all(|byte| *byte == 255));
    }
}
