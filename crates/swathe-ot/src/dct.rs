/// The orthonormal cosine transform (DCT-II) of rows of one length: even lengths are split in
/// two by Lee's recursion, what is left of odd length is summed as it stands.
#[derive(Clone, Debug)]
pub(crate) struct Dct {
    n: usize,
    /// 2·cos(π(2i + 1)/2n) for each length that is split, longest first.
    twiddles: Vec<Vec<f64>>,
    /// cos(π(2i + 1)k/2m) for the odd length m.
    odd: Vec<f64>,
}

impl Dct {
    pub(crate) fn new(n: usize) -> Dct {
        let angle = |i: usize, n: usize| std::f64::consts::PI * (2 * i + 1) as f64 / (2 * n) as f64;
        let mut twiddles = Vec::new();
        let mut m = n.max(1);
        while m.is_multiple_of(2) {
            twiddles.push((0..m / 2).map(|i| 2.0 * angle(i, m).cos()).collect());
            m /= 2;
        }
        let odd = (0..m * m)
            .map(|at| (angle(at % m, m) * (at / m) as f64).cos())
            .collect();
        Dct { n, twiddles, odd }
    }

    /// Transforms a row in place.
    pub(crate) fn transform(&self, row: &mut [f64], scratch: &mut Vec<f64>) {
        scratch.clear();
        scratch.resize(self.n, 0.0);
        self.split(row, scratch, 0);
        let scale = (2.0 / self.n as f64).sqrt();
        for v in row.iter_mut() {
            *v *= scale;
        }
        if let Some(first) = row.first_mut() {
            *first *= 0.5_f64.sqrt();
        }
    }

    fn split(&self, row: &mut [f64], scratch: &mut [f64], depth: usize) {
        let n = row.len();
        let Some(twiddle) = self.twiddles.get(depth) else {
            for (k, out) in scratch.iter_mut().enumerate() {
                *out = row.iter().zip(&self.odd[k * n..]).map(|(x, c)| x * c).sum();
            }
            row.copy_from_slice(scratch);
            return;
        };
        let half = n / 2;
        for i in 0..half {
            let (x, y) = (row[i], row[n - 1 - i]);
            scratch[i] = x + y;
            scratch[half + i] = (x - y) * twiddle[i];
        }
        let (even, odd) = scratch.split_at_mut(half);
        let (row_even, row_odd) = row.split_at_mut(half);
        self.split(even, row_even, depth + 1);
        self.split(odd, row_odd, depth + 1);
        // The odd half holds sums of neighbouring odd coefficients.
        let mut before = 0.5 * scratch[half];
        for k in 0..half {
            let odd = if k == 0 {
                before
            } else {
                scratch[half + k] - before
            };
            row[2 * k] = scratch[k];
            row[2 * k + 1] = odd;
            before = odd;
        }
    }
}

/// Transforms an image in place, rows first.
pub(crate) fn transform_image(image: &mut [f64], rows: &Dct, columns: &Dct) {
    let (h, w) = (columns.n, rows.n);
    let mut scratch = Vec::new();
    for row in image.chunks_exact_mut(w.max(1)) {
        rows.transform(row, &mut scratch);
    }
    let mut column = vec![0.0; h];
    for x in 0..w {
        for y in 0..h {
            column[y] = image[y * w + x];
        }
        columns.transform(&mut column, &mut scratch);
        for y in 0..h {
            image[y * w + x] = column[y];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Dct;

    #[test]
    fn splitting_equals_the_definition() {
        for n in [1, 2, 3, 4, 6, 7, 12, 16, 20, 48, 129, 160] {
            let row: Vec<f64> = (0..n).map(|i| ((i * i + 3) % 17) as f64 - 5.0).collect();
            let mut fast = row.clone();
            Dct::new(n).transform(&mut fast, &mut Vec::new());
            for (k, found) in fast.iter().enumerate() {
                let wave = |i: usize| {
                    (std::f64::consts::PI * (2 * i + 1) as f64 * k as f64 / (2 * n) as f64).cos()
                };
                let scale = (if k == 0 { 1.0 } else { 2.0 } / n as f64).sqrt();
                let wanted: f64 = scale * (0..n).map(|i| row[i] * wave(i)).sum::<f64>();
                assert!(
                    (found - wanted).abs() < 1e-9,
                    "n {n} k {k}: {found}, not {wanted}"
                );
            }
        }
    }
}
