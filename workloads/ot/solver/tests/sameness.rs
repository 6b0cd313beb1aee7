//! What must not change an answer, and what must hold for every answer.

mod pairs;

use std::cell::Cell;
use std::time::{Duration, Instant};
use swathe_ot::synth::{Change, embryo_pair};
use swathe_ot::{
    Coupling, Crop, Failure, Frame, Pair, Precision, Reference, Scratch, Settings, Shape, Simd,
    Solution, Status, lift, need, solve, solve_all, solve_with, summarise,
};

/// Every bit of a solution, except for its position in the frame.
fn bits(solution: &Solution) -> Vec<u64> {
    let scalars = [
        solution.residual,
        solution.cost,
        solution.cost_px2,
        solution.objective,
        solution.dual_objective,
        solution.gap,
        solution.sinkhorn_divergence.unwrap_or(f64::NAN),
        solution.error_bar.map_or(f64::NAN, |bar| bar.total_px()),
        solution.mass_transported,
        solution.mass_created,
        solution.mass_destroyed,
        solution.mass_created_clamped,
        solution.mass_destroyed_clamped,
    ];
    let fields = solution.fields.as_ref().unwrap();
    let velocity = fields.velocity_yx_px.iter();
    let velocity = velocity.chain(&fields.velocity_raw_yx_px).flatten();
    let maps = fields.created.iter().chain(&fields.destroyed).chain(&fields.cost_map);
    let numbers = scalars.iter().chain(velocity).chain(maps).map(|v| v.to_bits());
    numbers.chain([solution.iterations as u64, solution.iterations_coarse as u64]).collect()
}

fn padded(frame: &Frame, top: usize, left: usize, shape: Shape) -> Frame {
    let mut density = vec![0.0; shape.n_px()];
    for (y, row) in frame.density.chunks_exact(frame.shape.w_px).enumerate() {
        let start = (y + top) * shape.w_px + left;
        density[start..start + row.len()].copy_from_slice(row);
    }
    Frame::new(shape.h_px, shape.w_px, density).unwrap()
}

#[test]
fn padding_crop_and_bucket_change_not_a_bit() {
    let pair = embryo_pair(Shape::new(40, 72), 3, Change::default());
    for (epsilon, reference) in [(1e-3, Reference::Product), (1e-4, Reference::Counting)] {
        let plain = Settings {
            epsilon,
            reference,
            coord_scale: swathe_ot::CoordScale::Fixed(1.0 / 72.0),
            ..Settings::default()
        };
        let wanted = bits(&solve(&pair, &plain).unwrap());
        for (top, left) in [(0, 0), (1, 3), (17, 5), (24, 56)] {
            let shape = Shape::new(64, 128);
            let moved = Pair::new(
                padded(&pair.source, top, left, shape),
                padded(&pair.target, top, left, shape),
            );
            let bucket =
                Crop::Bucketed { padding_px: 7, buckets: vec![Shape::new(256, 512), shape] };
            for crop in [Crop::Fixed, Crop::Union { padding_px: 3 }, bucket] {
                let solution = solve(&moved, &Settings { crop, ..plain.clone() }).unwrap();
                assert!(bits(&solution) == wanted, "padding {top}, {left} at ε {epsilon}");
            }
        }
    }
}

#[test]
fn the_portable_path_gives_the_same_bits() {
    let small = Shape::new(20, 33);
    for (n, (name, pair)) in pairs::all(small).iter().enumerate() {
        for (epsilon, precision) in [(1e-3, Precision::F32), (1e-2, Precision::F64)] {
            let reference = if n % 2 == 0 { Reference::Counting } else { Reference::Product };
            let settings = Settings {
                epsilon,
                precision,
                reference,
                max_iterations: 40,
                ..Settings::default()
            };
            let run = |path| solve_with(pair, &settings, &mut Scratch::for_path(path), &|| false);
            let (fast, plain) = (run(Simd::detect()).unwrap(), run(Simd::portable()).unwrap());
            assert!(bits(&fast) == bits(&plain), "{name} ε {epsilon} {precision:?}");
        }
    }
}

