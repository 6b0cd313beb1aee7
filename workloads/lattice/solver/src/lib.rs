//! Lattices: hypercubic grid graphs, their figures, and shortest paths through them.
//!
//! A lattice has 1 to 10 axes of 2 or more vertices each, at most 10²⁰ (100¹⁰) in all, and an edge
//! between any two vertices that differ by one along one axis. It is bounded (axes do not wrap) and
//! undirected. A vertex's id is its position in row-major order: the last axis runs fastest.
//! Vertices can be *blocked*, which removes them and their edges from the graph.
//!
//! | function | what it answers | where nothing is blocked |
//! |---|---|---|
//! | [`analyze`] | vertices, edges, connected, diameter … | closed form, any size |
//! | [`shortest_path`] | a shortest path between two vertices | closed form, up to 2⁶⁴ vertices |
//! | [`layers`] | how many vertices lie at each distance | closed form, up to 2⁶⁴ vertices |
//! | [`catalytic_path`] | a shortest path, found in borrowed memory | the same algorithm |
//!
//! Beside each function is one that returns how much memory it needs. Each function takes a scratch
//! that can be reused, and polls a `stop` closure every few milliseconds; if `stop` returns `true`,
//! the function returns [`LatticeError::Interrupted`]. The methods of [`Lattice`] do the same
//! without scratch and stop.
//!
//! ```
//! use swathe_lattice::{Lattice, PathAnswer};
//!
//! // 0 1 2
//! // 3 # 5
//! // 6 7 8
//! let lattice = Lattice::new(&[3, 3])?.with_blocked([4])?;
//! assert_eq!(lattice.analyze()?.n_edges, 8);
//! assert_eq!(lattice.path(1, 7)?.length(), Some(4));
//! assert_eq!(lattice.layers(0)?.counts, [1, 2, 2, 2, 1]);
//! let PathAnswer::Found(vertices) = lattice.path(3, 8)? else { unreachable!() };
//! assert_eq!(vertices, [3, 6, 7, 8]);
//! # Ok::<(), swathe_lattice::LatticeError>(())
//! ```

mod analyze;
mod bits;
mod catalytic;
mod description;
mod diameter;
mod error;
mod grid;
mod guided;
mod layers;
mod path;
mod pool;
mod search;
mod workload;

pub use analyze::{Analysis, analyze, analyze_need};
pub use catalytic::{
    CatalyticAnswer, CatalyticPath, CatalyticSettings, Certainty, catalytic_need, catalytic_path,
};
pub use description::LatticeDescription;
pub use diameter::N_VERTICES_DIAMETER_MAX;
pub use error::LatticeError;
pub use layers::{Layers, UNREACHABLE, layers, layers_need};
pub use path::{PathAnswer, path_need, shortest_path};
pub use search::SearchScratch;
pub use workload::{Answer, LatticeWorkload, Operation, Query, QueryError, query_size};

use grid::Grid;

/// The most axes a lattice can have.
pub const N_DIMENSIONS_MAX: usize = 10;

/// The most vertices of a lattice: 100¹⁰.
pub const N_VERTICES_MAX: u128 = 100_u128.pow(10);

/// The most vertices of a lattice that can be searched, or have blocked vertices.
///
/// Up to this number an id fits in 32 bits. For larger lattices there are only closed forms.
pub const N_VERTICES_WALKED_MAX: u64 = 1 << 32;

/// A bounded hypercubic grid graph, possibly with blocked vertices.
///
/// ```
/// use swathe_lattice::Lattice;
///
/// let largest = Lattice::new(&[100; 10])?;
/// assert_eq!(largest.n_vertices(), 10_u128.pow(20));
/// # Ok::<(), swathe_lattice::LatticeError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lattice {
    sizes: Vec<u32>,
    n_vertices: u128,
    /// `None` above [`N_VERTICES_WALKED_MAX`].
    grid: Option<Grid>,
}

