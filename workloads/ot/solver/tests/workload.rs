//! The engine runs transport: the same answers as single solves, and a failing pair does not affect
//! the others.

use swathe::{DeviceKind, Outcome, Stop, Workload, solve_slice};
use swathe_ot::synth::{Change, embryo_pair};
use swathe_ot::{Frame, Pair, Settings, Shape, Transport, solve};

#[test]
fn the_engine_gives_the_same_answers() {
    let transport = Transport { settings: Settings::default() };
    let shapes = [Shape::new(24, 40), Shape::new(33, 65), Shape::new(16, 90)];
    let mut pairs: Vec<Pair> =
        (0..9).map(|n| embryo_pair(shapes[n % 3], n as u64, Change::default())).collect();
    let bad = Frame::new(4, 4, vec![f64::NAN; 16]).unwrap();
    pairs.push(Pair::new(bad.clone(), bad));
    let outcomes = solve_slice(&transport, &pairs, 2, &Stop::new());
    for (pair, outcome) in pairs[..9].iter().zip(&outcomes) {
        let alone = solve(pair, &transport.settings).unwrap();
        let solution = outcome.solution().unwrap();
        assert_eq!(transport.agree(&alone, solution, DeviceKind::Cpu), Ok(()));
        let mut other = alone.clone();
        other.cost = f64::from_bits(alone.cost.to_bits() + 1);
        let difference = transport.agree(&alone, &other, DeviceKind::Cpu).unwrap_err();
        assert_eq!(difference.field, "cost");
        assert_eq!(transport.agree(&alone, &other, DeviceKind::Gpu), Ok(()));
        let size = transport.size(pair);
        assert!(transport.need(&size, DeviceKind::Cpu).total_bytes() > 100_000);
    }
    assert!(matches!(&outcomes[9], Outcome::Failed(failure) if failure.kind() == "nan_pixel"));
}

#[test]
fn a_stopped_run_stops() {
    let stop = Stop::new();
    stop.cancel();
    let transport = Transport { settings: Settings::default() };
    let pair = embryo_pair(Shape::new(64, 128), 1, Change::default());
    let outcome = transport.solve(&pair, &mut transport.scratch(), &mut (), &stop);
    assert_eq!(outcome.unwrap_err().kind(), "stopped");
}
