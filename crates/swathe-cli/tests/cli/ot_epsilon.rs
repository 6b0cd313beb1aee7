//! What a run says of its epsilon: notes at its end, and values that are refused.

use std::fs;
use std::path::Path;

use crate::ot_suggest::discs;
use crate::program::{failures, json, swathe, table};
use arrow::array::AsArray as _;
use arrow::datatypes::UInt64Type;

/// Two frames in which neighbours move in opposite directions, `gap` px apart.
fn series(folder: &Path, name: &str, gap: f64) {
    let data = folder.join(name);
    fs::create_dir(&data).unwrap();
    let x1 = 30.0 + 16.0 + gap;
    discs(&data.join("0.npy"), &[(40.0, 30.0, 8.0), (40.0, x1, 8.0)]);
    discs(&data.join("1.npy"), &[(43.0, 30.0, 8.0), (37.0, x1, 8.0)]);
}

#[test]
fn a_run_whose_motion_may_depend_on_epsilon_names_a_smaller_one() {
    let folder = tempfile::tempdir().unwrap();
    series(folder.path(), "near", 2.0);
    series(folder.path(), "far", 30.0);
    let note = "may depend on epsilon";
    let ended = swathe(folder.path(), "ot near --out near_1 --epsilon 3e-3").expect(0);
    assert!(ended.stderr.contains(note), "{}", ended.stderr);
    let (_, better) = ended.stderr.split_once("px): --epsilon ").unwrap();
    let (better, _) = better.split_once(" makes the bar narrower").unwrap();
    assert!(better.parse::<f64>().unwrap() < 3e-3);
    // The page begins with it, too.
    let warnings = &json(&folder.path().join("near_1/report.json"))["warnings"];
    assert!(warnings.to_string().contains(note), "{warnings}");
    // A blur of more than half of the displacement alone is no reason to warn.
    let ended = swathe(folder.path(), "ot far --out far_1 --epsilon 3e-3").expect(0);
    assert!(!ended.stderr.contains(note), "{}", ended.stderr);
    // The whole blur is in the plan's own displacement.
    let line = "ot far --out far_2 --epsilon 3e-3 --raw-velocity";
    let ended = swathe(folder.path(), line).expect(0);
    assert!(
        ended.stderr.contains("times its displacement") && ended.stderr.contains("is better"),
        "{}",
        ended.stderr
    );
}

#[test]
fn growth_that_normalising_hides_is_told() {
    let folder = tempfile::tempdir().unwrap();
    for (name, radius) in [("grows", 9.0), ("stays", 8.0)] {
        let data = folder.path().join(name);
        fs::create_dir(&data).unwrap();
        discs(&data.join("0.npy"), &[(40.0, 30.0, 8.0)]);
        discs(&data.join("1.npy"), &[(40.0, 30.0, radius)]);
        for (flag, is_told) in [("", name == "grows"), ("--no-normalize", false)] {
            let line = format!("ot {name} --out run_{name}{flag} {flag}");
            let ended = swathe(folder.path(), &line).expect(0);
            let told = ended.stderr.contains("--no-normalize shows growth");
            assert_eq!(told, is_told, "{}", ended.stderr);
            let report = folder.path().join(format!("run_{name}{flag}/report.json"));
            let warnings = json(&report)["warnings"].to_string();
            assert_eq!(warnings.contains("shows growth"), is_told, "{warnings}");
        }
    }
}

#[test]
fn pairs_without_mass_are_counted_apart() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    fs::create_dir(&data).unwrap();
    for (time, radius) in [8.0, 8.0, -1.0, -1.0].into_iter().enumerate() {
        discs(&data.join(format!("{time}.npy")), &[(40.0, 30.0 + time as f64, radius)]);
    }
    let ended = swathe(folder.path(), "ot data --out run").expect(0);
    assert!(ended.stderr.contains("ot: 1 solved, 2 without mass in "), "{}", ended.stderr);
    let page = fs::read_to_string(folder.path().join("run/report.html")).unwrap();
    assert!(page.contains("1 of 3 problems solved, 2 without mass"));
    let ended = swathe(folder.path(), "report run --text").expect(0);
    assert!(ended.stdout.contains("ot: 1 solved, 2 without mass"), "{}", ended.stdout);
}

