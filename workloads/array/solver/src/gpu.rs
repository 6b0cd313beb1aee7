//! Kernels for graphics processors.
//!
//! Lanes are contiguous in a buffer as 32-bit words, without padding. All element-wise kernels work
//! on the bits of the words, because a device may flush subnormal numbers to zero and assume that
//! there is no NaN and no infinity. Float arithmetic is used only if operands and results are
//! normal numbers.

mod map;
mod matmul;
mod pack;
mod xor;

use std::borrow::Borrow;

use swathe::{Gpu, GpuError, Lane, Need, Shape, Stop};

use crate::operation::Operation;
use crate::workload::{Answer, ArrayFailure, ArrayWorkload, Item};
use crate::{Array, Dtype};

pub(crate) use map::N_ULP_MAX;

/// The largest operand or result of a lane: the part of a buffer that a kernel can bind on any
/// device.
const LANE_BYTES_MAX: u64 = 128 << 20;

/// The shape with which an item can be launched, if there is a kernel for it.
pub(crate) fn form(operation: &Operation, dtype: Dtype, shape: Shape) -> Option<Shape> {
    let element_bytes = dtype.size_bytes() as u64;
    let fits = |n_elements: u64| n_elements.saturating_mul(element_bytes) <= LANE_BYTES_MAX;
    let fits_flat = || shape.extents().iter().all(|&n| fits(u64::from(n)));
    let can = match operation {
        Operation::Xor(_) => operation.accepts(dtype) && fits_flat(),
        Operation::Map(_) => dtype == Dtype::F32 && fits_flat(),
        Operation::Matmul => {
            dtype == Dtype::F32
                && matmul::extents(shape).is_some_and(|extents| {
                    let [n_rows, n_inner, n_cols] = extents;
                    fits(n_rows * n_inner) && fits(n_inner * n_cols) && fits(n_rows * n_cols)
                })
        }
    };
    can.then_some(shape)
}

/// The device memory that a lane of this form needs.
pub(crate) fn need(operation: &Operation, dtype: Dtype, shape: Shape) -> Need {
    let n_elements = shape.extents().first().copied().unwrap_or(1);
    let lane_bytes = u64::from(n_elements) * dtype.size_bytes() as u64;
    match operation {
        Operation::Xor(key) => xor::need(key, lane_bytes),
        Operation::Map(kind) => map::need(*kind, lane_bytes),
        Operation::Matmul => matmul::need(shape),
    }
}

/// Solves items of one element type in one launch.
pub(crate) fn solve<A: Borrow<Array> + Send + Sync>(
    workload: &ArrayWorkload<A>,
    gpu: &Gpu,
    items: &[&Item<A>],
    stop: &Stop,
) -> Result<Vec<Lane<Answer, ArrayFailure>>, GpuError> {
    if stop.requested() {
        return Err(GpuError::Stopped);
    }
    let dtype = items.first().map(|item| item.first.borrow().dtype());
    match (workload.operation(), dtype) {
        (_, None) => Ok(Vec::new()),
        (Operation::Xor(_), Some(dtype)) if dtype.is_integer() => match dtype.size_bytes() {
            1 => xor::solve::<A, u8>(workload, gpu, items, stop),
            2 => xor::solve::<A, u16>(workload, gpu, items, stop),
            4 => xor::solve::<A, u32>(workload, gpu, items, stop),
            _ => xor::solve::<A, u64>(workload, gpu, items, stop),
        },
        (Operation::Map(kind), Some(Dtype::F32)) => map::solve(workload, *kind, gpu, items, stop),
        (Operation::Matmul, Some(Dtype::F32)) => matmul::solve(workload, gpu, items, stop),
        (operation, Some(dtype)) => {
            Err(GpuError::Unsupported { what: format!("{operation} of {dtype} elements") })
        }
    }
}

/// How a lane is handled, decided before the launch.
enum LaneFate<T> {
    /// The lane is launched.
    Launched(T),
    /// The operands do not fit.
    Failed(ArrayFailure),
    /// No kernel can solve the lane.
    ToCpu(&'static str),
}

impl<T> LaneFate<T> {
    /// The result of the lane; `done` makes the answer of a launched one.
    fn lane(self, done: impl FnOnce(T) -> Answer) -> Lane<Answer, ArrayFailure> {
        match self {
            LaneFate::Launched(launched) => Lane::Done(Ok(done(launched))),
            LaneFate::Failed(failure) => Lane::Done(Err(failure)),
            LaneFate::ToCpu(reason) => Lane::ToCpu(reason.to_owned()),
        }
    }
}

/// Why an item whose element type differs from its batch's moves to the CPU.
const OTHER_DTYPE: &str = "its element type is not its batch's";

/// Whether the operands have two types: then the results are in double precision.
fn is_mixed(first: &Array, second: Option<&Array>) -> bool {
    second.is_some_and(|second| second.dtype() != first.dtype())
}

/// Fails, before any packing, if a buffer would be larger than a kernel can bind.
fn check_size(gpu: &Gpu, wanted_bytes: u64) -> Result<(), GpuError> {
    let info = gpu.info();
    let limit_bytes = info.binding_bytes_max.min(info.buffer_bytes_max);
    if wanted_bytes > limit_bytes {
        return Err(GpuError::TooLarge { wanted_bytes, limit_bytes });
    }
    Ok(())
}

/// The most that buffers for so many bytes occupy, without rounding: the engine allocates up to a
/// quarter more than requested.
fn held_bytes(bytes: u64) -> u64 {
    bytes.saturating_add(bytes.div_ceil(4))
}

/// The least that a buffer occupies, including the rounding of a lane's parts.
const BUFFER_BYTES_MIN: u64 = 320;
