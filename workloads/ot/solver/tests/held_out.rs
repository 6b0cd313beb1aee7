//! The error bar and the choice of ε on closed forms that no constant was chosen on: bodies of
//! random shapes, sizes and motions on frames of random shapes.

#[allow(dead_code, reason = "displacement.rs uses the others")]
mod closed_forms;

use closed_forms::{ClosedForm, Symmetric, carried, frame_of, gaussian_map, inverse};
use std::sync::atomic::{AtomicUsize, Ordering};
use swathe_ot::synth::Rng;
use swathe_ot::{Frame, Pair, Scratch, Settings, Shape, Status, sharp_epsilon, solve_with};

/// A body: its density at a place relative to its centre.
type Body = Box<dyn Fn(f64, f64) -> f64 + Send + Sync>;

const KINDS: [&str; 8] = [
    "moved body",
    "stretched body",
    "turned ellipse",
    "ring",
    "swelling disc",
    "Gaussian",
    "particles",
    "two bodies",
];

/// Random forms: those of equal seeds are equal.
fn forms(seed: u64, n: usize, r_max: f64) -> Vec<ClosedForm> {
    let mut dice = Rng::new(seed);
    let mut all = Vec::new();
    while all.len() < n {
        let kind = all.len() % KINDS.len();
        let r = (dice.between(3.0_f64.ln(), 160.0_f64.ln())).exp();
        if r <= r_max {
            all.push(form(&mut dice, kind, r));
        }
    }
    all
}

fn form(dice: &mut Rng, kind: usize, r: f64) -> ClosedForm {
    match kind {
        0 => moved_body(dice, r),
        1 => stretched_body(dice, r),
        2 => turned_ellipse(dice, r),
        3 => ring(dice, r.clamp(6.0, 100.0)),
        4 => swelling_disc(dice, r),
        5 => gaussian(dice, r.min(80.0)),
        6 => particles(dice),
        _ => two_bodies(dice, r.min(50.0)),
    }
}

/// A frame that holds bodies of radius `r` and their motion, with its middle.
fn stage(dice: &mut Rng, r: f64, way: f64) -> (Shape, [f64; 2]) {
    let mut side = || {
        let least = 2.0 * r + 2.0 * way + 8.0;
        let wide = (least * dice.between(1.0, 2.5)).max(40.0);
        wide.min(least.max(260.0)) as usize
    };
    let shape = Shape::new(side(), side());
    let off = |n: usize, dice: &mut Rng| n as f64 / 2.0 - 0.5 + dice.between(-0.5, 0.5);
    (shape, [off(shape.h_px, dice), off(shape.w_px, dice)])
}

/// A shift in any direction: below a pixel, of some pixels, or of up to a radius.
fn shift(dice: &mut Rng, r: f64) -> [f64; 2] {
    let length = match dice.below(3) {
        0 => dice.between(0.1, 1.0),
        1 => dice.between(1.0, 6.0),
        _ => dice.between(2.0, r.clamp(4.0, 30.0)),
    };
    let (sin, cos) = dice.between(0.0, std::f64::consts::TAU).sin_cos();
    [length * sin, length * cos]
}

/// Discs, ellipses, rectangles, five-pointed bodies and bodies with texture.
fn body(dice: &mut Rng, r: f64) -> (&'static str, Body) {
    let inside = |is: bool| f64::from(u8::from(is));
    let flat = dice.between(0.5, 1.0);
    let (sin, cos) = dice.between(0.0, 3.0).sin_cos();
    let turned = move |y: f64, x: f64| (cos * y - sin * x, sin * y + cos * x);
    match dice.below(5) {
        0 => ("disc", Box::new(move |y, x| inside(y.hypot(x) < r))),
        1 => (
            "ellipse",
            Box::new(move |y, x| {
                let (u, v) = turned(y, x);
                inside((u / flat).hypot(v) < r)
            }),
        ),
        2 => (
            "rectangle",
            Box::new(move |y, x| {
                let (u, v) = turned(y, x);
                inside(u.abs() < 0.7 * flat * r && v.abs() < 0.7 * r)
            }),
        ),
        3 => (
            "star",
            Box::new(move |y, x| {
                let rim = 1.0 + 0.25 * (5.0 * y.atan2(x) + sin).cos();
                inside(y.hypot(x) < 0.8 * r * rim)
            }),
        ),
        _ => (
            "textured disc",
            Box::new(move |y, x| {
                let (u, v) = turned(y, x);
                let wave = 1.0 + 0.6 * (3.0 * u / r).sin() * (2.0 * v / r).cos();
                inside(y.hypot(x) < r) * wave
            }),
        ),
    }
}

