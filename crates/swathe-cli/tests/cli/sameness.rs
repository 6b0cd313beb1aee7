//! Batch size, order and threads change no bit of the results.

use std::collections::{BTreeMap, HashMap};

use arrow::array::AsArray;
use arrow::util::display::array_value_to_string;
use swathe::array::Array;

use crate::program::{Random, result_hash, save, swathe, table};

const BATCH_SIZES: [usize; 6] = [1, 2, 3, 7, 32, 1000];
const N_ORDERS: u64 = 5;

/// Runs a command on five orders of its inputs in every way, and compares.
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

/// Every row's columns but `row`, as text that tells every bit apart.
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
