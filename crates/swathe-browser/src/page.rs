//! A page: what a reader can do with it, and what can be asked about it.

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

/// How often a condition is looked at.
const POLL: Duration = Duration::from_millis(20);

/// The window that pages are opened in: width and height.
const VIEWPORT_PX: (u32, u32) = (1200, 900);

/// A tab with cookies and storage of its own. It is closed when it is dropped.
///
/// Nothing here outwaits the time limit, 20 seconds unless [`set_limit`](Self::set_limit) says
/// otherwise.
#[derive(Debug)]
pub struct Page<'browser> {
    connection: &'browser Connection,
    session: String,
    /// What cookies and storage belong to; the tab ends with it.
    context: String,
    limit: Cell<Duration>,
    is_mobile: Cell<bool>,
    media: RefCell<Media>,
}

/// What a screenshot shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Area<'a> {
    /// What is seen without scrolling.
    Viewport,
    /// All that can be scrolled to.
    Page,
    /// The first element that a CSS selector matches.
    Element(&'a str),
}

/// The protocol sets all of this at once, so what was set before is kept here.
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
        // In a window of its own it is never the tab behind another, which would not be painted.
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
        page.call(
            "Emulation.setFocusEmulationEnabled",
            json!({"enabled": true}),
        )?;
        page.set_viewport(VIEWPORT_PX.0, VIEWPORT_PX.1, false)?;
        Ok(page)
    }

    /// Goes to an address and waits for the load event, after which styles, scripts and images
    /// that stand in the page are there.
    pub fn go(&self, url: &str) -> Result<(), BrowserError> {
        let answer = self.call("Page.navigate", json!({"url": url}))?;
        if let Some(why) = answer["errorText"].as_str().filter(|why| !why.is_empty()) {
            return Err(BrowserError::NotLoaded {
                url: url.to_owned(),
                why: why.to_owned(),
            });
        }
        // A step to another place in the same document loads nothing.
        let Some(document) = answer["loaderId"].as_str() else {
            return Ok(());
        };
        let what = format!("the load event of {url}");
        self.connection
            .wait_for_journal(&self.session, &what, self.limit.get(), |journal| {
                journal.loaded.contains(document)
            })
    }

    /// Loads the page, which has no frames, again and waits for the load event. What is asked
    /// after `location.reload()` may be answered by the old page, or by a new one that is not
    /// whole.
    pub fn reload(&self) -> Result<(), BrowserError> {
        let n_loaded = |journal: &Journal| journal.loaded.len();
        let n_before = self.connection.read_journal(&self.session, n_loaded);
        self.call("Page.reload", json!({}))?;
        let what = "the load event of the page again";
        self.connection
            .wait_for_journal(&self.session, what, self.limit.get(), |journal| {
                n_loaded(journal) > n_before
            })
    }

    /// Changes how long this page is waited for.
    pub fn set_limit(&self, limit: Duration) {
        self.limit.set(limit);
    }

    /// The value of a JavaScript expression, awaited if it is a promise. What JSON has no word
    /// for is null (`undefined`, functions) or a text (`NaN`, `-0`, `12n`).
    pub fn evaluate(&self, script: &str) -> Result<Value, BrowserError> {
        let params = json!({
            "expression": script,
            "awaitPromise": true,
            "returnByValue": true,
            "userGesture": true,
        });
        let mut answer = match self.call("Runtime.evaluate", params) {
            Err(BrowserError::TookTooLong {
                limit, troubles, ..
            }) => Err(BrowserError::TookTooLong {
                waited_for: format!("the value of `{script}`"),
                limit,
                troubles,
            }),
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

    /// Waits until a JavaScript expression is true. While it throws, as one about an element that
    /// is not there yet does, it is not.
    pub fn wait_for(&self, condition: &str) -> Result<(), BrowserError> {
        // The line's end is for a condition that ends in a comment.
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

    /// Lays the page out for a window of this size, at one device pixel for each of CSS. A mobile
    /// page has a viewport as telephones have it, and fingers instead of a mouse; to style sheets
    /// (`pointer`, `hover`) a page that was mobile once never gets its mouse back.
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
        // Said even to change nothing, this makes the browser forget the mouse it was told of.
        if self.is_mobile.replace(is_mobile) != is_mobile {
            self.call(
                "Emulation.setTouchEmulationEnabled",
                json!({"enabled": is_mobile}),
            )?;
        }
        Ok(())
    }

    /// Whether the reader prefers dark colours.
    pub fn set_dark(&self, is_dark: bool) -> Result<(), BrowserError> {
        self.set_feature(
            "prefers-color-scheme",
            if is_dark { "dark" } else { "light" },
        )
    }

    /// Sets a CSS media feature, as `prefers-reduced-motion` to `reduce`.
    pub fn set_feature(&self, name: &str, value: &str) -> Result<(), BrowserError> {
        let mut media = self.media.borrow_mut();
        media.features.insert(name.to_owned(), value.to_owned());
        self.emulate(&media)
    }

    /// Whether the page is shown as it would be printed.
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
        self.call(
            "Emulation.setEmulatedMedia",
            json!({"media": medium, "features": features}),
        )?;
        Ok(())
    }

    /// Presses and releases a key: a character, or a name as `Tab`, `Enter`, `Escape`, `Space`,
    /// `ArrowDown`, with `Shift+`, `Control+`, `Alt+` or `Meta+` before it.
    pub fn press(&self, key: &str) -> Result<(), BrowserError> {
        for event in key::events(key)? {
            self.call("Input.dispatchKeyEvent", event)?;
        }
        Ok(())
    }

    /// Scrolls to an element and clicks its centre with the mouse. If something else lies there
    /// the click is not made.
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

    /// Scrolls to an element and moves the mouse over its centre, which it returns in pixels from
    /// the window's corner.
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
        self.call(
            "Input.dispatchMouseEvent",
            json!({"type": "mouseMoved", "x": x, "y": y}),
        )?;
        Ok((x, y))
    }

    /// A picture as PNG, one pixel for each of CSS, once the fonts are there.
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

    /// Left, top, width and height in whole pixels from the page's corner; none is the viewport.
    fn clip(&self, area: Area<'_>) -> Result<Option<[f64; 4]>, BrowserError> {
        const METHOD: &str = "Page.getLayoutMetrics";
        let (method, sides) = match area {
            Area::Viewport => return Ok(None),
            Area::Page => (
                METHOD,
                self.call(METHOD, json!({}))?["cssContentSize"].take(),
            ),
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
            Area::Element(selector) if right <= x || bottom <= y => Err(BrowserError::NotShown {
                selector: selector.to_owned(),
            }),
            _ => Ok(Some([x, y, right - x, bottom - y])),
        }
    }

    /// Everything a page "without console errors" must not have, since it was opened: errors on
    /// the console, exceptions that nobody caught, requests that failed, blocked resources, open
    /// dialogs, crashes.
    pub fn troubles(&self) -> Vec<String> {
        self.connection
            .read_journal(&self.session, |journal| journal.troubles.clone())
    }

    /// Every address the page asked for since it was opened, itself first; what stands in the page
    /// (`data:`) is not asked for. A page that is its own only request is self-contained. Workers
    /// and frames of other origins are not listened to.
    pub fn requests(&self) -> Vec<String> {
        self.connection
            .read_journal(&self.session, |journal| journal.requests.clone())
    }

    /// From the start of the navigation to the end of the load event, as the page measured it.
    pub fn load_ms(&self) -> Result<f64, BrowserError> {
        const END: &str = "performance.getEntriesByType('navigation')[0].loadEventEnd";
        // The event is reported before its last handler is done.
        self.wait_for(&format!("{END} > 0"))?;
        let end = self.evaluate(END)?;
        end.as_f64()
            .ok_or_else(|| incomplete("Runtime.evaluate", "loadEventEnd"))
    }

    /// Runs the body of a function of the first `element` that a selector matches.
    fn evaluate_on(&self, selector: &str, body: &str) -> Result<Value, BrowserError> {
        // JSON's texts are JavaScript's.
        let quoted = Value::from(selector);
        let value = self.evaluate(&format!(
            "(() => {{ const element = document.querySelector({quoted});
             if (!element) return null;
             {body} }})()"
        ))?;
        if value.is_null() {
            return Err(BrowserError::NoElement {
                selector: selector.to_owned(),
            });
        }
        Ok(value)
    }

    fn call(&self, method: &str, params: Value) -> Result<Value, BrowserError> {
        self.connection
            .call(Some(&self.session), method, params, self.limit.get())
    }
}

impl Drop for Page<'_> {
    fn drop(&mut self) {
        // A browser that is gone has closed the page already.
        let params = json!({"browserContextId": self.context});
        let _ = self
            .connection
            .call(None, "Target.disposeBrowserContext", params, LIMIT);
    }
}

fn text_of(method: &str, answer: &Value, field: &'static str) -> Result<String, BrowserError> {
    match answer[field].as_str() {
        Some(text) => Ok(text.to_owned()),
        None => Err(incomplete(method, field)),
    }
}

fn incomplete(method: &str, field: &'static str) -> BrowserError {
    BrowserError::Incomplete {
        method: method.to_owned(),
        field,
    }
}