/// A body that is carried by p ↦ centre + shift + A·(p − centre) with a positive A: the gradient of
/// a convex function, so this is the map of optimal transport whatever the body's shape is.
fn affine(
    name: String,
    (shape, c): (Shape, [f64; 2]),
    body: Body,
    map: Symmetric,
    shift: [f64; 2],
    gain: f64,
) -> ClosedForm {
    let from = [c[0] - shift[0] / 2.0, c[1] - shift[1] / 2.0];
    let source = frame_of(shape, |y, x| body(y - from[0], x - from[1]));
    let [ia, ib, id] = inverse(map);
    let target = frame_of(shape, |y, x| {
        let (y, x) = (y - from[0] - shift[0], x - from[1] - shift[1]);
        gain * body(ia * y + ib * x, ib * y + id * x)
    });
    let [a, b, d] = map;
    ClosedForm::new(format!("{name}, {shape}"), Pair::new(source, target), move |y, x| {
        let (y, x) = (y - from[0], x - from[1]);
        [shift[0] + a * y + b * x - y, shift[1] + b * y + d * x - x]
    })
}

fn moved_body(dice: &mut Rng, r: f64) -> ClosedForm {
    let by = shift(dice, r);
    let stage = stage(dice, r, by[0].hypot(by[1]));
    let (kind, body) = body(dice, r);
    let name = format!("{kind} of {r:.1} px moved by {:.2} px", by[0].hypot(by[1]));
    let gain = dice.between(0.7, 1.5);
    affine(name, stage, body, [1.0, 0.0, 1.0], by, gain)
}

fn stretched_body(dice: &mut Rng, r: f64) -> ClosedForm {
    // Stretches along two directions.
    let [major, minor] = [dice.between(0.88, 1.15), dice.between(0.88, 1.15)];
    let (sin, cos) = dice.between(0.0, 3.0).sin_cos();
    let map = [
        major * cos * cos + minor * sin * sin,
        (major - minor) * cos * sin,
        major * sin * sin + minor * cos * cos,
    ];
    let by = if dice.below(2) == 0 { [0.0; 2] } else { shift(dice, r) };
    let way = by[0].hypot(by[1]);
    let stage = stage(dice, 1.15 * r, way);
    let (kind, body) = body(dice, r);
    let name =
        format!("{kind} of {r:.1} px stretched by {major:.2} and {minor:.2}, moved by {way:.2} px");
    affine(name, stage, body, map, by, 1.0)
}

/// Between uniform ellipses the map is that between Gaussians of their covariances.
fn turned_ellipse(dice: &mut Rng, r: f64) -> ClosedForm {
    let flat = dice.between(0.45, 0.8);
    let (angle, shear) = (dice.between(-0.35, 0.35), dice.between(-0.2, 0.2));
    let (sin, cos) = angle.sin_cos();
    let from = [r * r / 4.0, 0.0, flat * flat * r * r / 4.0];
    let to = carried([cos, -sin + shear * cos, sin, cos + shear * sin], from);
    let map = gaussian_map(from, to);
    let stage = stage(dice, 1.2 * r, 0.0);
    let body: Body = Box::new(move |y, x| f64::from(u8::from(y.hypot(x / flat) < r)));
    let name = format!("ellipse of {r:.1} px turned by {angle:.2} and sheared by {shear:.2}");
    affine(name, stage, body, map, [0.0; 2], 1.0)
}

