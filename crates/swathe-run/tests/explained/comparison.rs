//! Compares two run folders.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Builder, StringBuilder};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use swathe::{Faults, OutcomeKind};
use swathe_run::explain::comparison::{ResultChanges, TableChanges, Unit, compare};
use swathe_run::store::report_file::ReportFile;
use swathe_run::store::reported_run::{ReportError, ReportedRun};
use swathe_run::store::rows::Rows;
use swathe_run::store::run_folder::{Failure, Identity, Part, RunFolder, Timing};

use crate::made_up_report::{bucket, healthy, shape};

/// Rows of a table of named numbers.
#[derive(Default)]
struct Numbers {
    name: StringBuilder,
    number: Float64Builder,
    first_name: &'static str,
}

impl Rows for Numbers {
    type Solution = f64;

    fn table(&self) -> &'static str {
        "numbers"
    }

    fn schema(&self) -> SchemaRef {
        Arc::new(Schema::new(vec![
            Field::new("name", DataType::Utf8, false),
            Field::new("number", DataType::Float64, false),
        ]))
    }

    fn id(&self, index: usize) -> String {
        match index {
            0 => self.first_name.to_owned(),
            index => format!("n{index}"),
        }
    }

    fn append(&mut self, index: usize, number: &f64) -> usize {
        self.name.append_value(self.id(index));
        self.number.append_value(*number);
        1
    }

    fn n_bytes(&self) -> usize {
        0
    }

    fn take(&mut self) -> Vec<ArrayRef> {
        vec![Arc::new(self.name.finish()), Arc::new(self.number.finish())]
    }
}

/// A run with these answers; problems without one timed out.
fn run(
    path: &Path,
    epsilon: f64,
    first_name: &'static str,
    numbers: &[Option<f64>],
) -> ReportedRun {
    let settings = BTreeMap::from([("epsilon".to_owned(), epsilon.into())]);
    let identity = Identity {
        workload: "toy".to_owned(),
        settings,
        inputs: Vec::new(),
        n_problems: numbers.len() as u64,
        shard: None,
        version: "1".to_owned(),
        simd: "none".to_owned(),
    };
    let mut folder = RunFolder::open(path, identity, false, &Faults::none()).unwrap();
    let rows = Numbers { first_name, ..Numbers::default() };
    let mut part = Part::new(rows, 1 << 20);
    for (index, number) in numbers.iter().enumerate() {
        let answer = number
            .as_ref()
            .ok_or(Failure { kind: OutcomeKind::TimedOut, message: "too slow".to_owned() });
        let timing = Timing { device: "cpu".to_owned(), milliseconds: 1.0, attempts: 1 };
        part.push(index, answer, timing);
    }
    folder.commit(&mut part).unwrap();
    let merged = folder.finish(part.rows(), 1).unwrap();
    let file = ReportFile {
        report: healthy(),
        n_before: 0,
        before: swathe::Counts::default(),
        figures: BTreeMap::new(),
        warnings: Vec::new(),
        command: "swathe toy".to_owned(),
        result_hash: Some(merged.result_hash),
        places: Vec::new(),
    };
    file.write(path).unwrap();
    ReportedRun::read(path).unwrap()
}

#[test]
fn runs_of_the_same_answers() {
    let folder = tempfile::tempdir().unwrap();
    let numbers = [Some(1.0), Some(f64::NAN), None];
    let before = run(&folder.path().join("a"), 0.1, "n0", &numbers);
    let mut after = run(&folder.path().join("b"), 0.1, "n0", &numbers);
    after.file.report.wall_ms *= 2.0;
    after.file.report.memory.budget_bytes *= 2;
    let compared = compare([&before, &after]).unwrap();
    assert_eq!(compared.results, ResultChanges::Same);
    let outcomes = compared.outcomes.unwrap();
    assert_eq!((outcomes.n_changed, outcomes.n_unsolved), (0, [1, 1]));
    let budgets = ["1 GiB".to_owned(), "2 GiB".to_owned()];
    assert_eq!(compared.settings, [("memory budget".to_owned(), budgets)]);
    let figure = |name: &str| {
        let mut figures = compared.figures.iter();
        figures.find(|figure| figure.name == name).unwrap()
    };
    let report = &before.file.report;
    assert_eq!(figure("time").values, [report.wall_ms, 2.0 * report.wall_ms]);
    assert_eq!(figure("time").change(), Some(1.0));
    assert_eq!(figure("solved a second").values, [80.0, 40.0]);
    assert_eq!(figure("solved a second").change(), Some(-0.5));
    assert_eq!(figure("threads busy").unit, Unit::Share);
    assert_eq!(figure("failed").change(), None, "nothing has no percentage");
    let solve_ms: f64 = report.workers.iter().map(|worker| worker.solve_ms).sum();
    assert_eq!(figure("solving").values, [solve_ms, solve_ms]);
}

