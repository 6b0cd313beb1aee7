//! The driver on small pages, with the real browser.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use swathe_browser::{Area, Browser, BrowserError, Page, file_url};
use tempfile::TempDir;

/// The browser that the tests share. Without a browser a test is skipped, except on CI, where every
/// test must run.
#[expect(clippy::print_stdout, reason = "a skipped test says so")]
fn browser() -> Option<&'static Browser> {
    static BROWSER: OnceLock<Browser> = OnceLock::new();
    if let Err(reason) = Browser::find() {
        assert!(std::env::var_os("CI").is_none(), "{reason}");
        println!("SKIPPED: {reason}");
        return None;
    }
    Some(BROWSER.get_or_init(|| Browser::start().unwrap_or_else(|error| panic!("{error}"))))
}

/// A page with this body, and the folder of its file.
struct Small {
    page: Page<'static>,
    url: String,
    _folder: TempDir,
}

fn open(body: &str) -> Option<Small> {
    let browser = browser()?;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("page.html");
    let head = "<!doctype html><meta charset=utf-8><title>Small</title>\
                <meta name=viewport content='width=device-width'>";
    std::fs::write(&path, format!("{head}{body}")).unwrap();
    let url = file_url(&path).unwrap();
    let page = browser.open(&url).unwrap_or_else(|error| panic!("{error}"));
    Some(Small { page, url, _folder: folder })
}

/// Width and height, which are at a fixed position in every PNG.
fn png_extent(png: &[u8]) -> (u32, u32) {
    assert_eq!(png[..8], *b"\x89PNG\r\n\x1a\n");
    let side = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
    (side(16), side(20))
}

#[test]
fn scripts_are_evaluated() {
    let Some(Small { page, .. }) = open("") else {
        return;
    };
    assert_eq!(page.evaluate("document.title").unwrap(), "Small");
    assert_eq!(page.evaluate("({a: [1, null]})").unwrap(), json!({"a": [1, null]}));
    let promise = "new Promise(done => setTimeout(() => done(7), 20))";
    assert_eq!(page.evaluate(promise).unwrap(), 7);
    assert_eq!(page.evaluate("undefined").unwrap(), json!(null));
    assert_eq!(page.evaluate("0 / 0").unwrap(), "NaN");
}

#[test]
fn what_a_script_throws_is_an_error_with_its_text() {
    let Some(Small { page, .. }) = open("") else {
        return;
    };
    for script in [
        "(() => { throw new Error('too bad') })()",
        "Promise.reject(new Error('too bad'))",
        "(() => { throw 'too bad' })()",
    ] {
        let error = page.evaluate(script).unwrap_err();
        assert!(matches!(error, BrowserError::Threw { .. }), "{error}");
        assert!(error.to_string().contains("too bad"), "{error}");
    }
    // The test received the error, so it does not count as a trouble of the page.
    assert_eq!(page.troubles(), [""; 0]);
}

#[test]
fn a_quiet_page_has_no_troubles_and_asks_for_itself_alone() {
    let body = "<style>p { background: url('data:image/gif;base64,R0lGODlhAQABAAAAACw=') }</style>\
                <p>Hello<script>console.log('hello'); console.warn('look out')</script>";
    let Some(Small { page, url, .. }) = open(body) else {
        return;
    };
    assert_eq!(page.troubles(), [""; 0]);
    assert_eq!(page.requests(), [url]);
    let load_ms = page.load_ms().unwrap();
    assert!(load_ms > 0.0 && load_ms < 20_000.0, "{load_ms}");
}

#[test]
fn troubles_are_kept() {
    let body = "<img src=absent.png><script src=http://example.org/far.js></script>\
                <script>console.error('bad', {a: 1}); setTimeout(() => { lost.name }, 1)</script>";
    let Some(Small { page, .. }) = open(body) else {
        return;
    };
    let has = |part: &str| page.troubles().iter().any(|trouble| trouble.contains(part));
    let deadline = Instant::now() + Duration::from_secs(10);
    while !has("lost is not defined") && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(10));
    }
    for part in ["console.error: bad", "lost is not defined", "absent.png", "example.org/far.js"] {
        assert!(has(part), "{part} is not in {:?}", page.troubles());
    }
    let asked = page.requests();
    assert_eq!(asked.len(), 3, "{asked:?}");
}

