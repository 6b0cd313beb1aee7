//! Outputs that cannot be written, or that were changed afterwards.

use std::fs;
use std::path::Path;
use std::process::Command;

use swathe_ot::{Shape, synth};
use swathe_run::store::run_folder::Checksum;

use crate::cases::frames::save_npy;
use crate::odd_files::ended_in_time;
use crate::program::{
    Ended, Random, announced, command, in_folder, json, many_floats, result_hash, save, swathe,
};

#[test]
fn a_full_disk_costs_nothing_that_was_committed() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random(5);
    // One array is large, so that its part is larger than the others.
    let items: Vec<_> = (0..30)
        .map(|k| (format!("item{k}"), random.floats(&[if k == 20 { 80_000 } else { 4000 }])))
        .collect();
    save(folder.path(), "in.npz", &items);
    let line = "array map square in.npz --threads 1 --batch-size 1 --memory 3MiB";
    swathe(folder.path(), &format!("{line} --out whole")).expect(0);
    let hash = result_hash(&folder.path().join("whole"));
    // In blocks of 512 bytes. With 1 not even run.json fits; with 16 no part; with 560 not the part
    // with the large array; with 1200 all parts but not the table.
    for (n_blocks, n_kept_min) in [(1, 0), (16, 0), (560, 1), (1200, 30)] {
        let out = format!("run{n_blocks}");
        let program = env!("CARGO_BIN_EXE_swathe");
        let limited = format!("ulimit -f {n_blocks}; exec {program} {line} --out {out}");
        let mut shell = Command::new("sh");
        shell.args(["-c", &limited]);
        let output = in_folder(shell, folder.path()).output().unwrap();
        let ended = Ended::of(output).expect(4);
        let named = format!("cannot write {out}");
        assert!(ended.stderr.contains(&named), "{}", ended.stderr);
        let run = folder.path().join(&out);
        let before = announced(&run);
        assert!(before.len() >= n_kept_min, "{n_blocks}: {before:?}");
        swathe(folder.path(), &format!("{line} --out {out} --resume")).expect(0);
        assert_eq!(result_hash(&run), hash);
        assert_eq!(announced(&run)[..before.len()], before);
    }
}

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

#[test]
fn folders_that_cannot_be_made_are_named() {
    let folder = tempfile::tempdir().unwrap();
    many_floats(folder.path());
    for out in ["in.npz/run", "/proc/swathe/run"] {
        let ended = swathe(folder.path(), &format!("array map sqrt in.npz --out {out}")).expect(4);
        assert!(ended.stderr.contains(out), "{}", ended.stderr);
        assert_eq!(ended.stdout, "");
    }
    for out in ["in.npz/out.npz", "missing/out.npz", "/proc/swathe/out.npz"] {
        let ended = swathe(folder.path(), &format!("array map sqrt in.npz --out {out}")).expect(4);
        assert!(ended.stderr.contains(out), "{}", ended.stderr);
    }
}

#[test]
fn somebody_elses_folder_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    many_floats(folder.path());
    for (name, file) in [("letters", "letters/dear.txt"), ("cad", "cad/parts/wheel.stl")] {
        let file = folder.path().join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "mine").unwrap();
        for flags in ["", " --resume", " --shard 1/2"] {
            let line = format!("array map sqrt in.npz --out {name}{flags}");
            let ended = swathe(folder.path(), &line).expect(2);
            assert!(ended.stderr.contains("is not a run folder"), "{}", ended.stderr);
            assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
            assert_eq!(fs::read_dir(folder.path().join(name)).unwrap().count(), 1);
        }
    }
}

#[test]
fn damaged_parts_are_named() {
    let folder = tempfile::tempdir().unwrap();
    many_floats(folder.path());
    let line = "array map sqrt in.npz --memory 1MiB --out run";
    swathe(folder.path(), line).expect(0);
    let hash = result_hash(&folder.path().join("run"));
    for name in ["000000.parquet", "000001.outcomes.parquet"] {
        let path = folder.path().join("run/parts").join(name);
        let whole = fs::read(&path).unwrap();
        let mut flipped = whole.clone();
        flipped[whole.len() / 3] ^= 1;
        let damages: [(&str, Option<&[u8]>); 3] = [
            ("its contents are not what was written", Some(&flipped)),
            ("bytes, but was written with", Some(&whole[..whole.len() / 2])),
            ("it is gone", None),
        ];
        for (reason, contents) in damages {
            match contents {
                Some(contents) => fs::write(&path, contents).unwrap(),
                None => fs::remove_file(&path).unwrap(),
            }
            let ended = swathe(folder.path(), &format!("{line} --resume")).expect(2);
            assert!(ended.stderr.contains(name), "{}", ended.stderr);
            assert!(ended.stderr.contains(reason), "{}", ended.stderr);
        }
        fs::write(&path, &whole).unwrap();
    }
    swathe(folder.path(), &format!("{line} --resume")).expect(0);
    assert_eq!(result_hash(&folder.path().join("run")), hash);
}