/// The most bytes that an algorithm needs beside the lattice itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct MemoryNeed {
    /// Working memory, reused between calls.
    pub scratch_bytes: u64,
    /// The returned answer.
    pub answer_bytes: u64,
}

impl Lattice {
    /// A lattice with `sizes[axis]` vertices along each axis, none of them blocked.
    ///
    /// # Errors
    /// If there are no axes or more than [`N_DIMENSIONS_MAX`], an axis has fewer than 2 vertices,
    /// or the lattice has more than [`N_VERTICES_MAX`].
    pub fn new(sizes: &[u32]) -> Result<Self, LatticeError> {
        if sizes.is_empty() || sizes.len() > N_DIMENSIONS_MAX {
            return Err(LatticeError::Dimensions { n_dimensions: sizes.len() });
        }
        for (axis, &size) in sizes.iter().enumerate() {
            if size < 2 {
                return Err(LatticeError::AxisSize { axis, size });
            }
        }
        let n_vertices = sizes
            .iter()
            .try_fold(1_u128, |n, &size| {
                let n = n * u128::from(size);
                (n <= N_VERTICES_MAX).then_some(n)
            })
            .ok_or(LatticeError::TooLarge)?;
        let grid = (n_vertices <= u128::from(N_VERTICES_WALKED_MAX)).then(|| Grid::new(sizes));
        Ok(Self { sizes: sizes.to_vec(), n_vertices, grid })
    }

    /// The same lattice with these vertices blocked too; duplicates are allowed.
    ///
    /// Blocked vertices cost one bit per vertex of the lattice, so lattices above
    /// [`N_VERTICES_WALKED_MAX`] cannot have any.
    ///
    /// # Errors
    /// If a vertex is outside the lattice, or the lattice has more than [`N_VERTICES_WALKED_MAX`]
    /// vertices.
    pub fn with_blocked(
        mut self,
        vertices: impl IntoIterator<Item = u64>,
    ) -> Result<Self, LatticeError> {
        for vertex in vertices {
            let id = self.id(vertex)?;
            self.grid()?;
            if let Some(grid) = &mut self.grid {
                grid.block(id as u32);
            }
        }
        Ok(self)
    }

    /// Vertices along each axis.
    pub fn sizes(&self) -> &[u32] {
        &self.sizes
    }

    /// All vertices, including blocked ones.
    pub fn n_vertices(&self) -> u128 {
        self.n_vertices
    }

    /// The number of blocked vertices.
    pub fn n_blocked(&self) -> u64 {
        self.grid.as_ref().map_or(0, Grid::n_blocked)
    }

    /// The number of vertices that are not blocked.
    pub fn n_free(&self) -> u128 {
        self.n_vertices - u128::from(self.n_blocked())
    }

    /// Whether a vertex is blocked; false for ids outside the lattice.
    pub fn is_blocked(&self, vertex: u64) -> bool {
        let is_blocked = |grid: &Grid| !grid.is_free(vertex as u32);
        self.id(vertex).is_ok() && self.grid.as_ref().is_some_and(is_blocked)
    }

    /// The bytes that the lattice itself occupies on the heap.
    pub fn n_bytes(&self) -> u64 {
        size_of_val(self.sizes.as_slice()) as u64 + self.grid.as_ref().map_or(0, Grid::n_bytes)
    }

    /// The id of the vertex at these coordinates.
    ///
    /// ```
    /// # use swathe_lattice::Lattice;
    /// let lattice = Lattice::new(&[4, 5])?;
    /// assert_eq!(lattice.vertex_at(&[2, 3])?, 13);
    /// assert_eq!(lattice.coordinates_of(13)?, [2, 3]);
    /// # Ok::<(), swathe_lattice::LatticeError>(())
    /// ```
    ///
    /// # Errors
    /// If there are not as many coordinates as axes, a coordinate is beyond its axis, or ids would
    /// exceed 64 bits.
    pub fn vertex_at(&self, coordinates: &[u32]) -> Result<u64, LatticeError> {
        if coordinates.len() != self.sizes.len() {
            return Err(LatticeError::CoordinateCount {
                n_given: coordinates.len(),
                n_dimensions: self.sizes.len(),
            });
        }
        self.check_ids()?;
        let mut vertex = 0;
        for (axis, (&coordinate, &size)) in coordinates.iter().zip(&self.sizes).enumerate() {
            if coordinate >= size {
                return Err(LatticeError::Coordinate { axis, coordinate, size });
            }
            vertex = vertex * u64::from(size) + u64::from(coordinate);
        }
        Ok(vertex)
    }

