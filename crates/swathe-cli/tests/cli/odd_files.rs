//! Inputs that are not regular files, or are far longer than usual.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::program::{Ended, command, many_floats, save, swathe};

/// Kills a program that blocks on its input, because it would block for ever.
pub(crate) fn ended_in_time(folder: &Path, line: &str) -> Ended {
    let mut child = command(folder, line).spawn().unwrap();
    let started = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if started.elapsed() > Duration::from_secs(60) {
            child.kill().unwrap();
            panic!("{line} hangs");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ended::of(child.wait_with_output().unwrap())
}

#[test]
fn fifos_and_devices_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    many_floats(folder.path());
    let task = r#"{"train":[{"input":[[1]],"output":[[1]]}],"test":[{"input":[[1]]}]}"#;
    fs::write(folder.path().join("task.json"), task).unwrap();
    fs::write(folder.path().join("own.py"), "def a(I):\n    return I\n").unwrap();
    for name in ["in.npy", "f.npz", "in.parquet", "in.csv", "in.py", "in.json", "in.toml", "in.tif"]
    {
        let made = Command::new("mkfifo").arg(folder.path().join(name)).status();
        assert!(made.unwrap().success());
    }
    std::os::unix::fs::symlink("/dev/zero", folder.path().join("zero.npy")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", folder.path().join("zero.csv")).unwrap();
    for (line, what) in [
        ("array map sqrt in.npy --out run", "a FIFO"),
        ("array map sqrt f.npz --out run", "a FIFO"),
        ("array map sqrt in.parquet --out run", "a FIFO"),
        ("array map sqrt zero.npy --out run", "a device"),
        ("array map sqrt in.npz --config in.toml --out run", "a FIFO"),
        ("ot in.csv --out run", "a FIFO"),
        ("ot zero.csv --out run", "a device"),
        ("ot in.parquet --out run", "a FIFO"),
        ("ot in.tif --out run", "a FIFO"),
        ("lattice path in.csv --out run", "a FIFO"),
        ("lattice analyze --size 3x3 --blocked-file in.csv --out run", "a FIFO"),
        ("arc --programs in.py --tasks task.json --out run", "a FIFO"),
        ("arc --programs own.py --tasks in.json --out run", "a FIFO"),
    ] {
        let ended = ended_in_time(folder.path(), line).expect(2);
        let said = format!("{what}, not a regular file");
        assert!(ended.stderr.contains(&said), "{line}: {}", ended.stderr);
        assert!(!folder.path().join("run").exists(), "{line}");
    }
    // Only this frame fails.
    let plain = [("plain".to_owned(), crate::program::Random(1).floats(&[8, 8]))];
    save(folder.path(), "frames.npz", &plain);
    let table = "pair_id,src,tgt\na,frames.npz:plain,in.npy\nb,frames.npz:plain,frames.npz:plain\n";
    fs::write(folder.path().join("pairs.csv"), table).unwrap();
    ended_in_time(folder.path(), "ot pairs.csv --out frames").expect(1);
    let failures = crate::program::failures(&folder.path().join("frames"));
    assert_eq!(failures.len(), 1);
    assert!(failures[0].3.contains("a FIFO, not a regular file"), "{failures:?}");
}

/// The files of a run folder, on every road that reads them.
#[test]
fn a_run_folder_of_fifos_or_of_gigabytes_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    many_floats(folder);
    let line = "array map sqrt in.npz --out run";
    swathe(folder, line).expect(0);
    swathe(folder, "array map sqrt in.npz --out cut --shard 1/1").expect(0);
    let (resume, cut) = (format!("{line} --resume"), "cut/shards/1-of-1");
    for (file, roads) in [
        (
            "run/run.json",
            vec![
                "report run",
                "report run --text",
                "report run --check",
                "watch run",
                "replay run 3",
                "merge run",
                resume.as_str(),
            ],
        ),
        ("run/manifest.jsonl", vec!["report run --check", "watch run", &resume]),
        ("run/run.lock", vec![&resume]),
        ("run/report.json", vec!["report run --text", "report run --check", "replay run 3"]),
        (&format!("{cut}/run.json"), vec!["merge cut", "shards cut", "report cut --check"]),
        (&format!("{cut}/manifest.jsonl"), vec!["merge cut", "shards cut", "report cut --check"]),
        (&format!("{cut}/report.json"), vec!["merge cut"]),
        ("cut/run.lock", vec!["merge cut"]),
    ] {
        let path = folder.join(file);
        let kept = fs::read(&path).unwrap_or_default();
        for (what, is_fifo) in [("it is a FIFO", true), ("it has 3221225472 bytes", false)] {
            let _ = fs::remove_file(&path);
            match is_fifo {
                true => {
                    let made = Command::new("mkfifo").arg(&path).status();
                    assert!(made.unwrap().success());
                }
                false => fs::File::create(&path).unwrap().set_len(3 << 30).unwrap(),
            }
            for road in &roads {
                let since = Instant::now();
                let ended = ended_in_time(folder, road);
                assert!([2, 3, 4].contains(&ended.code), "{road}: {}", ended.stderr);
                let told = format!("{file}: {what}");
                assert!(ended.stderr.contains(&told), "{file}: {road}: {}", ended.stderr);
                assert!(since.elapsed() < Duration::from_secs(10), "{road}");
            }
        }
        fs::remove_file(&path).unwrap();
        fs::write(&path, kept).unwrap();
    }
    swathe(folder, &resume).expect(0);
}

#[test]
fn long_lines_are_not_printed_in_whole() {
    let folder = tempfile::tempdir().unwrap();
    let long = "a".repeat(3 << 20);
    let nested = format!("{}I{}", "vmirror(".repeat(50_000), ")".repeat(50_000));
    let pieces = "b ".repeat(1 << 20);
    for (name, line) in [("long", long), ("nested", nested), ("pieces", pieces)] {
        let text = format!("def solve(I):\n    O = {line}\n    return O\n");
        fs::write(folder.path().join("bad.py"), text).unwrap();
        let ended = swathe(folder.path(), "arc explain --programs bad.py").expect(1);
        assert!(ended.stderr.len() < 1000, "{name}: {}", ended.stderr.len());
        assert!(ended.stderr.contains("bad.py:2:"), "{name}: {}", ended.stderr);
    }
}

#[test]
fn warnings_of_one_kind_are_counted_and_not_all_printed() {
    let folder = tempfile::tempdir().unwrap();
    let columns: Vec<String> = (0..100_000).map(|k| format!("c{k}")).collect();
    let fields = vec!["1"; columns.len()].join(",");
    let table = format!("id,size,from,to,{}\na,3x3,0,8,{fields}\n", columns.join(","));
    fs::write(folder.path().join("wide.csv"), table).unwrap();
    let ended = swathe(folder.path(), "lattice path wide.csv").expect(0);
    let warnings: Vec<&str> = ended.stderr.lines().collect();
    assert_eq!(warnings.len(), 6, "{}", ended.stderr);
    assert!(warnings[4].contains("\"c4\" is not used"), "{}", warnings[4]);
    assert!(warnings[5].ends_with("and 99995 more columns are not used"), "{}", warnings[5]);
}
