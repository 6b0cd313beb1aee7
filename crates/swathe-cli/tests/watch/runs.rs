//! Real runs, watched while they run, die, resume and end.

use crate::folders::{LINE, with_inputs};
use crate::http::{Viewer, connect, get};
use crate::program::{announced, result_hash};
use crate::watching::{Run, Watch, signal, swathe};

#[test]
fn a_run_is_watched_to_its_end() {
    let folder = with_inputs();
    let mut run = Run::start(folder.path(), LINE, 600);
    let watch = Watch::start(folder.path(), "run");
    let mut viewer = Viewer::new(watch.server);
    let done = |view: &serde_json::Value| view["n_done"].as_u64().unwrap();
    let first = viewer.until("outcomes", |view| done(view) > 0 && view["state"] == "running");
    assert_eq!(first["n_problems"], 60);
    let next = viewer.until("more outcomes", |view| done(view) > done(&first));
    assert!(next["rate_per_s"].as_f64().unwrap() > 0.0);
    assert!(next["elapsed_ms"].as_f64() > first["elapsed_ms"].as_f64());
    assert!(next["memory"]["budget_bytes"].as_u64().unwrap() > 0);
    assert!(!next["samples"]["at_ms"].as_array().unwrap().is_empty());
    assert!(!next["workers"].as_array().unwrap().is_empty(), "{next}");
    assert!(!next["launches"]["start_ms"].as_array().unwrap().is_empty());
    let last = viewer.until("the end", |view| view["state"] == "finished");
    assert_eq!(run.wait(), Some(0));
    assert_eq!((done(&last), &last["counts"]["n_solved"]), (60, &60.into()));
    let last = watch.until("a report", |view| view["has_report"] == true);
    assert_eq!(last["state"], "finished");
    get(watch.server, "/report").expect(200);
}

#[test]
fn the_death_of_a_run_is_noticed_and_so_is_its_return() {
    let folder = with_inputs();
    swathe(folder.path(), &LINE.replace("--out run", "--out whole")).expect(0);
    // Parts are committed after five seconds, so that some outcomes are committed by then.
    let mut run = Run::start(folder.path(), LINE, 1000);
    let watch = Watch::start(folder.path(), "run");
    let committed = || announced(&folder.path().join("run")).len();
    watch.until("a part is committed", |_| committed() > 0);
    run.kill();
    let view = watch.until_state("dead");
    assert_eq!(view["resume_command"], format!("swathe {LINE} --resume"));
    assert!(view["n_done"].as_u64().unwrap() < 60);
    let n_before = committed();
    assert_eq!(view["n_done"], n_before, "what is not committed is lost");
    assert_eq!(view["n_committed"], n_before);
    // The run can be resumed, and the watch continues.
    let mut run = Run::start(folder.path(), &format!("{LINE} --resume"), 400);
    let view = watch
        .until("it runs again", |view| view["state"] == "running" && view["n_before"] == n_before);
    assert_eq!(view["n_problems"], 60);
    let view = watch.until_state("finished");
    assert_eq!(view["counts"]["n_solved"], 60, "of the whole run");
    assert_eq!(
        (view["n_done"].as_u64(), view["n_before"].as_u64()),
        (Some(60), Some(n_before as u64))
    );
    assert_eq!(run.wait(), Some(0));
    let hash = |name: &str| result_hash(&folder.path().join(name));
    assert_eq!(hash("run"), hash("whole"), "being watched changes nothing");
}

#[test]
fn an_interrupted_run_is_told_as_such() {
    let folder = with_inputs();
    let mut run = Run::start(folder.path(), LINE, 600);
    let watch = Watch::start(folder.path(), "run");
    watch.until("outcomes", |view| view["n_done"].as_u64() > Some(0));
    signal(&run.0, libc::SIGINT);
    assert_eq!(run.wait(), Some(130));
    let view = watch.until_state("interrupted");
    assert_eq!(view["resume_command"], format!("swathe {LINE} --resume"));
    assert!(view["counts"]["n_solved"].as_u64().unwrap() > 0);
    assert!(view["n_done"].as_u64().unwrap() < 60);
}

#[test]
fn ctrl_c_ends_the_watching_and_not_the_run() {
    let folder = with_inputs();
    let mut run = Run::start(folder.path(), LINE, 200);
    let watch = Watch::start(folder.path(), "run");
    watch.data();
    let _open = connect(watch.server);
    assert_eq!(watch.interrupt(), Some(0), "although a viewer is connected");
    assert_eq!(run.wait(), Some(0));
}
