//! The transport of a frame onto itself: against a dense oracle, and the same bits however it is
//! kept.

mod oracle;
mod pairs;

use std::sync::Arc;
use swathe_ot::synth::{Change, Rng, embryo_pair};
use swathe_ot::{
    Crop, Frame, Geometry, Pair, Precision, Reference, Scratch, SelfCell, Settings, Shape,
    Solution, Status, WholeFrame, place, self_transport, solve, solve_with,
};

fn random_frame(dice: &mut Rng, h: usize, w: usize) -> Frame {
    let live = dice.between(0.2, 1.0);
    let mut density: Vec<f64> = (0..h * w)
        .map(|_| {
            let mass = 10_f64.powf(dice.between(-2.0, 0.0));
            if dice.between(0.0, 1.0) < live { mass } else { 0.0 }
        })
        .collect();
    density[dice.below(h * w)] = 1.0;
    Frame::new(h, w, density).unwrap()
}

/// Frames up to 12×12: potential, velocity and value equal those of Newton's method on the dense
/// dual, for both measures, balanced and not, normalised and not.
#[test]
fn self_transports_equal_the_dense_oracle() {
    for seed in 0..60 {
        let mut dice = Rng::new(500 + seed);
        let (h, w) = (2 + dice.below(11), 2 + dice.below(11));
        let frame = random_frame(&mut dice, h, w);
        let settings = Settings {
            epsilon: 10_f64.powf(dice.between(-3.5, -1.0)),
            relaxation: if seed % 5 == 0 {
                f64::INFINITY
            } else {
                10_f64.powf(dice.between(-1.0, 2.0))
            },
            reference: if seed % 2 == 0 { Reference::Product } else { Reference::Counting },
            normalize: seed % 3 != 0,
            tolerance: 1e-10,
            precision: Precision::F64,
            potentials: true,
            ..Settings::default()
        };
        let case = format!(
            "seed {seed} {h}x{w} ε {:.1e} ρ {:.1e} {:?}",
            settings.epsilon, settings.relaxation, settings.reference
        );
        let own =
            self_transport(&frame, &settings, &mut Scratch::new(), &|| false).unwrap().unwrap();
        assert!(own.is_converged, "{case}: residual {:e}", own.residual);
        let grid = WholeFrame::new(&Pair::new(frame.clone(), frame.clone()), &settings);
        let duals = oracle::solve_dense(&grid);
        let exact = grid.evaluate(&duals.f, &duals.g);
        assert!(exact.residual < 1e-9, "{case}: oracle {:e}", exact.residual);
        let found = own.potential.as_ref().unwrap();
        let reference_mass = match settings.reference {
            Reference::Product => grid.a.iter().sum::<f64>().powi(2),
            Reference::Counting => (grid.a.iter().filter(|v| **v > 0.0).count() as f64).powi(2),
        };
        let value = exact.objective - settings.epsilon * reference_mass;
        let scale = value.abs().max(settings.epsilon);
        assert!((own.objective - value).abs() < 1e-7 * scale, "{case}: value");
        for y in 0..own.shape.h_px {
            for x in 0..own.shape.w_px {
                let (at, p) =
                    (y * own.shape.w_px + x, (own.live.y0_px + y) * w + own.live.x0_px + x);
                if frame.density[p] <= 0.0 {
                    assert!(own.velocity_yx_px[at][0].is_nan());
                    continue;
                }
                // The two potentials of the oracle may differ by a constant.
                let wanted = 0.5 * (duals.f[p] + duals.g[p]);
                let off = (found[at] - wanted).abs();
                assert!(off < 1e-6 * settings.epsilon.max(wanted.abs()), "{case}: {off:e}");
                for axis in 0..2 {
                    let (found, wanted) =
                        (own.velocity_yx_px[at][axis], exact.velocity_yx_px[p][axis]);
                    let off = (f64::from(found) - wanted).abs();
                    assert!(off < 1e-5, "{case}: velocity {found}, not {wanted}");
                }
            }
        }
    }
}

/// Every bit that debiasing sets.
fn bits(solution: &Solution) -> Vec<u64> {
    let fields = solution.fields.as_ref().unwrap();
    let maps = fields.velocity_yx_px.iter().chain(&fields.velocity_raw_yx_px);
    let divergence = solution.sinkhorn_divergence.map_or(0, f64::to_bits);
    let numbers = maps.flatten().map(|v| v.to_bits());
    numbers.chain([divergence]).collect()
}

/// A pair cut to its union box, as the command makes it.
fn cut(pair: &Pair, crop: &Crop, pool: usize) -> Pair {
    let geometry: Geometry = place(&pair.source, &pair.target, crop, pool).unwrap();
    let live = geometry.live.unwrap();
    let part = |frame: &Frame| {
        let rows = (live.y0_px..live.y1_px()).map(|y| {
            let start = y * frame.shape.w_px;
            &frame.density[start + live.x0_px..start + live.x1_px()]
        });
        let density = rows.flatten().copied().collect();
        Frame::new(live.shape.h_px, live.shape.w_px, density).unwrap()
    };
    Pair::cut(part(&pair.source), part(&pair.target), geometry)
}

