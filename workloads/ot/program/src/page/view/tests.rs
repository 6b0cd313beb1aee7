//! Views of solved pairs.

use super::*;
use swathe_ot::{Pair, Settings, Shape, Status, pool_live, solve, summarise, synth};

fn view_of(pair: &Pair, settings: &Settings) -> (PairView, Solution) {
    let settings = Settings { fields: true, ..settings.clone() };
    let solution = solve(pair, &settings).unwrap();
    // Like in a run, frames are cut to their live box before they are solved.
    let live = solution.geometry.live.unwrap();
    let cut = |frame: &Frame| {
        let rows = live.y0_px..live.y1_px();
        let pixels = rows.flat_map(|y| {
            let start = y * frame.shape.w_px + live.x0_px;
            frame.density[start..start + live.shape.w_px].iter().copied()
        });
        Frame::new(live.shape.h_px, live.shape.w_px, pixels.collect()).unwrap()
    };
    let summary = summarise(&solution);
    let view = PairView::of(
        7,
        "<b>",
        (&cut(&pair.source), &cut(&pair.target)),
        Some(0.5),
        &solution,
        summary.as_ref(),
    );
    (view, solution)
}

/// The values that the bytes of a map stand for; NaN for no value.
fn values(map: &ViewMap, is_signed: bool) -> Vec<f64> {
    let place = |c: u8| match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let mut bytes = Vec::new();
    for four in map.bytes.as_bytes().chunks(4) {
        let n = four.iter().filter(|c| **c != b'=').count();
        let word = four
            .iter()
            .fold(0u32, |word, c| word << 6 | u32::from(if *c == b'=' { 0 } else { place(*c) }));
        bytes.extend_from_slice(&word.to_be_bytes()[1..n]);
    }
    let value = |byte: u8| match (byte, is_signed) {
        (0, _) => f64::NAN,
        (byte, true) => (f64::from(byte) - 128.0) / 127.0 * map.full,
        (byte, false) => (f64::from(byte) - 1.0) / 254.0 * map.full,
    };
    bytes.into_iter().map(value).collect()
}

fn sum(values: &[f64]) -> f64 {
    values.iter().filter(|v| !v.is_nan()).sum()
}

#[test]
fn small_maps_keep_the_mass_of_large_ones() {
    for (h, w, pool) in [(48, 90, 1), (150, 290, 1), (150, 290, 2)] {
        let pair = synth::embryo_pair(Shape::new(h, w), 3, synth::Change::default());
        let settings = Settings { pool, ..Settings::default() };
        let (view, solution) = view_of(&pair, &settings);
        let [rows, columns] = view.cells;
        assert!(rows.max(columns) <= N_CELLS_MAX);
        assert!(rows.max(columns) > N_CELLS_MAX / 2 || view.cell_px == pool);
        assert_eq!(view.cell_px % pool, 0);
        let speeds = values(&view.speed, false);
        assert_eq!(speeds.len(), rows * columns);
        // Cells at the rim are smaller, but hardly contain any of the embryo.
        let cell_area = (view.cell_px * view.cell_px) as f64;
        for (map, total) in
            [(&view.created, solution.mass_created), (&view.destroyed, solution.mass_destroyed)]
        {
            let found = sum(&values(map, true)) * cell_area;
            let size = solution.mass_created_clamped + solution.mass_destroyed_clamped;
            // Bytes are rounded, and the strongest cells are clamped to the last colour.
            assert!((found - total).abs() < 0.1 * size, "{found} for {total}");
        }
        let brightness = sum(&values(&view.source, false)) * cell_area;
        let mass = solution.mass_src;
        assert!((brightness - mass).abs() < 0.05 * mass, "{brightness} for {mass}");
    }
}

#[test]
fn figures_are_those_of_all_pixels() {
    let pair = synth::embryo_pair(Shape::new(130, 250), 5, synth::Change::default());
    let (view, solution) = view_of(&pair, &Settings::default());
    let summary = summarise(&solution).unwrap();
    let n_live = solution.fields.as_ref().unwrap().velocity_yx_px.iter();
    let n_live = n_live.filter(|v| !v[0].is_nan()).count() as u64;
    assert_eq!(view.histogram.counts.len(), N_BINS);
    assert_eq!(view.histogram.counts.iter().sum::<u64>(), n_live);
    assert!(view.histogram.counts[N_BINS - 1] > 0, "the fastest is there");
    let max = summary.displacement_px.max;
    assert!((view.histogram.to_px - max).abs() < 1e-4 * max);
    // The mean over bins is accurate to half a bin.
    let middle = |at: usize| (at as f64 + 0.5) * view.histogram.to_px / N_BINS as f64;
    let counts = view.histogram.counts.iter().enumerate();
    let mean = counts.map(|(at, n)| middle(at) * *n as f64).sum::<f64>() / n_live as f64;
    assert!((mean - summary.displacement_px.mean).abs() < 0.5 * max / N_BINS as f64);
    assert_eq!(view.row, 7);
    assert_eq!(view.um_per_px, Some(0.5));
    assert_eq!(view.shown[2..], {
        let live = solution.geometry.live.unwrap();
        [live.shape.h_px, live.shape.w_px]
    });
}

