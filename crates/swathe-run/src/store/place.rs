//! Places: the machines and actors that solved the shards of a run.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::store::report_file::ReportFile;
use crate::store::run_folder::{RunJson, read};
use crate::store::shard_status::ShardStatus;

/// What one actor on one node did, or one machine that no cluster engine manages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Place {
    /// The node's or machine's name.
    pub node: String,
    /// The actor on it; empty without a cluster engine.
    pub actor: String,
    /// Shards that it finished.
    pub n_shards: usize,
    /// Problems of these shards that it solved or failed to solve.
    pub n_problems: u64,
    /// Problems among them that have no answer.
    pub n_unsolved: u64,
    /// The time during which it had a shard in hand.
    pub busy_ms: f64,
    /// Launches that it had to split, retry or move.
    pub n_setbacks: u64,
    /// Shards that it began and did not finish.
    pub n_lost: usize,
}

/// A line of the ledger of blocks, which the driver of a cluster engine writes. A block is a shard.
#[derive(Debug, Deserialize)]
struct LedgerLine {
    event: LedgerEvent,
    block: usize,
    node: String,
    actor: String,
    #[serde(default)]
    busy_ms: f64,
    #[serde(default)]
    reason: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum LedgerEvent {
    /// An actor began the block.
    Begin,
    /// The block is finished and safe.
    Committed,
    /// The actor could not finish the block.
    Failed,
}

/// The ledger's place in a run folder.
const LEDGER: &str = "shards/blocks.jsonl";

/// The places of a run, in the order in which they appear, and a sentence for each shard that was
/// begun more than once. `files` are the reports of the shards.
pub fn places(
    run: &Path,
    shards: &[ShardStatus],
    files: &[ReportFile],
) -> (Vec<Place>, Vec<String>) {
    let ledger = read(&run.join(LEDGER)).unwrap_or_default();
    // A line that is not whole was being written when the driver died.
    let lines = ledger.split(|&byte| byte == b'\n');
    let lines: Vec<LedgerLine> =
        lines.filter_map(|line| serde_json::from_slice(line).ok()).collect();
    match lines.is_empty() {
        true => (machines(shards, files), Vec::new()),
        false => actors(&lines, shards, files),
    }
}

fn machines(shards: &[ShardStatus], files: &[ReportFile]) -> Vec<Place> {
    let mut places = Vec::new();
    for (shard, file) in shards.iter().zip(files) {
        let made = RunJson::read(&shard.path).ok().and_then(|run| run.made);
        let host = made.map(|made| made.host).unwrap_or_default();
        place(&mut places, &host, "").add(file, file.report.wall_ms);
    }
    places
}

fn actors(
    lines: &[LedgerLine],
    shards: &[ShardStatus],
    files: &[ReportFile],
) -> (Vec<Place>, Vec<String>) {
    let (mut places, mut told) = (Vec::new(), Vec::new());
    for (shard, file) in shards.iter().zip(files) {
        // The actor that has the block in hand, after the lines read so far.
        let mut in_hand: Option<&LedgerLine> = None;
        for line in lines.iter().filter(|line| line.block == shard.number) {
            let lost = match line.event {
                LedgerEvent::Begin => in_hand.replace(line).map(|lost| (lost, "it was lost")),
                LedgerEvent::Failed => in_hand.take().map(|lost| (lost, line.reason.as_str())),
                LedgerEvent::Committed => {
                    if in_hand.take().is_some() {
                        place(&mut places, &line.node, &line.actor).add(file, line.busy_ms);
                    }
                    None
                }
            };
            if let Some((lost, reason)) = lost {
                place(&mut places, &lost.node, &lost.actor).n_lost += 1;
                told.push(format!(
                    "block {}/{} was begun again; on node {}, {}: {reason}",
                    shard.number, shard.n_shards, lost.node, lost.actor
                ));
            }
        }
    }
    (places, told)
}

fn place<'a>(places: &'a mut Vec<Place>, node: &str, actor: &str) -> &'a mut Place {
    let found = places.iter().position(|place| place.node == node && place.actor == actor);
    let at = found.unwrap_or_else(|| {
        places.push(Place {
            node: node.to_owned(),
            actor: actor.to_owned(),
            n_shards: 0,
            n_problems: 0,
            n_unsolved: 0,
            busy_ms: 0.0,
            n_setbacks: 0,
            n_lost: 0,
        });
        places.len() - 1
    });
    &mut places[at]
}

impl Place {
    fn add(&mut self, file: &ReportFile, busy_ms: f64) {
        let counts = file.report.counts;
        self.n_shards += 1;
        self.n_problems += counts.n_problems;
        self.n_unsolved += counts.n_unsolved();
        self.busy_ms += busy_ms;
        self.n_setbacks += file.report.n_setbacks;
    }
}
