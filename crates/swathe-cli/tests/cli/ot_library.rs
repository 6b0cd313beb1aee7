//! The answers of `swathe ot` are the library's.

use std::fs;
use std::path::Path;

use arrow::array::{Array as _, AsArray};
use arrow::datatypes::{Float64Type, UInt32Type};
use serde_json::Value;
use swathe::array::Elements;
use swathe_formats::npz::Npz;
use swathe_ot::{
    Coupling, Frame, Pair, Precision, Settings, Shape, Solution, Summary, check, lift,
    lift_potentials, solve, summarise,
};

use crate::cases::frames::{moving, save_npy};
use crate::program::{swathe, table};

/// Masks, and densities of seven grey values; `tests/cases/ot/formats.case` has the other formats.
#[test]
fn pairs_are_solved_as_by_the_library() {
    let mut frames = moving(12, Shape::new(25, 38));
    for (at, v) in frames[6..].iter_mut().flat_map(|frame| frame.density.iter_mut().enumerate()) {
        *v *= (1 + at % 7) as f64;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("frames")).unwrap();
    for (t, frame) in frames.iter().enumerate() {
        save_npy(&folder.path().join(format!("frames/frame{t}.npy")), frame);
    }
    swathe(folder.path(), "ot frames/ --epsilon 1e-3 --out run").expect(0);
    assert_same(&folder.path().join("run"), &solved(&frames, &Settings::default()));
}

/// The library's solutions of neighbouring frames.
fn solved(frames: &[Frame], settings: &Settings) -> Vec<(Solution, Summary)> {
    frames
        .windows(2)
        .map(|pair| {
            let pair = Pair::new(pair[0].clone(), pair[1].clone());
            let solution = solve(&pair, settings).unwrap();
            let summary = summarise(&solution).unwrap();
            (solution, summary)
        })
        .collect()
}

/// The table equals the library's solutions, to the last bit.
#[track_caller]
fn assert_same(run: &Path, expected: &[(Solution, Summary)]) {
    type Figure = fn(&(Solution, Summary)) -> f64;
    let figures: [(&str, Figure); 16] = [
        ("residual", |(s, _)| s.residual),
        ("cost", |(s, _)| s.cost),
        ("cost_px2", |(s, _)| s.cost_px2),
        ("objective", |(s, _)| s.objective),
        ("mass_src", |(s, _)| s.mass_src),
        ("mass_tgt", |(s, _)| s.mass_tgt),
        ("mass_transported", |(s, _)| s.mass_transported),
        ("mass_created", |(s, _)| s.mass_created),
        ("mass_destroyed_clamped", |(s, _)| s.mass_destroyed_clamped),
        ("coord_scale", |(s, _)| s.coord_scale),
        ("crop_y0", |(s, _)| s.geometry.crop.y0_px as f64),
        ("crop_w", |(s, _)| s.geometry.crop.shape.w_px as f64),
        ("displacement_mean_px", |(_, s)| s.displacement_px.mean),
        ("displacement_p95_px", |(_, s)| s.displacement_px.p95),
        ("curl_std", |(_, s)| s.curl.std),
        ("dct_div_3", |(_, s)| s.dct_div[3]),
    ];
    for (name, figure) in figures {
        let wanted: Vec<f64> = expected.iter().map(figure).collect();
        assert_eq!(numbers(run, name), wanted, "{name} of {}", run.display());
    }
}

/// A column of numbers of `pairs.parquet`; nulls are NaN.
fn numbers(run: &Path, name: &str) -> Vec<f64> {
    let mut all = Vec::new();
    for batch in table(&run.join("pairs.parquet")) {
        let column = batch.column_by_name(name).unwrap_or_else(|| panic!("no {name}"));
        let column = arrow::compute::cast(column, &arrow::datatypes::DataType::Float64).unwrap();
        let values = column.as_primitive::<Float64Type>();
        all.extend(
            (0..values.len()).map(
                |at| {
                    if values.is_valid(at) { values.value(at) } else { f64::NAN }
                },
            ),
        );
    }
    all
}

