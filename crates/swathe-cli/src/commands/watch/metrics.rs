//! Metrics: a view in the Prometheus text format (version 0.0.4).

use std::fmt::Write as _;

use super::view::{RunActivity, View};

/// The media type of the format.
pub(crate) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The figures of a run. Times are in seconds and sizes in bytes, as the format requires.
pub(crate) fn text(view: &View) -> String {
    let mut page = Page::default();
    let workload = ("workload", view.workload.as_str());
    let counts = view.counts;
    page.family(
        "swathe_problems_total",
        "counter",
        "Problems that have an outcome, by what became of them; those done before a resume included.",
    );
    for (outcome, n) in [
        ("solved", counts.n_solved),
        ("failed", counts.n_failed),
        ("too_large", counts.n_too_large),
        ("timed_out", counts.n_timed_out),
        ("panicked", counts.n_panicked),
    ] {
        page.sample(&[workload, ("outcome", outcome)], n as f64);
    }
    page.gauge(
        "swathe_run_problems",
        "Problems of the run, those done before a resume included.",
        &[workload],
        view.n_problems as f64,
    );
    page.gauge(
        "swathe_run_problems_before",
        "Problems that had their outcome before the run resumed.",
        &[workload],
        view.n_before as f64,
    );
    if let Some(n_committed) = view.n_committed {
        page.gauge(
            "swathe_run_problems_committed",
            "Problems whose outcomes are on disk.",
            &[workload],
            n_committed as f64,
        );
    }
    let done_ratio = match view.n_problems {
        0 => f64::from(u8::from(view.state == RunActivity::Finished)),
        n => view.n_done as f64 / n as f64,
    };
    page.gauge(
        "swathe_run_done_ratio",
        "The share of the problems that have an outcome, 0 to 1.",
        &[workload],
        done_ratio,
    );
    if let Some(rate) = view.rate_per_s {
        page.gauge(
            "swathe_run_outcomes_per_second",
            "Outcomes a second lately; over the whole run once it has ended.",
            &[workload],
            rate,
        );
    }
    if let Some(left_ms) = view.left_ms {
        page.gauge(
            "swathe_run_left_seconds",
            "How long the run takes to its end at the recent rate.",
            &[workload],
            left_ms / 1e3,
        );
    }
    page.gauge(
        "swathe_run_elapsed_seconds",
        "How long the run has been going on, or took.",
        &[workload],
        view.elapsed_ms / 1e3,
    );
    page.family("swathe_run_up", "gauge", "1 for the state the run is in.");
    for state in RunActivity::ALL {
        let labels = [workload, ("state", state.name())];
        page.sample(&labels, f64::from(u8::from(state == view.state)));
    }
    page.family(
        "swathe_queue_problems",
        "gauge",
        "Problems without an outcome, by where they are.",
    );
    page.sample(&[workload, ("state", "waiting")], view.queue.n_waiting as f64);
    page.sample(&[workload, ("state", "in_flight")], view.queue.n_in_flight as f64);
    for (name, help, bytes) in [
        (
            "swathe_memory_resident_bytes",
            "Resident memory of the process now.",
            view.memory.resident_bytes,
        ),
        (
            "swathe_memory_resident_peak_bytes",
            "The most resident memory of the process.",
            view.memory.resident_peak_bytes,
        ),
        ("swathe_memory_reserved_bytes", "Memory reserved now.", view.memory.used_bytes),
        (
            "swathe_memory_used_bytes",
            "Memory reserved now: an earlier name of swathe_memory_reserved_bytes.",
            view.memory.used_bytes,
        ),
    ] {
        page.gauge(name, help, &[workload], bytes as f64);
    }
    page.gauge(
        "swathe_memory_budget_bytes",
        "Memory that may be reserved.",
        &[workload],
        view.memory.budget_bytes as f64,
    );
    for (name, help, n) in [
        ("swathe_setbacks_total", "Setbacks, all mended.", view.n_setbacks),
        ("swathe_launches_total", "Launches.", view.n_launches),
        (
            "swathe_mismatches_total",
            "Problems that were solved again with another answer.",
            view.n_mismatches,
        ),
    ] {
        page.family(name, "counter", help);
        page.sample(&[workload], n as f64);
    }
    page.text
}

#[derive(Default)]
struct Page {
    text: String,
    /// The metric family of the samples that follow.
    name: &'static str,
}

impl Page {
    fn family(&mut self, name: &'static str, kind: &str, help: &str) {
        self.name = name;
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn sample(&mut self, labels: &[(&str, &str)], value: f64) {
        let labels: Vec<String> =
            labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
        let _ = writeln!(self.text, "{}{{{}}} {value}", self.name, labels.join(","));
    }

    fn gauge(&mut self, name: &'static str, help: &str, labels: &[(&str, &str)], value: f64) {
        self.family(name, "gauge", help);
        self.sample(labels, value);
    }
}

/// A label value with backslash, quote and line feed escaped, as the format requires.
fn escaped(text: &str) -> String {
    let escaped = text.replace('\\', r"\\").replace('"', r#"\""#);
    escaped.replace('\n', r"\n")
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn labels_are_escaped() {
        assert_eq!(escaped("a\"b\\c\nd"), r#"a\"b\\c\nd"#);
    }
}
