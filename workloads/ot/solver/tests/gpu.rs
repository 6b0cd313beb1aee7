//! Transport on a graphics processor: the CPU's answers, alone and in any batch. On machines
//! without one these tests run on a software device. Without any device they are skipped, except
//! in continuous integration, where they fail.

#![allow(clippy::neg_cmp_op_on_partial_ord, reason = "a comparison with NaN must come out false")]

mod cases;
mod pairs;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;
use swathe::{Device, DeviceKind, Gpu, GpuError, GpuSearch, Gpus, Lane, Stop, Workload};
use swathe_ot::synth::{Change, embryo_pair};
use swathe_ot::{
    CoordScale, Coupling, Crop, Failure, Frame, Pair, Precision, Reference, Settings, Shape,
    Solution, Transport, solve,
};

#[expect(clippy::print_stdout, reason = "a skipped test says so")]
fn gpu() -> Option<Gpu> {
    let search = GpuSearch { software: true, ..GpuSearch::default() };
    let gpus = Gpus::find(&search);
    let gpu = gpus.usable.into_iter().next();
    if gpu.is_none() {
        let reason = format!("no graphics processor: {:?}", gpus.refused);
        assert!(std::env::var_os("CI").is_none(), "{reason}");
        println!("SKIPPED: {reason}");
    }
    gpu
}

/// A shape that holds the work grids of all pairs.
fn common(transport: &Transport, pairs: &[Pair]) -> swathe::Shape {
    let mut most = [0, 0];
    for pair in pairs {
        let form = transport.launch_form(&transport.size(pair)).unwrap();
        for (most, extent) in most.iter_mut().zip(form.extents()) {
            *most = (*most).max(*extent);
        }
    }
    swathe::Shape::new(&most)
}

fn solve_gpu(gpu: &Gpu, transport: &Transport, pairs: &[Pair]) -> Vec<Lane<Solution, Failure>> {
    let padded = common(transport, pairs);
    let pairs: Vec<&Pair> = pairs.iter().collect();
    transport.launch(&Device::Gpu(gpu.clone()), padded, &pairs, &Stop::new()).unwrap()
}

/// The difference of two answers: relative in the cost, and in px in the velocity.
fn apart(reference: &Solution, other: &Solution) -> (f64, f64) {
    let cost = (other.cost - reference.cost).abs() / reference.cost.abs().max(f64::MIN_POSITIVE);
    let velocity_of = |s: &Solution| s.fields.clone().map_or(Vec::new(), |f| f.velocity_yx_px);
    let velocity = velocity_of(reference)
        .iter()
        .flatten()
        .zip(velocity_of(other).iter().flatten())
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f64::max);
    (cost, velocity)
}

/// Solves a batch on the device and every pair on the CPU, and adds every difference to `wrong`.
#[expect(clippy::print_stdout, reason = "figures to read with --nocapture")]
fn check(gpu: &Gpu, pairs: &[(&str, Pair)], settings: &Settings, wrong: &mut Vec<String>) {
    let transport = Transport { settings: settings.clone() };
    let (names, pairs): (Vec<&str>, Vec<Pair>) = pairs.iter().cloned().unzip();
    let before = gpu.figures();
    let began = Instant::now();
    let lanes = solve_gpu(gpu, &transport, &pairs);
    let elapsed_ms = began.elapsed().as_secs_f64() * 1e3;
    let after = gpu.figures();
    let n = pairs.len() as f64;
    println!(
        "{} ε {:e} ρ {} {:?}: {} dispatches in {} submissions, {:.0} bytes up and {:.0} down per pair, {:.0} ms per pair",
        common(&transport, &pairs),
        settings.epsilon,
        settings.relaxation,
        settings.reference,
        after.n_dispatches - before.n_dispatches,
        after.n_submissions - before.n_submissions,
        (after.uploaded_bytes - before.uploaded_bytes) as f64 / n,
        (after.downloaded_bytes - before.downloaded_bytes) as f64 / n,
        elapsed_ms / n,
    );
    for ((name, pair), lane) in names.iter().zip(&pairs).zip(lanes) {
        let expected = solve(pair, settings).unwrap();
        match lane {
            // Where mass is dear plain sweeps may take more than a device is given.
            Lane::ToCpu(reason)
                if settings.relaxation >= 10.0 && reason.ends_with("after 100 sweeps") => {}
            Lane::ToCpu(reason) => wrong.push(format!("{name}: left to the CPU, {reason}")),
            Lane::Done(outcome) => {
                let found = outcome.unwrap();
                let (cost, velocity) = apart(&expected, &found);
                println!(
                    "  {name}: {} sweeps + {}, residual {:.1e}; cost off by {cost:.1e}, velocity by {velocity:.1e} px (CPU: {} + {})",
                    found.iterations,
                    found.iterations_coarse,
                    found.residual,
                    expected.iterations,
                    expected.iterations_coarse,
                );
                if let Err(difference) = transport.agree(&expected, &found, DeviceKind::Gpu) {
                    wrong.push(format!("{name}: {difference}"));
                }
            }
        }
    }
}

