//! All usual ε and ρ, on easy and hard pairs: every solve converges, the oracle confirms the
//! residual, and the cost is that of f64 at a hundredth of the tolerance.

#![allow(clippy::neg_cmp_op_on_partial_ord, reason = "a comparison with NaN must come out false")]

mod oracle;
mod pairs;

use swathe_ot::synth::{Change, embryo_pair};
use swathe_ot::{
    EPSILON_PX2_MIN, EPSILON_UNIT_MAX, Frame, Pair, Precision, Reference, Scratch, Settings, Shape,
    Solution, Status, WholeFrame, solve, solve_with,
};

const EPSILONS: [f64; 4] = [1e-2, 1e-3, 1e-4, 3e-5];
const RELAXATIONS: [f64; 4] = [0.1, 1.0, 10.0, f64::INFINITY];

/// The residual that exact arithmetic gives the solution's potentials.
fn oracle_residual(pair: &Pair, settings: &Settings, solution: &Solution) -> f64 {
    let shape = pair.source.shape;
    let live = solution.geometry.live.unwrap();
    let potentials = solution.potentials.as_ref().unwrap();
    let on_frame = |values: &[f64]| {
        let mut out = vec![0.0; shape.n_px()];
        for (y, row) in values.chunks_exact(live.shape.w_px).enumerate() {
            let start = (live.y0_px + y) * shape.w_px + live.x0_px;
            out[start..start + row.len()].copy_from_slice(row);
        }
        out
    };
    let grid = WholeFrame::new(pair, settings);
    grid.residual_of(&on_frame(&potentials.f), &on_frame(&potentials.g))
}

fn check(shape: Shape, pairs: &[(&str, Pair)], references: &[Reference]) {
    check_at(&EPSILONS, shape, pairs, references);
}

