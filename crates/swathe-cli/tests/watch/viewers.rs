//! Many who look at once cost no more than one.

use std::time::{Duration, Instant};

use crate::folders::{Unfinished, with_finished_run};
use crate::http::{Heard, Listener, get};
use crate::watching::{Watch, wait_for};

/// As many as are told of every change.
const N_VIEWERS_MAX: usize = 64;

#[test]
fn viewers_hear_at_once_then_of_changes_and_otherwise_a_heartbeat() {
    let unfinished = Unfinished::silent();
    let watch = Watch::start(unfinished.path(), "run");
    let mut viewer = Listener::start(watch.server);
    assert_eq!(viewer.status, 200);
    let kind = "content-type: text/event-stream\r\n";
    assert!(viewer.head.contains(kind), "{}", viewer.head);
    assert!(matches!(viewer.next(), Heard::View(view) if view["n_done"] == 20));
    assert_eq!(viewer.next(), Heard::Heartbeat, "nothing has changed");
    unfinished.change(|live| live.counts.n_solved += 5);
    viewer.until("the change", |view| view["n_done"] == 25);
}

#[test]
fn a_bounded_number_is_told_of_every_change_and_the_others_can_ask() {
    let folder = with_finished_run();
    let watch = Watch::start(folder.path(), "run");
    let mut viewers: Vec<Listener> = (0..N_VIEWERS_MAX)
        .map(|_| Listener::start(watch.server))
        .collect();
    for viewer in &mut viewers {
        assert_eq!(viewer.status, 200);
        assert!(matches!(viewer.next(), Heard::View(view) if view["state"] == "finished"));
    }
    let refused = get(watch.server, "/events").expect(503);
    assert!(refused.body.contains("/data.json"), "{}", refused.body);
    assert!(refused.header("retry-after").is_some());
    assert_eq!(watch.data()["state"], "finished");
    viewers.truncate(N_VIEWERS_MAX / 2);
    // That they are gone is noticed with the next heartbeat at the latest.
    wait_for("a free place", || {
        Listener::start(watch.server).status == 200
    });
    for viewer in &mut viewers {
        assert_eq!(
            viewer.next(),
            Heard::Heartbeat,
            "the others go on listening"
        );
    }
}

/// The kernel counts how often the file is opened.
#[test]
#[cfg(target_os = "linux")]
fn the_run_is_read_twice_a_second_however_many_look() {
    use std::io::Read as _;
    use std::os::fd::{FromRawFd as _, OwnedFd};

    let unfinished = Unfinished::silent();
    let watch = Watch::start(unfinished.path(), "run");
    // SAFETY: makes a new descriptor, which is owned from here on.
    let inotify = unsafe {
        let descriptor = libc::inotify_init1(libc::IN_NONBLOCK | libc::IN_CLOEXEC);
        assert!(descriptor >= 0);
        OwnedFd::from_raw_fd(descriptor)
    };
    let path = unfinished.run().join("live.json");
    let path = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
    let descriptor = std::os::fd::AsRawFd::as_raw_fd(&inotify);
    // Alike events in a row would be told as one, so it is told of closing too.
    let kinds = libc::IN_OPEN | libc::IN_CLOSE_NOWRITE;
    // SAFETY: the path is a string that ends in a zero, the descriptor is open.
    let added = unsafe { libc::inotify_add_watch(descriptor, path.as_ptr(), kinds) };
    assert!(added >= 0);
    let since = Instant::now();
    let viewers: Vec<Listener> = (0..40).map(|_| Listener::start(watch.server)).collect();
    let mut n_asked = 0;
    while since.elapsed() < Duration::from_secs(3) || n_asked < 200 {
        watch.data();
        get(watch.server, "/metrics").expect(200);
        n_asked += 2;
    }
    let waited = since.elapsed();
    let mut events = Vec::new();
    let mut file = std::fs::File::from(inotify);
    let mut bytes = [0u8; 4096];
    while let Ok(n @ 1..) = file.read(&mut bytes) {
        events.extend_from_slice(&bytes[..n]);
    }
    // An event about the watched file itself has no name after its sixteen bytes.
    let n_opened = events.len() / 16 / 2;
    let n_most = waited.as_secs_f64() * 2.0 + 2.0;
    assert!(n_opened >= 3, "{n_opened} in {waited:?}");
    assert!(
        (n_opened as f64) <= n_most,
        "{n_opened} in {waited:?} for {n_asked} requests"
    );
    drop(viewers);
}
