//! Identities: what makes two runs the same run.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::FolderError;
use super::manifest::Seal;
use swathe_formats::regular_file;

pub(super) const FILE_NAME: &str = "run.json";

/// What a run's answers depend on. Two runs of one identity have the same answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Identity {
    /// The workload's name.
    pub workload: String,
    /// The settings that answers depend on, under the names of their flags.
    pub settings: BTreeMap<String, Value>,
    /// The files that were read.
    pub inputs: Vec<InputFile>,
    /// How many problems there are, of all shards together.
    pub n_problems: u64,
    /// Which shard this is and of how many, from 1.
    pub shard: Option<(usize, usize)>,
    /// Programs of different versions may give different answers.
    pub version: String,
    /// The instruction set the answers were computed with: recorded, not compared.
    pub simd: String,
}

/// A file that was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputFile {
    /// Its name, as it was given.
    pub name: String,
    /// Its length.
    pub n_bytes: u64,
    /// BLAKE3 of its contents, in hex.
    pub blake3: String,
}

impl InputFile {
    /// Reads a file once, to know it again.
    pub fn of(path: &Path) -> std::io::Result<InputFile> {
        let mut hasher = blake3::Hasher::new();
        let n_bytes = std::io::copy(&mut regular_file::open(path)?, &mut hasher)?;
        Ok(InputFile {
            name: path.display().to_string(),
            n_bytes,
            blake3: hasher.finalize().to_hex().to_string(),
        })
    }

    /// A file whose contents are at hand.
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

    /// What differs from this one in `other`, a line each; none if they are the same run.
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
            let then = self.settings.get(name).unwrap_or(&absent).to_string();
            let now = other.settings.get(name).unwrap_or(&absent).to_string();
            compare(&format!("--{name}"), then, now);
        }
        compare(
            "problems",
            self.n_problems.to_string(),
            other.n_problems.to_string(),
        );
        lines.extend(input_differences(&self.inputs, &other.inputs));
        lines
    }
}

/// The problems of a shard (number, of how many; from 1), all without one. Neighbours stay together,
/// as they often share inputs.
pub fn shard_problems(n_problems: u64, shard: Option<(usize, usize)>) -> Range<u64> {
    let (number, n_shards) = shard.unwrap_or((1, 1));
    let cut = |k: usize| (u128::from(n_problems) * k as u128 / n_shards as u128) as u64;
    cut(number - 1)..cut(number)
}

fn shard_text(shard: Option<(usize, usize)>) -> String {
    shard.map_or("none".to_owned(), |(k, n)| format!("{k}/{n}"))
}

fn input_differences(then: &[InputFile], now: &[InputFile]) -> Vec<String> {
    /// Enough to see what happened; thousands of lines would hide it.
    const N_NAMED_MAX: usize = 5;
    let mut lines = Vec::new();
    // The same contents under another name (a moved folder) are the same input.
    let contents = |files: &[InputFile]| -> Vec<(u64, String)> {
        files
            .iter()
            .map(|file| (file.n_bytes, file.blake3.clone()))
            .collect()
    };
    if contents(then) == contents(now) {
        return lines;
    }
    for (then, now) in then.iter().zip(now) {
        if then.blake3 != now.blake3 {
            lines.push(format!(
                "  input {}: its contents changed ({} bytes then, {} now)",
                now.name, then.n_bytes, now.n_bytes
            ));
        }
    }
    if then.len() != now.len() {
        lines.push(format!(
            "  inputs: {} files then, {} now",
            then.len(),
            now.len()
        ));
    }
    if lines.len() > N_NAMED_MAX {
        let n_more = lines.len() - N_NAMED_MAX;
        lines.truncate(N_NAMED_MAX);
        lines.push(format!("  and {n_more} more"));
    }
    lines
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// A process is at it, or died at it.
    Running,
    /// It was stopped and can be resumed.
    Interrupted,
    /// Every problem has its outcome and the tables are written.
    Complete,
}

/// The contents of `run.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunJson {
    /// The layout of the folder.
    pub format_version: u32,
    /// How far the run is.
    pub state: RunState,
    /// What its answers depend on.
    #[serde(flatten)]
    pub identity: Identity,
    /// The table's name, once it is written.
    pub table: Option<String>,
    /// The files of the tables and what they were when they were written.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tables: BTreeMap<String, Seal>,
    /// BLAKE3 over the result columns in input order, once they are all there.
    pub result_hash: Option<String>,
    /// BLAKE3 over the values alone: independent of the names of columns and of columns that later
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
            identity,
            table: None,
            tables: BTreeMap::new(),
            result_hash: None,
            values_hash: None,
        }
    }

    /// Reads the `run.json` of a folder.
    pub fn read(folder: &Path) -> Result<RunJson, FolderError> {
        let path = folder.join(FILE_NAME);
        let text = fs::read_to_string(&path).map_err(|source| match source.kind() {
            std::io::ErrorKind::NotFound => FolderError::NoRun {
                path: folder.to_owned(),
            },
            _ => FolderError::Read {
                path: path.clone(),
                source,
            },
        })?;
        let run: RunJson = serde_json::from_str(&text).map_err(|error| FolderError::Damaged {
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
