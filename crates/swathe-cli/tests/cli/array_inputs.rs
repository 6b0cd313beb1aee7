//! The files that `swathe array` reads and writes.

use std::fs;
use std::path::Path;

use swathe::array::{Array, Dtype, Elements};
use swathe_formats::list_column::ListColumnWriter;
use swathe_formats::npy;
use swathe_formats::npz::Npz;

use crate::program::{Random, failures, json, result_hash, save, swathe};

fn floats(values: &[f32]) -> Array {
    Array::new(vec![values.len()], values.to_vec()).unwrap()
}

fn read(path: &Path, name: &str) -> Array {
    Npz::open(path).unwrap().read(name).unwrap()
}

fn names(path: &Path) -> Vec<String> {
    let npz = Npz::open(path).unwrap();
    npz.names().iter().map(str::to_owned).collect()
}

#[test]
fn all_formats_give_the_same_answers() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let mut random = Random(1);
    let arrays: Vec<(String, Array)> =
        (0..5).map(|k| (format!("a{k}"), random.floats(&[k * 100]))).collect();
    save(folder.path(), "in.npz", &arrays);
    for (name, array) in &arrays {
        npy::save(&at(&format!("{name}.npy")), array).unwrap();
    }
    let mut parquet = ListColumnWriter::create(&at("in.parquet"), "values", Dtype::F32).unwrap();
    for (row, (name, array)) in arrays.iter().enumerate() {
        parquet.push(row as u64, name, Some(array)).unwrap();
    }
    parquet.finish().unwrap().commit().unwrap();
    for (out, inputs) in [
        ("npz", "in.npz"),
        ("npy", "a0.npy a1.npy a2.npy a3.npy a4.npy"),
        ("parquet", "in.parquet --column values"),
    ] {
        swathe(folder.path(), &format!("array map negate {inputs} --out {out}")).expect(0);
        swathe(folder.path(), &format!("array map negate {inputs} --out {out}.npz")).expect(0);
        assert_eq!(result_hash(&at(out)), result_hash(&at("npz")), "{inputs}");
        assert_eq!(names(&at(&format!("{out}.npz"))), ["a0", "a1", "a2", "a3", "a4"]);
        for (name, array) in &arrays {
            let Elements::F32(input) = array.elements() else { unreachable!("f32") };
            let negated: Vec<f32> = input.iter().map(|x| -x).collect();
            let result = read(&at(&format!("{out}.npz")), name);
            assert_eq!(result, Array::new(array.shape().to_vec(), negated).unwrap());
        }
    }
}

#[test]
fn bad_members_fail_alone() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let good = [("a", floats(&[4.0])), ("b", floats(&[9.0, 16.0])), ("c", floats(&[25.0]))];
    let good: Vec<(String, Array)> = good.map(|(name, array)| (name.to_owned(), array)).to_vec();
    let bytes = fs::read(save(folder.path(), "in.npz", &good)).unwrap();
    // The second member's type becomes Python objects; the header keeps its length.
    let header = b"'descr': '<f4'";
    let second =
        bytes.windows(header.len()).enumerate().filter(|(_, w)| w == header).nth(1).unwrap().0;
    let mut bad = bytes.clone();
    bad[second..second + header.len()].copy_from_slice(b"'descr': '|O' ");
    fs::write(at("objects.npz"), &bad).unwrap();
    // The second member's contents change, so its checksum does not match.
    let mut bad = bytes.clone();
    let number = 9.0f32.to_le_bytes();
    let data = bytes.windows(4).position(|window| window == number).unwrap();
    bad[data] ^= 1;
    fs::write(at("flipped.npz"), &bad).unwrap();
    for name in ["objects", "flipped"] {
        swathe(folder.path(), &format!("array map sqrt {name}.npz --out {name}")).expect(1);
        let failed = failures(&at(name));
        assert_eq!(failed.len(), 1, "{failed:?}");
        assert_eq!((failed[0].0, failed[0].1.as_str(), failed[0].2.as_str()), (1, "b", "failed"));
        let ended =
            swathe(folder.path(), &format!("array map sqrt {name}.npz --out {name}-out.npz"))
                .expect(1);
        assert!(ended.stderr.contains("failed: b: "), "{}", ended.stderr);
        assert_eq!(names(&at(&format!("{name}-out.npz"))), ["a", "c"]);
        assert_eq!(read(&at(&format!("{name}-out.npz")), "c"), floats(&[5.0]));
    }
    // A truncated file has no directory, so it is not an .npz file at all.
    fs::write(at("cut.npz"), &bytes[..bytes.len() / 2]).unwrap();
    swathe(folder.path(), "array map sqrt cut.npz --out cut").expect(2);
}

