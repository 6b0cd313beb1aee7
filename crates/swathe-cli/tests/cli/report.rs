//! What reports, pages and the ends of runs say is what `report.json` says.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Stdio;

use crate::program::{Ended, command, json, many_floats, swathe, swathe_with};
use serde_json::Value;
use swathe_run::explain::advice::Turns;
use swathe_run::explain::quantity::{bytes, count, percent, rate, time};
use swathe_run::store::report_file::ReportFile;

/// A folder with a finished run in `run`.
fn finished() -> (tempfile::TempDir, ReportFile) {
    let folder = tempfile::tempdir().unwrap();
    many_floats(folder.path());
    swathe(folder.path(), "array map sqrt in.npz --out run --memory 1GiB").expect(0);
    let file = ReportFile::read(&folder.path().join("run")).unwrap();
    (folder, file)
}

#[test]
fn the_text_says_what_the_report_says() {
    let (folder, file) = finished();
    let report = &file.report;
    let text = swathe(folder.path(), "report run --text").expect(0).stdout;
    let has = |what: &str| assert!(text.contains(what), "{what:?} is not in\n{text}");
    assert!(text.starts_with("array: 60 solved\n"), "{text}");
    has("swathe array map sqrt in.npz --out run --memory 1GiB");
    has(&format!("{}, {} solved", time(report.wall_ms), rate(report.solved_per_s())));
    has(&format!("{} at most", bytes(report.memory.resident_peak_bytes)));
    has(&format!("{} of 1 GiB", bytes(report.memory.peak_bytes)));
    has(file.result_hash.as_deref().unwrap());
    let all_ms: f64 = report.workers.iter().map(|worker| worker.phases_ms()).sum();
    let solve_ms: f64 = report.workers.iter().map(|worker| worker.solve_ms).sum();
    let idle_ms: f64 = report.workers.iter().map(|worker| worker.idle_ms).sum();
    for (name, ms) in [("solving", solve_ms), ("idle", idle_ms)] {
        let line = text.lines().find(|line| line.trim_start().starts_with(name)).unwrap();
        assert!(line.contains(&time(ms)), "{line}: {ms}");
        assert!(line.contains(&percent(ms / all_ms)), "{line}: {ms}");
    }
    has(&count(report.buckets.iter().map(|bucket| bucket.n_lanes).max().unwrap()));
    has("What cost time\n");
    // A very short run has no costs to report.
    if report.wall_ms < 50.0 {
        has("nothing stands out");
    }
    let told: Value =
        serde_json::from_str(&swathe(folder.path(), "report run --json").expect(0).stdout).unwrap();
    assert_eq!(told, json(&folder.path().join("run/report.json")));
}

#[test]
fn the_flame_graph_is_a_picture_of_its_own() {
    let (folder, file) = finished();
    let ended = swathe(folder.path(), "report run --flame time.svg").expect(0);
    assert_eq!(ended.stdout, "time.svg\n");
    let svg = fs::read_to_string(folder.path().join("time.svg")).unwrap();
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    let longest = file.report.buckets.iter();
    let longest = longest.max_by(|a, b| a.solve_ms.total_cmp(&b.solve_ms)).unwrap();
    let solving = format!("<title>solving: {},", time(longest.solve_ms));
    assert!(svg.contains(&solving), "{solving} is not in\n{svg}");
}

/// `swathe … | head -1`: the reader closes the pipe early, which is not an error.
#[test]
fn a_reader_that_has_seen_enough_is_no_fault() {
    let (folder, _) = finished();
    for line in [
        "report run --text",
        "report run --json",
        "report run run",
        "report run",
        "completions bash",
        "devices",
        "array map sqrt in.npz --out again",
        "array map sqrt in.npz --out explained --explain",
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let ended = command(folder.path(), line).stdout(Stdio::from(writer)).output().unwrap();
        let ended = Ended::of(ended).expect(0);
        assert!(!ended.stderr.contains("panicked"), "{line}: {}", ended.stderr);
    }
}

