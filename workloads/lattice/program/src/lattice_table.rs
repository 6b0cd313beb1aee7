//! Answers about lattices as the rows of a table, and as JSON values for printing.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanBuilder, Float64Builder, ListBuilder, StringBuilder, UInt32Builder,
    UInt64Builder,
};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use serde_json::{Value, json};
use swathe_lattice::{Analysis, Answer, Layers, Operation, PathAnswer, UNREACHABLE};

use crate::lattice_queries::{LatticeQueries, ParsedQuery, QueryKind, sizes_text};
use swathe_formats::described_field::{mark_values, measured};
use swathe_run::store::rows::Rows;

/// The table `queries`: a row for each question with an answer.
pub struct LatticeRows {
    queries: LatticeQueries,
    schema: SchemaRef,
    question: QuestionColumns,
    answers: AnswerColumns,
    /// The blocked vertices of planes that are small enough to be drawn.
    blocked: ListBuilder<UInt64Builder>,
    n_bytes: usize,
}

impl LatticeRows {
    /// An empty table for the answers to these questions.
    pub fn new(queries: LatticeQueries) -> LatticeRows {
        let kind = queries.kind();
        LatticeRows {
            queries,
            schema: Arc::new(Schema::new(mark_values(fields(kind), VALUES))),
            question: QuestionColumns::default(),
            answers: AnswerColumns::new(kind),
            blocked: blocked_builder(),
            n_bytes: 0,
        }
    }
}

impl Rows for LatticeRows {
    type Solution = Answer;

    fn table(&self) -> &'static str {
        "queries"
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn id(&self, index: usize) -> String {
        self.queries.ids()[index].to_owned()
    }

    fn append(&mut self, index: usize, answer: &Answer) -> usize {
        // A question without a lattice has no answer, so that nothing is lost here.
        let Ok(asked) = self.queries.asked(index) else {
            return 0;
        };
        self.n_bytes += self.question.append(&self.queries.ids()[index], &asked);
        self.n_bytes += self.answers.append(answer);
        if self.queries.kind() == QueryKind::Path {
            self.n_bytes += append_blocked(&mut self.blocked, &asked);
        }
        1
    }

    fn n_bytes(&self) -> usize {
        self.n_bytes
    }

    fn take(&mut self) -> Vec<ArrayRef> {
        self.n_bytes = 0;
        let mut columns = self.question.take(self.queries.kind());
        columns.extend(self.answers.take());
        if self.queries.kind() == QueryKind::Path {
            columns.push(Arc::new(self.blocked.finish()));
        }
        columns
    }
}

/// Appends the blocked vertices of a plane that is small enough to be drawn, otherwise null.
/// Returns the approximate number of bytes appended.
fn append_blocked(column: &mut ListBuilder<UInt64Builder>, asked: &ParsedQuery) -> usize {
    const N_DRAWN_MAX: u64 = 64 * 64;
    let drawn = match *asked.lattice.sizes() {
        [height, width] if u64::from(height) * u64::from(width) <= N_DRAWN_MAX => {
            Some(asked.lattice.blocked())
        }
        _ => None,
    };
    for &vertex in drawn.unwrap_or_default() {
        column.values().append_value(u64::from(vertex));
    }
    column.append(drawn.is_some());
    8 * drawn.map_or(1, <[u32]>::len)
}

fn blocked_builder() -> ListBuilder<UInt64Builder> {
    ListBuilder::new(UInt64Builder::new()).with_field(element(DataType::UInt64, false))
}

