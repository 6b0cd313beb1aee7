//! Vectors as plain arrays.

use super::Kernel;
use super::vector::{InstructionSet, Vector};

/// The instruction set that every machine supports.
pub(super) struct Portable;

impl InstructionSet for Portable {
    type F32 = Lanes<f32>;
    type F64 = Lanes<f64>;

    #[inline(never)]
    fn call<K: Kernel>(kernel: K) -> K::Output {
        kernel.run::<Portable>()
    }
}

const N_LANES: usize = 4;

/// Four elements side by side.
#[derive(Clone, Copy)]
pub(crate) struct Lanes<T>([T; N_LANES]);

macro_rules! portable_vector {
    ($type:ident) => {
        impl Vector for Lanes<$type> {
            type Lane = $type;
            const N_LANES: usize = N_LANES;
            const N_ACCUMULATORS: usize = 12;

            #[inline(always)]
            fn zero() -> Self {
                Lanes([0.0; N_LANES])
            }

            #[inline(always)]
            fn splat(x: $type) -> Self {
                Lanes([x; N_LANES])
            }

            #[inline(always)]
            fn mul_add(self, factor: Self, addend: Self) -> Self {
                let mut sum = addend;
                for lane_idx in 0..N_LANES {
                    sum.0[lane_idx] =
                        self.0[lane_idx].mul_add(factor.0[lane_idx], addend.0[lane_idx]);
                }
                sum
            }

            #[inline(always)]
            fn canonical_nan(self) -> Self {
                Lanes(self.0.map(|x| if x.is_nan() { $type::NAN } else { x }))
            }

            #[inline(always)]
            unsafe fn load(from: *const $type) -> Self {
                // SAFETY: the caller promises `N_LANES` readable elements.
                Lanes(unsafe { from.cast::<[$type; N_LANES]>().read_unaligned() })
            }

            #[inline(always)]
            unsafe fn store(self, to: *mut $type) {
                // SAFETY: the caller promises `N_LANES` writable elements.
                unsafe { to.cast::<[$type; N_LANES]>().write_unaligned(self.0) }
            }

            #[inline(always)]
            unsafe fn load_first(from: *const $type, n_lanes: usize) -> Self {
                let mut lanes = [0.0; N_LANES];
                for (lane_idx, lane) in lanes.iter_mut().enumerate().take(n_lanes) {
                    // SAFETY: the caller promises `n_lanes` readable elements.
                    *lane = unsafe { from.add(lane_idx).read() };
                }
                Lanes(lanes)
            }

            #[inline(always)]
            unsafe fn store_first(self, to: *mut $type, n_lanes: usize) {
                for (lane_idx, lane) in self.0.into_iter().enumerate().take(n_lanes) {
                    // SAFETY: the caller promises `n_lanes` writable elements.
                    unsafe { to.add(lane_idx).write(lane) };
                }
            }
        }
    };
}
portable_vector!(f32);
portable_vector!(f64);