#[test]
fn a_run_of_other_settings_or_inputs_is_not_gone_on_with() {
    let folder = tempfile::tempdir().unwrap();
    many_floats(folder.path());
    let run = |flags: &str| swathe(folder.path(), &format!("array map {flags} --out run"));
    run("add in.npz --operand 2").expect(0);
    let ended = run("add in.npz --operand 2").expect(2);
    assert!(ended.stderr.contains("holds a run already"), "{}", ended.stderr);
    for (flags, named) in [
        ("add in.npz --operand 3 --resume", "--operand: 2 then, 3 now"),
        ("add in.npz --operand nan --resume", "--operand: 2 then, \"NaN\" now"),
        ("sqrt in.npz --resume", "--op: "),
        ("add in.npz --operand 2 --column x --resume", "--column: "),
    ] {
        let ended = run(flags).expect(2);
        assert!(ended.stderr.contains(named), "{}", ended.stderr);
    }
    fs::copy(folder.path().join("in.npz"), folder.path().join("moved.npz")).unwrap();
    run("add moved.npz --operand 2 --threads 1 --seed 9 --resume").expect(0);
    let mut random = Random(8);
    let other: Vec<_> = (0..60).map(|k| (format!("item{k}"), random.floats(&[10]))).collect();
    save(folder.path(), "in.npz", &other);
    let ended = run("add in.npz --operand 2 --resume").expect(2);
    assert!(ended.stderr.contains("input in.npz: its contents changed"), "{}", ended.stderr);
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

/// Files outside a run folder are never changed, whatever links the folder contains.
#[test]
fn links_in_a_run_folder_lead_nowhere() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().unwrap();
    many_floats(folder.path());
    let victim = folder.path().join("victim");
    let mine = victim.join("mine.txt");
    fs::create_dir(&victim).unwrap();
    fs::write(&mine, "mine").unwrap();
    fs::write(victim.join("000007.parquet"), "mine").unwrap();
    let untouched = || {
        assert_eq!(fs::read_to_string(&mine).unwrap(), "mine");
        assert!(victim.join("000007.parquet").exists());
        assert_eq!(fs::read_dir(&victim).unwrap().count(), 2);
    };
    let line = "array map sqrt in.npz --memory 1MiB --out";
    let refused = |line: &str, link: &str| {
        let ended = swathe(folder.path(), line).expect(4);
        let told = format!("{link} is a symbolic link");
        assert!(ended.stderr.contains(&told), "{}", ended.stderr);
        assert!(ended.stderr.contains("remove the link"), "{}", ended.stderr);
        untouched();
    };
    fs::create_dir(folder.path().join("new")).unwrap();
    symlink("../victim/mine.txt", folder.path().join("new/run.lock")).unwrap();
    refused(&format!("{line} new"), "new/run.lock");

    swathe(folder.path(), &format!("{line} run")).expect(0);
    let run = folder.path().join("run");
    let hash = result_hash(&run);
    for (name, target) in [
        ("parts", "../victim"),
        ("run.lock", "../victim/mine.txt"),
        ("manifest.jsonl", "../victim/mine.txt"),
    ] {
        fs::rename(run.join(name), run.join("aside")).unwrap();
        symlink(target, run.join(name)).unwrap();
        refused(&format!("{line} run --resume"), &format!("run/{name}"));
        fs::remove_file(run.join(name)).unwrap();
        fs::rename(run.join("aside"), run.join(name)).unwrap();
    }
    fs::create_dir(folder.path().join("sharded")).unwrap();
    symlink("../victim", folder.path().join("sharded/shards")).unwrap();
    refused(&format!("{line} sharded --shard 1/2"), "sharded/shards");

    // Files written by name replace a link; files that no run made are not removed.
    for name in ["live.json", ".live.json.tmp", "report.html", "items.parquet"] {
        let _ = fs::remove_file(run.join(name));
        symlink("../victim/mine.txt", run.join(name)).unwrap();
    }
    fs::write(run.join("parts/notes.txt"), "mine").unwrap();
    fs::write(run.join(".notes.tmp"), "mine").unwrap();
    swathe(folder.path(), &format!("{line} run --resume")).expect(0);
    untouched();
    assert_eq!(result_hash(&run), hash);
    assert!(run.join("parts/notes.txt").exists() && run.join(".notes.tmp").exists());

    // The folder itself may be a link, for example to another disk.
    fs::create_dir(folder.path().join("room")).unwrap();
    symlink("room", folder.path().join("linked")).unwrap();
    swathe(folder.path(), &format!("{line} linked")).expect(0);
    assert_eq!(result_hash(&folder.path().join("room")), hash);
}

