//! Pairs of frames with bodies whose motion is known, where mass changes and where it does not:
//! seeded, in closed form.

use std::f64::consts::{PI, TAU};

use swathe_ot::synth::Rng;
use swathe_ot::{Frame, Pair, Shape};

/// What happens in a pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Family {
    // Mass changes.
    Vanishes,
    Appears,
    Grows,
    Shrinks,
    Brightens,
    Leaves,
    LeavesAmongOthers,
    Enters,
    HalfBleaches,
    HalfBleachesAmongOthers,
    VanishesInNoise,
    GrowsInNoise,
    LeavesInNoise,
    HalfBleachesInNoise,
    // Mass stays.
    Moves,
    ShiftsFar,
    Turns,
    Shears,
    SeveralMove,
    SmallOnesMove,
    LargeOneMoves,
    MovesInNoise,
    SeveralMoveInNoise,
    Deforms,
    Divides,
    TouchesTheEdge,
    // Mass changes alike everywhere: normalising is right.
    AllGrow,
    AllFade,
    DividesAndGrows,
}

use Family::*;

/// The families on which the rule was chosen, and which it must flag.
pub(crate) const CHANGING: [Family; 4] = [Vanishes, Grows, Leaves, HalfBleaches];
/// Families that the rule must flag and that were not looked at when it was chosen.
pub(crate) const CHANGING_HELD_OUT: [Family; 10] = [
    Appears,
    Shrinks,
    Brightens,
    LeavesAmongOthers,
    Enters,
    HalfBleachesAmongOthers,
    VanishesInNoise,
    GrowsInNoise,
    LeavesInNoise,
    HalfBleachesInNoise,
];
/// Families of constant mass on which the rule was chosen.
pub(crate) const CONSTANT: [Family; 5] = [Moves, ShiftsFar, Turns, SeveralMove, MovesInNoise];
/// Families of constant mass that were not looked at when the rule was chosen.
pub(crate) const CONSTANT_HELD_OUT: [Family; 7] =
    [Shears, SmallOnesMove, LargeOneMoves, SeveralMoveInNoise, Deforms, Divides, TouchesTheEdge];
/// Families whose mass changes alike everywhere.
pub(crate) const ALIKE: [Family; 3] = [AllGrow, AllFade, DividesAndGrows];

/// A pair with its true motion.
pub(crate) struct MassForm {
    pub(crate) pair: Pair,
    /// The displacement of every pixel of the source.
    motion: Vec<[f64; 2]>,
}

impl MassForm {
    /// The mean length of the error of a displacement over the source's mass, and the mean length of
    /// the true one, px.
    pub(crate) fn error_and_motion_px(&self, velocity: &[[f64; 2]]) -> [f64; 2] {
        let (mut sums, mut mass) = ([0.0; 2], 0.0);
        let density = &self.pair.source.density;
        for ((a, v), u) in density.iter().zip(velocity).zip(&self.motion) {
            // Mass that is gone has no motion.
            if *a > 0.0 && u[0].is_finite() {
                sums[0] += a * (v[0] - u[0]).hypot(v[1] - u[1]);
                sums[1] += a * u[0].hypot(u[1]);
                mass += a;
            }
        }
        sums.map(|sum| sum / mass)
    }
}

/// How light is spread over a body.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Light {
    Even,
    /// Even, and a pixel is either in or out.
    Mask,
    Bell,
    /// Waves, by their amplitude, wave vector and phase.
    Waves([[f64; 4]; 3]),
}

/// Amplitudes and phases of an outline's waves.
type Wobble = [[f64; 2]; 3];

/// A body: an ellipse with a wobble.
#[derive(Clone, Copy, Debug)]
struct Body {
    centre: [f64; 2],
    radii: [f64; 2],
    angle: f64,
    wobble: Wobble,
    light: Light,
    brightness: f64,
    /// The side of a line through the centre in this direction has this part of its light.
    half: Option<(f64, f64)>,
    /// x grows by this part of y.
    shear: f64,
}

impl Body {
    /// Place in the body's own coordinates: the rim is at distance 1.
    fn own(&self, y: f64, x: f64) -> [f64; 2] {
        let (sin, cos) = self.angle.sin_cos();
        let dy = y - self.centre[0];
        let dx = x - self.centre[1] - self.shear * dy;
        [(cos * dy - sin * dx) / self.radii[0], (cos * dx + sin * dy) / self.radii[1]]
    }

