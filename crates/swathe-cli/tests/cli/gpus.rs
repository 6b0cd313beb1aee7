//! Runs with graphics processors, without any, and with unusable ones.

use std::path::Path;
use std::process::Command;

use crate::program::{Ended, Random, command, json, result_hash, save, swathe};

/// Allows a software device, for test machines without a graphics processor.
const SOFTWARE: (&str, &str) = ("SWATHE_SOFTWARE_GPU", "1");
/// Simulates a machine without graphics processors.
const NO_VULKAN: (&str, &str) = ("VK_ICD_FILENAMES", "/there/is/no/such/driver.json");

fn with(folder: &Path, variables: &[(&str, &str)], line: &str) -> Ended {
    let mut command: Command = command(folder, line);
    command.envs(variables.iter().copied());
    Ended::of(command.output().unwrap())
}

/// Whether there is a device to test with; prints a line if not.
#[expect(clippy::print_stdout, reason = "a skipped test says so")]
fn has_gpu(folder: &Path) -> bool {
    let ended = with(folder, &[SOFTWARE], "devices --json").expect(0);
    let devices: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    let has_gpu = devices["devices"].as_array().unwrap().len() > 1;
    if !has_gpu {
        println!("SKIPPED: no graphics processor: {}", devices["why_no_gpu"]);
    }
    has_gpu
}

fn bytes(folder: &Path) {
    let mut random = Random(5);
    let items: Vec<_> =
        (0..120).map(|k| (format!("item{k}"), random.bytes(k * 37 % 900))).collect();
    save(folder, "bytes.npz", &items);
}

fn floats(folder: &Path) {
    let mut random = Random(6);
    let items: Vec<_> = (0..80)
        .map(|k| (format!("item{k}"), random.floats(&[1 + k % 9, 1 + k * 7 % 40])))
        .collect();
    save(folder, "floats.npz", &items);
}

/// By default no device is tried for a run that is over sooner than trials would pay, and the run
/// says so.
#[test]
fn a_short_run_tries_no_device() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    if !has_gpu(folder) {
        return;
    }
    // So few problems that a trial of one on the CPU would be too much.
    save(folder, "few.npz", &[("one".to_owned(), Random(7).floats(&[30, 40]))]);
    let few = with(folder, &[SOFTWARE], "array map exp few.npz --out few").expect(0);
    assert!(few.stderr.contains("fewer than 40 problems"), "{}", few.stderr);
    floats(folder);
    let ended = with(folder, &[SOFTWARE], "array map exp floats.npz --out run").expect(0);
    assert!(ended.stderr.contains("too short to try gpu:0"), "{}", ended.stderr);
    let run = json(&folder.join("run/run.json"));
    let rows = run["settings"]["placement"].as_array().unwrap();
    assert!(rows.iter().all(|row| row["on"] == "cpu" && row["device_ms"].is_null()), "{rows:?}");
    assert!(rows.iter().any(|row| row["cpu_ms"].is_number()), "{rows:?}");
}

#[test]
fn a_forced_device_gives_the_same_table() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    if !has_gpu(folder) {
        return;
    }
    bytes(folder);
    floats(folder);
    for (k, line) in [
        "array xor bytes.npz --key-seed 7",
        "array map square floats.npz",
        "array map sqrt floats.npz",
    ]
    .iter()
    .enumerate()
    {
        let cpu = format!("cpu{k}");
        swathe(folder, &format!("{line} --out {cpu} --device cpu")).expect(0);
        for copies in ["1", "4"] {
            let gpu = format!("gpu{k}-{copies}");
            let line = format!("{line} --out {gpu} --device gpu --verify 20");
            let ended = with(folder, &[SOFTWARE, ("SWATHE_GPUS", copies)], &line).expect(0);
            assert!(ended.stderr.contains("taken by "), "{}", ended.stderr);
            assert!(ended.stderr.contains("all agree"), "{}", ended.stderr);
            assert_eq!(result_hash(&folder.join(&cpu)), result_hash(&folder.join(&gpu)), "{line}");
            let report = json(&folder.join(&gpu).join("report.json"));
            let report = &report["report"];
            let n_devices = report["devices"].as_array().unwrap().len();
            assert_eq!(n_devices.to_string(), (1 + copies.parse::<usize>().unwrap()).to_string());
            let taken = report["routes"][0]["devices"].as_array().unwrap().iter();
            let taken = taken.filter(|part| part["device"] != "cpu");
            let n_taken: u64 = taken.map(|part| part["n_lanes"].as_u64().unwrap()).sum();
            assert!(n_taken > 0, "{}", report["routes"]);
        }
    }
}