#[test]
fn the_reader_may_prefer_dark_colours_or_less_motion_or_print() {
    let Some(Small { page, .. }) = open("") else {
        return;
    };
    let matches = |query: &str| page.evaluate(&format!("matchMedia('{query}').matches")).unwrap();
    let dark = "(prefers-color-scheme: dark)";
    assert_eq!(matches(dark), false);
    page.set_dark(true).unwrap();
    assert_eq!(matches(dark), true);
    page.set_feature("prefers-reduced-motion", "reduce").unwrap();
    page.set_print(true).unwrap();
    for query in [dark, "(prefers-reduced-motion: reduce)", "print"] {
        assert_eq!(matches(query), true, "{query}");
    }
    page.set_dark(false).unwrap();
    page.set_print(false).unwrap();
    for query in [dark, "print"] {
        assert_eq!(matches(query), false, "{query}");
    }
}

#[test]
fn the_viewport_is_as_wide_as_asked_for() {
    let Some(Small { page, .. }) = open("<button onclick='title = 1'>b</button>") else {
        return;
    };
    let size = "[innerWidth, innerHeight]";
    let matches = |query: &str| page.evaluate(&format!("matchMedia('{query}').matches")).unwrap();
    assert_eq!(page.evaluate(size).unwrap(), json!([1200, 900]));
    page.set_viewport(800, 600, false).unwrap();
    page.wait_for("innerWidth == 800 && innerHeight == 600").unwrap();
    assert_eq!(matches("(pointer: fine) and (hover: hover)"), true);
    page.set_viewport(390, 844, true).unwrap();
    page.wait_for("innerWidth == 390 && innerHeight == 844").unwrap();
    assert_eq!(matches("(pointer: coarse) and (hover: none)"), true);
    page.click("button").unwrap();
    page.wait_for("document.querySelector('button').title == 1").unwrap();
}

#[test]
fn keys_move_the_focus_and_enter_text() {
    let body = "<button id=b tabindex=2>b</button><a id=a tabindex=1 href=#>a</a><input id=c>\
                <p id=p></p><script>onkeydown = event => p.textContent += event.key + ' '</script>";
    let Some(Small { page, .. }) = open(body) else {
        return;
    };
    let focus = || page.evaluate("document.activeElement.id").unwrap();
    for id in ["a", "b", "c"] {
        page.press("Tab").unwrap();
        assert_eq!(focus(), id);
    }
    for key in ["h", "I", "Backspace", "!", "ArrowLeft", "Space"] {
        page.press(key).unwrap();
    }
    assert_eq!(page.evaluate("c.value").unwrap(), "h !");
    page.press("Shift+Tab").unwrap();
    assert_eq!(focus(), "b");
    let seen = "Tab Tab Tab h I Backspace ! ArrowLeft   Tab ";
    assert_eq!(page.evaluate("p.textContent").unwrap(), seen);
    let error = page.press("Tabulator").unwrap_err();
    assert!(matches!(error, BrowserError::UnknownKey { .. }), "{error}");
}

#[test]
fn clicks_are_real() {
    let body = "<div style='height: 3000px'></div><button id=b><i>press</i></button>\
                <button id=hidden hidden>no</button>\
                <div style='position: relative'><button id=under>no</button>\
                <div class=lid style='position: absolute; inset: 0'></div></div>\
                <script>b.onclick = event => { b.textContent = String(event.isTrusted) };\
                b.onmouseover = () => { b.title = 'over' }</script>";
    let Some(Small { page, .. }) = open(body) else {
        return;
    };
    page.hover("#b").unwrap();
    assert_eq!(page.evaluate("[b.title, b.textContent]").unwrap(), json!(["over", "press"]));
    page.click("#b").unwrap();
    page.wait_for("b.textContent == 'true'").unwrap();
    let error = |selector: &str| page.click(selector).unwrap_err().to_string();
    assert_eq!(error("#absent"), "no element matches `#absent`");
    assert_eq!(error("#hidden"), "`#hidden` is not shown: it has no extent");
    assert!(error("#under").starts_with("the centre of `#under` is covered by <div class=\"lid\""));
}