/// A body that grows along its radii. `inside` is the part of the mass within a radius, `next` the
/// radius that has this part inside afterwards.
fn radial(
    name: String,
    (shape, c): (Shape, [f64; 2]),
    [source, target]: [Box<dyn Fn(f64) -> f64>; 2],
    next: impl Fn(f64) -> f64 + Send + Sync + 'static,
) -> ClosedForm {
    let of = |density: &dyn Fn(f64) -> f64| -> Frame {
        frame_of(shape, |y, x| density((y - c[0]).hypot(x - c[1])))
    };
    let pair = Pair::new(of(&source), of(&target));
    ClosedForm::new(format!("{name}, {shape}"), pair, move |y, x| {
        let q = (y - c[0]).hypot(x - c[1]);
        let per = if q > 0.0 { next(q) / q - 1.0 } else { 0.0 };
        [per * (y - c[0]), per * (x - c[1])]
    })
}

fn ring(dice: &mut Rng, r: f64) -> ClosedForm {
    let thick = dice.between(2.0, (0.5 * r).max(3.0));
    let (inner, outer) = (r - thick, r);
    let by = dice.between(-0.25, 0.35) * thick.min(8.0) + dice.between(-1.0, 2.5).max(1.0 - inner);
    let stage = stage(dice, r + by.max(0.0), 0.0);
    let within = |a: f64, b: f64| -> Box<dyn Fn(f64) -> f64> {
        Box::new(move |q| f64::from(u8::from(q >= a && q < b)))
    };
    let square = |v: f64| v * v;
    let (in_next, out_next) = (inner + by, outer + by);
    radial(
        format!("ring of {inner:.1}..{outer:.1} px grown by {by:.2} px"),
        stage,
        [within(inner, outer), within(in_next, out_next)],
        move |q| {
            let q = q.clamp(inner, outer);
            let part = (square(q) - square(inner)) / (square(outer) - square(inner));
            (square(in_next) + part * (square(out_next) - square(in_next))).sqrt()
        },
    )
}

/// A disc whose middle grows more (or less) than its rim: radius q moves to q·(1 + k − l·q²/r²).
fn swelling_disc(dice: &mut Rng, r: f64) -> ClosedForm {
    let k = dice.between(-0.08, 0.15);
    let l = dice.between(-0.06, 0.06);
    let next = move |q: f64| q * (1.0 + k - l * (q / r) * (q / r));
    let stage = stage(dice, 1.25 * r, 0.0);
    // The density afterwards, q dq / (q' dq'), by the radius before; found by the radius after.
    const N: usize = 4000;
    let table: Vec<[f64; 2]> = (0..=N)
        .map(|at| {
            let part = at as f64 / N as f64;
            let slope = 1.0 + k - 3.0 * l * part * part;
            let ratio = 1.0 + k - l * part * part;
            [next(part * r), 1.0 / (slope * ratio)]
        })
        .collect();
    let after = move |to: f64| {
        let at = table.partition_point(|[next, _]| *next <= to);
        table.get(at).map_or(0.0, |[_, density]| *density)
    };
    radial(
        format!("disc of {r:.1} px swelling by {k:.2} − {l:.2}"),
        stage,
        [Box::new(move |q| f64::from(u8::from(q < r))), Box::new(after)],
        next,
    )
}

