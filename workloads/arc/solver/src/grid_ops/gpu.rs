//! Kernels for single operations: the primitives' answers, bit for bit.
//!
//! Grids are stored one after the other, without padding. The kernel finds components by union-find, not by repeated
//! propagation: it joins every pair of linked neighbours at once, by pointing the later of their two root cells to the
//! earlier one.

use super::{Class, GridAnswer, GridOp, GridOps, GridProblem, ObjectLabels};
use crate::value::fault::Fault;
use crate::value::grid::Grid;
use crate::value::packed;
use swathe::{Access, Gpu, GpuError, Kernel, Lane, Need, Shape, Stop};

/// The largest grid: its labels fit in the workgroup memory of every device.
pub(super) const N_CELLS_MAX: usize = 4032;

const TEXT: &[&str] = &[include_str!("grid_ops.wgsl")];
const BINDINGS: &[Access] = &[Access::Read, Access::Read, Access::Write];

const OBJECTS: Kernel = Kernel {
    name: "arc.label_components",
    wgsl: TEXT,
    entry: "label_components",
    bindings: BINDINGS,
};

const MOVES: Kernel =
    Kernel { name: "arc.move_cells", wgsl: TEXT, entry: "move_cells", bindings: BINDINGS };

const COUNTS: Kernel =
    Kernel { name: "arc.count_colors", wgsl: TEXT, entry: "count_colors", bindings: BINDINGS };

/// Words in the kernels' table for each grid.
const N_LANE_WORDS: usize = 8;

/// The words of a grid's answer.
fn n_out_words(class: Class, n_cells: usize) -> usize {
    match class {
        Class::Objects => 2 * n_cells,
        Class::Moves => n_cells.div_ceil(4),
        Class::Counts => 128,
    }
}

/// The device memory that a grid needs.
pub(super) fn need(class: Class, shape: Shape) -> Need {
    /// Cells, table, answers, read-back, parameters.
    const N_BUFFERS: u64 = 5;
    /// The smallest allocation of a buffer.
    const BUFFER_BYTES_MIN: u64 = 320;
    let n_cells = usize::try_from(shape.volume()).unwrap_or(usize::MAX / 16);
    let n_words = n_cells.div_ceil(4) + N_LANE_WORDS + 2 * n_out_words(class, n_cells);
    let bytes = 4 * n_words as u64;
    Need {
        // The engine allocates at most a quarter more than requested.
        lane_bytes: bytes + bytes.div_ceil(4),
        scratch_bytes: N_BUFFERS * BUFFER_BYTES_MIN,
        solution_bytes: 0,
    }
}