/// A column of strings of `pairs.parquet`; nulls are empty.
fn texts(run: &Path, name: &str) -> Vec<String> {
    let mut all = Vec::new();
    for batch in table(&run.join("pairs.parquet")) {
        let column = batch.column_by_name(name).unwrap_or_else(|| panic!("no {name}"));
        let values = column.as_string::<i32>();
        all.extend((0..values.len()).map(|at| {
            if values.is_valid(at) { values.value(at).to_owned() } else { String::new() }
        }));
    }
    all
}

#[test]
fn maps_and_plans_lie_on_the_original_frame() {
    let folder = tempfile::tempdir().unwrap();
    let frames = moving(2, Shape::new(26, 40));
    save_npy(&folder.path().join("a.npy"), &frames[0]);
    save_npy(&folder.path().join("b.npy"), &frames[1]);
    fs::write(folder.path().join("pairs.csv"), "pair_id,src,tgt\n.x/y,a.npy,b.npy\n").unwrap();
    let pair = Pair::new(frames[0].clone(), frames[1].clone());
    for (pool, precision) in [(1, "f32"), (3, "f64"), (2, "auto")] {
        let settings = Settings {
            pool,
            precision: match precision {
                "f32" => Precision::F32,
                "f64" => Precision::F64,
                _ => Precision::Auto,
            },
            coupling: Coupling::TopK(2),
            target_cost: true,
            ..Settings::default()
        };
        let solution = solve(&pair, &settings).unwrap();
        let fields = lift(&solution, &pair.source, &pair.target).unwrap();
        let rounded = |values: Vec<f64>| -> Vec<f64> {
            if precision == "f64" {
                return values;
            }
            values.iter().map(|v| f64::from(*v as f32)).collect()
        };
        let velocity: Vec<f64> = fields.velocity_yx_px.iter().flatten().copied().collect();
        let raw: Vec<f64> = fields.raw_velocity().iter().flatten().copied().collect();
        let expected = [
            ("velocity_yx", rounded(velocity)),
            ("velocity_raw_yx", rounded(raw)),
            ("created", rounded(fields.created.clone())),
            ("destroyed", rounded(fields.destroyed.clone())),
            ("cost_map", rounded(fields.cost_map.clone())),
            ("target_cost_map", rounded(fields.target_cost_map.clone())),
        ];
        let line = format!(
            "ot pairs.csv --epsilon 1e-3 --pool {pool} --precision {precision} --coupling topk:2 --fields"
        );
        swathe(folder.path(), &format!("{line} npz --out npz{pool}")).expect(0);
        let run = folder.path().join(format!("npz{pool}"));
        assert_eq!(texts(&run, "fields_path"), ["fields/%2Ex%2Fy.npz"]);
        let npz = Npz::open(&run.join("fields/%2Ex%2Fy.npz")).unwrap();
        let names: Vec<&str> = npz.names().iter().collect();
        assert_eq!(
            names,
            [
                "velocity_yx",
                "velocity_raw_yx",
                "created",
                "destroyed",
                "cost_map",
                "target_cost_map"
            ]
        );
        assert_eq!(npz.read("velocity_yx").unwrap().shape(), [26, 40, 2]);
        assert_eq!(npz.read("created").unwrap().shape(), [26, 40]);
        for (name, map) in &expected {
            assert_eq!(bits(&f32_map(&npz, name)), bits(map), "{name}, pool {pool}");
        }

        swathe(folder.path(), &format!("{line} parquet --out rows{pool}")).expect(0);
        let rows_run = folder.path().join(format!("rows{pool}"));
        assert_eq!(texts(&rows_run, "fields_path"), ["fields/%2Ex%2Fy.parquet"]);
        let rows = &table(&rows_run.join("fields/%2Ex%2Fy.parquet"))[0];
        let place = |name: &str| rows.column_by_name(name).unwrap().as_primitive::<UInt32Type>();
        let number = |name: &str| {
            let column = rows.column_by_name(name).unwrap();
            arrow::compute::cast(column, &arrow::datatypes::DataType::Float64).unwrap()
        };
        let created = number("created");
        let created = created.as_primitive::<Float64Type>();
        let mut n_live = 0;
        for at in 0..rows.num_rows() {
            let pixel = place("y").value(at) as usize * 40 + place("x").value(at) as usize;
            assert_eq!(bits(&[created.value(at)]), bits(&[expected[2].1[pixel]]));
            n_live += 1;
        }
        let live =
            (0..26 * 40).filter(|&at| frames[0].density[at] > 0.0 || frames[1].density[at] > 0.0);
        assert_eq!(n_live, live.count());

        assert_eq!(texts(&run, "coupling_path"), ["coupling/%2Ex%2Fy.parquet"]);
        let links = table(&run.join("coupling/%2Ex%2Fy.parquet"));
        let mut at = 0;
        for batch in &links {
            let place =
                |name: &str| batch.column_by_name(name).unwrap().as_primitive::<UInt32Type>();
            let mass = batch.column_by_name("mass").unwrap().as_primitive::<Float64Type>();
            for row in 0..batch.num_rows() {
                let link = &solution.coupling[at];
                assert_eq!(
                    [place("src_y"), place("src_x"), place("tgt_y"), place("tgt_x")]
                        .map(|p| p.value(row)),
                    [link.src_y_px, link.src_x_px, link.tgt_y_px, link.tgt_x_px]
                );
                assert_eq!(mass.value(row), link.mass);
                at += 1;
            }
        }
        assert_eq!(at, solution.coupling.len());
    }
}

