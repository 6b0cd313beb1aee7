//! Identities: what makes two runs the same run.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::hash::{BuildHasher as _, RandomState};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use arrow::datatypes::{Schema, SchemaRef};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use swathe::Cpu;

use super::FolderError;
use super::manifest::Checksum;
use super::{own_files, remembered_files};
use crate::store::live_file::ProcessMark;
use swathe_formats::regular_file;

pub(super) const FILE_NAME: &str = "run.json";

/// Everything a run's answers depend on. Two runs with the same identity have the same answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Identity {
    /// The workload's name.
    pub workload: String,
    /// The settings that answers depend on, under the names of their flags.
    pub settings: BTreeMap<String, Value>,
    /// The input files.
    pub inputs: Vec<InputFile>,
    /// The number of problems of all shards together.
    pub n_problems: u64,
    /// The shard's number (from 1) and the number of shards.
    pub shard: Option<(usize, usize)>,
    /// The program's version: different versions may give different answers.
    pub version: String,
    /// The instruction set the answers were computed with: recorded, not compared.
    pub simd: String,
}

/// An input file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputFile {
    /// Its path, as given.
    pub name: String,
    /// Its length.
    pub n_bytes: u64,
    /// BLAKE3 of its contents, in hex.
    pub blake3: String,
}

impl InputFile {
    /// In place of a checksum: this shard needs nothing of the file, so it did not read it.
    pub const UNREAD: &'static str = "unread";

    /// A file that this shard does not read.
    pub fn unread(path: &Path) -> InputFile {
        InputFile {
            name: path.display().to_string(),
            n_bytes: 0,
            blake3: InputFile::UNREAD.to_owned(),
        }
    }

    /// Whether two files may have the same contents: they have, or one of them was not read.
    fn may_equal(&self, other: &InputFile) -> bool {
        let is_unread = |file: &InputFile| file.blake3 == InputFile::UNREAD;
        is_unread(self)
            || is_unread(other)
            || (self.n_bytes == other.n_bytes && self.blake3 == other.blake3)
    }

    /// Reads a file and records its length and hash.
    ///
    /// # Errors
    /// If the file cannot be read, or is not a regular file.
    pub fn of(path: &Path) -> std::io::Result<InputFile> {
        remembered_files::remembered(path, || {
            let mut hasher = blake3::Hasher::new();
            hasher.update_reader(regular_file::open(path)?)?;
            Ok(InputFile {
                name: path.display().to_string(),
                n_bytes: hasher.count(),
                blake3: hasher.finalize().to_hex().to_string(),
            })
        })
    }

    /// The same for a file whose contents are already in memory.
    pub fn of_bytes(path: &Path, bytes: &[u8]) -> InputFile {
        InputFile {
            name: path.display().to_string(),
            n_bytes: bytes.len() as u64,
            blake3: blake3::hash(bytes).to_hex().to_string(),
        }
    }
}

impl Identity {
    /// The problems of this run, or of this shard of it.
    pub fn problems(&self) -> Range<u64> {
        shard_problems(self.n_problems, self.shard)
    }

    /// Takes over the checksums of files that another shard of the same run read and this one did
    /// not.
    pub(super) fn absorb_inputs(&mut self, other: &Identity) {
        for (own, theirs) in self.inputs.iter_mut().zip(&other.inputs) {
            if own.blake3 == InputFile::UNREAD {
                own.clone_from(theirs);
            }
        }
    }

    /// How `other` differs from this identity, a line per difference; empty if both are the same
    /// run.
    pub fn differences(&self, other: &Identity) -> Vec<String> {
        let mut lines = Vec::new();
        let mut compare = |name: &str, then: String, now: String| {
            if then != now {
                lines.push(format!("  {name}: {then} then, {now} now"));
            }
        };
        compare("workload", self.workload.clone(), other.workload.clone());
        compare("version", self.version.clone(), other.version.clone());
        compare("shard", shard_text(self.shard), shard_text(other.shard));
        let absent = Value::String("(not set)".to_owned());
        let names: std::collections::BTreeSet<&String> =
            self.settings.keys().chain(other.settings.keys()).collect();
        for name in names {
            let then = self.settings.get(name).unwrap_or(&absent);
            let now = other.settings.get(name).unwrap_or(&absent);
            if !is_same_setting(then, now) {
                compare(&format!("--{name}"), then.to_string(), now.to_string());
            }
        }
        compare("problems", self.n_problems.to_string(), other.n_problems.to_string());
        lines.extend(input_differences(&self.inputs, &other.inputs));
        lines
    }
}

