//! Memory is bounded by the size of a malformed file, and no file makes the reader panic.

mod npz_by_hand;

use std::io::Cursor;

use swathe_testing::counting_allocator::{Counting, peak_bytes};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

use proptest::prelude::*;
use swathe::array::Array;
use swathe_formats::npy::{self, NpyError};
use swathe_formats::npz::{Compression, MemberFault, Npz, NpzError, NpzWriter};

/// A `.npy` file of u8 whose header says `shape`, with `n_bytes` of data.
fn npy_declaring(shape: &str, fortran_order: bool, n_bytes: usize) -> Vec<u8> {
    let order = if fortran_order { "True" } else { "False" };
    let text = format!("{{'descr': '|u1', 'fortran_order': {order}, 'shape': {shape}}}");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((text.len() as u16).to_le_bytes());
    bytes.extend(text.as_bytes());
    bytes.resize(bytes.len() + n_bytes, 0);
    bytes
}

#[test]
fn a_hundred_bytes_that_declare_a_terabyte() {
    for fortran_order in [false, true] {
        let bytes = npy_declaring("(1048576, 1048576)", fortran_order, 15);
        assert!(bytes.len() <= 100);
        let (result, peak) = peak_bytes(|| npy::read(&bytes[..], bytes.len() as u64));
        assert!(matches!(
            result,
            Err(NpyError::Truncated { expected_bytes, actual_bytes: 15 }) if expected_bytes == 1 << 40
        ));
        assert!(peak < 1 << 10, "{peak} bytes");
    }
}

#[test]
fn a_header_that_declares_four_gigabytes_of_itself() {
    let bytes = b"\x93NUMPY\x02\x00\xff\xff\xff\xff{'descr': ";
    let (result, peak) = peak_bytes(|| npy::read(&bytes[..], bytes.len() as u64));
    assert!(matches!(result, Err(NpyError::HeaderTruncated { .. })));
    assert!(peak < 1 << 10, "{peak} bytes");
}

#[test]
fn a_member_that_lies_within_what_deflate_could_do() {
    // About 1,000 compressed bytes of noise, which could inflate to a megabyte and declare so.
    let declared = 1_000_000;
    for fortran_order in [false, true] {
        let mut content = npy_declaring("(500000, 2)", fortran_order, 0);
        let header_bytes = content.len();
        let mut state = 1u64;
        content.extend((0..1000).map(|_| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            (state >> 56) as u8
        }));
        let archive = npz_by_hand::archive(&content, header_bytes + declared);
        let npz = Npz::from_bytes(archive).unwrap();
        let (result, peak) = peak_bytes(|| npz.read("f"));
        assert!(
            matches!(
                result,
                Err(NpzError::Member { fault: MemberFault::InflatesShort { .. }, .. })
            ),
            "{result:?}"
        );
        assert!(peak < 128 << 10, "{peak} bytes");
    }
}

#[test]
fn a_bomb_gives_no_more_than_it_declares() {
    // 64 MiB of zeros behind a member that declares 1,000 bytes.
    let mut content = npy_declaring("(1000,)", false, 1000);
    let declared = content.len();
    content.resize(64 << 20, 0);
    let npz = Npz::from_bytes(npz_by_hand::archive(&content, declared)).unwrap();
    let (result, peak) = peak_bytes(|| npz.read("f"));
    assert!(
        matches!(result, Err(NpzError::Member { fault: MemberFault::InflatesBeyond { .. }, .. })),
        "{result:?}"
    );
    assert!(peak < 128 << 10, "{peak} bytes");
}

#[test]
fn honest_arrays_are_held_once() {
    let n_bytes = 8 << 20;
    for fortran_order in [false, true] {
        let bytes = npy_declaring("(4096, 2048)", fortran_order, n_bytes);
        let (array, peak) = peak_bytes(|| npy::read(&bytes[..], bytes.len() as u64).unwrap());
        assert_eq!(array.size_bytes(), n_bytes);
        assert!(peak < n_bytes + (128 << 10), "{peak} bytes");
    }
}

/// Changes, removes or inserts bytes.
#[derive(Clone, Debug)]
enum Damage {
    Set(usize, u8),
    Flip(usize, u8),
    Cut(usize, usize),
    Insert(usize, Vec<u8>),
}

fn damages() -> impl Strategy<Value = Vec<Damage>> {
    let at = 0usize..4096;
    prop::collection::vec(
        prop_oneof![
            3 => (at.clone(), prop_oneof![Just(0), Just(0xff), any::<u8>()]).prop_map(|(i, b)| Damage::Set(i, b)),
            3 => (at.clone(), 0u8..8).prop_map(|(i, bit)| Damage::Flip(i, bit)),
            1 => (at.clone(), 1usize..40).prop_map(|(i, n)| Damage::Cut(i, n)),
            1 => (at, prop::collection::vec(any::<u8>(), 1..9)).prop_map(|(i, b)| Damage::Insert(i, b)),
        ],
        1..5,
    )
}

fn damaged(whole: &[u8], damages: &[Damage]) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    for damage in damages {
        let n = bytes.len().max(1);
        match damage {
            Damage::Set(i, byte) if !bytes.is_empty() => bytes[i % n] = *byte,
            Damage::Flip(i, bit) if !bytes.is_empty() => bytes[i % n] ^= 1 << bit,
            Damage::Cut(i, n_cut) => {
                let start = (i % n).min(bytes.len());
                let end = (start + n_cut).min(bytes.len());
                bytes.drain(start..end);
            }
            Damage::Insert(i, more) => {
                let at = (i % n).min(bytes.len());
                bytes.splice(at..at, more.iter().copied());
            }
            _ => {}
        }
    }
    bytes
}

fn sound_archive(compression: Compression) -> Vec<u8> {
    let mut writer = NpzWriter::new(Cursor::new(Vec::new()), compression).unwrap();
    let a = Array::new(vec![3, 5], (0..15).collect::<Vec<u32>>()).unwrap();
    let b = Array::new(vec![200], vec![0.0f64; 200]).unwrap();
    writer.add("a", &a).unwrap();
    writer.add("b", &b).unwrap();
    writer.finish().unwrap().into_inner()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn damaged_npy_files_are_read_or_refused(damages in damages(), fortran_order: bool) {
        let bytes = damaged(&npy_declaring("(4, 10)", fortran_order, 40), &damages);
        let (result, peak) = peak_bytes(|| npy::read(&bytes[..], bytes.len() as u64));
        if let Ok(array) = result {
            prop_assert!(array.size_bytes() <= bytes.len());
        }
        prop_assert!(peak < 2048 + 4 * bytes.len(), "{} bytes of {}", peak, bytes.len());
    }

    #[test]
    fn damaged_npz_files_are_read_or_refused(damages in damages(), deflate: bool) {
        let compression = if deflate { Compression::Deflate } else { Compression::Stored };
        let bytes = damaged(&sound_archive(compression), &damages);
        let n_bytes = bytes.len();
        let (_, peak) = peak_bytes(|| {
            let npz = Npz::from_bytes(bytes)?;
            for name in npz.names().iter() {
                // Whatever the answer: it must come without a panic.
                let _ = npz.header(name);
                let _ = npz.read(name);
            }
            Ok::<(), NpzError>(())
        });
        // The inflater's state is 43 KiB; the rest are buffers and the output.
        prop_assert!(peak < (64 << 10) + 8 * n_bytes, "{} bytes of {}", peak, n_bytes);
    }
}
