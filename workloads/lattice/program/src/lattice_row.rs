//! The columns of `queries.parquet`, by what was asked: each is declared here, and only here.

use swathe_lattice::{Analysis, Layers, Operation, PathAnswer, UNREACHABLE};
use swathe_run::record;

use crate::lattice_queries::{ParsedQuery, sizes_text};

record! {
    /// What was asked.
    pub(crate) struct Question / Questions: figures, of(id: &str, asked: &ParsedQuery) {
        /// what the question is called
        query_id: String, value(0) = id.to_owned();
        /// what was asked
        op: String, value(1), page = asked.operation.name().to_owned();
        /// vertices along each axis, as in 10x10x10
        sizes: String, unit("vertices"), value(2), page = sizes_text(asked.lattice.sizes());
        /// vertices that are blocked
        n_blocked: u64, unit("vertices"), value(3), page = asked.lattice.n_blocked();
    }
}

record! {
    /// The structure of a lattice.
    pub struct Structure / Structures: figures, of(analysis: &Analysis) {
        /// free vertices, in decimal
        n_vertices: u128, unit("vertices"), value(4) = analysis.n_vertices;
        /// edges between free vertices, in decimal
        n_edges: u128, unit("edges"), value(5), page = analysis.n_edges;
        /// whether every free vertex can be reached from every other
        connected: bool, value(6), page = analysis.connected;
        /// the greatest distance between two free vertices; null if they are not connected, or too many with some blocked
        diameter: Option<u64>, unit("edges"), value(7), page = analysis.diameter;
        /// edges per free vertex, from its view
        average_degree: f64, unit("edges"), value(8) = analysis.average_degree;
        /// share of closed triangles: 0, as a lattice has none
        clustering_coefficient: f64, unit("1"), value(10) = analysis.clustering_coefficient;
        /// edges as a share of all pairs of vertices
        density: f64, unit("1"), value(9) = analysis.density;
    }
}

record! {
    /// An answer of `lattice analyze`.
    pub(crate) struct AnalysisRow / AnalysisColumns: figures, of(id: &str, asked: &ParsedQuery, analysis: &Analysis) {
        /// the question
        question: Question = Question::of(id, asked);
        /// the answer
        structure: Structure = Structure::of(analysis);
    }
}

record! {
    /// An answer of `lattice path`.
    pub(crate) struct PathRow / PathColumns: figures, of(id: &str, asked: &ParsedQuery, path: &PathAnswer) {
        /// the question
        question: Question = Question::of(id, asked);
        /// the vertex the walk begins at
        from_vertex: u64, unit("id"), value(11), page = ends(asked).0;
        /// the vertex the walk ends at
        to_vertex: u64, unit("id"), value(12), page = ends(asked).1;
        /// whether there is a path
        found: bool, value(13), page = vertices(path).is_some();
        /// edges of a shortest path; null if there is none
        length: Option<u64>, unit("edges"), value(14), page = path.length();
        /// the vertices of a shortest path, both ends included; null if there is none
        path: Option<Vec<u64>>, unit("id"), value(15) = vertices(path).cloned();
    }
}

record! {
    /// An answer of `lattice path` in a table, from which small mazes can be drawn.
    pub(crate) struct MazeRow / MazeColumns {
        /// the answer
        path: PathRow;
        /// the blocked vertices of a lattice of two axes with at most 4096 vertices, from which it can be drawn; null for others
        blocked: Option<Vec<u64>>, unit("id");
    }
}

record! {
    /// An answer of `lattice layers`.
    pub(crate) struct LayersRow / LayersColumns: figures, of(id: &str, asked: &ParsedQuery, layers: &Layers) {
        /// the question
        question: Question = Question::of(id, asked);
        /// the vertex the walk begins at
        from_vertex: u64, unit("id"), value(11), page = ends(asked).0;
        /// the distance of the farthest vertex that can be reached
        eccentricity: u64, unit("edges"), value(16), page = layers.eccentricity();
        /// free vertices that cannot be reached
        n_unreachable: u64, unit("vertices"), value(17), page = layers.n_unreachable;
        /// how many vertices lie at distance 0, 1, 2 and so on
        counts: Vec<u64>, unit("vertices"), value(18) = layers.counts.clone();
    }
}

record! {
    /// An answer of `lattice layers --distances`.
    pub(crate) struct DistancesRow / DistancesColumns: figures, of(id: &str, asked: &ParsedQuery, layers: &Layers) {
        /// the layers
        layers: LayersRow = LayersRow::of(id, asked, layers);
        /// the distance of each vertex by id; null if it is blocked or out of reach
        distances: Vec<Option<u32>>, unit("edges"), value(19) = distances(layers).collect();
    }
}

/// The vertices that a question names; 0 where it names none.
fn ends(asked: &ParsedQuery) -> (u64, u64) {
    match asked.operation {
        Operation::Analyze => (0, 0),
        Operation::Path { from, to } => (from, to),
        Operation::Layers { from, .. } => (from, 0),
    }
}

fn vertices(path: &PathAnswer) -> Option<&Vec<u64>> {
    match path {
        PathAnswer::Found(vertices) => Some(vertices),
        PathAnswer::NoPath => None,
    }
}

/// The distance of each vertex, if it can be reached.
pub(crate) fn distances(layers: &Layers) -> impl Iterator<Item = Option<u32>> {
    let distances = layers.distances.iter().flatten();
    distances.map(|&distance| (distance != UNREACHABLE).then_some(distance))
}
