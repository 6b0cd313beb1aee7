//! Flame graphs: where a run's time went, from the workload down to single operations.
//!
//! The drawing is one self-contained SVG. The wider a box, the more time it took. The boxes below a
//! box are its parts, and their times add up to it exactly.

use std::fmt::Write;

use swathe::{BucketFigures, Phase, Report};

use crate::explain::quantity::time;
use crate::page;

/// A share of a run's time, and the parts it consists of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flame {
    /// What the time was spent on.
    pub name: String,
    /// The phase, if this is a phase or an operation inside one.
    pub phase: Option<Phase>,
    /// The time in nanoseconds. Integers keep the sums exact.
    pub ns: u64,
    /// How often it was called, if that was counted.
    pub n_calls: Option<u64>,
    /// The parts in display order. Their times add up to `ns`; a leaf has none.
    pub parts: Vec<Flame>,
}

/// Breaks a run's time down by workload, bucket, phase and operation. Time of a phase outside its
/// operations is "other". Waiting for a turn is left out, because a worker that waits has
/// prefetched its batch.
pub fn flame(report: &Report) -> Flame {
    let mut buckets: Vec<Flame> = report.buckets.iter().map(of_bucket).collect();
    buckets.retain(|bucket| bucket.ns > 0);
    buckets.sort_by_key(|bucket| std::cmp::Reverse(bucket.ns));
    whole(report.workload.clone(), None, buckets)
}

fn of_bucket(bucket: &BucketFigures) -> Flame {
    let phases = [
        ("solving", Phase::Solve, bucket.solve_ms),
        ("loading", Phase::Load, bucket.load_ms),
        ("waiting for memory", Phase::Memory, bucket.memory_ms),
    ];
    let phases = phases
        .into_iter()
        .map(|(name, phase, ms)| of_phase(bucket, name, phase, ns(ms)))
        .filter(|phase| phase.ns > 0)
        .collect();
    let name = match bucket.class_name.as_str() {
        "" => format!("{} {}", bucket.shape, bucket.device),
        class => format!("{} {class} {}", bucket.shape, bucket.device),
    };
    Flame { n_calls: Some(bucket.n_launches), ..whole(name, None, phases) }
}

fn of_phase(bucket: &BucketFigures, name: &str, phase: Phase, phase_ns: u64) -> Flame {
    let mut left_ns = phase_ns;
    let operations = bucket.operations.iter().filter(|known| known.phase == phase);
    let mut parts: Vec<Flame> = operations
        .map(|operation| {
            // Clocks are read one after another, so measured parts can exceed the whole by a
            // little.
            let part_ns = ns(operation.ms).min(left_ns);
            left_ns -= part_ns;
            Flame {
                name: operation.name.clone(),
                phase: Some(phase),
                ns: part_ns,
                n_calls: Some(operation.n_calls),
                parts: Vec::new(),
            }
        })
        .filter(|part| part.ns > 0)
        .collect();
    parts.sort_by_key(|part| std::cmp::Reverse(part.ns));
    if !parts.is_empty() && left_ns > 0 {
        parts.push(Flame {
            name: "other".to_owned(),
            phase: Some(phase),
            ns: left_ns,
            n_calls: None,
            parts: Vec::new(),
        });
    }
    Flame { name: name.to_owned(), phase: Some(phase), ns: phase_ns, n_calls: None, parts }
}

/// A flame whose time is the sum of its parts.
fn whole(name: String, phase: Option<Phase>, parts: Vec<Flame>) -> Flame {
    Flame { name, phase, ns: parts.iter().map(|part| part.ns).sum(), n_calls: None, parts }
}

fn ns(ms: f64) -> u64 {
    (ms.max(0.0) * 1e6).round() as u64
}

fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

/// The width of the drawing in user units; the SVG scales with the window.
const WIDTH: f64 = 1200.0;
const MARGIN: f64 = 12.0;
const ROW: f64 = 24.0;
const HEAD: f64 = 58.0;
/// The width of a character in the labels' monospace font.
const CHARACTER: f64 = 6.7;

