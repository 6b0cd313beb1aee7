//! A picture of a task as a self-contained web page.

use std::fmt::Write;

use super::{CAPTIONS, Panel, color, label, panels, side, verdict};
use crate::arc_run::Shown;
use swathe_run::page::escape;

/// A picture of a task as an HTML page.
pub fn page(shown: &Shown) -> String {
    let mut body = String::new();
    let title = format!("{}, {}", escape(&shown.task), escape(&shown.program));
    let _ = write!(body, "<h1>{title}</h1>");
    for sample in &shown.samples {
        let verdict = verdict(sample);
        let class = match sample.is_equal {
            Some(true) => "right",
            Some(false) => "wrong",
            None => "unknown",
        };
        let _ = write!(
            body,
            "<section><h2>{} <span class={class}>{}</span></h2><div class=panels>",
            escape(&label(sample)),
            escape(&verdict)
        );
        let panels = panels(sample);
        // Cells are equally large in all three panels, and at most a tenth of a column wide.
        let side = panels.iter().map(side).max().unwrap_or(0).max(10);
        for (caption, panel) in CAPTIONS.iter().zip(panels) {
            let _ = write!(body, "<figure><figcaption>{caption}</figcaption>");
            match panel {
                Panel::Grid { rows, wrong } => grid(&mut body, &rows, &wrong, side),
                Panel::Words(words) => {
                    let _ = write!(body, "<p>{}</p>", escape(&words));
                }
            }
            body.push_str("</figure>");
        }
        body.push_str("</div></section>");
    }
    format!(
        "<!doctype html><html lang=en><meta charset=utf-8>\
         <meta name=viewport content=\"width=device-width, initial-scale=1\">\
         <title>{title}</title><style>{STYLE}</style><main>{body}</main></html>\n"
    )
}

/// Units of the drawing per cell.
const CELL: usize = 10;

fn grid(body: &mut String, rows: &[Vec<i64>], wrong: &[Vec<bool>], side: usize) {
    let (height, width) = (rows.len(), rows.first().map_or(0, Vec::len));
    let _ = write!(
        body,
        "<svg viewBox=\"0 0 {} {}\" style=\"width:{:.2}%\" role=img \
         aria-label=\"a grid of {height} by {width}\">\
         <rect width=100% height=100% fill=#555 />",
        width * CELL + 1,
        height * CELL + 1,
        100.0 * width as f64 / side as f64
    );
    for (i, row) in rows.iter().enumerate() {
        for (j, &cell) in row.iter().enumerate() {
            let (r, g, b) = color(cell);
            let _ = write!(
                body,
                "<rect x={} y={} width={} height={} fill=#{r:02x}{g:02x}{b:02x} ><title>row {i}, column {j}: {cell}</title></rect>",
                j * CELL + 1,
                i * CELL + 1,
                CELL - 1,
                CELL - 1
            );
            if wrong.get(i).is_some_and(|row| row[j]) {
                let _ = write!(
                    body,
                    "<circle cx={} cy={} r=2 fill=#fff stroke=#000 />",
                    j * CELL + 1 + CELL / 2,
                    i * CELL + 1 + CELL / 2
                );
            }
        }
    }
    body.push_str("</svg>");
}

const STYLE: &str = "\
:root{color-scheme:light dark}\
body{margin:0;font:16px/1.5 system-ui,sans-serif}\
main{max-width:64rem;margin:0 auto;padding:2rem 1rem 4rem}\
h1{font-size:1.5rem;margin:0}h2{font-size:1.1rem;margin:2rem 0 .5rem}\
h2 span{font-weight:400}.right{color:#2a9d3a}.wrong{color:#d43}\
.panels{display:grid;grid-template-columns:repeat(3,1fr);gap:1.5rem;align-items:start}\
figure{margin:0}figcaption{font-size:.9rem;opacity:.8}\
svg{display:block}\
p{margin:0;overflow-wrap:anywhere}";