#[test]
fn operands_that_do_not_fit_fail_alone() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let named = |arrays: Vec<(&str, Array)>| -> Vec<(String, Array)> {
        arrays.into_iter().map(|(name, array)| (name.to_owned(), array)).collect()
    };
    let first = named(vec![
        ("good", floats(&[1.0, 2.0])),
        ("long", floats(&[1.0, 2.0, 3.0])),
        ("wide", Array::new(vec![2], vec![1.0f64, 2.0]).unwrap()),
        ("bytes", Array::new(vec![2], vec![1u8, 2]).unwrap()),
        ("alone", floats(&[1.0])),
    ]);
    let second =
        named(["good", "long", "wide", "bytes"].map(|name| (name, floats(&[10.0, 20.0]))).to_vec());
    save(folder.path(), "first.npz", &first);
    save(folder.path(), "second.npz", &second);
    swathe(folder.path(), "array map add first.npz --with second.npz --out run").expect(1);
    let failed = failures(&at("run"));
    let failed_names: Vec<&str> = failed.iter().map(|(_, id, _, _)| id.as_str()).collect();
    assert_eq!(failed_names, ["long", "bytes", "alone"], "{failed:?}");
    assert!(
        failed[1].3.contains("add does not work on u8 elements; it takes f32 or f64; convert"),
        "{failed:?}"
    );
    assert!(failed[2].3.contains("--with has no item called 'alone'"), "{failed:?}");
    swathe(folder.path(), "array map add first.npz --with second.npz --out sums.npz").expect(1);
    assert_eq!(names(&at("sums.npz")), ["good", "wide"]);
    // Single and double precision give double.
    let wide = Array::new(vec![2], vec![11.0f64, 22.0]).unwrap();
    assert_eq!(read(&at("sums.npz"), "wide"), wide);
    assert_eq!(read(&at("sums.npz"), "good"), floats(&[11.0, 22.0]));
}

#[test]
fn two_items_of_one_name_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    save(folder.path(), "a.npz", &[("x".to_owned(), floats(&[1.0]))]);
    npy::save(&folder.path().join("x.npy"), &floats(&[1.0])).unwrap();
    let ended = swathe(folder.path(), "array map sqrt a.npz x.npy --out run").expect(2);
    assert!(
        ended.stderr.contains("two items are called 'x', in a.npz and in x.npy"),
        "{}",
        ended.stderr
    );
}

#[test]
fn xor_twice_restores_every_byte() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let mut random = Random(9);
    let mut items: Vec<(String, Array)> =
        (0..9).map(|k| (format!("b{k}"), random.bytes(k * 37))).collect();
    items.push(("words".to_owned(), Array::new(vec![3], vec![1u32, 2, u32::MAX]).unwrap()));
    items.push(("longs".to_owned(), Array::new(vec![2], vec![1u64, u64::MAX]).unwrap()));
    save(folder.path(), "in.npz", &items);
    swathe(folder.path(), "array xor in.npz --key-seed 42 --out hidden.npz").expect(0);
    assert_ne!(read(&at("hidden.npz"), "b8"), items[8].1);
    swathe(folder.path(), "array xor hidden.npz --out again.npz").expect(0);
    assert_eq!(fs::read(at("again.npz")).unwrap(), fs::read(at("in.npz")).unwrap());
}

