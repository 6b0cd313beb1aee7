//! Synthetic time series.

use super::Rng;
use crate::frame::Frame;
use crate::shape::Shape;

/// A synthetic time series: bodies that move, grow, turn and bend, divide, appear and vanish.
///
/// Pixels are computed with additions, multiplications, divisions and square roots only, which
/// every machine rounds in the same way: the same seed gives the same pixels everywhere.
///
/// ```
/// use swathe_ot::{Shape, synth::Series};
/// let series = Series::new(Shape::new(48, 96), 30, 7);
/// let first = series.frame(0);
/// assert!(first.iter().any(|v| *v > 0));
/// assert_ne!(first, series.frame(1));
/// assert_eq!(first, Series::new(Shape::new(48, 96), 30, 7).frame(0));
/// ```
#[derive(Clone, Debug)]
pub struct Series {
    shape: Shape,
    n_frames: usize,
    bodies: Vec<Body>,
}

/// The brightness of a full pixel.
const FULL: f64 = 60_000.0;
/// A series of at least this many frames shows the whole course; a shorter one its beginning.
const COURSE_FRAMES: usize = 30;

impl Series {
    /// The series that belongs to a seed.
    pub fn new(shape: Shape, n_frames: usize, seed: u64) -> Series {
        let mut dice = Rng::new(seed);
        let (h, w) = (shape.h_px as f64, shape.w_px as f64);
        // One large body, or two or three that share the frame along its longer side.
        let n_bodies = 1 + dice.below(3);
        let bodies = (0..n_bodies)
            .map(|i| {
                let along = (i as f64 + 0.5) / n_bodies as f64;
                let (cy, cx) = if w >= h { (h / 2.0, along * w) } else { (along * h, w / 2.0) };
                let room = if w >= h { (h, w / n_bodies as f64) } else { (h / n_bodies as f64, w) };
                // The first body is present throughout; others may appear late or vanish early.
                let fate = if i == 0 { 0 } else { dice.below(3) };
                Body::roll(&mut dice, (cy, cx), room, fate)
            })
            .collect();
        Series { shape, n_frames, bodies }
    }

    /// Height and width of the frames.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The grey values of a frame, row by row; 0 where there is no mass.
    pub fn frame(&self, time: usize) -> Vec<u16> {
        let course = time as f64 / COURSE_FRAMES.max(self.n_frames) as f64;
        let lobes: Vec<Lobe> = self
            .bodies
            .iter()
            .flat_map(|body| body.lobes(course))
            .map(|lobe| lobe.kept_within(self.shape))
            .collect();
        let mut grey = Vec::with_capacity(self.shape.n_px());
        for y in 0..self.shape.h_px {
            for x in 0..self.shape.w_px {
                let at = |lobe: &Lobe| lobe.at(y as f64, x as f64);
                let brightest = lobes.iter().map(at).fold(0.0, f64::max);
                grey.push((brightest * FULL).round() as u16);
            }
        }
        grey
    }

    /// A frame as input of the solver.
    pub fn density(&self, time: usize) -> Frame {
        Frame {
            shape: self.shape,
            density: self.frame(time).into_iter().map(f64::from).collect(),
            um_per_px: None,
        }
    }
}

/// A body and how it changes over its course, from time 0 to time 1.
#[derive(Clone, Debug)]
struct Body {
    /// Centre in the middle of the course (y, x), px.
    centre: (f64, f64),
    /// How far it moves in the course, px.
    drift: (f64, f64),
    /// Half height and half width at the beginning, px.
    radii: (f64, f64),
    /// Factor of its radii over the course.
    growth: f64,
    /// Angle at the beginning and its change, turns.
    angle: (f64, f64),
    /// Amplitude, phase and change of phase of the outline's harmonics 2, 3 and 4, turns.
    harmonics: [(f64, f64, f64); 3],
    /// When it divides, if it does.
    divides: Option<f64>,
    /// When it appears and when it vanishes.
    present: (f64, f64),
    /// Brightness of its middle.
    brightness: f64,
}

