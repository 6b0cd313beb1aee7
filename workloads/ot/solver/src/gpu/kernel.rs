//! The kernels, and the constants that they share with their launches.

use swathe::{Access, Kernel};

use Access::{Read, Write};

/// The most pixels of a line: a workgroup holds one line.
pub(super) const LINE_MAX: usize = 512;
/// The most values of ε: each is half of the one before.
pub(super) const N_STAGES_MAX: usize = 12;
/// Exponent of a pixel without mass.
pub(super) const DEAD: i32 = -(1 << 28);

const BITS: &str = include_str!("bits.wgsl");
const LANE: &str = include_str!("lane.wgsl");
const LINE: &str = include_str!("line.wgsl");
const COLUMN: &str = include_str!("column.wgsl");

/// Along the rows: lanes, costs, log-masses, potential → sums between the passes.
pub(super) const SPREAD: Kernel = Kernel {
    name: "ot.spread",
    wgsl: &[BITS, LANE, LINE, include_str!("spread.wgsl")],
    entry: "spread",
    bindings: &[Read, Read, Read, Read, Write],
};

/// Along the columns: lanes, costs, log-masses, sums → tallies, γ.
pub(super) const INTO_GAMMA: Kernel = Kernel {
    name: "ot.into_gamma",
    wgsl: &[BITS, LANE, LINE, COLUMN, include_str!("gamma.wgsl")],
    entry: "into_gamma",
    bindings: &[Read, Read, Read, Read, Write, Write],
};

/// Along the columns: lanes, costs, log-masses, sums → tallies, φ, its image.
pub(super) const INTO_PHI: Kernel = Kernel {
    name: "ot.into_phi",
    wgsl: &[BITS, LANE, LINE, COLUMN, include_str!("phi.wgsl")],
    entry: "into_phi",
    bindings: &[Read, Read, Read, Read, Write, Write, Write],
};

/// The end of a sweep: tallies → lanes.
pub(super) const JUDGE: Kernel = Kernel {
    name: "ot.judge",
    wgsl: &[BITS, LANE, include_str!("verdict.wgsl")],
    entry: "judge",
    bindings: &[Read, Write],
};

/// A base-2 logarithm as the kernels store it: an integer, and the bits of an f32 fraction of at
/// most a half in size.
pub(super) type Packed = [i32; 2];

pub(super) const DEAD_PACKED: Packed = [DEAD, 0];

pub(super) fn pack(bits: f64) -> Packed {
    let whole = bits.round();
    [whole as i32, ((bits - whole) as f32).to_bits().cast_signed()]
}

pub(super) fn unpack([whole, part]: Packed) -> f64 {
    f64::from(whole) + f64::from(f32::from_bits(part.cast_unsigned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_valid() {
        for kernel in [SPREAD, INTO_GAMMA, INTO_PHI, JUDGE] {
            if let Err(message) = kernel.validate() {
                panic!("{}: {message}", kernel.name);
            }
        }
    }

    #[test]
    fn packing_keeps_eight_digits_after_the_point() {
        for bits in [0.0, 0.5, -0.5, 1_443.123_456_789, -2_885.499_999_9, 1e-9] {
            assert!((unpack(pack(bits)) - bits).abs() < 3e-8, "{bits}");
        }
    }
}