    fn density(&self, y: f64, x: f64) -> f64 {
        let [v, u] = self.own(y, x);
        let square = u * u + v * v;
        if square > 9.0 {
            return 0.0;
        }
        let is_inside = || square <= self.radius(v.atan2(u)).powi(2);
        let light = match self.light {
            Light::Bell => match square {
                // The rim is at two standard deviations.
                s if s < 4.0 => (-2.0 * s).exp(),
                _ => 0.0,
            },
            _ if !is_inside() => 0.0,
            Light::Waves(waves) => {
                let all =
                    waves.iter().map(|[a, ky, kx, phase]| a * (ky * v + kx * u + phase).sin());
                1.0 + all.sum::<f64>()
            }
            _ => 1.0,
        };
        let half = match self.half {
            Some((direction, part)) => {
                let side =
                    direction.sin() * (y - self.centre[0]) + direction.cos() * (x - self.centre[1]);
                if side > 0.0 { part } else { 1.0 }
            }
            None => 1.0,
        };
        self.brightness * light * half
    }

    /// The outline's distance at an angle.
    fn radius(&self, angle: f64) -> f64 {
        let waves = self.wobble.iter().enumerate();
        1.0 + waves.map(|(k, [a, phase])| a * ((k as f64 + 2.0) * angle + phase).cos()).sum::<f64>()
    }

    /// How far it reaches.
    fn reach(&self) -> f64 {
        let times = if self.light == Light::Bell { 2.0 } else { 1.25 };
        times * self.radii[0].max(self.radii[1]) * (1.0 + self.shear.abs())
    }
}

fn render(shape: Shape, bodies: &[Body]) -> Frame {
    let mut density = vec![0.0; shape.n_px()];
    for body in bodies {
        let n_sub = if body.light == Light::Mask { 1 } else { 5 };
        let reach = body.reach() + 1.0;
        let range = |axis: usize, n: usize| {
            let from = (body.centre[axis] - reach).floor().clamp(0.0, n as f64) as usize;
            from..((body.centre[axis] + reach).ceil().clamp(0.0, n as f64) as usize)
        };
        for y in range(0, shape.h_px) {
            for x in range(1, shape.w_px) {
                let mut sum = 0.0;
                for i in 0..n_sub * n_sub {
                    let off = |i: usize| (i as f64 + 0.5) / n_sub as f64 - 0.5;
                    sum += body.density(y as f64 + off(i / n_sub), x as f64 + off(i % n_sub));
                }
                density[y * shape.w_px + x] += sum / (n_sub * n_sub) as f64;
            }
        }
        if body.light == Light::Mask {
            density.iter_mut().for_each(|v| *v = v.min(1.0));
        }
    }
    Frame::new(shape.h_px, shape.w_px, density).unwrap()
}

/// What becomes of a body: the bodies that it is next, and the motion of its pixels by place.
struct Fate {
    next: Vec<Body>,
    /// Shift, turn and stretch about the centre.
    shift: [f64; 2],
    turn: f64,
    stretch: f64,
    shear: f64,
}

const SHAPES: [[usize; 2]; 8] =
    [[48, 64], [64, 64], [64, 128], [96, 96], [128, 128], [128, 192], [256, 256], [256, 512]];

/// The form of a family and a seed. `n_shapes` is how many of the shapes are used, small ones first.
pub(crate) fn form(family: Family, seed: u64, n_shapes: usize) -> MassForm {
    let mut dice = Rng::new(seed.wrapping_mul(1_000_003).wrapping_add(family as u64 * 7919 + 17));
    let [h, w] = SHAPES[dice.below(n_shapes.min(SHAPES.len()))];
    let shape = Shape::new(h, w);
    // Some draws leave no room for bodies; the next one is taken.
    loop {
        if let Some(form) = drawn(family, shape, &mut dice) {
            return form;
        }
    }
}

fn wobble(dice: &mut Rng) -> Wobble {
    [0.1, 0.07, 0.05].map(|most| [dice.between(-most, most), dice.between(0.0, TAU)])
}

