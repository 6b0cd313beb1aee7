//! Reads Parquet list columns that pyarrow wrote, and reads back columns written here.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{
    ArrayRef, Float64Array, Int32Array, Int64Array, ListArray, RecordBatch, StringArray,
};
use arrow::datatypes::{Date32Type, UInt32Type, UInt64Type};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use proptest::prelude::*;
use swathe::array::{Array, Dtype, Elements};
use swathe_formats::list_column::{Item, ItemError, ListColumn, ListColumnError, ListColumnWriter};

/// One of the files that pyarrow wrote: see `python/write_list_columns.py`.
fn pyarrows(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/list_column_files").join(name)
}

fn list(elements: impl Into<Elements>) -> Array {
    let elements = elements.into();
    Array::new(vec![elements.len()], elements).unwrap()
}

fn item(row: u64, name: &str, content: Result<Array, ItemError>) -> Item {
    let name = name.into();
    Item { row, name, content }
}

fn all(column: &ListColumn) -> Vec<Item> {
    let rows = column.rows(0..column.n_rows()).unwrap();
    rows.collect::<Result<_, _>>().unwrap()
}

/// Writes a Parquet file of these columns in row groups of 1,000.
fn file(columns: Vec<(&str, ArrayRef)>) -> tempfile::NamedTempFile {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(1000)).build();
    let mut writer =
        ArrowWriter::try_new(file.reopen().unwrap(), batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    file
}

fn u32_lists(lists: &[&[u32]]) -> ArrayRef {
    let lists = lists.iter().map(|list| Some(list.iter().map(|&v| Some(v)).collect::<Vec<_>>()));
    Arc::new(ListArray::from_iter_primitive::<UInt32Type, _, _>(lists))
}

#[test]
fn lists_with_names_and_nulls_of_every_kind() {
    let column = ListColumn::open(&pyarrows("floats.parquet"), None).unwrap();
    assert_eq!((column.name(), column.dtype()), ("values", Dtype::F32));
    let null_name = ItemError::NullName { column: "id".into() };
    let nulls = ItemError::NullElements { n_nulls: 1, first_idx: 1 };
    assert_eq!(
        all(&column),
        [
            item(0, "a", Ok(list(vec![1.5f32, 2.5]))),
            item(1, "b", Ok(list(Vec::<f32>::new()))),
            item(2, "2", Err(null_name.clone())),
            item(3, "d", Err(ItemError::NullList)),
            item(4, "e", Err(nulls.clone())),
        ]
    );
    let mut surveyed = Vec::new();
    let survey = column.survey(&mut |item| {
        surveyed.push((item.name.to_owned(), item.shape.map(<[usize]>::to_vec)));
    });
    survey.unwrap();
    let named = |name: &str, shape| (name.to_owned(), shape);
    assert_eq!(
        surveyed,
        [
            named("a", Ok(vec![2])),
            named("b", Ok(vec![0])),
            named("2", Err(null_name)),
            named("d", Err(ItemError::NullList)),
            named("e", Err(nulls)),
        ]
    );
}

#[test]
fn fixed_size_lists_with_numbers_as_names() {
    let column = ListColumn::open(&pyarrows("fixed.parquet"), Some("words")).unwrap();
    assert_eq!(
        all(&column),
        [
            item(0, "30", Ok(list(vec![1u64, u64::MAX]))),
            item(1, "10", Ok(list(vec![3u64, 4]))),
            item(2, "20", Ok(list(vec![5u64, 6]))),
        ]
    );
}

#[test]
fn large_lists_without_names() {
    let column = ListColumn::open(&pyarrows("large.parquet"), None).unwrap();
    let expected: Vec<_> = (0..5u8)
        .map(|n| item(n.into(), &n.to_string(), Ok(list((0..n).collect::<Vec<u8>>()))))
        .collect();
    assert_eq!(all(&column), expected);
}

#[test]
fn every_codec_of_pyarrow() {
    for codec in ["gzip", "lz4", "brotli"] {
        let column = ListColumn::open(&pyarrows(&format!("{codec}.parquet")), None).unwrap();
        assert_eq!((column.dtype(), column.n_rows()), (Dtype::I16, 300));
        for item in all(&column) {
            let expected: Vec<i16> = (0..item.row as i16 % 5).collect();
            assert_eq!(item.content, Ok(list(expected)), "{codec}");
        }
    }
}

