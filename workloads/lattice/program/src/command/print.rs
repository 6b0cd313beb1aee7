//! Prints answers on stdout, as text or as JSON.

use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;
use std::sync::Arc;

use crate::lattice_queries::LatticeQueries;
use crate::lattice_table::values;
use serde_json::{Value, json};
use swathe::{Outcome, Workload};
use swathe_lattice::LatticeWorkload;

use swathe_command::cli_error::{CliError, Code};
use swathe_command::progress::Progress;
use swathe_command::settings::RunSettings;
use swathe_command::{error, status};

/// The column names and values of one answer.
type Line = Vec<(&'static str, Value)>;

/// Runs the questions and prints their answers in input order. Failures are reported on stderr.
pub(super) fn answers(
    queries: &LatticeQueries,
    mut run: RunSettings,
    is_table: bool,
    as_json: bool,
) -> Result<Code, CliError> {
    let (workload, source) = (Arc::new(LatticeWorkload), queries.source());
    let n_queries = source.n_problems();
    let (progress, observer) =
        Progress::start(run.progress, LatticeWorkload::NAME, n_queries as u64);
    run.engine.observer = observer;
    let mut lines: Vec<Option<Line>> = vec![None; n_queries];
    let mut n_failed = 0;
    let mut failures: Vec<(usize, String)> = Vec::new();
    let report = swathe::run(&workload, &source, &run.engine, &mut |done| {
        let id = &queries.ids()[done.index];
        let mut line = vec![("row", json!(done.index))];
        match (&done.outcome, queries.asked(done.index)) {
            (Outcome::Solved(answer), Ok(asked)) => line.extend(values(id, &asked, answer)),
            (outcome, _) => {
                n_failed += 1;
                let message = outcome.message().unwrap_or_default();
                line.push(("query_id", json!(id)));
                let failure = json!({"kind": outcome.kind().name(), "message": message});
                line.push(("failure", failure));
                failures.push((done.index, message));
            }
        }
        lines[done.index] = Some(line);
        ControlFlow::Continue(())
    });
    drop(progress);

    failures.sort();
    for (index, message) in &failures {
        let id = &queries.ids()[*index];
        error!("query {id:?} (row {index}): {message}");
    }
    let lines: Vec<Line> = lines.into_iter().flatten().collect();
    print(|out| {
        if as_json {
            return lines.iter().try_for_each(|line| write_json(out, line));
        }
        let failed = |line: &&Line| line.last().is_some_and(|(name, _)| *name == "failure");
        let answered: Vec<&Line> = lines.iter().filter(|line| !failed(line)).collect();
        match answered.as_slice() {
            // A question from flags has no row number and no id.
            [line] if !is_table => write_list(out, &line[2..]),
            lines => write_table(out, lines),
        }
    })?;

    for mismatch in &report.verification.mismatches {
        let id = &queries.ids()[mismatch.problem];
        let difference = &mismatch.difference;
        error!("query {id:?} solved again gives another answer: {difference}");
    }
    if report.cancelled {
        status!("interrupted: {} of {n_queries} answered", report.counts.n_solved);
        return Ok(Code::Interrupted);
    }
    if !report.verification.mismatches.is_empty() {
        return Ok(Code::Mismatch);
    }
    Ok(if n_failed == 0 { Code::Solved } else { Code::SomeFailed })
}

/// Prints a single answer.
pub(super) fn one(line: &[(&'static str, Value)], as_json: bool) -> Result<(), CliError> {
    print(|out| if as_json { write_json(out, line) } else { write_list(out, line) })
}

fn print(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), CliError> {
    let mut out = BufWriter::new(io::stdout().lock());
    match write(&mut out).and_then(|()| out.flush()) {
        // The reader of the pipe, such as `head`, has closed it: that is no error.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => {
            Err(CliError::new(Code::Output, format!("cannot write to standard output: {error}")))
        }
        Ok(()) => Ok(()),
    }
}

/// Writes the names in the order given; a JSON map would not keep it.
fn write_json(out: &mut dyn Write, line: &[(&'static str, Value)]) -> io::Result<()> {
    let mut separator = "{";
    for (name, value) in line {
        write!(out, "{separator}{}:{value}", json!(name))?;
        separator = ",";
    }
    writeln!(out, "}}")
}

fn write_list(out: &mut dyn Write, line: &[(&'static str, Value)]) -> io::Result<()> {
    let width = line.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, value) in line {
        writeln!(out, "{name:<width$}  {}", text(value))?;
    }
    Ok(())
}

fn write_table(out: &mut dyn Write, lines: &[&Line]) -> io::Result<()> {
    let Some(first) = lines.first() else {
        return Ok(());
    };
    let names: Vec<String> = first.iter().map(|(name, _)| (*name).to_owned()).collect();
    let rows = lines.iter().map(|line| line.iter().map(|(_, value)| text(value)).collect());
    let rows: Vec<Vec<String>> = std::iter::once(names).chain(rows).collect();
    let n_columns = rows[0].len();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..n_columns).filter_map(width).collect();
    for row in &rows {
        for (column, cell) in row.iter().enumerate() {
            // The last column is not padded.
            if column + 1 == n_columns {
                writeln!(out, "{cell}")?;
            } else {
                write!(out, "{cell:<width$}  ", width = widths[column])?;
            }
        }
    }
    Ok(())
}

/// A value as plain text, without JSON syntax.
fn text(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(text).collect::<Vec<_>>().join(" "),
        value => value.to_string(),
    }
}