#[test]
fn short_keys_take_the_type_of_the_items() {
    let folder = tempfile::tempdir().unwrap();
    let cases = [
        (
            "u8",
            Array::new(vec![3], vec![1u8, 2, 3]).unwrap(),
            Array::new(vec![3], vec![254u8, 3, 252]).unwrap(),
        ),
        (
            "u32",
            Array::new(vec![3], vec![1u32, 2, 3]).unwrap(),
            Array::new(vec![3], vec![254u32, 3, 252]).unwrap(),
        ),
        (
            "u64",
            Array::new(vec![3], vec![1u64, 2, 3]).unwrap(),
            Array::new(vec![3], vec![254u64, 3, 252]).unwrap(),
        ),
    ];
    for (name, input, expected) in cases {
        save(folder.path(), "in.npz", &[("x".to_owned(), input)]);
        let line = format!("array xor in.npz --key 255,1 --out {name}.npz");
        swathe(folder.path(), &line).expect(0);
        assert_eq!(read(&folder.path().join(format!("{name}.npz")), "x"), expected);
    }
    // Several widths together: a number that is too wide for one item fails only that item.
    let items = [
        ("bytes", Elements::from(vec![1u8, 2])),
        ("shorts", Elements::from(vec![-1i16, 2])),
        ("longs", Elements::from(vec![1i64, -2])),
    ];
    let items =
        items.map(|(name, elements)| (name.to_owned(), Array::new(vec![2], elements).unwrap()));
    save(folder.path(), "mixed.npz", &items);
    let ended =
        swathe(folder.path(), "array xor mixed.npz --key 256,1 --out mixed-out.npz").expect(1);
    assert!(
        ended
            .stderr
            .contains("failed: bytes: the key's number 256 does not fit in elements of 8 bits"),
        "{}",
        ended.stderr
    );
    let out = folder.path().join("mixed-out.npz");
    assert_eq!(names(&out), ["shorts", "longs"]);
    assert_eq!(*read(&out, "shorts").elements(), Elements::from(vec![-257i16, 3]));
    assert_eq!(*read(&out, "longs").elements(), Elements::from(vec![257i64, -1]));
}

/// Arrays of every integer type, of one and of several axes.
fn integers(random: &mut Random) -> Vec<(String, Array)> {
    let integers = Dtype::ALL.iter().filter(|dtype| dtype.is_integer());
    let arrays = integers.enumerate().map(|(k, &dtype)| {
        let shape = [vec![40 + k], vec![3, 5 + k], vec![]][k % 3].clone();
        let n = shape.iter().product();
        let mut elements = Elements::empty(dtype);
        swathe::with_elements!(&mut elements, v => *v = (0..n).map(|_| random.next() as _).collect());
        (format!("{dtype}"), Array::new(shape, elements).unwrap())
    });
    arrays.collect()
}

#[test]
fn a_run_folder_stands_for_its_arrays() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let mut random = Random(4);
    let mixed = integers(&mut random);
    let one: Vec<(String, Array)> =
        (0..9).map(|k| (format!("b{k}"), random.bytes(k * 37))).collect();
    for (name, items) in [("one", one), ("mixed", mixed)] {
        save(folder.path(), &format!("{name}.npz"), &items);
        let run = |line: &str, code| swathe(folder.path(), &line.replace('@', name)).expect(code);
        run("array xor @.npz --key-seed 42 --out @-hidden", 0);
        // The folder, its table, and a copy of the table; without the seed and with it.
        fs::copy(at(&format!("{name}-hidden/items.parquet")), at(&format!("{name}-moved.parquet")))
            .unwrap();
        for input in
            ["@-hidden", "@-hidden/items.parquet", "@-moved.parquet", "@-hidden --key-seed 42"]
        {
            let out = format!("{name}-again.npz");
            run(&format!("array xor {input} --out @-again.npz"), 0);
            assert_eq!(fs::read(at(&out)).unwrap(), fs::read(at(&format!("{name}.npz"))).unwrap());
        }
        run("array xor @-hidden --out @-plain", 0);
        let ended = run("array xor @-plain --out no.npz", 2);
        assert!(ended.stderr.contains("xor needs a key"), "{}", ended.stderr);
        let ended = run("array xor @-hidden --key-seed 7 --out no.npz", 2);
        assert!(
            ended.stderr.contains("the input is XORed with the seed 42 already"),
            "{}",
            ended.stderr
        );
        let ended = run("array xor @.npz @-hidden --out no.npz", 2);
        assert!(ended.stderr.contains("two items are called"), "{}", ended.stderr);
    }
    let ended = swathe(folder.path(), "array xor one.npz mixed-hidden --out no.npz").expect(2);
    assert!(
        ended
            .stderr
            .contains("one.npz is not XORed with a seed, mixed-hidden is XORed with the seed 42"),
        "{}",
        ended.stderr
    );
}