    /// The coordinates of the vertex with this id.
    ///
    /// # Errors
    /// If no vertex has this id, or ids would exceed 64 bits.
    pub fn coordinates_of(&self, vertex: u64) -> Result<Vec<u32>, LatticeError> {
        let id = self.id(vertex)?;
        let coordinates = self.strides().map(|(size, stride)| (id / stride % size) as u32);
        Ok(coordinates.collect())
    }

    /// [`analyze`] with new scratch memory and without a stop.
    ///
    /// # Errors
    /// As [`analyze`].
    pub fn analyze(&self) -> Result<Analysis, LatticeError> {
        analyze(self, &mut SearchScratch::default(), &|| false)
    }

    /// [`shortest_path`] with new scratch memory and without a stop.
    ///
    /// # Errors
    /// As [`shortest_path`].
    pub fn path(&self, from: u64, to: u64) -> Result<PathAnswer, LatticeError> {
        shortest_path(self, from, to, &mut SearchScratch::default(), &|| false)
    }

    /// [`layers`] with new scratch memory, without a stop and without the distance of each vertex.
    ///
    /// # Errors
    /// As [`layers`].
    pub fn layers(&self, from: u64) -> Result<Layers, LatticeError> {
        layers(self, from, false, &mut SearchScratch::default(), &|| false)
    }

    /// The searchable graph, if the lattice is not too large for it.
    fn grid(&self) -> Result<&Grid, LatticeError> {
        self.grid.as_ref().ok_or(LatticeError::TooManyVertices {
            n_vertices: self.n_vertices,
            n_vertices_max: N_VERTICES_WALKED_MAX,
        })
    }

    /// Fails if vertex ids exceed 64 bits.
    fn check_ids(&self) -> Result<(), LatticeError> {
        match self.n_vertices > u128::from(u64::MAX) + 1 {
            true => Err(LatticeError::NoIds { n_vertices: self.n_vertices }),
            false => Ok(()),
        }
    }

    /// The id, if it is in the lattice. If there is a grid, it fits in 32 bits.
    fn id(&self, vertex: u64) -> Result<u64, LatticeError> {
        self.check_ids()?;
        if u128::from(vertex) >= self.n_vertices {
            return Err(LatticeError::OutOfRange { vertex, n_vertices: self.n_vertices });
        }
        Ok(vertex)
    }

    /// The id, if a path can begin or end there: in the lattice and not blocked.
    fn endpoint(&self, vertex: u64) -> Result<u64, LatticeError> {
        let id = self.id(vertex)?;
        match self.is_blocked(id) {
            true => Err(LatticeError::Blocked { vertex }),
            false => Ok(id),
        }
    }

    /// The size of each axis, and how far apart the ids of neighbours along it are. Ids must fit in
    /// 64 bits.
    fn strides(&self) -> impl Iterator<Item = (u64, u64)> {
        let mut stride = self.n_vertices;
        self.sizes.iter().map(move |&size| {
            stride /= u128::from(size);
            (u64::from(size), stride as u64)
        })
    }

    /// The number of edges of the longest shortest path if no vertex is blocked.
    fn across(&self) -> u64 {
        self.sizes.iter().map(|&size| u64::from(size) - 1).sum()
    }

    /// An upper bound of the edges of a shortest path.
    fn path_length_max(&self) -> u64 {
        self.grid.as_ref().map_or(self.across(), Grid::path_length_max)
    }
}
