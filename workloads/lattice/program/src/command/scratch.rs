//! `--scratch`: finds a path with a file as borrowed memory. The file is changed and then restored.

use std::cell::Cell;
use std::path::Path;
use std::time::Instant;

use crate::lattice_queries::{ParsedQuery, sizes_text};
use serde_json::json;
use swathe_formats::mapped_file::{MappedFile, MappedFileError};
use swathe_lattice::{
    CatalyticAnswer, CatalyticSettings, Certainty, LatticeError, Operation, catalytic_path,
};

use super::deferred_signals::DeferredSignals;
use super::print;
use swathe_command::cli_error::{CliError, Code};
use swathe_command::settings::RunSettings;
use swathe_command::status;

/// Finds a path with `file` as working memory, and prints the answer and how it was found.
pub(super) fn path_in(
    file: &Path,
    asked: &ParsedQuery,
    length_max: Option<u64>,
    as_json: bool,
    run: &RunSettings,
) -> Result<Code, CliError> {
    let Operation::Path { from, to } = asked.operation else {
        return Err(CliError::usage("--scratch is for paths"));
    };
    let failed = |error: LatticeError| CliError::new(Code::SomeFailed, error.to_string());
    let lattice = asked.lattice.build().map_err(failed)?;
    let name = file.display();
    let mut memory = MappedFile::open(file, lattice.n_vertices() as usize)
        .map_err(|error| unusable(file, &error))?;

    let settings = CatalyticSettings { seed: run.engine.seed, length_max };
    let before = memory.fingerprint();
    let signals = DeferredSignals::begin();
    let began = Instant::now();
    let is_over = || began.elapsed() >= run.engine.time_limit;
    let is_told = Cell::new(false);
    let stop = || {
        let stops = signals.asked() || run.engine.stop.requested() || is_over();
        if stops && !is_told.replace(true) {
            status!("stopping: {name} is being put back as it was");
        }
        stops
    };
    let answer = catalytic_path(&lattice, from, to, memory.words_mut(), &settings, &stop);
    let took = began.elapsed();
    // The fingerprints differ only if another process writes to the file at the same time.
    let is_restored = memory.fingerprint() == before;
    let synced = memory.sync();
    drop(signals);
    if !is_restored {
        return Err(CliError::new(
            Code::Output,
            format!("{name} is not as it was: another program wrote to it during the search"),
        )
        .hint("restore it from elsewhere, and lend a file that nobody writes to"));
    }
    synced.map_err(|error| CliError::new(Code::Output, format!("cannot write {name}: {error}")))?;

    let answer = match answer {
        Ok(answer) => answer,
        Err(LatticeError::Interrupted) if is_over() => {
            let limit = run.engine.time_limit;
            return Err(CliError::new(
                Code::SomeFailed,
                format!("not finished after {limit:?}; {name} is as it was"),
            )
            .hint("raise --time-limit, or lower --length-max"));
        }
        Err(LatticeError::Interrupted) => {
            status!("interrupted: {name} is as it was");
            return Ok(Code::Interrupted);
        }
        Err(error) => return Err(failed(error)),
    };
    let borrowed_bytes = lattice.n_vertices() as u64 * 8;
    let report = Report::of(answer);
    status!(
        "{name}: {borrowed_bytes} bytes borrowed for {:.2} s, and as they were",
        took.as_secs_f64()
    );
    status!(
        "clean memory: {} bytes, beside {} for the lattice itself",
        report.clean_bytes,
        lattice.n_bytes()
    );
    status!("certainty: {}", report.certainty_text());
    print::one(
        &[
            ("op", json!("path")),
            ("sizes", json!(sizes_text(lattice.sizes()))),
            ("n_blocked", json!(lattice.n_blocked())),
            ("from_vertex", json!(from)),
            ("to_vertex", json!(to)),
            ("found", json!(report.found)),
            ("length", json!(report.path.as_ref().map(|path| path.len() - 1))),
            ("path", json!(report.path)),
            ("certainty", json!(report.certainty)),
            ("length_max", json!(report.length_max)),
            ("clean_bytes", json!(report.clean_bytes)),
            ("borrowed_bytes", json!(borrowed_bytes)),
        ],
        as_json,
    )?;
    Ok(match report.found {
        Some(_) => Code::Solved,
        None => Code::SomeFailed,
    })
}

fn unusable(file: &Path, error: &MappedFileError) -> CliError {
    let hint = match error {
        MappedFileError::TooShort { .. } => {
            "8 bytes are needed for each vertex, blocked ones too: lend a longer file"
        }
        MappedFileError::InUse => "wait for the other process, or lend another file",
        _ => "lend a regular file that may be read and written",
    };
    CliError::usage(format!("--scratch: {} {error}", file.display())).hint(hint)
}

/// What is printed about an answer.
struct Report {
    /// `None` if the search stopped at a length below the longest possible path.
    found: Option<bool>,
    path: Option<Vec<u32>>,
    certainty: &'static str,
    n_seeds: u32,
    length_max: Option<u64>,
    clean_bytes: u64,
}

impl Report {
    fn of(answer: CatalyticAnswer) -> Report {
        match answer {
            CatalyticAnswer::Found(path) => {
                let (certainty, n_seeds) = match path.certainty {
                    Certainty::Exact => ("exact", 0),
                    Certainty::Probable { n_seeds } => ("probable", n_seeds),
                };
                Report {
                    found: Some(true),
                    path: Some(path.vertices),
                    certainty,
                    n_seeds,
                    length_max: None,
                    clean_bytes: path.clean_bytes,
                }
            }
            CatalyticAnswer::NotFound { length_max, is_capped, clean_bytes } => Report {
                found: (!is_capped).then_some(false),
                path: None,
                certainty: if is_capped { "open" } else { "probable" },
                n_seeds: 1,
                length_max: Some(length_max),
                clean_bytes,
            },
        }
    }

    fn certainty_text(&self) -> String {
        let n_seeds = self.n_seeds;
        match (self.found, self.certainty) {
            (Some(true), "exact") => {
                "exact: the path was checked step by step, and none can be shorter".to_owned()
            }
            (Some(true), _) => format!(
                "the path was checked step by step; that none is shorter is probable, by {n_seeds} seeds"
            ),
            (Some(false), _) => {
                "no path is possible, very probably: all lengths were tried".to_owned()
            }
            (None, _) => format!(
                "open: no path of up to {} edges was found, and longer ones are possible (--length-max)",
                self.length_max.unwrap_or_default()
            ),
        }
    }
}