/// A series solved with cells and without, forwards and backwards, whole and cut, by one thread and
/// by four, pooled or not: the same bits.
#[test]
fn kept_self_transports_change_not_a_bit() {
    let shape = Shape::new(40, 64);
    let frames: Vec<Arc<Frame>> = (0..6)
        .map(|n| {
            let change = Change { shift: 0.02 * n as f64, ..Change::default() };
            embryo_pair(shape, 3, change).target
        })
        .collect();
    for (pool, epsilon) in [(1, 1e-3), (3, 1e-3), (2, 1e-4)] {
        let settings = Settings { epsilon, relaxation: 10.0, pool, ..Settings::default() };
        let plain = |n: usize| Pair::new(Arc::clone(&frames[n]), Arc::clone(&frames[n + 1]));
        let wanted: Vec<_> = (0..5).map(|n| bits(&solve(&plain(n), &settings).unwrap())).collect();
        let cells: Vec<Arc<SelfCell>> = (0..6).map(|_| Arc::default()).collect();
        let kept = |pair: Pair, n: usize| {
            pair.with_self_cells(Arc::clone(&cells[n]), Arc::clone(&cells[n + 1]))
        };
        let mut scratch = Scratch::new();
        // The second round finds all cells filled.
        for n in (0..5).rev().chain(0..5) {
            for pair in [plain(n), cut(&plain(n), &settings.crop, pool)] {
                let solution = solve_with(&kept(pair, n), &settings, &mut scratch, &|| false);
                assert!(bits(&solution.unwrap()) == wanted[n], "pair {n}, pool {pool}");
            }
        }
        assert!(cells.iter().all(|cell| cell.is_filled() && cell.bytes() > 0));
        cells.iter().for_each(|cell| cell.clear());
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for (n, wanted) in wanted.iter().enumerate() {
                        let solution = solve(&kept(plain(n), n), &settings).unwrap();
                        assert!(bits(&solution) == *wanted, "pair {n}, pool {pool}");
                    }
                });
            }
        });
    }
}

#[test]
fn a_cell_follows_the_settings() {
    let pair = embryo_pair(Shape::new(24, 40), 1, Change::default());
    let pair = pair.with_self_cells(Arc::default(), Arc::default());
    for epsilon in [1e-2, 1e-3, 1e-2] {
        let settings = Settings { epsilon, ..Settings::default() };
        let anew = Pair::new(Arc::clone(&pair.source), Arc::clone(&pair.target));
        let (kept, anew) = (solve(&pair, &settings), solve(&anew, &settings));
        assert!(bits(&kept.unwrap()) == bits(&anew.unwrap()), "ε {epsilon}");
    }
}

/// Debiasing adds to a solution and changes nothing else of it.
#[test]
fn all_but_the_velocity_is_as_without_debiasing() {
    for (name, pair) in pairs::all(Shape::new(33, 48)) {
        let settings = Settings { epsilon: 1e-3, relaxation: 10.0, ..Settings::default() };
        let raw = Settings { raw_velocity: true, ..settings.clone() };
        let (with, without) = (solve(&pair, &settings).unwrap(), solve(&pair, &raw).unwrap());
        let same = |a: f64, b: f64| a.to_bits() == b.to_bits();
        assert!(same(with.cost, without.cost), "{name}");
        assert!(same(with.objective, without.objective), "{name}");
        assert!(same(with.residual, without.residual), "{name}");
        let (with_maps, maps) = (with.fields.unwrap(), without.fields.unwrap());
        assert!(maps.velocity_raw_yx_px.is_empty());
        let numbers =
            |v: &[[f64; 2]]| -> Vec<u64> { v.iter().flatten().map(|v| v.to_bits()).collect() };
        assert!(numbers(&with_maps.velocity_raw_yx_px) == numbers(&maps.velocity_yx_px), "{name}");
        assert_eq!(without.sinkhorn_divergence, None);
        // The divergence of different frames is positive, and never above the transport's cost.
        let divergence = with.sinkhorn_divergence.unwrap();
        assert!(divergence > 0.0, "{name}: {divergence}");
    }
}

/// A frame against itself does not move, whatever ε is, and its divergence is zero.
#[test]
fn what_stays_has_no_displacement() {
    for (name, pair) in pairs::all(Shape::new(33, 48)) {
        for (epsilon, reference) in [(1e-2, Reference::Product), (1e-3, Reference::Counting)] {
            let settings = Settings {
                epsilon,
                reference,
                relaxation: 10.0,
                tolerance: 1e-6,
                ..Settings::default()
            };
            let still = Pair::new(Arc::clone(&pair.source), Arc::clone(&pair.source));
            let solution = solve(&still, &settings).unwrap();
            assert_eq!(solution.status, Status::Converged, "{name}");
            let fields = solution.fields.as_ref().unwrap();
            let live = solution.geometry.live.unwrap();
            let w_px = pair.source.shape.w_px;
            // The mean over the mass: pixels of a millionth of the others' mass hardly count in
            // the residual, either.
            let (mut sum, mut mass) = (0.0, 0.0);
            for (at, v) in fields.velocity_yx_px.iter().enumerate() {
                let (y, x) = (at / live.shape.w_px, at % live.shape.w_px);
                let a = pair.source.density[(live.y0_px + y) * w_px + live.x0_px + x];
                if a > 0.0 {
                    sum += a * v[0].hypot(v[1]);
                    mass += a;
                }
            }
            let mean = sum / mass;
            assert!(mean < 1e-3, "{name} ε {epsilon}: {mean} px");
            let divergence = solution.sinkhorn_divergence.unwrap();
            assert!(divergence.abs() < 1e-6 * epsilon, "{name}: {divergence:e}");
        }
    }
}

#[test]
fn an_empty_frame_has_no_self_transport() {
    let empty = Frame::new(4, 4, vec![0.0; 16]).unwrap();
    let own = self_transport(&empty, &Settings::default(), &mut Scratch::new(), &|| false);
    assert_eq!(own, Ok(None));
    let full = Frame::new(4, 4, vec![1.0; 16]).unwrap();
    let solution = solve(&Pair::new(full, empty), &Settings::default()).unwrap();
    assert_eq!(solution.sinkhorn_divergence, None);
    assert_eq!(solution.fields.unwrap().velocity_raw_yx_px.len(), 16);
}
