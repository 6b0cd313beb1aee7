//! GPUs: which ones a run uses, and the message if there are none.

use std::str::FromStr;

use swathe::{Device, Faults, Gpu, GpuSearch, Gpus, RefusedReason, Routing, Settings};

use crate::cli_error::CliError;
use crate::setting_value::WrongValue;
use crate::vulkan;

/// The value of the setting `device`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceChoice {
    /// The device that was measured to be fastest.
    Auto,
    /// Only the CPU.
    Cpu,
    /// GPUs wherever a kernel supports the problem: the listed ones, or all. It is an error if there
    /// are none.
    Gpu(Option<Vec<usize>>),
}

/// The devices that a run opens.
#[derive(Debug, Default)]
pub struct Opened {
    /// The graphics processors.
    pub gpus: Vec<Gpu>,
    /// Which of them take a problem.
    pub routing: Routing,
    /// Why there are none, if one was to be expected.
    pub note: Option<String>,
}

impl Opened {
    /// The engine's settings with these devices.
    pub fn into_settings(self, engine: Settings) -> Settings {
        let devices = self.gpus.into_iter().map(Device::Gpu).collect();
        Settings { devices, routing: self.routing, ..engine }
    }
}

impl FromStr for DeviceChoice {
    type Err = WrongValue;

    fn from_str(text: &str) -> Result<DeviceChoice, WrongValue> {
        let wrong = || {
            let hint = "write auto, cpu, gpu, or gpu:0,2; `swathe devices` shows what there is";
            WrongValue::not("a device", hint)
        };
        match text {
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
}

impl DeviceChoice {
    /// Opens the chosen devices among those that `find` finds. With `auto`, the run uses the CPU if
    /// there is no usable GPU. Errors call the setting `name`.
    ///
    /// # Errors
    /// If a GPU is asked for that does not exist, or if a variable has an invalid value.
    pub fn open(
        &self,
        name: &str,
        has_kernels: bool,
        faults: &Faults,
        find: impl FnOnce(&GpuSearch) -> Gpus,
    ) -> Result<Opened, CliError> {
        let wanted = match self {
            DeviceChoice::Cpu => return Ok(Opened::default()),
            // The search for devices is slow, so workloads without kernels skip it.
            DeviceChoice::Auto if !has_kernels => return Ok(Opened::default()),
            DeviceChoice::Auto => None,
            DeviceChoice::Gpu(wanted) => wanted.as_deref(),
        };
        let search = search(faults)?;
        let is_hopeless =
            !search.software && !vulkan::may_have_hardware() && !vulkan::is_set_by_hand();
        if *self == DeviceChoice::Auto && is_hopeless {
            return Ok(Opened::default());
        }
        let found = find(&search);
        let mut usable = found.usable.clone();
        if usable.is_empty() && matches!(self, DeviceChoice::Gpu(_)) {
            let why = why_none(&found);
            return Err(CliError::usage(format!("{name} asks for a graphics processor: {why}"))
                .hint("`swathe devices` shows what there is; device auto runs without one"));
        }
        if let Some(numbers) = wanted {
            if let Some(missing) = numbers.iter().find(|&&number| number >= usable.len()) {
                let last = usable.len() - 1;
                let there = match last {
                    0 => "there is only gpu:0".to_owned(),
                    last => format!("there are only gpu:0 to gpu:{last}"),
                };
                return Err(CliError::usage(format!("{name} asks for gpu:{missing}, but {there}"))
                    .hint("`swathe devices` shows what there is"));
            }
            usable = numbers.iter().map(|&number| usable[number].clone()).collect();
        }
        let is_lost = usable.is_empty() && is_broken(&found);
        let note = is_lost
            .then(|| format!("no graphics processor, all runs on the CPU: {}", why_none(&found)));
        let routing = match self {
            DeviceChoice::Gpu(_) => Routing::Launch,
            _ => Routing::Measured,
        };
        Ok(Opened { gpus: usable, routing, note })
    }
}

/// How to search for devices, according to the `SWATHE_*` variables.
///
/// # Errors
/// If `SWATHE_GPUS` is not a number from 1 to 64.
pub fn search(faults: &Faults) -> Result<GpuSearch, CliError> {
    let n_copies = match std::env::var("SWATHE_GPUS") {
        Err(_) => 1,
        Ok(text) => text.trim().parse().ok().filter(|n| (1..=64).contains(n)).ok_or_else(|| {
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

/// Whether a device was expected but cannot be used.
fn is_broken(found: &Gpus) -> bool {
    let refused = found.refused.iter().map(|refused| &refused.reason);
    let mut refused = refused.filter(|reason| **reason != RefusedReason::Software);
    refused.next().is_some() || (found.refused.is_empty() && vulkan::is_set_by_hand())
}
