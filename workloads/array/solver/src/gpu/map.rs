//! Maps on a graphics processor.
//!
//! Sums, products, squares, roots, magnitudes and negations have the CPU's bits, including
//! subnormal numbers, infinities and NaN. Exponentials and logarithms use the CPU's formulas, which
//! a device may round differently.

use std::borrow::Borrow;

use swathe::{Access, Gpu, GpuError, Kernel, Lane, Need, Stop};

use super::pack::{Packed, Words};
use super::{BUFFER_BYTES_MIN, LaneFate, OTHER_DTYPE, check_size, held_bytes, is_mixed};
use crate::Array;
use crate::fit::{FloatWork, Slice};
use crate::map::{Map, Operand};
use crate::operation::{MapKind, MapOperand};
use crate::workload::{Answer, ArrayFailure, ArrayWorkload, Item};

const SCALAR: Kernel = Kernel {
    name: "array.map_scalar",
    wgsl: &[include_str!("map.wgsl")],
    entry: "map_scalar",
    bindings: &[Access::Write],
};

const PAIRS: Kernel = Kernel {
    name: "array.map_pairs",
    wgsl: &[include_str!("map.wgsl")],
    entry: "map_pairs",
    bindings: &[Access::Write, Access::Read],
};

/// How far exponentials and logarithms may be from the CPU's, in units in the last place. A device
/// that does not fuse multiplication and addition is at most 2 away, as measured on Mesa's software
/// device; one more allows for devices with other rounding.
pub(crate) const N_ULP_MAX: u64 = 3;

/// The device memory that a lane of `lane_bytes` needs.
pub(super) fn need(kind: MapKind, lane_bytes: u64) -> Need {
    // Elements are mapped in place and read back through a buffer of the same size.
    let n_copies = if takes_pairs(kind) { 3 } else { 2 };
    const N_BUFFERS: u64 = 4;
    Need {
        lane_bytes: n_copies * held_bytes(lane_bytes),
        scratch_bytes: N_BUFFERS * BUFFER_BYTES_MIN,
        solution_bytes: 0,
    }
}

pub(super) fn solve<A: Borrow<Array> + Send + Sync>(
    workload: &ArrayWorkload<A>,
    kind: MapKind,
    gpu: &Gpu,
    items: &[&Item<A>],
    stop: &Stop,
) -> Result<Vec<Lane<Answer, ArrayFailure>>, GpuError> {
    let lots: Vec<LaneFate<Fitting<'_>>> = items
        .iter()
        .map(|item| match Fitting::of(workload, item) {
            Ok(Some(fitting)) => LaneFate::Launched(fitting),
            Ok(None) => LaneFate::ToCpu(OTHER_DTYPE),
            Err(failure) => LaneFate::Failed(failure),
        })
        .collect();
    let words = mapped(kind, gpu, &lots, stop)?;
    let mut rest = words.as_slice();
    let lanes = lots.into_iter().map(|lot| {
        lot.lane(|fitting| {
            let n_elements = fitting.data.len();
            let (own, others) = rest.split_at(n_elements);
            rest = others;
            let out = f32::unpack(own, n_elements);
            Answer { n_nan: fitting.n_made_nan(&out), ..Answer::new(fitting.shape, out) }
        })
    });
    Ok(lanes.collect())
}

/// An item whose operands fit together.
struct Fitting<'a> {
    shape: &'a [usize],
    data: &'a [f32],
    map: Map<'a, f32>,
}