#[test]
fn answers_and_outcomes_that_differ_are_named() {
    let folder = tempfile::tempdir().unwrap();
    // Minus zero differs from zero and NaN equals itself; row 6 is in one run only, row 0 is
    // another problem.
    let numbers =
        |fourth: f64| [Some(1.0), Some(f64::NAN), Some(0.0), None, Some(fourth), Some(5.0)];
    let mut before = numbers(4.0).to_vec();
    before[2] = Some(-0.0);
    let mut after = numbers(4.5).to_vec();
    after[5] = None;
    after.push(Some(6.0));
    let before = run(&folder.path().join("a"), 0.1, "n0", &before);
    let after = run(&folder.path().join("b"), 0.2, "<b>other</b>", &after);
    let compared = compare([&before, &after]).unwrap();
    let settings: Vec<&str> = compared.settings.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(settings, ["--epsilon", "problems"]);
    let ResultChanges::Tables(changes) = compared.results else { panic!("{:?}", compared.results) };
    let TableChanges { n_compared, n_changed, n_alone, n_other_problem, .. } = changes;
    assert_eq!((n_compared, n_changed), (3, 2), "{changes:?}");
    assert_eq!((n_alone, n_other_problem), ([1, 1], 1));
    assert_eq!(changes.columns, [("number".to_owned(), 2)]);
    assert_eq!(changes.columns_alone, [Vec::<String>::new(), Vec::new()]);
    let second = &changes.first[1];
    assert_eq!((second.row, second.id.as_str()), (4, "n4"));
    let values = ["4.0".to_owned(), "4.5".to_owned()];
    assert_eq!(second.values, [("number".to_owned(), values)]);
    let outcomes = compared.outcomes.unwrap();
    assert_eq!((outcomes.n_changed, outcomes.n_unsolved), (1, [1, 2]));
    let change = &outcomes.first[0];
    assert_eq!((change.row, change.id.as_str()), (5, "n5"));
    assert_eq!(change.kinds[0], None);
    assert!(change.kinds[1].is_some());
}

#[test]
fn buckets_of_either_run_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let before = run(&folder.path().join("a"), 0.1, "n0", &[Some(1.0)]);
    let mut after = run(&folder.path().join("b"), 0.1, "n0", &[Some(1.0)]);
    let report = &mut after.file.report;
    report.buckets[0].solve_ms *= 1.5;
    let alone =
        bucket(swathe::DeviceId::Gpu(0), "32x32", &report.workers[..1], &report.launches[..2]);
    report.buckets.push(alone);
    let buckets = compare([&before, &after]).unwrap().buckets;
    assert_eq!(buckets.len(), 2);
    assert!((buckets[0].change().unwrap() - 0.5).abs() < 1e-12);
    assert_eq!((buckets[1].shape, buckets[1].lanes[0]), (shape("32x32"), None));
    assert_eq!(buckets[1].change(), None);
}

#[test]
fn folders_without_a_report_say_why() {
    let folder = tempfile::tempdir().unwrap();
    let missing = ReportedRun::read(&folder.path().join("missing")).unwrap_err();
    assert!(matches!(missing, ReportError::Folder(_)), "{missing}");
    let path = folder.path().join("a");
    run(&path, 0.1, "n0", &[Some(1.0)]);
    std::fs::remove_file(path.join("report.json")).unwrap();
    assert!(matches!(ReportedRun::read(&path), Err(ReportError::Gone { .. })));
    std::fs::create_dir_all(path.join("shards/1-of-2")).unwrap();
    std::fs::write(path.join("shards/1-of-2/report.json"), "{}").unwrap();
    assert!(matches!(ReportedRun::read(&path), Err(ReportError::OfShards { .. })));
    std::fs::write(path.join("report.json"), "{").unwrap();
    assert!(matches!(ReportedRun::read(&path), Err(ReportError::Folder(_))));
}
