//! `swathe devices`: what this machine has.

use swathe::Cpu;

use crate::fault::{Code, Fault};
use crate::flags::DevicesFlags;

pub(crate) fn devices(flags: &DevicesFlags) -> Result<Code, Fault> {
    let cpu = Cpu::detect();
    let used_bytes = cpu.memory_default_bytes();
    if flags.json {
        let devices = serde_json::json!({
            "devices": [swathe::Device::Cpu(cpu)],
            "memory_used_by_default_bytes": used_bytes,
        });
        println!("{devices:#}");
        return Ok(Code::Solved);
    }
    let gib = |bytes: u64| bytes as f64 / (1u64 << 30) as f64;
    println!(
        "cpu    {} threads, {} instructions, {:.1} GiB of memory available, {:.1} GiB used unless --memory says otherwise",
        cpu.n_threads,
        cpu.simd,
        gib(cpu.memory_available_bytes),
        gib(used_bytes)
    );
    println!("gpu    none: this version runs on the CPU only");
    Ok(Code::Solved)
}
