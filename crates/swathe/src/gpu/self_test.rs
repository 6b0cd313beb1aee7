//! The self-test: a device that computes a wrong result is not used.

use super::{Access, Gpu, Kernel};
use crate::{FaultPoint, Faults, Stop};

const KERNEL: Kernel = Kernel {
    name: "self_test",
    wgsl: &[include_str!("self_test.wgsl")],
    entry: "mix_and_sum",
    bindings: &[Access::Read, Access::Write, Access::Write],
};

const N_WORDS: u32 = 1000;
const GROUP_WIDTH: u32 = 64;

/// Tests wrapping and shifting integers, sums in a workgroup's shared memory, and exact floats.
pub(super) fn run(gpu: &Gpu, faults: &Faults) -> Result<(), String> {
    let words: Vec<u32> = (0..N_WORDS).map(|k| crate::seed::mix(u64::from(k)) as u32).collect();
    let n_groups = N_WORDS.div_ceil(GROUP_WIDTH);
    let compute = || {
        let stop = Stop::new();
        let input = gpu.upload(&words)?;
        let mixed = gpu.zeroed(u64::from(N_WORDS) * 4)?;
        let sums = gpu.zeroed(u64::from(n_groups) * 4)?;
        let mut recording = gpu.record();
        let buffers = [&input, &mixed, &sums];
        recording.launch(&KERNEL, &[N_WORDS], &buffers, u64::from(n_groups))?;
        recording.run(&stop)?;
        let mixed: Vec<u32> = gpu.read(&mixed, N_WORDS as usize, &stop)?;
        let sums: Vec<f32> = gpu.read(&sums, n_groups as usize, &stop)?;
        Ok::<_, super::GpuError>((mixed, sums))
    };
    let (mixed, sums) = compute().map_err(|error| error.to_string())?;
    if faults.refuses(FaultPoint::SelfTest) {
        return Err("a wrong answer on purpose".to_owned());
    }
    for (k, (word, found)) in words.iter().zip(mixed).enumerate() {
        let expected = (word.wrapping_mul(0x9E37_79B9) >> 7) ^ word.rotate_left(5);
        if found != expected {
            return Err(format!("word {k} is {found:#x}, not {expected:#x}"));
        }
    }
    for (k, (group, found)) in words.chunks(GROUP_WIDTH as usize).zip(sums).enumerate() {
        // Sums of small integers are exact in any order.
        let expected: u32 = group.iter().map(|word| word & 0xFFF).sum();
        if found != expected as f32 {
            return Err(format!("sum {k} is {found}, not {expected}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_kernel_is_valid() {
        super::KERNEL.validate().unwrap();
    }
}
