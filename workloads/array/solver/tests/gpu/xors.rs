//! XOR gives the CPU's bytes.

use std::sync::Arc;

use swathe_array::{Array, Elements, Item, Key, Operation};

use crate::{Random, check, gpu, one, two};

/// An element made of random bits.
trait Element: Copy + Default + 'static {
    fn of(bits: u64) -> Self;
}

impl Element for u8 {
    fn of(bits: u64) -> u8 {
        bits as u8
    }
}

impl Element for u32 {
    fn of(bits: u64) -> u32 {
        bits as u32
    }
}

impl Element for u64 {
    fn of(bits: u64) -> u64 {
        bits
    }
}

fn array<T: Element>(shape: &[usize], random: &mut Random) -> Array
where
    Elements: From<Vec<T>>,
{
    let n: usize = shape.iter().product();
    let data: Vec<T> = (0..n).map(|_| T::of(random.next())).collect();
    Array::new(shape.to_vec(), data).unwrap()
}

/// Empty, less than a word, odd lengths, around a workgroup's block, several blocks.
const LENGTHS: [usize; 20] =
    [0, 1, 2, 3, 4, 5, 7, 31, 0, 257, 511, 512, 513, 1023, 1024, 1025, 4095, 4097, 10_007, 1];

fn keys<T: Element>(random: &mut Random) -> Vec<Key>
where
    Elements: From<Vec<T>>,
{
    let mut keys = vec![Key::Seed(0), Key::Seed(1), Key::Seed(0xFEDC_BA98_7654_3210)];
    for n in [1, 2, 3, 4, 5, 6, 255, 1000, 3001, 50_000] {
        keys.push(Key::Cycle(Arc::new(array::<T>(&[n], random))));
    }
    keys
}

fn conformance<T: Element>()
where
    Elements: From<Vec<T>>,
{
    let Some(gpu) = gpu() else { return };
    let mut random = Random(size_of::<T>() as u64);
    let items: Vec<Item> = LENGTHS.iter().map(|&n| one(array::<T>(&[n], &mut random))).collect();
    for key in keys::<T>(&mut random) {
        let n_answers = check(&Operation::Xor(key), &items, &gpu).len();
        assert_eq!(n_answers, items.len());
    }
    let pairs: Vec<Item> = LENGTHS
        .iter()
        .map(|&n| two(array::<T>(&[n, 1], &mut random), array::<T>(&[n, 1], &mut random)))
        .collect();
    check(&Operation::Xor(Key::Second), &pairs, &gpu);
    for n in [1, 3, 1030] {
        let same: Vec<Item> = (0..5).map(|_| one(array::<T>(&[n], &mut random))).collect();
        let key = Key::Array(Arc::new(array::<T>(&[n], &mut random)));
        assert_eq!(check(&Operation::Xor(key), &same, &gpu).len(), 5);
    }
}

#[test]
fn bytes() {
    conformance::<u8>();
}

#[test]
fn words() {
    conformance::<u32>();
}

#[test]
fn pairs_of_words() {
    conformance::<u64>();
}

#[test]
fn items_that_do_not_fit_fail_as_on_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let mut random = Random(5);
    let bytes = |n: usize, random: &mut Random| array::<u8>(&[n], random);
    let items = vec![
        two(bytes(4, &mut random), bytes(4, &mut random)),
        two(bytes(4, &mut random), bytes(5, &mut random)),
        two(bytes(8, &mut random), array::<u32>(&[8], &mut random)),
        one(bytes(4, &mut random)),
        two(bytes(6, &mut random), array::<u8>(&[2, 3], &mut random)),
        two(bytes(9, &mut random), bytes(9, &mut random)),
    ];
    assert_eq!(check(&Operation::Xor(Key::Second), &items, &gpu).len(), 2);
    let key = Key::Array(Arc::new(bytes(4, &mut random)));
    let items: Vec<Item> = [4, 3, 5, 0, 4].map(|n| one(bytes(n, &mut random))).into();
    assert_eq!(check(&Operation::Xor(key), &items, &gpu).len(), 2);
    let empty = Key::Cycle(Arc::new(bytes(0, &mut random)));
    assert_eq!(check(&Operation::Xor(empty), &items, &gpu).len(), 0);
    let other = Key::Cycle(Arc::new(array::<u64>(&[3], &mut random)));
    assert_eq!(check(&Operation::Xor(other), &items, &gpu).len(), 0);
}

#[test]
fn as_many_tiny_lanes_as_a_launch_can_have() {
    let Some(gpu) = gpu() else { return };
    let mut random = Random(6);
    let items: Vec<Item> = (0..65_536)
        .map(|_| {
            let n = random.below(6);
            one(array::<u8>(&[n], &mut random))
        })
        .collect();
    for key in [Key::Seed(9), Key::Cycle(Arc::new(array::<u8>(&[3], &mut random)))] {
        assert_eq!(check(&Operation::Xor(key), &items, &gpu).len(), 65_536);
    }
}