#[test]
fn order_threads_and_used_memory_change_not_a_bit() {
    let shapes = [Shape::new(24, 40), Shape::new(64, 50), Shape::new(16, 16), Shape::new(33, 90)];
    let pairs: Vec<Pair> =
        (0..12).map(|n| embryo_pair(shapes[n % 4], n as u64, Change::default())).collect();
    let settings = Settings::default();
    let together = solve_all(&pairs, &settings);
    let mut scratch = Scratch::new();
    for (n, pair) in pairs.iter().enumerate().rev() {
        let alone = solve_with(pair, &settings, &mut scratch, &|| false).unwrap();
        assert!(bits(&alone) == bits(together[n].as_ref().unwrap()), "pair {n}");
        assert!(bits(&alone) == bits(&solve(pair, &settings).unwrap()), "pair {n}, fresh memory");
    }
}

#[test]
fn masses_add_up() {
    for (name, pair) in pairs::all(Shape::new(48, 80)) {
        for (normalize, reference) in [(true, Reference::Product), (false, Reference::Counting)] {
            let settings = Settings {
                epsilon: 1e-3,
                relaxation: 0.3,
                normalize,
                reference,
                ..Settings::default()
            };
            let s = solve(&pair, &settings).unwrap();
            assert_eq!(s.status, Status::Converged, "{name}");
            let (a, b) = if normalize { (1.0, 1.0) } else { (s.mass_src, s.mass_tgt) };
            let all = a.max(b).max(s.mass_transported);
            let off_a = (s.mass_transported + s.mass_destroyed - a).abs() / all;
            let off_b = (s.mass_transported + s.mass_created - b).abs() / all;
            assert!(off_a < 1e-6 && off_b < 1e-6, "{name}: {off_a:e} {off_b:e}");
            let fields = s.fields.as_ref().unwrap();
            let sum = |map: &[f64]| map.iter().filter(|v| !v.is_nan()).sum::<f64>();
            assert!((sum(&fields.destroyed) - s.mass_destroyed).abs() < 1e-9 * all);
            assert!((sum(&fields.created) - s.mass_created).abs() < 1e-9 * all);
            assert!((sum(&fields.cost_map) - s.cost).abs() < 1e-9 * s.cost);
        }
    }
}

/// The cost that leaves source pixels arrives at target pixels, and the costs of a pair read
/// backwards are those read forwards.
#[test]
fn costs_arrive_where_mass_arrives() {
    for (name, pair) in pairs::all(Shape::new(48, 80)) {
        for (precision, pool, reference) in [
            (Precision::F32, 1, Reference::Product),
            (Precision::F64, 1, Reference::Counting),
            (Precision::Auto, 2, Reference::Product),
        ] {
            let settings = Settings {
                relaxation: 0.3,
                tolerance: 1e-6,
                target_cost: true,
                precision,
                pool,
                reference,
                ..Settings::default()
            };
            let there = solve(&pair, &settings).unwrap();
            let back = Pair::new(pair.target.clone(), pair.source.clone());
            let back = solve(&back, &settings).unwrap();
            let (there_maps, back_maps) = (there.fields.unwrap(), back.fields.unwrap());
            let sum = |map: &[f64]| map.iter().filter(|v| !v.is_nan()).sum::<f64>();
            let arrived = sum(&there_maps.target_cost_map);
            assert!((arrived / there.cost - 1.0).abs() < 1e-3, "{name}");
            let most = back_maps.cost_map.iter().copied().fold(0.0, f64::max);
            for (a, b) in there_maps.target_cost_map.iter().zip(&back_maps.cost_map) {
                let same = a.is_nan() && b.is_nan();
                assert!(same || (a - b).abs() < 2e-3 * most, "{name}: {a} {b}");
            }
        }
    }
}