#[test]
fn results_are_lists_in_the_table() {
    use arrow::array::AsArray as _;
    use arrow::datatypes::Float32Type;

    let folder = tempfile::tempdir().unwrap();
    let matrix = Array::new(vec![2, 2], vec![1.0f32, 4.0, 9.0, 16.0]).unwrap();
    save(folder.path(), "in.npz", &[("a".to_owned(), matrix), ("b".to_owned(), floats(&[]))]);
    swathe(folder.path(), "array map sqrt in.npz --out run").expect(0);
    let batches = crate::program::table(&folder.path().join("run/items.parquet"));
    let data = batches[0].column_by_name("data").unwrap().as_list::<i64>();
    assert_eq!(data.value(0).as_primitive::<Float32Type>().values(), &[1.0, 2.0, 3.0, 4.0]);
    assert_eq!(data.value_length(1), 0);
    // The result can be an input again, with its shapes.
    swathe(folder.path(), "array map square run --out again.npz").expect(0);
    assert_eq!(read(&folder.path().join("again.npz"), "a").shape(), [2, 2]);
}

#[test]
fn several_list_columns_need_a_name() {
    use arrow::array::{ArrayRef, ListArray, RecordBatch};
    use arrow::datatypes::UInt32Type;
    use parquet::arrow::ArrowWriter;
    use std::sync::Arc;

    let folder = tempfile::tempdir().unwrap();
    let lists: ArrayRef =
        Arc::new(ListArray::from_iter_primitive::<UInt32Type, _, _>([Some(vec![
            Some(1),
            Some(2),
        ])]));
    let columns = [("left", lists.clone()), ("right", lists)];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let file = fs::File::create(folder.path().join("two.parquet")).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let ended = swathe(folder.path(), "array xor two.parquet --key 1 --out x.npz").expect(2);
    assert!(
        ended.stderr.contains(r#"several columns hold lists, ["left", "right"]"#)
            && ended.stderr.contains("--column left"),
        "{}",
        ended.stderr
    );
    swathe(folder.path(), "array xor two.parquet --key 1 --column right --out x.npz").expect(0);
    let result = read(&folder.path().join("x.npz"), "0");
    assert_eq!(*result.elements(), Elements::from(vec![0u32, 3]));
}

#[test]
fn one_cut_file_among_many_fails_alone() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for name in ["a", "b", "c"] {
        npy::save(&at(&format!("{name}.npy")), &floats(&[4.0, 9.0])).unwrap();
    }
    let bytes = fs::read(at("b.npy")).unwrap();
    fs::write(at("b.npy"), &bytes[..bytes.len() - 3]).unwrap();
    fs::write(at("d.npy"), b"no array").unwrap();
    swathe(folder.path(), "array map sqrt a.npy b.npy c.npy d.npy --out run").expect(1);
    let failed = failures(&at("run"));
    let failed: Vec<_> =
        failed.iter().map(|(row, id, kind, _)| (*row, id.as_str(), kind.as_str())).collect();
    assert_eq!(failed, [(1, "b", "failed"), (3, "d", "failed")]);
    swathe(folder.path(), "array map sqrt a.npy b.npy c.npy d.npy --out x.npz").expect(1);
    assert_eq!(names(&at("x.npz")), ["a", "c"]);
    swathe(folder.path(), "array map sqrt a.npy absent.npy --out y.npz").expect(2);
}