impl Body {
    fn roll(dice: &mut Rng, (cy, cx): (f64, f64), room: (f64, f64), fate: usize) -> Body {
        let long = room.0.max(room.1);
        let (ry, rx) =
            (0.26 * room.0 * dice.between(0.85, 1.15), 0.26 * room.1 * dice.between(0.85, 1.15));
        // Oblong, but no needle.
        let radii = (ry.min(1.8 * rx), rx.min(3.0 * ry));
        let centre = (
            cy + 0.04 * room.0 * dice.between(-1.0, 1.0),
            cx + 0.04 * room.1 * dice.between(-1.0, 1.0),
        );
        let mut away = |most: f64| {
            let far = most * dice.between(0.4, 1.0);
            if dice.below(2) == 0 { far } else { -far }
        };
        let drift = (away(0.25 * room.0), away(0.15 * room.1 + 0.1 * long));
        let harmonics = [2.0, 3.0, 4.0].map(|k: f64| {
            (dice.between(-0.24, 0.24) / k, dice.between(0.0, 1.0), dice.between(-0.5, 0.5))
        });
        let growth = dice.between(0.95, 1.3);
        // A long body in a flat frame has no room to turn.
        let free = (2.0 * radii.0 / radii.1).min(1.0);
        let angle = (free * dice.between(-0.06, 0.06), free * dice.between(-0.12, 0.12));
        let divides = (dice.below(2) == 0).then(|| dice.between(0.15, 0.6));
        let present = match fate {
            0 => (-1.0, 2.0),
            1 => (dice.between(0.1, 0.5), 2.0),
            _ => (-1.0, dice.between(0.5, 0.9)),
        };
        Body {
            centre,
            drift,
            radii,
            growth,
            angle,
            harmonics,
            divides,
            present,
            brightness: dice.between(0.7, 1.0),
        }
    }

    /// Its shape at a time: one lobe, or two from the division on.
    fn lobes(&self, course: f64) -> Vec<Lobe> {
        // Appearing and vanishing each take a sixth of the course.
        let here =
            smooth((course - self.present.0) * 6.0) * smooth((self.present.1 - course) * 6.0);
        if here <= 0.0 {
            return Vec::new();
        }
        let grown = 1.0 + (self.growth - 1.0) * course;
        let (ry, rx) = (self.radii.0 * grown, self.radii.1 * grown);
        let centre = (
            self.centre.0 + self.drift.0 * (course - 0.5),
            self.centre.1 + self.drift.1 * (course - 0.5),
        );
        let axis = sin_cos(self.angle.0 + self.angle.1 * course);
        let wave = |(amplitude, phase, turn): (f64, f64, f64)| {
            let (sin, cos) = sin_cos(phase + turn * course);
            (amplitude * cos, amplitude * sin)
        };
        let waves = self.harmonics.map(wave);
        let lobe = |away: f64, part: f64| Lobe {
            centre: (centre.0 + away * axis.0, centre.1 + away * axis.1),
            radii: (ry * part, rx * part),
            axis,
            waves,
            brightness: self.brightness * here,
        };
        // Once separate, the two lobes together have the area of the whole: 1/√2 of its radii each.
        let apart = self.divides.map_or(0.0, |at| smooth((course - at) * 3.0));
        if apart <= 0.0 {
            return vec![lobe(0.0, 1.0)];
        }
        let part = 1.0 + (0.5_f64.sqrt() - 1.0) * apart;
        let away = 0.82 * rx * apart;
        vec![lobe(-away, part), lobe(away, part)]
    }
}

/// A wobbly ellipse with a soft edge.
#[derive(Clone, Debug)]
struct Lobe {
    centre: (f64, f64),
    radii: (f64, f64),
    /// Sine and cosine of its angle.
    axis: (f64, f64),
    /// Real and imaginary part of the harmonics 2, 3 and 4 of its outline.
    waves: [(f64, f64); 3],
    brightness: f64,
}

impl Lobe {
    /// The same lobe, moved into the frame as far as it fits.
    fn kept_within(mut self, shape: Shape) -> Lobe {
        let (sin, cos) = self.axis;
        let (ry, rx) = self.radii;
        let reach_y = ((rx * sin) * (rx * sin) + (ry * cos) * (ry * cos)).sqrt();
        let reach_x = ((rx * cos) * (rx * cos) + (ry * sin) * (ry * sin)).sqrt();
        let keep = |centre: f64, reach: f64, n_px: usize| {
            let rim = (1.15 * reach).min(n_px as f64 / 2.0);
            centre.clamp(rim, n_px as f64 - rim)
        };
        self.centre =
            (keep(self.centre.0, reach_y, shape.h_px), keep(self.centre.1, reach_x, shape.w_px));
        self
    }

