//! Single operations on many grids: the primitives that can run on a GPU.

mod gpu;

use crate::evaluate::meter::{self, Limits, Order};
use crate::language::primitive::primitive;
use crate::value::Value;
use crate::value::closure::call;
use crate::value::fault::Fault;
use crate::value::grid::Grid;
use crate::value::operator as op;
use swathe::{Device, DeviceKind, Difference, GpuError, Lane, Need, Shape, Size, Stop, Workload};

/// Single operations on grids as a workload of the engine: the primitives on the CPU, kernels with the same answers
/// on graphics processors.
///
/// ```
/// use swathe::Stop;
/// use swathe_arc::{Grid, GridAnswer, GridOp, GridOps, GridProblem};
///
/// let grid = Grid::from_rows(&[vec![1, 2], vec![3, 4]]).unwrap();
/// let problem = GridProblem { grid, op: GridOp::Rot90 };
/// let outcomes = swathe::solve_slice(&GridOps::default(), &[problem], 1, &Stop::new());
/// let turned = Grid::from_rows(&[vec![3, 1], vec![4, 2]]).unwrap();
/// assert_eq!(outcomes[0].solution(), Some(&GridAnswer::Grid(turned)));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct GridOps {
    /// The order of sets. It decides which colour is the background where several are equally common.
    pub order: Order,
}

/// A grid and what to do with it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GridProblem {
    /// The grid.
    pub grid: Grid,
    /// What to do.
    pub op: GridOp,
}

/// An operation on a grid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GridOp {
    /// `objects`, for all eight combinations of its flags.
    Objects,
    /// `hmirror`
    Hmirror,
    /// `vmirror`
    Vmirror,
    /// `dmirror`
    Dmirror,
    /// `cmirror`
    Cmirror,
    /// `rot90`
    Rot90,
    /// `rot180`
    Rot180,
    /// `rot270`
    Rot270,
    /// `replace`
    Replace {
        /// The colour that is replaced.
        from: i8,
        /// The colour it is replaced with.
        to: i8,
    },
    /// `colorcount` of every colour there is.
    ColorCounts,
}

/// What an operation makes of a grid.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum GridAnswer {
    /// The objects, for all eight combinations of the flags.
    Objects(Box<ObjectLabels>),
    /// Another grid.
    Grid(Grid),
    /// The colours that occur, ascending, and how often.
    Counts(Vec<(i8, u32)>),
}

/// The objects of a grid for all eight combinations of the flags of `objects`, called ways.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ObjectLabels {
    ways: [Vec<u32>; 8],
}

impl ObjectLabels {
    /// The label of a cell that belongs to no object.
    pub const NONE: u32 = u32::MAX;

    /// The object of each cell, row by row, for `objects(grid, univalued, diagonal, without_background)`. Objects are
    /// numbered in the order of their first cells.
    pub fn labels(&self, univalued: bool, diagonal: bool, without_background: bool) -> &[u32] {
        &self.ways[way(univalued, diagonal, without_background)]
    }

    /// Numbers the objects of each way; `object_of(way, cell)` identifies a cell's object.
    fn new(n_cells: usize, object_of: impl Fn(usize, usize) -> Option<usize>) -> ObjectLabels {
        let ways = std::array::from_fn(|way| {
            let mut numbers = vec![ObjectLabels::NONE; n_cells];
            let mut n_objects = 0;
            let mut number = |object: usize| {
                if numbers[object] == ObjectLabels::NONE {
                    numbers[object] = n_objects;
                    n_objects += 1;
                }
                numbers[object]
            };
            (0..n_cells)
                .map(|cell| object_of(way, cell).map_or(ObjectLabels::NONE, &mut number))
                .collect()
        });
        ObjectLabels { ways }
    }
}

fn way(univalued: bool, diagonal: bool, without_background: bool) -> usize {
    usize::from(univalued) * 4 + usize::from(diagonal) * 2 + usize::from(without_background)
}