#[test]
fn what_has_no_kernels_runs_on_the_cpu_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    if !has_gpu(folder) {
        return;
    }
    let line = "lattice analyze --size 3x3 --out run --device gpu";
    let ended = with(folder, &[SOFTWARE], line).expect(0);
    assert!(ended.stderr.contains("nothing here has kernels"), "{}", ended.stderr);
}

#[test]
fn without_a_device_the_cpu_runs_unless_a_device_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    bytes(folder);
    let line = "array xor bytes.npz --key-seed 7 --progress none";
    let cpu = swathe(folder, &format!("{line} --out cpu --device cpu")).expect(0);
    let refused = ("SWATHE_FAULTS", "oom@selftest:1");
    for (k, (variables, why)) in [
        (vec![NO_VULKAN], "which is not there"),
        (vec![], "a software device"),
        (vec![SOFTWARE, refused], "failed the self-test"),
    ]
    .into_iter()
    .enumerate()
    {
        if k > 0 && !has_gpu(folder) {
            return;
        }
        let out = format!("run{k}");
        for device in ["gpu", "gpu:7"] {
            let line = format!("{line} --out {out} --device {device}");
            let ended = with(folder, &variables, &line).expect(2);
            let told = "error: --device asks for a graphics processor: ";
            assert!(ended.stderr.starts_with(told), "{}", ended.stderr);
            assert!(ended.stderr.contains(why), "{}", ended.stderr);
            assert!(!folder.join(&out).exists());
        }
        let ended = with(folder, &variables, &format!("{line} --out {out}")).expect(0);
        let lines: Vec<&str> = ended.stderr.lines().collect();
        // A user who has no device and did not ask for one gets no message about it.
        let is_told = why != "a software device";
        let n_lines = usize::from(is_told) + cpu.stderr.lines().count();
        assert_eq!(lines.len(), n_lines, "{}", ended.stderr);
        let told = lines[0].starts_with("no graphics processor, all runs on the CPU: ");
        assert_eq!((told, lines[0].contains(why)), (is_told, is_told), "{}", lines[0]);
        assert_eq!(result_hash(&folder.join("cpu")), result_hash(&folder.join(&out)));
    }
}

#[test]
fn a_device_that_is_not_there_is_bad_usage() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    if !has_gpu(folder) {
        return;
    }
    bytes(folder);
    let line = "array xor bytes.npz --key-seed 7 --out run --device gpu:0,7";
    let ended = with(folder, &[SOFTWARE, ("SWATHE_GPUS", "2")], line).expect(2);
    assert!(
        ended.stderr.contains("asks for gpu:7, but there are only gpu:0 to gpu:1"),
        "{}",
        ended.stderr
    );
    assert!(!folder.join("run").exists());
    let ended = with(folder, &[SOFTWARE], line).expect(2);
    assert!(ended.stderr.contains("gpu:7, but there is only gpu:0"), "{}", ended.stderr);
    let ended = with(folder, &[SOFTWARE, ("SWATHE_GPUS", "none")], line).expect(2);
    assert!(ended.stderr.contains("SWATHE_GPUS is 'none'"), "{}", ended.stderr);
}

