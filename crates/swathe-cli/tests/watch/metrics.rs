//! `/metrics`, parsed strictly by the rules of the format.

use std::collections::{BTreeMap, BTreeSet};

use crate::folders::{Unfinished, with_finished_run};
use crate::http::get;
use crate::watching::Watch;

/// Series and their values, after checking that the text follows the format.
fn parse(text: &str) -> BTreeMap<String, f64> {
    assert!(text.ends_with('\n'));
    let mut series = BTreeMap::new();
    let mut families = BTreeMap::new();
    let mut helped = BTreeSet::new();
    let is_name = |name: &str| {
        let mut bytes = name.bytes();
        bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
            && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
    };
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').unwrap();
            assert!(!help.is_empty());
            assert!(helped.insert(name.to_owned()), "{name} is explained twice");
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert!(["counter", "gauge"].contains(&kind), "{line}");
            assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
            assert!(helped.contains(name), "{line}");
            assert_eq!(families.insert(name.to_owned(), kind.to_owned()), None, "{line}");
        } else {
            let (labelled, value) = line.rsplit_once(' ').unwrap();
            let (name, labels) = labelled.split_once('{').unwrap();
            assert!(is_name(name) && families.contains_key(name), "{line}");
            for label in labels.strip_suffix('}').unwrap().split(',') {
                let (key, value) = label.split_once('=').unwrap();
                assert!(is_name(key), "{line}");
                let inner = value.strip_prefix('"').unwrap().strip_suffix('"').unwrap();
                assert!(!inner.contains('"'), "{line}");
            }
            let value: f64 = value.parse().unwrap();
            assert!(value.is_finite() && value >= 0.0, "{line}");
            assert_eq!(series.insert(labelled.to_owned(), value), None, "{line}");
        }
    }
    series
}

#[test]
fn figures_of_a_run_that_goes_on() {
    let unfinished = Unfinished::beating();
    unfinished.change(|live| {
        live.n_setbacks = 3;
        live.before = swathe::Counts {
            n_problems: 100,
            n_solved: 95,
            n_timed_out: 5,
            ..swathe::Counts::default()
        };
    });
    let watch = Watch::start(unfinished.path(), "run");
    let answer = get(watch.server, "/metrics").expect(200);
    let kind = answer.header("content-type");
    assert_eq!(kind, Some("text/plain; version=0.0.4; charset=utf-8"));
    let series = parse(&answer.body);
    for (name, value) in [
        (r#"swathe_problems_total{workload="array",outcome="solved"}"#, 114.0),
        (r#"swathe_problems_total{workload="array",outcome="failed"}"#, 1.0),
        (r#"swathe_problems_total{workload="array",outcome="too_large"}"#, 0.0),
        (r#"swathe_problems_total{workload="array",outcome="timed_out"}"#, 5.0),
        (r#"swathe_problems_total{workload="array",outcome="panicked"}"#, 0.0),
        (r#"swathe_run_problems{workload="array"}"#, 200.0),
        (r#"swathe_run_problems_before{workload="array"}"#, 100.0),
        (r#"swathe_run_done_ratio{workload="array"}"#, 0.6),
        (r#"swathe_run_elapsed_seconds{workload="array"}"#, 10.0),
        (r#"swathe_run_outcomes_per_second{workload="array"}"#, 2.0),
        (r#"swathe_run_left_seconds{workload="array"}"#, 40.0),
        (r#"swathe_run_up{workload="array",state="running"}"#, 1.0),
        (r#"swathe_run_up{workload="array",state="dead"}"#, 0.0),
        (r#"swathe_queue_problems{workload="array",state="waiting"}"#, 78.0),
        (r#"swathe_queue_problems{workload="array",state="in_flight"}"#, 2.0),
        (r#"swathe_memory_budget_bytes{workload="array"}"#, 1073741824.0),
        (r#"swathe_setbacks_total{workload="array"}"#, 3.0),
        (r#"swathe_launches_total{workload="array"}"#, 20.0),
    ] {
        assert_eq!(series.get(name), Some(&value), "{name}\n{}", answer.body);
    }
    let states = series.iter().filter(|(name, _)| name.starts_with("swathe_run_up"));
    assert_eq!(states.map(|(_, value)| value).sum::<f64>(), 1.0);
}

#[test]
fn figures_of_a_run_that_is_over() {
    let folder = with_finished_run();
    let watch = Watch::start(folder.path(), "run");
    let series = parse(&get(watch.server, "/metrics").expect(200).body);
    assert_eq!(series[r#"swathe_problems_total{workload="array",outcome="solved"}"#], 7.0);
    assert_eq!(series[r#"swathe_run_done_ratio{workload="array"}"#], 1.0);
    assert_eq!(series[r#"swathe_run_up{workload="array",state="finished"}"#], 1.0);
    assert_eq!(series[r#"swathe_memory_used_bytes{workload="array"}"#], 0.0);
    assert_eq!(series[r#"swathe_memory_reserved_bytes{workload="array"}"#], 0.0);
    assert_eq!(series[r#"swathe_memory_resident_bytes{workload="array"}"#], 0.0);
    assert!(series[r#"swathe_memory_resident_peak_bytes{workload="array"}"#] > 1e6);
    assert!(!series.keys().any(|name| name.starts_with("swathe_run_left")));
}