/// Operations of different classes must not share a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Class {
    Objects,
    /// The answer is a grid of as many cells.
    Moves,
    Counts,
}

impl GridOp {
    fn class(self) -> Class {
        match self {
            GridOp::Objects => Class::Objects,
            GridOp::ColorCounts => Class::Counts,
            _ => Class::Moves,
        }
    }
}

impl Class {
    fn of(number: u32) -> Class {
        match number {
            0 => Class::Objects,
            1 => Class::Moves,
            _ => Class::Counts,
        }
    }
}

impl Workload for GridOps {
    type Problem = GridProblem;
    type Solution = GridAnswer;
    type Failure = Fault;
    type Scratch = ();
    type Local = ();
    const NAME: &'static str = "arc-grid";

    fn size(&self, problem: &GridProblem) -> Size {
        let GridProblem { grid, op } = problem;
        Size {
            class: op.class() as u32,
            ..Size::of(Shape::new(&[grid.height() as u32, grid.width() as u32]))
        }
    }

    fn need(&self, size: &Size, on: DeviceKind) -> Need {
        let class = Class::of(size.class);
        if on == DeviceKind::Gpu {
            return gpu::need(class, size.shape);
        }
        /// Of values and the tables around them, for a grid of any size.
        const OVERHEAD_BYTES: u64 = 16 << 10;
        let n_cells = size.shape.volume();
        // Objects are sets of cells, and each cell is read as a value: 560 bytes per cell in all, measured.
        let (scratch_bytes, solution_bytes) = match class {
            Class::Objects => (n_cells * 576, n_cells * 8 * 4),
            Class::Moves => (n_cells * 2, n_cells),
            Class::Counts => (n_cells * 2, 256 * 8),
        };
        Need {
            lane_bytes: n_cells,
            scratch_bytes: scratch_bytes + OVERHEAD_BYTES,
            solution_bytes: solution_bytes + 512,
        }
    }

    fn scratch(&self) {}

    fn local(&self) {}

    fn solve(
        &self,
        problem: &GridProblem,
        _: &mut (),
        _: &mut (),
        _: &Stop,
    ) -> Result<GridAnswer, Fault> {
        self.measured(|| answer(problem))
    }

    fn launch_form(&self, size: &Size) -> Option<Shape> {
        let n_cells = size.shape.volume();
        (n_cells <= gpu::N_CELLS_MAX as u64).then_some(size.shape)
    }

    fn gpu_is_packed(&self) -> bool {
        true
    }

    fn launch(
        &self,
        device: &Device,
        _padded: Shape,
        problems: &[&GridProblem],
        stop: &Stop,
    ) -> Result<Vec<Lane<GridAnswer, Fault>>, GpuError> {
        gpu::solve(self, device.kernels()?, problems, stop)
    }

    fn launch_is_exact(&self, _class: u32) -> bool {
        true
    }

    fn can_compare(&self) -> bool {
        true
    }

    fn agree(
        &self,
        reference: &GridAnswer,
        other: &GridAnswer,
        _on: DeviceKind,
    ) -> Result<(), Difference> {
        if reference == other {
            return Ok(());
        }
        Err(Difference {
            field: "answer".to_owned(),
            expected: format!("{reference:?}"),
            found: format!("{other:?}"),
        })
    }

    fn class_name(&self, class: u32) -> String {
        let name = match Class::of(class) {
            Class::Objects => "objects",
            Class::Moves => "mirrors, rotations and replaced colours",
            Class::Counts => "colour counts",
        };
        name.to_owned()
    }
}

impl GridOps {
    /// Runs primitives with fresh limits and in this workload's order of sets.
    fn measured<T>(&self, body: impl FnOnce() -> T) -> T {
        let before = meter::order();
        meter::set_order(self.order);
        let (result, _) = meter::measured(&Limits::default(), 0, body);
        meter::set_order(before);
        result
    }

