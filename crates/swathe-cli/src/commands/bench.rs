//! `swathe bench`: measures what batches, cores and devices gain on the user's own input.
//!
//! Every line is a whole run of the workload's command into a temporary folder, so the figures
//! include reading the input and writing the results, as in a user's run.

use std::path::Path;

use serde::Serialize;
use swathe::{Faults, Gpu, Gpus};
use swathe_command::cli_error::{CliError, Code};
use swathe_command::gpus::DeviceChoice;
use swathe_command::program::{Operation, programs};
use swathe_command::stdout;
use swathe_run::explain::comparison::{ResultChanges, compare};
use swathe_run::explain::quantity::{count, percent, rate, time};
use swathe_run::store::reported_run::ReportedRun;
use swathe_run::store::run_folder::write_file;

use crate::flags::BenchFlags;

/// The batch sizes that are measured on one thread.
const BATCH_SIZES: [usize; 5] = [4, 16, 64, 256, 1024];

/// One way to run the command, and its figures.
#[derive(Debug, Serialize)]
struct Line {
    /// What distinguishes this way from the others.
    way: String,
    /// The flags that select this way.
    flags: String,
    n_solved: u64,
    /// Of the fastest repetition.
    wall_ms: f64,
    solved_per_s: f64,
    /// Relative to the first line, which solves one problem at a time on one thread.
    speed_up: f64,
    /// How much longer the first run took than the fastest: cold disk cache, kernel compilation.
    warm_up_ms: f64,
    /// Whether the results equal those of the first line, and by how much they differ if not.
    agreement: String,
}

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Figures<'a> {
    ways: &'a [Line],
    /// All operations, the slowest first; none if the workload does not time them.
    operations: Vec<OperationLine<'a>>,
}

/// What one operation took.
#[derive(Debug, Serialize)]
struct OperationLine<'a> {
    operation: &'a str,
    n_calls: u64,
    time_ms: f64,
    /// Of the time of all operations.
    share: f64,
}

pub(crate) fn bench(flags: &BenchFlags) -> Result<Code, CliError> {
    let Some(name) = flags.command.first() else {
        return Err(CliError::usage("bench needs a workload and its input")
            .hint("write something like `swathe bench ot pairs.csv`"));
    };
    if !programs().iter().any(|program| program.kind.name == name) {
        let names: Vec<&str> = programs().iter().map(|program| program.kind.name).collect();
        return Err(CliError::usage(format!("there is no workload '{name}'"))
            .hint(format!("write one of {}", names.join(", "))));
    }
    let cannot = |error: std::io::Error| {
        CliError::new(Code::Output, format!("no temporary folder: {error}"))
    };
    let folder = tempfile::tempdir().map_err(cannot)?;
    let mut lines: Vec<Line> = Vec::new();
    let mut first: Option<ReportedRun> = None;
    for (number, (way, its_flags)) in ways(name)?.into_iter().enumerate() {
        swathe_command::status!("{way} …");
        let mut runs = Vec::new();
        for repetition in 0..flags.repeat.max(1) + 1 {
            let out = folder.path().join(format!("{number}-{repetition}"));
            runs.push(run(&flags.command, &its_flags, &out)?);
        }
        // The first run is the warm-up: it pays for what is cached afterwards.
        let warm_up = runs.remove(0);
        let wall_ms = |run: &ReportedRun| run.file.report.wall_ms;
        runs.sort_by(|a, b| wall_ms(a).total_cmp(&wall_ms(b)));
        let best = runs.remove(0);
        let solved_per_s = best.file.report.solved_per_s();
        lines.push(Line {
            way,
            flags: its_flags,
            n_solved: best.file.report.counts.n_solved,
            wall_ms: wall_ms(&best),
            solved_per_s,
            speed_up: lines.first().map_or(1.0, |one| solved_per_s / one.solved_per_s),
            warm_up_ms: (wall_ms(&warm_up) - wall_ms(&best)).max(0.0),
            agreement: match &first {
                None => "the reference".to_owned(),
                Some(first) => agreement(first, &best)?,
            },
        });
        first.get_or_insert(best);
    }
    let operations = operations(name, &flags.command, folder.path())?;
    if flags.json {
        let figures = Figures { ways: &lines, operations: operation_lines(&operations).collect() };
        stdout::line(serde_json::to_string_pretty(&figures).unwrap_or_default())?;
    } else {
        stdout::print(&table(&lines))?;
        stdout::print(&operation_table(&operations))?;
    }
    if let Some(path) = &flags.page {
        let title = format!("swathe bench {}", flags.command.join(" "));
        write_file(path, page(&title, &lines, &operations).as_bytes())
            .map_err(|error| CliError::new(Code::Output, error.to_string()))?;
        swathe_command::status!("page: {}", path.display());
    }
    Ok(Code::Solved)
}