#[test]
fn screenshots_have_the_extent_asked_for() {
    let body = "<style>body { margin: 0 } #tall { height: 2000px }</style>\
                <div id=tall></div><div id=box style='width: 123px; height: 45px'></div>";
    let Some(Small { page, .. }) = open(body) else {
        return;
    };
    page.set_viewport(640, 480, false).unwrap();
    let extent = |area| png_extent(&page.screenshot(area).unwrap());
    assert_eq!(extent(Area::Viewport), (640, 480));
    assert_eq!(extent(Area::Page), (640, 2045));
    assert_eq!(extent(Area::Element("#box")), (123, 45));
    let error = page.screenshot(Area::Element("#absent")).unwrap_err();
    assert!(matches!(error, BrowserError::NoElement { .. }), "{error}");
}

#[test]
fn a_time_out_names_what_was_waited_for() {
    let Some(Small { page, .. }) = open("<script>console.error('broken')</script>") else {
        return;
    };
    page.set_limit(Duration::from_millis(200));
    let error = page.wait_for("document.querySelector('#x').open").unwrap_err().to_string();
    for part in ["`document.querySelector('#x').open`", "200ms", "of null", "broken"] {
        assert!(error.contains(part), "{part} is not in: {error}");
    }
    let never = "new Promise(() => {})";
    let error = page.evaluate(never).unwrap_err().to_string();
    let expected = "the value of `new Promise(() => {})` did not come within 200ms";
    assert!(error.starts_with(expected), "{error}");
    let error = page.wait_for(never).unwrap_err().to_string();
    assert!(error.contains("its promise is still open"), "{error}");
}

#[test]
fn pages_are_served_too_and_a_missing_one_is_an_error() {
    let Some(browser) = browser() else { return };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    // The server runs as long as the test process.
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = [0; 4096];
            let n = stream.read(&mut request).unwrap();
            let is_page = request[..n].starts_with(b"GET / ");
            let (status, body) = match is_page {
                true => ("200 OK", "<title>Served</title><link rel=stylesheet href=/no.css>"),
                false => ("404 Not Found", ""),
            };
            let head = "Content-Type: text/html\r\nConnection: close";
            let n = body.len();
            let answer =
                format!("HTTP/1.1 {status}\r\n{head}\r\nContent-Length: {n}\r\n\r\n{body}");
            // The browser opens connections that it does not use, so a write may fail.
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    let page = browser.open(&format!("{origin}/")).unwrap();
    assert_eq!(page.evaluate("document.title").unwrap(), "Served");
    let missing = format!("{origin}/no.css");
    assert!(page.requests().contains(&missing), "{:?}", page.requests());
    let troubles = page.troubles();
    assert!(
        troubles.iter().any(|trouble| trouble.contains("404") && trouble.contains(&missing)),
        "{troubles:?}"
    );
    let error = browser.open("file:///no/such/page.html").unwrap_err();
    assert!(matches!(error, BrowserError::NotLoaded { .. }), "{error}");
}

#[test]
fn pages_share_no_storage() {
    let Some(Small { page, url, _folder }) = open("") else {
        return;
    };
    page.evaluate("localStorage.colour = 'dark'").unwrap();
    page.go(&url).unwrap();
    assert_eq!(page.evaluate("localStorage.colour").unwrap(), "dark");
    let other = browser().unwrap().open(&url).unwrap();
    assert_eq!(other.evaluate("localStorage.colour === undefined").unwrap(), true);
}

#[test]
fn after_a_reload_the_new_page_is_asked() {
    // Large enough that the page is incomplete for a while.
    let rows = "<p>row</p>".repeat(20_000);
    let body = format!("{rows}<script>document.body.dataset.end = 'here'</script>");
    let Some(Small { page, _folder, .. }) = open(&body) else {
        return;
    };
    for _ in 0..5 {
        page.evaluate("document.body.dataset.end = 'old'").unwrap();
        page.reload().unwrap();
        assert_eq!(page.evaluate("document.body.dataset.end").unwrap(), "here");
    }
}
