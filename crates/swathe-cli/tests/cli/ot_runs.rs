//! Runs of pairs: resumed, sharded, repeated with other settings; the maps and plans beside the
//! table.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use arrow::array::AsArray;
use arrow::datatypes::{Float64Type, UInt32Type};
use arrow::util::display::array_value_to_string;
use swathe::array::Elements;
use swathe_formats::npz::Npz;
use swathe_ot::{Coupling, Pair, Precision, Settings, Shape, lift, solve, synth};

use crate::ot_frames::{numbers, save_npy, series, texts};
use crate::ot_suggest::discs;
use crate::program::{
    Ended, Random, announced, command, in_folder, json, result_hash, swathe, table,
};

const N_PAIRS: usize = 30;

/// Pairs of many shapes, with ids that need escaping as file names.
fn many_pairs(folder: &Path) -> String {
    let mut table = "pair_id,src,tgt\n".to_owned();
    let mut random = Random(8);
    for k in 0..N_PAIRS {
        let shape = Shape::new(16 + random.below(40) as usize, 20 + random.below(60) as usize);
        let pair = synth::embryo_pair(shape, k as u64, synth::Change::default());
        save_npy(&folder.join(format!("{k}a.npy")), &pair.source);
        save_npy(&folder.join(format!("{k}b.npy")), &pair.target);
        table += &format!("pair {k}/µ,{k}a.npy,{k}b.npy\n");
    }
    fs::write(folder.join("pairs.csv"), &table).unwrap();
    table
}

#[test]
fn threads_batches_memory_and_buckets_change_no_bit() {
    let folder = tempfile::tempdir().unwrap();
    many_pairs(folder.path());
    let mut hashes: HashMap<String, Vec<&str>> = HashMap::new();
    for flags in [
        "--threads 1",
        "--threads 2",
        "--threads 2 --batch-size 1",
        "--threads 2 --batch-size 7 --prefetch 3",
        "--threads 1 --batch-size 1000",
        "--memory 24MiB",
        "--crop bucketed --buckets 64x128",
        "--crop bucketed --buckets auto",
        "--crop bucketed --buckets 40x60,64x128",
    ] {
        let out = format!("run{}", hashes.values().flatten().count());
        swathe(folder.path(), &format!("ot pairs.csv --out {out} {flags}")).expect(0);
        let hash = result_hash(&folder.path().join(out));
        hashes.entry(hash).or_default().push(flags);
    }
    assert_eq!(hashes.len(), 1, "{hashes:?}");
}

/// Every value of a pair except those of the crop, as text that distinguishes every bit.
fn values(run: &Path) -> HashMap<String, String> {
    let mut values = HashMap::new();
    for batch in table(&run.join("pairs.parquet")) {
        let ids = batch.column_by_name("pair_id").unwrap().as_string::<i32>();
        for at in 0..batch.num_rows() {
            let schema = batch.schema();
            let named = schema.fields().iter().zip(batch.columns());
            let kept = named
                .filter(|(field, _)| !field.name().starts_with("crop_") && field.name() != "row");
            let row: Vec<String> =
                kept.map(|(_, column)| array_value_to_string(column, at).unwrap()).collect();
            values.insert(ids.value(at).to_owned(), row.join(";"));
        }
    }
    values
}