/// Products may differ in their last bits between devices, so each size has a fixed placement.
#[test]
fn a_placement_is_decided_once_and_kept() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    if !has_gpu(folder) {
        return;
    }
    let mut random = Random(7);
    let mut side = |name: &str, shape: fn(usize) -> [usize; 2]| {
        let items: Vec<_> = (0..60).map(|k| (format!("p{k}"), random.floats(&shape(k)))).collect();
        save(folder, name, &items);
    };
    side("a.npz", |k| [4 + k % 30, 8]);
    side("b.npz", |k| [8, 4 + k % 17]);
    let line = "array matmul a.npz --with b.npz";
    let two = [SOFTWARE, ("SWATHE_GPUS", "2")];
    let mut hashes = Vec::new();
    for k in 0..6 {
        with(folder, &two, &format!("{line} --out run{k}")).expect(0);
        hashes.push(result_hash(&folder.join(format!("run{k}"))));
    }
    hashes.dedup();
    assert_eq!(hashes.len(), 1, "{hashes:?}");
    let settings = |run: &str| json(&folder.join(run).join("run.json"))["settings"].clone();
    let placement = settings("run0")["placement"].clone();
    assert!(!placement.as_array().unwrap().is_empty());
    // All shards have the same placement, and so has the merged run.
    for shard in 1..=3 {
        with(folder, &two, &format!("{line} --out cut --shard {shard}/3")).expect(0);
    }
    swathe(folder, "merge cut").expect(0);
    let shards = (1..=3).map(|shard| {
        let folders = std::fs::read_dir(folder.join("cut/shards")).unwrap();
        let mut names: Vec<_> = folders.flatten().map(|entry| entry.path()).collect();
        names.retain(|path| path.is_dir());
        names.sort();
        json(&names[shard - 1].join("run.json"))["settings"]["placement"].clone()
    });
    for placement in shards {
        assert_eq!(placement, settings("cut")["placement"]);
    }
}

#[test]
fn a_lost_device_is_told_and_costs_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    if !has_gpu(folder) {
        return;
    }
    bytes(folder);
    let line = "array xor bytes.npz --key-seed 7";
    swathe(folder, &format!("{line} --out cpu --device cpu")).expect(0);
    for (k, (rule, told)) in [
        ("lost@upload:1", "gpu:0 was lost"),
        ("lost%100:upload", "was given up"),
        ("oom@upload:1", "bytes refused on gpu:0"),
    ]
    .into_iter()
    .enumerate()
    {
        let line = format!("{line} --out run{k} --device gpu --progress plain");
        let ended = with(folder, &[SOFTWARE, ("SWATHE_FAULTS", rule)], &line).expect(0);
        assert!(ended.stderr.contains(told), "{rule}: {}", ended.stderr);
        assert_eq!(result_hash(&folder.join("cpu")), result_hash(&folder.join(format!("run{k}"))));
    }
}

#[test]
fn devices_are_listed_with_reasons() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let none = with(folder, &[NO_VULKAN], "devices").expect(0);
    assert!(none.stdout.contains("gpu    none: VK_ICD_FILENAMES names"), "{}", none.stdout);
    if !has_gpu(folder) {
        return;
    }
    let refused = swathe(folder, "devices").expect(0);
    assert!(refused.stdout.contains("is not used: a software device"), "{}", refused.stdout);
    let two = with(folder, &[SOFTWARE, ("SWATHE_GPUS", "2")], "devices").expect(0);
    assert!(two.stdout.contains("gpu:0  ") && two.stdout.contains("gpu:1  "), "{}", two.stdout);
    assert_eq!(two.stderr, "");
}

#[test]
fn calibration_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    if !has_gpu(folder) {
        return;
    }
    let ended = with(folder, &[SOFTWARE], "devices --calibrate").expect(0);
    let rows = ended.stdout.lines().count();
    assert_eq!(rows, 10, "{}", ended.stdout);
    assert!(!ended.stdout.contains("cannot"), "{}", ended.stdout);
    let costs = json(&folder.join("cache/swathe/costs.json"));
    let measured = costs["costs"].as_array().unwrap().iter();
    let on_gpu = measured.filter(|row| row["device"] == "gpu:0").count();
    assert!(on_gpu >= 6, "{costs}");
}

#[test]
fn transport_on_a_device_agrees_with_the_cpu() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    if !has_gpu(folder) {
        return;
    }
    let synth = "ot synth --series 1 --frames 5 --shape 24x40 --out frames";
    swathe(folder, synth).expect(0);
    let line = "ot frames/pairs.csv --out run --device gpu --verify 4 --epsilon 5e-3";
    let ended = with(folder, &[SOFTWARE], line).expect(0);
    assert!(ended.stderr.contains("taken by cpu 0, gpu:0 4"), "{}", ended.stderr);
    assert!(ended.stderr.contains("4 problems solved again, all agree"), "{}", ended.stderr);
    // Problems that need more precision than the kernels have are planned for the CPU.
    let sharp = "ot frames/pairs.csv --out sharp --device gpu --epsilon 1e-4";
    let ended = with(folder, &[SOFTWARE], sharp).expect(0);
    assert!(ended.stderr.contains("nothing here has kernels"), "{}", ended.stderr);
}
