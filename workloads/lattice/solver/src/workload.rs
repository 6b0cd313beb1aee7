//! Questions about lattices, as a workload of the engine.

use std::fmt;
use std::sync::Arc;

use swathe::{DeviceKind, Difference, Need, Shape, Size, Stop, Workload};

use super::guided::guided_need;
use super::search::search_need;
use super::{
    Analysis, Lattice, LatticeError, Layers, MemoryNeed, N_DIMENSIONS_MAX, N_VERTICES_DIAMETER_MAX,
    N_VERTICES_WALKED_MAX, PathAnswer, SearchScratch, analyze, layers, shortest_path,
};

/// Answers many questions about lattices.
///
/// ```
/// use std::sync::Arc;
/// use swathe::Stop;
/// use swathe_lattice::Lattice;
/// use swathe_lattice::{Answer, LatticeWorkload, Operation, Query};
///
/// let lattice = Arc::new(Lattice::new(&[10, 10, 10])?);
/// let queries = [Operation::Analyze, Operation::Path { from: 0, to: 999 }]
///     .map(|operation| Query { lattice: Arc::clone(&lattice), operation });
/// let outcomes = swathe::solve_slice(&LatticeWorkload, &queries, 1, &Stop::new());
/// let Some(Answer::Path(path)) = outcomes[1].solution() else { unreachable!() };
/// assert_eq!(path.length(), Some(27));
/// # Ok::<(), swathe_lattice::LatticeError>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct LatticeWorkload;

/// A question about a lattice: one problem of the workload.
#[derive(Clone, Debug)]
pub struct Query {
    /// The lattice.
    pub lattice: Arc<Lattice>,
    /// What is asked.
    pub operation: Operation,
}

/// What is asked about a lattice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// See [`analyze`].
    Analyze,
    /// See [`shortest_path`].
    Path {
        /// The vertex where the path begins.
        from: u64,
        /// The vertex where the path ends.
        to: u64,
    },
    /// See [`layers`].
    Layers {
        /// The vertex in the middle.
        from: u64,
        /// Whether the distance of each vertex is listed too.
        with_distances: bool,
    },
}

/// The answer to a [`Query`]; its variant corresponds to the [`Operation`].
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// To [`Operation::Analyze`].
    Analysis(Analysis),
    /// To [`Operation::Path`].
    Path(PathAnswer),
    /// To [`Operation::Layers`].
    Layers(Layers),
}

/// Why a question has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// The lattice is invalid, or the question cannot be answered on it.
    #[error(transparent)]
    Lattice(#[from] LatticeError),
    /// A part of the question cannot be parsed.
    #[error("{field} has {text:?}, which is not {expected}")]
    Text {
        /// The part of the question.
        field: &'static str,
        /// The text of that part, shortened.
        text: String,
        /// What the text should be.
        expected: &'static str,
    },
    /// All distances are requested, and they are more than one row of a table holds.
    #[error(
        "the distances of {n_vertices} vertices are more than a row holds: at most {n_vertices_max}"
    )]
    TooManyDistances {
        /// Vertices of the lattice.
        n_vertices: u128,
        /// The most vertices whose distances fit.
        n_vertices_max: u64,
    },
}

impl Operation {
    /// The name that users know.
    pub fn name(&self) -> &'static str {
        NAMES[self.number() as usize]
    }

    fn number(&self) -> u32 {
        match self {
            Operation::Analyze => 0,
            Operation::Path { .. } => 1,
            Operation::Layers { with_distances: false, .. } => 2,
            Operation::Layers { with_distances: true, .. } => 3,
        }
    }
}

const NAMES: [&str; 4] = ["analyze", "path", "layers", "layers"];