#[test]
fn a_pair_across_a_missing_frame_is_named_as_two_steps() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    fs::create_dir(&data).unwrap();
    let mut rows = String::from("path,frame_index\n");
    for time in [0, 1, 3] {
        discs(&data.join(format!("t{time}.npy")), &[(40.0, 30.0 + f64::from(time), 8.0)]);
        rows += &format!("data/t{time}.npy,{time}\n");
    }
    fs::write(folder.path().join("frames.csv"), rows).unwrap();
    for (line, what) in [
        ("ot frames.csv --order-by frame_index --out by_table", "frame_index"),
        ("ot data --out by_folder", "the names of frames"),
    ] {
        let ended = swathe(folder.path(), line).expect(0);
        let note =
            format!("1 of 2 pairs are further apart by {what} than neighbours are, such as ");
        assert!(
            ended.stderr.contains(&note) && ended.stderr.contains("(2 steps)"),
            "{}",
            ended.stderr
        );
        let run = folder.path().join(line.rsplit(' ').next().unwrap());
        let steps: Vec<u64> = table(&run.join("pairs.parquet"))
            .iter()
            .flat_map(|batch| {
                let column = batch.column_by_name("steps").unwrap();
                column.as_primitive::<UInt64Type>().values().to_vec()
            })
            .collect();
        assert_eq!(steps, [1, 2]);
    }
}

#[test]
fn widths_of_pixels_that_differ_by_rounding_are_the_same() {
    let folder = tempfile::tempdir().unwrap();
    series(folder.path(), "data", 10.0);
    fs::write(
        folder.path().join("pairs.csv"),
        "pair_id,src,tgt,src_um_per_px,tgt_um_per_px\n\
         same,data/0.npy,data/1.npy,0.65,0.6500003\n\
         other,data/0.npy,data/1.npy,0.65,0.65001\n",
    )
    .unwrap();
    swathe(folder.path(), "ot pairs.csv --out run").expect(1);
    let failures = failures(&folder.path().join("run"));
    let told: Vec<(&str, bool)> = failures
        .iter()
        .map(|(_, id, _, message)| (id.as_str(), message.starts_with("unequal_pixel_sizes")))
        .collect();
    assert_eq!(told, [("other", true)]);
}

#[test]
fn an_epsilon_outside_of_the_proved_range_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    series(folder.path(), "data", 10.0);
    for (flags, words) in [
        (
            "--epsilon 1e-2 --coord-scale 1",
            [
                "a blur of 0.10 px on frames of 80x96",
                "1.00e-1 to 2.76e2",
                "what 1.09e-6 is with --coord-scale auto",
            ],
        ),
        ("--epsilon 0.5", ["a blur of 67.88 px", "1.09e-5 to 3.00e-2", "--epsilon auto"]),
    ] {
        let line = format!("ot data --out run {flags}");
        let ended = swathe(folder.path(), &line).expect(2);
        for words in words {
            assert!(ended.stderr.contains(words), "{words}: {}", ended.stderr);
        }
        assert!(!folder.path().join("run").exists());
    }
    let line = "ot check data/0.npy data/1.npy --potentials data/0.npy data/0.npy --epsilon 0.5 --relaxation 10";
    let ended = swathe(folder.path(), line).expect(2);
    assert!(ended.stderr.contains("a blur of 67.88 px"), "{}", ended.stderr);
    // The same blur as 1e-3, in pixels.
    let line = "ot data --out run --epsilon 9.2 --coord-scale 1 --relaxation 92160";
    swathe(folder.path(), line).expect(0);
}
