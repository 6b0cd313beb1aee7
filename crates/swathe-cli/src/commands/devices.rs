//! `swathe devices`: lists the devices of this machine and what swathe uses of them.

use serde_json::{Value, json};
use swathe::{Cpu, Faults, GpuInfo, Gpus};

use crate::flags::DevicesFlags;
use swathe_command::cli_error::{CliError, Code};
use swathe_command::gpus;
use swathe_command::program::programs;

pub(crate) fn devices(flags: &DevicesFlags) -> Result<Code, CliError> {
    let cpu = Cpu::detect();
    let faults = std::env::var("SWATHE_FAULTS").unwrap_or_default();
    let faults: Faults =
        faults.parse().map_err(|error| CliError::usage(format!("SWATHE_FAULTS: {error}")))?;
    let found = Gpus::find(&gpus::search(&faults)?);
    if flags.calibrate {
        for calibrate in programs().iter().filter_map(|program| program.calibrate) {
            calibrate(&found.usable)?;
        }
        return Ok(Code::Solved);
    }
    let why_none = found.usable.is_empty().then(|| gpus::why_none(&found));
    if flags.json {
        let mut devices = vec![json!(swathe::DeviceUse::Cpu(cpu.clone()))];
        devices.extend(found.usable.iter().map(|gpu| described(gpu.info())));
        let devices = json!({
            "devices": devices,
            "refused": found.refused,
            "why_no_gpu": why_none,
            "memory_used_by_default_bytes": cpu.memory_default_bytes(),
        });
        swathe_command::stdout::line(format_args!("{devices:#}"))?;
        return Ok(Code::Solved);
    }
    let mut lines = Vec::new();
    let gib = |bytes: u64| bytes as f64 / (1u64 << 30) as f64;
    lines.push(format!(
        "cpu    {} threads, {} instructions, {:.1} GiB of memory available, {:.1} GiB used unless --memory says otherwise",
        cpu.n_threads,
        cpu.simd,
        gib(cpu.memory_available_bytes),
        gib(cpu.memory_default_bytes())
    ));
    for gpu in &found.usable {
        let info = gpu.info();
        lines.push(format!(
            "gpu:{}  {}, {} ({}), {}buffers up to {:.1} GiB, kernels see {} MiB of one",
            info.number,
            info.name,
            info.backend,
            info.driver,
            if info.software { "software, " } else { "" },
            gib(info.buffer_bytes_max),
            info.binding_bytes_max >> 20
        ));
    }
    if found.usable.is_empty() && found.refused.is_empty() {
        lines.push(format!("gpu    none: {}", gpus::why_none(&found)));
    }
    for refused in &found.refused {
        lines.push(format!("gpu    {} is not used: {}", refused.name, refused.reason));
    }
    swathe_command::stdout::line(lines.join("\n"))?;
    Ok(Code::Solved)
}

fn described(info: &GpuInfo) -> Value {
    let mut described = json!(info);
    described["kind"] = json!("gpu");
    described
}
