//! Pages: what a reader can do with a page, and what a test can query.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use base64::prelude::{BASE64_STANDARD, Engine};
use serde_json::{Value, json};

use crate::browser::LIMIT;
use crate::connection::Connection;
use crate::error::BrowserError;
use crate::journal::{self, Journal};
use crate::key;

/// How often a condition is polled.
const POLL: Duration = Duration::from_millis(20);

/// The initial window of a page: width and height.
const VIEWPORT_PX: (u32, u32) = (1200, 900);

/// A tab with its own cookies and storage. Dropping it closes the tab.
///
/// No call waits longer than the time limit, which is 20 seconds unless
/// [`set_limit`](Self::set_limit) changes it.
#[derive(Debug)]
pub struct Page<'browser> {
    connection: &'browser Connection,
    session: String,
    /// The browser context of the cookies and storage; the tab closes with it.
    context: String,
    limit: Cell<Duration>,
    is_mobile: Cell<bool>,
    media: RefCell<Media>,
}

/// The area that a screenshot shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Area<'a> {
    /// What is visible without scrolling.
    Viewport,
    /// The whole page, including what is scrolled out of view.
    Page,
    /// The first element that a CSS selector matches.
    Element(&'a str),
}

/// Emulated media. The protocol sets all of this at once, so earlier values are kept here.
#[derive(Debug, Default)]
struct Media {
    is_print: bool,
    features: BTreeMap<String, String>,
}