fn gaussian(dice: &mut Rng, r: f64) -> ClosedForm {
    let s = r / 3.4;
    let flat = dice.between(0.6, 1.0);
    let from = [s * s, 0.0, flat * flat * s * s];
    let mut around = |mid: f64, by: f64| dice.between(mid - by, mid + by);
    let by = [around(1.0, 0.12), around(0.0, 0.2), around(0.0, 0.2), around(1.0, 0.12)];
    let to = carried(by, from);
    let map = gaussian_map(from, to);
    let way = shift(dice, r);
    let stage = stage(dice, 1.9 * r, way[0].hypot(way[1]));
    let body: Body = Box::new(move |y, x| {
        let exponent = 0.5 * (y * y / from[0] + x * x / from[2]);
        if exponent > 11.5 { 0.0 } else { (-exponent).exp() }
    });
    let name = format!("Gaussian of {s:.1} px, moved and sheared");
    affine(name, stage, body, map, way, dice.between(0.8, 1.4))
}

/// Bodies far enough apart that each goes its own way.
fn many(name: String, shape: Shape, bodies: Vec<([f64; 2], [f64; 2], Body)>) -> ClosedForm {
    let frame = |moves: f64| {
        frame_of(shape, |y, x| {
            let parts = bodies
                .iter()
                .map(|(c, by, body)| body(y - c[0] - moves * by[0], x - c[1] - moves * by[1]));
            parts.sum()
        })
    };
    let pair = Pair::new(frame(0.0), frame(1.0));
    let motion = move |y: f64, x: f64| {
        let off = |c: &[f64; 2]| (y - c[0]).hypot(x - c[1]);
        let near = bodies.iter().min_by(|a, b| off(&a.0).total_cmp(&off(&b.0)));
        near.map_or([0.0; 2], |body| body.1)
    };
    ClosedForm::new(format!("{name}, {shape}"), pair, motion)
}

/// Particles on a jittered grid, moved alike with small differences.
fn particles(dice: &mut Rng) -> ClosedForm {
    let r = dice.between(1.5, 4.0);
    let common = shift(dice, 6.0);
    let common = common.map(|v: f64| v.clamp(-4.0, 4.0));
    let apart = 2.0 * r + 12.0 + dice.between(0.0, 12.0);
    let (rows, columns) = (2 + dice.below(5), 2 + dice.below(6));
    let shape =
        Shape::new((apart * rows as f64 + 16.0) as usize, (apart * columns as f64 + 16.0) as usize);
    let mut bodies: Vec<([f64; 2], [f64; 2], Body)> = Vec::new();
    for at in 0..rows * columns {
        let mut place = |n: usize| 8.0 + apart * (n as f64 + 0.5) + dice.between(-2.0, 2.0);
        let centre = [place(at / columns), place(at % columns)];
        let own = [dice.between(-0.5, 0.5), dice.between(-0.5, 0.5)];
        let by = [common[0] + own[0], common[1] + own[1]];
        let disc: Body = Box::new(move |y, x| f64::from(u8::from(y.hypot(x) < r)));
        bodies.push((centre, by, disc));
    }
    many(format!("{} particles of {r:.1} px", bodies.len()), shape, bodies)
}

/// Two bodies that move in different directions, at a distance of at least twice their ways.
fn two_bodies(dice: &mut Rng, r: f64) -> ClosedForm {
    let ways = [(); 2].map(|()| {
        let by = shift(dice, r);
        let short = (0.5 * r / by[0].hypot(by[1])).min(1.0);
        by.map(|v| short * v)
    });
    let length = |v: [f64; 2]| v[0].hypot(v[1]);
    let radii = [r, r * dice.between(0.5, 1.0)];
    let gap = 2.0 * (length(ways[0]) + length(ways[1])) + dice.between(3.0, 20.0);
    let off = (radii[0] + radii[1] + gap) / 2.0;
    let (shape, c) = stage(dice, off + radii[0] + length(ways[0]).max(length(ways[1])), 0.0);
    let (sin, cos) = dice.between(0.0, 3.0).sin_cos();
    let centres = [[c[0] - off * sin, c[1] - off * cos], [c[0] + off * sin, c[1] + off * cos]];
    let bodies = (0..2).map(|i| (centres[i], ways[i], body(dice, radii[i]).1));
    let bodies = bodies.collect();
    many(
        format!(
            "two bodies of {:.1} and {:.1} px, {gap:.1} px apart, moved by {:.2} and {:.2} px",
            radii[0],
            radii[1],
            length(ways[0]),
            length(ways[1])
        ),
        shape,
        bodies,
    )
}

