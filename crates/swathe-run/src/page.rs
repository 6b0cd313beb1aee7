//! The report as a page: one self-contained HTML file.
//!
//! Rust produces the data and the static frame; the scripts under `assets/` draw the rest. They are
//! plain scripts that share the object `window.swathe`, listed in [`SCRIPTS`] in dependency order.
//! A page also contains the scripts of its kind of run.
//!
//! The charts are written here instead of taken from a chart library for two reasons. A page must
//! open from disk without a network, so every page would contain a copy of the library. And most
//! charts are specific to runs (launches by worker, maps of pairs, grids of tasks).

mod data;
mod failures;
mod headline;
mod launches;
mod number;

use std::fmt::Write as _;

use serde_json::Value;

pub use data::PageData;
pub use number::{rounded, significant};

use crate::kind::RunKind;

/// The contents of `report.html`, with the section of this kind of run.
pub fn page(data: &PageData, kind: Option<&RunKind>) -> String {
    let json = embedded(&data.json());
    let static_part = format!(
        "<p class=brand><b>swathe</b> {}</p><h1>{}</h1><p class=lead>{}</p>",
        escape(data.workload()),
        escape(&data.headline),
        escape(&data.lead)
    );
    // The policy blocks all network access, so neither a script nor an input file can cause any.
    document(
        &data.title,
        "default-src 'none'; img-src data: blob:; style-src 'unsafe-inline'; \
         script-src 'unsafe-inline'",
        &static_part,
        &format!("<script type=\"application/json\" id=data>{json}</script>"),
        kind,
    )
}

/// The page of `swathe watch`: the same frame without data, which `live.js` fetches from the
/// server.
pub fn live_page() -> String {
    document(
        "swathe: a run",
        "default-src 'none'; img-src data: blob: 'self'; style-src 'unsafe-inline'; \
         script-src 'unsafe-inline'; connect-src 'self'",
        "<p class=brand><b>swathe</b> watch</p><h1>A run</h1><p class=lead>Waiting for its figures.</p>",
        "",
        None,
    )
}

fn document(
    title: &str,
    policy: &str,
    static_part: &str,
    data: &str,
    kind: Option<&RunKind>,
) -> String {
    let kind_style = kind.map_or("", |kind| kind.style);
    let mut page = format!(
        "<!doctype html>\n<html lang=en><head><meta charset=utf-8>\n\
         <meta http-equiv=Content-Security-Policy content=\"{policy}\">\n\
         <meta name=viewport content=\"width=device-width, initial-scale=1\">\n\
         <meta name=color-scheme content=\"light dark\">\n<meta name=referrer content=no-referrer>\n\
         <link rel=icon href=\"data:,\">\n\
         <title>{}</title>\n<style>\n{STYLE}{kind_style}</style>\n</head>\n<body>\n\
         <header id=top>{static_part}</header>\n\
         <noscript><p>The figures and charts of this page are drawn by its own script, which is \
         switched off here. The same figures are in <code>report.json</code> beside it.</p></noscript>\n\
         <main id=main></main>\n{data}\n",
        escape(title)
    );
    let kind_scripts = kind.map_or(&[][..], |kind| kind.scripts);
    for script in SCRIPTS.iter().chain(kind_scripts).chain(&LAST_SCRIPTS) {
        let _ = write!(page, "<script>\n{script}</script>\n");
    }
    page.push_str("</body></html>\n");
    page
}

const STYLE: &str = include_str!("page/assets/style.css");

/// In dependency order; the scripts of a kind come after them.
const SCRIPTS: [&str; 6] = [
    include_str!("page/assets/dom.js"),
    include_str!("page/assets/table.js"),
    include_str!("page/assets/chart.js"),
    include_str!("page/assets/timeline.js"),
    include_str!("page/assets/sections.js"),
    include_str!("page/assets/live.js"),
];

/// Runs after all other scripts and starts the page.
const LAST_SCRIPTS: [&str; 1] = [include_str!("page/assets/page.js")];

/// JSON that is safe inside a script element: characters that could end the element or open a
/// comment are escaped, which leaves the parsed value unchanged.
fn embedded(value: &Value) -> String {
    let json = value.to_string();
    let mut escaped = String::with_capacity(json.len() + json.len() / 64);
    for character in json.chars() {
        match character {
            '<' => escaped.push_str("\\u003c"),
            '>' => escaped.push_str("\\u003e"),
            '&' => escaped.push_str("\\u0026"),
            '\u{2028}' => escaped.push_str("\\u2028"),
            '\u{2029}' => escaped.push_str("\\u2029"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// Checks, for tests, that scripts and a style are safe inside a page: they must not end their
/// element, set markup from text, or load anything over a network.
///
/// # Panics
/// If one of the texts breaks a rule, or if a script does not begin with `"use strict";`.
pub fn check_assets(scripts: &[&str], style: &str) {
    const BAD: [&str; 6] = ["</script", "</style", "<!--", "innerHTML =", "@import", "url(http"];
    for text in scripts.iter().chain([&style]) {
        for bad in BAD {
            assert!(!text.contains(bad), "{bad}");
        }
    }
    for script in scripts {
        assert!(script.starts_with("\"use strict\";\n"), "{script:.40}");
    }
}

/// Escapes untrusted text for HTML, so that it cannot become markup.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn embedded_json_cannot_leave_its_element_and_means_the_same() {
        let value = json!({"</script><script>alert(1)</script>": "<!-- & \u{2028}\u{2029} \" \\"});
        let text = embedded(&value);
        assert!(!text.contains(['<', '>', '&', '\u{2028}', '\u{2029}']));
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }

    #[test]
    fn no_asset_can_end_its_element_or_asks_for_anything() {
        let scripts: Vec<&str> = SCRIPTS.into_iter().chain(LAST_SCRIPTS).collect();
        check_assets(&scripts, STYLE);
    }
}