fn body(dice: &mut Rng, shape: Shape, radius: f64, is_mask: bool) -> Body {
    let waves = |dice: &mut Rng| {
        [(); 3].map(|()| {
            let k = dice.between(2.0, 9.0);
            let way = dice.between(0.0, TAU);
            [dice.between(0.05, 0.25), k * way.sin(), k * way.cos(), dice.between(0.0, TAU)]
        })
    };
    let aspect = dice.between(0.7, 1.0);
    let kind = dice.below(if is_mask { 5 } else { 4 });
    Body {
        centre: [dice.between(0.0, shape.h_px as f64), dice.between(0.0, shape.w_px as f64)],
        radii: if kind == 0 { [radius; 2] } else { [radius * aspect, radius] },
        angle: dice.between(0.0, PI),
        wobble: if kind >= 3 { wobble(dice) } else { [[0.0; 2]; 3] },
        light: match kind {
            2 => Light::Bell,
            3 => Light::Waves(waves(dice)),
            4 => Light::Mask,
            _ => Light::Even,
        },
        brightness: 1.0,
        half: None,
        shear: 0.0,
    }
}

fn is_in(shape: Shape, body: &Body, margin: f64) -> bool {
    let reach = body.reach() + margin;
    [(0, shape.h_px), (1, shape.w_px)]
        .iter()
        .all(|&(axis, n)| body.centre[axis] >= reach && body.centre[axis] <= n as f64 - 1.0 - reach)
}

/// How much of a body's light is in view.
fn share_in(shape: Shape, body: &Body) -> f64 {
    let (mut inside, mut all) = (0.0, 0.0);
    let reach = body.reach();
    for i in 0..40 {
        for j in 0..40 {
            let off = |i: usize| reach * ((i as f64 + 0.5) / 20.0 - 1.0);
            let (y, x) = (body.centre[0] + off(i), body.centre[1] + off(j));
            let light = body.density(y, x);
            all += light;
            let is_in = y >= -0.5
                && x >= -0.5
                && y < shape.h_px as f64 - 0.5
                && x < shape.w_px as f64 - 0.5;
            inside += if is_in { light } else { 0.0 };
        }
    }
    inside / all
}

fn are_apart(bodies: &[Body], gap: f64) -> bool {
    bodies.iter().enumerate().all(|(n, a)| {
        bodies[..n].iter().all(|b| {
            let far = (a.centre[0] - b.centre[0]).hypot(a.centre[1] - b.centre[1]);
            far > a.reach() + b.reach() + gap
        })
    })
}

fn moved(body: &Body, shift: [f64; 2]) -> Body {
    Body { centre: [body.centre[0] + shift[0], body.centre[1] + shift[1]], ..*body }
}