#[test]
fn bad_pairs_are_named_and_spare_the_rest() {
    let frame = |density: Vec<f64>| Frame::new(2, 3, density).unwrap();
    let good = frame(vec![0.0, 1.0, 0.0, 1.0, 1.0, 0.0]);
    let with = |value: f64| frame(vec![0.0, 1.0, 0.0, 1.0, value, 0.0]);
    let other = Frame::new(3, 2, vec![1.0; 6]).unwrap();
    let pairs = [
        Pair::new(with(f64::NAN), good.clone()),
        Pair::new(good.clone(), with(f64::INFINITY)),
        Pair::new(good.clone(), with(-0.5)),
        Pair::new(good.clone(), other),
        Pair::new(good.clone().with_um_per_px(0.5), good.clone().with_um_per_px(0.6)),
        Pair::new(with(f64::MAX), with(f64::MAX)),
        Pair::new(good.clone(), good.clone()),
        Pair::new(good.clone(), frame(vec![0.0; 6])),
        Pair::new(frame(vec![0.0; 6]), good.clone()),
    ];
    let outcomes = solve_all(&pairs, &Settings::default());
    let names: Vec<_> = outcomes
        .iter()
        .map(|o| o.as_ref().map_or_else(Failure::kind, |s| s.status.name()))
        .collect();
    let wanted = [
        "nan_pixel",
        "infinite_pixel",
        "negative_pixel",
        "unequal_shapes",
        "unequal_pixel_sizes",
        "converged",
        "converged",
        "empty_target",
        "empty_source",
    ];
    assert_eq!(names, wanted);
    assert_eq!(
        outcomes[2].as_ref().unwrap_err().to_string(),
        "target pixel (1, 1) is negative: -0.5"
    );
    let raw = Settings { normalize: false, relaxation: f64::INFINITY, ..Settings::default() };
    let twice = frame(good.density.iter().map(|v| 2.0 * v).collect());
    let outcome = solve(&Pair::new(good.clone(), twice), &raw);
    assert_eq!(outcome, Err(Failure::UnequalMasses { mass_src: 3.0, mass_tgt: 6.0 }));
    let narrow = Settings {
        crop: Crop::Bucketed { padding_px: 0, buckets: vec![Shape::new(1, 3), Shape::new(2, 1)] },
        ..Settings::default()
    };
    let outcome = solve(&Pair::new(good.clone(), good), &narrow);
    assert_eq!(
        outcome,
        Err(Failure::NoBucket { shape: Shape::new(2, 2), largest: Shape::new(1, 3) })
    );
}

#[test]
fn a_stop_is_heard_soon() {
    let shape = Shape::new(256, 512);
    let pair = embryo_pair(shape, 5, Change::default());
    let settings = Settings { epsilon: 3e-5, tolerance: 1e-9, ..Settings::default() };
    let (start, longest, before) =
        (Instant::now(), Cell::new(Duration::ZERO), Cell::new(Instant::now()));
    let n_asked = Cell::new(0);
    let stop = || {
        let now = Instant::now();
        longest.set(longest.get().max(now - before.get()));
        before.set(now);
        n_asked.set(n_asked.get() + 1);
        start.elapsed() > Duration::from_millis(300)
    };
    let outcome = solve_with(&pair, &settings, &mut Scratch::new(), &stop);
    assert_eq!(outcome, Err(Failure::Stopped));
    assert!(n_asked.get() > 50, "asked {} times", n_asked.get());
    // 20 ms of work; the rest is a margin for other programs on the machine.
    assert!(longest.get() < Duration::from_millis(200), "longest wait {:?}", longest.get());
}

#[test]
fn memory_stays_within_its_need() {
    for (h, w) in [(16, 16), (64, 128), (40, 300), (256, 512)] {
        let shape = Shape::new(h, w);
        // Every pixel live on both sides is the worst case.
        let ramp = |k: f64| {
            Frame::new(h, w, (0..h * w).map(|p| 1.0 + k * (p % w) as f64).collect()).unwrap()
        };
        let pair = Pair::new(ramp(0.1), ramp(0.0));
        for precision in [Precision::Auto, Precision::F32, Precision::F64] {
            let settings =
                Settings { epsilon: 1e-2, relaxation: 1.0, precision, ..Settings::default() };
            let mut scratch = Scratch::new();
            solve_with(&pair, &settings, &mut scratch, &|| false).unwrap();
            let need = need(shape, &settings);
            let (held, said) = (scratch.bytes(), need.scratch_bytes);
            assert!(held <= said, "{shape} {precision:?}: {held} held, {said} said");
            assert!(said < 4 * held + (1 << 17), "{shape} {precision:?}: {held} held, {said} said");
        }
    }
}

