//! Summary statistics and spectra of a displacement field.

use crate::dct::{Dct, transform_image};
use crate::solution::Solution;

/// Number of radial bands of the spectra.
pub const N_BANDS: usize = 8;

/// Figures of a displacement field, for comparing pairs. Every statistic is over the pixels of the
/// source's support, with equal weights; NaN if the support is empty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// Length of the displacement, px.
    pub displacement_px: Spread,
    /// Length of the plan's mean displacement, which entropy pulls inward, px.
    pub displacement_raw_px: Spread,
    /// Divergence of the displacement, per step.
    pub div: Spread,
    /// Curl of the displacement, per step. The displacement is close to a gradient, whose curl is
    /// zero: what is left shows differences between neighbours and tearing, not rotation. See
    /// [`AffineFit`](crate::AffineFit) for that.
    pub curl: Spread,
    /// Energy of the x displacement in radial bands of its cosine transform, from low to high
    /// frequency: mean square per pixel of the live box, with zero off the support. The bands add
    /// up to the total.
    pub dct_vx: [f64; N_BANDS],
    /// The same for the y displacement.
    pub dct_vy: [f64; N_BANDS],
    /// The same for the divergence.
    pub dct_div: [f64; N_BANDS],
    /// The same for the curl.
    pub dct_curl: [f64; N_BANDS],
}

/// The distribution of a quantity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Arithmetic mean.
    pub mean: f64,
    /// Standard deviation (of the whole population).
    pub std: f64,
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 95th percentile.
    pub p95: f64,
    /// Largest value.
    pub max: f64,
    /// Smallest value.
    pub min: f64,
}

/// Summarises a solution's displacement field; `None` if its maps were not kept.
///
/// ```
/// use swathe_ot::{Frame, Pair, Settings, solve, summarise};
/// let bar = |x: usize| Frame::new(1, 32, (0..32).map(|i| f64::from(u8::from(i / 4 == x))).collect());
/// let pair = Pair::new(bar(2)?, bar(3)?);
/// let solution = solve(&pair, &Settings { relaxation: 10.0, ..Settings::default() })?;
/// let summary = summarise(&solution).unwrap();
/// assert!((summary.displacement_px.mean - 4.0).abs() < 0.1);
/// # Ok::<(), swathe_ot::Failure>(())
/// ```
pub fn summarise(solution: &Solution) -> Option<Summary> {
    let fields = solution.fields.as_ref()?;
    let velocity = &fields.velocity_yx_px;
    let shape = solution.geometry.live_work();
    let (h, w) = (shape.h_px, shape.w_px);
    let px = solution.geometry.pool as f64;
    let at = |y: isize, x: isize, axis: usize| {
        let inside = (0..h as isize).contains(&y) && (0..w as isize).contains(&x);
        if inside { velocity[y as usize * w + x as usize][axis] } else { f64::NAN }
    };
    // Central differences; one-sided at the rim of the support.
    let slope = |y: usize, x: usize, axis: usize, dy: isize, dx: isize| {
        let (y, x) = (y as isize, x as isize);
        let (before, here, after) =
            (at(y - dy, x - dx, axis), at(y, x, axis), at(y + dy, x + dx, axis));
        match (before.is_nan(), after.is_nan()) {
            (false, false) => (after - before) / (2.0 * px),
            (true, false) => (after - here) / px,
            (false, true) => (here - before) / px,
            (true, true) => 0.0,
        }
    };
    let mut maps = [(); 4].map(|()| vec![0.0; shape.n_px()]);
    let mut values = [(); 3].map(|()| Vec::new());
    for y in 0..h {
        for x in 0..w {
            let [vy, vx] = velocity[y * w + x];
            if vy.is_nan() {
                continue;
            }
            let div = slope(y, x, 0, 1, 0) + slope(y, x, 1, 0, 1);
            let curl = slope(y, x, 0, 0, 1) - slope(y, x, 1, 1, 0);
            for (map, v) in maps.iter_mut().zip([vx, vy, div, curl]) {
                map[y * w + x] = v;
            }
            for (values, v) in values.iter_mut().zip([vx.hypot(vy), div, curl]) {
                values.push(v);
            }
        }
    }
    let (rows, columns) = (Dct::new(w), Dct::new(h));
    let bands = bands(h, w);
    let [dct_vx, dct_vy, dct_div, dct_curl] = maps.map(|mut map| {
        transform_image(&mut map, &rows, &columns);
        band_energies(&map, &bands)
    });
    let [displacement_px, div, curl] = values.map(spread);
    let raw = fields.raw_velocity().iter().filter(|v| !v[0].is_nan());
    Some(Summary {
        displacement_px,
        displacement_raw_px: spread(raw.map(|[vy, vx]| vx.hypot(*vy)).collect()),
        div,
        curl,
        dct_vx,
        dct_vy,
        dct_div,
        dct_curl,
    })
}

/// The band of every coefficient: band b holds the frequencies whose radius (of (k/h, l/w), at most
/// √2) lies in the b-th eighth.
fn bands(h: usize, w: usize) -> Vec<u8> {
    let of = |at: usize| {
        let (fy, fx) = ((at / w) as f64 / h as f64, (at % w) as f64 / w as f64);
        let band = (fy.hypot(fx) / 2.0_f64.sqrt() * N_BANDS as f64) as usize;
        band.min(N_BANDS - 1) as u8
    };
    (0..h * w).map(of).collect()
}

fn band_energies(coefficients: &[f64], bands: &[u8]) -> [f64; N_BANDS] {
    let mut energies = [0.0; N_BANDS];
    for (c, &band) in coefficients.iter().zip(bands) {
        energies[usize::from(band)] += c * c / coefficients.len() as f64;
    }
    energies
}

fn spread(mut values: Vec<f64>) -> Spread {
    let nan = f64::NAN;
    if values.is_empty() {
        return Spread { mean: nan, std: nan, p50: nan, p90: nan, p95: nan, max: nan, min: nan };
    }
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / n;
    values.sort_unstable_by(f64::total_cmp);
    // Linear between neighbours, like NumPy's percentile.
    let percentile = |p: f64| {
        let place = p * (n - 1.0);
        let (low, high) = (place.floor() as usize, place.ceil() as usize);
        values[low] + (values[high] - values[low]) * place.fract()
    };
    Spread {
        mean,
        std: variance.sqrt(),
        p50: percentile(0.5),
        p90: percentile(0.9),
        p95: percentile(0.95),
        max: values[values.len() - 1],
        min: values[0],
    }
}
