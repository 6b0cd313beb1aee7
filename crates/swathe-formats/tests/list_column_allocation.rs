//! The memory used to read list columns, both intact and damaged.

use std::fs;
use std::panic;
use std::path::Path;
use std::sync::Once;

use swathe_testing::counting_allocator::{Counting, peak_bytes};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

use proptest::prelude::*;
use swathe::array::{Array, Dtype};
use swathe_formats::list_column::{ListColumn, ListColumnError, ListColumnWriter};

#[test]
fn reading_and_surveying_hold_a_few_batches() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.parquet");
    // 64 MiB in rows of 64 KiB.
    let array = Array::new(vec![8192], (0..8192).map(f64::from).collect::<Vec<_>>()).unwrap();
    let mut writer = ListColumnWriter::create(&path, "x", Dtype::F64).unwrap();
    let (_, peak) = peak_bytes(|| {
        for row in 0..1024 {
            writer.push(row, &row.to_string(), Some(&array)).unwrap();
        }
    });
    assert!(peak < 64 << 20, "writing held {peak} bytes");
    writer.finish().unwrap().commit().unwrap();

    let column = ListColumn::open(&path, None).unwrap();
    let (n_items, peak) = peak_bytes(|| column.rows(0..1024).unwrap().map(Result::unwrap).count());
    assert_eq!(n_items, 1024);
    assert!(peak < 16 << 20, "reading held {peak} bytes");
    let ((), peak) = peak_bytes(|| {
        let survey = column.survey(&mut |item| assert_eq!(item.shape, Ok(&[8192][..])));
        survey.unwrap();
    });
    assert!(peak < 16 << 20, "surveying held {peak} bytes");
}

/// The reader catches a panic of the decoder, but the standard hook would print it first. With
/// `RUST_BACKTRACE` set, the symbols that the hook loads would count as memory of the reader.
fn hush_the_decoder() {
    static HUSHED: Once = Once::new();
    HUSHED.call_once(|| {
        let standard = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let of_the_decoder = info.location().is_some_and(|at| {
                ["parquet-", "arrow-"].iter().any(|name| at.file().contains(name))
            });
            if !of_the_decoder {
                standard(info);
            }
        }));
    });
}

proptest! {
    /// Any damage leads to an error or an answer, never to a panic or to more rows than declared.
    #[test]
    fn damaged_files_are_read_or_refused(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        name in prop::sample::select(vec!["floats.parquet", "fixed.parquet", "large.parquet"]),
    ) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/list_column_files");
        let mut bytes = fs::read(folder.join(name)).unwrap();
        for (at, byte) in &damage {
            let at = at.index(bytes.len());
            bytes[at] = *byte;
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), bytes).unwrap();
        hush_the_decoder();
        let (_, peak) = peak_bytes(|| {
            if let Ok(column) = ListColumn::open(file.path(), None)
                && let Ok(rows) = column.rows(0..column.n_rows())
            {
                let n_items = rows.take_while(Result::is_ok).take(100).count() as u64;
                assert!(n_items <= column.n_rows());
            }
        });
        prop_assert!(peak < 256 << 10, "{} bytes", peak);
    }
}

/// Files of a few hundred bytes whose rows are long runs of equal values.
#[test]
fn what_takes_more_than_the_limit_is_refused_before_it_is_decoded() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/list_column_files");
    let refused = |name: &str, bytes_max: u64, row: u64, n_elements: u64| {
        let path = folder.join(name);
        let (column, peak) =
            peak_bytes(|| ListColumn::open(&path, None).unwrap().within(bytes_max));
        assert!(peak < 1 << 20, "{name}: {peak} bytes");
        let Err(ListColumnError::RowTooLarge { row: found, n_elements: n, row_bytes, .. }) = column
        else {
            panic!("{name} is not refused");
        };
        assert_eq!((found, n, row_bytes), (row, n_elements, 8 * n_elements), "{name}");
    };
    refused("zeros.parquet", 64 << 20, 0, 200_000_000);
    for name in ["long.parquet", "long2.parquet"] {
        refused(name, 4 << 20, 700, 1_000_000);
        // One row at a time fits, however many rows the group has.
        let column = ListColumn::open(&folder.join(name), None).unwrap().within(9 << 20).unwrap();
        let (lengths, peak) = peak_bytes(|| {
            let mut lengths = Vec::new();
            column.survey(&mut |item| lengths.push(item.shape.map(|shape| shape[0]).ok())).unwrap();
            lengths
        });
        assert!(peak < 18 << 20, "{name}: {peak} bytes");
        let expected = (0..700).map(|k| k % 5).chain([1_000_000]).chain((0..500).map(|k| k % 3));
        let expected: Vec<_> = expected.map(Some).chain([None, Some(1)]).collect();
        assert_eq!(lengths, expected, "{name}");
    }
    // What is far below the limit is not looked at.
    ListColumn::open(&folder.join("floats.parquet"), None).unwrap().within(1 << 10).unwrap();
}
