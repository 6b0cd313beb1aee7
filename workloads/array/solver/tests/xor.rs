//! XOR compared with plain loops, for every kind of key and element.

use std::fmt::Debug;
use swathe_array::xor::{XorError, XorKey, xor_in_place, xor_part_in_place};
use swathe_array::{KeyStream, Simd, Unsigned};

/// An unsigned integer that can be made from random bits.
trait Number: Unsigned {
    fn from_bits(bits: u64) -> Self;
    /// The number made of the next bytes of a stream.
    fn from_bytes(bytes: &mut dyn Iterator<Item = u8>) -> Self;
}

macro_rules! number {
    ($($type:ident)*) => {$(
        impl Number for $type {
            fn from_bits(bits: u64) -> $type {
                bits as $type
            }
            fn from_bytes(bytes: &mut dyn Iterator<Item = u8>) -> $type {
                $type::from_le_bytes(std::array::from_fn(|_| bytes.next().unwrap()))
            }
        }
    )*};
}
number!(u8 u32 u64);

fn random<T: Number>(seed: u64, n: usize) -> Vec<T> {
    let stream = KeyStream::new(seed);
    (0..n as u64).map(|idx| T::from_bits(stream.word(idx))).collect()
}

/// The stream computed sequentially, as its documentation defines it: SplitMix64, with a state that
/// advances, gives each block a key.
fn stream_bytes(seed: u64) -> impl Iterator<Item = u8> {
    let mut state = seed;
    std::iter::repeat_with(move || {
        state = state.wrapping_add(0x9e3779b97f4a7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d049bb133111eb);
        z ^ (z >> 31)
    })
    .flat_map(|key| {
        let mut counter = key as u32;
        (0..512).flat_map(move |_| {
            let mut z = counter;
            counter = counter.wrapping_add(0x9e3779b9);
            z ^= z >> 16;
            z = z.wrapping_mul(0x21f0aaad);
            z ^= (key >> 32) as u32;
            z ^= z >> 15;
            z = z.wrapping_mul(0xd35a2d97);
            z ^= z >> 15;
            z.to_le_bytes()
        })
    })
}

/// The key of every element, written out.
fn spelt_out<T: Number>(key: XorKey<'_, T>, n: usize) -> Vec<T> {
    match key {
        XorKey::Array(key) => key.to_vec(),
        XorKey::Cycle(key) => key.iter().copied().cycle().take(n).collect(),
        XorKey::Seed(seed) => {
            let mut bytes = stream_bytes(seed);
            (0..n).map(|_| T::from_bytes(&mut bytes)).collect()
        }
    }
}

#[track_caller]
fn check<T: Number + Debug>(data: &[T], key: XorKey<'_, T>, cut: usize) {
    let expected: Vec<T> =
        data.iter().zip(spelt_out(key, data.len())).map(|(&x, key)| x ^ key).collect();
    for simd in Simd::available() {
        let mut xored = data.to_vec();
        xor_in_place(&mut xored, key, simd).unwrap();
        assert_eq!(xored, expected, "{key:?} on {}", simd.path());
        xor_in_place(&mut xored, key, simd).unwrap();
        assert_eq!(xored, data, "{key:?} twice on {}", simd.path());

        // The same in two parts, the second of which starts in the middle of the key.
        let (first, second) = xored.split_at_mut(cut);
        let (first_key, second_key) = match key {
            XorKey::Array(key) => (XorKey::Array(&key[..cut]), XorKey::Array(&key[cut..])),
            key => (key, key),
        };
        xor_in_place(first, first_key, simd).unwrap();
        xor_part_in_place(second, cut as u64, second_key, simd).unwrap();
        assert_eq!(xored, expected, "{key:?} cut at {cut} on {}", simd.path());
    }
}

fn random_lengths<T: Number + Debug>(seed: u64) {
    let stream = KeyStream::new(seed);
    for idx in 0..10_000 {
        let bits = stream.word(idx);
        let n_max = if bits.is_multiple_of(16) { 20_000 } else { 100 };
        let n = ((bits >> 8) % n_max) as usize;
        let n_key = ((bits >> 40) % if bits & 1 == 0 { 20 } else { 3000 }) as usize + 1;
        let cut = if n == 0 { 0 } else { (bits >> 32) as usize % (n + 1) };
        let data = random::<T>(idx, n);
        match idx % 3 {
            0 => check(&data, XorKey::Array(&random(!idx, n)), cut),
            1 => check(&data, XorKey::Cycle(&random(!idx, n_key)), cut),
            _ => check(&data, XorKey::Seed(bits), cut),
        }
    }
}

#[test]
fn random_lengths_u8() {
    random_lengths::<u8>(1);
}

#[test]
fn random_lengths_u32() {
    random_lengths::<u32>(2);
}

#[test]
fn random_lengths_u64() {
    random_lengths::<u64>(3);
}

