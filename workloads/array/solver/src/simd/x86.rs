//! AVX2 and AVX-512 vectors.

use super::Kernel;
use super::vector::{InstructionSet, Vector};
use std::arch::x86_64::*;

/// AVX2 and FMA: sixteen registers of 256 bits.
pub(super) struct Avx2;

/// AVX-512: thirty-two registers of 512 bits, and masks.
pub(super) struct Avx512;

impl InstructionSet for Avx2 {
    type F32 = __m256;
    type F64 = __m256d;

    #[inline(always)]
    fn call<K: Kernel>(kernel: K) -> K::Output {
        // SAFETY: the calling kernel runs on a machine with AVX2 and FMA.
        unsafe { run_avx2(kernel) }
    }
}

impl InstructionSet for Avx512 {
    type F32 = __m512;
    type F64 = __m512d;

    #[inline(always)]
    fn call<K: Kernel>(kernel: K) -> K::Output {
        // SAFETY: the calling kernel runs on a machine with AVX-512.
        unsafe { run_avx512(kernel) }
    }
}

#[inline(never)]
#[target_feature(enable = "avx2,fma")]
pub(super) fn run_avx2<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<Avx2>()
}

#[inline(never)]
#[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) fn run_avx512<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<Avx512>()
}

/// Writes a vector to the stack and copies its first lanes from there in pieces of 4, 2 and 1:
/// masked stores take a dozen cycles on AMD's AVX2 machines.
macro_rules! store_first_in_pieces {
    ($vector:expr, $to:expr, $n_lanes:expr, $n:literal) => {{
        let mut lanes = [0.0; $n];
        // SAFETY: `lanes` has room for the whole vector, and the caller promises `n_lanes`
        // writable elements, which the pieces cover exactly.
        unsafe {
            $vector.store(lanes.as_mut_ptr());
            let mut done = 0;
            if $n_lanes & 4 != 0 {
                $to.copy_from_nonoverlapping(lanes.as_ptr(), 4);
                done = 4;
            }
            if $n_lanes & 2 != 0 {
                $to.add(done).copy_from_nonoverlapping(lanes.as_ptr().add(done), 2);
                done += 2;
            }
            if $n_lanes & 1 != 0 {
                $to.add(done).write(lanes[done]);
            }
        }
    }};
}

impl Vector for __m256 {
    type Lane = f32;
    const N_LANES: usize = 8;
    const N_ACCUMULATORS: usize = 12;

    #[inline(always)]
    fn zero() -> Self {
        // SAFETY: the kernel runs on a machine with AVX2 and FMA.
        unsafe { _mm256_setzero_ps() }
    }

    #[inline(always)]
    fn splat(x: f32) -> Self {
        // SAFETY: the kernel runs on a machine with AVX2 and FMA.
        unsafe { _mm256_set1_ps(x) }
    }

    #[inline(always)]
    fn mul_add(self, factor: Self, addend: Self) -> Self {
        // SAFETY: the kernel runs on a machine with AVX2 and FMA.
        unsafe { _mm256_fmadd_ps(self, factor, addend) }
    }

    #[inline(always)]
    fn canonical_nan(self) -> Self {
        // SAFETY: the kernel runs on a machine with AVX2 and FMA.
        unsafe {
            let is_nan = _mm256_cmp_ps::<_CMP_UNORD_Q>(self, self);
            _mm256_blendv_ps(self, _mm256_set1_ps(f32::NAN), is_nan)
        }
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: the caller promises eight readable elements.
        unsafe { _mm256_loadu_ps(from) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: the caller promises eight writable elements.
        unsafe { _mm256_storeu_ps(to, self) }
    }

    #[inline(always)]
    unsafe fn load_first(from: *const f32, n_lanes: usize) -> Self {
        // SAFETY: the mask lets only the `n_lanes` promised elements be read.
        unsafe {
            let lane_idx = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
            let mask = _mm256_cmpgt_epi32(_mm256_set1_epi32(n_lanes as i32), lane_idx);
            _mm256_maskload_ps(from, mask)
        }
    }

    #[inline(always)]
    unsafe fn store_first(self, to: *mut f32, n_lanes: usize) {
        store_first_in_pieces!(self, to, n_lanes, 8);
    }
}

impl Vector for __m256d {
    type Lane = f64;
    const N_LANES: usize = 4;
    const N_ACCUMULATORS: usize = 12;

    #[inline(always)]
    fn zero() -> Self {
        // SAFETY: the kernel runs on a machine with AVX2 and FMA.
        unsafe { _mm256_setzero_pd() }
    }

    #[inline(always)]
    fn splat(x: f64) -> Self {
        // SAFETY: the kernel runs on a machine with AVX2 and FMA.
        unsafe { _mm256_set1_pd(x) }
    }

    #[inline(always)]
    fn mul_add(self, factor: Self, addend: Self) -> Self {
        // SAFETY: the kernel runs on a machine with AVX2 and FMA.
        unsafe { _mm256_fmadd_pd(self, factor, addend) }
    }

