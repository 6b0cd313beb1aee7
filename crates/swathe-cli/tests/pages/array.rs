//! The sections of a report about `array` and `lattice`.

use std::collections::BTreeMap;
use std::path::Path;

use arrow::array::{Array as _, AsArray};
use arrow::datatypes::{Float64Type, UInt64Type};
use serde_json::Value;
use swathe::array::Array;
use swathe_run::page::{PageData, page};
use tempfile::TempDir;

use crate::program::{Random, json, save, swathe, table};
use crate::run_page::RunPage;

/// A name that is markup if it is not escaped.
const MARKUP: &str = "<script>alert(1)</script>";

fn own_figure(run: &RunPage, name: &str) -> f64 {
    let value = run.value(&format!(
        "Number(document.querySelector('[data-own-figure=\"{name}\"]').dataset.value)"
    ));
    value.as_f64().unwrap()
}

/// A folder in which the machine's limits have been measured.
fn calibrated() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    swathe(folder.path(), "devices --calibrate").expect(0);
    folder
}

/// Twenty products of several shapes.
fn products(folder: TempDir) -> Option<RunPage> {
    let mut random = Random(5);
    let (mut left, mut right) = (Vec::new(), Vec::new());
    for k in 0..20 {
        let name = if k == 0 { MARKUP.to_owned() } else { format!("item {k}") };
        let (n_rows, n_inner, n_cols) = (4 + k, 30 - k, 7 + 2 * k);
        left.push((name.clone(), random.floats(&[n_rows, n_inner])));
        right.push((name, random.floats(&[n_inner, n_cols])));
    }
    save(folder.path(), "left.npz", &left);
    save(folder.path(), "right.npz", &right);
    swathe(folder.path(), "array matmul left.npz --with right.npz --out RUN").expect(0);
    RunPage::open(folder, "RUN")
}

/// Milliseconds by row.
fn timing(run: &Path) -> BTreeMap<u64, f64> {
    let mut timing = BTreeMap::new();
    for batch in table(&run.join("timing.parquet")) {
        let row = batch.column_by_name("row").unwrap();
        let ms = batch.column_by_name("milliseconds").unwrap();
        let rows = row.as_primitive::<UInt64Type>().values().iter();
        timing.extend(rows.copied().zip(ms.as_primitive::<Float64Type>().values().iter().copied()));
    }
    timing
}

/// Name, extents, elements that became NaN and milliseconds of every item.
fn items(run: &Path) -> Vec<(String, Vec<u64>, Option<u64>, f64)> {
    let timing = timing(run);
    let mut items = Vec::new();
    for batch in table(&run.join("items.parquet")) {
        let column = |name: &str| batch.column_by_name(name).unwrap();
        let name = column("name").as_string::<i32>();
        let shape = column("shape").as_list::<i32>();
        let inner = column("inner").as_primitive::<UInt64Type>();
        let row = column("row").as_primitive::<UInt64Type>();
        for at in 0..batch.num_rows() {
            let extents = shape.value(at);
            let extents = extents.as_primitive::<UInt64Type>().values().to_vec();
            let inner = inner.is_valid(at).then(|| inner.value(at));
            let ms = timing[&row.value(at)];
            items.push((name.value(at).to_owned(), extents, inner, ms));
        }
    }
    items
}

#[track_caller]
fn assert_close(found: f64, expected: f64, digits: i32) {
    assert!(
        (found - expected).abs() <= 0.6 * 10f64.powi(1 - digits) * expected.abs(),
        "{found} is shown, {expected} is in the tables"
    );
}

/// The cells of the items' table: name and rate.
fn shown_rates(run: &RunPage, column: usize) -> Vec<(String, f64)> {
    let rows = run.value(&format!(
        "[...document.querySelectorAll('#array-items tbody tr')].map(row => \
         [row.cells[0].textContent, Number(row.cells[{column}].textContent.replaceAll(',', ''))])"
    ));
    let rows = rows.as_array().unwrap().iter();
    rows.map(|row| (row[0].as_str().unwrap().to_owned(), row[1].as_f64().unwrap())).collect()
}

