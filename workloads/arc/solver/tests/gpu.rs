//! Single operations on a GPU: the primitives' answers, bit for bit, alone and in any batch.

use std::ops::Deref;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use swathe::{Device, DeviceKind, Gpu, GpuError, GpuSearch, Gpus, Lane, Size, Stop, Workload};
use swathe_arc::{
    Grid, GridAnswer, GridOp, GridOps, GridProblem, ObjectLabels, Order, Task, samples,
};

/// A device for one test at a time, a software one included. Without a device a test is skipped, but never in
/// continuous integration.
#[expect(clippy::print_stdout, reason = "a skipped test says so")]
fn gpu() -> Option<Held> {
    static FOUND: OnceLock<Gpus> = OnceLock::new();
    static TURN: Mutex<()> = Mutex::new(());
    let found =
        FOUND.get_or_init(|| Gpus::find(&GpuSearch { software: true, ..GpuSearch::default() }));
    let gpu = found.usable.first();
    if gpu.is_none() {
        let reason = format!("no graphics processor: {:?}", found.refused);
        assert!(std::env::var_os("CI").is_none(), "{reason}");
        println!("SKIPPED: {reason}");
    }
    Some(Held { gpu: gpu?, _turn: TURN.lock().unwrap_or_else(PoisonError::into_inner) })
}

struct Held {
    gpu: &'static Gpu,
    _turn: MutexGuard<'static, ()>,
}

impl Deref for Held {
    type Target = Gpu;

    fn deref(&self) -> &Gpu {
        self.gpu
    }
}

const OPS: [GridOp; 11] = [
    GridOp::Objects,
    GridOp::Hmirror,
    GridOp::Vmirror,
    GridOp::Dmirror,
    GridOp::Cmirror,
    GridOp::Rot90,
    GridOp::Rot180,
    GridOp::Rot270,
    GridOp::Replace { from: 0, to: 5 },
    GridOp::Replace { from: 3, to: -1 },
    GridOp::ColorCounts,
];

fn launch(workload: &GridOps, gpu: &Gpu, problems: &[&GridProblem]) -> Vec<GridAnswer> {
    let form = workload.launch_form(&workload.size(problems[0])).unwrap();
    let lanes = workload.launch(&Device::Gpu(gpu.clone()), form, problems, &Stop::new());
    lanes
        .unwrap()
        .into_iter()
        .map(|lane| match lane {
            Lane::Done(answer) => answer.unwrap(),
            Lane::ToCpu(reason) => panic!("{reason}"),
        })
        .collect()
}

/// Every operation on all grids: on the device together, in reverse, and some of them alone.
#[track_caller]
fn check(grids: &[Grid], ops: &[GridOp], gpu: &Gpu) {
    check_in(Order::default(), grids, ops, gpu);
}

#[track_caller]
fn check_in(order: Order, grids: &[Grid], ops: &[GridOp], gpu: &Gpu) {
    let workload = GridOps { order };
    for &op in ops {
        let problems: Vec<GridProblem> =
            grids.iter().map(|grid| GridProblem { grid: grid.clone(), op }).collect();
        let all: Vec<&GridProblem> = problems.iter().collect();
        let together = launch(&workload, gpu, &all);
        assert_eq!(together.len(), problems.len());
        let reversed: Vec<&GridProblem> = problems.iter().rev().collect();
        let reversed = launch(&workload, gpu, &reversed);
        assert!(reversed.iter().rev().eq(&together), "{op:?} in reverse");
        for at in (0..problems.len()).step_by(problems.len().div_ceil(20)) {
            let alone = launch(&workload, gpu, &[&problems[at]]);
            assert_eq!(alone[0], together[at], "{op:?} alone");
        }
        for (problem, found) in problems.iter().zip(&together) {
            let expected = workload.solve(problem, &mut (), &mut (), &Stop::new()).unwrap();
            if let Err(difference) = workload.agree(&expected, found, DeviceKind::Gpu) {
                panic!("{op:?} of {:?}: {difference}", problem.grid);
            }
        }
    }
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        swathe::seed::draw(&mut self.0)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn grid(&mut self, h: usize, w: usize, n_colors: usize) -> Grid {
        // Where most cells have one colour there are objects of some size.
        let n_more = self.below(3) * n_colors;
        grid(h, w, |_, _| self.below(n_colors + n_more).min(n_colors - 1) as i8)
    }
}

fn grid(h: usize, w: usize, mut color: impl FnMut(usize, usize) -> i8) -> Grid {
    let rows: Vec<Vec<i8>> = (0..h).map(|i| (0..w).map(|j| color(i, j)).collect()).collect();
    Grid::from_rows(&rows).unwrap()
}

#[test]
fn grids_of_the_samples() {
    let Some(gpu) = gpu() else { return };
    let mut grids = Vec::new();
    for (name, json) in samples::TASKS {
        let task = Task::from_json(name, json).unwrap();
        for sample in task.train.into_iter().chain(task.test) {
            grids.push(sample.input);
            grids.extend(sample.output);
        }
    }
    assert!(grids.len() > 100);
    check(&grids, &OPS, &gpu);
}