/// The size of a question, computed without building its lattice.
///
/// The shape's last extent is the number of blocked vertices. The extents before it are those of
/// the lattice; beyond three axes, the outer ones are multiplied into one. The class encodes the
/// operation and the number of axes. Lattices too large to be searched have classes of their own
/// and one extent: the number of vertices of the longest path.
pub fn query_size(sizes: &[u32], n_blocked: u64, operation: &Operation) -> Size {
    let n_vertices = sizes.iter().fold(1_u64, |n, &size| n.saturating_mul(size.into()));
    if n_vertices > N_VERTICES_WALKED_MAX {
        let n_path: u64 = sizes.iter().map(|&size| u64::from(size) - 1).sum::<u64>() + 1;
        return Size {
            shape: Shape::new(&[u32::try_from(n_path).unwrap_or(u32::MAX)]),
            class: operation.number() + N_OPERATIONS * (FIRST_LARGE + sizes.len() as u32),
            affinity: 0,
        };
    }
    let n_folded = sizes.len().saturating_sub(3);
    let mut extents = [0; Shape::N_EXTENTS_MAX];
    let n_axes_kept = sizes.len() - n_folded;
    extents[..n_axes_kept].copy_from_slice(&sizes[n_folded..]);
    for &size in &sizes[..n_folded] {
        extents[0] *= size;
    }
    extents[n_axes_kept] = u32::try_from(n_blocked).unwrap_or(u32::MAX);
    let shape = Shape::new(&extents[..=n_axes_kept]);
    let class = operation.number() + N_OPERATIONS * sizes.len() as u32;
    Size { shape, class, affinity: 0 }
}

const N_OPERATIONS: u32 = NAMES.len() as u32;

/// Classes of lattices too large to be searched start at this number of axes.
const FIRST_LARGE: u32 = N_DIMENSIONS_MAX as u32 + 1;

impl Workload for LatticeWorkload {
    type Problem = Query;
    type Solution = Answer;
    type Failure = QueryError;
    type Scratch = SearchScratch;
    type Local = ();
    const NAME: &'static str = "lattice";

    fn size(&self, query: &Query) -> Size {
        let lattice = &query.lattice;
        query_size(lattice.sizes(), lattice.n_blocked(), &query.operation)
    }

    fn need(&self, size: &Size, _on: DeviceKind) -> Need {
        Extent::of(&size.shape, size.class).need()
    }

    fn scratch(&self) -> SearchScratch {
        SearchScratch::default()
    }

    fn local(&self) {}

    fn solve(
        &self,
        query: &Query,
        scratch: &mut SearchScratch,
        _: &mut (),
        stop: &Stop,
    ) -> Result<Answer, QueryError> {
        let lattice = query.lattice.as_ref();
        let stop = || stop.requested();
        Ok(match query.operation {
            Operation::Analyze => Answer::Analysis(analyze(lattice, scratch, &stop)?),
            Operation::Path { from, to } => {
                Answer::Path(shortest_path(lattice, from, to, scratch, &stop)?)
            }
            Operation::Layers { from, with_distances } => {
                Answer::Layers(layers(lattice, from, with_distances, scratch, &stop)?)
            }
        })
    }

    fn can_compare(&self) -> bool {
        true
    }

    fn agree(&self, reference: &Answer, other: &Answer, _: DeviceKind) -> Result<(), Difference> {
        if reference == other {
            return Ok(());
        }
        let (field, expected, found) = match (reference, other) {
            (Answer::Path(a), Answer::Path(b)) if a.length() != b.length() => {
                ("length", text(&a.length()), text(&b.length()))
            }
            (Answer::Layers(a), Answer::Layers(b)) if a.counts != b.counts => {
                ("counts", text(&a.counts), text(&b.counts))
            }
            _ => ("answer", text(reference), text(other)),
        };
        Err(Difference { field: field.to_owned(), expected, found })
    }

    fn class_name(&self, class: u32) -> String {
        let n_axes = class / N_OPERATIONS;
        let name = NAMES[(class % N_OPERATIONS) as usize];
        match n_axes.checked_sub(FIRST_LARGE) {
            Some(n_axes) => format!("{name}, {n_axes} axes in closed form"),
            None => format!("{name}, {n_axes} axes and the blocked"),
        }
    }
}

/// A value in a message; long lists are truncated.
fn text(value: &impl fmt::Debug) -> String {
    const N_CHARS_MAX: usize = 200;
    let mut text = format!("{value:?}");
    if let Some((end, _)) = text.char_indices().nth(N_CHARS_MAX) {
        text.truncate(end);
        text.push('…');
    }
    text
}

/// What a size reveals about a lattice.
struct Extent {
    operation_number: u32,
    n_axes: u64,
    n_vertices: u64,
    n_blocked: u64,
    /// The greatest distance between two vertices if no vertex is blocked.
    across_max: u64,
}

