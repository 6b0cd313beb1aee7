//! `swathe merge`: joins the shards of a run into one table.

use swathe::Cpu;
use swathe_command::program::kinds;
use swathe_command::{status, warning};
use swathe_run::kind::{self, Extent};
use swathe_run::store::run_folder::{RunJson, merge_shards};

use crate::flags::MergeFlags;
use swathe_command::cli_error::{CliError, Code};
use swathe_command::stdout;

pub(crate) fn merge(flags: &MergeFlags) -> Result<Code, CliError> {
    if !flags.run.join("shards").exists() && RunJson::read(&flags.run).is_ok() {
        let complaint = format!(
            "{} has no shards, so that there is nothing to merge",
            flags.run.display()
        );
        return Err(CliError::usage(complaint)
            .hint("its tables hold the whole run already; shards come from --shard i/n"));
    }
    let merged = merge_shards(&flags.run, Cpu::detect().n_threads)?;
    status!(
        "{} rows merged, result hash {}",
        merged.n_rows,
        merged.result_hash
    );
    if merged.simd.len() > 1 {
        warning!(
            "the shards were computed with different instructions ({}): floats may differ in the last bits",
            merged.simd.join(", ")
        );
    }
    let workload = RunJson::read(&flags.run)?.identity.workload;
    if let Some(kind) = kind::find(&kinds(), &workload) {
        for note in (kind.after_tables)(&flags.run, Extent::Merged)? {
            status!("{note}");
        }
    }
    if merged.n_failures > 0 {
        warning!(
            "{} problems failed: see failures.parquet",
            merged.n_failures
        );
    }
    stdout::line(flags.run.display())?;
    Ok(if merged.n_failures == 0 {
        Code::Solved
    } else {
        Code::SomeFailed
    })
}
