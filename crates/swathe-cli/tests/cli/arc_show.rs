//! `swathe arc show` on a terminal.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::arc::run;
use crate::program::in_folder;

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
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("tasks")).unwrap();
    let task = r#"{"train": [{"input": [[1, 2, 0]], "output": [[0, 2, 1]]}], "test": []}"#;
    fs::write(folder.path().join("tasks/flip.json"), task).unwrap();
    let program = "def right(I):\n    return vmirror(I)\n";
    fs::write(folder.path().join("programs.py"), program).unwrap();
    run(folder.path(), "--out run", 0);
    let Some(colored) = on_a_terminal(folder.path(), "") else {
        // Without util-linux there is no `script`.
        return;
    };
    assert!(colored.contains("\x1b[48;2;0;116;217;"), "{colored:?}");
    let plain = on_a_terminal(folder.path(), "1").unwrap();
    assert!(!plain.contains('\x1b') && plain.contains("1 2 ."), "{plain:?}");
}