/// The names and values of a row, in the order of the table's columns.
///
/// Counts beyond 64 bits are decimal strings; in the table all counts are.
pub fn values(id: &str, asked: &ParsedQuery, answer: &Answer) -> Vec<(&'static str, Value)> {
    let mut values = vec![
        ("query_id", json!(id)),
        ("op", json!(asked.operation.name())),
        ("sizes", json!(sizes_text(asked.lattice.sizes()))),
        ("n_blocked", json!(asked.lattice.n_blocked())),
    ];
    match asked.operation {
        Operation::Analyze => {}
        Operation::Path { from, to } => {
            values.extend([("from_vertex", json!(from)), ("to_vertex", json!(to))]);
        }
        Operation::Layers { from, .. } => values.push(("from_vertex", json!(from))),
    }
    match answer {
        Answer::Analysis(analysis) => values.extend([
            ("n_vertices", count(analysis.n_vertices)),
            ("n_edges", count(analysis.n_edges)),
            ("connected", json!(analysis.connected)),
            ("diameter", json!(analysis.diameter)),
            ("average_degree", json!(analysis.average_degree)),
            ("clustering_coefficient", json!(analysis.clustering_coefficient)),
            ("density", json!(analysis.density)),
        ]),
        Answer::Path(path) => {
            let vertices = match path {
                PathAnswer::Found(vertices) => Some(vertices),
                PathAnswer::NoPath => None,
            };
            values.extend([
                ("found", json!(vertices.is_some())),
                ("length", json!(path.length())),
                ("path", json!(vertices)),
            ]);
        }
        Answer::Layers(layers) => {
            values.extend([
                ("eccentricity", json!(layers.eccentricity())),
                ("n_unreachable", json!(layers.n_unreachable)),
                ("counts", json!(layers.counts)),
            ]);
            if let Some(distances) = &layers.distances {
                let distances: Vec<Option<u32>> = distances.iter().map(reachable).collect();
                values.push(("distances", json!(distances)));
            }
        }
    }
    values
}

fn count(n: u128) -> Value {
    match u64::try_from(n) {
        Ok(n) => json!(n),
        Err(_) => json!(n.to_string()),
    }
}

fn reachable(distance: &u32) -> Option<u32> {
    (*distance != UNREACHABLE).then_some(*distance)
}

/// The columns that `values_hash` covers. New columns go to the end of the list, and a renamed
/// column keeps its place.
const VALUES: &[&str] = &[
    "query_id",
    "op",
    "sizes",
    "n_blocked",
    "n_vertices",
    "n_edges",
    "connected",
    "diameter",
    "average_degree",
    "density",
    "clustering_coefficient",
    "from_vertex",
    "to_vertex",
    "found",
    "length",
    "path",
    "eccentricity",
    "n_unreachable",
    "counts",
    "distances",
];