/// What came out for one form at the defaults.
struct Judged {
    is_covered: bool,
    is_right: bool,
    words: String,
}

fn judge(form: &ClosedForm, scratch: &mut Scratch) -> Judged {
    for frame in [&form.pair.source, &form.pair.target] {
        let Shape { h_px, w_px } = frame.shape;
        let is_rim = |at: usize| {
            (at / w_px).is_multiple_of(h_px - 1) || (at % w_px).is_multiple_of(w_px - 1)
        };
        let is_whole = (0..h_px * w_px).all(|at| !is_rim(at) || frame.density[at] == 0.0);
        assert!(is_whole, "{} leaves its frame", form.name);
    }
    let settings = Settings::default();
    let epsilon = sharp_epsilon(&form.pair, &settings, scratch, &|| false);
    let settings = Settings { epsilon: epsilon.unwrap().unwrap(), ..settings };
    let solution = solve_with(&form.pair, &settings, scratch, &|| false).unwrap();
    assert_eq!(solution.status, Status::Converged, "{}", form.name);
    let error = form.error(&solution);
    let raw = form.raw_error(&solution);
    let bar = solution.error_bar.unwrap();
    let limit = (0.02 * error.motion_px).max(0.05);
    let is_covered = error.mean_px <= bar.total_px() && error.median_px.abs() <= bar.total_px();
    let is_right = error.median_px.abs() <= limit;
    Judged {
        is_covered,
        is_right,
        words: format!(
            "{}{} ε {:e} motion {:.2} median {:+.4} mean {:.4} bar {:.4} (ε {:.4} ρ {:.4}) raw {:.3}: {}",
            if is_covered { " " } else { "C" },
            if is_right { " " } else { "M" },
            settings.epsilon,
            error.motion_px,
            error.median_px,
            error.mean_px,
            bar.total_px(),
            bar.epsilon_px,
            bar.relaxation_px,
            raw.mean_px,
            form.name
        ),
    }
}

/// Nine of ten errors lie within the error bar, and nearly all medians are right to 2 % or 0.05 px.
#[expect(clippy::print_stdout, reason = "figures to read with --nocapture")]
fn check(forms: &[ClosedForm]) {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut scratch = Scratch::new();
        let mut judged = Vec::new();
        while let Some(form) = forms.get(next.fetch_add(1, Ordering::Relaxed)) {
            judged.push(judge(form, &mut scratch));
        }
        judged
    };
    let judged: Vec<Judged> = std::thread::scope(|scope| {
        let other = scope.spawn(work);
        let mut judged = work();
        judged.extend(other.join().unwrap());
        judged
    });
    let words: Vec<&str> = judged.iter().map(|j| j.words.as_str()).collect();
    let words = words.join("\n");
    let n_covered = judged.iter().filter(|j| j.is_covered).count();
    let n_right = judged.iter().filter(|j| j.is_right).count();
    println!("{words}\n{n_covered} covered, {n_right} right, of {}", forms.len());
    assert!(10 * n_covered >= 9 * forms.len(), "{n_covered} covered:\n{words}");
    // Where bodies move by different lengths, the median is one of these lengths, and a little more
    // mass on one side makes it another.
    assert!(50 * n_right >= 49 * forms.len(), "{n_right} right:\n{words}");
}

#[test]
fn small_forms_are_right_within_their_error_bars() {
    check(&forms(11, 24, 30.0));
}

#[test]
#[ignore = "soak: a minute"]
fn all_forms_are_right_within_their_error_bars() {
    // The share of rims was set after these.
    check(&forms(12, 96, 160.0));
    // The rule for ε was changed once after these; the last ones were drawn after all changes.
    check(&forms(13, 96, 160.0));
    check(&forms(14, 96, 160.0));
}