#[test]
fn nested_lists_are_arrays_of_more_axes() {
    let column = ListColumn::open(&pyarrows("nested.parquet"), None).unwrap();
    let tensor = |k: f32, n: usize| {
        let data = [k, 1.0, 2.0, 3.0, 4.0, 5.0].repeat(n);
        Array::new(vec![n, 3, 2], data).unwrap()
    };
    let empty = Array::new(vec![0, 0, 0], Vec::<f32>::new()).unwrap();
    assert_eq!(
        all(&column),
        [
            item(0, "a", Ok(tensor(0.0, 2))),
            item(1, "b", Ok(tensor(1.0, 1))),
            item(2, "c", Ok(empty)),
            item(3, "d", Err(ItemError::NullList)),
        ]
    );
    let column = ListColumn::open(&pyarrows("ragged.parquet"), None).unwrap();
    let items = all(&column);
    assert_eq!(items[0].content, Err(ItemError::Ragged { n: 1, other: 2 }));
    let matrix = Array::new(vec![1, 2], vec![1.0f64, 2.0]).unwrap();
    assert_eq!(items[1].content, Ok(matrix));
}

#[test]
fn extents_in_a_column_of_their_own() {
    let shapes: [&[u64]; 4] = [&[2, 3], &[0, 9], &[4], &[]];
    let shapes = shapes.map(|shape| Some(shape.iter().map(|&n| Some(n)).collect::<Vec<_>>()));
    let shapes: ArrayRef = Arc::new(ListArray::from_iter_primitive::<UInt64Type, _, _>(shapes));
    let lists = u32_lists(&[&[1, 2, 3, 4, 5, 6], &[], &[1, 2, 3], &[7]]);
    let file = file(vec![("x", lists), ("extents", shapes)]);
    let column = ListColumn::open(file.path(), Some("x")).unwrap();
    let column = column.with_shapes("extents").unwrap();
    let contents: Vec<_> = all(&column).into_iter().map(|item| item.content).collect();
    let matrix = Array::new(vec![2, 3], vec![1u32, 2, 3, 4, 5, 6]).unwrap();
    let mismatch = ItemError::ShapeMismatch { shape: vec![4], n: 3 };
    assert_eq!(
        contents,
        [
            Ok(matrix),
            Ok(Array::new(vec![0, 9], Vec::<u32>::new()).unwrap()),
            Err(mismatch),
            Ok(Array::new(vec![], vec![7u32]).unwrap()),
        ]
    );
}

#[test]
fn any_range_of_rows_across_row_groups() {
    let lists: Vec<Vec<u32>> =
        (0..3500u32).map(|i| (0..i % 7).map(|j| i * 7 + j).collect()).collect();
    let borrowed: Vec<&[u32]> = lists.iter().map(Vec::as_slice).collect();
    let file = file(vec![("x", u32_lists(&borrowed))]);
    let column = ListColumn::open(file.path(), None).unwrap();
    assert_eq!(column.n_rows(), 3500);
    for range in [0..1, 999..1001, 1000..2000, 1500..1500, 2999..3500, 3499..3500, 10..3490] {
        let rows = column.rows(range.clone()).unwrap();
        let items: Vec<Item> = rows.collect::<Result<_, _>>().unwrap();
        assert_eq!(items.len() as u64, range.end - range.start);
        for (item, row) in items.iter().zip(range) {
            assert_eq!(item.row, row);
            assert_eq!(item.content, Ok(list(lists[row as usize].clone())));
        }
    }
    assert!(matches!(
        column.rows(3400..3501).err().unwrap(),
        ListColumnError::RowOutOfRange { row: 3501, n_rows: 3500 }
    ));
}

#[test]
fn threads_read_one_column_at_once() {
    let lists: Vec<Vec<u32>> = (0..2000u32).map(|i| vec![i; 50]).collect();
    let borrowed: Vec<&[u32]> = lists.iter().map(Vec::as_slice).collect();
    let file = file(vec![("x", u32_lists(&borrowed))]);
    let column = ListColumn::open(file.path(), None).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let column = &column;
            scope.spawn(move || {
                for item in column.rows(thread * 500..(thread + 1) * 500).unwrap() {
                    let item = item.unwrap();
                    assert_eq!(item.content, Ok(list(vec![item.row as u32; 50])));
                }
            });
        }
    });
}

#[test]
fn columns_that_cannot_be_used() {
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    let lists = u32_lists(&[&[1], &[2]]);
    let dates: ArrayRef =
        Arc::new(ListArray::from_iter_primitive::<Date32Type, _, _>([Some(vec![Some(1)]), None]));
    let floats: ArrayRef = Arc::new(Float64Array::from(vec![1.0, 2.0]));
    let open = |columns, name| {
        let file = file(columns);
        ListColumn::open(file.path(), name).unwrap_err()
    };
    let error = open(vec![("n", numbers.clone())], None);
    assert!(matches!(&error, ListColumnError::NoListColumn { columns } if columns == &["n"]));
    let error = open(vec![("n", numbers.clone())], Some("m"));
    assert!(matches!(&error, ListColumnError::NoSuchColumn { column, .. } if column == "m"));
    let error = open(vec![("n", numbers)], Some("n"));
    assert!(matches!(&error, ListColumnError::NotAList { found, .. } if found == "Int64"));
    let error = open(vec![("a", lists.clone()), ("b", lists.clone())], None);
    assert!(
        matches!(&error, ListColumnError::SeveralListColumns { columns } if columns == &["a", "b"])
    );
    let error = open(vec![("a", dates)], None);
    assert!(
        matches!(&error, ListColumnError::UnsupportedElements { found, .. } if found == "Date32")
    );
    let error = open(vec![("id", floats), ("a", lists)], None);
    assert!(matches!(&error, ListColumnError::UnsupportedNames { column, .. } if column == "id"));
}