/// The columns after `row`.
fn fields(kind: QueryKind) -> Vec<Field> {
    use DataType::{Boolean, Float64, UInt32, UInt64, Utf8};
    let from = || {
        let description = "the vertex the walk begins at";
        measured("from_vertex", UInt64, description, "id")
    };
    let mut fields = vec![
        measured("query_id", Utf8, "what the question is called", ""),
        measured("op", Utf8, "what was asked", ""),
        measured("sizes", Utf8, "vertices along each axis, as in 10x10x10", "vertices"),
        measured("n_blocked", UInt64, "vertices that are blocked", "vertices"),
    ];
    fields.extend(match kind {
        QueryKind::Analyze => {
            vec![
            measured("n_vertices", Utf8, "free vertices, in decimal", "vertices"),
            measured("n_edges", Utf8, "edges between free vertices, in decimal", "edges"),
            measured(
                "connected",
                Boolean,
                "whether every free vertex can be reached from every other",
                "",
            ),
            measured(
                "diameter",
                UInt64,
                "the greatest distance between two free vertices; null if they are not connected, \
                 or too many with some blocked",
                "edges",
            )
            .with_nullable(true),
            measured("average_degree", Float64, "edges per free vertex, from its view", "edges"),
            measured(
                "clustering_coefficient",
                Float64,
                "share of closed triangles: 0, as a lattice has none",
                "1",
            ),
            measured("density", Float64, "edges as a share of all pairs of vertices", "1"),
        ]
        }
        QueryKind::Path => vec![
            from(),
            measured("to_vertex", UInt64, "the vertex the walk ends at", "id"),
            measured("found", Boolean, "whether there is a path", ""),
            measured(
                "length",
                UInt64,
                "edges of a shortest path; null if there is none",
                "edges",
            )
            .with_nullable(true),
            measured(
                "path",
                list_type(UInt64, false),
                "the vertices of a shortest path, both ends included; null if there is none",
                "id",
            )
            .with_nullable(true),
            measured(
                "blocked",
                list_type(UInt64, false),
                "the blocked vertices of a lattice of two axes with at most 4096 vertices, from which \
                 it can be drawn; null for others",
                "id",
            )
            .with_nullable(true),
        ],
        QueryKind::Layers { with_distances } => {
            let mut fields = vec![
                from(),
                measured(
                    "eccentricity",
                    UInt64,
                    "the distance of the farthest vertex that can be reached",
                    "edges",
                ),
                measured(
                    "n_unreachable",
                    UInt64,
                    "free vertices that cannot be reached",
                    "vertices",
                ),
                measured(
                    "counts",
                    list_type(UInt64, false),
                    "how many vertices lie at distance 0, 1, 2 and so on",
                    "vertices",
                ),
            ];
            if with_distances {
                fields.push(measured(
                    "distances",
                    list_type(UInt32, true),
                    "the distance of each vertex by id; null if it is blocked or out of reach",
                    "edges",
                ));
            }
            fields
        }
    });
    fields
}

fn list_type(values: DataType, is_nullable: bool) -> DataType {
    DataType::List(Arc::new(element(values, is_nullable)))
}

fn element(values: DataType, is_nullable: bool) -> Field {
    Field::new("element", values, is_nullable)
}

/// The columns that repeat the question.
#[derive(Default)]
struct QuestionColumns {
    id: StringBuilder,
    op: StringBuilder,
    sizes: StringBuilder,
    n_blocked: UInt64Builder,
    from: UInt64Builder,
    to: UInt64Builder,
}

impl QuestionColumns {
    /// Returns the approximate number of bytes appended.
    fn append(&mut self, id: &str, asked: &ParsedQuery) -> usize {
        let sizes = sizes_text(asked.lattice.sizes());
        self.id.append_value(id);
        self.op.append_value(asked.operation.name());
        self.sizes.append_value(&sizes);
        self.n_blocked.append_value(asked.lattice.n_blocked());
        match asked.operation {
            Operation::Analyze => {}
            Operation::Path { from, to } => {
                self.from.append_value(from);
                self.to.append_value(to);
            }
            Operation::Layers { from, .. } => self.from.append_value(from),
        }
        id.len() + sizes.len() + 48
    }

    fn take(&mut self, kind: QueryKind) -> Vec<ArrayRef> {
        let mut columns: Vec<ArrayRef> = vec![
            Arc::new(self.id.finish()),
            Arc::new(self.op.finish()),
            Arc::new(self.sizes.finish()),
            Arc::new(self.n_blocked.finish()),
        ];
        if kind != QueryKind::Analyze {
            columns.push(Arc::new(self.from.finish()));
        }
        if kind == QueryKind::Path {
            columns.push(Arc::new(self.to.finish()));
        }
        columns
    }
}

/// The columns of the answer: one variant per kind, because the questions of a table have one kind.
enum AnswerColumns {
    Analyze(AnalysisColumns),
    Path(PathColumns),
    Layers(LayersColumns),
}

#[derive(Default)]
struct AnalysisColumns {
    n_vertices: StringBuilder,
    n_edges: StringBuilder,
    connected: BooleanBuilder,
    diameter: UInt64Builder,
    average_degree: Float64Builder,
    clustering_coefficient: Float64Builder,
    density: Float64Builder,
}

