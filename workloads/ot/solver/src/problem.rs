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
/// cancel, and P′ solves the problem of unit masses.
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
    pub relaxation: f64,
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
        return Err(Failure::UnequalPixelSizes {
            source_um,
            target_um,
        });
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
    let (epsilon, relaxation) = (settings.epsilon, settings.relaxation);
    if relaxation == f64::INFINITY && !settings.normalize && both_live {
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
        if settings.normalize && mass > 0.0 {
            1.0
        } else {
            mass
        }
    };
    let (mass_a, mass_b) = (unit(mass_src), unit(mass_tgt));
    let plan_scale = if both_live {
        let power = match (relaxation.is_finite(), settings.reference) {
            (false, _) => 0.5,
            (true, Reference::Product) => (epsilon + relaxation) / (epsilon + 2.0 * relaxation),
            (true, Reference::Counting) => relaxation / (epsilon + 2.0 * relaxation),
        };
        (power * (mass_a.ln() + mass_b.ln())).exp()
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
        relaxation,
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

    /// The constant to add to a potential of the unit problem to get one of the problem itself, in
    /// cost units.
    pub(crate) fn potential_shift(&self, mass: f64) -> f64 {
        if self.relaxation.is_finite() {
            -self.relaxation * (self.plan_scale / mass).ln()
        } else {
            let reference = match self.reference {
                Reference::Product => self.mass_a * self.mass_b,
                Reference::Counting => 1.0,
            };
            0.5 * self.epsilon * (self.plan_scale / reference).ln()
        }
    }
}