fn drawn(family: Family, shape: Shape, dice: &mut Rng) -> Option<MassForm> {
    let short = shape.h_px.min(shape.w_px) as f64;
    let long = shape.h_px.max(shape.w_px) as f64;
    let is_several = matches!(
        family,
        Vanishes
            | Appears
            | Grows
            | Shrinks
            | Brightens
            | LeavesAmongOthers
            | HalfBleachesAmongOthers
            | VanishesInNoise
            | GrowsInNoise
            | SeveralMove
            | SmallOnesMove
            | SeveralMoveInNoise
    ) || (matches!(family, AllGrow | AllFade) && dice.below(2) == 0);
    let n = match family {
        SmallOnesMove => 6 + dice.below(30),
        _ if is_several => 2 + dice.below(5),
        _ => 1,
    };
    let gap = 4.0_f64.max(0.05 * short);
    let is_bleaching =
        matches!(family, HalfBleaches | HalfBleachesAmongOthers | HalfBleachesInNoise);
    let is_noisy = matches!(
        family,
        VanishesInNoise
            | GrowsInNoise
            | LeavesInNoise
            | HalfBleachesInNoise
            | MovesInNoise
            | SeveralMoveInNoise
    );
    // A mask cannot bleach, brighten, or have counts.
    let may_be_masks = !is_bleaching && !is_noisy && !matches!(family, Brightens | AllFade);
    let radius = |dice: &mut Rng| match family {
        SmallOnesMove => dice.between(1.5, 4.0),
        LargeOneMoves => short * dice.between(0.25, 0.32),
        _ if is_several => (short * dice.between(0.05, 0.14)).max(2.5),
        _ => (short * dice.between(0.05, 0.22)).max(2.5),
    };
    let way = |dice: &mut Rng, far: f64| {
        let angle = dice.between(0.0, TAU);
        [far * angle.sin(), far * angle.cos()]
    };
    let mut before: Vec<Body> = Vec::new();
    let first = {
        let r = radius(dice);
        body(dice, shape, r, may_be_masks)
    };
    let mut fates: Vec<Fate> = Vec::new();
    let common = {
        let far = dice.between(0.5, 0.05 * short);
        way(dice, far)
    };
    for k in 0..n {
        let far = match family {
            ShiftsFar => 0.3 * long,
            TouchesTheEdge => dice.between(1.0, 0.1 * short),
            _ => dice.between(0.5, 0.04 * short),
        };
        let mut found = None;
        for _ in 0..60 {
            let r = radius(dice);
            let own = body(dice, shape, r, may_be_masks);
            // Bodies of a frame are of one kind.
            let mut a = Body { light: first.light, ..own };
            if k == 0 && !is_several {
                a = Body { centre: own.centre, ..first };
            }
            if n > 1 {
                a.brightness = if a.light == Light::Mask { 1.0 } else { dice.between(0.6, 1.4) };
            }
            let own_way = way(dice, far);
            let mut shift = [0, 1].map(|axis| match is_several {
                true => common[axis] + 0.5 * own_way[axis],
                false => own_way[axis],
            });
            let mut fate = Fate { next: Vec::new(), shift, turn: 0.0, stretch: 1.0, shear: 0.0 };
            let mut b = moved(&a, shift);
            let mut must_be_in = [true, true];
            let is_first = k == 0;
            match family {
                Grows | GrowsInNoise if is_first => {
                    fate.stretch = (1.0 + dice.between(0.2, 1.0)).sqrt();
                }
                Shrinks if is_first => fate.stretch = (1.0 - dice.between(0.2, 0.6)).sqrt(),
                Brightens if is_first => {
                    b.brightness *= if dice.below(2) == 0 {
                        1.0 + dice.between(0.2, 1.0)
                    } else {
                        1.0 - dice.between(0.2, 0.6)
                    };
                }
                HalfBleaches | HalfBleachesAmongOthers | HalfBleachesInNoise if is_first => {
                    b.half = Some((dice.between(0.0, TAU), dice.between(0.3, 0.7)));
                }
                Turns => fate.turn = dice.between(-0.5, 0.5),
                Shears => fate.shear = dice.between(-0.3, 0.3),
                AllGrow => fate.stretch = 1.2,
                DividesAndGrows => fate.stretch = dice.between(1.01, 1.08),
                AllFade => b.brightness *= 0.75,
                Leaves | LeavesAmongOthers | LeavesInNoise | Enters if is_first => {
                    // It ends (or begins) partly out of view.
                    let part = dice.between(0.3, 0.9);
                    let side = dice.below(4);
                    let axis = side / 2;
                    let n = if axis == 0 { shape.h_px } else { shape.w_px } as f64;
                    let out = a.radii[0].max(a.radii[1]) * (2.0 * part - 1.0);
                    let edge = if side.is_multiple_of(2) { out - 0.5 } else { n - 0.5 - out };
                    let inward = if side.is_multiple_of(2) { 1.0 } else { -1.0 };
                    let far = dice.between(0.3, 1.6) * a.radii[0];
                    a.centre[axis] = edge + inward * far;
                    let mut by = [dice.between(-2.0, 2.0), dice.between(-2.0, 2.0)];
                    by[axis] = -inward * far;
                    shift = by;
                    b = moved(&a, shift);
                    must_be_in = [false, false];
                    if family == Enters {
                        std::mem::swap(&mut a, &mut b);
                        shift = shift.map(|v| -v);
                    }
                    fate.shift = shift;
                    let shares = [share_in(shape, &a), share_in(shape, &b)];
                    if (shares[0] - shares[1]).abs() < 0.1 || shares[0].min(shares[1]) < 0.15 {
                        continue;
                    }
                }
                TouchesTheEdge => {
                    // It is cut by the edge, along which it moves, or near which it stays.
                    let axis = dice.below(2);
                    a.centre[axis] = dice.between(-0.3, 0.6) * a.radii[0];
                    shift[axis] = 0.0;
                    fate.shift = shift;
                    b = moved(&a, shift);
                    must_be_in = [false, false];
                    let other = 1 - axis;
                    let n = [shape.h_px, shape.w_px][other] as f64;
                    let is_off = |body: &Body| {
                        body.centre[other] < body.reach() + 1.0
                            || body.centre[other] > n - 2.0 - body.reach()
                    };
                    if is_off(&a) || is_off(&b) {
                        continue;
                    }
                }
                Deforms => {
                    b.wobble = wobble(dice);
                }
                _ => {}
            }
            b.radii = b.radii.map(|r| r * fate.stretch);
            b.angle += fate.turn;
            b.shear = fate.shear;
            if must_be_in[0] && !is_in(shape, &a, 1.0) || must_be_in[1] && !is_in(shape, &b, 1.0) {
                continue;
            }
            let mut all = before.clone();
            all.push(a);
            let mut all_next: Vec<Body> = fates.iter().flat_map(|fate| fate.next.clone()).collect();
            if matches!(family, Divides | DividesAndGrows) {
                // Two halves go apart.
                let apart = way(dice, a.reach() * 1.1);
                let r = a.radii.map(|r| r / 2.0_f64.sqrt());
                for sign in [-1.0, 1.0] {
                    let part = moved(&Body { radii: r, ..b }, apart.map(|v| sign * v));
                    fate.next.push(part);
                }
                if !fate.next.iter().all(|part| is_in(shape, part, 1.0)) {
                    continue;
                }
            } else {
                fate.next.push(b);
            }
            all_next.extend(&fate.next);
            if !are_apart(&all, gap)
                || (!matches!(family, Divides | DividesAndGrows) && !are_apart(&all_next, gap))
            {
                continue;
            }
            found = Some((a, fate));
            break;
        }
        match found {
            Some((a, fate)) => {
                before.push(a);
                fates.push(fate);
            }
            None if k >= 2 => break,
            None => return None,
        }
    }
    match family {
        Vanishes | VanishesInNoise => fates[0].next.clear(),
        Appears => {
            before.remove(0);
            let new = fates.remove(0).next;
            fates[0].next.extend(new);
        }
        _ => {}
    }
    let after: Vec<Body> = fates.iter().flat_map(|fate| fate.next.clone()).collect();
    let motion = (0..shape.n_px()).map(|at| {
        let (y, x) = ((at / shape.w_px) as f64, (at % shape.w_px) as f64);
        let off = |body: &Body| {
            let [v, u] = body.own(y, x);
            u.hypot(v)
        };
        let nearest = (0..before.len())
            .min_by(|&m, &n| off(&before[m]).total_cmp(&off(&before[n])))
            .unwrap_or(0);
        let (fate, body) = (&fates[nearest], &before[nearest]);
        if fate.next.is_empty() {
            return [f64::NAN; 2];
        }
        let (dy, dx) = (y - body.centre[0], x - body.centre[1]);
        let (sin, cos) = (fate.turn.sin(), fate.turn.cos());
        let s = fate.stretch;
        [
            fate.shift[0] + s * (cos * dy + sin * dx) - dy,
            fate.shift[1] + s * (cos * dx - sin * dy) - dx + fate.shear * dy,
        ]
    });
    let motion = motion.collect();
    let (mut source, mut target) = (render(shape, &before), render(shape, &after));
    if is_noisy {
        // From counts that are few to counts that are many.
        let per_px = dice.between(3.0, 6.0).exp();
        for frame in [&mut source, &mut target] {
            frame.density.iter_mut().for_each(|v| *v = counts(dice, *v * per_px));
        }
    }
    let few = |frame: &Frame| frame.density.iter().filter(|v| **v > 0.0).count() < 5;
    if few(&source) || few(&target) {
        return None;
    }
    Some(MassForm { pair: Pair::new(source, target), motion })
}

/// A number of photons where this many are expected.
fn counts(dice: &mut Rng, expected: f64) -> f64 {
    if expected > 60.0 {
        let (a, b) = (dice.between(1e-12, 1.0), dice.between(0.0, TAU));
        let normal = (-2.0 * a.ln()).sqrt() * b.cos();
        return (expected + expected.sqrt() * normal).round().max(0.0);
    }
    let (end, mut product, mut n) = ((-expected).exp(), 1.0_f64, -1.0_f64);
    while product > end || n < 0.0 {
        product *= dice.between(0.0, 1.0);
        n += 1.0;
        if product <= end {
            break;
        }
    }
    n.max(0.0)
}