#[test]
fn rates_of_products_are_those_of_the_tables() {
    let Some(run) = products(calibrated()) else {
        return;
    };
    let items = items(&run.run);
    assert_eq!(items.len(), 20);
    let (mut flop_all, mut ms_all) = (0.0, 0.0);
    let shown = shown_rates(&run, 5);
    for (k, ((name, extents, inner, ms), (shown_name, shown_rate))) in
        items.iter().zip(&shown).enumerate()
    {
        assert_eq!(*inner, Some(30 - k as u64), "the extent that {name} sums over");
        let flop = 2.0 * extents[0] as f64 * inner.unwrap() as f64 * extents[1] as f64;
        assert_eq!(name, shown_name);
        assert_close(*shown_rate, flop / ms / 1e6, 4);
        flop_all += flop;
        ms_all += ms;
    }
    assert_close(own_figure(&run, "array.rate"), flop_all / ms_all / 1e6, 5);
    // Every item is in some bucket of shapes.
    let n_in_buckets =
        run.value("swathe.data.workload_page.buckets.rows.reduce((n, bucket) => n + bucket.n, 0)");
    assert_eq!(n_in_buckets, 20);
    // The limits are those that were measured before the run.
    let limits = json(&run.run.join("limits.json"));
    let known = json(&run.run.with_file_name("cache").join("swathe/limits.json"));
    assert_eq!(limits, known["limits"]);
    assert_eq!(n_limit_lines(&run), 1);
    let limit = limits["product_f32_gflops"].as_f64().unwrap();
    assert!(limit > 0.0);
    let words = run.text("#array-limits");
    let rate = run.value(&format!("swathe.format.number({limit}, 3)"));
    assert!(words.contains(rate.as_str().unwrap()), "{rate} is not in {words}");
    assert!(run.text("#array").contains("2·m·k·n"));
    run.assert_sound();
}

/// The number of limit lines in the chart of rates.
fn n_limit_lines(run: &RunPage) -> Value {
    run.value("document.querySelectorAll('#array svg line.mark').length")
}

#[test]
fn without_calibration_the_page_says_how_to_get_limits() {
    let Some(run) = products(tempfile::tempdir().unwrap()) else {
        return;
    };
    assert!(!run.run.join("limits.json").exists(), "a run measures none");
    assert!(run.text("#array").contains("swathe devices --calibrate"));
    assert_eq!(n_limit_lines(&run), 0);
    assert!(!run.text("#array").contains("Dashed"));
    assert_eq!(shown_rates(&run, 5).len(), 20);
    run.assert_sound();
}

#[test]
fn limits_of_another_version_or_processor_are_not_used() {
    let folder = calibrated();
    let cached = folder.path().join("cache/swathe/limits.json");
    let known = json(&cached);
    let arrays = [("a".to_owned(), Random(3).floats(&[8]))];
    save(folder.path(), "in.npz", &arrays);
    for (name, other) in [
        ("version", Value::from("0.0.0")),
        ("simd", Value::from("other")),
        ("n_threads", Value::from(100_000)),
    ] {
        let mut foreign = known.clone();
        foreign[name] = other;
        std::fs::write(&cached, foreign.to_string()).unwrap();
        swathe(folder.path(), &format!("array map sqrt in.npz --out {name}")).expect(0);
        assert!(!folder.path().join(name).join("limits.json").exists());
    }
}

#[test]
fn the_page_can_be_made_again() {
    let Some(run) = products(calibrated()) else {
        return;
    };
    let made = std::fs::read_to_string(run.run.join("report.html")).unwrap();
    let kind = Some(&swathe_array_program::KIND);
    assert_eq!(page(&PageData::read(&run.run, kind).unwrap(), kind), made);
}