    /// Brightness of a pixel, from 0 to 1.
    fn at(&self, y: f64, x: f64) -> f64 {
        let (dy, dx) = (y - self.centre.0, x - self.centre.1);
        let (sin, cos) = self.axis;
        let u = (cos * dx + sin * dy) / self.radii.1;
        let v = (cos * dy - sin * dx) / self.radii.0;
        let r = (u * u + v * v).sqrt();
        if r >= 1.6 {
            return 0.0;
        }
        // cos(kθ + p) from powers of (u + iv)/r, which needs no inverse trigonometric function.
        let (c, s) = if r > 0.0 { (u / r, v / r) } else { (1.0, 0.0) };
        let (mut power_c, mut power_s) = (c, s);
        let mut edge = 1.0;
        for (re, im) in self.waves {
            (power_c, power_s) = (power_c * c - power_s * s, power_c * s + power_s * c);
            edge += re * power_c - im * power_s;
        }
        // Bright inside, falling to nothing over the last fifth of the radius.
        let inside = smooth((edge - r) / (0.2 * edge));
        let dome = 0.75 + 0.25 * (1.0 - (r / edge) * (r / edge)).max(0.0);
        self.brightness * inside * dome
    }
}

/// Rises from 0 at 0 to 1 at 1, with zero slope at both ends.
fn smooth(share: f64) -> f64 {
    let t = share.clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

/// Sine and cosine of an angle in turns, by their power series: unlike the system's library, this
/// gives the same bits on every machine.
fn sin_cos(turns: f64) -> (f64, f64) {
    let x = (turns - turns.round()) * std::f64::consts::TAU;
    let x2 = x * x;
    let (mut sin, mut cos) = (0.0, 0.0);
    let (mut sin_term, mut cos_term) = (x, 1.0);
    for k in 0..16 {
        sin += sin_term;
        cos += cos_term;
        let k = f64::from(2 * k);
        cos_term *= -x2 / ((k + 1.0) * (k + 2.0));
        sin_term *= -x2 / ((k + 2.0) * (k + 3.0));
    }
    (sin, cos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn power_series_are_sine_and_cosine() {
        for i in -100..100 {
            let turns = f64::from(i) * 0.037;
            let (sin, cos) = sin_cos(turns);
            let (want_sin, want_cos) = (turns * std::f64::consts::TAU).sin_cos();
            assert!((sin - want_sin).abs() < 1e-11 && (cos - want_cos).abs() < 1e-11);
        }
    }

    /// A hash of the pixels, so that a change of a single pixel fails the test on any machine.
    fn fingerprint(series: &Series, times: impl Iterator<Item = usize>) -> u64 {
        let values = times.flat_map(|time| series.frame(time));
        values.fold(0xcbf2_9ce4_8422_2325, |hash, v| {
            (hash ^ u64::from(v)).wrapping_mul(0x0100_0000_01b3)
        })
    }

    #[test]
    fn a_seed_has_its_pixels() {
        let series = Series::new(Shape::new(40, 64), 30, 3);
        assert_eq!(fingerprint(&series, 0..30), 0x2301_a08b_4b91_ed2a);
    }

    #[test]
    fn every_series_moves_and_stays_in_its_frame() {
        let (mut n_dividing, mut n_appearing, mut n_vanishing) = (0, 0, 0);
        for seed in 0..40 {
            let shape = [(48, 96), (64, 64), (96, 40)][seed as usize % 3];
            let shape = Shape::new(shape.0, shape.1);
            let series = Series::new(shape, 30, seed);
            let frames: Vec<Vec<u16>> = (0..30).map(|t| series.frame(t)).collect();
            for (t, pair) in frames.windows(2).enumerate() {
                assert_ne!(pair[0], pair[1], "seed {seed} stands still at {t}");
            }
            for frame in &frames {
                let total: f64 = frame.iter().map(|v| f64::from(*v)).sum();
                let rim = |at: &usize| {
                    let (y, x) = (at / shape.w_px, at % shape.w_px);
                    y == 0 || x == 0 || y + 1 == shape.h_px || x + 1 == shape.w_px
                };
                let places = (0..frame.len()).filter(rim);
                let lost: f64 = places.map(|at| f64::from(frame[at])).sum();
                assert!(total > 0.0 && lost < 0.02 * total, "seed {seed}: {lost} of {total}");
            }
            n_dividing += series.bodies.iter().filter(|b| b.divides.is_some()).count();
            n_appearing += series.bodies.iter().filter(|b| b.present.0 > 0.0).count();
            n_vanishing += series.bodies.iter().filter(|b| b.present.1 < 1.0).count();
        }
        assert!(n_dividing > 5 && n_appearing > 5 && n_vanishing > 5);
    }
}
