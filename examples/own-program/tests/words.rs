//! Runs the example's command as a user would.

use std::path::Path;
use std::process::{Command, Output};

fn words(folder: &Path, line: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_own-program"))
        .current_dir(folder)
        .args(line.split(' '))
        .output()
        .unwrap()
}

#[test]
fn words_are_counted_resumed_and_shown() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut line = String::new();
    for k in 0..30 {
        let text = "one two two ".repeat(k);
        std::fs::write(folder.join(format!("{k}.txt")), text).unwrap();
        line += &format!("{k}.txt ");
    }
    line += "--out run --progress none";
    let ended = words(folder, &line);
    let talk = String::from_utf8(ended.stderr).unwrap();
    assert!(ended.status.success(), "{talk}");
    assert_eq!(String::from_utf8(ended.stdout).unwrap(), "run\n");
    assert!(talk.contains("words: 30 solved"), "{talk}");
    let page = std::fs::read_to_string(folder.join("run/report.html")).unwrap();
    // 3 × (0 + 1 + … + 29)
    assert!(page.contains("\"n_words\":1305"));
    assert!(page.contains("Words of text files") && page.contains("S.pages.words"));
    assert!(!page.contains("S.pages.lattice"), "other workloads' scripts");

    let again = words(folder, &line);
    assert_eq!(again.status.code(), Some(2), "the run is complete");
    let stopped = words(folder, &line.replace("run", "again").replace("none", "nonsense"));
    assert_eq!(stopped.status.code(), Some(2));
    let shards = [1, 2].map(|k| line.replace("run", "parts") + &format!(" --shard {k}/2"));
    for shard in shards {
        assert!(words(folder, &shard).status.success());
    }
    let missing = words(folder, "gone.txt --out none");
    let talk = String::from_utf8(missing.stderr).unwrap();
    assert_eq!(missing.status.code(), Some(2));
    assert!(talk.contains("cannot read gone.txt"), "{talk}");
}
