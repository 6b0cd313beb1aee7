//! NEON vectors.

use super::Kernel;
use super::vector::{InstructionSet, Vector};
use std::arch::aarch64::*;

/// 64-bit ARM: thirty-two registers of 128 bits.
pub(super) struct Neon;

impl InstructionSet for Neon {
    type F32 = float32x4_t;
    type F64 = float64x2_t;

    #[inline(never)]
    fn call<K: Kernel>(kernel: K) -> K::Output {
        kernel.run::<Neon>()
    }
}

impl Vector for float32x4_t {
    type Lane = f32;
    const N_LANES: usize = 4;
    const N_ACCUMULATORS: usize = 24;

    #[inline(always)]
    fn zero() -> Self {
        Self::splat(0.0)
    }

    #[inline(always)]
    fn splat(x: f32) -> Self {
        // SAFETY: every aarch64 target with a standard library has NEON.
        unsafe { vdupq_n_f32(x) }
    }

    #[inline(always)]
    fn mul_add(self, factor: Self, addend: Self) -> Self {
        // SAFETY: every aarch64 target with a standard library has NEON.
        unsafe { vfmaq_f32(addend, self, factor) }
    }

    #[inline(always)]
    fn canonical_nan(self) -> Self {
        // SAFETY: every aarch64 target with a standard library has NEON.
        unsafe { vbslq_f32(vceqq_f32(self, self), self, vdupq_n_f32(f32::NAN)) }
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: the caller promises four readable elements.
        unsafe { vld1q_f32(from) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: the caller promises four writable elements.
        unsafe { vst1q_f32(to, self) }
    }

    #[inline(always)]
    unsafe fn load_first(from: *const f32, n_lanes: usize) -> Self {
        let mut lanes = [0.0; 4];
        // SAFETY: the caller promises `n_lanes` readable elements, fewer than four.
        unsafe {
            for (lane_idx, lane) in lanes.iter_mut().enumerate().take(n_lanes) {
                *lane = from.add(lane_idx).read();
            }
            vld1q_f32(lanes.as_ptr())
        }
    }

    #[inline(always)]
    unsafe fn store_first(self, to: *mut f32, n_lanes: usize) {
        let mut lanes = [0.0; 4];
        // SAFETY: the caller promises `n_lanes` writable elements, fewer than four.
        unsafe {
            vst1q_f32(lanes.as_mut_ptr(), self);
            for (lane_idx, lane) in lanes.into_iter().enumerate().take(n_lanes) {
                to.add(lane_idx).write(lane);
            }
        }
    }
}

impl Vector for float64x2_t {
    type Lane = f64;
    const N_LANES: usize = 2;
    const N_ACCUMULATORS: usize = 24;

    #[inline(always)]
    fn zero() -> Self {
        Self::splat(0.0)
    }

    #[inline(always)]
    fn splat(x: f64) -> Self {
        // SAFETY: every aarch64 target with a standard library has NEON.
        unsafe { vdupq_n_f64(x) }
    }

    #[inline(always)]
    fn mul_add(self, factor: Self, addend: Self) -> Self {
        // SAFETY: every aarch64 target with a standard library has NEON.
        unsafe { vfmaq_f64(addend, self, factor) }
    }

    #[inline(always)]
    fn canonical_nan(self) -> Self {
        // SAFETY: every aarch64 target with a standard library has NEON.
        unsafe { vbslq_f64(vceqq_f64(self, self), self, vdupq_n_f64(f64::NAN)) }
    }

    #[inline(always)]
    unsafe fn load(from: *const f64) -> Self {
        // SAFETY: the caller promises two readable elements.
        unsafe { vld1q_f64(from) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f64) {
        // SAFETY: the caller promises two writable elements.
        unsafe { vst1q_f64(to, self) }
    }

    #[inline(always)]
    unsafe fn load_first(from: *const f64, n_lanes: usize) -> Self {
        let mut lanes = [0.0; 2];
        // SAFETY: the caller promises `n_lanes` readable elements, fewer than two.
        unsafe {
            for (lane_idx, lane) in lanes.iter_mut().enumerate().take(n_lanes) {
                *lane = from.add(lane_idx).read();
            }
            vld1q_f64(lanes.as_ptr())
        }
    }

    #[inline(always)]
    unsafe fn store_first(self, to: *mut f64, n_lanes: usize) {
        let mut lanes = [0.0; 2];
        // SAFETY: the caller promises `n_lanes` writable elements, fewer than two.
        unsafe {
            vst1q_f64(lanes.as_mut_ptr(), self);
            for (lane_idx, lane) in lanes.into_iter().enumerate().take(n_lanes) {
                to.add(lane_idx).write(lane);
            }
        }
    }
}
