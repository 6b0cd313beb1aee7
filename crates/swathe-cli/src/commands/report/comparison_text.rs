//! The comparison of two runs as text.

use swathe_run::explain::comparison::{
    BucketChange, Comparison, Figure, OutcomeChanges, ResultChanges, TableChanges, Unit,
};
use swathe_run::explain::quantity::{bytes, count, percent, rate, time};
use swathe_run::store::reported_run::ReportedRun;

use super::columns::{columns, plain};

const N_BUCKETS: usize = 10;
const N_VALUES: usize = 3;

/// All differences between two runs.
pub(super) fn comparison_text(runs: [&ReportedRun; 2], compared: &Comparison) -> String {
    let [before, after] = runs.map(|run| run.path.display().to_string());
    let mut text = format!("{} → {}\n", plain(&before), plain(&after));
    text += &settings(compared);
    text += "\nFigures\n";
    let rows: Vec<[String; 4]> =
        compared.figures.iter().filter(|figure| figure.values != [0.0, 0.0]).map(figure).collect();
    text += &columns(["", ">before", ">after", ">change"], &rows);
    text += &buckets(&compared.buckets);
    text += "\nOutcomes\n";
    text += &match &compared.outcomes {
        Some(outcomes) => outcomes_text(outcomes),
        None => "  not comparable\n".to_owned(),
    };
    text += "\nAnswers\n";
    text += &answers(runs, &compared.results);
    text
}

fn settings(compared: &Comparison) -> String {
    if compared.settings.is_empty() {
        return "\nSettings and inputs are the same.\n".to_owned();
    }
    let rows: Vec<[String; 3]> = compared
        .settings
        .iter()
        .map(|(name, [before, after])| [name.clone(), before.clone(), after.clone()])
        .collect();
    format!("\nSettings that differ\n{}", columns(["", "before", "after"], &rows))
}

fn figure(figure: &Figure) -> [String; 4] {
    let shown = |value: f64| match figure.unit {
        Unit::Count => count(value as u64),
        Unit::Ms => time(value),
        Unit::PerSecond => rate(value),
        Unit::Bytes => bytes(value as u64),
        Unit::Share => percent(value),
    };
    let [before, after] = figure.values.map(shown);
    let changed = match figure.unit {
        Unit::Share => points(figure.values[1] - figure.values[0]),
        _ => change(figure.change()),
    };
    [figure.name.to_owned(), before, after, changed]
}

/// `+12.3 %`, `-5 %`, `=`; empty if there is no percentage.
fn change(change: Option<f64>) -> String {
    match change {
        None => String::new(),
        Some(0.0) => "=".to_owned(),
        Some(share) if share < 0.0 => format!("-{}", percent(-share)),
        Some(share) => format!("+{}", percent(share)),
    }
}

/// The change of a percentage, in percentage points.
fn points(share: f64) -> String {
    match share {
        0.0 => "=".to_owned(),
        share => format!("{:+.1} points", 100.0 * share),
    }
}

fn buckets(changes: &[BucketChange]) -> String {
    if changes.is_empty() {
        return String::new();
    }
    let lanes = |lanes: Option<(u64, f64)>| match lanes {
        Some((n, ms)) => format!("{} × {}", count(n), time(ms)),
        None => "–".to_owned(),
    };
    let rows: Vec<[String; 6]> = changes
        .iter()
        .take(N_BUCKETS)
        .map(|bucket| {
            [
                bucket.device.to_string(),
                bucket.class_name.clone(),
                bucket.shape.to_string(),
                lanes(bucket.lanes[0]),
                lanes(bucket.lanes[1]),
                change(bucket.change()),
            ]
        })
        .collect();
    let title = match changes.len() > N_BUCKETS {
        true => format!("{N_BUCKETS} of {} buckets", changes.len()),
        false => "Buckets".to_owned(),
    };
    let heads = ["device", "class", "shape", ">before", ">after", ">for one"];
    format!("\n{title}: problems × the time of solving one\n{}", columns(heads, &rows))
}

fn outcomes_text(outcomes: &OutcomeChanges) -> String {
    let [before, after] = outcomes.n_unsolved.map(count);
    let mut text = match outcomes.n_changed {
        0 => format!("  all problems ended alike ({before} without an answer)\n"),
        n => format!(
            "  {} ended otherwise ({before} without an answer before, {after} after)\n",
            problems(n)
        ),
    };
    let ending = |kind: &Option<String>| kind.clone().unwrap_or_else(|| "solved".to_owned());
    for change in &outcomes.first {
        let [before, after] = change.kinds.each_ref().map(ending);
        text += &format!("  row {} {}: {before} → {after}\n", change.row, plain(&change.id));
    }
    text += &more(outcomes.n_changed, outcomes.first.len());
    text
}

fn answers(runs: [&ReportedRun; 2], results: &ResultChanges) -> String {
    match results {
        ResultChanges::Same => "  all the same, to the last bit (equal result hashes)\n".to_owned(),
        ResultChanges::OtherTables([before, after]) => {
            format!("  not comparable: {before}.parquet and {after}.parquet\n")
        }
        ResultChanges::NoTable(which) => {
            format!("  {} is not complete and has no table\n", runs[*which].path.display())
        }
        ResultChanges::Tables(changes) => tables(changes),
    }
}

fn tables(changes: &TableChanges) -> String {
    let mut text = match changes.n_changed {
        0 => format!(
            "  all {} rows that both have are the same, but for paths of files\n",
            count(changes.n_compared)
        ),
        n => format!("  {} of {} rows differ\n", count(n), count(changes.n_compared)),
    };
    if !changes.columns.is_empty() {
        let columns: Vec<String> = changes
            .columns
            .iter()
            .map(|(name, n)| format!("{} ({})", plain(name), count(*n)))
            .collect();
        text += &format!("  in {}\n", columns.join(", "));
    }
    for (n, which) in changes.n_alone.iter().zip(["before", "after"]) {
        if *n > 0 {
            let (rows, are) = if *n == 1 { ("row", "is") } else { ("rows", "are") };
            text += &format!("  {} {rows} {are} only there {which}\n", count(*n));
        }
    }
    if changes.n_other_problem > 0 {
        text += &format!(
            "  {} rows are about problems of different names and were not compared\n",
            count(changes.n_other_problem)
        );
    }
    for (names, which) in changes.columns_alone.iter().zip(["before", "after"]) {
        if !names.is_empty() {
            text += &format!("  columns only {which}: {}\n", plain(&names.join(", ")));
        }
    }
    for row in &changes.first {
        let values: Vec<String> = row
            .values
            .iter()
            .take(N_VALUES)
            .map(|(name, [before, after])| format!("{name} {before} → {after}"))
            .collect();
        let n_more = row.values.len() - values.len();
        let rest = match n_more {
            0 => String::new(),
            n => format!(", {n} more"),
        };
        text +=
            &format!("  row {} {}: {}{rest}\n", row.row, plain(&row.id), plain(&values.join(", ")));
    }
    text += &more(changes.n_changed, changes.first.len());
    text
}

fn more(n: u64, n_shown: usize) -> String {
    match n.saturating_sub(n_shown as u64) {
        0 => String::new(),
        n => format!("  and {} more\n", count(n)),
    }
}

fn problems(n: u64) -> String {
    match n {
        1 => "1 problem".to_owned(),
        n => format!("{} problems", count(n)),
    }
}