#[test]
fn products_are_numpys() {
    use swathe_testing::python;

    let Some(interpreter) = python::with_numpy() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python/write_products.py");
    python::run(std::process::Command::new(interpreter).arg(script).arg(folder.path()));
    swathe(folder.path(), "array matmul left.npz --with right.npz --out out.npz").expect(0);
    swathe(folder.path(), "array matmul left.npz --with right.npz --out run").expect(0);
    let names = names(&at("expected.npz"));
    assert_eq!(names.len(), 400);
    for name in names {
        assert_eq!(read(&at("out.npz"), &name), read(&at("expected.npz"), &name), "{name}");
    }
}

#[test]
fn what_is_not_written_is_refused_with_what_is() {
    let folder = tempfile::tempdir().unwrap();
    npy::save(&folder.path().join("a.npy"), &floats(&[4.0])).unwrap();
    for out in ["x.npy", "x.parquet"] {
        let ended = swathe(folder.path(), &format!("array map sqrt a.npy --out {out}")).expect(2);
        assert!(ended.stderr.contains("a name that ends in .npz"), "{}", ended.stderr);
        assert!(!folder.path().join(out).exists());
    }
}

#[test]
fn nan_is_counted_and_answers_are_verified() {
    let folder = tempfile::tempdir().unwrap();
    let items = [
        ("a".to_owned(), floats(&[-1.0, 4.0, -9.0])),
        ("b".to_owned(), floats(&[f32::NAN, 1.0, -1.0])),
    ];
    save(folder.path(), "in.npz", &items);
    let ended = swathe(folder.path(), "array map sqrt in.npz --verify 2 --out run").expect(0);
    assert!(ended.stderr.contains("3 elements that became NaN"), "{}", ended.stderr);
    assert!(ended.stderr.contains("2 problems solved again, all agree"), "{}", ended.stderr);
    let report = json(&folder.path().join("run/report.json"));
    assert_eq!(report["figures"]["elements that became NaN"], 3);
    assert_eq!(report["report"]["verification"]["n_checked"], 2);
    let ended = swathe(folder.path(), "array map sqrt in.npz --out out.npz").expect(0);
    assert!(ended.stderr.contains("3 elements that became NaN"), "{}", ended.stderr);
    assert_eq!(ended.stdout, "out.npz\n");
}

#[test]
fn nothing_to_do_is_done() {
    let folder = tempfile::tempdir().unwrap();
    save(folder.path(), "in.npz", &[]);
    swathe(folder.path(), "array map sqrt in.npz --out run").expect(0);
    swathe(folder.path(), "array map sqrt in.npz --out run --resume").expect(0);
    for name in ["items", "timing", "failures"] {
        let path = folder.path().join(format!("run/{name}.parquet"));
        let n_rows: usize = crate::program::table(&path).iter().map(|batch| batch.num_rows()).sum();
        assert_eq!(n_rows, 0);
    }
    swathe(folder.path(), "array map sqrt in.npz --out out.npz").expect(0);
    assert!(names(&folder.path().join("out.npz")).is_empty());
}

/// Extracting a file must not write outside the target folder.
#[test]
fn names_that_lead_out_of_the_folder_are_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random(1);
    let mut items =
        vec![("../a".to_owned(), random.floats(&[3])), ("b".to_owned(), random.floats(&[3]))];
    save(folder.path(), "in.npz", &items);
    let ended = swathe(folder.path(), "array map abs in.npz --out out.npz").expect(0);
    let told = "written under another: \"../a\" as \"a\"";
    assert!(ended.stderr.contains(told), "{}", ended.stderr);
    let npz = Npz::open(&folder.path().join("out.npz")).unwrap();
    assert!(npz.header("a").is_ok() && npz.header("b").is_ok() && npz.header("../a").is_err());
    items.push(("a".to_owned(), random.floats(&[3])));
    save(folder.path(), "in.npz", &items);
    let ended = swathe(folder.path(), "array map abs in.npz --out two.npz").expect(2);
    assert!(ended.stderr.contains("would both be written as \"a\""), "{}", ended.stderr);
    assert!(!folder.path().join("two.npz").exists());
}
