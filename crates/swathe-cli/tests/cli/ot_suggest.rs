//! `swathe ot suggest`.

use std::fs;
use std::path::Path;

use arrow::array::AsArray;
use arrow::datatypes::Float64Type;
use swathe::array::Array;
use swathe_formats::npy;

use crate::program::{Ended, swathe, table};

/// A frame of 80 × 96 pixels with discs, each given by its middle (y, x) and its radius.
pub(crate) fn discs(path: &Path, discs: &[(f64, f64, f64)]) {
    let mass = |at: usize| {
        let (y, x) = ((at / 96) as f64, (at % 96) as f64);
        let is_inside = |(y0, x0, r): &(f64, f64, f64)| (y - y0).hypot(x - x0) <= *r;
        f64::from(u8::from(discs.iter().any(is_inside)))
    };
    let pixels: Vec<f64> = (0..80 * 96).map(mass).collect();
    npy::save(path, &Array::new(vec![80, 96], pixels).unwrap()).unwrap();
}

/// Median displacements of a run, px.
fn medians_px(run: &Path) -> Vec<f64> {
    let batches = table(&run.join("pairs.parquet"));
    let column = |batch: &arrow::array::RecordBatch| {
        let column = batch.column_by_name("displacement_p50_px").unwrap();
        column.as_primitive::<Float64Type>().values().to_vec()
    };
    batches.iter().flat_map(column).collect()
}

/// The flags that a call suggests: the one line of its stdout.
#[track_caller]
fn flags(ended: &Ended) -> &str {
    let (line, rest) = ended.stdout.split_once('\n').unwrap();
    assert_eq!(rest, "");
    assert!(line.starts_with("--epsilon "), "{line}");
    line
}

#[test]
fn known_shifts_are_recovered_with_what_is_suggested() {
    let folder = tempfile::tempdir().unwrap();
    for (name, by) in [("a", (3.0, 0.0)), ("b", (2.0, 4.0)), ("c", (6.0, 4.0)), ("d", (0.0, 12.0))]
    {
        let data = folder.path().join(name);
        fs::create_dir(&data).unwrap();
        // Large and small: a low price costs the large one most.
        let at = [(30.0, 40.0, 20.0), (60.0, 20.0, 6.0)];
        discs(&data.join("0.npy"), &at);
        let moved = at.map(|(y, x, r)| (y + by.0, x + by.1, r));
        discs(&data.join("1.npy"), &moved);
        let ended = swathe(folder.path(), &format!("ot suggest {name}")).expect(0);
        let line = format!("ot {name} --out run_{name} {}", flags(&ended));
        swathe(folder.path(), &line).expect(0);
        let shift = f64::hypot(by.0, by.1);
        let found = medians_px(&folder.path().join(format!("run_{name}")))[0];
        assert!((found / shift - 1.0).abs() < 0.05, "{found} of {shift} px");
        // Every price that was tried is listed with its effect; the lowest loses motion.
        for words in ["transported", "0.1 moves less and shows more growth: displacement "] {
            assert!(ended.stderr.contains(words), "{words}: {}", ended.stderr);
        }
    }
}

#[test]
fn neighbours_that_move_apart_need_a_smaller_epsilon() {
    let folder = tempfile::tempdir().unwrap();
    let (far, near) = (folder.path().join("far"), folder.path().join("near"));
    for (data, gap) in [(&far, 40.0), (&near, 3.0)] {
        fs::create_dir(data).unwrap();
        let x1 = 30.0 + 16.0 + gap;
        discs(&data.join("0.npy"), &[(40.0, 30.0, 8.0), (40.0, x1, 8.0)]);
        discs(&data.join("1.npy"), &[(43.0, 30.0, 8.0), (37.0, x1, 8.0)]);
    }
    let epsilon = |name: &str| -> f64 {
        let ended = swathe(folder.path(), &format!("ot suggest {name}")).expect(0);
        let words: Vec<&str> = flags(&ended).split_whitespace().collect();
        words[1].parse().unwrap()
    };
    assert!(epsilon("near") < epsilon("far"));
    // With the plan's own displacement the whole blur counts.
    let ended = swathe(folder.path(), "ot suggest far --raw-velocity").expect(0);
    let words: Vec<&str> = flags(&ended).split_whitespace().collect();
    assert!(words[1].parse::<f64>().unwrap() < 1e-3, "{}", ended.stderr);
    assert!(ended.stderr.contains("half of the displacement"));
}

