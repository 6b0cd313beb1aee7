//! Which requests are answered, and which are rejected.

use crate::folders::with_finished_run;
use crate::http::ask;
use crate::watching::Watch;

#[test]
fn other_names_are_refused() {
    let folder = with_finished_run();
    let watch = Watch::start(folder.path(), "run");
    let port = watch.server.port();
    for name in ["127.0.0.1", "localhost", "[::1]"] {
        let host = format!("{name}:{port}");
        ask(watch.server, "GET", "/data.json", &[("Host", &host)]).expect(200);
    }
    for host in [
        format!("evil.example:{port}"),
        format!("localhost.evil.example:{port}"),
        "127.0.0.1".to_owned(),
        format!("127.0.0.1:{}", port ^ 1),
        String::new(),
    ] {
        for path in ["/", "/data.json", "/healthz", "/nothing"] {
            let refused = ask(watch.server, "GET", path, &[("Host", &host)]).expect(421);
            assert!(!refused.body.contains("state"), "{host} {path}");
        }
    }
}

#[test]
fn foreign_pages_are_refused() {
    let folder = with_finished_run();
    let watch = Watch::start(folder.path(), "run");
    let own = format!("http://{}", watch.server);
    ask(watch.server, "GET", "/data.json", &[("Origin", &own)]).expect(200);
    for (name, value) in [
        ("Origin", "http://evil.example"),
        ("Origin", "null"),
        ("Origin", "http://127.0.0.1:1"),
        ("Sec-Fetch-Site", "cross-site"),
    ] {
        for path in ["/data.json", "/metrics"] {
            ask(watch.server, "GET", path, &[(name, value)]).expect(403);
        }
    }
}