impl<'a> Fitting<'a> {
    /// `None` if the elements have another type.
    fn of<A: Borrow<Array>>(
        workload: &ArrayWorkload<A>,
        item: &'a Item<A>,
    ) -> Result<Option<Fitting<'a>>, ArrayFailure> {
        let (first, second) = workload.operands(item)?;
        let Some(data) = f32::slice(first.elements()) else {
            return Ok(None);
        };
        if is_mixed(first, second) {
            return Ok(None);
        }
        Ok(match workload.float_work(first, second)? {
            FloatWork::Map(map) => Some(Fitting { shape: first.shape(), data, map }),
            FloatWork::Product { .. } => None,
        })
    }

    /// How many results are NaN although no operand was.
    fn n_made_nan(&self, out: &[f32]) -> u64 {
        let count = |is_made: &mut dyn Iterator<Item = bool>| is_made.map(u64::from).sum();
        let pairs = self.data.iter().zip(out);
        match self.map {
            Map::Add(Operand::Array(operand)) | Map::Multiply(Operand::Array(operand)) => count(
                &mut pairs
                    .zip(operand)
                    .map(|((x, y), operand)| y.is_nan() & !x.is_nan() & !operand.is_nan()),
            ),
            Map::Add(Operand::Scalar(scalar)) | Map::Multiply(Operand::Scalar(scalar)) => {
                let is_number = !scalar.is_nan();
                count(&mut pairs.map(|(x, y)| y.is_nan() & !x.is_nan() & is_number))
            }
            Map::Sqrt | Map::Log => count(&mut pairs.map(|(x, y)| y.is_nan() & !x.is_nan())),
            // These never turn a number into NaN.
            Map::Square | Map::Exp | Map::Abs | Map::Negate => 0,
        }
    }
}

/// Launches the kernel and returns the mapped words of the launched lanes.
fn mapped(
    kind: MapKind,
    gpu: &Gpu,
    lots: &[LaneFate<Fitting<'_>>],
    stop: &Stop,
) -> Result<Vec<u32>, GpuError> {
    let launched = || {
        lots.iter().filter_map(|lot| match lot {
            LaneFate::Launched(fitting) => Some(fitting),
            _ => None,
        })
    };
    let n_words: usize = launched().map(|fitting| fitting.data.len()).sum();
    check_size(gpu, 4 * n_words as u64)?;
    if n_words == 0 {
        return Ok(Vec::new());
    }
    let mut words = Vec::with_capacity(n_words);
    launched().for_each(|fitting| f32::pack(fitting.data, &mut words));
    let data = gpu.upload(&words)?;
    let n_groups = n_words.div_ceil(Words::N_BLOCK) as u64;
    let scalar = launched().find_map(|fitting| match fitting.map {
        Map::Add(Operand::Scalar(x)) | Map::Multiply(Operand::Scalar(x)) => Some(x.to_bits()),
        _ => None,
    });
    let parameters = [n_words as u32, number(kind), scalar.unwrap_or(0)];
    let mut recording = gpu.record();
    if takes_pairs(kind) {
        words.clear();
        for fitting in launched() {
            if let Map::Add(Operand::Array(operand)) | Map::Multiply(Operand::Array(operand)) =
                fitting.map
            {
                f32::pack(operand, &mut words);
            }
        }
        let operands = gpu.upload(&words)?;
        recording.launch(&PAIRS, &parameters, &[&data, &operands], n_groups)?;
        recording.run(stop)?;
    } else {
        recording.launch(&SCALAR, &parameters, &[&data], n_groups)?;
        recording.run(stop)?;
    }
    gpu.read(&data, n_words, stop)
}

fn takes_pairs(kind: MapKind) -> bool {
    matches!(kind, MapKind::Add(MapOperand::Second) | MapKind::Multiply(MapOperand::Second))
}

/// The number of a map in the kernel.
fn number(kind: MapKind) -> u32 {
    match kind {
        MapKind::Add(_) => 0,
        MapKind::Multiply(_) => 1,
        MapKind::Square => 2,
        MapKind::Sqrt => 3,
        MapKind::Exp => 4,
        MapKind::Log => 5,
        MapKind::Abs => 6,
        MapKind::Negate => 7,
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_kernels_are_valid() {
        for kernel in [super::SCALAR, super::PAIRS] {
            kernel.validate().unwrap();
        }
    }
}