#[expect(clippy::print_stdout, reason = "figures to read with --nocapture")]
fn check_at(epsilons: &[f64], shape: Shape, pairs: &[(&str, Pair)], references: &[Reference]) {
    let mut scratch = Scratch::new();
    let mut wrong = Vec::new();
    for (name, pair) in pairs {
        for &epsilon in epsilons {
            for relaxation in RELAXATIONS {
                for reference in references {
                    let settings = Settings {
                        epsilon,
                        relaxation,
                        reference: *reference,
                        fields: false,
                        potentials: true,
                        ..Settings::default()
                    };
                    let case = format!("{shape} {name} ε {epsilon:e} ρ {relaxation} {reference:?}");
                    let solution = solve_with(pair, &settings, &mut scratch, &|| false).unwrap();
                    let residual = oracle_residual(pair, &settings, &solution);
                    let precise =
                        Settings { tolerance: 1e-7, precision: Precision::F64, ..settings };
                    let exact = solve_with(pair, &precise, &mut scratch, &|| false).unwrap();
                    let cost_error = (solution.cost / exact.cost - 1.0).abs();
                    let good = solution.status == Status::Converged
                        && exact.status == Status::Converged
                        && residual <= 1e-5
                        && cost_error <= 2e-4;
                    let figures = format!(
                        "{case}: {:?} after {} sweeps, residual {:.2e} (oracle {residual:.2e}), \
                         cost off by {cost_error:.1e}; f64 {:?} after {} at {:.1e}",
                        solution.status,
                        solution.iterations,
                        solution.residual,
                        exact.status,
                        exact.iterations,
                        exact.residual,
                    );
                    println!("{figures}");
                    if !good {
                        wrong.push(figures);
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} cases:\n{}", wrong.len(), wrong.join("\n"));
}

const BOTH: [Reference; 2] = [Reference::Product, Reference::Counting];

#[test]
fn embryos_of_64x128_converge() {
    let shape = Shape::new(64, 128);
    check(shape, &pairs::all(shape)[..2], &BOTH);
}

#[test]
fn stress_pairs_of_64x128_converge() {
    let shape = Shape::new(64, 128);
    check(shape, &pairs::stress(shape), &[Reference::Product]);
}

/// Two bodies so far apart, with so sharp a kernel, that sums between them are subnormal.
#[test]
fn sums_below_the_normal_numbers_are_no_nan() {
    let shape = Shape::new(128, 256);
    let pairs = pairs::stress(shape);
    let split = pairs.iter().find(|(name, _)| *name == "split").unwrap();
    for precision in [Precision::F32, Precision::F64] {
        let settings = Settings {
            epsilon: 3e-5,
            relaxation: 1.0,
            fields: true,
            precision,
            ..Settings::default()
        };
        let solution = solve_with(&split.1, &settings, &mut Scratch::new(), &|| false).unwrap();
        let (cost, fields) = (solution.cost, solution.fields.unwrap());
        assert!((cost / 0.054_068 - 1.0).abs() < 1e-4, "{precision:?} {cost}");
        let n_nan = |is_nan: &dyn Fn(usize) -> bool| {
            (0..fields.created.len()).filter(|&at| is_nan(at)).count()
        };
        let off_support = n_nan(&|at| fields.velocity_yx_px[at][0].is_nan());
        assert_eq!(n_nan(&|at| fields.cost_map[at].is_nan()), off_support);
    }
}

/// The least and the largest blur that commands accept.
#[test]
#[ignore = "soak: a minute"]
fn the_ends_of_the_range_converge() {
    let shape = Shape::new(64, 128);
    let epsilons = [EPSILON_PX2_MIN / (128.0 * 128.0), EPSILON_UNIT_MAX];
    check_at(&epsilons, shape, &pairs::all(shape)[..2], &BOTH);
    check_at(&epsilons, shape, &pairs::stress(shape), &[Reference::Product]);
}

#[test]
#[ignore = "soak: several minutes"]
fn stress_pairs_of_64x128_converge_in_the_counting_measure() {
    let shape = Shape::new(64, 128);
    check(shape, &pairs::stress(shape), &[Reference::Counting]);
}

#[test]
#[ignore = "soak: many minutes"]
fn all_pairs_of_128x256_converge() {
    let shape = Shape::new(128, 256);
    check(shape, &pairs::all(shape), &BOTH);
}

#[test]
#[ignore = "soak: many minutes"]
fn all_pairs_of_256x512_converge() {
    let shape = Shape::new(256, 512);
    check(shape, &pairs::all(shape), &BOTH);
}

/// The largest frames. They are too large for the oracle, so f32 is compared with f64.
#[test]
#[ignore = "soak: a minute, 500 MB"]
fn a_pair_of_1024x2048_converges() {
    let shape = Shape::new(1024, 2048);
    let (_, pair) = &pairs::all(shape)[0];
    let mut scratch = Scratch::new();
    for (epsilon, relaxation) in [(1e-3, 0.1), (1e-4, 10.0)] {
        let settings = Settings { epsilon, relaxation, ..Settings::default() };
        let solution = solve_with(pair, &settings, &mut scratch, &|| false).unwrap();
        assert_eq!(solution.status, Status::Converged, "ε {epsilon}");
        assert!(scratch.bytes() <= swathe_ot::need(shape, &settings).scratch_bytes);
        let precise = Settings { tolerance: 1e-6, precision: Precision::F64, ..settings };
        let exact = solve_with(pair, &precise, &mut scratch, &|| false).unwrap();
        assert_eq!(exact.status, Status::Converged, "ε {epsilon}");
        let error = (solution.cost / exact.cost - 1.0).abs();
        assert!(error < 2e-4, "ε {epsilon}: cost off by {error:.1e}");
    }
}

/// Masses that differ by a factor of a hundred million: a residual that is small against the larger
/// mass would say nothing about the smaller one.
#[test]
fn the_smaller_mass_decides_when_masses_differ() {
    let pair = embryo_pair(Shape::new(16, 24), 5, Change::default());
    let light = Frame::new(16, 24, pair.source.density.iter().map(|v| 1e-8 * v).collect()).unwrap();
    let pair = Pair::new(light, pair.target.clone());
    let settings =
        Settings { normalize: false, epsilon: 1e-2, relaxation: 1.0, ..Settings::default() };
    let solution = solve(&pair, &settings).unwrap();
    assert_eq!(solution.status, Status::Converged);
    assert!(solution.residual <= settings.tolerance);
    let grid = WholeFrame::new(&pair, &settings);
    let duals = oracle::solve_dense(&grid);
    let exact = grid.evaluate(&duals.f, &duals.g);
    let off = (solution.cost / exact.cost - 1.0).abs();
    assert!(off < 1e-3, "cost off by {off:e}");
}
