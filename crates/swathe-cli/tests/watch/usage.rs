//! The messages for bad usage, and the help texts.

use crate::folders::{with_finished_run, with_inputs};
use crate::watching::{Watch, swathe, wait_for};

#[test]
fn what_cannot_be_watched_is_told_with_a_hint() {
    let folder = with_inputs();
    std::fs::create_dir(folder.path().join("empty")).unwrap();
    let shard = "array map sqrt in.npz --out shards --shard 1/2";
    swathe(folder.path(), shard).expect(0);
    for (line, complaint, hint) in [
        ("missing", "there is no folder missing", "the run has begun"),
        ("in.npz", "in.npz is a file", "given to --out"),
        ("empty", "empty is not a run folder", "--out made"),
        ("shards", "shards has no run of its own", "shards/shards/1-of-2"),
        ("missing --token short", "--token has 5 characters", "16 or more"),
        ("shards/shards/1-of-2 --bind nowhere.invalid", "--bind is", "127.0.0.1"),
        ("shards/shards/1-of-2 --bind 192.0.2.1", "cannot serve at 192.0.2.1", "of this machine"),
        ("shards/shards/1-of-2 --port 65536", "65536", "--help"),
        ("", "RUN", "--help"),
    ] {
        let ended = swathe(folder.path(), &format!("watch {line}")).expect(2);
        assert!(ended.stderr.contains(complaint), "{line}: {}", ended.stderr);
        assert!(ended.stderr.contains(hint), "{line}: {}", ended.stderr);
        assert_eq!(ended.stdout, "", "{line}");
    }
    let watch = Watch::start(folder.path(), "shards/shards/1-of-2");
    assert_eq!(watch.data()["shard"], serde_json::json!([1, 2]));
}

#[test]
fn a_taken_port_is_told() {
    let folder = with_finished_run();
    let watch = Watch::start(folder.path(), "run");
    let port = watch.server.port();
    let ended = swathe(folder.path(), &format!("watch run --port {port}")).expect(2);
    let complaint = format!("port {port} of 127.0.0.1 is taken");
    assert!(ended.stderr.contains(&complaint), "{}", ended.stderr);
    assert!(ended.stderr.contains("hint: choose another --port"), "{}", ended.stderr);
}

#[test]
fn one_line_for_programs_and_words_for_people() {
    let folder = with_finished_run();
    let watch = Watch::start(folder.path(), "run");
    wait_for("words on stderr", || {
        let said = watch.said();
        said.contains("Ctrl-C ends the watching") && said.contains("finished (8 of 8 done): ")
    });
    assert_eq!(watch.url, format!("http://{}/", watch.server));
}

#[test]
fn help_teaches() {
    let folder = tempfile::tempdir().unwrap();
    let ended = swathe(folder.path(), "watch --help").expect(0);
    insta::assert_snapshot!("help_watch", ended.stdout);
}
