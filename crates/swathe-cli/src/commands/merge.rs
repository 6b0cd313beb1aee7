//! `swathe merge`: the shards of a run become one table.

use swathe::{Cpu, Workload as _};
use swathe_arc::GridPrograms;
use swathe_io::run_folder::{RunJson, merge_shards};

use crate::fault::{Code, Fault};
use crate::flags::MergeFlags;
use crate::stdout;

pub(crate) fn merge(flags: &MergeFlags) -> Result<Code, Fault> {
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
    if RunJson::read(&flags.run)?.identity.workload == GridPrograms::NAME {
        super::arc::after_merge(&flags.run)?;
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