impl<'browser> Page<'browser> {
    pub(crate) fn blank(connection: &'browser Connection) -> Result<Self, BrowserError> {
        let call = |method: &str, params: Value, field: &'static str| {
            let answer = connection.call(None, method, params, LIMIT)?;
            text_of(method, &answer, field)
        };
        let context = call("Target.createBrowserContext", json!({}), "browserContextId")?;
        // In a window of its own the tab is never behind another tab, where it would not be
        // painted.
        let target = call(
            "Target.createTarget",
            json!({"url": "about:blank", "browserContextId": context, "newWindow": true}),
            "targetId",
        )?;
        let session = call(
            "Target.attachToTarget",
            json!({"targetId": target, "flatten": true}),
            "sessionId",
        )?;
        let page = Self {
            connection,
            session,
            context,
            limit: Cell::new(LIMIT),
            is_mobile: Cell::new(false),
            media: RefCell::default(),
        };
        for domain in ["Page", "Runtime", "Log", "Network", "Inspector"] {
            page.call(&format!("{domain}.enable"), json!({}))?;
        }
        page.call("Page.setLifecycleEventsEnabled", json!({"enabled": true}))?;
        page.call("Emulation.setFocusEmulationEnabled", json!({"enabled": true}))?;
        page.set_viewport(VIEWPORT_PX.0, VIEWPORT_PX.1, false)?;
        Ok(page)
    }

    /// Navigates to an address and waits for the load event, after which the page's styles, scripts
    /// and images are loaded.
    ///
    /// # Errors
    /// If the address cannot be loaded within the time limit.
    pub fn go(&self, url: &str) -> Result<(), BrowserError> {
        let answer = self.call("Page.navigate", json!({"url": url}))?;
        if let Some(why) = answer["errorText"].as_str().filter(|why| !why.is_empty()) {
            return Err(BrowserError::NotLoaded { url: url.to_owned(), why: why.to_owned() });
        }
        // Navigation within the same document loads nothing.
        let Some(document) = answer["loaderId"].as_str() else {
            return Ok(());
        };
        let what = format!("the load event of {url}");
        self.connection.wait_for_journal(&self.session, &what, self.limit.get(), |journal| {
            journal.loaded.contains(document)
        })
    }

    /// Reloads the page, which must have no frames, and waits for the load event. After a script's
    /// `location.reload()`, the old page or an incomplete new page may answer the next query.
    ///
    /// # Errors
    /// If the page does not load within the time limit.
    pub fn reload(&self) -> Result<(), BrowserError> {
        let n_loaded = |journal: &Journal| journal.loaded.len();
        let n_before = self.connection.read_journal(&self.session, n_loaded);
        self.call("Page.reload", json!({}))?;
        let what = "the load event of the page again";
        self.connection.wait_for_journal(&self.session, what, self.limit.get(), |journal| {
            n_loaded(journal) > n_before
        })
    }

    /// Changes the time limit of this page.
    pub fn set_limit(&self, limit: Duration) {
        self.limit.set(limit);
    }

    /// The value of a JavaScript expression, awaited if it is a promise. Values that JSON cannot
    /// express become null (`undefined`, functions) or a text (`NaN`, `-0`, `12n`).
    ///
    /// # Errors
    /// If the script throws, or has no value within the time limit.
    pub fn evaluate(&self, script: &str) -> Result<Value, BrowserError> {
        let params = json!({
            "expression": script,
            "awaitPromise": true,
            "returnByValue": true,
            "userGesture": true,
        });
        let mut answer = match self.call("Runtime.evaluate", params) {
            Err(BrowserError::TookTooLong { limit, troubles, .. }) => {
                Err(BrowserError::TookTooLong {
                    waited_for: format!("the value of `{script}`"),
                    limit,
                    troubles,
                })
            }
            answer => answer,
        }?;
        let details = &answer["exceptionDetails"];
        if details.is_object() {
            return Err(BrowserError::Threw {
                script: script.to_owned(),
                message: journal::exception(details),
            });
        }
        let result = &mut answer["result"];
        Ok(match result["unserializableValue"].take() {
            Value::Null => result["value"].take(),
            text => text,
        })
    }

    /// Waits until a JavaScript expression is true. An expression that throws, for example about an
    /// element that does not exist yet, counts as false.
    ///
    /// # Errors
    /// If the expression is not true within the time limit.
    pub fn wait_for(&self, condition: &str) -> Result<(), BrowserError> {
        // The line break allows a condition that ends in a comment.
        let script = format!("(async () => Boolean(await ({condition}\n)))()");
        let deadline = Instant::now() + self.limit.get();
        loop {
            let last = match self.evaluate(&script) {
                Ok(Value::Bool(true)) => return Ok(()),
                Ok(_) => String::new(),
                Err(BrowserError::TookTooLong { .. }) => " (its promise is still open)".to_owned(),
                Err(
                    BrowserError::Threw { message, .. } | BrowserError::Refused { message, .. },
                ) => {
                    format!(" (at last it threw: {message})")
                }
                Err(error) => return Err(error),
            };
            if Instant::now() >= deadline {
                return Err(BrowserError::TookTooLong {
                    waited_for: format!("`{condition}`{last}"),
                    limit: self.limit.get(),
                    troubles: self.troubles(),
                });
            }
            thread::sleep(POLL);
        }
    }

    /// Lays the page out for a window of this size, at one device pixel per CSS pixel. A mobile
    /// page has the viewport of a telephone, and touch instead of a mouse. For style sheets
    /// (`pointer`, `hover`), a page that was mobile once never gets its mouse back.
    ///
    /// # Errors
    /// If the browser refuses the size or does not answer in time.
    pub fn set_viewport(
        &self,
        width_px: u32,
        height_px: u32,
        is_mobile: bool,
    ) -> Result<(), BrowserError> {
        self.call(
            "Emulation.setDeviceMetricsOverride",
            json!({
                "width": width_px,
                "height": height_px,
                "deviceScaleFactor": 1,
                "mobile": is_mobile,
            }),
        )?;
        // Even a call that changes nothing removes the emulated mouse, so only changes are sent.
        if self.is_mobile.replace(is_mobile) != is_mobile {
            self.call("Emulation.setTouchEmulationEnabled", json!({"enabled": is_mobile}))?;
        }
        Ok(())
    }

    /// Sets whether the reader prefers dark colours.
    ///
    /// # Errors
    /// If the browser does not answer in time.
    pub fn set_dark(&self, is_dark: bool) -> Result<(), BrowserError> {
        self.set_feature("prefers-color-scheme", if is_dark { "dark" } else { "light" })
    }

    /// Sets a CSS media feature, such as `prefers-reduced-motion` to `reduce`.
    ///
    /// # Errors
    /// If the browser does not answer in time.
    pub fn set_feature(&self, name: &str, value: &str) -> Result<(), BrowserError> {
        let mut media = self.media.borrow_mut();
        media.features.insert(name.to_owned(), value.to_owned());
        self.emulate(&media)
    }

    /// Sets whether the page is shown as it would be printed.
    ///
    /// # Errors
    /// If the browser does not answer in time.
    pub fn set_print(&self, is_print: bool) -> Result<(), BrowserError> {
        let mut media = self.media.borrow_mut();
        media.is_print = is_print;
        self.emulate(&media)
    }

    fn emulate(&self, media: &Media) -> Result<(), BrowserError> {
        let features: Vec<Value> = media
            .features
            .iter()
            .map(|(name, value)| json!({"name": name, "value": value}))
            .collect();
        let medium = if media.is_print { "print" } else { "" };
        self.call("Emulation.setEmulatedMedia", json!({"media": medium, "features": features}))?;
        Ok(())
    }

    /// Presses and releases a key: a character, or a name such as `Tab`, `Enter`, `Escape`,
    /// `Space`, `ArrowDown`, with `Shift+`, `Control+`, `Alt+` or `Meta+` before it.
    ///
    /// # Errors
    /// If the key is unknown or the browser does not answer in time.
    pub fn press(&self, key: &str) -> Result<(), BrowserError> {
        for event in key::events(key)? {
            self.call("Input.dispatchKeyEvent", event)?;
        }
        Ok(())
    }

    /// Scrolls to an element and clicks its centre with the mouse.
    ///
    /// # Errors
    /// If no element matches, or it is not shown, or another element covers its centre.
    pub fn click(&self, selector: &str) -> Result<(), BrowserError> {
        let (x, y) = self.hover(selector)?;
        for kind in ["mousePressed", "mouseReleased"] {
            self.call(
                "Input.dispatchMouseEvent",
                json!({"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1}),
            )?;
        }
        Ok(())
    }

    /// Scrolls to an element and moves the mouse over its centre. Returns the centre in pixels from
    /// the window's corner.
    ///
    /// # Errors
    /// If no element matches, or it is not shown, or another element covers its centre.
    pub fn hover(&self, selector: &str) -> Result<(f64, f64), BrowserError> {
        let place = self.evaluate_on(
            selector,
            "element.scrollIntoView({block: 'center', inline: 'center', behavior: 'instant'});
             // A link that is broken over lines has a box for each, and a centre between them.
             const box = element.getClientRects()[0];
             if (!box || !box.width || !box.height) return {};
             const x = box.left + box.width / 2, y = box.top + box.height / 2;
             const hit = document.elementFromPoint(x, y);
             if (element.contains(hit)) return {x, y};
             return {by: hit ? hit.cloneNode().outerHTML.slice(0, 120) : 'nothing at all'};",
        )?;
        let selector = selector.to_owned();
        if let Some(by) = place["by"].as_str() {
            let by = by.to_owned();
            return Err(BrowserError::Covered { selector, by });
        }
        let (Some(x), Some(y)) = (place["x"].as_f64(), place["y"].as_f64()) else {
            return Err(BrowserError::NotShown { selector });
        };
        self.call("Input.dispatchMouseEvent", json!({"type": "mouseMoved", "x": x, "y": y}))?;
        Ok((x, y))
    }

    /// A screenshot as PNG, one pixel per CSS pixel, taken once the fonts are loaded.
    ///
    /// # Errors
    /// If no element matches or it is not shown, or if the browser does not answer in time.
    pub fn screenshot(&self, area: Area<'_>) -> Result<Vec<u8>, BrowserError> {
        const METHOD: &str = "Page.captureScreenshot";
        self.evaluate("document.fonts.ready.then(() => null)")?;
        let mut params = json!({"format": "png"});
        if let Some([x, y, width, height]) = self.clip(area)? {
            params["captureBeyondViewport"] = json!(true);
            params["clip"] = json!({"x": x, "y": y, "width": width, "height": height, "scale": 1});
        }
        let answer = self.call(METHOD, params)?;
        let picture = text_of(METHOD, &answer, "data")?;
        let bytes = BASE64_STANDARD.decode(picture);
        bytes.map_err(|_| incomplete(METHOD, "data"))
    }

    /// Left, top, width and height in whole pixels from the page's corner; `None` for the viewport.
    fn clip(&self, area: Area<'_>) -> Result<Option<[f64; 4]>, BrowserError> {
        const METHOD: &str = "Page.getLayoutMetrics";
        let (method, sides) = match area {
            Area::Viewport => return Ok(None),
            Area::Page => (METHOD, self.call(METHOD, json!({}))?["cssContentSize"].take()),
            Area::Element(selector) => {
                let sides = self.evaluate_on(
                    selector,
                    "const {left, top, width, height} = element.getBoundingClientRect();
                     return {x: left + scrollX, y: top + scrollY, width, height};",
                )?;
                ("Runtime.evaluate", sides)
            }
        };
        let side =
            |name: &'static str| sides[name].as_f64().ok_or_else(|| incomplete(method, name));
        let (x, y) = (side("x")?, side("y")?);
        let (right, bottom) = ((x + side("width")?).ceil(), (y + side("height")?).ceil());
        let (x, y) = (x.floor(), y.floor());
        match area {
            Area::Element(selector) if right <= x || bottom <= y => {
                Err(BrowserError::NotShown { selector: selector.to_owned() })
            }
            _ => Ok(Some([x, y, right - x, bottom - y])),
        }
    }

    /// All errors of the page since it was opened, which a page "without console errors" must not
    /// have: console errors, uncaught exceptions, failed requests, blocked resources, open dialogs
    /// and crashes.
    pub fn troubles(&self) -> Vec<String> {
        self.connection.read_journal(&self.session, |journal| journal.troubles.clone())
    }

    /// Every address that the page has requested since it was opened, its own first. `data:`
    /// addresses are part of the page and not requests. A page whose only request is its own is
    /// self-contained. Requests of workers and of frames of other origins are not recorded.
    pub fn requests(&self) -> Vec<String> {
        self.connection.read_journal(&self.session, |journal| journal.requests.clone())
    }

    /// The time from the start of the navigation to the end of the load event, as the page measured
    /// it.
    ///
    /// # Errors
    /// If the load event does not end within the time limit.
    pub fn load_ms(&self) -> Result<f64, BrowserError> {
        const END: &str = "performance.getEntriesByType('navigation')[0].loadEventEnd";
        // The browser reports the event before its last handler is done.
        self.wait_for(&format!("{END} > 0"))?;
        let end = self.evaluate(END)?;
        end.as_f64().ok_or_else(|| incomplete("Runtime.evaluate", "loadEventEnd"))
    }

    /// Runs the body of a function on `element`, the first element that a selector matches.
    fn evaluate_on(&self, selector: &str, body: &str) -> Result<Value, BrowserError> {
        // A JSON string is also a JavaScript string.
        let quoted = Value::from(selector);
        let value = self.evaluate(&format!(
            "(() => {{ const element = document.querySelector({quoted});
             if (!element) return null;
             {body} }})()"
        ))?;
        if value.is_null() {
            return Err(BrowserError::NoElement { selector: selector.to_owned() });
        }
        Ok(value)
    }

    fn call(&self, method: &str, params: Value) -> Result<Value, BrowserError> {
        self.connection.call(Some(&self.session), method, params, self.limit.get())
    }
}

impl Drop for Page<'_> {
    fn drop(&mut self) {
        // A browser that is gone has closed the page already.
        let params = json!({"browserContextId": self.context});
        let _ = self.connection.call(None, "Target.disposeBrowserContext", params, LIMIT);
    }
}

fn text_of(method: &str, answer: &Value, field: &'static str) -> Result<String, BrowserError> {
    match answer[field].as_str() {
        Some(text) => Ok(text.to_owned()),
        None => Err(incomplete(method, field)),
    }
}

fn incomplete(method: &str, field: &'static str) -> BrowserError {
    BrowserError::Incomplete { method: method.to_owned(), field }
}