/// The problems of a shard (number from 1, count), or all problems for `None`. A shard is a
/// contiguous range, because neighbouring problems often share inputs.
pub fn shard_problems(n_problems: u64, shard: Option<(usize, usize)>) -> Range<u64> {
    let (number, n_shards) = shard.unwrap_or((1, 1));
    let cut = |k: usize| (u128::from(n_problems) * k as u128 / n_shards as u128) as u64;
    cut(number - 1)..cut(number)
}

fn shard_text(shard: Option<(usize, usize)>) -> String {
    shard.map_or("none".to_owned(), |(k, n)| format!("{k}/{n}"))
}

/// Whether two values of a setting are equal. Earlier versions stored numbers as strings.
fn is_same_setting(then: &Value, now: &Value) -> bool {
    match (then, now) {
        (Value::Number(number), Value::String(text))
        | (Value::String(text), Value::Number(number)) => text.parse().ok() == number.as_f64(),
        _ => then == now,
    }
}

fn input_differences(then: &[InputFile], now: &[InputFile]) -> Vec<String> {
    /// Thousands of lines would hide what happened.
    const N_NAMED_MAX: usize = 5;
    let by_name = |files: &'_ [InputFile]| -> HashMap<String, usize> {
        let names = files.iter().enumerate();
        names.map(|(at, file)| (file.name.clone(), at)).collect()
    };
    let (then_by_name, now_by_name) = (by_name(then), by_name(now));
    let is_known = |file: &&InputFile| then_by_name.contains_key(&file.name);
    let is_moved = then.len() == now.len() && !now.iter().any(|file| is_known(&file));
    let mut lines = Vec::new();
    for (at, file) in now.iter().enumerate() {
        // The same contents under another name (a moved folder) are the same input.
        let before = match is_moved {
            true => Some(at),
            false => then_by_name.get(&file.name).copied(),
        };
        match before.map(|at| &then[at]) {
            None => lines.push(format!("  input {}: it was not given then", file.name)),
            Some(before) if !before.may_equal(file) => lines.push(format!(
                "  input {}: its contents changed ({} bytes then, {} now)",
                file.name, before.n_bytes, file.n_bytes
            )),
            Some(_) => {}
        }
    }
    let is_gone = |file: &&InputFile| !is_moved && !now_by_name.contains_key(&file.name);
    for file in then.iter().filter(is_gone) {
        lines.push(format!("  input {}: it is not given now", file.name));
    }
    let is_in_place = |(then, now): (&InputFile, &InputFile)| then.may_equal(now);
    if lines.is_empty() && (then.len() != now.len() || !then.iter().zip(now).all(is_in_place)) {
        lines.push("  inputs: the same files in another order".to_owned());
    }
    if lines.len() > N_NAMED_MAX {
        let n_more = lines.len() - N_NAMED_MAX;
        lines.truncate(N_NAMED_MAX);
        lines.push(format!("  and {n_more} more"));
    }
    lines
}

/// The provenance of a run: version, command, date and machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunOrigin {
    /// The program's version.
    pub version: String,
    /// The command, as given.
    pub command: String,
    /// The settings from variables and the settings file, which the command does not show; absent
    /// in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<BTreeMap<String, String>>,
    /// When the run began, in Universal Time: `2026-01-31T23:59:59Z`.
    pub date: String,
    /// The machine's name; empty if the system does not report it.
    pub host: String,
    /// The machine's processor and its threads.
    pub cpu: String,
}

