//! The messages of `swathe arc` for bad usage, help and explanations.

use std::fmt::Write as _;
use std::fs;

use crate::arc::{folder, run};
use crate::program::swathe;

#[test]
fn bad_usage_is_told_with_thing_value_and_hint() {
    let folder = folder(15);
    fs::create_dir(folder.path().join("empty")).unwrap();
    fs::write(folder.path().join("empty.py"), "# nothing\n").unwrap();
    fs::write(folder.path().join("bytes.py"), [b'a', 0xff]).unwrap();
    let of_batt = "def solve_a(S, I, C):\n    return vmirror_t(I)\n";
    fs::write(folder.path().join("of_batt.py"), of_batt).unwrap();
    let unknown = of_batt.replace("vmirror_t", "turn");
    fs::write(folder.path().join("unknown.py"), unknown).unwrap();
    fs::write(folder.path().join("words.json"), "words").unwrap();
    fs::write(folder.path().join("list.json"), "[1]").unwrap();
    fs::write(folder.path().join("none.json"), "{}").unwrap();
    let first = fs::read_dir(folder.path().join("tasks")).unwrap().next();
    let task = first.unwrap().unwrap().path();
    fs::copy(&task, folder.path().join("twice.json")).unwrap();
    fs::rename(&task, folder.path().join("tasks/twice.json")).unwrap();
    let arc = "arc --programs programs.py --tasks tasks --out run";
    let lines = [
        "arc".to_owned(),
        "arc --programs programs.py --tasks tasks".to_owned(),
        "arc --tasks tasks --out run".to_owned(),
        "arc --programs missing.py --tasks tasks --out run".to_owned(),
        "arc --programs tasks --tasks tasks --out run".to_owned(),
        "arc --programs empty.py --tasks tasks --out run".to_owned(),
        "arc --programs bytes.py --tasks tasks --out run".to_owned(),
        "arc --programs programs.py --tasks missing --out run".to_owned(),
        "arc --programs programs.py --tasks empty --out run".to_owned(),
        "arc --programs programs.py --tasks words.json --out run".to_owned(),
        "arc --programs programs.py --tasks list.json --out run".to_owned(),
        "arc --programs programs.py --tasks none.json --out run".to_owned(),
        "arc --programs programs.py --tasks tasks twice.json --out run".to_owned(),
        format!("{arc} --pairing some"),
        format!("{arc} --order random"),
        format!("{arc} --outputs none"),
        format!("{arc} --call-work lots"),
        format!("{arc} --call-work 0"),
        format!("{arc} --call-memory lots"),
        format!("{arc} --shard 1/2 --submission s.json"),
        format!("{arc} --vote"),
        format!("{arc} --rank-by missing.csv --submission s.json"),
        format!("{arc} --memory lots"),
        format!("{arc} --shard 1/2 --save-programs kept"),
        format!("{arc} --layout tokpidjin"),
        format!("{arc} --layout tokpidjin --save-programs kept"),
        format!("{arc} --layout other --save-programs kept"),
        format!("{arc} --harvest --pairing own"),
        format!("{arc} --extend missing --pairing own"),
        format!("{arc} --extend missing"),
        "arc frobnicate".to_owned(),
        "arc explain".to_owned(),
        "arc explain --programs programs.py --dot".to_owned(),
        "arc explain --programs programs.py --program 01fce304".to_owned(),
        "arc explain --programs programs.py --program nobody".to_owned(),
        "arc submit missing".to_owned(),
        "arc batt".to_owned(),
        "arc batt missing.py --tasks tasks --out run".to_owned(),
        "arc mutate --programs programs.py".to_owned(),
        "arc mutate --programs missing.py --to run".to_owned(),
        "arc mutate --programs programs.py --count few --to run".to_owned(),
        "arc mutate --programs programs.py --count 0 --to run".to_owned(),
        "arc mutate --programs programs.py of_batt.py --to run".to_owned(),
        "arc combine --programs programs.py --to run".to_owned(),
        "arc combine --programs of_batt.py --differs programs.py --to run".to_owned(),
        "arc combine --programs unknown.py --to run".to_owned(),
        "arc show missing 01fce304".to_owned(),
        "arc show missing 01fce304 -o picture.gif".to_owned(),
    ];
    let mut told = String::new();
    for line in &lines {
        let ended = swathe(folder.path(), line);
        let _ = writeln!(told, "$ swathe {line}\n{}[exit {}]\n", ended.stderr, ended.code);
        assert_eq!(ended.code, 2, "{line}: {}", ended.stderr);
        assert_eq!(ended.stdout, "", "{line}");
        assert!(!folder.path().join("run").exists(), "{line}");
    }
    insta::assert_snapshot!(told);
}

#[test]
fn help_teaches() {
    let folder = tempfile::tempdir().unwrap();
    for (name, line) in [
        ("arc", "arc"),
        ("arc_explain", "arc explain"),
        ("arc_show", "arc show"),
        ("arc_submit", "arc submit"),
        ("arc_batt", "arc batt"),
        ("arc_mutate", "arc mutate"),
        ("arc_combine", "arc combine"),
        ("arc_save", "arc save"),
    ] {
        let ended = swathe(folder.path(), &format!("{line} --help")).expect(0);
        insta::assert_snapshot!(format!("help_{name}"), ended.stdout);
    }
}

#[test]
fn graphs_and_figures_are_explained() {
    let folder = tempfile::tempdir().unwrap();
    let programs = "\
def a(I):
    x1 = hmirror(I)
    x2 = compose(vmirror, hmirror)
    O = x2(x1)
    return O
def b(I):
    x1 = hmirror(I)
    x2 = astuple(ONE, TWO)
    return upscale(x1, THREE)
";
    fs::write(folder.path().join("p.py"), programs).unwrap();
    let mut told = String::new();
    for flags in ["", " --program a", " --program b --dot"] {
        let line = format!("arc explain --programs p.py{flags}");
        let ended = swathe(folder.path(), &line).expect(0);
        let _ = writeln!(told, "$ swathe {line}\n{}", ended.stdout);
    }
    insta::assert_snapshot!(told);
}

#[test]
fn explain_prints_a_plan_and_makes_nothing() {
    let folder = folder(15);
    let ended = run(folder.path(), "--out run --batch-size 4 --memory 1GiB --explain", 0);
    assert!(ended.stdout.contains(" problems in "), "{}", ended.stdout);
    assert!(!folder.path().join("run").exists());
}
