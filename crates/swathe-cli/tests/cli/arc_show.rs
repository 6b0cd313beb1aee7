//! `swathe arc show`: characters, colours, images and pages.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::json;
use tempfile::TempDir;

use crate::arc::run;
use crate::program::{in_folder, swathe};

/// A task with a correct program, one that is nearly correct, and some that give no output.
fn folder_with_run() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("tasks")).unwrap();
    let task = json!({
        "train": [{"input": [[1, 2, 0], [3, 4, 5]], "output": [[0, 2, 1], [5, 4, 3]]}],
        "test": [{"input": [[6, 7, 8, 9]]}],
    });
    fs::write(folder.path().join("tasks/flip.json"), task.to_string()).unwrap();
    let programs = "\
def right(I):
    return vmirror(I)
def near(I):
    x1 = vmirror(I)
    return fill(x1, SEVEN, initset(ORIGIN))
def odd(I):
    return canvas(12, TWO_BY_TWO)
def wide(I):
    return upscale(I, 50)
def set(I):
    return asindices(I)
def fails(I):
    return first(ofcolor(I, NINE))
";
    fs::write(folder.path().join("programs.py"), programs).unwrap();
    run(folder.path(), "--out run", 0);
    folder
}

#[test]
fn characters_without_a_terminal() {
    let folder = folder_with_run();
    let mut told = String::new();
    for flags in [
        "",
        " --program near",
        " --program odd",
        " --program wide",
        " --program set",
        " --program fails",
    ] {
        let line = format!("arc show run flip{flags}");
        let ended = swathe(folder.path(), &line).expect(0);
        assert_eq!(ended.stderr, "");
        told.push_str(&format!("$ swathe {line}\n{}\n", ended.stdout));
    }
    for line in
        ["arc show run flop", "arc show run flip --program nobody", "arc show run flip -o x.gif"]
    {
        let ended = swathe(folder.path(), line).expect(2);
        told.push_str(&format!("$ swathe {line}\n{}\n", ended.stderr));
    }
    insta::assert_snapshot!(told);
}

/// `script` gives the program a terminal.
fn on_a_terminal(folder: &Path, no_color: &str) -> Option<String> {
    let line = format!("{} arc show run flip", env!("CARGO_BIN_EXE_swathe"));
    let mut command = Command::new("script");
    command.args(["-qec", &line, "/dev/null"]);
    let output = in_folder(command, folder).env("NO_COLOR", no_color).output().ok()?;
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn colours_on_a_terminal_unless_they_are_not_wanted() {
    let folder = folder_with_run();
    let Some(colored) = on_a_terminal(folder.path(), "") else {
        // Without util-linux there is no `script`.
        return;
    };
    assert!(colored.contains("\x1b[48;2;0;116;217;"), "{colored:?}");
    let plain = on_a_terminal(folder.path(), "1").unwrap();
    assert!(!plain.contains('\x1b') && plain.contains("1 2 ."), "{plain:?}");
}

#[test]
fn pictures_and_pages() {
    let folder = folder_with_run();
    let ended = swathe(folder.path(), "arc show run flip --program near -o near.png").expect(0);
    assert_eq!(ended.stdout, "near.png\n");
    let png = fs::read(folder.path().join("near.png")).unwrap();
    assert!(png.starts_with(b"\x89PNG\r\n"));
    swathe(folder.path(), "arc show run flip --program near --output near.html").expect(0);
    let page = fs::read_to_string(folder.path().join("near.html")).unwrap();
    for part in
        ["flip, near", "train 0", "83.3 % of cells right", "fill=#0074d9", "row 0, column 0: 7"]
    {
        assert!(page.contains(part), "{part}");
    }
    assert_eq!(page.matches("<circle").count(), 1, "one cell is wrong");
    for outside in ["http:", "https:", "src=", "href="] {
        assert!(!page.contains(outside), "{outside}: the page needs nothing else");
    }
}

#[test]
fn runs_of_other_commands_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    crate::program::many_floats(folder.path());
    swathe(folder.path(), "array map sqrt in.npz --out other").expect(0);
    for line in ["arc show other task", "arc submit other --to x.json"] {
        let ended = swathe(folder.path(), line).expect(2);
        let said = "error: other is a run of swathe array\nhint: ";
        assert!(ended.stderr.starts_with(said), "{}", ended.stderr);
    }
}