/// The solving time of each track of a trace, in milliseconds, and the values of every counter.
fn traced(run: &Path) -> (BTreeMap<u64, f64>, Vec<(f64, u64)>) {
    let trace = json(&run.join("trace.json"));
    let (mut open, mut solved) = (BTreeMap::<u64, Vec<(String, f64)>>::new(), BTreeMap::new());
    let mut used = Vec::new();
    for event in trace["traceEvents"].as_array().unwrap() {
        let at_ms = event["ts"].as_f64().unwrap_or_default() / 1e3;
        let track = event["tid"].as_u64().unwrap_or_default();
        match event["ph"].as_str().unwrap() {
            "B" => {
                let name = event["name"].as_str().unwrap().to_owned();
                open.entry(track).or_default().push((name, at_ms));
            }
            "E" => {
                let (name, from_ms) = open.get_mut(&track).and_then(Vec::pop).unwrap();
                if name == "solve" {
                    *solved.entry(track).or_default() += at_ms - from_ms;
                }
            }
            "C" if event["name"] == "memory reserved" => {
                used.push((at_ms, event["args"]["bytes"].as_u64().unwrap()));
            }
            _ => {}
        }
    }
    assert!(open.values().all(Vec::is_empty), "everything that begins ends");
    (solved, used)
}

#[test]
fn the_trace_says_what_the_report_says() {
    let (folder, file) = finished();
    let (solved, used) = traced(&folder.path().join("run"));
    assert_eq!(file.report.launches_step, 1);
    for worker in &file.report.workers {
        let traced_ms = solved.get(&(worker.worker as u64 + 1)).copied().unwrap_or_default();
        // The report's milliseconds and the trace's nanoseconds are rounded separately.
        let n_launches = file.report.n_launches as f64;
        let difference = (traced_ms - worker.solve_ms).abs();
        assert!(difference < 1e-5 * (n_launches + 1.0), "{traced_ms} {}", worker.solve_ms);
    }
    let sampled: Vec<u64> = file.report.samples.iter().map(|sample| sample.used_bytes).collect();
    assert_eq!(used.iter().map(|&(_, bytes)| bytes).collect::<Vec<_>>(), sampled);
    let trace = json(&folder.path().join("run/trace.json"));
    assert_eq!(trace["otherData"]["command"], file.command);
}

#[test]
fn repeated_setbacks_are_folded_and_all_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    many_floats(folder.path());
    for style in ["plain", "bar", "json"] {
        let line = format!("array map sqrt in.npz --out {style} --batch-size 1 --progress {style}");
        let ended =
            swathe_with(folder.path(), "SWATHE_FAULTS", "oom%30:seed=7:load", &line).expect(0);
        let report = ReportFile::read(&folder.path().join(style)).unwrap().report;
        assert!(report.n_setbacks > 10, "{}", report.n_setbacks);
        if style == "json" {
            let last = ended
                .stderr
                .lines()
                .map(|line| serde_json::from_str::<Value>(line).unwrap())
                .rfind(|event| event["event"] == "progress")
                .unwrap();
            assert_eq!(last["n_setbacks"], report.n_setbacks);
            continue;
        }
        let warnings: Vec<&str> = ended
            .stderr
            .lines()
            .filter(|line| line.starts_with("warning: ") && line.contains("refused"))
            .collect();
        let n_more = |line: &&str| match line.rsplit_once(" … and ") {
            Some((_, rest)) => rest.strip_suffix(" more").unwrap().parse::<u64>().unwrap(),
            None => 0,
        };
        let n_told: u64 = warnings.iter().map(|line| 1 + n_more(line)).sum();
        assert_eq!(n_told, report.n_setbacks, "{}", ended.stderr);
        assert!((warnings.len() as u64) < report.n_setbacks / 2, "{}", ended.stderr);
    }
}

#[test]
fn a_run_ends_with_its_figures() {
    let folder = tempfile::tempdir().unwrap();
    many_floats(folder.path());
    let ended = swathe(folder.path(), "array map sqrt in.npz --out run --memory 1GiB").expect(0);
    let report = ReportFile::read(&folder.path().join("run")).unwrap().report;
    let lines: Vec<&str> = ended.stderr.lines().collect();
    assert!(lines[0].starts_with("array: 60 solved in "), "{}", ended.stderr);
    let busy = percent(Turns::of(&report).busy());
    assert!(lines[1].contains(&format!("busy {busy}")), "{}", ended.stderr);
    let (memory, reserved) =
        (bytes(report.memory.resident_peak_bytes), bytes(report.memory.peak_bytes));
    let told = format!("; memory {memory} at most, reserved {reserved} of 1 GiB");
    assert!(lines[1].ends_with(&told), "{}", ended.stderr);
    assert_eq!(lines.last(), Some(&"report: run/report.html"));
}