#[test]
fn id_goes_before_name() {
    let ids: ArrayRef = Arc::new(Int32Array::from(vec![-7]));
    let names: ArrayRef = Arc::new(StringArray::from(vec!["seven"]));
    let file = file(vec![("name", names), ("x", u32_lists(&[&[1]])), ("id", ids)]);
    let column = ListColumn::open(file.path(), None).unwrap();
    assert_eq!(all(&column), [item(0, "-7", Ok(list(vec![1u32])))]);
}

#[test]
fn files_that_are_not_parquet_or_cut_short() {
    let whole = fs::read(pyarrows("floats.parquet")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cut.parquet");
    let near_the_end = whole.len() - 40..whole.len();
    for n in (0..whole.len()).step_by(29).chain(near_the_end) {
        fs::write(&path, &whole[..n]).unwrap();
        let error = ListColumn::open(&path, None).unwrap_err();
        assert!(matches!(error, ListColumnError::Parquet(_)), "{n}: {error:?}");
    }
    let error = ListColumn::open(&folder.path().join("absent"), None).unwrap_err();
    assert!(matches!(error, ListColumnError::Io(_)));
}

#[test]
fn a_file_that_is_replaced_while_in_use() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.parquet");
    fs::copy(pyarrows("floats.parquet"), &path).unwrap();
    let column = ListColumn::open(&path, None).unwrap();
    fs::copy(pyarrows("large.parquet"), &path).unwrap();
    let error = column.rows(0..2).err().unwrap();
    assert!(matches!(error, ListColumnError::FileChanged), "{error:?}");
}

#[test]
fn what_a_column_does_not_take() {
    let mut writer = ListColumnWriter::new(Vec::new(), "x", Dtype::F32).unwrap();
    let square = Array::new(vec![1, 1], vec![1.0f32]).unwrap();
    assert!(matches!(
        writer.push(0, "a", Some(&square)).unwrap_err(),
        ListColumnError::NotOneDimensional { shape } if shape == [1, 1]
    ));
    assert!(matches!(
        writer.push(0, "a", Some(&list(vec![1.0f64]))).unwrap_err(),
        ListColumnError::DtypeMismatch { expected: Dtype::F32, found: Dtype::F64 }
    ));
}

#[test]
fn many_rows_make_several_row_groups() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.parquet");
    let mut writer = ListColumnWriter::create(&path, "x", Dtype::F64).unwrap();
    let large = list((0..1_500_000).map(f64::from).collect::<Vec<_>>());
    for row in 0..4 {
        writer.push(row, &format!("item {row}"), Some(&large)).unwrap();
    }
    for row in 4..70_004 {
        writer.push(row, &row.to_string(), Some(&list(vec![row as f64]))).unwrap();
    }
    assert!(!path.exists());
    writer.finish().unwrap().commit().unwrap();

    let builder = parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder::try_new(
        File::open(&path).unwrap(),
    )
    .unwrap();
    assert_eq!(builder.metadata().num_row_groups(), 5);
    let column = ListColumn::open(&path, None).unwrap();
    for item in column.rows(0..70_004).unwrap() {
        let item = item.unwrap();
        match item.row {
            0..4 => assert_eq!(item.content.as_ref(), Ok(&large)),
            row => assert_eq!(item.content, Ok(list(vec![row as f64]))),
        }
    }
}

fn elements(dtype: Dtype, words: &[u64]) -> Elements {
    let mut elements = Elements::empty(dtype);
    // Floats are finite, so `==` compares them correctly.
    swathe::with_elements!(&mut elements, v => *v = words.iter().map(|&w| w as _).collect());
    elements
}

proptest! {
    #[test]
    fn what_is_written_comes_back(
        rows in prop::collection::vec(
            prop::option::weighted(0.9, prop::collection::vec(any::<u64>(), 0..40)),
            0..30,
        ),
        dtype in prop::sample::select(Dtype::ALL),
    ) {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut writer = ListColumnWriter::new(file.reopen().unwrap(), "x", dtype).unwrap();
        let mut expected = Vec::new();
        for (row, words) in rows.iter().enumerate() {
            let array = words.as_ref().map(|words| list(elements(dtype, words)));
            let name = format!("item {row}");
            writer.push(row as u64, &name, array.as_ref()).unwrap();
            expected.push(item(row as u64, &name, array.ok_or(ItemError::NullList)));
        }
        writer.finish().unwrap();
        let column = ListColumn::open(file.path(), None).unwrap();
        prop_assert_eq!(column.dtype(), dtype);
        prop_assert_eq!(all(&column), expected);
    }
}
