//! Flags of `swathe watch`.

use std::path::PathBuf;

use clap::Args;

const EXAMPLES: &str = "\
Examples:
  swathe watch RUN                       prints an address to open in a browser on this machine
  swathe watch RUN --port 8123           always the same address; on a machine far away, then
                                         ssh -L 8123:127.0.0.1:8123 THERE shows it here
  curl http://127.0.0.1:8123/metrics     figures for Prometheus; /data.json has everything

The page says whether the run is running, stalled, dead, merging, finished or interrupted, and what
to do then. Watching costs the run nothing: it writes the same small file whether anybody looks or
not, and that file is read twice a second however many do. Ctrl-C ends the watching, not the run.";

/// Shows a run on a live page: how far it is, how fast, what every worker does, memory against the
/// budget, setbacks. The run can be going on, on this machine or another that shares the folder,
/// or be over.
///
/// Only this machine is served; `ssh -L` brings the page to another.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct WatchFlags {
    /// The folder that was given to --out
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// The port; 0 takes one that is free
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) port: u16,
}
