//! `swathe merge`: joins the shards of a run into one table.

use swathe::Cpu;
use swathe_command::program::kinds;
use swathe_command::run_command::warn_of_failures;
use swathe_command::{status, warning};
use swathe_run::kind::{self, Extent};
use swathe_run::store::merged_report::write_merged_report;
use swathe_run::store::run_folder::{RunJson, merge_shards};

use super::shards;
use crate::flags::MergeFlags;
use swathe_command::cli_error::{CliError, Code};
use swathe_command::stdout;

pub(crate) fn merge(flags: &MergeFlags) -> Result<Code, CliError> {
    if !flags.run.join("shards").exists() {
        RunJson::read(&flags.run)?;
        let complaint =
            format!("{} has no shards, so that there is nothing to merge", flags.run.display());
        return Err(CliError::usage(complaint)
            .hint("its tables hold the whole run already; shards come from --shard i/n"));
    }
    if flags.watch {
        shards::wait(&flags.run)?;
    }
    let merged = merge_shards(&flags.run, Cpu::detect().n_threads)?;
    status!("{} rows merged, result hash {}", merged.n_rows, merged.result_hash);
    if merged.simd.len() > 1 {
        warning!(
            "the shards were computed with different instructions ({}): floats may differ in the last bits",
            merged.simd.join(", ")
        );
    }
    let workload = RunJson::read(&flags.run)?.identity.workload;
    let kinds = kinds();
    let kind = kind::find(&kinds, &workload);
    if let Some(kind) = kind {
        let notes = (kind.after_tables)(&flags.run, Extent::Merged)?;
        for line in (kind.headline)(&flags.run)?.into_iter().chain(notes) {
            status!("{line}");
        }
    }
    let (n_shards, together_ms) = write_merged_report(&flags.run, kind, &merged)?;
    status!(
        "{n_shards} shards, {:.2} s together; report: {}",
        together_ms / 1e3,
        flags.run.join("report.html").display()
    );
    if merged.n_failures > 0 {
        warn_of_failures(&flags.run, merged.n_failures)?;
    }
    stdout::line(flags.run.display())?;
    Ok(if merged.n_failures == 0 { Code::Solved } else { Code::SomeFailed })
}
