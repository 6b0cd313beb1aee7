//! `swathe ot check`, and the potentials that a run writes for it.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use arrow::array::AsArray;
use arrow::datatypes::{Float64Type, UInt32Type};
use serde_json::Value;
use swathe::array::Array;
use swathe_formats::npz::{Compression, Npz, save};
use swathe_ot::{Pair, Settings, Shape, check, lift_potentials, solve};

use crate::ot_frames::{save_npy, series};
use crate::program::{swathe, table};

const SETTINGS: &str = "--epsilon 2e-3 --relaxation 10";

/// Two frames `a.npy` and `b.npy`, solved into `run` with all that a check can read.
fn solved(folder: &Path) -> Pair {
    let frames = series(2, Shape::new(26, 40));
    save_npy(&folder.join("a.npy"), &frames[0]);
    save_npy(&folder.join("b.npy"), &frames[1]);
    fs::write(folder.join("pairs.csv"), "pair_id,src,tgt\np,a.npy,b.npy\n").unwrap();
    let line = format!(
        "ot pairs.csv --out run {SETTINGS} --um-per-px 0.5 --fields npz --potentials --coupling threshold:1e-13"
    );
    swathe(folder, &line).expect(0);
    Pair::new(frames[0].clone(), frames[1].clone())
}

fn numbers(npz: &Npz, name: &str) -> Vec<f64> {
    let mut all = Vec::new();
    npz.for_each_number(name, &mut |some| all.extend_from_slice(some)).unwrap();
    all
}

fn judged(folder: &Path, answer: &str) -> Value {
    let line = format!("ot check a.npy b.npy {answer} {SETTINGS} --json");
    let ended = swathe(folder, &line).expect(0);
    assert!(ended.stderr.contains("above the minimum"), "{}", ended.stderr);
    serde_json::from_str(&ended.stdout).unwrap()
}

#[test]
fn potentials_of_a_run_are_on_the_frame_and_pass() {
    let folder = tempfile::tempdir().unwrap();
    let pair = solved(folder.path());
    let settings = Settings { epsilon: 2e-3, potentials: true, ..Settings::default() };
    let solution = solve(&pair, &settings).unwrap();
    let wanted = lift_potentials(&solution, &pair.source, &pair.target).unwrap();
    let npz = Npz::open(&folder.path().join("run/fields/p.npz")).unwrap();
    for (name, values) in [("f", &wanted.f), ("g", &wanted.g)] {
        assert_eq!(npz.read(name).unwrap().shape(), [26, 40]);
        let bits = |values: &[f64]| -> Vec<u64> { values.iter().map(|v| v.to_bits()).collect() };
        assert_eq!(bits(&numbers(&npz, name)), bits(values), "{name}");
        assert!(values.iter().any(|v| v.is_nan()));
    }
    assert_eq!(numbers(&npz, "um_per_px"), [0.5]);
    let found = judged(folder.path(), "--potentials run/fields/p.npz");
    let direct = check(&pair, &settings, &wanted.f, &wanted.g).unwrap();
    assert_eq!(found["gap"], direct.gap);
    assert_eq!(found["residual_src"], direct.residual_src);
    assert!(direct.residual_src + direct.residual_tgt < 2e-5);
    let off = found["cost"].as_f64().unwrap() / solution.cost - 1.0;
    assert!(off.abs() < 1e-4, "{off}");
    // Zeros are no answer, and it is told.
    let zeros = Array::new(vec![26, 40], vec![0.0; 26 * 40]).unwrap();
    let path = folder.path().join("zeros.npz");
    save(&path, [("f", &zeros), ("g", &zeros)], Compression::Stored).unwrap();
    let bad = judged(folder.path(), "--potentials zeros.npz");
    assert!(bad["residual_src"].as_f64().unwrap() > 0.01);
    assert!(bad["gap"].as_f64().unwrap() > 100.0 * direct.gap);
}

#[test]
fn plans_in_tables_are_judged_by_pixels_and_by_numbers() {
    let folder = tempfile::tempdir().unwrap();
    solved(folder.path());
    let by_pixels = judged(folder.path(), "--plan run/coupling/p.parquet");
    assert!(by_pixels["residual_src"].as_f64().unwrap() < 1e-4);
    assert!(by_pixels["gap"].as_f64().unwrap() < 1e-5);
    let mut rows = String::from("row,col,mass\n");
    for batch in table(&folder.path().join("run/coupling/p.parquet")) {
        let place = |name: &str, at: usize| {
            let column = batch.column_by_name(name).unwrap();
            column.as_primitive::<UInt32Type>().value(at)
        };
        let masses = batch.column_by_name("mass").unwrap();
        for at in 0..batch.num_rows() {
            let from = place("src_y", at) * 40 + place("src_x", at);
            let to = place("tgt_y", at) * 40 + place("tgt_x", at);
            let mass = masses.as_primitive::<Float64Type>().value(at);
            // Halves of an entry are added up.
            for _ in 0..2 {
                writeln!(rows, "{from},{to},{}", mass / 2.0).unwrap();
            }
        }
    }
    fs::write(folder.path().join("plan.csv"), rows).unwrap();
    assert_eq!(judged(folder.path(), "--plan plan.csv"), by_pixels);
    let text = format!("ot check a.npy b.npy --plan plan.csv {SETTINGS}");
    let ended = swathe(folder.path(), &text).expect(0);
    let cost = ended.stdout.lines().nth(2).unwrap();
    let (name, value) = cost.split_once(' ').unwrap();
    let value: f64 = value.trim().parse().unwrap();
    assert_eq!((name, value), ("cost", by_pixels["cost"].as_f64().unwrap()));
}

#[test]
fn answers_that_do_not_fit_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    solved(folder.path());
    let at = |name: &str| folder.path().join(name);
    fs::write(at("lacks.csv"), "row,mass\n3,0.1\n").unwrap();
    fs::write(at("outside.csv"), "row,col,mass\n5000,3,0.1\n").unwrap();
    fs::write(at("dead.csv"), "row,col,mass\n0,0,0.1\n").unwrap();
    fs::write(at("text.csv"), "row,col,mass\n0,0,much\n").unwrap();
    let few = Array::new(vec![7], vec![0.0; 7]).unwrap();
    save(&at("few.npz"), [("f", &few), ("g", &few)], Compression::Stored).unwrap();
    for (answer, words) in [
        ("--plan lacks.csv", "row, mass"),
        ("--plan outside.csv", "(0, 5000)"),
        ("--plan dead.csv", "from (0, 0) to (0, 0) is 0.1"),
        ("--plan text.csv", "\"much\""),
        ("--plan few.npz", "no array format"),
        ("--plan plan.txt", "plan.txt"),
        ("--potentials few.npz", "7 values along the source"),
        ("--potentials few.npy", "npz"),
        ("--potentials a.npy b.npy --plan dead.csv", "cannot be used with"),
        ("", "required"),
    ] {
        let line = format!("ot check a.npy b.npy {answer} {SETTINGS}");
        let ended = swathe(folder.path(), &line).expect(2);
        assert!(ended.stderr.contains(words), "{answer}: {}", ended.stderr);
        assert_eq!(ended.stdout, "");
    }
    let line = "ot pairs.csv --out none --potentials";
    let ended = swathe(folder.path(), line).expect(2);
    assert!(ended.stderr.contains("--fields npz"), "{}", ended.stderr);
}