/// The ways to run: one problem at a time, batches on one thread, all cores, each device.
fn ways(name: &str) -> Result<Vec<(String, String)>, CliError> {
    let one = "--device cpu --threads 1 --prefetch 0";
    let mut ways = vec![("one by one".to_owned(), format!("{one} --batch-size 1"))];
    let largest = BATCH_SIZES[BATCH_SIZES.len() - 1];
    let program = programs().iter().find(|program| program.kind.name == name);
    let own = program.map_or(&[][..], |program| program.bench_ways);
    ways.extend(own.iter().map(|(way, flags)| {
        let way = format!("{way}, one thread");
        (way, format!("{one} --batch-size {largest} {flags}"))
    }));
    ways.extend(BATCH_SIZES.map(|n| {
        let way = format!("batches of {n}, one thread");
        (way, format!("{one} --batch-size {n}"))
    }));
    ways.push(("all cores".to_owned(), "--device cpu".to_owned()));
    ways.push((
        format!("all cores, batches of {largest}"),
        format!("--device cpu --batch-size {largest}"),
    ));
    if program.is_some_and(|program| program.has_kernels) {
        let opened = DeviceChoice::Auto.open("--device", true, &Faults::none(), Gpus::find)?;
        if let Some(note) = &opened.note {
            swathe_command::status!("{note}");
        }
        if opened.gpus.is_empty() {
            return Ok(ways);
        }
        for gpu in opened.gpus.iter().map(Gpu::info) {
            let way = format!("gpu:{} ({})", gpu.number, gpu.name);
            ways.push((way, format!("--device gpu:{}", gpu.number)));
        }
        ways.push(("cores and devices".to_owned(), "--device auto".to_owned()));
    }
    Ok(ways)
}

/// The operations of the command, if the workload times them: in a run of their own, because timing takes time.
fn operations(name: &str, command: &[String], folder: &Path) -> Result<Vec<Operation>, CliError> {
    let program = programs().iter().find(|program| program.kind.name == name);
    let Some(operations) = program.and_then(|program| program.operations) else {
        return Ok(Vec::new());
    };
    swathe_command::status!("operations …");
    let out = folder.join("operations");
    run(command, &format!("--device cpu {}", operations.flags), &out)?;
    Ok((operations.read)(&out)?)
}

/// Runs the command once, without progress output.
fn run(command: &[String], flags: &str, out: &Path) -> Result<ReportedRun, CliError> {
    let mut words = vec!["swathe".to_owned()];
    words.extend(command.iter().cloned());
    words.extend(flags.split(' ').map(str::to_owned));
    words.extend(["--out".to_owned(), out.display().to_string()]);
    match crate::type_in_quietly(words)? {
        Code::Solved | Code::SomeFailed => {}
        code => return Err(CliError::new(code, "the run did not end")),
    }
    ReportedRun::read(out).map_err(|error| CliError::usage(error.to_string()))
}

fn agreement(first: &ReportedRun, other: &ReportedRun) -> Result<String, CliError> {
    if first.run.values_hash.is_some() && first.run.values_hash == other.run.values_hash {
        return Ok("the same bits".to_owned());
    }
    Ok(match compare([first, other])?.results {
        ResultChanges::Same => "the same bits".to_owned(),
        ResultChanges::Tables(changes) => {
            format!(
                "{} of {} rows differ, by {:.1e} relative at most",
                changes.n_changed, changes.n_compared, changes.largest_relative
            )
        }
        ResultChanges::OtherTables(_) | ResultChanges::NoTable(_) => {
            "cannot be compared".to_owned()
        }
    })
}

