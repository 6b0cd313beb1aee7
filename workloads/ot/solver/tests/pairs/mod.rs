//! Pairs that are hard in different ways.

use swathe_ot::synth::{Blob, Change, Outline, Rng, embryo_pair};
use swathe_ot::{Frame, Pair, Shape};

/// Named pairs of a shape: embryos that move little, move far, grow, and the six stress pairs.
pub(crate) fn all(shape: Shape) -> Vec<(&'static str, Pair)> {
    let far = Change { shift: 0.08, growth: 1.3, turn: 0.1 };
    let mut pairs = vec![
        ("embryo", embryo_pair(shape, 11, Change::default())),
        ("far", embryo_pair(shape, 12, far)),
    ];
    pairs.extend(stress(shape));
    pairs
}

/// Noise, sparse pixels, a split, a ring that fills, densities over six decades, stripes.
pub(crate) fn stress(shape: Shape) -> Vec<(&'static str, Pair)> {
    let (h, w) = (shape.h_px as f64, shape.w_px as f64);
    let mut dice = Rng::new(31);
    let embryo = embryo_pair(shape, 13, Change::default());
    let frame = |density: Vec<f64>| Frame::new(shape.h_px, shape.w_px, density).unwrap();
    let map = |f: &mut dyn FnMut(usize, usize) -> f64| {
        let pixels = (0..shape.n_px()).map(|p| f(p / shape.w_px, p % shape.w_px));
        frame(pixels.collect())
    };
    let mut noisy = |mask: &Frame| {
        frame(mask.density.iter().map(|v| -v * dice.between(1e-12, 1.0).ln()).collect())
    };
    let noise = Pair::new(noisy(&embryo.source), noisy(&embryo.target));

    let mut sprinkle = |n: usize| {
        let mut density = vec![0.0; shape.n_px()];
        for _ in 0..n {
            density[dice.below(shape.n_px())] = 1.0;
        }
        frame(density)
    };
    let sparse = Pair::new(sprinkle(150), sprinkle(200));

    let mut blob = |cx: f64, ry: f64, rx: f64| {
        let outline = Outline::roll(&mut dice);
        Blob { cy: 0.5 * h, cx: cx * w, ry: ry * h, rx: rx * w, angle: 0.0, outline }.mask(shape)
    };
    let (left, right) = (blob(0.2, 0.2, 0.1), blob(0.8, 0.25, 0.1));
    let both = left.density.iter().zip(&right.density).map(|(l, r)| l.max(*r)).collect();
    let split = Pair::new(blob(0.5, 0.25, 0.15), frame(both));

    let spot = blob(0.25, 0.1, 0.06);
    let radius =
        |y: usize, x: usize| (y as f64 - h / 2.0).hypot((x as f64 - w / 2.0) * h / w * 1.25);
    let ring = Pair::new(
        map(&mut |y, x| f64::from(u8::from((0.28 * h..0.44 * h).contains(&radius(y, x))))),
        map(&mut |y, x| f64::from(u8::from(radius(y, x) < 0.23 * h))),
    );
    let dim = embryo.source.density.iter().zip(&spot.density).map(|(e, s)| 1e-6 * e + s).collect();
    let ramp = map(&mut |y, x| embryo.target.density[y * shape.w_px + x] * (1.0 + x as f64 / 10.0));
    let range = Pair::new(frame(dim), ramp);
    let stripes =
        Pair::new(map(&mut |_, _| 1.0), map(&mut |y, x| f64::from(u8::from((x + y) % 7 == 0))));
    vec![
        ("noise", noise),
        ("sparse", sparse),
        ("split", split),
        ("ring", ring),
        ("range", range),
        ("stripes", stripes),
    ]
}
