//! Batch size, order and threads do not change a bit of the results.

use std::collections::{BTreeMap, HashMap};

use arrow::array::AsArray;
use arrow::util::display::array_value_to_string;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use swathe::array::Array;

use crate::program::{Random, json, result_hash, save, swathe, table};

const BATCH_SIZES: [usize; 6] = [1, 2, 3, 7, 32, 1000];
const N_ORDERS: u64 = 5;

/// Runs a command on five orders of its inputs with every setting, and compares the results.
fn check(line: &str, first: &[(String, Array)], second: &[(String, Array)]) {
    let folder = tempfile::tempdir().unwrap();
    save(folder.path(), "second.npz", second);
    let mut values: Option<BTreeMap<String, String>> = None;
    for order in 0..N_ORDERS {
        let mut items = first.to_vec();
        Random(order).shuffle(&mut items);
        save(folder.path(), "in.npz", &items);
        let mut hashes: HashMap<String, String> = HashMap::new();
        for batch_size in BATCH_SIZES {
            for n_threads in [1, 2] {
                let out = format!("run-{order}-{batch_size}-{n_threads}");
                let flags = format!(
                    "array {line} --batch-size {batch_size} --threads {n_threads} --out {out}"
                );
                swathe(folder.path(), &flags).expect(0);
                hashes.insert(result_hash(&folder.path().join(&out)), out);
            }
        }
        assert_eq!(hashes.len(), 1, "{line}: {hashes:?}");
        let out = hashes.into_values().next().unwrap();
        let by_name = values_by_name(&folder.path().join(out).join("items.parquet"));
        assert_eq!(by_name.len(), items.len());
        match &values {
            None => values = Some(by_name),
            Some(values) => assert_eq!(values, &by_name, "{line}: order {order}"),
        }
    }
}

/// Every row's columns except `row`, as text that distinguishes every bit.
fn values_by_name(path: &std::path::Path) -> BTreeMap<String, String> {
    let mut values = BTreeMap::new();
    for batch in table(path) {
        let names = batch.column_by_name("name").unwrap().as_string::<i32>();
        for at in 0..batch.num_rows() {
            let row: Vec<String> = batch.columns()[1..]
                .iter()
                .map(|column| array_value_to_string(column, at).unwrap())
                .collect();
            values.insert(names.value(at).to_owned(), row.join(";"));
        }
    }
    values
}

fn named(n: usize, mut array: impl FnMut(usize) -> Array) -> Vec<(String, Array)> {
    (0..n).map(|k| (format!("item{k}"), array(k))).collect()
}

#[test]
fn maps_are_the_same_however_they_are_run() {
    let mut random = Random(1);
    let items = named(40, |k| random.floats(&[k, 1 + k % 5]));
    check("map exp in.npz", &items, &[]);
}

#[test]
fn products_are_the_same_however_they_are_run() {
    let mut random = Random(2);
    let first = named(40, |k| random.floats(&[1 + k % 7, 1 + k % 11]));
    let second = named(40, |k| random.floats(&[1 + k % 11, 1 + k % 3]));
    check("matmul in.npz --with second.npz", &first, &second);
}

#[test]
fn xors_are_the_same_however_they_are_run() {
    let mut random = Random(3);
    let items = named(40, |k| random.bytes(k * k));
    check("xor in.npz --key-seed 7", &items, &[]);
}

/// No table has column names that other programs cannot handle, and every table records its writer.
#[test]
fn tables_say_who_made_them_and_have_no_awkward_names() {
    let folder = tempfile::tempdir().unwrap();
    swathe(folder.path(), "demo --progress none").expect(0);
    let mut n_tables = 0;
    let demo = folder.path().join("swathe-demo");
    let runs = std::fs::read_dir(&demo).unwrap();
    for run in runs.map(|entry| entry.unwrap().path()).filter(|run| run.join("run.json").exists()) {
        let run_json = json(&run.join("run.json"));
        let made = &run_json["made"];
        for name in ["version", "command", "date", "host", "cpu"] {
            assert!(made[name].as_str().is_some_and(|text| !text.is_empty()), "{name}: {made}");
        }
        assert!(made["command"].as_str().unwrap().starts_with("swathe "), "{made}");
        for (name, value) in run_json["settings"].as_object().unwrap() {
            let text = value.as_str().unwrap_or_default();
            let is_finite = text.parse::<f64>().is_ok_and(f64::is_finite);
            assert!(!is_finite, "--{name} is the text {text:?}");
        }
        let page = std::fs::read_to_string(run.join("report.html")).unwrap();
        assert!(page.contains(made["date"].as_str().unwrap()));
        for path in std::fs::read_dir(&run).unwrap().map(|entry| entry.unwrap().path()) {
            if path.extension().is_none_or(|extension| extension != "parquet") {
                continue;
            }
            n_tables += 1;
            let file = std::fs::File::open(&path).unwrap();
            let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
            let schema = reader.schema();
            for name in ["version", "command", "date", "host", "cpu"] {
                let told = schema.metadata().get(&format!("swathe.{name}"));
                assert_eq!(told.map(String::as_str), made[name].as_str(), "{}", path.display());
            }
            let names: Vec<&str> =
                schema.fields().iter().map(|field| field.name().as_str()).collect();
            assert!(!names.contains(&"index") && !names.contains(&"from"), "{names:?}");
            let stem = path.file_stem().unwrap().to_str().unwrap();
            match stem {
                "timing" | "failures" => assert_eq!(names[..2], ["row", "id"]),
                "pairs" => assert_eq!(names[..4], ["row", "pair_id", "src", "tgt"]),
                _ => {}
            }
        }
    }
    assert!(n_tables >= 12, "{n_tables}");
}
