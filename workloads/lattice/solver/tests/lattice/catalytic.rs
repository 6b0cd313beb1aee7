//! Paths found in borrowed memory are correct, and the memory is restored.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use proptest::prelude::*;
use swathe_lattice::Lattice;
use swathe_lattice::{CatalyticAnswer, CatalyticSettings, Certainty, LatticeError, catalytic_path};

use crate::GO_ON;
use crate::plain::{Plain, Random, random_lattice};

#[test]
fn five_hundred_random_lattices_equal_the_plain_search() {
    let mut random = Random(4);
    let (mut n_found, mut n_detours, mut n_separate) = (0, 0, 0);
    while n_found + n_separate < 500 {
        let lattice = random_lattice(&mut random, 200);
        let plain = Plain::new(&lattice);
        if plain.free.is_empty() {
            continue;
        }
        let (from, to) = (random.of(&plain.free), random.of(&plain.free));
        let mut words = someone_elses_data(&lattice, &mut random);
        let before = words.clone();
        let settings = CatalyticSettings { seed: random.next(), length_max: Some(1 << 40) };
        let (from64, to64) = (from.into(), to.into());
        let answer = catalytic_path(&lattice, from64, to64, &mut words, &settings, GO_ON).unwrap();
        assert_eq!(words, before);
        match answer {
            CatalyticAnswer::Found(path) => {
                n_found += 1;
                assert_eq!(Some(path.length()), plain.distances(from)[to as usize]);
                plain.check_path(&path.vertices, from, to);
                n_detours += usize::from(path.certainty != Certainty::Exact);
            }
            CatalyticAnswer::NotFound { is_capped, .. } => {
                n_separate += 1;
                assert_eq!(plain.distances(from)[to as usize], None);
                assert!(!is_capped);
            }
        }
    }
    assert!(
        n_found > 200 && n_detours > 10 && n_separate > 50,
        "{n_found} {n_detours} {n_separate}"
    );
}

/// So many vertices halfway that they are tested in several groups.
#[test]
fn wide_lattices_equal_the_plain_search() {
    let mut random = Random(6);
    for (sizes, percent) in [(&[10; 4][..], 20), (&[22; 3], 30), (&[22; 3], 40), (&[4; 6], 40)] {
        let lattice = scattered(&mut random, sizes, percent);
        let plain = Plain::new(&lattice);
        let mut words = someone_elses_data(&lattice, &mut random);
        let before = words.clone();
        let last = lattice.n_vertices() as u64 - 1;
        let settings = CatalyticSettings::default();
        let answer = catalytic_path(&lattice, 0, last, &mut words, &settings, GO_ON).unwrap();
        assert_eq!(words, before);
        let CatalyticAnswer::Found(path) = answer else {
            panic!("so much is free that there is a path");
        };
        assert_eq!(Some(path.length()), plain.distances(0)[last as usize]);
        plain.check_path(&path.vertices, 0, last as u32);
    }
}

#[test]
fn data_of_any_kind_gives_the_same_path() {
    let mut random = Random(5);
    let lattice = walls(&mut random, 20, 21);
    let plain = Plain::new(&lattice);
    let (from, to) = (plain.free[0], plain.free[plain.free.len() - 1]);
    let n = lattice.n_vertices() as usize;
    let settings = CatalyticSettings { seed: 9, length_max: Some(1000) };
    let noise: Vec<u64> = (0..n).map(|_| random.next()).collect();
    let mut answers = Vec::new();
    for mut words in [vec![0; n], vec![u64::MAX; n], noise] {
        let before = words.clone();
        let (from, to) = (from.into(), to.into());
        answers.push(catalytic_path(&lattice, from, to, &mut words, &settings, GO_ON).unwrap());
        assert_eq!(words, before);
    }
    let CatalyticAnswer::Found(path) = &answers[0] else {
        panic!("each wall has a gap");
    };
    assert_eq!(Some(path.length()), plain.distances(from)[to as usize]);
    assert!(path.length() > 60, "the walls should force detours");
    assert_eq!(path.certainty, Certainty::Probable { n_seeds: 2 });
    assert!(path.clean_bytes < 8 * n as u64 * 2);
    assert!(answers.iter().all(|answer| *answer == answers[0]));
}