#[test]
fn the_coupling_lists_the_plan() {
    let pair = embryo_pair(Shape::new(20, 40), 4, Change::default());
    let plain = Settings { epsilon: 1e-3, relaxation: 1.0, tolerance: 1e-8, ..Settings::default() };
    let all = Settings { coupling: Coupling::Threshold(1e-12), ..plain.clone() };
    let solution = solve(&pair, &all).unwrap();
    let total: f64 = solution.coupling.iter().map(|l| l.mass).sum();
    assert!((total / solution.mass_transported - 1.0).abs() < 1e-5, "{total}");
    let cost: f64 = solution
        .coupling
        .iter()
        .map(|l| {
            let dy = f64::from(l.src_y_px) - f64::from(l.tgt_y_px);
            let dx = f64::from(l.src_x_px) - f64::from(l.tgt_x_px);
            l.mass * (dy * dy + dx * dx)
        })
        .sum();
    assert!((cost / solution.cost_px2 - 1.0).abs() < 1e-4, "{cost} {}", solution.cost_px2);

    let top = solve(&pair, &Settings { coupling: Coupling::TopK(3), ..plain }).unwrap().coupling;
    let n_live = pair.source.density.iter().filter(|v| **v > 0.0).count();
    assert_eq!(top.len(), 3 * n_live);
    for links in top.chunks_exact(3) {
        let of_pixel: Vec<f64> = solution
            .coupling
            .iter()
            .filter(|l| (l.src_y_px, l.src_x_px) == (links[0].src_y_px, links[0].src_x_px))
            .map(|l| l.mass)
            .collect();
        let mut largest = of_pixel;
        largest.sort_by(|a, b| b.total_cmp(a));
        for (link, wanted) in links.iter().zip(largest) {
            assert!((link.mass / wanted - 1.0).abs() < 1e-9, "{} {wanted}", link.mass);
        }
    }
}

#[test]
fn pooling_keeps_mass_and_lengths() {
    let pair = embryo_pair(Shape::new(96, 160), 9, Change::default());
    let settings = Settings { epsilon: 1e-3, relaxation: 1.0, ..Settings::default() };
    let fine = solve(&pair, &settings).unwrap();
    for pool in [2, 3] {
        let pooled = solve(&pair, &Settings { pool, ..settings.clone() }).unwrap();
        assert!((pooled.mass_transported - fine.mass_transported).abs() < 2e-3);
        assert!((pooled.cost_px2 / fine.cost_px2 - 1.0).abs() < 0.05);
        let lifted = lift(&pooled, &pair.source, &pair.target).unwrap();
        let sum = |map: &[f64]| map.iter().filter(|v| !v.is_nan()).sum::<f64>();
        assert!((sum(&lifted.destroyed) - pooled.mass_destroyed).abs() < 1e-9);
        assert!((sum(&lifted.created) - pooled.mass_created).abs() < 1e-9);
        let (a, b) = (summarise(&fine).unwrap(), summarise(&pooled).unwrap());
        assert!((a.displacement_px.mean - b.displacement_px.mean).abs() < 0.3);
        assert!((a.div.p50 - b.div.p50).abs() < 0.01);
    }
}

/// A field v = (0.1·y, 0.2·x) about the centre has divergence 0.3 and no curl.
#[test]
fn a_growing_disc_diverges() {
    let disc = |factor_y: f64, factor_x: f64| {
        let pixel = |p: usize| {
            let (y, x) = ((p / 96) as f64 - 47.5, (p % 96) as f64 - 47.5);
            f64::from(u8::from((y / factor_y).hypot(x / factor_x) < 25.0))
        };
        Frame::new(96, 96, (0..96 * 96).map(pixel).collect()).unwrap()
    };
    let pair = Pair::new(disc(1.0, 1.0), disc(1.1, 1.2));
    let settings = Settings { epsilon: 1e-4, relaxation: f64::INFINITY, ..Settings::default() };
    let summary = summarise(&solve(&pair, &settings).unwrap()).unwrap();
    assert!((summary.div.p50 - 0.3).abs() < 0.03, "{:?}", summary.div);
    assert!(summary.curl.p50.abs() < 0.01, "{:?}", summary.curl);
    // Most of the displacement's energy is in the lowest band.
    assert!(summary.dct_vx[0] > 0.8 * summary.dct_vx.iter().sum::<f64>());
}

