//! What the watching says on its streams; `tests/cases/usage/watch.case` has the messages for bad
//! usage.

use crate::folders::{with_finished_run, with_inputs};
use crate::watching::{Watch, swathe, wait_for};

#[test]
fn a_shard_is_watched_as_such() {
    let folder = with_inputs();
    let shard = "array map sqrt in.npz --out shards --shard 1/2";
    swathe(folder.path(), shard).expect(0);
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
