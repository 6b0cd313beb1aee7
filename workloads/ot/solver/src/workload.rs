//! Optimal transport as a [`Workload`] of the engine.

use crate::failure::Failure;
use crate::frame::Pair;
use crate::geometry::place;
use crate::gpu;
use crate::scratch::{Scratch, need};
use crate::settings::Settings;
use crate::shape::Shape;
use crate::solution::Solution;
use crate::solve::solve_with;
use swathe::{Device, DeviceKind, Difference, GpuError, Lane, Need, Size, Stop, Workload};

/// Optimal transport as the engine sees it: pairs of frames under one set of settings.
///
/// A problem's shape is its work grid: the crop, pooled and padded to its bucket.
#[derive(Clone, Debug)]
pub struct Transport {
    /// What to solve, and how exactly.
    pub settings: Settings,
}

/// The size of a pair with this work grid on frames of this shape. The longer side of the frame is
/// the size's class: it sets the coordinate scale, and pairs of different scales cannot share a
/// launch.
pub fn placed_size(work: Shape, frame: Shape) -> Size {
    Size {
        class: frame.longest_px() as u32,
        ..Size::of(swathe::Shape::new(&[work.h_px as u32, work.w_px as u32]))
    }
}

impl Transport {
    /// The memory of a search that solves a pair with one setting after the other: a solution stays
    /// until the next one was compared with it.
    pub(crate) fn need_to_compare(&self, size: &Size, on: DeviceKind, solution_bytes: u64) -> Need {
        let of_one = self.need(size, on);
        let kept = of_one.solution_bytes.saturating_mul(2);
        Need { scratch_bytes: of_one.scratch_bytes.saturating_add(kept), solution_bytes, ..of_one }
    }
}

impl Workload for Transport {
    type Problem = Pair;
    type Solution = Solution;
    type Failure = Failure;
    type Scratch = Scratch;
    type Local = ();
    const NAME: &'static str = "ot";

    /// A pair that cannot be placed (unequal shapes, no bucket) has the size of its frames; solving
    /// it then returns the failure.
    fn size(&self, pair: &Pair) -> Size {
        let Settings { crop, pool, .. } = &self.settings;
        let whole = pair.source.shape;
        let place = || place(&pair.source, &pair.target, crop, *pool).ok();
        let placed = match pair.cut {
            Some(geometry) => Some(geometry),
            None if whole == pair.target.shape => place(),
            None => None,
        };
        placed.map_or(placed_size(whole, whole), |geometry| {
            placed_size(geometry.work, geometry.frame)
        })
    }

    fn need(&self, size: &Size, on: DeviceKind) -> Need {
        if on == DeviceKind::Gpu {
            return gpu::need(size);
        }
        let (h_px, w_px) = match size.shape.extents() {
            [h, w] => (*h as usize, *w as usize),
            _ => (0, 0),
        };
        let shape = Shape::new(h_px, w_px);
        let need = need(shape, &self.settings);
        let pixels = shape.n_px() * self.settings.pool * self.settings.pool;
        // The two frames as they were loaded.
        let loaded = 2 * pixels * size_of::<f64>();
        Need {
            lane_bytes: loaded as u64,
            scratch_bytes: need.scratch_bytes.saturating_add(need.pair_bytes) as u64,
            solution_bytes: need.solution_bytes as u64,
        }
    }

    fn scratch(&self) -> Scratch {
        Scratch::new()
    }

    fn local(&self) {}

    fn solve(
        &self,
        pair: &Pair,
        scratch: &mut Scratch,
        _: &mut (),
        stop: &Stop,
    ) -> Result<Solution, Failure> {
        solve_with(pair, &self.settings, scratch, &|| stop.requested())
    }

    fn launch_form(&self, size: &Size) -> Option<swathe::Shape> {
        gpu::form(size, &self.settings)
    }

    fn launch(
        &self,
        device: &Device,
        padded: swathe::Shape,
        pairs: &[&Pair],
        stop: &Stop,
    ) -> Result<Vec<Lane<Solution, Failure>>, GpuError> {
        gpu::solve(&self.settings, device.kernels()?, padded, pairs, stop)
    }

    fn class_name(&self, class: u32) -> String {
        format!("frames of {class} px")
    }

    fn can_compare(&self) -> bool {
        true
    }

    /// On the CPU all bits must be equal. On other devices figures must agree to four digits and
    /// displacements to a hundredth of a pixel.
    fn agree(
        &self,
        reference: &Solution,
        other: &Solution,
        on: DeviceKind,
    ) -> Result<(), Difference> {
        let differ = |field: &str, expected: String, found: String| {
            Err(Difference { field: field.to_owned(), expected, found })
        };
        if reference.status != other.status {
            return differ("status", reference.status.name().into(), other.status.name().into());
        }
        let mass = reference.mass_transported.abs().max(f64::MIN_POSITIVE);
        let figures = [
            ("cost", reference.cost, other.cost, reference.cost.abs()),
            ("mass_transported", reference.mass_transported, other.mass_transported, mass),
            ("mass_created", reference.mass_created, other.mass_created, mass),
            ("mass_destroyed", reference.mass_destroyed, other.mass_destroyed, mass),
        ];
        for (field, expected, found, scale) in figures {
            let same = match on {
                DeviceKind::Cpu => expected.to_bits() == found.to_bits(),
                DeviceKind::Gpu | DeviceKind::Host => (expected - found).abs() <= 1e-4 * scale,
            };
            if !same {
                return differ(field, expected.to_string(), found.to_string());
            }
        }
        if let (Some(reference), Some(other)) = (&reference.fields, &other.fields) {
            let pixels = reference.velocity_yx_px.iter().zip(&other.velocity_yx_px);
            for (pixel, (expected, found)) in pixels.enumerate() {
                for axis in 0..2 {
                    let (expected, found) = (expected[axis], found[axis]);
                    let same = match on {
                        DeviceKind::Cpu => expected.to_bits() == found.to_bits(),
                        DeviceKind::Gpu | DeviceKind::Host => {
                            expected.is_nan() && found.is_nan() || (expected - found).abs() <= 0.01
                        }
                    };
                    if !same {
                        let field = format!("velocity_yx_px[{pixel}][{axis}]");
                        return differ(&field, expected.to_string(), found.to_string());
                    }
                }
            }
        }
        Ok(())
    }
}
