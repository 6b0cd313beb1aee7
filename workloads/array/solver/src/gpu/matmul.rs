//! Matrix products on a graphics processor.
//!
//! The sums are in order, as on the CPU, but a device may round a product before adding it and may
//! flush subnormal numbers; [`error_max`] bounds the difference. Kernels may assume that there are
//! no infinities and no NaN, so products with such operands, or that could overflow, move to the
//! CPU.

use std::borrow::Borrow;

use swathe::{Access, Gpu, GpuError, Kernel, Lane, Need, Shape, Stop};

use super::{BUFFER_BYTES_MIN, LaneFate, OTHER_DTYPE, check_size, held_bytes, is_mixed};
use crate::Array;
use crate::fit::{FloatWork, Slice};
use crate::matmul::ProductShape;
use crate::workload::{Answer, ArrayFailure, ArrayWorkload, Item};

const MATMUL: Kernel = Kernel {
    name: "array.matmul",
    wgsl: &[include_str!("matmul.wgsl")],
    entry: "matmul",
    bindings: &[Access::Read, Access::Read, Access::Read, Access::Read, Access::Write],
};

/// Rows and columns of a tile.
const N_TILE: u64 = 32;
/// Words per lane in the kernel's table.
const N_LANE_WORDS: usize = 8;

const NOT_FINITE: &str = "an operand holds NaN or an infinity";
const STACK: &str = "it is a stack of products";
const TOO_LARGE: &str = "sums may overflow";

/// Rows, inner extent and columns, if a shape is that of a product.
pub(super) fn extents(shape: Shape) -> Option<[u64; 3]> {
    let &extents: &[u32; 3] = shape.extents().try_into().ok()?;
    Some(extents.map(u64::from))
}

/// The device memory that a product needs.
pub(super) fn need(shape: Shape) -> Need {
    let [n_rows, n_inner, n_cols] = extents(shape).unwrap_or_default();
    let n_tiles = n_rows.div_ceil(N_TILE) * n_cols.div_ceil(N_TILE);
    // The product is read back through a buffer of the same size.
    let bytes = 4 * (n_rows * n_inner + n_inner * n_cols + 2 * n_rows * n_cols);
    let table_bytes = 4 * (N_LANE_WORDS as u64 + n_tiles);
    const N_BUFFERS: u64 = 7;
    Need {
        lane_bytes: held_bytes(bytes) + held_bytes(table_bytes),
        scratch_bytes: N_BUFFERS * BUFFER_BYTES_MIN,
        solution_bytes: 0,
    }
}

pub(super) fn solve<A: Borrow<Array> + Send + Sync>(
    workload: &ArrayWorkload<A>,
    gpu: &Gpu,
    items: &[&Item<A>],
    stop: &Stop,
) -> Result<Vec<Lane<Answer, ArrayFailure>>, GpuError> {
    let lots: Vec<LaneFate<Fitting<'_>>> = items
        .iter()
        .map(|item| match Fitting::of(workload, item) {
            Ok(fitting) => fitting,
            Err(failure) => LaneFate::Failed(failure),
        })
        .collect();
    let elements = products(gpu, &lots, stop)?;
    let mut rest = elements.as_slice();
    let lanes = lots.into_iter().map(|lot| {
        lot.lane(|fitting| {
            let ProductShape { n_rows, n_cols, .. } = fitting.shape;
            let (own, others) = rest.split_at(n_rows * n_cols);
            rest = others;
            Answer { error_max: fitting.error_max, ..Answer::new(&fitting.out_shape, own.to_vec()) }
        })
    });
    Ok(lanes.collect())
}

/// An item whose operands fit together and cannot overflow.
struct Fitting<'a> {
    left: &'a [f32],
    right: &'a [f32],
    shape: ProductShape,
    out_shape: Vec<usize>,
    error_max: f64,
}

impl<'a> Fitting<'a> {
    fn of<A: Borrow<Array>>(
        workload: &ArrayWorkload<A>,
        item: &'a Item<A>,
    ) -> Result<LaneFate<Fitting<'a>>, ArrayFailure> {
        let (first, second) = workload.operands(item)?;
        let Some(left) = f32::slice(first.elements()) else {
            return Ok(LaneFate::ToCpu(OTHER_DTYPE));
        };
        if is_mixed(first, second) {
            return Ok(LaneFate::ToCpu(OTHER_DTYPE));
        }
        let FloatWork::Product { right, stack } = workload.float_work(first, second)? else {
            return Ok(LaneFate::ToCpu(OTHER_DTYPE));
        };
        if stack.n_products() != 1 {
            return Ok(LaneFate::ToCpu(STACK));
        }
        let shape = stack.product();
        let (Some(left_max), Some(right_max)) = (magnitude_max(left), magnitude_max(right)) else {
            return Ok(LaneFate::ToCpu(NOT_FINITE));
        };
        if shape.n_inner as f64 * left_max * right_max >= f64::from(f32::MAX) / 2.0 {
            return Ok(LaneFate::ToCpu(TOO_LARGE));
        }
        Ok(LaneFate::Launched(Fitting {
            left,
            right,
            shape,
            out_shape: stack.out_shape().to_vec(),
            error_max: error_max(shape.n_inner, left_max, right_max),
        }))
    }
}