#[test]
fn a_seed_means_these_bytes_for_ever() {
    let mut data = [0u8; 12];
    xor_in_place(&mut data, XorKey::Seed(1234567), Simd::detect()).unwrap();
    let words = [12038378876608615338u64, 10060807921611694353];
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    assert_eq!(data, bytes[..12]);

    // Words on both sides of the first block's end, and extreme seeds and indices.
    for (seed, word_idx, word) in [
        (1234567, 255, 9991207368227806994),
        (1234567, 256, 6748894685895815776),
        (0, 0, 668457234388319531),
        (u64::MAX, 1_000_000_000_000, 14149613313506361422),
    ] {
        assert_eq!(KeyStream::new(seed).word(word_idx), word);
    }
}

/// How often each of 64 bits differs between pairs of words, as a share of the pairs.
fn shares_differing(pairs: impl Iterator<Item = (u64, u64)>) -> [f64; 64] {
    let mut n_pairs = 0;
    let mut counts = [0u32; 64];
    for (a, b) in pairs {
        n_pairs += 1;
        for (bit_idx, count) in counts.iter_mut().enumerate() {
            *count += ((a ^ b) >> bit_idx & 1) as u32;
        }
    }
    counts.map(|count| f64::from(count) / f64::from(n_pairs))
}

#[test]
fn a_flipped_bit_of_the_seed_or_the_place_flips_half_of_the_word() {
    const N_PAIRS: u64 = 1 << 14;
    // Six standard deviations of a fair coin, and a margin for 32-bit mixing.
    let tolerance = 6.0 * 0.5 / (N_PAIRS as f64).sqrt() + 0.01;
    let places = |idx: u64| (idx.wrapping_mul(0x5851f42d4c957f2d), idx * 37);
    for bit_idx in 0..64 {
        let by_seed = shares_differing((0..N_PAIRS).map(|idx| {
            let (seed, word_idx) = places(idx);
            let flipped = KeyStream::new(seed ^ 1 << bit_idx);
            (KeyStream::new(seed).word(word_idx), flipped.word(word_idx))
        }));
        let by_place = shares_differing((0..N_PAIRS).map(|idx| {
            let (seed, word_idx) = places(idx);
            let stream = KeyStream::new(seed);
            (stream.word(word_idx), stream.word(word_idx ^ 1 << bit_idx))
        }));
        for (what, shares) in [("seed", by_seed), ("place", by_place)] {
            for (out_idx, share) in shares.into_iter().enumerate() {
                assert!(
                    (share - 0.5).abs() < tolerance,
                    "bit {bit_idx} of the {what} flips bit {out_idx} with probability {share}"
                );
            }
        }
    }
}

#[test]
fn words_are_distinct_over_places_and_seeds() {
    let mut words: Vec<u64> = (0..1000)
        .flat_map(|seed| (0..1000).map(move |word_idx| KeyStream::new(seed).word(word_idx)))
        .collect();
    words.sort_unstable();
    words.dedup();
    // Among a million random words, one repeats with a probability of 3 in 10⁸.
    assert_eq!(words.len(), 1_000_000);
}

#[test]
fn every_byte_is_as_frequent_in_the_stream() {
    let mut bytes = vec![0u8; 1 << 20];
    xor_in_place(&mut bytes, XorKey::Seed(3), Simd::detect()).unwrap();
    let mut counts = [0u32; 256];
    for byte in bytes {
        counts[usize::from(byte)] += 1;
    }
    let chi_square: f64 =
        counts.iter().map(|&count| (f64::from(count) - 4096.0).powi(2) / 4096.0).sum();
    // 255 degrees of freedom: a standard deviation of 22.6 around 255.
    assert!((120.0..390.0).contains(&chi_square), "{chi_square}");
}

#[test]
fn the_stream_can_be_entered_far_away() {
    for simd in Simd::available() {
        let first_idx = u64::MAX - 100;
        let mut far = [0u32; 64];
        xor_part_in_place(&mut far, first_idx, XorKey::Seed(9), simd).unwrap();
        for (idx, &x) in far.iter().enumerate() {
            let element_idx = first_idx + idx as u64;
            let word = KeyStream::new(9).word(element_idx / 2);
            assert_eq!(x, (word >> (32 * (element_idx % 2))) as u32);
        }
    }
}

#[test]
fn keys_that_do_not_fit_are_refused() {
    let mut data = [1u8, 2, 3];
    assert_eq!(
        xor_in_place(&mut data, XorKey::Array(&[1, 2]), Simd::detect()),
        Err(XorError::KeyLength { n_elements: 3, n_key: 2 })
    );
    assert_eq!(
        xor_in_place(&mut data, XorKey::Cycle(&[]), Simd::detect()),
        Err(XorError::EmptyCycle)
    );
    assert_eq!(data, [1, 2, 3]);
}
