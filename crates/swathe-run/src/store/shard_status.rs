//! The shards of a run: which are finished, running, dead or missing.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::Serialize;

use crate::store::live_file::{Live, Presence};
use crate::store::run_folder::{
    FolderError, RunJson, RunState, committed, shard_path, shard_problems,
};

/// What is known of one shard.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShardStatus {
    /// Its number, from 1.
    pub number: usize,
    /// The number of shards.
    pub n_shards: usize,
    /// Whether it is finished.
    pub state: ShardState,
    /// Its problems whose outcomes are safe.
    pub n_committed: u64,
    /// All its problems.
    pub n_problems: u64,
    /// Its problems without an answer, so far.
    pub n_unsolved: u64,
    /// Its folder.
    pub path: PathBuf,
    /// The command that solves what is left of it, if something is left and a shard says how.
    pub command: Option<String>,
}

/// Whether a shard is finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ShardState {
    /// Its tables are written.
    Finished,
    /// A process solves it.
    Running,
    /// Its process stopped by request, and what was finished is committed.
    Interrupted,
    /// Its process is gone.
    Dead,
    /// It was never started.
    Missing,
}

impl ShardState {
    /// The name of the state.
    pub fn name(self) -> &'static str {
        match self {
            ShardState::Finished => "finished",
            ShardState::Running => "running",
            ShardState::Interrupted => "interrupted",
            ShardState::Dead => "dead",
            ShardState::Missing => "missing",
        }
    }
}

/// A process on another machine that has written nothing for so long is taken to be dead. It writes
/// twice a second; network file systems show that late.
const SILENCE_MEANS_DEATH: Duration = Duration::from_secs(60);

/// The state of every shard of a run, in order.
///
/// # Errors
/// If the folder holds no shards, or if a file of a shard cannot be read.
pub fn shard_statuses(run: &Path) -> Result<Vec<ShardStatus>, FolderError> {
    let folder = run.join("shards");
    let no_shards = || FolderError::Incomplete {
        path: run.to_owned(),
        reason: "it has no shards: they come from --shard i/n".to_owned(),
    };
    let entries = std::fs::read_dir(&folder).map_err(|_| no_shards())?;
    let names = entries.flatten().filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let (number, n_shards) = name.split_once("-of-")?;
        Some((number.parse().ok()?, n_shards.parse().ok()?))
    });
    let names: Vec<(usize, usize)> = names.collect();
    let n_shards = names.iter().map(|&(_, n)| n).max().ok_or_else(no_shards)?;
    if let Some((number, other)) = names.iter().find(|&&(_, n)| n != n_shards) {
        return Err(FolderError::Incomplete {
            path: run.to_owned(),
            reason: format!(
                "it has shards of different counts: {number}/{other} and some of {n_shards}"
            ),
        });
    }
    let mut read = (1..=n_shards).map(|number| RunJson::read(&shard_path(run, number, n_shards)));
    let known = read.find(|read| !matches!(read, Err(FolderError::NoRun { .. })));
    let known = known.ok_or_else(no_shards)??;
    let statuses = (1..=n_shards).map(|number| status(run, number, n_shards, &known));
    statuses.collect()
}

fn status(
    run: &Path,
    number: usize,
    n_shards: usize,
    known: &RunJson,
) -> Result<ShardStatus, FolderError> {
    let path = shard_path(run, number, n_shards);
    let problems = shard_problems(known.identity.n_problems, Some((number, n_shards)));
    let command = known.made.as_ref().map(|made| made.command.as_str());
    let command = |resume| command.and_then(|text| shard_command(text, (number, n_shards), resume));
    let own = match RunJson::read(&path) {
        Ok(own) => own,
        Err(FolderError::NoRun { .. }) => {
            return Ok(ShardStatus {
                number,
                n_shards,
                state: ShardState::Missing,
                n_committed: 0,
                n_problems: problems.end - problems.start,
                n_unsolved: 0,
                path,
                command: command(false),
            });
        }
        Err(error) => return Err(error),
    };
    let state = match own.state {
        RunState::Complete => ShardState::Finished,
        RunState::Interrupted => ShardState::Interrupted,
        RunState::Running if is_running(&path) => ShardState::Running,
        RunState::Running => ShardState::Dead,
    };
    let counts = committed(&path, own.run_id.as_deref())?;
    Ok(ShardStatus {
        number,
        n_shards,
        state,
        n_committed: counts.n_done(),
        n_problems: problems.end - problems.start,
        n_unsolved: counts.n_unsolved(),
        path,
        command: match state {
            ShardState::Finished | ShardState::Running => None,
            _ => command(true),
        },
    })
}

/// Whether the process of a shard is still running, as far as this machine can know.
fn is_running(shard: &Path) -> bool {
    let Ok(Some(live)) = Live::read(shard) else {
        return false;
    };
    match live.process.presence() {
        Presence::Alive => true,
        Presence::Gone => false,
        Presence::Unknown => {
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
            let written = Duration::from_millis(live.written_unix_ms);
            now.is_ok_and(|now| now.saturating_sub(written) < SILENCE_MEANS_DEATH)
        }
    }
}

/// The command of one shard turned into that of another.
fn shard_command(text: &str, (number, n_shards): (usize, usize), resume: bool) -> Option<String> {
    let mut words: Vec<String> = text.split(' ').map(str::to_owned).collect();
    let wanted = format!("{number}/{n_shards}");
    let at = words.iter().position(|word| word == "--shard" || word.starts_with("--shard="))?;
    if words[at] == "--shard" {
        *words.get_mut(at + 1)? = wanted;
    } else {
        words[at] = format!("--shard={wanted}");
    }
    words.retain(|word| word != "--resume");
    if resume {
        words.push("--resume".to_owned());
    }
    Some(words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_turned_into_that_of_another_shard() {
        let one = "swathe ot pairs.csv --out 'my run' --shard 2/8";
        assert_eq!(
            shard_command(one, (5, 8), true).as_deref(),
            Some("swathe ot pairs.csv --out 'my run' --shard 5/8 --resume")
        );
        let resumed = "swathe ot pairs.csv --shard=2/8 --resume --out run";
        assert_eq!(
            shard_command(resumed, (3, 8), false).as_deref(),
            Some("swathe ot pairs.csv --shard=3/8 --out run")
        );
        assert_eq!(shard_command("swathe ot pairs.csv", (1, 2), true), None);
        assert_eq!(shard_command("swathe ot --shard", (1, 2), true), None);
    }

    #[test]
    fn a_folder_without_shards_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let told = shard_statuses(folder.path()).unwrap_err().to_string();
        assert!(told.contains("--shard i/n"), "{told}");
    }
}
