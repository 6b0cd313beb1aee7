//! `--extend`: a run that takes what is the same from a finished run is the same as a fresh one.

use std::fs;
use std::path::Path;

use arrow::array::{ArrayRef, AsArray};
use arrow::compute::concat_batches;
use arrow::datatypes::UInt64Type;
use swathe_arc::parse;

use crate::arc::folder;
use crate::arc_batt::{BATT, batt_folder};
use crate::program::{Random, result_hash, swathe, table};

/// Splits the programs into three files in a random order, and moves some tasks into a folder of their own.
fn split(folder: &Path, random: &mut Random) {
    let text = fs::read_to_string(folder.join("programs.py")).unwrap();
    let mut programs = parse("programs.py", &text).programs;
    random.shuffle(&mut programs);
    let mut texts = [String::new(), String::new(), String::new()];
    for program in &programs {
        texts[random.below(3) as usize] += &program.definition(&program.name);
    }
    // An equal program under another name.
    texts[0] += &programs[0].definition("again");
    for (name, text) in ["a.py", "b.py", "c.py"].iter().zip(texts) {
        fs::write(folder.join(name), text).unwrap();
    }
    fs::create_dir(folder.join("more")).unwrap();
    for entry in fs::read_dir(folder.join("tasks")).unwrap() {
        let path = entry.unwrap().path();
        if random.below(2) == 0 {
            let to = folder.join("more").join(path.file_name().unwrap());
            fs::rename(path, to).unwrap();
        }
    }
}

/// The calls that were evaluated, as the profile counts them.
fn n_evaluated(run: &Path) -> u64 {
    let batches = table(&run.join("profile.parquet"));
    let calls = |batch: &arrow::array::RecordBatch| -> u64 {
        let calls = batch.column_by_name("calls").unwrap();
        calls.as_primitive::<UInt64Type>().values().iter().sum()
    };
    batches.iter().map(calls).sum()
}

#[test]
fn an_extended_run_is_a_fresh_run() {
    for seed in 0..4 {
        let folder = folder(4);
        let mut random = Random(seed);
        split(folder.path(), &mut random);
        let arc = |rest: &str| swathe(folder.path(), &format!("arc --programs {rest}")).expect(0);
        let at = |name: &str| folder.path().join(name);
        arc("b.py --tasks tasks --out old");
        arc("a.py b.py c.py --tasks tasks more --profile --out fresh");
        // Files before and after the others, and further tasks.
        let line = "a.py b.py c.py --tasks tasks more --extend old --profile --out new";
        let ended = arc(line);
        assert!(ended.stderr.contains(" calls taken from old"), "{}", ended.stderr);
        assert_eq!(result_hash(&at("new")), result_hash(&at("fresh")), "seed {seed}");
        assert!(n_evaluated(&at("new")) < n_evaluated(&at("fresh")));
        // In shards, and on one thread.
        for number in 1..=2 {
            let line = "a.py b.py c.py --tasks tasks more --extend old --threads 1";
            arc(&format!("{line} --out parts --shard {number}/2"));
        }
        swathe(folder.path(), "merge parts").expect(0);
        assert_eq!(result_hash(&at("parts")), result_hash(&at("fresh")));
        // Nothing is new: nothing is evaluated, whatever the order and number of programs and tasks.
        arc("c.py b.py --tasks more --profile --extend new --out less");
        assert_eq!(n_evaluated(&at("less")), 0);
        arc("c.py b.py --tasks more --out less-fresh");
        assert_eq!(result_hash(&at("less")), result_hash(&at("less-fresh")));
    }
}

#[test]
fn what_changed_is_evaluated_again() {
    let folder = folder(11);
    let at = |name: &str| folder.path().join(name);
    let arc = |rest: &str, code: i32| {
        swathe(folder.path(), &format!("arc --programs p.py --tasks tasks {rest}")).expect(code)
    };
    let program =
        "def a(S, I, C):\n    return vmirror_t(I)\ndef b(S, I, C):\n    return first(first(S))\n";
    fs::write(at("p.py"), program).unwrap();
    arc("--out old", 0);
    // Another program of the same name, and another demonstration, which programs see through S.
    fs::write(at("p.py"), program.replace("vmirror_t", "hmirror_t")).unwrap();
    let first = fs::read_dir(at("tasks")).unwrap().next().unwrap().unwrap().path();
    let text = fs::read_to_string(&first).unwrap();
    let mut task: serde_json::Value = serde_json::from_str(&text).unwrap();
    task["train"][0]["input"] = serde_json::json!([[7]]);
    fs::write(&first, task.to_string()).unwrap();
    arc("--out fresh", 0);
    arc("--extend old --out new", 0);
    assert_eq!(result_hash(&at("new")), result_hash(&at("fresh")));
    assert_ne!(result_hash(&at("new")), result_hash(&at("old")));
    // Other settings give other results.
    let ended = arc("--extend old --order sorted --out sorted", 2);
    assert!(
        ended.stderr.contains("--order was \"cpython\", and is \"sorted\""),
        "{}",
        ended.stderr
    );
    assert!(!at("sorted").exists());
}

