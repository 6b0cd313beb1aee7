//! Graphics processors: which ones a run uses, and what is said when there are none.

use swathe::{Faults, Gpu, GpuSearch, Gpus, RefusedReason, Routing};

use crate::cli_error::CliError;
use crate::settings::Found;
use crate::status;
use crate::vulkan;

/// What `--device` asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceChoice {
    /// Whatever was measured to be fastest.
    Auto,
    /// The processor alone.
    Cpu,
    /// Graphics processors wherever kernels can do it: these, or all of them.
    Gpu(Option<Vec<usize>>),
}

impl DeviceChoice {
    /// Reads what `--device` says.
    ///
    /// # Errors
    /// If it is no device.
    pub fn parse(found: &Found) -> Result<DeviceChoice, CliError> {
        let wrong = || {
            found
                .fault("a device")
                .hint("write auto, cpu, gpu, or gpu:0,2; `swathe devices` shows what there is")
        };
        match found.value.as_str() {
            "auto" => Ok(DeviceChoice::Auto),
            "cpu" => Ok(DeviceChoice::Cpu),
            "gpu" => Ok(DeviceChoice::Gpu(None)),
            other => {
                let numbers = other.strip_prefix("gpu:").ok_or_else(wrong)?;
                let numbers = numbers.split(',').map(|number| number.trim().parse());
                let numbers = numbers.collect::<Result<Vec<usize>, _>>();
                Ok(DeviceChoice::Gpu(Some(numbers.map_err(|_| wrong())?)))
            }
        }
    }

    /// Opens the devices asked for. What is not there, or not used, is told in one line; the run
    /// then goes to the CPU.
    pub fn open(
        &self,
        has_kernels: bool,
        faults: &Faults,
    ) -> Result<(Vec<Gpu>, Routing), CliError> {
        let wanted = match self {
            DeviceChoice::Cpu => return Ok((Vec::new(), Routing::Measured)),
            // Looking for devices takes a while: not for those who could not use one.
            DeviceChoice::Auto if !has_kernels => return Ok((Vec::new(), Routing::Measured)),
            DeviceChoice::Auto => None,
            DeviceChoice::Gpu(wanted) => wanted.as_deref(),
        };
        let search = search(faults)?;
        let is_hopeless =
            !search.software && !vulkan::may_have_hardware() && !vulkan::is_set_by_hand();
        if *self == DeviceChoice::Auto && is_hopeless {
            return Ok((Vec::new(), Routing::Measured));
        }
        let found = Gpus::find(&search);
        let mut usable = found.usable.clone();
        if let Some(numbers) = wanted
            && !usable.is_empty()
        {
            if let Some(missing) = numbers.iter().find(|&&number| number >= usable.len()) {
                return Err(CliError::usage(format!(
                    "--device asks for gpu:{missing}, but there are only gpu:0 to gpu:{}",
                    usable.len() - 1
                ))
                .hint("`swathe devices` shows what there is"));
            }
            usable = numbers
                .iter()
                .map(|&number| usable[number].clone())
                .collect();
        }
        if usable.is_empty() {
            let is_asked_for = matches!(self, DeviceChoice::Gpu(_));
            if is_asked_for || is_broken(&found) {
                status!(
                    "no graphics processor, all runs on the CPU: {}",
                    why_none(&found)
                );
            }
        }
        let routing = match self {
            DeviceChoice::Gpu(_) => Routing::Launch,
            _ => Routing::Measured,
        };
        Ok((usable, routing))
    }
}

/// How to look for devices, as the `SWATHE_*` variables say.
pub fn search(faults: &Faults) -> Result<GpuSearch, CliError> {
    let n_copies = match std::env::var("SWATHE_GPUS") {
        Err(_) => 1,
        Ok(text) => text
            .trim()
            .parse()
            .ok()
            .filter(|n| (1..=64).contains(n))
            .ok_or_else(|| {
                CliError::usage(format!("SWATHE_GPUS is '{text}', which is not 1 to 64"))
                    .hint("it opens every graphics processor so many times; leave it out otherwise")
            })?,
    };
    let software = std::env::var("SWATHE_SOFTWARE_GPU");
    Ok(GpuSearch {
        software: software.is_ok_and(|text| text != "0" && !text.is_empty()),
        n_copies,
        faults: faults.clone(),
        ..GpuSearch::default()
    })
}

/// Why no device is used, in one line.
pub fn why_none(found: &Gpus) -> String {
    let refused: Vec<String> = found
        .refused
        .iter()
        .map(|refused| format!("{}: {}", refused.name, refused.reason))
        .collect();
    match refused.is_empty() {
        true => vulkan::why_nothing(),
        false => refused.join("; "),
    }
}

/// Whether there was meant to be a device, and there is none.
fn is_broken(found: &Gpus) -> bool {
    let refused = found.refused.iter().map(|refused| &refused.reason);
    let mut refused = refused.filter(|reason| **reason != RefusedReason::Software);
    refused.next().is_some() || (found.refused.is_empty() && vulkan::is_set_by_hand())
}
