//! Which requests are answered, and which are rejected.

use crate::folders::with_finished_run;
use crate::http::{ask, get};
use crate::program::swathe_with;
use crate::watching::Watch;

const TOKEN: &str = "0123456789-abcdefgh";

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

/// Checks what a server with a token rejects and accepts.
fn check_token(watch: &Watch, token: &str) {
    assert!(watch.url.ends_with(&format!("/?token={token}")), "{}", watch.url);
    let port = watch.server.port();
    for path in ["/", "/data.json", "/report", "/metrics", "/nothing"] {
        let refused = get(watch.server, path).expect(401);
        assert!(refused.header("www-authenticate").is_some());
        get(watch.server, &format!("{path}?token=wrong")).expect(401);
        let wrong = [("Authorization", "Bearer wrong")];
        ask(watch.server, "GET", path, &wrong).expect(401);
    }
    assert_eq!(get(watch.server, "/healthz").expect(200).body, "ok\n");
    let bearer = format!("Bearer {token}");
    let with_bearer = [("Authorization", bearer.as_str())];
    ask(watch.server, "GET", "/metrics", &with_bearer).expect(200);
    // A browser whose address contains the token continues with a cookie.
    let exchanged = get(watch.server, &format!("/?token={token}")).expect(303);
    assert_eq!(exchanged.header("location"), Some("/"));
    let cookie = exchanged.header("set-cookie").unwrap().to_owned();
    assert!(cookie.starts_with(&format!("swathe_watch_{port}={token}; ")), "{cookie}");
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    let (cookie, _) = cookie.split_once(';').unwrap();
    for path in ["/", "/data.json", "/report", "/metrics"] {
        let answer = ask(watch.server, "GET", path, &[("Cookie", cookie)]).expect(200);
        assert!(!answer.body.contains(token), "the token stays secret");
        ask(watch.server, "GET", path, &[("Cookie", "swathe_watch_1=x")]).expect(401);
    }
    let evil = ask(watch.server, "GET", &format!("//evil.example/?token={token}"), &[]);
    assert_eq!(evil.header("location"), None, "nobody is sent elsewhere");
}

#[test]
fn a_token_is_asked_for_where_there_is_one() {
    let folder = with_finished_run();
    let by_flag = Watch::start(folder.path(), &format!("run --token {TOKEN}"));
    check_token(&by_flag, TOKEN);
    let by_variable = Watch::with_token(folder.path(), "run", Some(TOKEN));
    check_token(&by_variable, TOKEN);
    let flag_first = format!("run --token {TOKEN}-by-flag");
    let both = Watch::with_token(folder.path(), &flag_first, Some(TOKEN));
    check_token(&both, &format!("{TOKEN}-by-flag"));
}

#[test]
fn beyond_this_machine_there_is_always_a_token() {
    let folder = with_finished_run();
    let token = |watch: &Watch| watch.url.split_once("?token=").unwrap().1.to_owned();
    let watch = Watch::start(folder.path(), "run --bind 0.0.0.0");
    let first = token(&watch);
    assert!(first.len() >= 32, "{first}");
    check_token(&watch, &first);
    let other = Watch::start(folder.path(), "run --bind 0.0.0.0");
    assert_ne!(token(&other), first, "each has its own");
    let host = format!("evil.example:{}", watch.server.port());
    ask(watch.server, "GET", "/healthz", &[("Host", &host)]).expect(421);
    let given = Watch::start(folder.path(), &format!("run --bind 0.0.0.0 --token {TOKEN}"));
    check_token(&given, TOKEN);
}

#[test]
fn tokens_that_could_be_guessed_are_refused() {
    let folder = with_finished_run();
    for (token, complaint) in [
        ("short", "has 5 characters"),
        ("fifteen-letters", "has 15 characters"),
        ("sixteen;letters!", "has a ';' in it"),
    ] {
        let ended = swathe_with(folder.path(), "SWATHE_WATCH_TOKEN", token, "watch run").expect(2);
        assert!(ended.stderr.contains(complaint), "{}", ended.stderr);
        assert!(!ended.stderr.contains(token), "it may be used elsewhere");
        assert_eq!(ended.stdout, "");
    }
}