#[test]
fn suggestions_take_the_input_as_a_run_does_and_can_be_kept() {
    let folder = tempfile::tempdir().unwrap();
    let synth = "ot synth --series 2 --frames 4 --shape 32x64 --seed 1 --out data";
    swathe(folder.path(), synth).expect(0);
    // A table of frames is refused by a run until it says how frames belong together.
    let mut rows = String::from("path,embryo_id,frame_index\n");
    for (series, frame) in [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)] {
        let path = format!("data/series_0{series}/frame_00{frame}.png");
        rows += &format!("{path},e{series},{frame}\n");
    }
    fs::write(folder.path().join("frames.csv"), rows).unwrap();
    swathe(folder.path(), "ot suggest frames.csv").expect(2);
    let grouped = "frames.csv --group-by embryo_id --order-by frame_index";
    fs::write(folder.path().join("swathe.toml"), "# mine\nthreads = 2\n[ot]\nfields = \"npz\"\n")
        .unwrap();
    let ended = swathe(folder.path(), &format!("ot suggest {grouped} --apply")).expect(0);
    assert!(ended.stderr.contains("trying 4 pairs of 4"), "{}", ended.stderr);
    let words: Vec<&str> = flags(&ended).split_whitespace().collect();
    let kept = fs::read_to_string(folder.path().join("swathe.toml")).unwrap();
    let wanted = format!(
        "# mine\nthreads = 2\n[ot]\nepsilon = {}\nrelaxation = {}\nfields = \"npz\"\n",
        words[1], words[3]
    );
    assert_eq!(kept, wanted);
    swathe(folder.path(), &format!("ot {grouped} --out run")).expect(0);
    let run = crate::program::json(&folder.path().join("run/run.json"));
    let epsilon = run["settings"]["epsilon"].as_f64().unwrap();
    assert_eq!(epsilon, words[1].parse::<f64>().unwrap());
}

#[test]
fn labels_are_chosen_as_in_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("labels");
    fs::create_dir(&data).unwrap();
    for time in 0..2 {
        let label = |at: usize| -> u8 {
            let (y, x) = (at / 60, at % 60);
            let is_inside = |y0: usize| (y0..y0 + 8).contains(&y);
            match (10 + 3 * time..20 + 3 * time).contains(&x) {
                true if is_inside(5) => 1,
                true if is_inside(25) => 2,
                _ => 0,
            }
        };
        let pixels: Vec<u8> = (0..40 * 60).map(label).collect();
        let array = Array::new(vec![40, 60], pixels).unwrap();
        npy::save(&data.join(format!("{time}.npy")), &array).unwrap();
    }
    let ended = swathe(folder.path(), "ot suggest labels --label all").expect(0);
    assert!(ended.stderr.contains("2 pairs of 2"), "{}", ended.stderr);
    let line = format!("ot labels --out run --label all {}", flags(&ended));
    swathe(folder.path(), &line).expect(0);
    for found in medians_px(&folder.path().join("run")) {
        assert!((found / 3.0 - 1.0).abs() < 0.05, "{found} px");
    }
    let ended = swathe(folder.path(), "ot suggest labels --label 7").expect(2);
    assert!(ended.stderr.contains("no mass"), "{}", ended.stderr);
}

#[test]
fn bad_ranges_and_missing_inputs_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let synth = "ot synth --series 1 --frames 2 --shape 24x32 --out data";
    swathe(folder.path(), synth).expect(0);
    for (line, words) in [
        ("data/pairs.csv --epsilon-min 0", "--epsilon-min is '0'"),
        ("data/pairs.csv --epsilon-min 1", "more than --epsilon-max"),
        ("data/pairs.csv --epsilon-max 1e-6 --epsilon-min 1e-7", "proved"),
        ("data/pairs.csv --blur much", "--blur is 'much'"),
        ("missing.csv", "missing.csv"),
    ] {
        let ended = swathe(folder.path(), &format!("ot suggest {line}")).expect(2);
        assert!(ended.stderr.contains(words), "{}", ended.stderr);
        assert_eq!(ended.stdout, "");
    }
}

#[test]
fn pairs_that_cannot_be_tried_are_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let synth = "ot synth --series 1 --frames 4 --shape 16x24 --out data";
    swathe(folder.path(), synth).expect(0);
    fs::write(folder.path().join("data/series_00/frame_000.png"), "").unwrap();
    let line = "ot suggest data/pairs.csv --relaxation-min 1";
    let ended = swathe(folder.path(), line).expect(0);
    assert!(ended.stderr.contains("s00_t000 is left out"), "{}", ended.stderr);
    assert!(ended.stderr.contains("2/2"), "{}", ended.stderr);
    for time in 1..4 {
        let name = format!("data/series_00/frame_00{time}.png");
        fs::write(folder.path().join(name), "").unwrap();
    }
    swathe(folder.path(), line).expect(2);
}

/// One of two bodies vanishes: what it would take for the answer to be right is not known.
#[test]
fn both_answers_are_shown_where_mass_changes_in_one_place() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("frames");
    fs::create_dir(&data).unwrap();
    discs(&data.join("0.npy"), &[(30.0, 30.0, 8.0), (50.0, 70.0, 8.0)]);
    discs(&data.join("1.npy"), &[(31.0, 33.0, 8.0)]);
    let ended = swathe(folder.path(), "ot suggest frames").expect(0);
    assert!(flags(&ended).ends_with(" --relaxation 10"), "{}", ended.stdout);
    for words in [
        "Mass changes in one place in 1 of 1 pair (for example: a body vanished (50 % of the mass))",
        "  --relaxation 0.1 --no-normalize creates and destroys mass",
        "  --relaxation 100 moves nearly all mass",
        "neither is known to be the truth",
    ] {
        assert!(ended.stderr.contains(words), "{words}: {}", ended.stderr);
    }
    for words in ["with a small error (", "moves mass that may really have appeared"] {
        let prices = ended.stderr.split("\nrelaxation ").nth(1).unwrap();
        assert!(!prices.contains(words), "{words}: {}", ended.stderr);
    }
}