fn none_wrong(wrong: &[String]) {
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

const BOTH: [Reference; 2] = [Reference::Product, Reference::Counting];

fn check_all(
    pairs: &[(&str, Pair)],
    epsilons: &[f64],
    relaxations: &[f64],
    references: &[Reference],
) {
    let Some(gpu) = gpu() else { return };
    let mut wrong = Vec::new();
    for epsilon in epsilons {
        for relaxation in relaxations {
            for reference in references {
                let settings = Settings {
                    epsilon: *epsilon,
                    relaxation: *relaxation,
                    reference: *reference,
                    ..Settings::default()
                };
                check(&gpu, pairs, &settings, &mut wrong);
            }
        }
    }
    none_wrong(&wrong);
}

/// An embryo that moves far, sparse pixels, densities over six decades.
fn a_few(shape: Shape) -> Vec<(&'static str, Pair)> {
    let few = ["far", "sparse", "range"];
    let all = pairs::all(shape).into_iter();
    all.filter(|(name, _)| few.contains(name)).collect()
}

#[test]
fn pairs_of_32x48_agree() {
    let pairs = a_few(Shape::new(32, 48));
    check_all(&pairs, &[1e-3], &[0.1, 10.0], &BOTH);
    check_all(&pairs, &[1e-2], &[1.0, f64::INFINITY], &BOTH);
}

#[test]
fn pairs_of_64x128_agree() {
    let pairs = &pairs::all(Shape::new(64, 128))[..2];
    check_all(pairs, &[1e-3], &[1.0], &[Reference::Product]);
    check_all(pairs, &[1e-2], &[0.1], &[Reference::Counting]);
}

/// The tightest tolerance that f32 allows.
#[test]
fn a_tolerance_of_1e_6_is_reached() {
    let Some(gpu) = gpu() else { return };
    let mut wrong = Vec::new();
    for (epsilon, relaxation) in [(1e-3, 0.1), (1e-2, 10.0)] {
        let settings = Settings { epsilon, relaxation, tolerance: 1e-6, ..Settings::default() };
        let pairs = a_few(Shape::new(32, 48));
        check(&gpu, &pairs, &settings, &mut wrong);
    }
    none_wrong(&wrong);
}

#[test]
#[ignore = "soak: many minutes on a software device"]
fn all_pairs_of_32x48_and_64x128_agree() {
    for shape in [Shape::new(32, 48), Shape::new(64, 128)] {
        let relaxations = [0.1, 1.0, 10.0, f64::INFINITY];
        check_all(&pairs::all(shape), &[1e-3, 1e-2], &relaxations, &BOTH);
    }
}

#[test]
#[ignore = "soak: minutes on a software device"]
fn a_pair_of_256x512_agrees() {
    let Some(gpu) = gpu() else { return };
    let mut wrong = Vec::new();
    let settings = Settings { crop: Crop::Fixed, ..Settings::default() };
    let pairs = &pairs::all(Shape::new(256, 512))[..1];
    check(&gpu, pairs, &settings, &mut wrong);
    none_wrong(&wrong);
}

/// The reference pairs that the device accepts, with their own settings.
#[test]
fn reference_pairs_agree() {
    let Some(gpu) = gpu() else { return };
    let mut wrong = Vec::new();
    let mut n_taken = 0;
    for mut case in cases::cases() {
        let pair = case.pair();
        let references = match case.json["results"].as_object() {
            Some(results) if results.is_empty() => &BOTH[..1],
            _ => &BOTH[..],
        };
        for reference in references {
            let settings = case.settings(*reference, 1e-5, Precision::Auto);
            let transport = Transport { settings: settings.clone() };
            if transport.launch_form(&transport.size(&pair)).is_none() {
                println!("{}: planned to the CPU", case.name);
                continue;
            }
            n_taken += 1;
            if solve(&pair, &settings).is_ok() {
                let named = [(case.name.as_str(), pair.clone())];
                check(&gpu, &named, &settings, &mut wrong);
            } else {
                let lane = solve_gpu(&gpu, &transport, std::slice::from_ref(&pair)).remove(0);
                let failed = matches!(lane, Lane::Done(Err(Failure::BadPixel { .. })));
                assert!(failed, "{}", case.name);
            }
        }
    }
    assert!(n_taken >= 20, "only {n_taken} were taken");
    none_wrong(&wrong);
}

/// Every bit of an answer as text: floats of different bits have different texts.
fn text_of(lane: &Lane<Solution, Failure>) -> String {
    match lane {
        Lane::Done(outcome) => format!("{outcome:?}"),
        Lane::ToCpu(reason) => format!("to the CPU: {reason}"),
    }
}

/// Pairs of many shapes, including empty ones, single pixels and failures.
fn mixed_pairs() -> Vec<Pair> {
    let empty = |h, w| Frame::new(h, w, vec![0.0; h * w]).unwrap();
    let dot = |h: usize, w: usize, p: usize| {
        let mut density = vec![0.0; h * w];
        density[p] = 3.0;
        Frame::new(h, w, density).unwrap()
    };
    let embryo = |h, w, seed| embryo_pair(Shape::new(h, w), seed, Change::default());
    let sparse = pairs::stress(Shape::new(20, 33)).remove(1).1;
    vec![
        embryo(24, 40, 1),
        embryo(31, 17, 2),
        Pair::new(dot(9, 9, 40), dot(9, 9, 44)),
        Pair::new(empty(12, 12), dot(12, 12, 7)),
        Pair::new(dot(12, 12, 7), empty(12, 12)),
        Pair::new(empty(3, 3), empty(3, 3)),
        Pair::new(dot(1, 1, 0), dot(1, 1, 0)),
        sparse,
        Pair::new(dot(4, 4, 0), Frame::new(4, 4, vec![f64::NAN; 16]).unwrap()),
        Pair::new(dot(4, 4, 0), dot(4, 5, 0)),
        embryo(16, 40, 3),
        Pair::new(dot(1, 30, 2), dot(1, 30, 29)),
    ]
}

#[test]
fn an_answer_is_the_same_alone_and_in_any_batch() {
    let Some(gpu) = gpu() else { return };
    let pairs = mixed_pairs();
    for reference in BOTH {
        let transport = Transport {
            settings: Settings {
                reference,
                relaxation: 0.5,
                epsilon: 4e-3,
                coupling: Coupling::TopK(2),
                potentials: true,
                ..Settings::default()
            },
        };
        let texts = |pairs: &[&Pair], padded: [u32; 2]| -> Vec<String> {
            let padded = swathe::Shape::new(&padded);
            let lanes = transport.launch(&Device::Gpu(gpu.clone()), padded, pairs, &Stop::new());
            lanes.unwrap().iter().map(text_of).collect()
        };
        let all: Vec<&Pair> = pairs.iter().collect();
        let together = texts(&all, [31, 40]);
        let mut turned: Vec<&Pair> = all.clone();
        turned.reverse();
        let mut backwards = texts(&turned, [40, 70]);
        backwards.reverse();
        assert_eq!(together, backwards);
        for (n, pair) in pairs.iter().enumerate() {
            let size = transport.size(pair);
            let [h, w] = size.shape.extents() else { panic!("two extents") };
            let alone = texts(&[pair], [*h, *w]);
            assert_eq!(together[n], alone[0], "pair {n}");
            assert!(!alone[0].starts_with("to the CPU"), "pair {n}: {}", alone[0]);
        }
        // Results of empty sides and failures equal those of the CPU bit for bit.
        for n in [3, 4, 5, 8, 9] {
            let expected = solve(&pairs[n], &transport.settings);
            assert_eq!(together[n], format!("{expected:?}"), "pair {n}");
        }
        for n in [0, 1, 2, 6, 7, 10, 11] {
            let expected = solve(&pairs[n], &transport.settings).unwrap();
            let found = transport.launch(
                &Device::Gpu(gpu.clone()),
                transport.size(&pairs[n]).shape,
                &[&pairs[n]],
                &Stop::new(),
            );
            let Ok(Lane::Done(Ok(found))) = found.map(|mut lanes| lanes.remove(0)) else {
                panic!("pair {n} has no answer");
            };
            let agreed = transport.agree(&expected, &found, DeviceKind::Gpu);
            assert_eq!(agreed, Ok(()), "pair {n}");
        }
    }
}

#[test]
fn raw_masses_and_pooled_pixels_agree() {
    let Some(gpu) = gpu() else { return };
    let mut wrong = Vec::new();
    let pairs = [("growing", embryo_pair(Shape::new(40, 64), 8, Change::default()))];
    for (pool, coord_scale, reference) in [
        (1, CoordScale::Auto, Reference::Counting),
        (3, CoordScale::Auto, Reference::Product),
        (2, CoordScale::Fixed(0.02), Reference::Product),
    ] {
        let settings = Settings {
            normalize: false,
            epsilon: 2e-3,
            relaxation: 0.3,
            pool,
            coord_scale,
            reference,
            ..Settings::default()
        };
        check(&gpu, &pairs, &settings, &mut wrong);
    }
    none_wrong(&wrong);
}

#[test]
fn what_the_kernels_cannot_do_is_planned_to_the_cpu() {
    let form = |h: u32, w: u32, settings: Settings| {
        let size = swathe::Size::of(swathe::Shape::new(&[h, w]));
        Transport { settings }.launch_form(&size)
    };
    let usual = Settings::default;
    let taken = [
        form(256, 512, usual()),
        form(512, 256, usual()),
        form(1, 1, usual()),
        form(100, 100, Settings { relaxation: f64::INFINITY, ..usual() }),
        form(
            64,
            128,
            Settings {
                epsilon: 1.0,
                relaxation: 10.0,
                coord_scale: CoordScale::Fixed(0.2),
                ..usual()
            },
        ),
    ];
    assert!(taken.iter().all(Option::is_some), "{taken:?}");
    let left = [
        form(257, 512, usual()),
        form(1, 513, usual()),
        form(0, 0, usual()),
        form(64, 128, Settings { epsilon: 9e-4, ..usual() }),
        form(
            64,
            128,
            Settings {
                epsilon: 1.0,
                relaxation: 10.0,
                coord_scale: CoordScale::Fixed(1.0),
                ..usual()
            },
        ),
        form(64, 128, Settings { coord_scale: CoordScale::Fixed(1e-2), ..usual() }),
        form(64, 128, Settings { precision: Precision::F64, ..usual() }),
        form(64, 128, Settings { tolerance: 9e-7, ..usual() }),
        form(64, 128, Settings { relaxation: 5e-4, ..usual() }),
        form(64, 128, Settings { max_iterations: 1, ..usual() }),
        form(64, 128, Settings { epsilon: -1.0, ..usual() }),
    ];
    assert!(left.iter().all(Option::is_none), "{left:?}");
}

#[test]
fn what_only_the_frames_tell_is_handed_on() {
    let Some(gpu) = gpu() else { return };
    let pair = embryo_pair(Shape::new(24, 40), 4, Change::default());
    let lane_of = |settings: Settings, pair: &Pair| {
        solve_gpu(&gpu, &Transport { settings }, std::slice::from_ref(pair)).remove(0)
    };
    let few = Settings { max_iterations: 5, ..Settings::default() };
    match lane_of(few, &pair) {
        Lane::ToCpu(reason) => assert!(reason.contains("after 4 sweeps"), "{reason}"),
        lane => panic!("{}", text_of(&lane)),
    }
    // With masses this large the plan is large, so the unit problem needs a tiny residual.
    let heavy = |frame: &Frame| Frame {
        density: frame.density.iter().map(|v| v * 1e3).collect(),
        ..frame.clone()
    };
    let light = |frame: &Frame| Frame {
        density: frame.density.iter().map(|v| v * 1e-3).collect(),
        ..frame.clone()
    };
    let uneven = Pair::new(heavy(&pair.source), light(&pair.target));
    let raw = Settings {
        normalize: false,
        epsilon: 1e-2,
        relaxation: 1e-2,
        tolerance: 1e-6,
        ..Settings::default()
    };
    let uneven_lane = lane_of(raw.clone(), &uneven);
    let expected = solve(&uneven, &raw).unwrap();
    match uneven_lane {
        Lane::ToCpu(reason) => assert!(reason.contains("beyond f32"), "{reason}"),
        Lane::Done(found) => {
            let transport = Transport { settings: raw };
            let agreed = transport.agree(&expected, &found.unwrap(), DeviceKind::Gpu);
            assert_eq!(agreed, Ok(()));
        }
    }
}

/// Pairs that 100 sweeps on the device do not solve go to the CPU: with its bits, and the report
/// says how many there were and why.
#[test]
fn what_does_not_converge_is_the_cpus() {
    let Some(gpu) = gpu() else { return };
    let settings = Settings { epsilon: 1e-3, relaxation: 10.0, ..Settings::default() };
    let transport = Arc::new(Transport { settings: settings.clone() });
    // Discs: centre, radius, brightness.
    let frame = |discs: &[(usize, usize, usize, f64)]| {
        let at = |p: usize| {
            let (y, x) = (p / 40, p % 40);
            let discs = discs
                .iter()
                .filter(|(cy, cx, r, _)| y.abs_diff(*cy).pow(2) + x.abs_diff(*cx).pow(2) < r * r);
            discs.map(|disc| disc.3).sum()
        };
        Frame::new(24, 40, (0..24 * 40).map(at).collect()).unwrap()
    };
    let dimmed = |by: f64| {
        let source = frame(&[(12, 8, 5, 1.0), (12, 30, 5, 1.0)]);
        Pair::new(source, frame(&[(12, 8, 5, 1.0), (12, 30, 5, by)]))
    };
    let moved = Pair::new(frame(&[(5, 5, 4, 1.0)]), frame(&[(18, 34, 4, 1.0)]));
    let pairs = vec![moved, dimmed(0.5), dimmed(0.6)];
    let is_left: Vec<bool> = solve_gpu(&gpu, &transport, &pairs)
        .iter()
        .map(|lane| match lane {
            Lane::ToCpu(reason) => {
                assert!(reason.contains("after 100 sweeps"), "{reason}");
                true
            }
            Lane::Done(_) => false,
        })
        .collect();
    let n_left = is_left.iter().filter(|is_left| **is_left).count();
    assert_eq!(is_left, [false, true, true]);
    let engine = swathe::Settings {
        n_threads: 1,
        devices: vec![Device::Gpu(gpu)],
        routing: swathe::Routing::Launch,
        ..swathe::Settings::default()
    };
    let source = swathe::Source::from_vec(&transport, pairs.clone());
    let mut found: Vec<Option<Solution>> = vec![None; pairs.len()];
    let report = swathe::run(&transport, &source, &engine, &mut |done| {
        found[done.index] = done.outcome.into_result().ok();
        ControlFlow::Continue(())
    });
    for ((pair, is_left), found) in pairs.iter().zip(is_left).zip(found) {
        let (expected, found) = (solve(pair, &settings).unwrap(), found.unwrap());
        transport.agree(&expected, &found, DeviceKind::Gpu).unwrap();
        assert!(!is_left || found.cost.to_bits() == expected.cost.to_bits());
    }
    let texts = report.handed_over();
    let [text] = &texts[..] else { panic!("{texts:?}") };
    let problems = if n_left == 1 { "problem" } else { "problems" };
    assert!(text.starts_with(&format!("gpu:0 left {n_left} {problems} to the CPU;")), "{text}");
    assert!(text.ends_with("after 100 sweeps"), "{text}");
}

/// The device memory that `need` states is enough.
#[test]
fn need_is_enough() {
    let Some(gpu) = gpu() else { return };
    let transport =
        Transport { settings: Settings { epsilon: 0.05, fields: false, ..Settings::default() } };
    for (h, w, n) in [(1, 1, 1), (1, 33, 7), (24, 40, 1), (24, 40, 3), (40, 24, 5), (16, 65, 2)] {
        let pair = embryo_pair(Shape::new(h, w), 5, Change::default());
        let pairs = vec![&pair; n];
        let shape = swathe::Shape::new(&[h as u32, w as u32]);
        let need = transport.need(&swathe::Size::of(shape), DeviceKind::Gpu);
        let said = need.lane_bytes * n as u64 + need.scratch_bytes;
        let lanes =
            transport.launch(&Device::Gpu(gpu.with_memory(said)), shape, &pairs, &Stop::new());
        assert!(lanes.is_ok(), "{n} lanes of {shape}: {:?}", lanes.err());
        // The stated need is at most half above the memory that is really used.
        let scarce = gpu.with_memory(need.lane_bytes * n as u64 * 3 / 5);
        let refused = transport.launch(&Device::Gpu(scarce.clone()), shape, &pairs, &Stop::new());
        assert!(
            h * w * n < 500 || matches!(refused, Err(GpuError::OutOfMemory { .. })),
            "{n} lanes of {shape} in three fifths"
        );
    }
}

#[test]
fn a_stop_acts_between_submissions() {
    let Some(gpu) = gpu() else { return };
    let transport = Transport { settings: Settings::default() };
    let pair = embryo_pair(Shape::new(64, 128), 6, Change::default());
    let shape = transport.size(&pair).shape;
    let stop = Stop::new();
    stop.cancel();
    let before = gpu.figures();
    let outcome = transport.launch(&Device::Gpu(gpu.clone()), shape, &[&pair], &stop);
    assert_eq!(outcome.err(), Some(GpuError::Stopped));
    assert_eq!(gpu.figures().n_submissions, before.n_submissions);
    // A stop requested while the device works ends the launch long before all sweeps are done.
    let stop = Stop::new();
    let pairs = vec![&pair; 8];
    std::thread::scope(|scope| {
        let work =
            scope.spawn(|| transport.launch(&Device::Gpu(gpu.clone()), shape, &pairs, &stop).err());
        while gpu.figures().n_submissions < before.n_submissions + 2 {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        stop.cancel();
        assert_eq!(work.join().unwrap(), Some(GpuError::Stopped));
    });
    let n_submissions = gpu.figures().n_submissions - before.n_submissions;
    assert!(n_submissions <= 3, "{n_submissions} submissions");
}

/// The CPU recomputes every answer that the engine gets from a device, and compares the two.
/// Problems that no kernel can solve are planned for the CPU.
#[test]
fn the_engine_has_the_device_solve_what_it_can() {
    let Some(gpu) = gpu() else { return };
    let transport =
        Arc::new(Transport { settings: Settings { epsilon: 5e-3, ..Settings::default() } });
    let mut pairs = mixed_pairs();
    let long = |p: usize| {
        let mut density = vec![0.0; 600];
        density[p] = 1.0;
        density[599 - p] = 2.0;
        Frame::new(1, 600, density).unwrap()
    };
    pairs.push(Pair::new(long(3), long(5)));
    let n_pairs = pairs.len();
    let settings = swathe::Settings {
        n_threads: 1,
        devices: vec![Device::Gpu(gpu)],
        routing: swathe::Routing::Launch,
        n_verify: n_pairs,
        ..swathe::Settings::default()
    };
    let source = swathe::Source::from_vec(&transport, pairs.clone());
    let mut outcomes: Vec<Option<String>> = vec![None; n_pairs];
    let report = swathe::run(&transport, &source, &settings, &mut |done| {
        outcomes[done.index] = Some(format!("{:?}", done.outcome.kind()));
        ControlFlow::Continue(())
    });
    assert!(outcomes.iter().all(Option::is_some), "{outcomes:?}");
    let counts = report.counts;
    assert_eq!((counts.n_solved, counts.n_failed), (n_pairs as u64 - 2, 2));
    assert_eq!(report.n_cpu_only, 1);
    assert_eq!(report.n_setbacks, 0, "{:?}", report.setbacks);
    let verification = &report.verification;
    assert!(verification.mismatches.is_empty(), "{verification:?}");
    assert_eq!(verification.n_checked, n_pairs as u64 - 2);
    let n_on_device: u64 = report
        .routes
        .iter()
        .flat_map(|route| &route.devices)
        .filter(|part| part.device != swathe::DeviceId::Cpu)
        .map(|part| part.n_lanes)
        .sum();
    assert_eq!(n_on_device, n_pairs as u64 - 1);
}

/// More lines than the device allows workgroups in one dimension.
#[test]
#[ignore = "soak: minutes on a software device"]
fn many_tiny_lanes_are_right() {
    let Some(gpu) = gpu() else { return };
    let transport = Transport { settings: Settings { epsilon: 0.3, ..Settings::default() } };
    let frame = |v: [f64; 4]| Frame::new(2, 2, v.to_vec()).unwrap();
    let kinds = [
        Pair::new(frame([1.0, 0.0, 0.0, 0.0]), frame([0.0, 0.0, 0.0, 1.0])),
        Pair::new(frame([1.0, 2.0, 0.0, 0.0]), frame([0.0, 1.0, 1.0, 1.0])),
        Pair::new(frame([0.0; 4]), frame([0.0, 1.0, 1.0, 1.0])),
    ];
    let pairs: Vec<&Pair> = (0..65_536).map(|n| &kinds[n % 3]).collect();
    let shape = swathe::Shape::new(&[2, 2]);
    let lanes = transport.launch(&Device::Gpu(gpu.clone()), shape, &pairs, &Stop::new()).unwrap();
    assert_eq!(lanes.len(), pairs.len());
    for (n, kind) in kinds.iter().enumerate() {
        let expected = solve(kind, &transport.settings).unwrap();
        let first = text_of(&lanes[n]);
        let Lane::Done(Ok(found)) = &lanes[n] else {
            panic!("{first}");
        };
        assert_eq!(transport.agree(&expected, found, DeviceKind::Gpu), Ok(()));
        assert!(lanes.iter().skip(n).step_by(3).all(|lane| text_of(lane) == first));
    }
}