    /// The most common colour, as the primitive finds it: the order of sets breaks ties.
    fn background(&self, grid: &Grid) -> Result<i8, Fault> {
        self.measured(|| {
            let color = run("mostcolor", &[grid.clone().into()])?;
            color.as_int().and_then(|c| i8::try_from(c).ok()).ok_or(Fault::TypeError)
        })
    }
}

/// What the primitives make of a grid.
fn answer(problem: &GridProblem) -> Result<GridAnswer, Fault> {
    let GridProblem { grid, op } = problem;
    let value: Value = grid.clone().into();
    let moved = |name: &str, colors: &[i8]| {
        let colors = colors.iter().map(|&c| Value::Int(c.into()));
        let args: Vec<Value> = std::iter::once(value.clone()).chain(colors).collect();
        grid_of(&run(name, &args)?).map(GridAnswer::Grid)
    };
    match *op {
        GridOp::Objects => {
            objects(grid, &value).map(|labels| GridAnswer::Objects(Box::new(labels)))
        }
        GridOp::Hmirror => moved("hmirror", &[]),
        GridOp::Vmirror => moved("vmirror", &[]),
        GridOp::Dmirror => moved("dmirror", &[]),
        GridOp::Cmirror => moved("cmirror", &[]),
        GridOp::Rot90 => moved("rot90", &[]),
        GridOp::Rot180 => moved("rot180", &[]),
        GridOp::Rot270 => moved("rot270", &[]),
        GridOp::Replace { from, to } => moved("replace", &[from, to]),
        GridOp::ColorCounts => {
            let mut colors = grid.cells().to_vec();
            colors.sort_unstable();
            colors.dedup();
            let count = |color: i8| {
                let n = run("colorcount", &[value.clone(), Value::Int(color.into())])?;
                let n = n.as_int().and_then(|n| u32::try_from(n).ok());
                Ok((color, n.ok_or(Fault::TypeError)?))
            };
            let counts: Result<_, Fault> = colors.into_iter().map(count).collect();
            counts.map(GridAnswer::Counts)
        }
    }
}

fn run(name: &str, args: &[Value]) -> Result<Value, Fault> {
    call(&primitive(name).ok_or(Fault::AttributeError)?, args)
}

/// The objects that the primitive finds, in all eight ways.
fn objects(grid: &Grid, value: &Value) -> Result<ObjectLabels, Fault> {
    let n_cells = grid.cells().len();
    let mut object_of = vec![vec![None; n_cells]; 8];
    for univalued in [false, true] {
        for diagonal in [false, true] {
            for without_background in [false, true] {
                let found = run(
                    "objects",
                    &[value.clone(), univalued.into(), diagonal.into(), without_background.into()],
                )?;
                let objects = &mut object_of[way(univalued, diagonal, without_background)];
                for (number, object) in op::items(&found)?.iter().enumerate() {
                    for cell in op::items(object)? {
                        let (_, place) = op::unpack(&cell)?;
                        let (i, j) = op::unpack(&place)?;
                        let (i, j) = (op::int(&i)? as usize, op::int(&j)? as usize);
                        objects[i * grid.width() + j] = Some(number);
                    }
                }
            }
        }
    }
    Ok(ObjectLabels::new(n_cells, |way, cell| object_of[way][cell]))
}

/// A value as a grid, whether it is one or a tuple of rows.
fn grid_of(value: &Value) -> Result<Grid, Fault> {
    if let Value::Grid(grid) = value {
        return Ok(Grid::clone(grid));
    }
    let color = |v: &Value| i8::try_from(op::int(v)?).map_err(|_| Fault::OverflowError);
    let rows: Result<Vec<Vec<i8>>, Fault> =
        op::items(value)?.iter().map(|row| op::items(row)?.iter().map(color).collect()).collect();
    Grid::from_rows(&rows?).ok_or(Fault::ValueError)
}
