//! What to run, as the flags say it, and the checks of flags that belong together.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;
use swathe::Settings;
use swathe_arc::{GridPrograms, Library, Limits, Order, Pairing};
use swathe_command::cli_error::CliError;
use swathe_run::store::run_folder::{RunJson, RunState};

use super::{DIFFERS_SETTING, check_kind};
use crate::flags::{ArcAskedFlags, ArcBattFlags, ArcJobFlags, OrderName, OutputsName, PairingName};

/// What to run, whichever command says it.
pub(super) struct Asked<'a> {
    pub(super) files: &'a [PathBuf],
    pub(super) pairing: PairingName,
    /// Whether differs run beside the programs.
    pub(super) has_differs: bool,
    pub(super) flags: &'a ArcJobFlags,
}

impl<'a> Asked<'a> {
    pub(super) fn programs(flags: &'a ArcAskedFlags, job: &'a ArcJobFlags) -> Asked<'a> {
        Asked { files: &flags.programs, pairing: flags.pairing, has_differs: false, flags: job }
    }

    pub(super) fn batt(flags: &'a ArcBattFlags) -> Asked<'a> {
        Asked {
            files: &flags.files,
            pairing: PairingName::All,
            has_differs: true,
            flags: &flags.job,
        }
    }
}

impl Asked<'_> {
    pub(super) fn check_flags(&self, is_shard: bool) -> Result<(), CliError> {
        if self.flags.submission.is_some() && is_shard {
            return Err(CliError::usage("--submission needs the whole run, not a shard").hint(
                "leave it out; after `swathe merge RUN` type `swathe arc submit RUN --to FILE`",
            ));
        }
        if self.flags.save_programs.is_some() && is_shard {
            return Err(CliError::usage("--save-programs needs the whole run, not a shard").hint(
                "leave it out; after `swathe merge RUN` type `swathe arc save RUN --to DIR`",
            ));
        }
        if self.flags.extend.is_some() && self.pairing == PairingName::Own {
            return Err(CliError::usage("--extend needs --pairing all")
                .hint("programs on their own tasks are quick to run again"));
        }
        if self.flags.augment.is_some() && self.pairing == PairingName::Own {
            return Err(CliError::usage(
                "--augment adds programs of other names, which --pairing own leaves out",
            )
            .hint("leave --pairing or --augment out"));
        }
        if self.flags.harvest && self.pairing == PairingName::Own {
            return Err(CliError::usage(
                "--harvest finds programs of other tasks, which --pairing own leaves out",
            )
            .hint("leave --pairing or --harvest out"));
        }
        Ok(())
    }

    /// The programs as they run alone, with the settings of the flags.
    pub(super) fn workload(
        &self,
        library: Library,
        limits: Limits,
        engine: &Settings,
    ) -> GridPrograms {
        let mut programs = GridPrograms::new(library);
        programs.pairing = match self.pairing {
            PairingName::All => Pairing::All,
            PairingName::Own => Pairing::Own,
        };
        programs.order = match self.flags.order {
            OrderName::Cpython => Order::Cpython,
            OrderName::Sorted => Order::Sorted,
        };
        programs.limits = limits;
        if self.flags.outputs == OutputsName::All {
            programs.output_bytes_max = usize::MAX;
        }
        programs.fit(engine.memory.cap_bytes(), engine.n_threads);
        programs
    }
}

/// Refuses a run whose calls a new run with these settings would not repeat.
pub(super) fn check_extended(
    run: &Path,
    settings: &BTreeMap<String, Value>,
) -> Result<(), CliError> {
    check_kind(run)?;
    let before = RunJson::read(run)?;
    let refused = |why: String| {
        let message = format!("--extend {}: {why}", run.display());
        Err(CliError::usage(message).hint("repeat its settings, or leave --extend out"))
    };
    if before.state != RunState::Complete {
        return refused("the run is not finished".to_owned());
    }
    let version = env!("CARGO_PKG_VERSION");
    if before.identity.version != version {
        let then = before.identity.version;
        return refused(format!("version {then} made the run, this is {version}"));
    }
    let names = ["pairing", "order", "outputs", "call-work", "call-memory"];
    for name in names.into_iter().chain([DIFFERS_SETTING]) {
        let (then, now) = (before.identity.settings.get(name), settings.get(name));
        // A run without differs has no values of differs to take.
        let has_none = name == DIFFERS_SETTING && (then.is_none() || now.is_none());
        if then != now && !has_none {
            let text = |value: Option<&Value>| value.map_or("not set".to_owned(), Value::to_string);
            return refused(format!("--{name} was {}, and is {}", text(then), text(now)));
        }
    }
    Ok(())
}