/// Draws the time of a run as an SVG file.
pub fn flame_svg(report: &Report) -> String {
    let root = flame(report);
    let height = HEAD + ROW * depth(&root) as f64 + MARGIN;
    let turn_ms: f64 = report.buckets.iter().map(|bucket| bucket.turn_ms).sum();
    let mut svg = String::new();
    let _ = write!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"flame\" preserveAspectRatio=\"xMidYMin\" viewBox=\"0 0 {WIDTH} {height}\" \
         role=\"img\" aria-labelledby=\"title about\" font-size=\"11\">\n\
         <title id=\"title\">Where the time of a run went</title>\n<style>{STYLE}</style>\n\
         <rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n\
         <text class=\"head\" x=\"{MARGIN}\" y=\"24\">{workload}: {total} of workers’ time in {wall}</text>\n\
         <text class=\"about\" id=\"about\" x=\"{MARGIN}\" y=\"42\">Workload, bucket, phase, operation: wider is \
         longer. {turn} of waiting for a turn is left out: that is loading ahead.</text>\n",
        workload = escape(&report.workload),
        total = time(ms(root.ns)),
        wall = time(report.wall_ms),
        turn = time(turn_ms),
    );
    draw(&mut svg, &root, 0, 0, &root);
    svg.push_str("</svg>\n");
    svg
}

fn depth(flame: &Flame) -> usize {
    1 + flame.parts.iter().map(depth).max().unwrap_or(0)
}

/// Draws a box that begins after `before_ns`, and its parts below it. An edge is computed from its
/// position in the whole run, so that touching boxes share exactly the same edge.
fn draw(svg: &mut String, flame: &Flame, level: usize, before_ns: u64, root: &Flame) {
    let scale = (WIDTH - 2.0 * MARGIN) / root.ns.max(1) as f64;
    let edge = |at_ns: u64| MARGIN + at_ns as f64 * scale;
    let (from, to) = (edge(before_ns), edge(before_ns + flame.ns));
    let (width, top) = (to - from, HEAD + ROW * level as f64);
    let class = match (flame.name.as_str(), flame.phase) {
        (_, None) if level == 0 => "all",
        (_, None) => "bucket",
        ("other", Some(_)) => "other",
        (_, Some(Phase::Load)) => "load",
        (_, Some(Phase::Memory)) => "memory",
        (_, Some(_)) => "solve",
    };
    let share = 100.0 * flame.ns as f64 / root.ns.max(1) as f64;
    let calls = match (flame.n_calls, level) {
        (Some(n), 1) => format!(", {n} launches"),
        (Some(n), _) => format!(", {n} times"),
        (None, _) => String::new(),
    };
    let _ = write!(
        svg,
        "<g class=\"{class}\"><title>{name}: {time}, {share:.1} %{calls}</title>\
         <rect x=\"{from}\" y=\"{top}\" width=\"{width}\" height=\"{height}\"/>",
        name = escape(&flame.name),
        time = time(ms(flame.ns)),
        height = ROW - 1.0,
    );
    let n_fitting = ((width - 8.0) / CHARACTER).max(0.0) as usize;
    if let Some(label) = label(flame, n_fitting) {
        let _ = write!(
            svg,
            "<text x=\"{:.2}\" y=\"{:.2}\">{}</text>",
            from + 4.0,
            top + ROW / 2.0 + 3.5,
            escape(&label)
        );
    }
    svg.push_str("</g>\n");
    let mut at_ns = before_ns;
    for part in &flame.parts {
        draw(svg, part, level + 1, at_ns, root);
        at_ns += part.ns;
    }
}

/// The name and the time if there is room, the name alone, or its beginning.
fn label(flame: &Flame, n_fitting: usize) -> Option<String> {
    let full = format!("{} {}", flame.name, time(ms(flame.ns)));
    let n_name = flame.name.chars().count();
    if full.chars().count() <= n_fitting {
        Some(full)
    } else if n_name <= n_fitting {
        Some(flame.name.clone())
    } else if n_fitting >= 4 {
        let beginning: String = flame.name.chars().take(n_fitting - 1).collect();
        Some(beginning + "…")
    } else {
        None
    }
}

/// Escapes untrusted text for XML. Control characters, which XML does not allow, become U+FFFD.
fn escape(text: &str) -> String {
    let is_unfit = |c: char| c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}');
    page::escape(&text.replace(is_unfit, "\u{fffd}"))
}

/// Boxes are light with dark labels in every colour scheme; only the background turns dark.
const STYLE: &str = "\
text{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#1b1b1b}\
.head{font:600 15px system-ui,sans-serif}.about{font:12px system-ui,sans-serif}\
.flame{background:#ffffff}.paper{fill:#ffffff}.all rect{fill:#d5d8dc}.bucket rect{fill:#c3cbd6}\
.solve rect{fill:#8fc7ea}.load rect{fill:#8fd6be}.memory rect{fill:#f2b79d}.other rect{fill:#e4e4df}\
rect{stroke:#ffffff;stroke-width:.5}.paper{stroke:none}g:hover rect{stroke:#1b1b1b;stroke-width:1.5}\
@media (prefers-color-scheme:dark){.flame{background:#16181c}.paper{fill:#16181c}.head,.about{fill:#e8e8e8}\
rect{stroke:#16181c}g:hover rect{stroke:#ffffff}}";
