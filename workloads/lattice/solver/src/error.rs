//! Errors of lattices and of questions about them.

use super::{N_DIMENSIONS_MAX, N_VERTICES_MAX};

/// Why a lattice cannot be made, or a question about it cannot be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LatticeError {
    /// No axes, or more than [`N_DIMENSIONS_MAX`].
    #[error("a lattice has 1 to {N_DIMENSIONS_MAX} dimensions, not {n_dimensions}")]
    Dimensions {
        /// The number of axes given.
        n_dimensions: usize,
    },
    /// An axis with fewer than 2 vertices.
    #[error("axis {axis} has {size} vertices; it needs at least 2")]
    AxisSize {
        /// The axis, counted from 0.
        axis: usize,
        /// Its size.
        size: u32,
    },
    /// More than [`N_VERTICES_MAX`] vertices.
    #[error("the lattice has more than {N_VERTICES_MAX} vertices")]
    TooLarge,
    /// The question needs vertex ids, and they exceed 64 bits.
    #[error("the lattice has {n_vertices} vertices; ids of 64 bits end at 18446744073709551616")]
    NoIds {
        /// Vertices of the lattice.
        n_vertices: u128,
    },
    /// The question needs a search, and the lattice is too large for one.
    #[error(
        "the lattice has {n_vertices} vertices, and a search through them needs {gib} GiB of memory; at most {n_vertices_max} vertices can be searched",
        // Three bits per vertex: one for blocked or not, two for the distance.
        gib = (n_vertices * 3 / 8) >> 30
    )]
    TooManyVertices {
        /// Vertices of the lattice.
        n_vertices: u128,
        /// The greatest number of vertices that can be searched.
        n_vertices_max: u64,
    },
    /// No vertex has this id.
    #[error("there is no vertex {vertex}: ids end before {n_vertices}")]
    OutOfRange {
        /// The id.
        vertex: u64,
        /// Vertices of the lattice.
        n_vertices: u128,
    },
    /// More or fewer coordinates than axes.
    #[error("{n_given} coordinates for {n_dimensions} dimensions")]
    CoordinateCount {
        /// Coordinates given.
        n_given: usize,
        /// Axes of the lattice.
        n_dimensions: usize,
    },
    /// A coordinate beyond its axis.
    #[error("coordinate {coordinate} on axis {axis}, which has {size} vertices")]
    Coordinate {
        /// The axis, counted from 0.
        axis: usize,
        /// The coordinate.
        coordinate: u32,
        /// Vertices along the axis.
        size: u32,
    },
    /// A path cannot begin or end at a blocked vertex.
    #[error("vertex {vertex} is blocked")]
    Blocked {
        /// The vertex.
        vertex: u64,
    },
    /// The borrowed memory has fewer words than the lattice has vertices.
    #[error("the borrowed memory has {n_words} words of 64 bits; {n_words_min} are needed")]
    ScratchTooSmall {
        /// Words given.
        n_words: usize,
        /// Words needed.
        n_words_min: u64,
    },
    /// A distance was found in borrowed memory, but no path of that length with any of the seeds.
    #[error(
        "no path of length {length} could be found to prove the distance, with {n_seeds} seeds"
    )]
    Unproven {
        /// The distance found.
        length: u64,
        /// Seeds tried.
        n_seeds: u32,
    },
    /// The `stop` closure returned true.
    #[error("interrupted")]
    Interrupted,
}