/// What happens to a lane, decided before the launch.
enum LanePlan {
    Launched { background: i8 },
    Failed(Fault),
    ToCpu(&'static str),
}

pub(super) fn solve(
    workload: &GridOps,
    gpu: &Gpu,
    problems: &[&GridProblem],
    stop: &Stop,
) -> Result<Vec<Lane<GridAnswer, Fault>>, GpuError> {
    if stop.requested() {
        return Err(GpuError::Stopped);
    }
    let Some(class) = problems.first().map(|problem| problem.op.class()) else {
        return Ok(Vec::new());
    };
    let lots: Vec<LanePlan> =
        problems.iter().map(|problem| lot(workload, problem, class)).collect();
    let words = launch(gpu, class, problems, &lots, stop)?;
    let mut rest = words.as_slice();
    let lanes = lots.iter().zip(problems).map(|(lot, problem)| match *lot {
        LanePlan::Failed(fault) => Lane::Done(Err(fault)),
        LanePlan::ToCpu(reason) => Lane::ToCpu(reason.to_owned()),
        LanePlan::Launched { background } => {
            let n_words = n_out_words(class, problem.grid.cells().len());
            let (own, others) = rest.split_at(n_words);
            rest = others;
            Lane::Done(Ok(answer(class, problem, background, own)))
        }
    });
    Ok(lanes.collect())
}

fn lot(workload: &GridOps, problem: &GridProblem, class: Class) -> LanePlan {
    if problem.op.class() != class {
        return LanePlan::ToCpu("its operation is not its batch's");
    }
    if problem.grid.cells().len() > N_CELLS_MAX {
        return LanePlan::ToCpu("the grid is too large");
    }
    // The primitives treat colours outside this range differently.
    let fits = |color: i8| packed::color_fits(color.into());
    let (_, from, to) = number(problem.op);
    if !(fits(from) && fits(to) && problem.grid.cells().iter().all(|&color| fits(color))) {
        return LanePlan::ToCpu("a colour is out of range");
    }
    if class != Class::Objects {
        return LanePlan::Launched { background: 0 };
    }
    match workload.background(&problem.grid) {
        Ok(background) => LanePlan::Launched { background },
        Err(fault) => LanePlan::Failed(fault),
    }
}

/// The answers' words, one after the other.
fn launch(
    gpu: &Gpu,
    class: Class,
    problems: &[&GridProblem],
    lots: &[LanePlan],
    stop: &Stop,
) -> Result<Vec<u32>, GpuError> {
    let launched = || {
        let lots = lots.iter().zip(problems);
        lots.filter_map(|(lot, problem)| match *lot {
            LanePlan::Launched { background } => Some((*problem, background)),
            _ => None,
        })
    };
    let n_cells = |problem: &GridProblem| problem.grid.cells().len();
    let n_out: usize = launched().map(|(problem, _)| n_out_words(class, n_cells(problem))).sum();
    let n_lanes = launched().count();
    let n_words_max = n_out.max(n_lanes * N_LANE_WORDS);
    let info = gpu.info();
    let limit_bytes = info.binding_bytes_max.min(info.buffer_bytes_max);
    if 4 * n_words_max as u64 > limit_bytes {
        return Err(GpuError::TooLarge { wanted_bytes: 4 * n_words_max as u64, limit_bytes });
    }
    if n_lanes == 0 {
        return Ok(Vec::new());
    }
    let mut words = Vec::new();
    let mut table = Vec::with_capacity(n_lanes * N_LANE_WORDS);
    let mut out_at = 0;
    for (problem, background) in launched() {
        let GridProblem { grid, op } = problem;
        let (number, from, to) = number(*op);
        table.extend([
            grid.height() as u32,
            grid.width() as u32,
            words.len() as u32,
            out_at as u32,
            number,
            byte(from),
            byte(to),
            byte(background),
        ]);
        pack(grid.cells(), &mut words);
        out_at += n_out_words(class, n_cells(problem));
    }
    let cells = gpu.upload(&words)?;
    let table = gpu.upload(&table)?;
    let out = gpu.buffer(4 * n_out as u64)?;
    let kernel = match class {
        Class::Objects => &OBJECTS,
        Class::Moves => &MOVES,
        Class::Counts => &COUNTS,
    };
    let mut recording = gpu.record();
    let buffers = [&cells, &table, &out];
    recording.launch(kernel, &[n_lanes as u32], &buffers, n_lanes as u64)?;
    recording.run(stop)?;
    gpu.read(&out, n_out, stop)
}

/// The number of an operation in the kernel, and its colours.
fn number(op: GridOp) -> (u32, i8, i8) {
    match op {
        GridOp::Objects | GridOp::ColorCounts | GridOp::Hmirror => (0, 0, 0),
        GridOp::Vmirror => (1, 0, 0),
        GridOp::Dmirror => (2, 0, 0),
        GridOp::Cmirror => (3, 0, 0),
        GridOp::Rot90 => (4, 0, 0),
        GridOp::Rot180 => (5, 0, 0),
        GridOp::Rot270 => (6, 0, 0),
        GridOp::Replace { from, to } => (7, from, to),
    }
}

/// A colour as kernels see it.
fn byte(color: i8) -> u32 {
    u32::from(color.cast_unsigned())
}

fn pack(cells: &[i8], words: &mut Vec<u32>) {
    let four = |cells: &[i8]| {
        let mut bytes = [0; 4];
        for (byte, cell) in bytes.iter_mut().zip(cells) {
            *byte = cell.cast_unsigned();
        }
        u32::from_le_bytes(bytes)
    };
    words.extend(cells.chunks(4).map(four));
}

fn answer(class: Class, problem: &GridProblem, background: i8, words: &[u32]) -> GridAnswer {
    let GridProblem { grid, op } = problem;
    let n_cells = grid.cells().len();
    match class {
        Class::Objects => {
            GridAnswer::Objects(Box::new(object_labels(grid.cells(), background, words)))
        }
        Class::Moves => {
            let bytes = words.iter().flat_map(|word| word.to_le_bytes());
            let cells = bytes.take(n_cells).map(u8::cast_signed).collect();
            let turned =
                matches!(op, GridOp::Dmirror | GridOp::Cmirror | GridOp::Rot90 | GridOp::Rot270);
            let width = if turned { grid.height() } else { grid.width() };
            GridAnswer::Grid(Grid::new(width, cells))
        }
        Class::Counts => {
            let count = |color: i8| {
                let slot = usize::from(color.cast_unsigned());
                (words[slot / 2] >> (slot % 2 * 16)) & 0xffff
            };
            let counts = (i8::MIN..=i8::MAX).map(|color| (color, count(color)));
            GridAnswer::Counts(counts.filter(|&(_, n)| n > 0).collect())
        }
    }
}

/// Derives all eight ways from the kernel's four labellings. If the background counts, univalued objects include those
/// of the background's colour, and objects of any colours are one: the whole grid.
fn object_labels(cells: &[i8], background: i8, words: &[u32]) -> ObjectLabels {
    /// What the kernel gives cells without an object.
    const NONE: u32 = 0xffff;
    ObjectLabels::new(cells.len(), |way, cell| {
        let [univalued, diagonal, without_background] = [way & 4 > 0, way & 2 > 0, way & 1 > 0];
        let is_background = cells[cell] == background;
        match (univalued, without_background) {
            (_, true) if is_background => None,
            (false, false) => Some(0),
            _ => {
                let pair = words[2 * cell + usize::from(!univalued)];
                let label = if diagonal { pair >> 16 } else { pair & NONE };
                (label != NONE).then_some(label as usize)
            }
        }
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_kernels_are_valid() {
        for kernel in [super::OBJECTS, super::MOVES, super::COUNTS] {
            kernel.validate().unwrap();
        }
    }
}