/// The largest magnitude, or `None` if there is a NaN or an infinity. Compares the bits: magnitudes
/// are ordered like integers, which vector instructions compare many at a time.
fn magnitude_max(data: &[f32]) -> Option<f64> {
    let max = data.iter().map(|x| x.to_bits() & 0x7fff_ffff).max();
    let max = f32::from_bits(max.unwrap_or(0));
    max.is_finite().then_some(f64::from(max))
}

/// How far a sum may be from the CPU's. The CPU rounds a sum of n terms of at most this magnitude n
/// times, by half a unit each; a device rounds it 2 n times, by up to a unit. A device may also
/// flush any operand, product or sum to zero.
fn error_max(n_inner: usize, left_max: f64, right_max: f64) -> f64 {
    let n = n_inner as f64;
    let rounded = 2.5 * n * f64::from(f32::EPSILON) * (n * left_max * right_max);
    let flushed = n * f64::from(f32::MIN_POSITIVE) * (2.0 + left_max + right_max);
    rounded + flushed
}

/// Launches the kernel and returns the elements of the launched lanes' products.
fn products(gpu: &Gpu, lots: &[LaneFate<Fitting<'_>>], stop: &Stop) -> Result<Vec<f32>, GpuError> {
    let launched = || {
        lots.iter().filter_map(|lot| match lot {
            LaneFate::Launched(fitting) => Some(fitting),
            _ => None,
        })
    };
    let n_left: usize = launched().map(|fitting| fitting.left.len()).sum();
    let n_right: usize = launched().map(|fitting| fitting.right.len()).sum();
    let n_out_of = |shape: ProductShape| shape.n_rows * shape.n_cols;
    let n_out: usize = launched().map(|fitting| n_out_of(fitting.shape)).sum();
    check_size(gpu, 4 * n_left.max(n_right).max(n_out) as u64)?;
    if n_out == 0 {
        return Ok(Vec::new());
    }
    let tables = Tables::of(launched());
    check_size(gpu, 4 * tables.lanes.len().max(tables.tile_lanes.len()) as u64)?;
    let out = gpu.buffer(4 * n_out as u64)?;
    let mut elements = Vec::with_capacity(n_left.max(n_right));
    launched().for_each(|fitting| elements.extend_from_slice(fitting.left));
    let left = gpu.upload(&elements)?;
    // The packed elements are on the device, so the vector is reused for the right operands.
    elements.clear();
    launched().for_each(|fitting| elements.extend_from_slice(fitting.right));
    let right = gpu.upload(&elements)?;
    drop(elements);
    let lanes = gpu.upload(&tables.lanes)?;
    let tile_lanes = gpu.upload(&tables.tile_lanes)?;
    let n_tiles = tables.tile_lanes.len();
    let mut recording = gpu.record();
    let buffers = [&left, &right, &lanes, &tile_lanes, &out];
    recording.launch(&MATMUL, &[n_tiles as u32], &buffers, n_tiles as u64)?;
    recording.run(stop)?;
    gpu.read(&out, n_out, stop)
}

/// The positions of the lanes, and the lane of each tile.
struct Tables {
    lanes: Vec<u32>,
    tile_lanes: Vec<u32>,
}

impl Tables {
    fn of<'a>(launched: impl Iterator<Item = &'a Fitting<'a>>) -> Tables {
        let mut tables = Tables { lanes: Vec::new(), tile_lanes: Vec::new() };
        let (mut left_at, mut right_at, mut out_at) = (0, 0, 0);
        for (lane, fitting) in launched.enumerate() {
            let ProductShape { n_rows, n_inner, n_cols } = fitting.shape;
            let n_tile_cols = n_cols.div_ceil(N_TILE as usize);
            let n_tiles = n_rows.div_ceil(N_TILE as usize) * n_tile_cols;
            let first_tile = tables.tile_lanes.len();
            // All of these fit in 32 bits: they were compared with the part of a buffer that a
            // kernel can bind.
            let row: [usize; N_LANE_WORDS] =
                [n_rows, n_inner, n_cols, left_at, right_at, out_at, first_tile, n_tile_cols];
            tables.lanes.extend(row.map(|x| x as u32));
            tables.tile_lanes.resize(first_tile + n_tiles, lane as u32);
            left_at += fitting.left.len();
            right_at += fitting.right.len();
            out_at += n_rows * n_cols;
        }
        tables
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_is_valid() {
        MATMUL.validate().unwrap();
    }

    #[test]
    fn magnitudes_without_nan() {
        assert_eq!(magnitude_max(&[]), Some(0.0));
        assert_eq!(magnitude_max(&[1.0, -2.5, -0.0]), Some(2.5));
        assert_eq!(magnitude_max(&[1.0, f32::NEG_INFINITY]), None);
        assert_eq!(magnitude_max(&[f32::NAN, 1.0]), None);
    }
}
