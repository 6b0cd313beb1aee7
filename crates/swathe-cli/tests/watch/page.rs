//! The page in a real browser.

use std::time::Duration;

use swathe::{DeviceId, Phase, Remedy, Setback, SetbackCause, WorkerNow};
use swathe_browser::{Browser, Page};

use crate::folders::{LINE, Unfinished, with_finished_run, with_inputs};
use crate::http::connect;
use crate::watching::{Run, Watch, signal};

/// A browser; without one the test is skipped, and in continuous integration it fails.
#[expect(clippy::print_stdout, reason = "a skipped test says so")]
fn browser() -> Option<Browser> {
    match Browser::find() {
        Ok(_) => Some(Browser::start().unwrap()),
        Err(reason) => {
            assert!(std::env::var_os("CI").is_none(), "{reason}");
            println!("SKIPPED: {reason}");
            None
        }
    }
}

fn open<'a>(browser: &'a Browser, url: &str) -> Page<'a> {
    let page = browser.open(url).unwrap();
    page.set_limit(Duration::from_secs(90));
    page.wait_for("document.querySelector('[data-figure=state]')?.dataset.value").unwrap();
    page
}

fn wait_for_state(page: &Page<'_>, state: &str) {
    let shown = "document.querySelector('[data-figure=state]').dataset.value";
    page.wait_for(&format!("{shown} === '{state}'")).unwrap();
}

fn figure(page: &Page<'_>, name: &str) -> f64 {
    let value = format!("Number(document.querySelector('[data-figure={name}]').dataset.value)");
    page.evaluate(&value).unwrap().as_f64().unwrap()
}

fn text(page: &Page<'_>, selector: &str) -> String {
    let text = page.evaluate(&format!("document.querySelector('{selector}').innerText"));
    text.unwrap().as_str().unwrap().to_owned()
}

#[test]
fn a_run_can_be_seen_to_go_on_die_and_finish() {
    let Some(browser) = browser() else { return };
    let folder = with_inputs();
    // The run takes a minute; the test sees its beginning.
    let mut run = Run::start(folder.path(), LINE, 2000);
    let watch = Watch::start(folder.path(), "run");
    let page = open(&browser, &watch.url);
    wait_for_state(&page, "running");
    page.wait_for("Number(document.querySelector('[data-figure=n_done]').dataset.value) > 0")
        .unwrap();
    let first = figure(&page, "n_done");
    // What the user has opened, and the scroll position, are kept while figures are updated.
    page.wait_for("document.querySelector('#speed details')").unwrap();
    page.click("#speed details summary").unwrap();
    page.wait_for("document.querySelector('#speed details .table')").unwrap();
    page.evaluate("window.mark = document.querySelector('.tiles'); scrollTo(0, 150)").unwrap();
    let scroll = page.evaluate("scrollY").unwrap();
    page.wait_for(&format!(
        "Number(document.querySelector('[data-figure=n_done]').dataset.value) >= {}",
        first + 4.0
    ))
    .unwrap();
    assert_eq!(page.evaluate("scrollY").unwrap(), scroll);
    assert_eq!(
        page.evaluate("document.querySelector('#speed details').open && mark.isConnected").unwrap(),
        true
    );
    assert!(text(&page, "h1").contains("of 60 problems done"));
    assert!(text(&page, "#workers").contains("solves"), "{}", text(&page, "#workers"));
    run.kill();
    wait_for_state(&page, "dead");
    assert_eq!(text(&page, ".badge"), "Dead");
    assert!(text(&page, ".state").contains("What was committed is safe"));
    assert_eq!(text(&page, ".next code"), format!("swathe {LINE} --resume"));
    drop(run);
    let mut run = Run::start(folder.path(), &format!("{LINE} --resume"), 50);
    wait_for_state(&page, "finished");
    assert_eq!(run.wait(), Some(0));
    assert_eq!(figure(&page, "n_done"), 60.0);
    page.wait_for("document.querySelector('.next a.open')").unwrap();
    assert_eq!(page.troubles(), [""; 0]);
    page.click(".next a.open").unwrap();
    page.wait_for("location.pathname === '/report'").unwrap();
    page.wait_for("document.readyState === 'complete'").unwrap();
    assert_eq!(page.troubles(), [""; 0], "the report is whole under its policy");
}