#[test]
fn order_and_padding_change_no_value() {
    let folder = tempfile::tempdir().unwrap();
    let table = many_pairs(folder.path());
    swathe(folder.path(), "ot pairs.csv --out whole").expect(0);
    let expected = values(&folder.path().join("whole"));
    assert_eq!(expected.len(), N_PAIRS);
    let mut lines: Vec<&str> = table.lines().skip(1).collect();
    Random(2).shuffle(&mut lines);
    let shuffled = format!("pair_id,src,tgt\n{}\n", lines.join("\n"));
    fs::write(folder.path().join("shuffled.csv"), shuffled).unwrap();
    for (out, line) in [
        ("order", "ot shuffled.csv"),
        ("none", "ot pairs.csv --padding 0"),
        ("wide", "ot pairs.csv --padding 1000"),
        ("fixed", "ot pairs.csv --crop fixed"),
    ] {
        swathe(folder.path(), &format!("{line} --out {out}")).expect(0);
        assert_eq!(values(&folder.path().join(out)), expected, "{line}");
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
fn maps_and_plans_lie_on_the_original_frame() {
    let folder = tempfile::tempdir().unwrap();
    let frames = series(2, Shape::new(26, 40));
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

fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Many small parts: one for every pair or two.
const SLOW: &str = "slow%100=10ms:seed=1";

#[test]
fn killed_and_resumed_runs_end_the_same() {
    let folder = tempfile::tempdir().unwrap();
    many_pairs(folder.path());
    let line = "ot pairs.csv --fields npz --coupling topk:1 --batch-size 1 --threads 2";
    swathe(folder.path(), &format!("{line} --out whole")).expect(0);
    let whole = folder.path().join("whole");
    let hash = result_hash(&whole);
    let since = Instant::now();
    let mut timed = command(folder.path(), &format!("{line} --out timed"));
    assert!(timed.env("SWATHE_FAULTS", SLOW).status().unwrap().success());
    let wall_us = since.elapsed().as_micros() as u64;
    let mut random = Random(4);
    for moment in 0..6 {
        let out = format!("run{moment}");
        let run = folder.path().join(&out);
        let line = format!("{line} --out {out}");
        let mut child = command(folder.path(), &line).env("SWATHE_FAULTS", SLOW).spawn().unwrap();
        std::thread::sleep(Duration::from_micros(random.below(wall_us)));
        child.kill().unwrap();
        child.wait().unwrap();
        let before = announced(&run);
        // A half-written file, and a complete one that no row announces, must not be used.
        let fields = run.join("fields");
        if fields.is_dir() {
            fs::write(fields.join(".pair%2029%2F%C2%B5.npz.1-1.tmp"), "half").unwrap();
            if !before.contains(&29) {
                fs::write(fields.join("pair%2029%2F%C2%B5.npz"), "rubbish").unwrap();
            }
        }
        swathe(folder.path(), &format!("{line} --resume")).expect(0);
        assert_eq!(result_hash(&run), hash, "moment {moment}");
        assert_eq!(announced(&run)[..before.len()], before);
        for side in ["fields", "coupling", "views"] {
            let names = names_in(&whole.join(side));
            assert_eq!(names.len(), N_PAIRS);
            if !before.contains(&29) {
                assert_eq!(names_in(&run.join(side)), names, "{side}");
            }
            for name in names {
                let contents = |run: &Path| fs::read(run.join(side).join(&name)).unwrap();
                assert!(contents(&run) == contents(&whole), "{side}/{name}");
            }
        }
    }
    // A resumed run uses the recorded survey instead of reading the frames again.
    let mut cut_short = command(folder.path(), &format!("{line} --out survey"));
    let mut child = cut_short.env("SWATHE_FAULTS", SLOW).spawn().unwrap();
    let survey = folder.path().join("survey/survey.json");
    let since = Instant::now();
    while !survey.exists() {
        assert!(since.elapsed() < Duration::from_secs(30));
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(json(&survey)["frames"].as_array().unwrap().len(), 2 * N_PAIRS);
    swathe(folder.path(), &format!("{line} --out survey --resume")).expect(0);
    assert_eq!(result_hash(&folder.path().join("survey")), hash);
}

#[test]
fn changed_frames_and_settings_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    many_pairs(folder.path());
    swathe(folder.path(), "ot pairs.csv --out run").expect(0);
    let ended = swathe(folder.path(), "ot pairs.csv --epsilon 0.01 --out run --resume").expect(2);
    assert!(ended.stderr.contains("--epsilon: 0.001 then, 0.01 now"), "{}", ended.stderr);
    save_npy(&folder.path().join("7a.npy"), &series(1, Shape::new(30, 30))[0]);
    let ended = swathe(folder.path(), "ot pairs.csv --out run --resume").expect(2);
    assert!(ended.stderr.contains("7a.npy: its contents changed"), "{}", ended.stderr);
}

#[test]
fn shards_make_the_whole() {
    let folder = tempfile::tempdir().unwrap();
    many_pairs(folder.path());
    let line = "ot pairs.csv --fields npz";
    swathe(folder.path(), &format!("{line} --out whole")).expect(0);
    for k in [3, 1, 2] {
        swathe(folder.path(), &format!("{line} --out run --shard {k}/3")).expect(0);
    }
    swathe(folder.path(), "merge run").expect(0);
    let (run, whole) = (folder.path().join("run"), folder.path().join("whole"));
    assert_eq!(result_hash(&run), result_hash(&whole));
    for path in texts(&run, "fields_path") {
        assert!(fs::read(run.join(&path)).unwrap() == fs::read(whole.join(&path)).unwrap());
    }
}

#[test]
fn plans_are_explained_and_answers_verified() {
    let folder = tempfile::tempdir().unwrap();
    many_pairs(folder.path());
    let ended = swathe(folder.path(), "ot pairs.csv --out run --explain").expect(0);
    assert!(ended.stdout.starts_with("30 problems in "), "{}", ended.stdout);
    assert!(!folder.path().join("run").exists());
    let ended = swathe(folder.path(), "ot pairs.csv --out run --verify 5").expect(0);
    assert!(ended.stderr.contains("problems solved again, all agree"), "{}", ended.stderr);
}

#[test]
fn pairs_that_do_not_converge_are_solved_with_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    many_pairs(folder.path());
    let line =
        "ot pairs.csv --epsilon 1e-4 --relaxation 10 --tolerance 1e-7 --max-iterations 1 --out run";
    let ended = swathe(folder.path(), line).expect(0);
    assert!(ended.stderr.contains("warning: "), "{}", ended.stderr);
    assert!(ended.stderr.contains("stopped at --max-iterations 1 before"), "{}", ended.stderr);
    let run = folder.path().join("run");
    assert!(texts(&run, "status").contains(&"max_iterations".to_owned()));
    assert!(numbers(&run, "residual").iter().any(|r| *r > 1e-7));
}

#[test]
fn maps_that_cannot_be_written_end_the_run() {
    let folder = tempfile::tempdir().unwrap();
    many_pairs(folder.path());
    let line = "ot pairs.csv --threads 1 --batch-size 1";
    swathe(folder.path(), &format!("{line} --fields npz --out whole")).expect(0);
    let program = env!("CARGO_BIN_EXE_swathe");
    // 40 blocks of 512 bytes hold the maps of some pairs, but not of all.
    let limited = format!("ulimit -f 40; exec {program} {line} --fields npz --out run");
    let mut shell = Command::new("sh");
    shell.args(["-c", &limited]);
    let ended = Ended::of(in_folder(shell, folder.path()).output().unwrap()).expect(4);
    assert!(ended.stderr.contains("cannot write run/fields/"), "{}", ended.stderr);
    swathe(folder.path(), &format!("{line} --fields npz --out run --resume")).expect(0);
    let (run, whole) = (folder.path().join("run"), folder.path().join("whole"));
    assert_eq!(result_hash(&run), result_hash(&whole));
}

#[test]
fn maps_that_committed_pairs_rely_on_are_checked() {
    let folder = tempfile::tempdir().unwrap();
    many_pairs(folder.path());
    let line = "ot pairs.csv --fields npz";
    for k in [1, 2] {
        swathe(folder.path(), &format!("{line} --out run --shard {k}/2")).expect(0);
    }
    swathe(folder.path(), "merge run").expect(0);
    swathe(folder.path(), "report run --check").expect(0);
    let run = folder.path().join("run");
    let name = texts(&run, "fields_path")[0].clone();
    let path = run.join(&name);
    let whole = fs::read(&path).unwrap();
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    for (contents, is_noticed) in [
        (None, true),
        (Some(&whole[..whole.len() - 1]), true),
        // Only the full check reads the contents.
        (Some(&flipped[..]), false),
    ] {
        match contents {
            Some(contents) => fs::write(&path, contents).unwrap(),
            None => fs::remove_file(&path).unwrap(),
        }
        let ended = swathe(folder.path(), "report run --check").expect(3);
        assert!(ended.stderr.contains(&name), "{}", ended.stderr);
        let ended = swathe(folder.path(), &format!("{line} --out run --shard 1/2 --resume"));
        if is_noticed {
            let ended = ended.expect(2);
            assert!(ended.stderr.contains(&name), "{}", ended.stderr);
        }
    }
}

#[test]
fn paths_of_files_are_no_results() {
    let folder = tempfile::tempdir().unwrap();
    many_pairs(folder.path());
    swathe(folder.path(), "ot pairs.csv --out without --fields none").expect(0);
    swathe(folder.path(), "ot pairs.csv --out with --fields npz").expect(0);
    let text = swathe(folder.path(), "report without with").expect(0).stdout;
    assert!(text.contains("rows that both have are the same"), "{text}");
    assert!(!text.contains("rows differ") && !text.contains("fields_path"), "{text}");
}

/// By default ε is chosen, the displacement is debiased and has an error bar; with --raw-velocity
/// it is the plan's own.
#[test]
fn motion_is_debiased_by_default() {
    let folder = tempfile::tempdir().unwrap();
    let frames = series(5, Shape::new(30, 44));
    fs::create_dir(folder.path().join("frames")).unwrap();
    for (t, frame) in frames.iter().enumerate() {
        save_npy(&folder.path().join(format!("frames/{t}.npy")), frame);
    }
    let run = |line: &str, out: &str| {
        swathe(folder.path(), &format!("ot frames {line} --out {out}")).expect(0);
        folder.path().join(out)
    };
    let (plain, raw) = (run("", "plain"), run("--raw-velocity", "raw"));
    let epsilon = numbers(&plain, "epsilon");
    assert!(swathe_ot::EPSILONS.contains(&epsilon[0]), "{epsilon:?}");
    assert_eq!(epsilon, numbers(&raw, "epsilon"));
    assert_eq!(numbers(&plain, "relaxation"), [10.0; 4]);
    for name in [
        "displacement_err_px",
        "sinkhorn_divergence",
        "gap",
        "blur_px",
        "blur_ratio",
        "mass_change",
        "translation_y_px",
        "strain_major",
    ] {
        assert!(numbers(&plain, name).iter().all(|v| v.is_finite()), "{name}");
    }
    let (debiased, pulled) = ("displacement_p50_px", "displacement_raw_p50_px");
    assert_eq!(numbers(&plain, pulled), numbers(&raw, debiased));
    assert_ne!(numbers(&plain, debiased), numbers(&raw, debiased));
    assert!(numbers(&raw, "displacement_err_px").iter().all(|v| v.is_nan()));
    let apart = run("--relaxation inf,10 --epsilon 1e-3", "apart");
    assert_eq!(numbers(&apart, "relaxation_tgt"), [10.0; 4]);
    assert_eq!(numbers(&apart, "relaxation"), [f64::INFINITY; 4]);
}

/// One of two bodies vanishes: normalised or not, the plan carries mass from body to body.
#[test]
fn motion_is_doubted_where_mass_changes_in_one_place() {
    let folder = tempfile::tempdir().unwrap();
    let (one, other) = ((30.0, 30.0, 8.0), (50.0, 70.0, 8.0));
    for (name, bodies) in [("a", &[one, other][..]), ("b", &[(31.0, 33.0, 8.0)]), ("c", &[one])] {
        discs(&folder.path().join(format!("{name}.npy")), bodies);
    }
    let pairs = "pair_id,src,tgt\nmoved,c.npy,b.npy\ngone,a.npy,b.npy\nnew,b.npy,a.npy\n";
    fs::write(folder.path().join("pairs.csv"), pairs).unwrap();
    let example = "the motion of 2 of 3 pairs is in doubt (for example pair gone: a body vanished (50 % of the mass))";
    for flags in ["", " --no-normalize", " --raw-velocity"] {
        let line = format!("ot pairs.csv --out run{flags}");
        let ended = swathe(folder.path(), &line).expect(0);
        assert!(ended.stderr.contains(example), "{}", ended.stderr);
        let run = folder.path().join("run");
        let doubts = texts(&run, "motion_doubt");
        let expected =
            ["", "a body vanished (50 % of the mass)", "a body appeared (50 % of the mass)"];
        assert_eq!(doubts, expected);
        let report = swathe(folder.path(), "report run --text").expect(0).stdout;
        assert!(report.contains("is in doubt"), "{report}");
        let shown = swathe(folder.path(), "ot show run gone -o gone.png").expect(0).stderr;
        assert!(shown.contains("the motion of gone is in doubt: a body vanished"), "{shown}");
        let shown = swathe(folder.path(), "ot show run moved -o moved.png").expect(0).stderr;
        assert!(!shown.contains("doubt"), "{shown}");
        fs::remove_dir_all(&run).unwrap();
    }
    for shard in ["1/3", "2/3", "3/3"] {
        swathe(folder.path(), &format!("ot pairs.csv --out run --shard {shard}")).expect(0);
    }
    swathe(folder.path(), "merge run").expect(0);
    let report = swathe(folder.path(), "report run --text").expect(0).stdout;
    assert!(report.contains("1 of 1 pairs is in doubt (for example pair new"), "{report}");
}