impl RunOrigin {
    /// The provenance of a run that this process starts now with this command.
    pub fn now(command: &str, settings: &BTreeMap<String, String>) -> RunOrigin {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        RunOrigin {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            command: command.to_owned(),
            settings: Some(settings.clone()),
            date: date_text(since.map_or(0, |since| since.as_secs())),
            host: ProcessMark::of_this().host.unwrap_or_default(),
            cpu: cpu_text(),
        }
    }

    fn texts(&self) -> [(&'static str, &String); 5] {
        [
            ("version", &self.version),
            ("command", &self.command),
            ("date", &self.date),
            ("host", &self.host),
            ("cpu", &self.cpu),
        ]
    }
}

/// The metadata key of the run that a table or a part belongs to.
pub(super) const RUN_ID_KEY: &str = "swathe.run";

/// A table's schema with the run's id and provenance as metadata.
pub(super) fn with_made(
    schema: &Schema,
    run_id: Option<&str>,
    made: Option<&RunOrigin>,
) -> SchemaRef {
    let mut metadata = schema.metadata().clone();
    metadata.extend(run_id.map(|id| (RUN_ID_KEY.to_owned(), id.to_owned())));
    for (name, text) in made.iter().flat_map(|made| made.texts()) {
        metadata.insert(format!("swathe.{name}"), text.clone());
    }
    Arc::new(schema.clone().with_metadata(metadata))
}

/// Checks that the run which wrote a file is the run of the folder.
pub(super) fn check_run_id(own: Option<&str>, found: Option<&str>) -> Result<(), String> {
    let text = |id: Option<&str>| match id {
        Some(id) => format!("run {id}"),
        None => "a run of an earlier version, without an id".to_owned(),
    };
    match found == own {
        true => Ok(()),
        false => {
            Err(format!("it was written by {}, and run.json is that of {}", text(found), text(own)))
        }
    }
}

/// An id that no other run has. The hasher's keys come from the operating system; a forked process
/// inherits them, so its number and the time are hashed too.
fn new_run_id() -> String {
    let (random, process) = (RandomState::new(), (SystemTime::now(), std::process::id()));
    format!("{:016x}{:016x}", random.hash_one((0, process)), random.hash_one((1, process)))
}

/// Seconds since 1970 as a date and time of the Gregorian calendar.
fn date_text(unix_s: u64) -> String {
    // Years are counted from March, so that the leap day is the last day of a year.
    let days = unix_s / 86_400 + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let year = era * 400 + year + u64::from(month >= 10);
    let month = if month < 10 { month + 3 } else { month - 9 };
    let s = unix_s % 86_400;
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", s / 3600, s / 60 % 60, s % 60)
}

/// The processor's name, its threads and its instructions.
fn cpu_text() -> String {
    let cpu = Cpu::detect();
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = info.lines().find_map(|line| {
        let (key, name) = line.split_once(':')?;
        (key.trim() == "model name").then(|| name.trim().to_owned())
    });
    let name = name.unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    format!("{name}, {} threads, {}", cpu.n_threads, cpu.simd)
}

/// The state of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// A process is running it, or died while running it.
    Running,
    /// The run was stopped and can be resumed.
    Interrupted,
    /// Every problem has an outcome, and the tables are written.
    Complete,
}

/// The contents of `run.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunJson {
    /// The version of the folder's layout.
    pub format_version: u32,
    /// The state of the run.
    pub state: RunState,
    /// Distinguishes this run from every other. Its parts, the lines of its manifest and its tables
    /// carry it. Absent in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// What the answers depend on.
    #[serde(flatten)]
    pub identity: Identity,
    /// The provenance; absent in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<RunOrigin>,
    /// The table's name, once it is written.
    pub table: Option<String>,
    /// The files of the tables, with their checksums.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tables: BTreeMap<String, Checksum>,
    /// BLAKE3 over the result columns in input order, once the run is complete.
    pub result_hash: Option<String>,
    /// BLAKE3 over the values alone. It does not depend on column names, nor on columns that later
    /// versions add.
    #[serde(default)]
    pub values_hash: Option<String>,
}

impl RunJson {
    const FORMAT_VERSION: u32 = 1;

