//! Synthetic embryo-like frames, for demonstrations, tests and benchmarks: the same seed gives
//! the same pixels everywhere.

mod series;

use crate::frame::{Frame, Pair};
use crate::shape::Shape;
pub use series::Series;
use std::f64::consts::TAU;

/// How a synthetic embryo changes from one frame to the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// How far it moves, as a fraction of the longer side.
    pub shift: f64,
    /// By what factor it grows.
    pub growth: f64,
    /// By what angle it turns, radians.
    pub turn: f64,
}

impl Default for Change {
    fn default() -> Change {
        Change { shift: 0.03, growth: 1.05, turn: 0.05 }
    }
}

/// An elongated mask and its moved, grown, slightly bent successor.
///
/// ```
/// use swathe_ot::{Shape, synth};
/// let pair = synth::embryo_pair(Shape::new(64, 128), 7, synth::Change::default());
/// assert!(pair.source.mass() > 500.0);
/// ```
pub fn embryo_pair(shape: Shape, seed: u64, change: Change) -> Pair {
    let mut dice = Rng::new(seed);
    let (h, w) = (shape.h_px as f64, shape.w_px as f64);
    let (ry, rx) = (0.30 * h * dice.between(0.9, 1.1), 0.36 * w * dice.between(0.9, 1.1));
    let angle = dice.between(-0.15, 0.15);
    let outline = Outline::roll(&mut dice);
    let towards = dice.between(0.0, TAU);
    let far = change.shift * h.max(w);
    let mut bent = outline;
    for harmonic in &mut bent.harmonics {
        harmonic.0 += dice.between(-0.01, 0.01);
    }
    let source = Blob { cy: h / 2.0, cx: w / 2.0, ry, rx, angle, outline };
    let target = Blob {
        cy: h / 2.0 + 0.6 * far * towards.sin(),
        cx: w / 2.0 + far * towards.cos(),
        ry: ry * change.growth * dice.between(0.95, 1.05),
        rx: rx * change.growth * dice.between(0.95, 1.05),
        angle: angle + change.turn,
        outline: bent,
    };
    Pair::new(source.mask(shape), target.mask(shape))
}

/// A wobbly ellipse.
#[derive(Clone, Copy, Debug)]
pub struct Blob {
    /// Row of the centre.
    pub cy: f64,
    /// Column of the centre.
    pub cx: f64,
    /// Half height, px.
    pub ry: f64,
    /// Half width, px.
    pub rx: f64,
    /// Rotation, radians.
    pub angle: f64,
    /// Wobble of the outline.
    pub outline: Outline,
}

impl Blob {
    /// The mask of the blob.
    pub fn mask(&self, shape: Shape) -> Frame {
        let (sin, cos) = self.angle.sin_cos();
        let mut density = Vec::with_capacity(shape.n_px());
        for y in 0..shape.h_px {
            for x in 0..shape.w_px {
                let (dy, dx) = (y as f64 - self.cy, x as f64 - self.cx);
                let (u, v) = ((cos * dx + sin * dy) / self.rx, (cos * dy - sin * dx) / self.ry);
                let r = self.outline.radius(v.atan2(u));
                density.push(f64::from(u8::from(u * u + v * v <= r * r)));
            }
        }
        Frame { shape, density, um_per_px: None }
    }
}

/// Amplitude and phase of the harmonics 2, 3, 4 and 5 of an outline.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outline {
    harmonics: [(f64, f64); 4],
}

impl Outline {
    /// A random outline.
    pub fn roll(dice: &mut Rng) -> Outline {
        let mut outline = Outline::default();
        for (k, harmonic) in outline.harmonics.iter_mut().enumerate() {
            let most = 0.2 / (k as f64 + 2.0);
            *harmonic = (dice.between(-most, most), dice.between(0.0, TAU));
        }
        outline
    }

    fn radius(&self, angle: f64) -> f64 {
        let waves = self.harmonics.iter().enumerate();
        1.0 + waves.map(|(k, (a, p))| a * ((k as f64 + 2.0) * angle + p).cos()).sum::<f64>()
    }
}

/// A small pseudo-random number generator (SplitMix64).
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// A generator whose numbers depend on the seed alone.
    pub fn new(seed: u64) -> Rng {
        Rng(seed)
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number in [low, high).
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// An integer below `n`.
    ///
    /// # Panics
    /// If `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        (self.bits() % n as u64) as usize
    }
}
