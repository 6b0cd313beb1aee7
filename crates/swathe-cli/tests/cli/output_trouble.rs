//! Outputs that cannot be written, or that were changed afterwards.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use swathe_ot::{Shape, synth};
use swathe_run::store::run_folder::Checksum;

use crate::cases::frames::save_npy;
use crate::program::{Ended, announced, command, json, many_floats, result_hash, swathe};

/// A name in a folder survives a power failure only once the folder is synced, so a run whose folder
/// cannot be synced ends with an error and announces nothing.
#[cfg(target_os = "linux")]
#[test]
fn a_folder_that_cannot_be_synced_is_an_error() {
    /// An `fsync` that fails for folders whose path ends in `$UNSYNCED`.
    const SHIM: &str = r#"
        #define _GNU_SOURCE
        #include <errno.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <string.h>
        #include <sys/stat.h>
        #include <sys/syscall.h>
        #include <unistd.h>
        int fsync(int fd) {
            struct stat status;
            char link[64], path[4096] = {0};
            snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
            const char *end = getenv("UNSYNCED");
            ssize_t n = readlink(link, path, sizeof path - 1), n_end = end ? strlen(end) : 0;
            int is_folder = !fstat(fd, &status) && S_ISDIR(status.st_mode);
            if (is_folder && n_end && n >= n_end && !strcmp(path + n - n_end, end)) {
                errno = EIO;
                return -1;
            }
            return syscall(SYS_fsync, fd);
        }
    "#;
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("shim.c"), SHIM).unwrap();
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-o", "shim.so", "shim.c"]).current_dir(folder);
    assert!(cc.status().unwrap().success());
    many_floats(folder);
    let pair = synth::embryo_pair(Shape::new(20, 30), 1, synth::Change::default());
    save_npy(&folder.join("a.npy"), &pair.source);
    save_npy(&folder.join("b.npy"), &pair.target);
    fs::write(folder.join("pairs.csv"), "pair_id,src,tgt\np,a.npy,b.npy\n").unwrap();
    for (line, unsynced, n_announced) in [
        ("array map sqrt in.npz", "/run0", None),
        ("array map sqrt in.npz", "/run1/parts", Some(0)),
        ("ot pairs.csv --fields npz", "/run2/fields", Some(0)),
    ] {
        let run = &unsynced[1..5];
        let mut unlucky = command(folder, &format!("{line} --out {run}"));
        unlucky.env("LD_PRELOAD", folder.join("shim.so")).env("UNSYNCED", unsynced);
        let ended = Ended::of(unlucky.output().unwrap()).expect(4);
        assert!(
            ended.stderr.contains(&format!("cannot write {}", &unsynced[1..])),
            "{}",
            ended.stderr
        );
        if let Some(n) = n_announced {
            assert_eq!(announced(&folder.join(run)).len(), n, "{line}");
        }
        swathe(folder, &format!("{line} --out {run} --resume")).expect(0);
    }
}

/// The lines of a manifest as versions without checksums wrote them.
fn without_checksums(lines: &[String]) -> Vec<String> {
    let bare = |line: &String| {
        let mut line: serde_json::Value = serde_json::from_str(line).unwrap();
        let members = line.as_object_mut().unwrap();
        assert!(members.remove("sequence").is_some() && members.remove("checksum").is_some());
        line.to_string()
    };
    lines.iter().map(bare).collect()
}

/// The line with the end of its last span changed.
fn with_end_moved(line: &str, by: i64) -> String {
    let (before, rest) = line.split_once("\"problems\":").unwrap();
    let (spans, after) = rest.split_once("]]").unwrap();
    let (spans, end) = spans.rsplit_once(',').unwrap();
    let end = end.parse::<i64>().unwrap() + by;
    format!("{before}\"problems\":{spans},{end}]]{after}")
}

