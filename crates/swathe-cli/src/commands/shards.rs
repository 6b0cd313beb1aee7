//! `swathe shards`: lists the shards of a run, and how to solve those that are not finished.

use std::path::Path;
use std::time::Duration;

use serde_json::json;
use swathe_command::cli_error::{CliError, Code};
use swathe_command::{status, stdout};
use swathe_run::store::run_folder::{RunJson, RunState};
use swathe_run::store::shard_status::{ShardState, ShardStatus, shard_statuses};

use crate::flags::ShardsFlags;

pub(crate) fn shards(flags: &ShardsFlags) -> Result<Code, CliError> {
    if !flags.run.join("shards").exists() && RunJson::read(&flags.run)?.state == RunState::Complete
    {
        if flags.json {
            stdout::line("[]")?;
        }
        status!("the run in {} is finished, and is not cut into shards", flags.run.display());
        return Ok(Code::Solved);
    }
    let shards = shard_statuses(&flags.run)?;
    if flags.json {
        stdout::line(format_args!("{:#}", json!(shards)))?;
    } else {
        stdout::line(table(&shards))?;
        status!("{}", verdict(&flags.run, &shards));
    }
    Ok(match are_finished(&shards) {
        true => Code::Solved,
        false => Code::SomeFailed,
    })
}

/// Prints how far the shards are, whenever that changes, until all are finished.
pub(crate) fn wait(run: &Path) -> Result<(), CliError> {
    const PAUSE: Duration = Duration::from_secs(2);
    let mut told = String::new();
    loop {
        let shards = shard_statuses(run)?;
        let now = verdict(run, &shards);
        if now != told {
            status!("{now}");
            told = now;
        }
        if are_finished(&shards) {
            return Ok(());
        }
        std::thread::sleep(PAUSE);
    }
}

fn are_finished(shards: &[ShardStatus]) -> bool {
    let mut states = shards.iter().map(|shard| shard.state);
    states.all(|state| state == ShardState::Finished)
}

fn table(shards: &[ShardStatus]) -> String {
    let mut lines = vec![format!(
        "{:<9}  {:<11}  {:>11}  {:>11}  {:>8}  command",
        "shard", "state", "committed", "problems", "unsolved"
    )];
    for shard in shards {
        let name = format!("{}/{}", shard.number, shard.n_shards);
        let line = format!(
            "{name:<9}  {:<11}  {:>11}  {:>11}  {:>8}  {}",
            shard.state.name(),
            shard.n_committed,
            shard.n_problems,
            shard.n_unsolved,
            shard.command.as_deref().unwrap_or_default()
        );
        lines.push(line.trim_end().to_owned());
    }
    lines.join("\n")
}

/// What there is to do, in a sentence.
fn verdict(run: &Path, shards: &[ShardStatus]) -> String {
    let states = [
        ShardState::Finished,
        ShardState::Running,
        ShardState::Interrupted,
        ShardState::Dead,
        ShardState::Missing,
    ];
    let counted = states.iter().filter_map(|&state| {
        let n = shards.iter().filter(|shard| shard.state == state).count();
        (n > 0).then(|| format!("{n} {}", state.name()))
    });
    let counted: Vec<String> = counted.collect();
    let n_committed: u64 = shards.iter().map(|shard| shard.n_committed).sum();
    let n_problems: u64 = shards.iter().map(|shard| shard.n_problems).sum();
    let is_merged = RunJson::read(run).is_ok_and(|run| run.state == RunState::Complete);
    let next = match are_finished(shards) {
        true if is_merged => "; the run is finished: they are merged".to_owned(),
        true => format!("; put them together with swathe merge {}", run.display()),
        false => String::new(),
    };
    format!(
        "{} shards: {}; {n_committed} of {n_problems} problems committed{next}",
        shards.len(),
        counted.join(", ")
    )
}
