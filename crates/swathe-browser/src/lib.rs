//! Drives headless Chromium for the project's own tests and screenshots; no part of the product.
//!
//! A [`Browser`] is a process with a profile of its own that is gone when it is dropped, and a
//! [`Page`] is a tab that shares nothing with other tabs. Everything is synchronous, every wait
//! has a time limit, and its error says what was waited for. Clicks and keys are real events that
//! go through the browser's hit testing and focus, so that what a test can do a reader can do.
//!
//! The browser reaches this machine and nothing else: names are not looked up, so that a page
//! which asks the network for something has it among its [`troubles`](Page::troubles).
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
//! It speaks the Chrome DevTools protocol over two pipes (`--remote-debugging-pipe`), which needs
//! no port that another test could take. Our own and not a crate: those drive the browser over a
//! port through an asynchronous runtime, and tests need a dozen of its commands.

mod browser;
mod connection;
mod error;
mod journal;
mod key;
mod page;

pub use browser::{Browser, file_url};
pub use error::{BrowserError, NoBrowser};
pub use page::{Area, Page};
