//! Why a pair cannot be solved.

use crate::shape::Shape;
use crate::solution::Link;
use std::fmt;

/// Why a pair has no solution. Every variant carries the values that explain it; the commands turn
/// them into messages with hints.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Failure {
    /// A pixel is NaN, infinite or negative.
    #[error("{side} pixel ({y_px}, {x_px}) is {fault}: {value}")]
    BadPixel {
        /// Which frame of the pair.
        side: Side,
        /// Row of the pixel.
        y_px: usize,
        /// Column of the pixel.
        x_px: usize,
        /// The pixel's value.
        value: f64,
        /// What is wrong with it.
        fault: PixelFault,
    },
    /// The number of values is not height × width.
    #[error("a frame of {shape} needs {} values, not {n_values}", shape.n_px())]
    WrongLength {
        /// The declared shape.
        shape: Shape,
        /// How many values were given.
        n_values: usize,
    },
    /// The two frames have different shapes.
    #[error("source is {source_shape}, target is {target_shape}")]
    UnequalShapes {
        /// Shape of the source frame.
        source_shape: Shape,
        /// Shape of the target frame.
        target_shape: Shape,
    },
    /// The two frames have different pixel sizes.
    #[error("source pixels are {source_um} µm wide, target pixels {target_um} µm")]
    UnequalPixelSizes {
        /// Pixel width of the source.
        source_um: f64,
        /// Pixel width of the target.
        target_um: f64,
    },
    /// Balanced transport (relaxation = ∞) between unequal raw masses has no solution.
    #[error("balanced transport of unequal masses: {mass_src} and {mass_tgt}")]
    UnequalMasses {
        /// Total of the source frame.
        mass_src: f64,
        /// Total of the target frame.
        mass_tgt: f64,
    },
    /// A frame's total is not a finite number.
    #[error("the {side}'s total mass is {mass}")]
    MassOverflow {
        /// Which frame of the pair.
        side: Side,
        /// The total.
        mass: f64,
    },
    /// The cropped pair fits into none of the buckets.
    #[error("no bucket holds {shape}, the largest is {largest}")]
    NoBucket {
        /// Shape of the cropped (and pooled) pair.
        shape: Shape,
        /// The bucket with the most pixels.
        largest: Shape,
    },
    /// A setting is outside its range.
    #[error("{name} = {value}: {rule}")]
    BadSetting {
        /// The setting's name.
        name: &'static str,
        /// Its value.
        value: f64,
        /// What it must be.
        rule: &'static str,
    },
    /// A potential is not finite where its frame has mass.
    #[error("the {side}'s potential is {value} at pixel ({y_px}, {x_px}), which has mass")]
    BadPotential {
        /// Which frame of the pair.
        side: Side,
        /// Row of the pixel.
        y_px: usize,
        /// Column of the pixel.
        x_px: usize,
        /// The potential there.
        value: f64,
    },
    /// An entry of a plan is not a mass between two pixels with mass.
    #[error(
        "the plan's entry from ({}, {}) to ({}, {}) is {}: {rule}",
        link.src_y_px, link.src_x_px, link.tgt_y_px, link.tgt_x_px, link.mass
    )]
    BadLink {
        /// The entry.
        link: Link,
        /// What it must be.
        rule: &'static str,
    },
    /// The caller requested a stop.
    #[error("stopped")]
    Stopped,
}

impl Failure {
    /// A short name for tables, e.g. `unequal_masses`.
    pub fn kind(&self) -> &'static str {
        match self {
            Failure::BadPixel { fault: PixelFault::NotANumber, .. } => "nan_pixel",
            Failure::BadPixel { fault: PixelFault::Infinite, .. } => "infinite_pixel",
            Failure::BadPixel { fault: PixelFault::Negative, .. } => "negative_pixel",
            Failure::WrongLength { .. } => "wrong_length",
            Failure::UnequalShapes { .. } => "unequal_shapes",
            Failure::UnequalPixelSizes { .. } => "unequal_pixel_sizes",
            Failure::UnequalMasses { .. } => "unequal_masses",
            Failure::MassOverflow { .. } => "mass_overflow",
            Failure::NoBucket { .. } => "no_bucket",
            Failure::BadSetting { .. } => "bad_setting",
            Failure::BadPotential { .. } => "bad_potential",
            Failure::BadLink { .. } => "bad_link",
            Failure::Stopped => "stopped",
        }
    }
}

/// One of the two frames of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Where mass comes from.
    Source,
    /// Where mass goes to.
    Target,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Side::Source => "source",
            Side::Target => "target",
        })
    }
}

/// What is wrong with a pixel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PixelFault {
    /// It is NaN.
    NotANumber,
    /// It is +∞ or −∞.
    Infinite,
    /// It is below zero.
    Negative,
}

impl fmt::Display for PixelFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PixelFault::NotANumber => "not a number",
            PixelFault::Infinite => "infinite",
            PixelFault::Negative => "negative",
        })
    }
}
