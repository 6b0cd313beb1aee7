//! The flags that every run has.

use std::path::PathBuf;

use clap::Args;

use crate::engine_settings::EngineSettings;
use crate::setting_value::{WrongValue, at_least_one};

/// Flags that every run has: the engine's settings, and what is said of a single call.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "How to run")]
pub struct RunFlags {
    /// The engine's settings.
    #[command(flatten)]
    pub engine: EngineSettings,
    /// Only the first N of the input (of those in --only, if there are any)
    #[arg(long, value_name = "N", help_heading = "What to run", value_parser = limit)]
    pub limit: Option<usize>,
    /// Only those of the input that have these ids
    #[arg(long, value_name = "ID", num_args = 1.., help_heading = "What to run")]
    pub only: Vec<String>,
    /// Print what would run where, and run nothing
    #[arg(long)]
    pub explain: bool,
    /// Go on with the run in --out where it was stopped
    #[arg(long)]
    pub resume: bool,
    /// Only the i-th of n parts of the input (from 1); put together by `swathe merge`
    #[arg(long, value_name = "i/n", value_parser = shard)]
    pub shard: Option<(usize, usize)>,
    /// Solve nothing: record the problems without an outcome as failed, with this reason
    #[arg(long, value_name = "REASON", hide = true, require_equals = true)]
    pub give_up: Option<String>,
    /// Draw where the time went, down to single operations, into this file
    #[arg(long, value_name = "SVG")]
    pub flame: Option<PathBuf>,
    /// Settings file [default: ./swathe.toml, if there is one]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

fn limit(text: &str) -> Result<usize, WrongValue> {
    at_least_one(text, "a number of problems", "write 1 or more")
}

fn shard(text: &str) -> Result<(usize, usize), WrongValue> {
    let wrong = |complaint: String| WrongValue {
        complaint,
        hint: "write i/n with i from 1 to n: --shard 1/4, --shard 2/4 …".to_owned(),
    };
    let parsed = text.split_once('/').and_then(|(number, n_shards)| {
        Some((number.trim().parse().ok()?, n_shards.trim().parse().ok()?))
    });
    match parsed {
        None => Err(wrong("which is not i/n".to_owned())),
        Some((number, n_shards)) if number == 0 || number > n_shards => {
            Err(wrong(format!("but there is no part {number} of {n_shards}")))
        }
        Some(part) => Ok(part),
    }
}

#[cfg(test)]
mod tests {
    use super::shard;

    #[test]
    fn shards() {
        assert_eq!(shard("2/4").unwrap(), (2, 4));
        for text in ["5/4", "0/4", "1", "a/b", "1/0"] {
            assert!(shard(text).is_err(), "{text}");
        }
    }
}
