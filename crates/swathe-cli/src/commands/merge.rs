//! `swathe merge`: the shards of a run become one table.

use swathe::Cpu;
use swathe_command::program::kinds;
use swathe_run::kind::{self, Extent};
use swathe_run::store::run_folder::{RunJson, merge_shards};

use crate::flags::MergeFlags;
use swathe_command::cli_error::{CliError, Code};
use swathe_command::stdout;

pub(crate) fn merge(flags: &MergeFlags) -> Result<Code, CliError> {
    let merged = merge_shards(&flags.run, Cpu::detect().n_threads)?;
    eprintln!(
        "{} rows merged, result hash {}",
        merged.n_rows, merged.result_hash
    );
    if merged.simd.len() > 1 {
        eprintln!(
            "warning: the shards were computed with different instructions ({}): floats may differ in the last bits",
            merged.simd.join(", ")
        );
    }
    let workload = RunJson::read(&flags.run)?.identity.workload;
    if let Some(kind) = kind::find(&kinds(), &workload) {
        for note in (kind.after_tables)(&flags.run, Extent::Merged)? {
            eprintln!("{note}");
        }
    }
    if merged.n_failures > 0 {
        eprintln!(
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