fn table(lines: &[Line]) -> String {
    let widest = lines.iter().map(|line| line.way.chars().count()).max();
    let width = widest.unwrap_or(0).max(3);
    let mut text = format!(
        "{:<width$} {:>12} {:>14} {:>9} {:>10}  {}\n",
        "way", "time", "solved", "speed-up", "warm-up", "results"
    );
    for line in lines {
        text += &format!(
            "{:<width$} {:>12} {:>14} {:>8.2}x {:>10}  {}\n",
            line.way,
            time(line.wall_ms),
            rate(line.solved_per_s),
            line.speed_up,
            time(line.warm_up_ms),
            line.agreement
        );
    }
    text
}

/// The operations that take the most time, or nothing.
fn operation_table(operations: &[Operation]) -> String {
    if operations.is_empty() {
        return String::new();
    }
    let mut text = format!("\n{:<24} {:>12} {:>12} {:>7}\n", "operation", "calls", "time", "share");
    for line in operation_lines(operations).take(N_OPERATIONS) {
        text += &format!(
            "{:<24} {:>12} {:>12} {:>7}\n",
            line.operation,
            count(line.n_calls),
            time(line.time_ms),
            percent(line.share)
        );
    }
    text
}

/// How many operations are listed; further ones are small.
const N_OPERATIONS: usize = 15;

fn operation_lines(operations: &[Operation]) -> impl Iterator<Item = OperationLine<'_>> {
    let sum_ms: f64 = operations.iter().map(|operation| operation.ms).sum();
    operations.iter().map(move |operation| OperationLine {
        operation: &operation.name,
        n_calls: operation.n_calls,
        time_ms: operation.ms,
        share: operation.ms / sum_ms.max(f64::MIN_POSITIVE),
    })
}

/// A bar chart of the lines as one HTML file without scripts.
fn page(title: &str, lines: &[Line], operations: &[Operation]) -> String {
    let escape =
        |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;");
    let most = lines.iter().map(|line| line.speed_up).fold(1e-9, f64::max);
    let rows: String = lines
        .iter()
        .map(|line| {
            format!(
                "<tr><th>{}<td><span class=bar style=\"width:{:.2}%\"></span><b>{:.2}×</b>\
                 <td>{}<td>{}<td>{}<td>{}</tr>\n",
                escape(&line.way),
                60.0 * line.speed_up / most,
                line.speed_up,
                time(line.wall_ms),
                rate(line.solved_per_s),
                time(line.warm_up_ms),
                escape(&line.agreement)
            )
        })
        .collect();
    let operations: String = operation_lines(operations)
        .take(N_OPERATIONS)
        .map(|line| {
            format!(
                "<tr><th>{}<td>{}<td>{}<td>{}</tr>\n",
                escape(line.operation),
                count(line.n_calls),
                time(line.time_ms),
                percent(line.share)
            )
        })
        .collect();
    let operations = match operations.is_empty() {
        true => String::new(),
        false => format!(
            "<h2>Operations</h2>\n<div class=wide><table>\n\
             <tr><th>operation<th>calls<th>time<th>share</tr>\n{operations}</table></div>\n"
        ),
    };
    format!(
        "<!doctype html>\n<html lang=en><meta charset=utf-8>\n\
         <meta name=viewport content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n<h1>{title}</h1>\n\
         <p>Each line is a whole run of the command, reading and writing included; the best of \
         several. Speed-up is over one by one.</p>\n<div class=wide><table>\n\
         <tr><th>way<th>speed-up<th>time<th>solved<th>warm-up<th>results</tr>\n{rows}</table></div>\n{operations}",
        title = escape(title)
    )
}

const STYLE: &str = ":root{color-scheme:light dark}\
body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem}\
h1{font-size:1.2rem;font-family:ui-monospace,monospace}.wide{overflow-x:auto}\
table{border-collapse:collapse;width:100%}\
td,th{text-align:left;padding:.3rem .7rem;border-bottom:1px solid #8884;white-space:nowrap;\
font-variant-numeric:tabular-nums}td:nth-child(2){width:40%;min-width:14rem}\
.bar{display:inline-block;height:.9em;background:#2a78d6;border-radius:2px;margin-right:.5em;\
vertical-align:-.1em}";