#[test]
fn random_grids_of_all_sizes() {
    let Some(gpu) = gpu() else { return };
    let mut random = Random(1);
    let mut grids: Vec<Grid> = (0..300)
        .map(|_| {
            let (h, w) = (1 + random.below(30), 1 + random.below(30));
            let n_colors = 1 + random.below(10);
            random.grid(h, w, n_colors)
        })
        .collect();
    for (h, w) in [(1, 1), (1, 30), (30, 1), (30, 30), (63, 64), (1, 2000), (2000, 2), (2, 2)] {
        grids.push(random.grid(h, w, 3));
    }
    check(&grids, &OPS, &gpu);
}

/// Components that wind through the whole grid, where propagating labels would take many rounds.
#[test]
fn spirals_combs_and_snakes() {
    let Some(gpu) = gpu() else { return };
    let mut grids = Vec::new();
    for side in [5, 12, 29, 30, 63] {
        let comb = grid(side, side, |i, j| i8::from(i == side - 1 || j % 2 == 0));
        // Teeth that meet at the top only.
        let upside_down = grid(side, side, |i, j| i8::from(i == 0 || j % 2 == 0));
        let snake = grid(side, side, |i, j| {
            i8::from(i % 2 == 0 || j == if i % 4 == 1 { side - 1 } else { 0 })
        });
        let stripes = grid(side, side, |i, j| ((i + j) % 3) as i8);
        let board = grid(side, side, |i, j| ((i + j) % 2) as i8 + 4);
        grids.extend([comb, upside_down, snake, stripes, board, spiral(side)]);
    }
    check(&grids, &OPS, &gpu);
}

/// A line that turns inwards, with a line of background between its windings.
fn spiral(side: usize) -> Grid {
    let mut cells = vec![vec![0i8; side]; side];
    let at = |cells: &[Vec<i8>], i: i32, j: i32| {
        let inside = |x: i32| (0..side as i32).contains(&x);
        (inside(i) && inside(j)).then(|| cells[i as usize][j as usize])
    };
    let (mut i, mut j, mut di, mut dj) = (0i32, 0i32, 0i32, 1i32);
    cells[0][0] = 1;
    loop {
        let mut n_turns = 0;
        while at(&cells, i + di, j + dj) != Some(0) || at(&cells, i + 2 * di, j + 2 * dj) == Some(1)
        {
            (di, dj) = (dj, -di);
            n_turns += 1;
            if n_turns > 1 {
                return Grid::from_rows(&cells).unwrap();
            }
        }
        (i, j) = (i + di, j + dj);
        cells[i as usize][j as usize] = 1;
    }
}

#[test]
fn a_spiral_is_one_object_and_its_gap_another() {
    let Some(gpu) = gpu() else { return };
    let problem = GridProblem { grid: spiral(30), op: GridOp::Objects };
    let answers = launch(&GridOps::default(), &gpu, &[&problem]);
    let GridAnswer::Objects(objects) = &answers[0] else { panic!("{:?}", answers[0]) };
    let labels = objects.labels(true, false, false);
    assert_eq!(labels.iter().max(), Some(&1));
    let without = objects.labels(true, false, true);
    assert_eq!(without.iter().filter(|&&label| label == 0).count(), {
        let n_ones = problem.grid.cells().iter().filter(|&&c| c == 1).count();
        n_ones.min(900 - n_ones)
    });
    assert!(without.contains(&ObjectLabels::NONE));
    assert!(objects.labels(false, true, false).iter().all(|&label| label == 0));
}

/// Two colours that are equally common: which one is background depends on the order of sets.
#[test]
fn ties_of_the_background() {
    let Some(gpu) = gpu() else { return };
    let mut grids = Vec::new();
    for a in -3..16 {
        for b in -3..16 {
            grids.push(grid(2, 4, |i, _| if i == 0 { a } else { b }));
            grids.push(grid(5, 2, |i, _| [a, b, 7, 3, 1][i]));
        }
    }
    for order in [Order::Cpython, Order::Sorted] {
        check_in(order, &grids, &[GridOp::Objects], &gpu);
    }
}

#[test]
fn colors_of_every_kind() {
    let Some(gpu) = gpu() else { return };
    let all = grid(20, 20, |i, j| (((i * 20 + j) % 254) as i32 - 127) as i8);
    let few = grid(20, 20, |i, j| [-127, 126, 0][(i / 3 + j / 4) % 3]);
    let replaced = GridOp::Replace { from: -127, to: 126 };
    check(&[all, few], &OPS, &gpu);
    let small = grid(2, 2, |_, _| 0);
    check(std::slice::from_ref(&small), &[replaced], &gpu);
    // Colours that the primitives keep in another form are left to the CPU.
    let workload = GridOps::default();
    let outside = [
        (grid(1, 2, |_, j| [127, 0][j]), GridOp::Rot90),
        (grid(1, 2, |_, j| [-128, 0][j]), GridOp::ColorCounts),
        (small, GridOp::Replace { from: 0, to: 127 }),
    ];
    for (grid, op) in outside {
        let problem = GridProblem { grid, op };
        let form = workload.launch_form(&workload.size(&problem)).unwrap();
        let lanes = workload.launch(&Device::Gpu(gpu.clone()), form, &[&problem], &Stop::new());
        assert!(matches!(&lanes.unwrap()[..], [Lane::ToCpu(_)]), "{op:?}");
    }
}

