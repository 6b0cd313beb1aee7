//! The reference pairs: f64 results checked against dense plans, for both reference measures.
//! `SWATHE_OT_REFERENCE=DIR` runs the same test on another folder of such pairs.

#![allow(clippy::neg_cmp_op_on_partial_ord, reason = "a comparison with NaN must come out false")]

mod cases;

use cases::{Case, cases};
use swathe_ot::{Failure, Pair, Precision, Reference, Solution, Status, lift, solve};

/// What went wrong, one line per figure.
fn differences(
    case: &mut Case,
    key: &str,
    pair: &Pair,
    solution: &Solution,
    relative: f64,
    wrong: &mut Vec<String>,
) {
    let expected = case.json["results"][key].clone();
    let name = format!("{} {key}", case.name);
    if solution.status != Status::Converged {
        wrong.push(format!("{name}: {:?} at {:e}", solution.status, solution.residual));
    }
    // A cost or a difference of masses may be pure rounding, so it is compared with the whole mass.
    let mass = expected["mass"].as_f64().unwrap();
    let figures = [
        ("cost", solution.cost, expected["cost"].as_f64(), 1e-9),
        ("mass", solution.mass_transported, Some(mass), 0.0),
        ("created", solution.mass_created, expected["created_signed"].as_f64(), 1e-3 * mass),
        ("destroyed", solution.mass_destroyed, expected["destroyed_signed"].as_f64(), 1e-3 * mass),
        (
            "created+",
            solution.mass_created_clamped,
            expected["created_clamped"].as_f64(),
            1e-3 * mass,
        ),
        (
            "destroyed+",
            solution.mass_destroyed_clamped,
            expected["destroyed_clamped"].as_f64(),
            1e-3 * mass,
        ),
    ];
    for (figure, found, wanted, floor) in figures {
        let wanted = wanted.unwrap();
        let scale = wanted.abs().max(floor);
        if !((found - wanted).abs() <= relative * scale) {
            wrong.push(format!(
                "{name}: {figure} {found:e}, not {wanted:e} ({:.1e})",
                (found - wanted).abs() / scale
            ));
        }
    }
    let velocity = case.array(&format!("{key}_vel"));
    let cost_map = case.array(&format!("{key}_cost_map"));
    let marginal = case.array(&format!("{key}_mu"));
    let total: f64 = pair.source.density.iter().sum();
    let unit = if case.json["normalize"].as_bool().unwrap() { total } else { 1.0 };
    let fields = lift(solution, &pair.source, &pair.target).unwrap();
    let cost_most = cost_map.iter().copied().fold(0.0, f64::max);
    for (p, a) in pair.source.density.iter().enumerate() {
        let found = fields.velocity_yx_px[p];
        if *a <= 0.0 {
            assert!(found[0].is_nan() && found[1].is_nan(), "{name}: velocity off the support");
            continue;
        }
        for axis in 0..2 {
            let wanted = velocity[2 * p + axis];
            if !((found[axis] - wanted).abs() < 0.01) {
                wrong.push(format!("{name}: velocity[{p}][{axis}] {}, not {wanted}", found[axis]));
            }
        }
        if !((fields.cost_map[p] - cost_map[p]).abs() <= 1e-3 * cost_most + 1e-12) {
            wrong
                .push(format!("{name}: cost_map[{p}] {}, not {}", fields.cost_map[p], cost_map[p]));
        }
        let destroyed = a / unit - marginal[p];
        if !((fields.destroyed[p] - destroyed).abs() <= 1e-3 * marginal[p].max(a / unit)) {
            wrong.push(format!("{name}: destroyed[{p}] {}, not {destroyed}", fields.destroyed[p]));
        }
    }
}

fn check(tolerance: f64, precision: Precision, relative: f64) {
    let mut wrong = Vec::new();
    for mut case in cases() {
        let pair = case.pair();
        if case.json["results"].as_object().unwrap().is_empty() {
            continue;
        }
        for (key, reference) in [("ab", Reference::Product), ("count", Reference::Counting)] {
            let settings = case.settings(reference, tolerance, precision);
            let solution = solve(&pair, &settings).unwrap();
            differences(&mut case, key, &pair, &solution, relative, &mut wrong);
        }
    }
    assert!(
        wrong.is_empty(),
        "{} differences:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(60)].join("\n")
    );
}

#[test]
fn f64_at_1e_9_matches_to_six_digits() {
    check(1e-9, Precision::F64, 1e-6);
}

#[test]
fn auto_at_1e_6_matches_to_four_digits() {
    check(1e-6, Precision::Auto, 1e-4);
}

/// Cases without results state in words the expected failure or status of bad or empty input.
#[test]
fn bad_and_empty_input_is_named() {
    for mut case in cases() {
        if !case.json["results"].as_object().unwrap().is_empty() {
            continue;
        }
        let pair = case.pair();
        let outcome = solve(&pair, &case.settings(Reference::Product, 1e-6, Precision::Auto));
        match case.json["expected"].as_str().unwrap() {
            "zero everything" => {
                let solution = outcome.unwrap();
                assert_eq!(solution.status, Status::BothEmpty);
                let figures = [solution.cost, solution.mass_created, solution.mass_destroyed];
                assert_eq!((figures, solution.mass_transported), ([0.0; 3], 0.0));
            }
            "all mass destroyed, cost 0, velocity undefined" => {
                let solution = outcome.unwrap();
                assert_eq!(solution.status, Status::EmptyTarget);
                assert_eq!((solution.cost, solution.mass_destroyed), (0.0, 1.0));
                let fields = lift(&solution, &pair.source, &pair.target).unwrap();
                assert!(fields.velocity_yx_px.iter().flatten().all(|v| v.is_nan()));
            }
            "all mass created, cost 0, velocity undefined" => {
                let solution = outcome.unwrap();
                assert_eq!(solution.status, Status::EmptySource);
                assert_eq!((solution.cost, solution.mass_created), (0.0, 1.0));
            }
            "reject input with a named error" => {
                assert!(matches!(outcome, Err(Failure::BadPixel { .. })), "{outcome:?}");
            }
            other => panic!("{}: unknown expectation {other:?}", case.name),
        }
    }
}
