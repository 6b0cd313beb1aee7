//! Which paths are served, and which are not.

use crate::folders::{Unfinished, with_finished_run};
use crate::http::{ask, get};
use crate::program::json;
use crate::watching::Watch;

const PATHS: [&str; 5] = ["/", "/data.json", "/report", "/metrics", "/healthz"];

#[test]
fn a_finished_run_is_told_with_its_report() {
    let folder = with_finished_run();
    let watch = Watch::start(folder.path(), "run");
    assert!(watch.url.starts_with("http://127.0.0.1:"), "{}", watch.url);
    let page = get(watch.server, "/").expect(200);
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    assert!(page.body.starts_with("<!doctype html>"), "{}", page.body);
    let data = get(watch.server, "/data.json").expect(200);
    assert_eq!(data.header("content-type"), Some("application/json"));
    let view = data.json();
    assert_eq!(view["state"], "finished");
    assert_eq!(view["counts"]["n_solved"], 7);
    assert_eq!(view["counts"]["n_failed"], 1);
    assert_eq!(view["workload"], "array");
    assert_eq!(view["has_report"], true);
    let report = json(&folder.path().join("run/report.json"));
    let wall_ms = report["report"]["wall_ms"].as_f64().unwrap();
    assert!((view["elapsed_ms"].as_f64().unwrap() - wall_ms).abs() < 1e-3);
    let written = std::fs::read_to_string(folder.path().join("run/report.html")).unwrap();
    assert_eq!(get(watch.server, "/report").expect(200).body, written);
    assert_eq!(get(watch.server, "/healthz").expect(200).body, "ok\n");
}

#[test]
fn a_report_that_is_not_there_yet_is_missed_and_then_found() {
    let unfinished = Unfinished::beating();
    let watch = Watch::start(unfinished.path(), "run");
    let missed = get(watch.server, "/report").expect(404);
    assert!(missed.body.contains("when the run ends"), "{}", missed.body);
    for text in ["first", "second", "other"] {
        std::fs::write(unfinished.run().join("report.html"), text).unwrap();
        assert_eq!(get(watch.server, "/report").expect(200).body, text);
    }
}

#[test]
fn a_report_that_is_a_link_is_not_followed() {
    let unfinished = Unfinished::beating();
    let secret = unfinished.path().join("secret");
    std::fs::write(&secret, "secret").unwrap();
    std::os::unix::fs::symlink(&secret, unfinished.run().join("report.html")).unwrap();
    let watch = Watch::start(unfinished.path(), "run");
    let refused = get(watch.server, "/report").expect(500);
    assert!(!refused.body.contains("secret"), "{}", refused.body);
}

#[test]
fn nothing_else_is_there() {
    let folder = with_finished_run();
    let watch = Watch::start(folder.path(), "run");
    for path in [
        "/run.json",
        "/report.json",
        "/report.html",
        "/manifest.jsonl",
        "/report/",
        "/report/../run.json",
        "/../run.json",
        "/..%2frun.json",
        "/%2e%2e/run.json",
        "/parts/000000.parquet",
        "//",
        "//evil.example/",
        "/data.json/",
        "/favicon.ico",
        "/etc/passwd",
    ] {
        get(watch.server, path).expect(404);
    }
}

#[test]
fn only_get_and_head() {
    let folder = with_finished_run();
    let watch = Watch::start(folder.path(), "run");
    for path in PATHS {
        let head = ask(watch.server, "HEAD", path, &[]).expect(200);
        assert_eq!(head.body, "", "{path}");
        for method in ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "BREW"] {
            let answer = ask(watch.server, method, path, &[]).expect(405);
            assert_eq!(answer.header("allow"), Some("GET, HEAD"), "{method} {path}");
        }
    }
}

#[test]
fn every_answer_has_its_headers() {
    let folder = with_finished_run();
    let watch = Watch::start(folder.path(), "run");
    let foreign = [("Origin", "http://evil.example")];
    let answers = PATHS.map(|path| ask(watch.server, "HEAD", path, &[])).into_iter().chain([
        get(watch.server, "/nothing"),
        ask(watch.server, "POST", "/", &[]),
        ask(watch.server, "GET", "/", &foreign),
    ]);
    for answer in answers {
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'"), "{policy}");
        assert!(policy.contains("frame-ancestors 'none'"), "{policy}");
        for (name, value) in [
            ("cache-control", "no-store"),
            ("referrer-policy", "no-referrer"),
            ("x-content-type-options", "nosniff"),
            ("x-frame-options", "DENY"),
            ("cross-origin-resource-policy", "same-origin"),
        ] {
            assert_eq!(answer.header(name), Some(value), "{answer:?}");
        }
        assert_eq!(answer.header("access-control-allow-origin"), None);
    }
    let page = get(watch.server, "/");
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.contains("connect-src 'self'"), "{policy}");
    let report = get(watch.server, "/report");
    let policy = report.header("content-security-policy").unwrap();
    assert!(!policy.contains("connect-src"), "{policy}");
}
