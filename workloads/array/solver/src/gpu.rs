//! Kernels for graphics processors.
//!
//! Lanes lie one after the other in a buffer as words of 32 bits, whatever their lengths: nothing
//! is padded. All element-wise kernels work on the words' bits, since a device may flush subnormal
//! numbers and assume that there is no NaN and no infinity: floats are computed with only where
//! operands and results are ordinary numbers.

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

/// The largest operand or result of a lane: what a kernel can see of one buffer on any device.
const LANE_BYTES_MAX: u64 = 128 << 20;

/// The shape in which an item can be launched, if there is a kernel for it.
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

/// The device's memory that a lane of this form takes.
pub(crate) fn need(operation: &Operation, dtype: Dtype, shape: Shape) -> Need {
    let n_elements = shape.extents().first().copied().unwrap_or(1);
    let lane_bytes = u64::from(n_elements) * dtype.size_bytes() as u64;
    match operation {
        Operation::Xor(key) => xor::need(key, lane_bytes),
        Operation::Map(kind) => map::need(*kind, lane_bytes),
        Operation::Matmul => matmul::need(shape),
    }
}

/// Solves items of one element type together.
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
        (operation, Some(dtype)) => Err(GpuError::Unsupported {
            what: format!("{operation} of {dtype} elements"),
        }),
    }
}

/// What is known of a lane before the launch.
enum Lot<T> {
    /// It is launched.
    Launched(T),
    /// Its operands do not fit.
    Failed(ArrayFailure),
    /// No kernel can do it.
    ToCpu(&'static str),
}

impl<T> Lot<T> {
    /// The lane, the launched ones with what the device made of them.
    fn lane(self, done: impl FnOnce(T) -> Answer) -> Lane<Answer, ArrayFailure> {
        match self {
            Lot::Launched(launched) => Lane::Done(Ok(done(launched))),
            Lot::Failed(failure) => Lane::Done(Err(failure)),
            Lot::ToCpu(reason) => Lane::ToCpu(reason.to_owned()),
        }
    }
}

/// An item of another element type than its batch.
const OTHER_DTYPE: &str = "its element type is not its batch's";

/// Whether the operands are of two types: their results are in double precision.
fn is_mixed(first: &Array, second: Option<&Array>) -> bool {
    second.is_some_and(|second| second.dtype() != first.dtype())
}

/// Refuses what no kernel could see of one buffer, before anything is packed.
fn check_size(gpu: &Gpu, wanted_bytes: u64) -> Result<(), GpuError> {
    let info = gpu.info();
    let limit_bytes = info.binding_bytes_max.min(info.buffer_bytes_max);
    if wanted_bytes > limit_bytes {
        return Err(GpuError::TooLarge {
            wanted_bytes,
            limit_bytes,
        });
    }
    Ok(())
}

/// What buffers of so many bytes hold at most besides their rounding: the engine gives a quarter
/// more than is asked for, at most.
fn held_bytes(bytes: u64) -> u64 {
    bytes.saturating_add(bytes.div_ceil(4))
}

/// What a buffer takes at least, parts of a lane's bytes that are rounded up included.
const BUFFER_BYTES_MIN: u64 = 320;