#[test]
fn a_manifest_that_was_changed_loses_and_doubles_no_row() {
    let folder = tempfile::tempdir().unwrap();
    many_floats(folder.path());
    let line = "array map sqrt in.npz --memory 1MiB --threads 1 --out run";
    swathe(folder.path(), line).expect(0);
    for k in 1..=2 {
        let line = "array map sqrt in.npz --memory 1MiB --threads 1 --out shards";
        swathe(folder.path(), &format!("{line} --shard {k}/2")).expect(0);
    }
    swathe(folder.path(), "merge shards").expect(0);
    let runs =
        [("run", format!("{line} --resume")), ("shards/shards/2-of-2", "merge shards".to_owned())];
    for (run, line) in runs {
        let run = folder.path().join(run);
        let hash = result_hash(&run);
        let path = run.join("manifest.jsonl");
        let whole = fs::read_to_string(&path).unwrap();
        let lines: Vec<String> = whole.lines().map(str::to_owned).collect();
        let n = lines.len();
        assert!(n >= 3, "{n}");
        let mut cases = Vec::new();
        for lines in [lines.clone(), without_checksums(&lines)] {
            for by in [-1, 1, 40] {
                let mut changed = lines.clone();
                changed[n - 1] = with_end_moved(&changed[n - 1], by);
                cases.push((changed, n));
            }
            let mut twice = lines.clone();
            twice.insert(1, lines[0].clone());
            cases.push((twice, 2));
            cases.push(([lines.as_slice(), &lines[1..2]].concat(), n + 1));
        }
        let mut lost = lines.clone();
        lost.remove(1);
        cases.push((lost, 2));
        for (changed, number) in cases {
            fs::write(&path, changed.join("\n") + "\n").unwrap();
            let ended = swathe(folder.path(), &line).expect(2);
            let told = &ended.stderr;
            assert!(told.contains("manifest.jsonl is damaged: line"), "{told}");
            assert!(told.contains(&format!(": line {number}: ")), "{told}");
            assert!(told.contains("move manifest.jsonl aside"), "{told}");
        }
        // A manifest of an earlier version is used if its parts confirm it.
        fs::write(&path, without_checksums(&lines).join("\n") + "\n").unwrap();
        swathe(folder.path(), &line).expect(0);
        assert_eq!(result_hash(&run), hash);
    }
}

#[test]
fn what_a_killed_process_left_is_removed_and_what_another_writes_is_not() {
    let folder = tempfile::tempdir().unwrap();
    many_floats(folder.path());
    for k in 1..=2 {
        let line = format!("array map sqrt in.npz --out run --shard {k}/2");
        swathe(folder.path(), &line).expect(0);
    }
    let run = folder.path().join("run");
    let mut gone = Command::new("true").spawn().unwrap();
    gone.wait().unwrap();
    let dead = run.join(format!(".timing.parquet.{}-1.tmp", gone.id()));
    let live = run.join(format!(".report.html.{}-1.tmp", std::process::id()));
    for path in [&dead, &live] {
        fs::write(path, "half").unwrap();
    }
    swathe(folder.path(), "merge run").expect(0);
    assert!(!dead.exists() && live.exists());
}

/// Puts files of one folder in place of those of another.
fn replace(from: &Path, to: &Path, names: &[&str]) {
    for name in names {
        let (from, to) = (from.join(name), to.join(name));
        match from.is_dir() {
            true => {
                fs::remove_dir_all(&to).unwrap();
                fs::create_dir(&to).unwrap();
                for entry in fs::read_dir(&from).unwrap() {
                    let entry = entry.unwrap();
                    fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
                }
            }
            false => drop(fs::copy(&from, &to).unwrap()),
        }
    }
}

/// The checksums of another run's parts and manifest are valid: only the run's id tells them apart.
#[test]
fn parts_and_manifests_of_another_run_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    many_floats(folder);
    let line = |op: &str, out: &str| format!("array map {op} in.npz --memory 1MiB --out {out}");
    for op in ["sqrt", "exp"] {
        swathe(folder, &line(op, op)).expect(0);
        for k in 1..=3 {
            let line = line(op, &format!("{op}_cut"));
            swathe(folder, &format!("{line} --shard {k}/3")).expect(0);
        }
    }
    swathe(folder, "merge sqrt_cut").expect(0);
    let resume = format!("{} --resume", line("sqrt", "sqrt"));
    let shard = "sqrt_cut/shards/2-of-3";
    for (run, other, roads) in [
        ("sqrt", "exp", vec![(resume.as_str(), 2), ("report sqrt --check", 3), ("watch sqrt", 2)]),
        (
            shard,
            "exp_cut/shards/2-of-3",
            vec![
                ("merge sqrt_cut", 2),
                ("shards sqrt_cut", 2),
                ("report sqrt_cut --check", 3),
                ("watch sqrt_cut/shards/2-of-3", 2),
            ],
        ),
    ] {
        let (own, other) = (folder.join(run), folder.join(other));
        let kept = folder.join("kept");
        fs::create_dir_all(kept.join("parts")).unwrap();
        let both: &[&str] = &["parts", "manifest.jsonl"];
        replace(&own, &kept, both);
        for names in [both, &["manifest.jsonl"]] {
            replace(&other, &own, names);
            for &(road, code) in &roads {
                let ended = ended_in_time(folder, road).expect(code);
                let told =
                    format!("{run}/manifest.jsonl is of another run: line 1: it was written");
                assert!(ended.stderr.contains(&told), "{road}: {}", ended.stderr);
            }
            replace(&kept, &own, both);
        }
    }
    // A manifest that is made again takes no part of another run.
    replace(&folder.join("exp"), &folder.join("sqrt"), &["parts"]);
    fs::remove_file(folder.join("sqrt/manifest.jsonl")).unwrap();
    let ended = swathe(folder, &resume).expect(2);
    let told = "sqrt/parts/000000.outcomes.parquet is of another run: it was written by run ";
    assert!(ended.stderr.contains(told), "{}", ended.stderr);
    assert!(ended.stderr.contains("hint: put the files of this run back"), "{}", ended.stderr);
    // Nor does a merge whose manifest was written for them.
    let id = json(&folder.join(shard).join("run.json"))["run_id"].as_str().unwrap().to_owned();
    replace(&folder.join("exp_cut/shards/2-of-3"), &folder.join(shard), &["parts"]);
    let forged = rewritten(&folder.join("exp_cut/shards/2-of-3/manifest.jsonl"), Some(&id));
    fs::write(folder.join(shard).join("manifest.jsonl"), forged).unwrap();
    let ended = swathe(folder, "merge sqrt_cut").expect(2);
    let told = format!("{shard}/parts/000000.outcomes.parquet is of another run");
    assert!(ended.stderr.contains(&told), "{}", ended.stderr);
}