struct PathColumns {
    found: BooleanBuilder,
    length: UInt64Builder,
    path: ListBuilder<UInt64Builder>,
}

struct LayersColumns {
    eccentricity: UInt64Builder,
    n_unreachable: UInt64Builder,
    counts: ListBuilder<UInt64Builder>,
    distances: Option<ListBuilder<UInt32Builder>>,
}

impl AnswerColumns {
    fn new(kind: QueryKind) -> AnswerColumns {
        let ids =
            || ListBuilder::new(UInt64Builder::new()).with_field(element(DataType::UInt64, false));
        match kind {
            QueryKind::Analyze => AnswerColumns::Analyze(AnalysisColumns::default()),
            QueryKind::Path => AnswerColumns::Path(PathColumns {
                found: BooleanBuilder::new(),
                length: UInt64Builder::new(),
                path: ids(),
            }),
            QueryKind::Layers { with_distances } => AnswerColumns::Layers(LayersColumns {
                eccentricity: UInt64Builder::new(),
                n_unreachable: UInt64Builder::new(),
                counts: ids(),
                distances: with_distances.then(|| {
                    ListBuilder::new(UInt32Builder::new())
                        .with_field(element(DataType::UInt32, true))
                }),
            }),
        }
    }

    /// Returns the approximate number of bytes appended.
    fn append(&mut self, answer: &Answer) -> usize {
        match (self, answer) {
            (AnswerColumns::Analyze(columns), Answer::Analysis(analysis)) => {
                columns.append(analysis)
            }
            (AnswerColumns::Path(columns), Answer::Path(path)) => columns.append(path),
            (AnswerColumns::Layers(columns), Answer::Layers(layers)) => columns.append(layers),
            _ => unreachable!("an answer is of its question's kind"),
        }
    }

    fn take(&mut self) -> Vec<ArrayRef> {
        match self {
            AnswerColumns::Analyze(columns) => vec![
                Arc::new(columns.n_vertices.finish()),
                Arc::new(columns.n_edges.finish()),
                Arc::new(columns.connected.finish()),
                Arc::new(columns.diameter.finish()),
                Arc::new(columns.average_degree.finish()),
                Arc::new(columns.clustering_coefficient.finish()),
                Arc::new(columns.density.finish()),
            ],
            AnswerColumns::Path(columns) => vec![
                Arc::new(columns.found.finish()),
                Arc::new(columns.length.finish()),
                Arc::new(columns.path.finish()),
            ],
            AnswerColumns::Layers(columns) => {
                let mut arrays: Vec<ArrayRef> = vec![
                    Arc::new(columns.eccentricity.finish()),
                    Arc::new(columns.n_unreachable.finish()),
                    Arc::new(columns.counts.finish()),
                ];
                if let Some(distances) = &mut columns.distances {
                    arrays.push(Arc::new(distances.finish()));
                }
                arrays
            }
        }
    }
}

impl AnalysisColumns {
    fn append(&mut self, analysis: &Analysis) -> usize {
        self.n_vertices.append_value(analysis.n_vertices.to_string());
        self.n_edges.append_value(analysis.n_edges.to_string());
        self.connected.append_value(analysis.connected);
        self.diameter.append_option(analysis.diameter);
        self.average_degree.append_value(analysis.average_degree);
        self.clustering_coefficient.append_value(analysis.clustering_coefficient);
        self.density.append_value(analysis.density);
        96
    }
}

impl PathColumns {
    fn append(&mut self, path: &PathAnswer) -> usize {
        self.length.append_option(path.length());
        match path {
            PathAnswer::Found(vertices) => {
                self.found.append_value(true);
                self.path.values().append_slice(vertices);
                self.path.append(true);
                16 + 8 * vertices.len()
            }
            PathAnswer::NoPath => {
                self.found.append_value(false);
                self.path.append(false);
                16
            }
        }
    }
}

