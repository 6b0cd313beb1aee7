//! The parts of a flame graph add up to the whole.

use swathe::{DeviceId, Phase};
use swathe_run::explain::flame::{Flame, flame, flame_svg};

use crate::made_up_report::{bucket, healthy};

fn ns(ms: f64) -> u64 {
    (ms * 1e6).round() as u64
}

fn check_sums(flame: &Flame) {
    if !flame.parts.is_empty() {
        let sum: u64 = flame.parts.iter().map(|part| part.ns).sum();
        assert_eq!(sum, flame.ns, "{}", flame.name);
    }
    flame.parts.iter().for_each(check_sums);
}

#[test]
fn parts_add_up_to_the_report() {
    let mut report = healthy();
    let gpu = bucket(DeviceId::Gpu(0), "128x128", &report.workers[..1], &report.launches[..8]);
    report.buckets.push(gpu);
    let root = flame(&report);
    check_sums(&root);
    let told: u64 = report
        .buckets
        .iter()
        .map(|bucket| ns(bucket.solve_ms) + ns(bucket.load_ms) + ns(bucket.memory_ms))
        .sum();
    assert_eq!((root.name.as_str(), root.ns), ("toy", told));
    assert_eq!(root.parts[0].name, "64x64 f32 <ε> cpu");
    assert_eq!(root.parts[1].name, "128x128 f32 <ε> gpu:0");
    let solving = &root.parts[0].parts[0];
    let names: Vec<&str> = solving.parts.iter().map(|part| part.name.as_str()).collect();
    assert_eq!(names, ["sweep", "outputs & sums", "other"]);
    assert_eq!(solving.ns, ns(report.buckets[0].solve_ms));
}

/// Operations are timed separately, and must not make a phase longer than its own time.
#[test]
fn operations_that_overrun_their_phase_are_cut() {
    let mut report = healthy();
    report.buckets[0].operations[1].ms = 2.0 * report.buckets[0].solve_ms;
    let root = flame(&report);
    check_sums(&root);
    let solving = &root.parts[0].parts[0];
    assert_eq!(solving.phase, Some(Phase::Solve));
    assert_eq!(solving.ns, ns(report.buckets[0].solve_ms));
    assert_eq!(solving.parts.len(), 1, "nothing is left for the others");
}

#[test]
fn the_drawing_is_whole_and_text_stays_text() {
    let mut report = healthy();
    report.workload = "<script>alert(1)</script>\u{1}".to_owned();
    let svg = flame_svg(&report);
    assert!(!svg.contains("<script"), "{svg}");
    assert!(!svg.contains('\u{1}'));
    assert!(svg.contains("&lt;script&gt;") && svg.contains("f32 &lt;ε&gt;"));
    assert!(svg.contains("outputs &amp; sums"));
    // Every opened element is closed, and the boxes of a row touch without a gap.
    for name in ["svg", "g", "title", "text", "style"] {
        let opened =
            svg.matches(&format!("<{name}>")).count() + svg.matches(&format!("<{name} ")).count();
        assert_eq!(opened, svg.matches(&format!("</{name}>")).count(), "{name}");
    }
    let attribute = |line: &str, name: &str| -> Option<f64> {
        let (_, rest) = line.split_once(&format!(" {name}=\""))?;
        rest.split_once('"')?.0.parse().ok()
    };
    let mut by_row: std::collections::BTreeMap<u64, Vec<(f64, f64)>> = Default::default();
    for line in svg.lines().filter(|line| line.starts_with("<g ")) {
        let rect = &line[line.find("<rect").unwrap()..];
        let row = attribute(rect, "y").unwrap() as u64;
        let x = attribute(rect, "x").unwrap();
        let width = attribute(rect, "width").unwrap();
        by_row.entry(row).or_default().push((x, x + width));
    }
    assert_eq!(by_row.len(), 4, "workload, bucket, phase, operation");
    let rows: Vec<&Vec<(f64, f64)>> = by_row.values().collect();
    for row in &rows[..3] {
        assert!((row[0].0 - 12.0).abs() < 1e-9);
        assert!((row[row.len() - 1].1 - 1188.0).abs() < 1e-6, "{row:?}");
        assert!(row.windows(2).all(|pair| (pair[0].1 - pair[1].0).abs() < 1e-9), "{row:?}");
    }
}

#[test]
fn a_run_without_launches_has_a_drawing_too() {
    let mut report = healthy();
    report.buckets.clear();
    let svg = flame_svg(&report);
    assert!(svg.ends_with("</svg>\n") && !svg.contains("NaN"), "{svg}");
}