/// The lines of a manifest of an earlier version, without checksums, for these parts as they are.
fn rewritten(manifest: &Path, run_id: Option<&str>) -> String {
    let parts = manifest.with_file_name("parts");
    let seal = |name: &str| serde_json::json!(Checksum::of(&parts.join(name)).unwrap());
    let text = fs::read_to_string(manifest).unwrap();
    let lines = text.lines().map(|line| {
        let mut line: serde_json::Value = serde_json::from_str(line).unwrap();
        let members = line.as_object_mut().unwrap();
        for name in ["sequence", "checksum", "run"] {
            members.remove(name);
        }
        members.extend(run_id.map(|id| ("run".to_owned(), id.into())));
        let part = members["part"].as_str().unwrap().to_owned();
        members["rows"] = seal(&part);
        members["outcomes"] = seal(&part.replace(".parquet", ".outcomes.parquet"));
        line.to_string() + "\n"
    });
    lines.collect()
}

/// Makes a run folder what earlier versions wrote: no id in `run.json`, the manifest and the parts.
fn without_id(run: &Path) {
    for entry in fs::read_dir(run.join("parts")).unwrap() {
        let path = entry.unwrap().path();
        let batches = crate::program::table(&path);
        let schema = batches[0].schema().as_ref().clone().with_metadata(Default::default());
        let file = fs::File::create(&path).unwrap();
        let mut writer =
            parquet::arrow::ArrowWriter::try_new(file, schema.clone().into(), None).unwrap();
        for batch in batches {
            writer.write(&batch.with_schema(schema.clone().into()).unwrap()).unwrap();
        }
        writer.close().unwrap();
    }
    let manifest = run.join("manifest.jsonl");
    fs::write(&manifest, rewritten(&manifest, None)).unwrap();
    let mut run_json = json(&run.join("run.json"));
    assert!(run_json.as_object_mut().unwrap().remove("run_id").is_some());
    fs::write(run.join("run.json"), run_json.to_string()).unwrap();
}

#[test]
fn folders_of_earlier_versions_are_read_and_merged_and_not_gone_on_with() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    many_floats(folder);
    let line = "array map sqrt in.npz --memory 1MiB --out";
    swathe(folder, &format!("{line} run")).expect(0);
    for k in 1..=2 {
        swathe(folder, &format!("{line} cut --shard {k}/2")).expect(0);
        without_id(&folder.join(format!("cut/shards/{k}-of-2")));
    }
    let hash = result_hash(&folder.join("run"));
    without_id(&folder.join("run"));
    swathe(folder, "report run --check").expect(0);
    swathe(folder, "report run --text").expect(0);
    swathe(folder, "shards cut").expect(0);
    swathe(folder, "merge cut").expect(0);
    assert_eq!(result_hash(&folder.join("cut")), hash);
    swathe(folder, "report cut --check").expect(0);
    let ended = swathe(folder, &format!("{line} run --resume")).expect(2);
    assert!(ended.stderr.contains("run was written by an earlier version"), "{}", ended.stderr);
    assert!(ended.stderr.contains("choose another --out"), "{}", ended.stderr);
    // A manifest without an id is foreign to a run that has one.
    swathe(folder, &format!("{line} new")).expect(0);
    replace(&folder.join("run"), &folder.join("new"), &["parts", "manifest.jsonl"]);
    let ended = swathe(folder, &format!("{line} new --resume")).expect(2);
    assert!(ended.stderr.contains("by a run of an earlier version"), "{}", ended.stderr);
}

/// Kills a program that blocks on its input, because it would block for ever.
fn ended_in_time(folder: &Path, line: &str) -> Ended {
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