fn f32_map(npz: &Npz, name: &str) -> Vec<f64> {
    match npz.read(name).unwrap().elements() {
        Elements::F32(v) => v.iter().map(|v| f64::from(*v)).collect(),
        Elements::F64(v) => v.clone(),
        other => panic!("{name} is {other:?}"),
    }
}

fn bits(values: &[f64]) -> Vec<u64> {
    // All NaN are equal.
    let bits = |v: &f64| if v.is_nan() { u64::MAX } else { v.to_bits() };
    values.iter().map(bits).collect()
}

#[test]
fn potentials_of_a_run_are_on_the_frame_and_pass() {
    let folder = tempfile::tempdir().unwrap();
    let pair = solved_pair(folder.path());
    let settings = Settings { epsilon: 2e-3, potentials: true, ..Settings::default() };
    let solution = solve(&pair, &settings).unwrap();
    let wanted = lift_potentials(&solution, &pair.source, &pair.target).unwrap();
    let npz = Npz::open(&folder.path().join("run/fields/p.npz")).unwrap();
    for (name, wanted) in [("f", &wanted.f), ("g", &wanted.g)] {
        assert_eq!(npz.read(name).unwrap().shape(), [26, 40]);
        assert_eq!(bits(&values(&npz, name)), bits(wanted), "{name}");
        assert!(wanted.iter().any(|v| v.is_nan()));
    }
    assert_eq!(values(&npz, "um_per_px"), [0.5]);
    let found = judged(folder.path());
    let direct = check(&pair, &settings, &wanted.f, &wanted.g).unwrap();
    assert_eq!(found["gap"], direct.gap);
    assert_eq!(found["residual_src"], direct.residual_src);
    assert!(direct.residual_src + direct.residual_tgt < 2e-5);
    let off = found["cost"].as_f64().unwrap() / solution.cost - 1.0;
    assert!(off.abs() < 1e-4, "{off}");
}

const SETTINGS: &str = "--epsilon 2e-3 --relaxation 10";

/// Two frames `a.npy` and `b.npy`, solved into `run` with all that a check can read.
fn solved_pair(folder: &Path) -> Pair {
    let frames = moving(2, Shape::new(26, 40));
    save_npy(&folder.join("a.npy"), &frames[0]);
    save_npy(&folder.join("b.npy"), &frames[1]);
    fs::write(folder.join("pairs.csv"), "pair_id,src,tgt\np,a.npy,b.npy\n").unwrap();
    let line = format!(
        "ot pairs.csv --out run {SETTINGS} --um-per-px 0.5 --fields npz --potentials --coupling threshold:1e-13"
    );
    swathe(folder, &line).expect(0);
    Pair::new(frames[0].clone(), frames[1].clone())
}

fn values(npz: &Npz, name: &str) -> Vec<f64> {
    let mut all = Vec::new();
    npz.for_each_number(name, &mut |some| all.extend_from_slice(some)).unwrap();
    all
}

fn judged(folder: &Path) -> Value {
    let line = format!("ot check a.npy b.npy --potentials run/fields/p.npz {SETTINGS} --json");
    serde_json::from_str(&swathe(folder, &line).expect(0).stdout).unwrap()
}