#[test]
fn a_file_before_the_others_changes_none_of_them() {
    let folder = folder(44);
    fs::write(folder.path().join("a.py"), "def a(I):\n    return I\n").unwrap();
    let arc = |programs: &str, code: i32| {
        let line = format!("arc --programs {programs} --tasks tasks --out run --resume");
        swathe(folder.path(), &line).expect(code)
    };
    let line = "arc --programs programs.py --tasks tasks --out run";
    swathe(folder.path(), line).expect(0);
    let ended = arc("a.py programs.py", 2);
    assert!(ended.stderr.contains("input a.py: it was not given then"), "{}", ended.stderr);
    assert!(!ended.stderr.contains("contents changed"), "{}", ended.stderr);
}

/// The columns of every table that `swathe arc batt` makes of its results.
fn batt_tables(run: &Path) -> Vec<Vec<ArrayRef>> {
    let names = ["results", "differs", "batt_scores", "differ_scores", "tasks"];
    let columns = names.map(|name| {
        let batches = table(&run.join(format!("{name}.parquet")));
        let all = concat_batches(&batches[0].schema(), &batches).unwrap();
        all.columns().to_vec()
    });
    columns.to_vec()
}

#[test]
fn an_extended_run_of_generated_files_is_a_fresh_run() {
    let folder = batt_folder();
    let at = |name: &str| folder.path().join(name);
    // Other differs and candidates, equal ones in another place, and further tasks.
    let other = BATT.replace("THOUSAND, NEG_ONE", "NEG_ONE, THOUSAND");
    fs::write(at("other.py"), other.replace("mir_rot_t(I, R0)", "mir_rot_t(I, R1)")).unwrap();
    fs::create_dir(at("more")).unwrap();
    let tasks = fs::read_dir(at("tasks")).unwrap();
    for path in tasks.map(|entry| entry.unwrap().path()).take(3) {
        fs::rename(&path, at("more").join(path.file_name().unwrap())).unwrap();
    }
    let batt = |rest: &str, code: i32| {
        swathe(folder.path(), &format!("arc batt {rest} --profile")).expect(code)
    };
    batt("batt.py --tasks tasks --out old", 0);
    let all = "other.py batt.py --tasks more tasks";
    batt(&format!("{all} --out fresh"), 0);
    let ended = batt(&format!("{all} --extend old --out new"), 0);
    let told = "values of differs taken from old";
    assert!(ended.stderr.contains(told), "{}", ended.stderr);
    assert!(batt_tables(&at("new")) == batt_tables(&at("fresh")));
    assert_eq!(result_hash(&at("new")), result_hash(&at("fresh")));
    assert!(n_evaluated(&at("new")) < n_evaluated(&at("fresh")));
    for number in 1..=3 {
        batt(&format!("{all} --extend old --out parts --shard {number}/3"), 0);
    }
    swathe(folder.path(), "merge parts").expect(0);
    assert!(batt_tables(&at("parts")) == batt_tables(&at("fresh")));
    // Nothing is new.
    batt("batt.py other.py --tasks tasks --out less-fresh", 0);
    batt("batt.py other.py --tasks tasks --extend parts --out less", 0);
    assert_eq!(n_evaluated(&at("less")), 0);
    assert!(batt_tables(&at("less")) == batt_tables(&at("less-fresh")));
    // The calls of a run without differs.
    let line = "arc --programs batt.py --tasks tasks --out plain";
    swathe(folder.path(), line).expect(0);
    let ended = batt("batt.py other.py --tasks tasks --extend plain --out mixed", 0);
    assert!(ended.stderr.contains(" calls taken from plain"), "{}", ended.stderr);
    assert!(batt_tables(&at("mixed")) == batt_tables(&at("less-fresh")));
    // Differs that do not see the answers of tests have other values.
    let ended = batt(&format!("{all} --extend old --submission s.json --out hidden"), 2);
    assert!(ended.stderr.contains("--differs-see was"), "{}", ended.stderr);
}