#[test]
fn arrows_are_few_and_lie_on_the_source() {
    let pair = synth::embryo_pair(Shape::new(200, 400), 2, synth::Change::default());
    let (view, solution) = view_of(&pair, &Settings::default());
    let arrows = &view.arrows;
    assert!(arrows.y.len() > 30 && arrows.y.len() <= N_ARROWS_MAX * N_ARROWS_MAX);
    let shape = solution.geometry.live_work();
    let source = pool_live(&pair.source, &solution.geometry);
    let n = arrows.y.len();
    assert_eq!([arrows.x.len(), arrows.vy.len(), arrows.vx.len()], [n; 3]);
    let on = (0..n).filter(|&k| {
        let at = arrows.y[k] as usize * shape.w_px + arrows.x[k] as usize;
        source[at] > 0.0
    });
    // The mean position of a square's live pixels may itself be in a hole.
    assert!(on.count() * 10 >= n * 9);
    let rows: std::collections::BTreeSet<u64> =
        arrows.y.iter().map(|y| *y as u64 / arrows.step_px as u64).collect();
    assert!(rows.len() <= N_ARROWS_MAX);
}

#[test]
fn a_thin_line_has_arrows_too() {
    let line = |x0: usize| {
        let mut density = vec![0.0; 300 * 300];
        (0..300).for_each(|y| density[y * 300 + x0] = 1.0);
        Frame::new(300, 300, density).unwrap()
    };
    let (view, _) = view_of(&Pair::new(line(20), line(29)), &Settings::default());
    assert!(!view.arrows.y.is_empty());
}

#[test]
fn particles_beside_a_large_body_have_arrows_too() {
    let frame = |by: usize| {
        let mut density = vec![0.0; 200 * 200];
        for at in 0..60 * 60 {
            density[(10 + at / 60) * 200 + 10 + by + at % 60] = 1.0;
        }
        for n in 0..8 {
            density[(100 + 10 * n) * 200 + 110 + by + 5 * n] = 1.0;
        }
        Frame::new(200, 200, density).unwrap()
    };
    let (view, solution) = view_of(&Pair::new(frame(0), frame(3)), &Settings::default());
    let live = solution.geometry.live.unwrap();
    for n in 0..8 {
        let (y, x) = ((100 + 10 * n - live.y0_px) as f64, (110 + 5 * n - live.x0_px) as f64);
        let mut places = view.arrows.y.iter().zip(&view.arrows.x);
        let is_near = |(ay, ax): (&f64, &f64)| {
            (ay - y).abs().max((ax - x).abs()) <= view.arrows.step_px as f64
        };
        assert!(places.any(is_near), "({y}, {x})");
    }
}

#[test]
fn the_curve_ends_at_the_residual() {
    let pair = synth::embryo_pair(Shape::new(60, 110), 4, synth::Change::default());
    let (view, solution) = view_of(&pair, &Settings::default());
    assert_eq!(solution.status, Status::Converged);
    let curve = &view.residuals;
    assert_eq!(curve.n_before, 0);
    assert_eq!(curve.n_coarse, solution.iterations_coarse);
    let n_sweeps = solution.iterations + solution.iterations_coarse;
    assert_eq!(curve.n_sweeps as usize, n_sweeps);
    assert_eq!(curve.sweep.last().copied(), Some(curve.n_sweeps));
    let last = curve.residual.last().and_then(|v| v.as_f64()).unwrap();
    assert!((last - solution.residual).abs() < 1e-4 * solution.residual);
}

#[test]
fn empty_frames_have_views_that_can_be_written() {
    let empty = Frame::new(5, 8, vec![0.0; 40]).unwrap();
    let blob = Frame::new(5, 8, (0..40).map(|at| f64::from(at % 3)).collect()).unwrap();
    for (source, target) in [(&empty, &blob), (&blob, &empty)] {
        let pair = Pair::new(source.clone(), target.clone());
        let (view, _) = view_of(&pair, &Settings::default());
        assert!(view.arrows.y.is_empty());
        assert_eq!(view.histogram.counts.iter().sum::<u64>(), 0);
        assert!(serde_json::to_string(&view).unwrap().contains("\"cells\":[5,"));
    }
    let settings = Settings { fields: true, ..Settings::default() };
    let pair = Pair::new(empty.clone(), empty.clone());
    let solution = solve(&pair, &settings).unwrap();
    let summary = summarise(&solution);
    let one = Frame::new(1, 1, vec![0.0]).unwrap();
    let view = PairView::of(0, "none", (&one, &one), None, &solution, summary.as_ref());
    assert_eq!(view.cells, [0, 0]);
    serde_json::to_string(&view).unwrap();
}