#[test]
fn rates_of_maps_are_bytes_read_and_written() {
    let folder = calibrated();
    let mut random = Random(7);
    let mut arrays: Vec<(String, Array)> =
        (0..12).map(|k| (format!("item {k}"), random.floats(&[50 + k, 20]))).collect();
    arrays[3].1 = Array::new(vec![4], vec![4.0f32, -1.0, -2.0, 9.0]).unwrap();
    save(folder.path(), "in.npz", &arrays);
    swathe(folder.path(), "array map sqrt in.npz --out RUN").expect(0);
    let Some(run) = RunPage::open(folder, "RUN") else {
        return;
    };
    let shown = shown_rates(&run, 5);
    for ((name, extents, inner, ms), (shown_name, rate)) in items(&run.run).iter().zip(&shown) {
        assert_eq!((name, *inner), (shown_name, None));
        let n_bytes = 2.0 * 4.0 * extents.iter().product::<u64>() as f64;
        assert_close(*rate, n_bytes / ms / 1e6, 4);
    }
    assert_eq!(own_figure(&run, "array.nan"), 2.0);
    let nan = run.text("#array-items tbody tr:nth-child(4) td:last-child");
    assert_eq!(nan, "2");
    let words = run.text("#array-limits");
    assert!(words.contains("from memory to memory"), "{words}");
    assert!(words.contains("inside the first cache"), "{words}");
    assert_eq!(n_limit_lines(&run), 2);
    assert!(run.text("#array .intro").contains("its bytes twice"));
    run.assert_sound();
}

#[test]
fn two_operands_are_both_read() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random(9);
    let arrays: Vec<(String, Array)> =
        (0..3).map(|k| (format!("item {k}"), random.floats(&[500 + k]))).collect();
    save(folder.path(), "in.npz", &arrays);
    swathe(folder.path(), "array map add in.npz --with in.npz --out RUN").expect(0);
    let Some(run) = RunPage::open(folder, "RUN") else {
        return;
    };
    let (name, extents, _, ms) = items(&run.run).remove(0);
    let (shown_name, rate) = shown_rates(&run, 5).remove(0);
    assert_eq!(name, shown_name);
    assert_close(rate, 3.0 * 4.0 * extents[0] as f64 / ms / 1e6, 4);
    run.assert_sound();
}

#[test]
fn names_of_items_stay_text() {
    let Some(run) = products(tempfile::tempdir().unwrap()) else {
        return;
    };
    assert_eq!(run.text("#array-items tbody tr:first-child th"), MARKUP);
    assert_eq!(run.value("document.querySelectorAll('main script').length"), 0);
    run.assert_sound();
}

#[test]
fn questions_about_lattices_are_listed_with_their_answers() {
    let folder = tempfile::tempdir().unwrap();
    let queries = format!(
        "id,size,from,to,blocked\n{MARKUP},3x3,0,8,\nwalled,3x3,0,8,1 3\nlong,40x50,0,1999,5\n"
    );
    std::fs::write(folder.path().join("queries.csv"), queries).unwrap();
    swathe(folder.path(), "lattice path queries.csv --out RUN").expect(0);
    let Some(run) = RunPage::open(folder, "RUN") else {
        return;
    };
    let rows = run.value(
        "[...document.querySelectorAll('#lattice .table tbody tr')].slice(-3).map(row => \
         [...row.cells].slice(0, 9).map(cell => cell.textContent))",
    );
    let expected = serde_json::json!([
        [MARKUP, "path", "3x3", "9", "0", "0", "8", "yes", "4"],
        ["walled", "path", "3x3", "9", "2", "0", "8", "no", "–"],
        ["long", "path", "40x50", "2,000", "1", "0", "1,999", "yes", "88"],
    ]);
    assert_eq!(rows, expected);
    assert!(run.text("#lattice .intro").contains("2 with a path, 1 without"));
    let ms = timing(&run.run);
    let shown = run.value("swathe.data.workload_page.queries.ms");
    for (row, ms) in ms {
        assert_close(shown[row as usize].as_f64().unwrap(), ms, 5);
    }
    // A click on the heading sorts the slowest first.
    run.click("#lattice thead th:last-child button");
    assert_eq!(
        run.value("document.querySelector('#lattice thead th:last-child').ariaSort"),
        "descending"
    );
    assert_eq!(run.value("document.querySelectorAll('main script').length"), 0);
    run.assert_sound();
}
