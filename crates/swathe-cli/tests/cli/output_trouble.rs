//! Outputs that cannot be written, or that are not what they were.

use std::fs;
use std::process::Command;

use crate::program::{Ended, Random, announced, in_folder, many_floats, result_hash, save, swathe};

#[test]
fn a_full_disk_costs_nothing_that_was_committed() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random(5);
    // A large one among them: its part is larger than the others.
    let items: Vec<_> = (0..30)
        .map(|k| {
            (
                format!("item{k}"),
                random.floats(&[if k == 20 { 80_000 } else { 4000 }]),
            )
        })
        .collect();
    save(folder.path(), "in.npz", &items);
    let line = "array map square in.npz --threads 1 --batch-size 1 --memory 3MiB";
    swathe(folder.path(), &format!("{line} --out whole")).expect(0);
    let hash = result_hash(&folder.path().join("whole"));
    // In blocks of 512 bytes: at 1 not even run.json fits, at 16 no part, at 560 not the part
    // with the large array, at 1200 all parts but not the table.
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
    for (name, file) in [
        ("letters", "letters/dear.txt"),
        ("cad", "cad/parts/wheel.stl"),
    ] {
        let file = folder.path().join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "mine").unwrap();
        for flags in ["", " --resume", " --shard 1/2"] {
            let line = format!("array map sqrt in.npz --out {name}{flags}");
            let ended = swathe(folder.path(), &line).expect(2);
            assert!(
                ended.stderr.contains("is not a run folder"),
                "{}",
                ended.stderr
            );
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
            ("bytes, the manifest says", Some(&whole[..whole.len() / 2])),
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
    assert!(
        ended.stderr.contains("holds a run already"),
        "{}",
        ended.stderr
    );
    for (flags, named) in [
        (
            "add in.npz --operand 3 --resume",
            "--operand: 2 then, 3 now",
        ),
        (
            "add in.npz --operand nan --resume",
            "--operand: 2 then, \"NaN\" now",
        ),
        ("sqrt in.npz --resume", "--op: "),
        ("add in.npz --operand 2 --column x --resume", "--column: "),
    ] {
        let ended = run(flags).expect(2);
        assert!(ended.stderr.contains(named), "{}", ended.stderr);
    }
    fs::copy(
        folder.path().join("in.npz"),
        folder.path().join("moved.npz"),
    )
    .unwrap();
    run("add moved.npz --operand 2 --threads 1 --seed 9 --resume").expect(0);
    let mut random = Random(8);
    let other: Vec<_> = (0..60)
        .map(|k| (format!("item{k}"), random.floats(&[10])))
        .collect();
    save(folder.path(), "in.npz", &other);
    let ended = run("add in.npz --operand 2 --resume").expect(2);
    assert!(
        ended.stderr.contains("input in.npz: its contents changed"),
        "{}",
        ended.stderr
    );
}