impl Extent {
    fn of(shape: &Shape, class: u32) -> Extent {
        let n_axes = class / N_OPERATIONS;
        if let Some(n_axes) = n_axes.checked_sub(FIRST_LARGE) {
            return Extent {
                operation_number: class % N_OPERATIONS,
                n_axes: n_axes.into(),
                n_vertices: u64::MAX,
                n_blocked: 0,
                across_max: shape.volume().saturating_sub(1),
            };
        }
        let n_axes = u64::from(n_axes);
        let (n_blocked, axes) = shape.extents().split_last().unwrap_or((&0, &[]));
        let n_folded = n_axes.saturating_sub(axes.len() as u64);
        // Of folded axes only the number and the product are known. Their sum is greatest if all
        // but one have two vertices.
        let (folded, plain) = axes.split_at(usize::from(n_folded > 0));
        let folded_max = match folded {
            [n_vertices] => (u64::from(*n_vertices) >> n_folded) - 1 + n_folded,
            _ => 0,
        };
        let plain_max: u64 = plain.iter().map(|&size| u64::from(size).saturating_sub(1)).sum();
        Extent {
            operation_number: class % N_OPERATIONS,
            n_axes,
            n_vertices: Shape::new(axes).volume(),
            n_blocked: u64::from(*n_blocked),
            across_max: folded_max + plain_max,
        }
    }

    /// The memory need by the algorithms' own need functions, from the size alone.
    fn need(&self) -> Need {
        let mut need = Need {
            lane_bytes: LANE_BYTES,
            scratch_bytes: 0,
            solution_bytes: size_of::<Answer>() as u64,
        };
        // In a lattice too large to be searched, an analysis is in closed form, and requests for
        // all distances are rejected.
        if self.n_vertices > N_VERTICES_WALKED_MAX && matches!(self.operation_number, 0 | 3) {
            return need;
        }
        let n_vertices = self.n_vertices;
        let mut walk = MemoryNeed::default();
        if self.n_blocked > 0 {
            need.lane_bytes += n_vertices.div_ceil(64) * 8;
            walk = match self.operation_number {
                1 => guided_need(n_vertices),
                _ => search_need(n_vertices),
            };
        }
        need.scratch_bytes = walk.scratch_bytes;
        let n_path_max = self.path_length_max() + 1;
        match self.operation_number {
            0 => need.scratch_bytes += self.diameter_bytes(),
            1 => need.solution_bytes += 8 * n_path_max,
            with_distances => {
                // Spare capacity, and the old list while it is reallocated.
                need.solution_bytes += 3 * 8 * n_path_max.max(4);
                if with_distances == 3 {
                    need.solution_bytes += 4 * n_vertices;
                }
            }
        }
        need
    }

    /// Like `Grid::path_length_max`, which has the lattice itself.
    fn path_length_max(&self) -> u64 {
        let n_touching = 3_u64.pow(self.n_axes as u32) - 1;
        let around = n_touching.saturating_mul(self.n_blocked);
        let n_free = self.n_vertices.saturating_sub(self.n_blocked);
        (self.across_max.saturating_add(around)).min(n_free.saturating_sub(1))
    }

    fn diameter_bytes(&self) -> u64 {
        let n_free = self.n_vertices.saturating_sub(self.n_blocked);
        if self.n_blocked == 0 || n_free > N_VERTICES_DIAMETER_MAX {
            return 0;
        }
        4 * (7 * n_free + 1 + n_free * 2 * self.n_axes)
    }
}

/// A query, its lattice without the bits of blocked vertices, and ten axes.
const LANE_BYTES: u64 = (size_of::<Query>() + size_of::<Lattice>() + 10 * 32 + 64) as u64;

#[cfg(test)]
mod tests {
    use super::super::{analyze_need, layers_need, path_need};
    use super::*;

    fn query(sizes: &[u32], blocked: impl IntoIterator<Item = u64>, operation: Operation) -> Query {
        let lattice = Lattice::new(sizes).unwrap().with_blocked(blocked).unwrap();
        Query { lattice: Arc::new(lattice), operation }
    }

