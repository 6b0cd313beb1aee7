//! Preparation of a pair: checks, crop, pooling and scaling to unit masses.

use crate::failure::{Failure, Side};
use crate::frame::{Frame, Pair};
use crate::geometry::{Geometry, place, pool_live_into};
use crate::settings::{CoordScale, Reference, Settings};
use crate::shape::Shape;

/// A prepared pair: checked, cropped to its live box, pooled, and scaled to unit masses.
///
/// Raw masses A and B reduce to unit masses: with P = c·P′ and c = (AB)^((ε+ρ)/(ε+2ρ)) for the
/// product measure, (AB)^(ρ/(ε+2ρ)) for the counting measure, the mass terms of the objective
/// cancel, and P′ solves the problem of unit masses. With ρ and ρ′ for source and target,
/// c^(ε+ρ+ρ′) = A^(ε+ρ)·B^(ε+ρ′), without the ε on the right for the counting measure.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    pub geometry: Geometry,
    /// Shape of the live box in work pixels.
    pub shape: Shape,
    /// Frame totals, input units.
    pub mass_src: f64,
    pub mass_tgt: f64,
    /// Totals in problem units: 1 if normalised.
    pub mass_a: f64,
    pub mass_b: f64,
    /// Mass of the plan per mass of the unit plan.
    pub plan_scale: f64,
    /// Cost units per frame pixel, and per work pixel.
    pub frame_px: f64,
    pub work_px: f64,
    pub epsilon: f64,
    /// Prices ρ of source and target.
    pub relaxations: [f64; 2],
    pub reference: Reference,
    /// Residual to reach for the unit problem.
    pub tolerance: f64,
}

/// Checks a pair and prepares it for the solver.
pub(crate) fn prepare(pair: &Pair, settings: &Settings) -> Result<Problem, Failure> {
    settings.check()?;
    let (source, target) = (&*pair.source, &*pair.target);
    if source.shape != target.shape {
        return Err(Failure::UnequalShapes {
            source_shape: source.shape,
            target_shape: target.shape,
        });
    }
    if let (Some(source_um), Some(target_um)) = (source.um_per_px, target.um_per_px)
        && source_um != target_um
    {
        return Err(Failure::UnequalPixelSizes { source_um, target_um });
    }
    source.check(Side::Source)?;
    target.check(Side::Target)?;
    let (mass_src, mass_tgt) = (source.mass(), target.mass());
    for (side, mass) in [(Side::Source, mass_src), (Side::Target, mass_tgt)] {
        if !mass.is_finite() {
            return Err(Failure::MassOverflow { side, mass });
        }
    }
    let both_live = mass_src > 0.0 && mass_tgt > 0.0;
    let epsilon = settings.epsilon;
    let relaxations = settings.relaxations();
    if relaxations == [f64::INFINITY; 2] && !settings.normalize && both_live {
        // Sums of the same pixels in another order differ by rounding, which is accepted here.
        let difference = (mass_src - mass_tgt).abs();
        if difference > 1e-9 * mass_src.max(mass_tgt) {
            return Err(Failure::UnequalMasses { mass_src, mass_tgt });
        }
    }
    let geometry = match pair.cut {
        Some(geometry) => geometry,
        None => place(source, target, &settings.crop, settings.pool)?,
    };
    let unit = |mass: f64| {
        if settings.normalize && mass > 0.0 { 1.0 } else { mass }
    };
    let (mass_a, mass_b) = (unit(mass_src), unit(mass_tgt));
    let plan_scale = if both_live {
        plan_scale(epsilon, relaxations, settings.reference, [mass_a, mass_b])
    } else {
        0.0
    };
    let frame_px = match settings.coord_scale {
        CoordScale::Auto => 1.0 / geometry.frame.longest_px().max(1) as f64,
        CoordScale::Fixed(scale) => scale,
    };
    Ok(Problem {
        geometry,
        shape: geometry.live_work(),
        mass_src,
        mass_tgt,
        mass_a,
        mass_b,
        plan_scale,
        frame_px,
        work_px: frame_px * settings.pool as f64,
        epsilon,
        relaxations,
        reference: settings.reference,
        tolerance: settings.tolerance * mass_a.min(mass_b) / plan_scale.max(f64::MIN_POSITIVE),
    })
}

impl Problem {
    /// The pixels of a frame's live box, pooled and scaled to unit mass.
    pub(crate) fn unit_pixels(&self, frame: &Frame, mass: f64, out: &mut [f64]) {
        let out = &mut out[..self.shape.n_px()];
        pool_live_into(frame, &self.geometry, out);
        if mass > 0.0 {
            out.iter_mut().for_each(|v| *v /= mass);
        }
    }

    /// The constants to add to the potentials of the unit problem to get those of the problem
    /// itself, in cost units: source and target.
    pub(crate) fn potential_shifts(&self) -> [f64; 2] {
        let reference = match self.reference {
            Reference::Product => self.mass_a * self.mass_b,
            Reference::Counting => 1.0,
        };
        // Both together change the plan by the factor between the two plans.
        let both = self.epsilon * (self.plan_scale / reference).ln();
        let relaxed = |relaxation: f64, mass: f64| -relaxation * (self.plan_scale / mass).ln();
        match self.relaxations.map(f64::is_finite) {
            [false, false] => [0.5 * both; 2],
            [true, true] => [
                relaxed(self.relaxations[0], self.mass_a),
                relaxed(self.relaxations[1], self.mass_b),
            ],
            [true, false] => {
                let shift = relaxed(self.relaxations[0], self.mass_a);
                [shift, both - shift]
            }
            [false, true] => {
                let shift = relaxed(self.relaxations[1], self.mass_b);
                [both - shift, shift]
            }
        }
    }
}

/// Mass of the plan per mass of the unit plan: the factor that makes all mass terms of the objective
/// cancel. A side whose marginal is exact gives the plan its mass.
fn plan_scale(
    epsilon: f64,
    relaxations: [f64; 2],
    reference: Reference,
    [mass_a, mass_b]: [f64; 2],
) -> f64 {
    let [src, tgt] = relaxations;
    if src == tgt {
        let power = match (src.is_finite(), reference) {
            (false, _) => 0.5,
            (true, Reference::Product) => (epsilon + src) / (epsilon + 2.0 * src),
            (true, Reference::Counting) => src / (epsilon + 2.0 * src),
        };
        return (power * (mass_a.ln() + mass_b.ln())).exp();
    }
    if !src.is_finite() {
        return mass_a;
    }
    if !tgt.is_finite() {
        return mass_b;
    }
    let of_reference = match reference {
        Reference::Product => epsilon,
        Reference::Counting => 0.0,
    };
    let logs = (of_reference + src) * mass_a.ln() + (of_reference + tgt) * mass_b.ln();
    (logs / (epsilon + src + tgt)).exp()
}