#[test]
fn a_cap_on_the_length_is_reported() {
    // A wall with a gap at the far end: the path from 0 to 2 has 2 + 2 · 9 steps.
    let blocked = (0..9).map(|y| y * 3 + 1);
    let lattice = Lattice::new(&[10, 3]).unwrap().with_blocked(blocked).unwrap();
    let mut words: Vec<u64> = (0..30).collect();
    let mut find = |length_max| {
        let settings = CatalyticSettings { seed: 0, length_max: Some(length_max) };
        let answer = catalytic_path(&lattice, 0, 2, &mut words, &settings, GO_ON).unwrap();
        assert!(words.iter().copied().eq(0..30));
        answer
    };
    for length_max in [0, 1, 2, 3, 18, 19] {
        let CatalyticAnswer::NotFound { length_max: reported, is_capped, .. } = find(length_max)
        else {
            panic!("too long for {length_max}");
        };
        assert_eq!(reported, length_max / 2 * 2);
        assert!(is_capped);
    }
    for length_max in [20, 21, u64::MAX] {
        assert!(matches!(find(length_max), CatalyticAnswer::Found(path) if path.length() == 20));
    }
}

#[test]
fn errors_leave_the_memory_alone() {
    let lattice = Lattice::new(&[5, 5]).unwrap().with_blocked([3]).unwrap();
    let mut words: Vec<u64> = (100..124).collect();
    let settings = CatalyticSettings::default();
    let mut error = |from, to| catalytic_path(&lattice, from, to, &mut words, &settings, GO_ON);
    assert_eq!(error(3, 0), Err(LatticeError::Blocked { vertex: 3 }));
    assert!(matches!(error(0, 25), Err(LatticeError::OutOfRange { .. })));
    assert_eq!(error(0, 24), Err(LatticeError::ScratchTooSmall { n_words: 24, n_words_min: 25 }));
    assert!(words.into_iter().eq(100..124));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// After an interruption at a random poll, by a stop or by a panic, the memory is restored.
    #[test]
    fn an_interruption_restores_the_memory(seed: u64, moment in 0.0..1.0_f64, panics: bool) {
        let mut random = Random(seed);
        let (lattice, length_max) = if seed % 2 == 0 {
            (walls(&mut random, 30, 30), 2000)
        } else {
            (scattered(&mut random, &[20; 3], 60), 100)
        };
        let mut words = someone_elses_data(&lattice, &mut random);
        let before = words.clone();
        let settings = CatalyticSettings { seed, length_max: Some(length_max) };
        let last = lattice.n_vertices() as u64 - 1;

        let n_polls = Cell::new(0_u64);
        let count = || { n_polls.set(n_polls.get() + 1); false };
        let answer = catalytic_path(&lattice, 0, last, &mut words, &settings, &count);
        prop_assert!(answer.is_ok());
        prop_assert_eq!(first_difference(&words, &before), None);
        prop_assert!(n_polls.get() > 3);

        let n_left = Cell::new((n_polls.get() as f64 * moment) as u64);
        let stop = || {
            if n_left.get() > 0 {
                n_left.set(n_left.get() - 1);
                return false;
            }
            if panics {
                std::panic::resume_unwind(Box::new("a panic in the closure"));
            }
            true
        };
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            catalytic_path(&lattice, 0, last, &mut words, &settings, &stop)
        }));
        match outcome {
            Ok(answer) => prop_assert!(!panics && answer == Err(LatticeError::Interrupted)),
            Err(_) => prop_assert!(panics),
        }
        prop_assert_eq!(first_difference(&words, &before), None);
    }
}

/// The first position where two buffers differ, so that a failure prints neither.
fn first_difference(a: &[u64], b: &[u64]) -> Option<usize> {
    a.iter().zip(b).position(|(a, b)| a != b)
}

/// One word per vertex, and a few more that the search must not touch.
fn someone_elses_data(lattice: &Lattice, random: &mut Random) -> Vec<u64> {
    (0..lattice.n_vertices() + 5).map(|_| random.next()).collect()
}

/// Walls across every second row, each with one gap.
fn walls(random: &mut Random, n_rows: u64, row_length: u64) -> Lattice {
    let mut blocked = Vec::new();
    for row in (1..n_rows - 1).step_by(2) {
        let gap = random.below(row_length);
        blocked.extend((0..row_length).filter(|&x| x != gap).map(|x| row * row_length + x));
    }
    let sizes = [n_rows as u32, row_length as u32];
    Lattice::new(&sizes).unwrap().with_blocked(blocked).unwrap()
}

/// Vertices blocked at random, except the first and the last.
fn scattered(random: &mut Random, sizes: &[u32], percent: u64) -> Lattice {
    let n_vertices: u64 = sizes.iter().map(|&size| u64::from(size)).product();
    let blocked: Vec<u64> = (1..n_vertices - 1).filter(|_| random.below(100) < percent).collect();
    Lattice::new(sizes).unwrap().with_blocked(blocked).unwrap()
}
