//! A run whose page is open in the browser; shared by the tests of all pages.
//!
//! ```ignore
//! let folder = tempfile::tempdir().unwrap();
//! // … inputs, then: swathe(folder.path(), "array map sqrt in.npz --out RUN").expect(0);
//! let Some(run) = RunPage::open(folder, "RUN") else { return };
//! assert_eq!(run.figure("counts.n_solved"), run.report["report"]["counts"]["n_solved"]);
//! run.assert_sound();
//! ```

use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use serde_json::Value;
use swathe_browser::{Browser, Page, file_url};
use tempfile::TempDir;

use crate::program::json;

/// A run folder and its page.
pub(crate) struct RunPage {
    pub(crate) page: Page<'static>,
    /// The run folder.
    pub(crate) run: PathBuf,
    /// `report.json`.
    pub(crate) report: Value,
    url: String,
    _folder: TempDir,
}

/// The browser that the tests share. Without one a test is skipped; in continuous integration it
/// fails.
#[expect(clippy::print_stdout, reason = "a skipped test says so")]
pub(crate) fn browser() -> Option<&'static Browser> {
    static BROWSER: OnceLock<Browser> = OnceLock::new();
    if let Err(reason) = Browser::find() {
        assert!(std::env::var_os("CI").is_none(), "{reason}");
        println!("SKIPPED: {reason}");
        return None;
    }
    Some(BROWSER.get_or_init(|| Browser::start().unwrap_or_else(|error| panic!("{error}"))))
}

impl RunPage {
    /// Opens the page of a run in a folder, which is deleted with the page. `None` if there is no
    /// browser; a message was printed then.
    pub(crate) fn open(folder: TempDir, run: &str) -> Option<RunPage> {
        let browser = browser()?;
        let run = folder.path().join(run);
        let url = file_url(&run.join("report.html")).unwrap();
        let page = browser.blank().unwrap_or_else(|error| panic!("{error}"));
        // Speed is not tested, and other tests may use the processor.
        page.set_limit(Duration::from_secs(90));
        // During a smooth scroll to the focused element, a click would miss its target.
        page.set_feature("prefers-reduced-motion", "reduce")
            .unwrap_or_else(|error| panic!("{error}"));
        page.go(&url).unwrap_or_else(|error| panic!("{error}"));
        // The section about the run itself is folded; the tests open it.
        let unfold = "(() => { const fold = document.querySelector('#run'); \
                      if (fold) { fold.wasFolded = !fold.open; fold.open = true; } })()";
        page.evaluate(unfold).unwrap_or_else(|error| panic!("{error}"));
        Some(RunPage { page, report: json(&run.join("report.json")), run, url, _folder: folder })
    }

    /// The value of a JavaScript expression.
    #[track_caller]
    pub(crate) fn value(&self, script: &str) -> Value {
        let value = self.page.evaluate(script);
        value.unwrap_or_else(|error| panic!("{script}: {error}"))
    }

    /// The text of the first element that a selector matches.
    #[track_caller]
    pub(crate) fn text(&self, selector: &str) -> String {
        let selector = Value::from(selector);
        let text = self.value(&format!("document.querySelector({selector}).textContent"));
        text.as_str().unwrap().to_owned()
    }

    /// The raw value of a figure on the page.
    #[track_caller]
    pub(crate) fn figure(&self, name: &str) -> f64 {
        let selector = Value::from(format!("[data-figure=\"{name}\"]"));
        let value =
            self.value(&format!("Number(document.querySelector({selector}).dataset.value)"));
        value.as_f64().unwrap()
    }

    #[track_caller]
    pub(crate) fn click(&self, selector: &str) {
        let clicked = self.page.click(selector);
        clicked.unwrap_or_else(|error| panic!("{error}"));
    }

    #[track_caller]
    pub(crate) fn press(&self, key: &str) {
        let pressed = self.page.press(key);
        pressed.unwrap_or_else(|error| panic!("{error}"));
    }

    #[track_caller]
    pub(crate) fn reload(&self) {
        let reloaded = self.page.reload();
        reloaded.unwrap_or_else(|error| panic!("{error}"));
    }

    #[track_caller]
    pub(crate) fn wait_for(&self, condition: &str) {
        let waited = self.page.wait_for(condition);
        waited.unwrap_or_else(|error| panic!("{error}"));
    }

    /// Gives an element the keyboard focus.
    #[track_caller]
    pub(crate) fn focus(&self, selector: &str) {
        let selector = Value::from(selector);
        self.value(&format!("document.querySelector({selector}).focus()"));
    }

    /// No errors, no network requests and no overflowing elements: on a wide screen, on a phone, in
    /// dark colours and in print.
    #[track_caller]
    pub(crate) fn assert_sound(&self) {
        let page = &self.page;
        let fits = "document.documentElement.scrollWidth <= innerWidth";
        let widest = "[...document.querySelectorAll('body *')].filter(element => \
             element.getBoundingClientRect().right > innerWidth + 1 && \
             !element.closest('.table-scroll')).slice(0, 3).map(element => \
             element.cloneNode().outerHTML.slice(0, 100)).join(' ')";
        for (width_px, is_mobile) in [(1200, false), (390, true)] {
            page.set_viewport(width_px, 844, is_mobile).unwrap();
            let settled = page.wait_for(&format!("innerWidth == {width_px} && {fits}"));
            settled.unwrap_or_else(|error| {
                panic!("{error} at {width_px} px: {}", self.value(widest));
            });
        }
        page.set_viewport(1200, 900, false).unwrap();
        page.set_dark(true).unwrap();
        page.set_print(true).unwrap();
        // Print shows what is open, and tables either whole or not at all.
        self.wait_for(
            "[...document.querySelectorAll('details:not([open])')].every(details => \
             getComputedStyle(details).display === 'none')",
        );
        self.wait_for(
            "[...document.querySelectorAll('.table')].filter(element => element.offsetParent).every(\
             element => element.classList.contains('unprinted') || \
             element.querySelectorAll('tbody tr').length >= element.table.shown.length)",
        );
        page.set_print(false).unwrap();
        page.set_dark(false).unwrap();
        assert_eq!(page.troubles(), [""; 0]);
        assert_eq!(page.requests(), [self.url.as_str()]);
    }
}