/// Flips one bit of a file.
fn flip(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    let at = bytes.len() / 3;
    bytes[at] ^= 1;
    fs::write(path, bytes).unwrap();
}

#[test]
fn damage_is_found_before_runs_are_called_the_same() {
    let folder = tempfile::tempdir().unwrap();
    many_floats(folder.path());
    for out in ["a", "b"] {
        let line = format!("array map sqrt in.npz --memory 1MiB --out {out}");
        swathe(folder.path(), &line).expect(0);
    }
    let same = swathe(folder.path(), "report a b").expect(0);
    assert!(same.stdout.contains("to the last bit"), "{}", same.stdout);
    let whole = swathe(folder.path(), "report b --check").expect(0);
    assert!(whole.stdout.contains("all are what was written"));
    assert_eq!(whole.stderr, "");
    for name in [
        "items.parquet",
        "timing.parquet",
        "failures.parquet",
        "parts/000000.parquet",
        "parts/000001.outcomes.parquet",
        "report.json",
        "manifest.jsonl",
    ] {
        let path = folder.path().join("b").join(name);
        let whole = fs::read(&path).unwrap();
        match name {
            "report.json" => fs::write(&path, &whole[..whole.len() / 2]).unwrap(),
            _ => flip(&path),
        }
        let ended = swathe(folder.path(), "report b --check").expect(3);
        let told = format!("error: b/{name} ");
        assert!(ended.stderr.contains(&told), "{name}: {}", ended.stderr);
        assert!(ended.stdout.contains("damaged or gone"), "{}", ended.stdout);
        if name == "items.parquet" {
            let ended = swathe(folder.path(), "report a b").expect(2);
            assert!(ended.stderr.contains("b/items.parquet is damaged"), "{}", ended.stderr);
            assert!(!ended.stdout.contains("the same"), "{}", ended.stdout);
        }
        fs::write(&path, whole).unwrap();
    }
    fs::remove_file(folder.path().join("b/items.parquet")).unwrap();
    let ended = swathe(folder.path(), "report b --check").expect(3);
    assert!(ended.stderr.contains("b/items.parquet"), "{}", ended.stderr);
    swathe(folder.path(), "report in.npz --check").expect(2);
}

#[test]
fn a_lost_manifest_is_made_again_from_the_parts() {
    let folder = tempfile::tempdir().unwrap();
    many_floats(folder.path());
    let line = "array map sqrt in.npz --memory 1MiB --out run";
    swathe(folder.path(), line).expect(0);
    let run = folder.path().join("run");
    let hash = result_hash(&run);
    let manifest = run.join("manifest.jsonl");
    let n_parts = fs::read_to_string(&manifest).unwrap().lines().count();
    let mut before = announced(&run);
    before.sort_unstable();
    // A part whose process died before its outcomes were written.
    fs::copy(run.join("parts/000000.parquet"), run.join("parts/000099.parquet")).unwrap();
    fs::remove_file(&manifest).unwrap();
    let ended = swathe(folder.path(), &format!("{line} --resume")).expect(0);
    let told = format!("manifest.jsonl was gone and was made again from {n_parts} parts");
    assert!(ended.stderr.contains(&told), "{}", ended.stderr);
    assert!(ended.stderr.contains("60 of them done before"), "{}", ended.stderr);
    assert_eq!(result_hash(&run), hash);
    assert!(!run.join("parts/000099.parquet").exists());
    let mut after = announced(&run);
    after.sort_unstable();
    assert_eq!(after, before);
    swathe(folder.path(), "report run --check").expect(0);
    // A part that was changed after it was written is not used.
    for name in ["000001.outcomes.parquet", "000001.parquet"] {
        let path = run.join("parts").join(name);
        let whole = fs::read(&path).unwrap();
        let mut changed = whole.clone();
        // The contents of the first column: the outcomes' own checksum covers contents alone, so that
        // a single byte of the file's metadata might not matter.
        changed[32..96].iter_mut().for_each(|byte| *byte ^= 0xff);
        fs::write(&path, changed).unwrap();
        fs::remove_file(&manifest).unwrap();
        let ended = swathe(folder.path(), &format!("{line} --resume")).expect(2);
        assert!(ended.stderr.contains(name), "{}", ended.stderr);
        fs::write(&path, whole).unwrap();
        swathe(folder.path(), &format!("{line} --resume")).expect(0);
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