    pub(super) fn new(identity: Identity) -> RunJson {
        RunJson {
            format_version: RunJson::FORMAT_VERSION,
            state: RunState::Running,
            run_id: Some(new_run_id()),
            identity,
            made: None,
            table: None,
            tables: BTreeMap::new(),
            result_hash: None,
            values_hash: None,
        }
    }

    /// Reads the `run.json` of a folder.
    ///
    /// # Errors
    /// If there is no `run.json`, or if it cannot be read or has another layout version.
    pub fn read(folder: &Path) -> Result<RunJson, FolderError> {
        let path = folder.join(FILE_NAME);
        let text = own_files::read(&path).map_err(|source| match source.kind() {
            std::io::ErrorKind::NotFound => FolderError::NoRun { path: folder.to_owned() },
            _ => FolderError::Read { path: path.clone(), source },
        })?;
        let run: RunJson = serde_json::from_slice(&text).map_err(|error| FolderError::Damaged {
            path: path.clone(),
            reason: error.to_string(),
        })?;
        if run.format_version != RunJson::FORMAT_VERSION {
            return Err(FolderError::Damaged {
                path,
                reason: format!(
                    "its layout is version {}, this program knows version {}",
                    run.format_version,
                    RunJson::FORMAT_VERSION
                ),
            });
        }
        Ok(run)
    }

    pub(super) fn write(&self, folder: &Path) -> Result<(), FolderError> {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        super::write_file(&folder.join(FILE_NAME), text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (unix_s, date) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_709_251_199, "2024-02-29T23:59:59Z"),
            (1_735_689_599, "2024-12-31T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(date_text(unix_s), date);
        }
    }

    #[test]
    fn numbers_and_their_texts_are_one_setting() {
        use serde_json::json;
        for (then, now, is_same) in [
            (json!("0.00001"), json!(1e-5), true),
            (json!("2"), json!(2.0), true),
            (json!(10), json!("10"), true),
            (json!("inf"), json!("inf"), true),
            (json!("2"), json!(3.0), false),
            (json!("07"), json!("7"), false),
            (json!(u64::MAX), json!(u64::MAX - 1), false),
        ] {
            assert_eq!(is_same_setting(&then, &now), is_same, "{then} {now}");
        }
    }

    #[test]
    fn inputs_are_compared_by_name() {
        let file =
            |name: &str, contents: &str| InputFile::of_bytes(Path::new(name), contents.as_bytes());
        let [a, b, c] = ["a", "b", "c"].map(|name| file(name, name));
        let (changed, moved) = (file("b", "other"), ["x/a", "x/b"].map(|n| file(n, &n[2..])));
        let cases: [(&[&InputFile], &[&str]); 8] = [
            (&[&a, &b], &[]),
            (&[&a, &changed], &["  input b: its contents changed (1 bytes then, 5 now)"]),
            // A file before the others does not change them.
            (&[&c, &a, &b], &["  input c: it was not given then"]),
            (&[&b], &["  input a: it is not given now"]),
            (&[&b, &a], &["  inputs: the same files in another order"]),
            (&[&a, &a, &b], &["  inputs: the same files in another order"]),
            (&[&moved[0], &moved[1]], &[]),
            (&[&moved[0], &moved[0]], &["  input x/a: its contents changed (1 bytes then, 1 now)"]),
        ];
        for (now, lines) in cases {
            let now: Vec<InputFile> = now.iter().map(|file| (*file).clone()).collect();
            assert_eq!(input_differences(&[a.clone(), b.clone()], &now), lines);
        }
    }

    #[test]
    fn shards_cover_everything_once() {
        for n_problems in [0, 1, 5, 100, 101] {
            for n_shards in 1..=7 {
                let spans = (1..=n_shards).map(|k| shard_problems(n_problems, Some((k, n_shards))));
                let spans: Vec<Range<u64>> = spans.collect();
                assert_eq!(spans[0].start, 0);
                assert_eq!(spans[n_shards - 1].end, n_problems);
                assert!(spans.windows(2).all(|pair| pair[0].end == pair[1].start));
            }
        }
    }
}