#[test]
fn as_many_tiny_grids_as_a_launch_can_have() {
    let Some(gpu) = gpu() else { return };
    let mut random = Random(3);
    let grids: Vec<Grid> = (0..65_536)
        .map(|_| {
            let (h, w) = (1 + random.below(3), 1 + random.below(3));
            random.grid(h, w, 3)
        })
        .collect();
    let ops =
        [GridOp::Objects, GridOp::Rot90, GridOp::Replace { from: 1, to: 9 }, GridOp::ColorCounts];
    check(&grids, &ops, &gpu);
}

/// Mirrors, rotations and replaced colours share a launch.
#[test]
fn different_moves_in_one_launch() {
    let Some(gpu) = gpu() else { return };
    let mut random = Random(4);
    let moves = OPS.into_iter().filter(|op| !matches!(op, GridOp::Objects | GridOp::ColorCounts));
    let problems: Vec<GridProblem> = moves
        .cycle()
        .take(500)
        .map(|op| {
            let (h, w) = (1 + random.below(12), 1 + random.below(12));
            GridProblem { grid: random.grid(h, w, 6), op }
        })
        .collect();
    let workload = GridOps::default();
    let all: Vec<&GridProblem> = problems.iter().collect();
    for (problem, found) in problems.iter().zip(launch(&workload, &gpu, &all)) {
        let expected = workload.solve(problem, &mut (), &mut (), &Stop::new());
        assert_eq!(expected, Ok(found), "{problem:?}");
    }
}

#[test]
fn what_does_not_fit_in_a_workgroup_is_planned_to_the_cpu() {
    let workload = GridOps::default();
    let form = |h: usize, w: usize| {
        let grid = grid(h, w, |_, _| 0);
        let problem = GridProblem { grid, op: GridOp::Objects };
        workload.launch_form(&workload.size(&problem))
    };
    assert!(form(30, 30).is_some());
    assert!(form(63, 64).is_some());
    assert!(form(64, 64).is_none());
}

#[test]
fn need_covers_what_is_taken_and_not_much_more() {
    let Some(gpu) = gpu() else { return };
    let workload = GridOps::default();
    let mut random = Random(5);
    for op in [GridOp::Objects, GridOp::Dmirror, GridOp::ColorCounts] {
        for (n_lanes, h, w) in [(1, 1, 1), (1, 63, 64), (30, 17, 13), (400, 30, 30), (10_000, 1, 3)]
        {
            let problem = GridProblem { grid: random.grid(h, w, 5), op };
            let size = workload.size(&problem);
            let form = workload.launch_form(&size).unwrap();
            let need = workload.need(&Size { shape: form, ..size }, DeviceKind::Gpu);
            let lanes_bytes = n_lanes as u64 * (need.lane_bytes + need.solution_bytes);
            let bytes = lanes_bytes + need.scratch_bytes;
            let run = |bytes: u64| {
                let small = gpu.with_memory(bytes);
                let problems = vec![&problem; n_lanes];
                let lanes =
                    workload.launch(&Device::Gpu(small.clone()), form, &problems, &Stop::new());
                lanes.map(|lanes| assert_eq!(lanes.len(), n_lanes))
            };
            assert_eq!(run(bytes), Ok(()), "{op:?}: {n_lanes} grids of {form}");
            if lanes_bytes > 16 << 10 {
                assert!(
                    matches!(run(bytes / 2), Err(GpuError::OutOfMemory { .. })),
                    "{op:?}: half would do for {n_lanes} grids of {form}"
                );
            }
        }
    }
}

/// The transfers of a launch of a typical batch.
#[test]
fn a_batch_is_one_dispatch() {
    let Some(gpu) = gpu() else { return };
    let workload = GridOps::default();
    let problem = GridProblem { grid: Random(6).grid(20, 20, 4), op: GridOp::Objects };
    let gpu = gpu.with_memory(1 << 30);
    assert_eq!(launch(&workload, &gpu, &vec![&problem; 1000]).len(), 1000);
    let figures = gpu.figures();
    assert_eq!((figures.n_submissions, figures.n_dispatches), (1, 1));
    // A byte for each cell and a row of the table; four labels of two bytes back.
    assert_eq!(figures.uploaded_bytes, 1000 * (400 + 32));
    assert_eq!(figures.downloaded_bytes, 1000 * 400 * 8);
}