#[test]
fn the_page_fits_a_telephone_and_keeps_hostile_text_as_text() {
    let Some(browser) = browser() else { return };
    let unfinished = Unfinished::beating();
    let evil = "<img src=x onerror=\"window.evil=1\"><script>window.evil=1</script>";
    unfinished.change(|live| {
        live.command = format!("swathe array {evil} --out run");
        live.n_setbacks = 1;
        live.setbacks.push(Setback {
            at_ms: 12.0,
            device: DeviceId::Gpu(0),
            cause: SetbackCause::LaunchFailed { message: evil.to_owned() },
            n_problems: 3,
            remedy: Remedy::ToCpu,
        });
        live.elapsed_ms = 100_000.0;
        live.workers = (0..8)
            .map(|worker| WorkerNow {
                worker,
                device: DeviceId::Cpu,
                phase: Phase::Solve,
                problem: Some((1000 * worker, 90_000.0)),
            })
            .collect();
    });
    let watch = Watch::start(unfinished.path(), "run");
    let page = open(&browser, &watch.url);
    wait_for_state(&page, "stalled");
    assert!(text(&page, "#setbacks").contains(evil), "{}", text(&page, "#setbacks"));
    assert!(text(&page, "#run").contains(evil), "{}", text(&page, "#run"));
    assert!(text(&page, "#workers").contains("90 s"));
    for is_dark in [false, true] {
        page.set_dark(is_dark).unwrap();
        for width_px in [390, 700, 1200] {
            page.set_viewport(width_px, 800, width_px == 390).unwrap();
            let script =
                "document.documentElement.scrollWidth <= document.documentElement.clientWidth";
            page.wait_for(script).unwrap();
        }
    }
    unfinished.fall_silent();
    unfinished.change(|live| live.process.pid = u32::MAX);
    wait_for_state(&page, "dead");
    assert!(text(&page, ".next code").contains(evil));
    assert_eq!(page.evaluate("window.evil === undefined").unwrap(), true);
    assert_eq!(page.troubles(), [""; 0]);
    for request in page.requests() {
        assert!(request.starts_with(&watch.url), "{request}");
    }
}

#[test]
fn the_page_says_when_its_server_is_gone_and_goes_on_when_it_is_back() {
    let Some(browser) = browser() else { return };
    let unfinished = Unfinished::beating();
    let watch = Watch::start(unfinished.path(), "run");
    let page = open(&browser, &watch.url);
    assert_eq!(figure(&page, "n_done"), 20.0);
    let port = watch.server.port();
    assert_eq!(watch.interrupt(), Some(0));
    page.wait_for("!document.querySelector('.lost').hidden").unwrap();
    assert!(text(&page, ".lost").contains("does not answer"));
    assert_eq!(figure(&page, "n_done"), 20.0, "what was heard last stays");
    unfinished.change(|live| live.counts.n_solved += 5);
    let _watch = Watch::start(unfinished.path(), &format!("run --port {port}"));
    page.wait_for("document.querySelector('.lost').hidden").unwrap();
    page.wait_for("document.querySelector('[data-figure=n_done]').dataset.value === '25'").unwrap();
}

#[test]
fn open_connections_of_others_do_not_keep_figures_from_a_page() {
    let Some(browser) = browser() else { return };
    let unfinished = Unfinished::beating();
    let watch = Watch::start(unfinished.path(), "run");
    let _silent: Vec<_> = (0..200).map(|_| connect(watch.server)).collect();
    let pages =
        [open(&browser, &watch.url), open(&browser, &watch.url), open(&browser, &watch.url)];
    unfinished.change(|live| live.counts.n_solved += 5);
    for page in &pages {
        wait_for_state(page, "running");
        page.wait_for("document.querySelector('[data-figure=n_done]').dataset.value === '25'")
            .unwrap();
        let lost = page.evaluate("document.querySelector('.lost').hidden");
        assert_eq!(lost.unwrap(), true);
    }
    signal(&watch.child, libc::SIGINT);
}

#[test]
fn figures_that_have_not_changed_are_not_sent_again() {
    let Some(browser) = browser() else { return };
    let folder = with_finished_run();
    let watch = Watch::start(folder.path(), "run");
    let page = open(&browser, &watch.url);
    wait_for_state(&page, "finished");
    let statuses = "performance.getEntriesByType('resource')\
        .filter(entry => entry.name.endsWith('/data.json'))\
        .map(entry => entry.responseStatus).join(' ')";
    page.wait_for(&format!("({statuses}).startsWith('200 304 304')")).unwrap();
    assert_eq!(page.troubles(), [""; 0]);
}
