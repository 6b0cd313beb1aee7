//! Drives headless Chromium for the project's own tests and screenshots; not part of the product.
//!
//! A [`Browser`] is a process with a profile of its own; dropping it removes both. A [`Page`] is a
//! tab that shares nothing with other tabs. All calls are synchronous. Every wait has a time limit,
//! and its error says what was waited for. Clicks and keys are real events that go through the
//! browser's hit testing and focus, so a test can do only what a reader can do.
//!
//! The browser can reach this machine alone: host names are not resolved, so a page that requests
//! something from the network has the failure among its [`troubles`](Page::troubles).
//!
//! ```no_run
//! use swathe_browser::{Area, Browser, file_url};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let browser = Browser::start()?;
//! let page = browser.open(&file_url("RUN/report.html".as_ref())?)?;
//! page.click("#failed summary")?;
//! page.wait_for("document.querySelector('#failed').open")?;
//! page.press("Shift+Tab")?;
//! assert_eq!(page.evaluate("document.activeElement.tagName")?, "SUMMARY");
//! std::fs::write("failed.png", page.screenshot(Area::Element("#failed"))?)?;
//! assert_eq!(page.troubles(), [""; 0]);
//! # Ok(())
//! # }
//! ```
//!
//! The crate speaks the Chrome DevTools protocol over two pipes (`--remote-debugging-pipe`), which
//! needs no port that another test could take. Existing crates drive the browser over a port
//! through an asynchronous runtime, and the tests need only a dozen commands.

mod browser;
mod connection;
mod error;
mod journal;
mod key;
mod page;

pub use browser::{Browser, file_url};
pub use error::{BrowserError, NoBrowser};
pub use page::{Area, Page};
