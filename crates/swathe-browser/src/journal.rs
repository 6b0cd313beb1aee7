//! Journals: what a page has done since it was opened, recorded from the browser's events.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

/// The recorded events of one page.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    /// Errors that a page "without console errors" must not have.
    pub(crate) troubles: Vec<String>,
    /// The requested addresses, in order.
    pub(crate) requests: Vec<String>,
    /// The documents whose load event has fired.
    pub(crate) loaded: HashSet<String>,
    urls: HashMap<String, String>,
}

impl Journal {
    /// Records an event. Most events are of no interest and are ignored.
    pub(crate) fn note(&mut self, method: &str, params: &Value) {
        match method {
            "Page.lifecycleEvent" if params["name"] == "load" => {
                self.loaded.insert(text(&params["loaderId"]));
            }
            "Network.requestWillBeSent" => {
                let url = text(&params["request"]["url"]);
                self.urls.insert(text(&params["requestId"]), url.clone());
                // A `data:` address is part of the page and causes no request.
                if !url.starts_with("data:") {
                    self.requests.push(url);
                }
            }
            "Network.loadingFailed" if params["canceled"] != true => {
                let url = self.urls.get(&text(&params["requestId"]));
                let url = url.map_or("a request", String::as_str);
                let why = text(&params["errorText"]);
                self.troubles.push(format!("{url} failed: {why}"));
            }
            "Runtime.consoleAPICalled" if params["type"] == "error" => {
                self.troubles.push(format!("console.error: {}", said(params)));
            }
            "Runtime.consoleAPICalled" if params["type"] == "assert" => {
                self.troubles.push(format!("console.assert: {}", said(params)));
            }
            "Runtime.exceptionThrown" => {
                let thrown = exception(&params["exceptionDetails"]);
                self.troubles.push(format!("uncaught: {thrown}"));
            }
            "Log.entryAdded" if params["entry"]["level"] == "error" => {
                let entry = &params["entry"];
                let (words, url) = (text(&entry["text"]), text(&entry["url"]));
                let place = if url.is_empty() { url } else { format!(" ({url})") };
                self.troubles.push(format!("{words}{place}"));
            }
            "Page.javascriptDialogOpening" => {
                let words = text(&params["message"]);
                self.troubles.push(format!("a dialog stands open: {words}"));
            }
            "Inspector.targetCrashed" => self.troubles.push("the page crashed".to_owned()),
            _ => {}
        }
    }
}

/// The text of an exception as the protocol describes it: its stack where there is one.
pub(crate) fn exception(details: &Value) -> String {
    let exception = &details["exception"];
    if let Some(description) = exception["description"].as_str() {
        description.to_owned()
    } else if exception.is_object() {
        // A thrown value need not be an Error.
        format!("{} {}", text(&details["text"]), object(exception))
    } else {
        text(&details["text"])
    }
}

/// The arguments of a call on `console`.
fn said(params: &Value) -> String {
    let arguments = params["args"].as_array().map_or(&[][..], Vec::as_slice);
    arguments.iter().map(object).collect::<Vec<_>>().join(" ")
}

/// A value of the page as text.
fn object(remote: &Value) -> String {
    match &remote["value"] {
        Value::String(text) => text.clone(),
        Value::Null => match remote["description"].as_str() {
            Some(description) => description.to_owned(),
            None => text(&remote["type"]),
        },
        value => value.to_string(),
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_what_went_wrong_is_trouble() {
        let mut journal = Journal::default();
        let request = |id: &str, url: &str| json!({"requestId": id, "request": {"url": url}});
        for (method, params) in [
            ("Runtime.consoleAPICalled", json!({"type": "log", "args": [{"value": "hello"}]})),
            ("Log.entryAdded", json!({"entry": {"level": "warning", "text": "slow"}})),
            ("Network.requestWillBeSent", request("1", "http://localhost/a.js")),
            ("Network.requestWillBeSent", request("2", "data:text/css,p{}")),
            ("Network.loadingFailed", json!({"requestId": "2", "canceled": true})),
            ("Page.lifecycleEvent", json!({"name": "load", "loaderId": "L"})),
            ("Page.lifecycleEvent", json!({"name": "init", "loaderId": "M"})),
        ] {
            journal.note(method, &params);
        }
        assert_eq!(journal.troubles, [""; 0]);
        assert_eq!(journal.requests, ["http://localhost/a.js"]);
        assert_eq!(journal.loaded, HashSet::from(["L".to_owned()]));

        let args = json!([{"value": "bad"}, {"value": 7}, {"description": "Object"}]);
        for (method, params) in [
            ("Runtime.consoleAPICalled", json!({"type": "error", "args": args})),
            (
                "Network.loadingFailed",
                json!({"requestId": "1", "canceled": false, "errorText": "net::ERR_FAILED"}),
            ),
            (
                "Log.entryAdded",
                json!({"entry": {"level": "error", "text": "404", "url": "http://localhost/b"}}),
            ),
            (
                "Runtime.exceptionThrown",
                json!({"exceptionDetails": {"text": "Uncaught", "exception": {"value": "no"}}}),
            ),
        ] {
            journal.note(method, &params);
        }
        assert_eq!(
            journal.troubles,
            [
                "console.error: bad 7 Object",
                "http://localhost/a.js failed: net::ERR_FAILED",
                "404 (http://localhost/b)",
                "uncaught: Uncaught no",
            ]
        );
    }
}