impl LayersColumns {
    fn append(&mut self, layers: &Layers) -> usize {
        self.eccentricity.append_value(layers.eccentricity());
        self.n_unreachable.append_value(layers.n_unreachable);
        self.counts.values().append_slice(&layers.counts);
        self.counts.append(true);
        let mut n_bytes = 24 + 8 * layers.counts.len();
        if let (Some(column), Some(distances)) = (&mut self.distances, &layers.distances) {
            let values = column.values();
            distances.iter().for_each(|distance| values.append_option(reachable(distance)));
            column.append(true);
            n_bytes += 4 * distances.len();
        }
        n_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Array, AsArray, RecordBatch};
    use arrow::datatypes::{UInt32Type, UInt64Type};
    use swathe::{Outcome, Stop};
    use swathe_lattice::{LatticeDescription, LatticeWorkload};

    fn table(kind: QueryKind) -> (RecordBatch, Vec<(&'static str, Value)>) {
        // 0 1 2
        // # # 5
        // 6 # 8
        let lattice = Arc::new(LatticeDescription::new(&[3, 3], vec![3, 4, 7]).unwrap());
        let asked = ParsedQuery::parse(kind, lattice, "0", "2,2").unwrap();
        let queries = LatticeQueries::one(kind, "corner", asked.clone());
        let query = queries.source().load(0, &Stop::new()).unwrap();
        let mut outcomes = swathe::solve_slice(&LatticeWorkload, &[query], 1, &Stop::new());
        let Outcome::Solved(answer) = outcomes.remove(0) else {
            panic!("it can be answered");
        };
        let mut rows = LatticeRows::new(queries);
        assert_eq!(rows.append(0, &answer), 1);
        assert!(rows.n_bytes() > 0);
        let batch = RecordBatch::try_new(rows.schema(), rows.take()).unwrap();
        assert_eq!(rows.n_bytes(), 0);
        (batch, values("corner", &asked, &answer))
    }

    #[test]
    fn columns_and_values_have_the_same_names() {
        for kind in [
            QueryKind::Analyze,
            QueryKind::Path,
            QueryKind::Layers { with_distances: false },
            QueryKind::Layers { with_distances: true },
        ] {
            let (batch, values) = table(kind);
            let schema = batch.schema();
            let mut names: Vec<&str> = schema.fields().iter().map(|f| f.name().as_str()).collect();
            // `blocked` repeats the question and is not printed.
            names.retain(|&name| name != "blocked");
            let keys: Vec<&str> = values.iter().map(|(name, _)| *name).collect();
            assert_eq!(names, keys);
            for field in schema.fields() {
                assert!(field.metadata().contains_key("description"), "{}", field.name());
            }
        }
    }

    #[test]
    fn answers_stand_in_their_columns() {
        let (batch, values) = table(QueryKind::Path);
        assert_eq!(batch["length"].as_primitive::<UInt64Type>().value(0), 4);
        let path = batch["path"].as_list::<i32>().value(0);
        assert_eq!(path.as_primitive::<UInt64Type>().values(), &[0, 1, 2, 5, 8]);
        assert!(values.contains(&("path", json!([0, 1, 2, 5, 8]))));

        let (batch, values) = table(QueryKind::Layers { with_distances: true });
        let distances = batch["distances"].as_list::<i32>().value(0);
        let distances = distances.as_primitive::<UInt32Type>();
        assert_eq!((distances.value(8), distances.is_null(6)), (4, true));
        assert!(values.contains(&("n_unreachable", json!(1))));
        let expected = json!([0, 1, 2, null, null, 3, null, null, 4]);
        assert!(values.contains(&("distances", expected)));

        let (batch, values) = table(QueryKind::Analyze);
        assert!(batch["diameter"].is_null(0));
        assert_eq!(batch["n_edges"].as_string::<i32>().value(0), "4");
        assert!(values.contains(&("connected", json!(false))));
    }
}
