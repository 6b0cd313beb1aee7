//! 200 random pairs of at most 12×12 pixels against Newton's method on the dense dual.

#![allow(clippy::neg_cmp_op_on_partial_ord, reason = "a comparison with NaN must come out false")]

mod oracle;

use swathe_ot::synth::Rng;
use swathe_ot::{
    Frame, Pair, Precision, Reference, Scratch, Settings, Status, WholeFrame, lift, solve_with,
};

fn random_frame(dice: &mut Rng, h: usize, w: usize) -> Frame {
    let live = dice.between(0.05, 1.0);
    let decades = dice.between(0.0, 4.0);
    let mut density: Vec<f64> = (0..h * w)
        .map(|_| {
            let mass = 10_f64.powf(dice.between(-decades, 0.0));
            if dice.between(0.0, 1.0) < live { mass } else { 0.0 }
        })
        .collect();
    density[dice.below(h * w)] = 1.0;
    Frame::new(h, w, density).unwrap()
}

#[test]
fn random_pairs_equal_the_dense_oracle() {
    let mut scratch = Scratch::new();
    let mut wrong = Vec::new();
    for seed in 0..200 {
        let mut dice = Rng::new(1000 + seed);
        let (h, w) = (1 + dice.below(12), 1 + dice.below(12));
        let pair = Pair::new(random_frame(&mut dice, h, w), random_frame(&mut dice, h, w));
        let normalize = seed % 3 != 0;
        let balanced = normalize && seed % 5 == 0;
        let settings = Settings {
            epsilon: 10_f64.powf(dice.between(-4.0, -1.0)),
            relaxation: if balanced { f64::INFINITY } else { 10_f64.powf(dice.between(-2.0, 2.0)) },
            // Source and target apart; with ∞ the source's mass cannot vanish, or the target's appear.
            relaxation_tgt: match seed % 8 {
                3 => Some(10_f64.powf(dice.between(-2.0, 2.0))),
                6 => Some(f64::INFINITY),
                5 if balanced => Some(0.7),
                _ => None,
            },
            reference: if seed % 2 == 0 { Reference::Product } else { Reference::Counting },
            normalize,
            tolerance: 1e-9,
            max_iterations: 100_000,
            precision: Precision::F64,
            raw_velocity: true,
            ..Settings::default()
        };
        let grid = WholeFrame::new(&pair, &settings);
        let duals = oracle::solve_dense(&grid);
        let exact = grid.evaluate(&duals.f, &duals.g);
        let case = format!(
            "seed {seed} {h}x{w} ε {:.1e} ρ {:?}",
            settings.epsilon,
            settings.relaxations()
        );
        if !(exact.residual < 1e-8) {
            wrong.push(format!("{case}: the oracle itself stops at {:.1e}", exact.residual));
            continue;
        }
        for (precision, tolerance, digits) in
            [(Precision::F64, 1e-9, 1e-6), (Precision::Auto, 1e-6, 1e-4)]
        {
            let settings = Settings { precision, tolerance, ..settings.clone() };
            let solution = solve_with(&pair, &settings, &mut scratch, &|| false).unwrap();
            if solution.status != Status::Converged {
                wrong.push(format!(
                    "{case} {precision:?}: {:?} at {:.1e}",
                    solution.status, solution.residual
                ));
                continue;
            }
            let mass: f64 = exact.mu.iter().sum();
            let (a, b): (f64, f64) = (grid.a.iter().sum(), grid.b.iter().sum());
            let all = mass.max(a).max(b);
            // A plan between far pixels of tiny mass may cost almost nothing: compare with the cost
            // of moving the mass by one pixel.
            let step = grid.scale * grid.scale * mass;
            let figures = [
                ("mass", solution.mass_transported, mass, mass.max(1e-3 * all)),
                ("destroyed", solution.mass_destroyed, a - mass, all),
                ("created", solution.mass_created, b - mass, all),
                ("cost", solution.cost, exact.cost, exact.cost.max(step)),
                (
                    "objective",
                    solution.objective,
                    exact.objective,
                    exact.objective.abs().max(all * grid.scale),
                ),
            ];
            for (name, found, wanted, scale) in figures {
                let error = (found - wanted).abs() / scale;
                if !(error <= digits) {
                    wrong.push(format!(
                        "{case} {precision:?} {name}: {found:e}, not {wanted:e} ({error:.1e})"
                    ));
                }
            }
            // The minimum lies between the dual and the primal value; both are rounded.
            let slack = 1e-7 * exact.objective.abs().max(all * grid.scale);
            let upper = solution.dual_objective + solution.gap;
            if !(solution.dual_objective <= exact.objective + slack
                && exact.objective <= upper + slack)
            {
                wrong.push(format!(
                    "{case} {precision:?}: {:e} is not between {:e} and {upper:e}",
                    exact.objective, solution.dual_objective
                ));
            }
            let fields = lift(&solution, &pair.source, &pair.target).unwrap();
            for (p, wanted) in exact.velocity_yx_px.iter().enumerate() {
                for (found, wanted) in fields.velocity_yx_px[p].iter().zip(wanted) {
                    let same = found.is_nan() && wanted.is_nan();
                    if !same && !((found - wanted).abs() < 0.01) {
                        wrong.push(format!(
                            "{case} {precision:?} velocity {p}: {found}, not {}",
                            wanted
                        ));
                    }
                }
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} differences:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(40)].join("\n")
    );
}

/// The two oracles use different methods: the textbook iteration agrees with Newton's method.
#[test]
fn the_oracles_agree() {
    for seed in 0..6 {
        let mut dice = Rng::new(70 + seed);
        let (h, w) = (4 + dice.below(6), 4 + dice.below(6));
        let pair = Pair::new(random_frame(&mut dice, h, w), random_frame(&mut dice, h, w));
        let settings = Settings {
            epsilon: 1e-2,
            relaxation: if seed == 0 { f64::INFINITY } else { 0.3 },
            reference: if seed % 2 == 0 { Reference::Product } else { Reference::Counting },
            ..Settings::default()
        };
        let grid = WholeFrame::new(&pair, &settings);
        let (plain, dense) = (oracle::solve(&grid, 1e-10, 20_000), oracle::solve_dense(&grid));
        let (plain, dense) = (grid.evaluate(&plain.f, &plain.g), grid.evaluate(&dense.f, &dense.g));
        assert!(
            plain.residual < 1e-9 && dense.residual < 1e-9,
            "{} {}",
            plain.residual,
            dense.residual
        );
        assert!((plain.cost / dense.cost - 1.0).abs() < 1e-7, "{} {}", plain.cost, dense.cost);
        assert!((plain.objective / dense.objective - 1.0).abs() < 1e-7);
    }
}
