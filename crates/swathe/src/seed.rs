//! Seeds: numbers that depend on a seed and a position alone.
//!
//! All crates use this one SplitMix64, so a draw is the same on every machine and in every version.

/// The increment of SplitMix64's state for every word.
const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

/// SplitMix64's finaliser: spreads every input bit over the whole word.
///
/// ```
/// assert_eq!(swathe::seed::mix(0), 0xE220_A839_7B1D_CDAF);
/// ```
#[inline]
pub fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(GAMMA);
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// Word `n`, from 0, of the stream that SplitMix64 makes from this seed.
#[inline]
pub fn nth(seed: u64, n: u64) -> u64 {
    mix(seed.wrapping_add(n.wrapping_mul(GAMMA)))
}

/// The next word of the stream that SplitMix64 makes from this state.
///
/// ```
/// let mut state = 7;
/// assert_eq!(swathe::seed::draw(&mut state), swathe::seed::mix(7));
/// assert_ne!(swathe::seed::draw(&mut state), swathe::seed::mix(7));
/// ```
pub fn draw(state: &mut u64) -> u64 {
    let drawn = mix(*state);
    *state = state.wrapping_add(GAMMA);
    drawn
}

/// The next number in [0, 1) of the stream that SplitMix64 makes from this state.
pub fn unit(state: &mut u64) -> f64 {
    (draw(state) >> 11) as f64 / (1u64 << 53) as f64
}

/// The next log-uniform whole number between two bounds.
///
/// ```
/// let mut state = 3;
/// let drawn: Vec<usize> = (0..100).map(|_| swathe::seed::log_uniform(&mut state, 4.0, 128.0)).collect();
/// assert!(drawn.iter().all(|n| (4..=128).contains(n)));
/// assert!(drawn.iter().filter(|&&n| n < 23).count() > 30);
/// ```
pub fn log_uniform(state: &mut u64, low: f64, high: f64) -> usize {
    (low * (high / low).powf(unit(state))).round() as usize
}

/// `n_chosen` distinct numbers below `n`, ascending; all of them if there are no more than that.
pub fn choose(n: usize, n_chosen: usize, seed: u64) -> Vec<usize> {
    if n_chosen >= n {
        return (0..n).collect();
    }
    // Floyd's algorithm: one draw for each chosen number, independent of `n`.
    let mut chosen = std::collections::BTreeSet::new();
    for top in n - n_chosen..n {
        let drawn = (mix(seed ^ mix(top as u64)) % (top as u64 + 1)) as usize;
        chosen.insert(if chosen.contains(&drawn) { top } else { drawn });
    }
    chosen.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chosen_are_distinct_and_repeat() {
        for (n, n_chosen) in [(0, 3), (5, 5), (5, 9), (1000, 10), (100_000, 1000)] {
            let chosen = choose(n, n_chosen, 42);
            assert_eq!(chosen.len(), n_chosen.min(n));
            assert!(chosen.windows(2).all(|pair| pair[0] < pair[1]));
            assert!(chosen.iter().all(|&k| k < n));
            assert_eq!(chosen, choose(n, n_chosen, 42));
        }
        assert_ne!(choose(1000, 10, 1), choose(1000, 10, 2));
    }
}