#[test]
fn f32_admits_what_it_cannot_reach_and_auto_goes_on_in_f64() {
    let pair = embryo_pair(Shape::new(48, 64), 21, Change::default());
    let strict = Settings { epsilon: 1e-4, tolerance: 1e-11, ..Settings::default() };
    let single = Settings { precision: Precision::F32, max_iterations: 400, ..strict.clone() };
    let solution = solve(&pair, &single).unwrap();
    assert_eq!(solution.status, Status::MaxIterations);
    assert!(!solution.used_f64 && solution.residual > 1e-11 && solution.residual < 1e-5);
    let solution = solve(&pair, &strict).unwrap();
    assert_eq!(solution.status, Status::Converged);
    assert!(solution.used_f64 && solution.residual <= 1e-11);
}

/// Two pixels at opposite ends, with relaxations from far too small to balanced: nothing becomes
/// NaN, and mass that is not transported is destroyed and created.
#[test]
fn far_apart_pixels_stay_finite() {
    let at = |p: usize| {
        let mut density = vec![0.0; 32 * 64];
        density[p] = 1.0;
        density[p + 1] = 1e-9;
        Frame::new(32, 64, density).unwrap()
    };
    let pair = Pair::new(at(0), at(32 * 64 - 2));
    for relaxation in [1e-4, 1e-2, 1.0, 100.0, f64::INFINITY] {
        for epsilon in [1e-1, 1e-3, 1e-5] {
            for reference in [Reference::Product, Reference::Counting] {
                let settings = Settings { epsilon, relaxation, reference, ..Settings::default() };
                let s = solve(&pair, &settings).unwrap();
                let case = format!("ε {epsilon} ρ {relaxation} {reference:?}: {:?}", s.status);
                assert_eq!(s.status, Status::Converged, "{case}");
                for v in [s.cost, s.objective, s.mass_transported, s.mass_created, s.mass_destroyed]
                {
                    assert!(v.is_finite(), "{case} {s:?}");
                }
                assert!((s.mass_transported + s.mass_destroyed - 1.0).abs() < 1e-6, "{case}");
                if relaxation <= 1e-2 && epsilon <= 1e-3 {
                    assert!(s.mass_transported < 1e-9, "{case} {}", s.mass_transported);
                }
                if relaxation == f64::INFINITY {
                    assert!((s.mass_transported - 1.0).abs() < 1e-5, "{case}");
                }
            }
        }
    }
}

/// With prices apart, mass can appear and not vanish, or vanish and not appear.
#[test]
fn growth_without_loss() {
    let pair = embryo_pair(Shape::new(24, 40), 6, Change::default());
    let heavier = pair.target.density.iter().map(|v| 1.5 * v).collect();
    let pair = Pair::new(pair.source.clone(), Frame::new(24, 40, heavier).unwrap());
    let settings = Settings {
        normalize: false,
        relaxation: f64::INFINITY,
        relaxation_tgt: Some(0.1),
        ..Settings::default()
    };
    let grown = solve(&pair, &settings).unwrap();
    assert_eq!(grown.status, Status::Converged);
    assert!(grown.mass_destroyed.abs() < 1e-4 * grown.mass_src);
    let created = grown.mass_tgt - grown.mass_src;
    assert!((grown.mass_created / created - 1.0).abs() < 1e-4);
    assert_eq!(grown.sinkhorn_divergence, None);
    // The other way round: backwards in time nothing appears.
    let back = Pair::new(pair.target.clone(), pair.source.clone());
    let settings = Settings { relaxation: 0.1, relaxation_tgt: Some(f64::INFINITY), ..settings };
    let shrunk = solve(&back, &settings).unwrap();
    assert!((shrunk.cost / grown.cost - 1.0).abs() < 1e-3);
    assert!(shrunk.mass_created.abs() < 1e-4 * shrunk.mass_tgt);
}
