//! Many concurrent viewers cost no more than one.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::folders::{Unfinished, with_finished_run};
use crate::http::{Viewer, connect, get};
use crate::watching::Watch;

#[test]
fn figures_are_sent_at_once_and_again_only_when_they_change() {
    let unfinished = Unfinished::silent();
    let watch = Watch::start(unfinished.path(), "run");
    let mut viewer = Viewer::new(watch.server);
    assert_eq!(viewer.poll().unwrap()["n_done"], 20);
    for _ in 0..3 {
        // Longer than the interval at which the run's files are polled.
        std::thread::sleep(Duration::from_millis(700));
        assert_eq!(viewer.poll(), None, "nothing has changed");
    }
    unfinished.change(|live| live.counts.n_solved += 5);
    viewer.until("the change", |view| view["n_done"] == 25);
    assert_eq!(viewer.poll(), None);
    let mut newcomer = Viewer::new(watch.server);
    assert_eq!(newcomer.poll().unwrap()["n_done"], 25);
}

#[test]
fn another_server_of_the_same_figures_sends_nothing_new() {
    let folder = with_finished_run();
    let etag = || {
        let watch = Watch::start(folder.path(), "run");
        let answer = get(watch.server, "/data.json").expect(200);
        answer.header("etag").unwrap().to_owned()
    };
    assert_eq!(etag(), etag());
}

/// More than the server's limit of connections.
const N_VIEWERS: usize = 300;

#[test]
fn viewers_that_keep_their_connections_open_keep_nobody_out() {
    let folder = with_finished_run();
    let watch = Watch::start(folder.path(), "run");
    let mut connections: Vec<TcpStream> = Vec::new();
    for _ in 0..N_VIEWERS {
        let mut connection = connect(watch.server);
        let request = format!(
            "GET /data.json HTTP/1.1\r\nHost: {}\r\nConnection: keep-alive\r\n\r\n",
            watch.server
        );
        connection.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        assert!(answer.contains("\"state\":\"finished\""), "{answer}");
        connections.push(connection);
    }
}

/// Uses the kernel's file events to count how often the file is opened.
#[test]
#[cfg(target_os = "linux")]
fn the_run_is_read_twice_a_second_however_many_look() {
    use std::os::fd::{FromRawFd as _, OwnedFd};

    let unfinished = Unfinished::silent();
    let watch = Watch::start(unfinished.path(), "run");
    // SAFETY: creates a new descriptor, which has no other owner.
    let inotify = unsafe {
        let descriptor = libc::inotify_init1(libc::IN_NONBLOCK | libc::IN_CLOEXEC);
        assert!(descriptor >= 0);
        OwnedFd::from_raw_fd(descriptor)
    };
    let path = unfinished.run().join("live.json");
    let path = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
    let descriptor = std::os::fd::AsRawFd::as_raw_fd(&inotify);
    // The kernel merges identical consecutive events, so closing is watched too.
    let kinds = libc::IN_OPEN | libc::IN_CLOSE_NOWRITE;
    // SAFETY: the path is a string that ends in a zero byte, and the descriptor is open.
    let added = unsafe { libc::inotify_add_watch(descriptor, path.as_ptr(), kinds) };
    assert!(added >= 0);
    let since = Instant::now();
    let mut viewers: Vec<Viewer> = (0..40).map(|_| Viewer::new(watch.server)).collect();
    let mut n_asked = 0;
    while since.elapsed() < Duration::from_secs(3) || n_asked < 200 {
        for viewer in &mut viewers {
            viewer.poll();
        }
        get(watch.server, "/metrics").expect(200);
        n_asked += viewers.len() + 1;
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
    assert!((n_opened as f64) <= n_most, "{n_opened} in {waited:?} for {n_asked} requests");
}

#[test]
fn requests_that_trickle_in_keep_nobody_out() {
    let folder = with_finished_run();
    let watch = Watch::start(folder.path(), "run");
    let mut slow: Vec<TcpStream> = (0..N_VIEWERS)
        .map(|_| {
            let mut connection = connect(watch.server);
            connection.write_all(b"GET / HTTP/1.1\r\nX: ").unwrap();
            connection
        })
        .collect();
    get(watch.server, "/healthz").expect(200);
    // Only the oldest connection was closed: the server did not wait until all of them timed out.
    let mut rest = Vec::new();
    let _ = slow[0].read_to_end(&mut rest);
    assert_eq!(rest, b"");
    let newest = &mut slow[N_VIEWERS - 1];
    newest.set_nonblocking(true).unwrap();
    let still = newest.read(&mut [0]).unwrap_err();
    assert_eq!(still.kind(), std::io::ErrorKind::WouldBlock);
}