    #[inline(always)]
    fn canonical_nan(self) -> Self {
        // SAFETY: the kernel runs on a machine with AVX2 and FMA.
        unsafe {
            let is_nan = _mm256_cmp_pd::<_CMP_UNORD_Q>(self, self);
            _mm256_blendv_pd(self, _mm256_set1_pd(f64::NAN), is_nan)
        }
    }

    #[inline(always)]
    unsafe fn load(from: *const f64) -> Self {
        // SAFETY: the caller promises four readable elements.
        unsafe { _mm256_loadu_pd(from) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f64) {
        // SAFETY: the caller promises four writable elements.
        unsafe { _mm256_storeu_pd(to, self) }
    }

    #[inline(always)]
    unsafe fn load_first(from: *const f64, n_lanes: usize) -> Self {
        // SAFETY: the mask lets only the `n_lanes` promised elements be read.
        unsafe {
            let lane_idx = _mm256_setr_epi64x(0, 1, 2, 3);
            let mask = _mm256_cmpgt_epi64(_mm256_set1_epi64x(n_lanes as i64), lane_idx);
            _mm256_maskload_pd(from, mask)
        }
    }

    #[inline(always)]
    unsafe fn store_first(self, to: *mut f64, n_lanes: usize) {
        store_first_in_pieces!(self, to, n_lanes, 4);
    }
}

impl Vector for __m512 {
    type Lane = f32;
    const N_LANES: usize = 16;
    const N_ACCUMULATORS: usize = 24;

    #[inline(always)]
    fn zero() -> Self {
        // SAFETY: the kernel runs on a machine with AVX-512.
        unsafe { _mm512_setzero_ps() }
    }

    #[inline(always)]
    fn splat(x: f32) -> Self {
        // SAFETY: the kernel runs on a machine with AVX-512.
        unsafe { _mm512_set1_ps(x) }
    }

    #[inline(always)]
    fn mul_add(self, factor: Self, addend: Self) -> Self {
        // SAFETY: the kernel runs on a machine with AVX-512.
        unsafe { _mm512_fmadd_ps(self, factor, addend) }
    }

    #[inline(always)]
    fn canonical_nan(self) -> Self {
        // SAFETY: the kernel runs on a machine with AVX-512.
        unsafe {
            let is_nan = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(self, self);
            _mm512_mask_blend_ps(is_nan, self, _mm512_set1_ps(f32::NAN))
        }
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: the caller promises sixteen readable elements.
        unsafe { _mm512_loadu_ps(from) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: the caller promises sixteen writable elements.
        unsafe { _mm512_storeu_ps(to, self) }
    }

    #[inline(always)]
    unsafe fn load_first(from: *const f32, n_lanes: usize) -> Self {
        // SAFETY: the mask lets only the `n_lanes` promised elements be read.
        unsafe { _mm512_maskz_loadu_ps((1u16 << n_lanes) - 1, from) }
    }

    #[inline(always)]
    unsafe fn store_first(self, to: *mut f32, n_lanes: usize) {
        // SAFETY: the mask lets only the `n_lanes` promised elements be written.
        unsafe { _mm512_mask_storeu_ps(to, (1u16 << n_lanes) - 1, self) }
    }
}

impl Vector for __m512d {
    type Lane = f64;
    const N_LANES: usize = 8;
    const N_ACCUMULATORS: usize = 24;

    #[inline(always)]
    fn zero() -> Self {
        // SAFETY: the kernel runs on a machine with AVX-512.
        unsafe { _mm512_setzero_pd() }
    }

    #[inline(always)]
    fn splat(x: f64) -> Self {
        // SAFETY: the kernel runs on a machine with AVX-512.
        unsafe { _mm512_set1_pd(x) }
    }

    #[inline(always)]
    fn mul_add(self, factor: Self, addend: Self) -> Self {
        // SAFETY: the kernel runs on a machine with AVX-512.
        unsafe { _mm512_fmadd_pd(self, factor, addend) }
    }

    #[inline(always)]
    fn canonical_nan(self) -> Self {
        // SAFETY: the kernel runs on a machine with AVX-512.
        unsafe {
            let is_nan = _mm512_cmp_pd_mask::<_CMP_UNORD_Q>(self, self);
            _mm512_mask_blend_pd(is_nan, self, _mm512_set1_pd(f64::NAN))
        }
    }

    #[inline(always)]
    unsafe fn load(from: *const f64) -> Self {
        // SAFETY: the caller promises eight readable elements.
        unsafe { _mm512_loadu_pd(from) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f64) {
        // SAFETY: the caller promises eight writable elements.
        unsafe { _mm512_storeu_pd(to, self) }
    }

    #[inline(always)]
    unsafe fn load_first(from: *const f64, n_lanes: usize) -> Self {
        // SAFETY: the mask lets only the `n_lanes` promised elements be read.
        unsafe { _mm512_maskz_loadu_pd((1u8 << n_lanes) - 1, from) }
    }

    #[inline(always)]
    unsafe fn store_first(self, to: *mut f64, n_lanes: usize) {
        // SAFETY: the mask lets only the `n_lanes` promised elements be written.
        unsafe { _mm512_mask_storeu_pd(to, (1u8 << n_lanes) - 1, self) }
    }
}