    /// The needs by size cover the needs of the algorithms, which are tested against measured
    /// peaks.
    #[test]
    fn needs_by_size_cover_the_algorithms_needs() {
        let path = Operation::Path { from: 0, to: 1 };
        let layers = |with_distances| Operation::Layers { from: 0, with_distances };
        let shapes: [&[u32]; 7] =
            [&[2], &[100], &[40, 60], &[20, 30, 40], &[9, 10, 11, 12], &[3; 8], &[2; 10]];
        for sizes in shapes {
            let n_vertices: u64 = sizes.iter().map(|&size| u64::from(size)).product();
            for n_blocked in [0, 1, 17, n_vertices / 3, n_vertices - 1] {
                let n_blocked = n_blocked.min(n_vertices - 1);
                for operation in [Operation::Analyze, path, layers(false), layers(true)] {
                    let query = query(sizes, n_vertices - n_blocked..n_vertices, operation);
                    let lattice = query.lattice.as_ref();
                    let size = LatticeWorkload.size(&query);
                    let need = LatticeWorkload.need(&size, DeviceKind::Cpu);
                    let exact = match operation {
                        Operation::Analyze => analyze_need(lattice),
                        Operation::Path { .. } => path_need(lattice).unwrap(),
                        Operation::Layers { with_distances, .. } => {
                            layers_need(lattice, with_distances).unwrap()
                        }
                    };
                    let name = format!("{sizes:?} less {n_blocked}, {operation:?}");
                    assert_eq!(need.scratch_bytes, exact.scratch_bytes, "{name}");
                    assert!(need.lane_bytes >= lattice.n_bytes(), "{name}");
                    let answer = need.solution_bytes - size_of::<Answer>() as u64;
                    assert!(answer >= exact.answer_bytes, "{name}");
                    if sizes.len() <= 3 {
                        assert_eq!(answer, exact.answer_bytes, "{name}");
                    }
                }
            }
        }
    }

    #[test]
    fn lattices_too_large_to_search_have_closed_forms() {
        let to = 100_u64.pow(9) - 1;
        let layers = |with_distances| Operation::Layers { from: 0, with_distances };
        let path = Operation::Path { from: 0, to };
        for operation in [Operation::Analyze, path, layers(false), layers(true)] {
            let query = query(&[100; 9], [], operation);
            let size = LatticeWorkload.size(&query);
            let need = LatticeWorkload.need(&size, DeviceKind::Cpu);
            assert!(need.total_bytes() < 64 << 10);
            let answer =
                LatticeWorkload.solve(&query, &mut SearchScratch::default(), &mut (), &Stop::new());
            match answer {
                Ok(Answer::Path(path)) => assert_eq!(path.length(), Some(9 * 99)),
                Ok(Answer::Layers(layers)) => {
                    assert_eq!(layers.counts.iter().sum::<u64>(), 100_u64.pow(9));
                }
                Ok(Answer::Analysis(_)) => {}
                Err(_) => assert_eq!(operation, layers(true)),
            }
        }
    }

    #[test]
    fn answers_are_those_of_the_functions_and_differences_are_found() {
        let ask = |operation| {
            let query = query(&[3, 3], [4], operation);
            LatticeWorkload
                .solve(&query, &mut SearchScratch::default(), &mut (), &Stop::new())
                .unwrap()
        };
        let lattice = Lattice::new(&[3, 3]).unwrap().with_blocked([4]).unwrap();
        let analysis = ask(Operation::Analyze);
        assert_eq!(analysis, Answer::Analysis(lattice.analyze().unwrap()));
        let path = ask(Operation::Path { from: 1, to: 7 });
        assert_eq!(path, Answer::Path(lattice.path(1, 7).unwrap()));
        let layers = ask(Operation::Layers { from: 0, with_distances: false });
        assert_eq!(layers, Answer::Layers(lattice.layers(0).unwrap()));

        let differ = |a, b| LatticeWorkload.agree(a, b, DeviceKind::Cpu).unwrap_err();
        assert!(LatticeWorkload.agree(&path, &path, DeviceKind::Cpu).is_ok());
        let none = Answer::Path(PathAnswer::NoPath);
        assert_eq!(differ(&path, &none).to_string(), "length is None, not Some(4)");
        let detour = Answer::Path(PathAnswer::Found(vec![1, 2, 5, 8, 7]));
        let other = Answer::Path(PathAnswer::Found(vec![1, 0, 3, 6, 7]));
        assert_eq!(differ(&detour, &other).field, "answer");
    }
}
