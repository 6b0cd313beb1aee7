//! Answers about lattices as the rows of a table, and as JSON values for printing.

use arrow::array::ArrayRef;
use arrow::datatypes::SchemaRef;
use serde_json::Value;
use swathe_lattice::Answer;

use crate::lattice_queries::{LatticeQueries, ParsedQuery, QueryKind};
use crate::lattice_row::{
    AnalysisColumns, AnalysisRow, DistancesColumns, DistancesRow, LayersColumns, LayersRow,
    MazeColumns, MazeRow, PathRow, distances,
};
use swathe_run::store::record::{Cells, Column, Figures, Record, TableReference};
use swathe_run::store::rows::Rows;

/// The table `queries`: a row for each question with an answer.
pub struct LatticeRows {
    queries: LatticeQueries,
    columns: Columns,
    n_bytes: usize,
}

/// The rows of the current part. The questions of a table are of one kind.
enum Columns {
    Analyze(AnalysisColumns),
    Path(MazeColumns),
    Layers(LayersColumns),
    Distances(DistancesColumns),
}

impl LatticeRows {
    /// An empty table for the answers to these questions.
    pub fn new(queries: LatticeQueries) -> LatticeRows {
        let columns = match queries.kind() {
            QueryKind::Analyze => Columns::Analyze(AnalysisRow::builder()),
            QueryKind::Path => Columns::Path(MazeRow::builder()),
            QueryKind::Layers { with_distances: false } => Columns::Layers(LayersRow::builder()),
            QueryKind::Layers { with_distances: true } => {
                Columns::Distances(DistancesRow::builder())
            }
        };
        LatticeRows { queries, columns, n_bytes: 0 }
    }
}

const TABLE: &str = "queries";

/// The tables of all kinds, in the reference.
pub(crate) fn reference() -> Vec<TableReference> {
    let table = |about, columns: &[Column]| {
        TableReference::of_results(TABLE, about, columns.iter().cloned())
    };
    vec![
        table("`lattice analyze`: a row for each question", AnalysisRow::declared()),
        table("`lattice path`: a row for each question", MazeRow::declared()),
        table(
            "`lattice layers`: a row for each question; `distances` with `--distances` alone",
            DistancesRow::declared(),
        ),
    ]
}

impl Rows for LatticeRows {
    type Solution = Answer;

    fn table(&self) -> &'static str {
        TABLE
    }

    fn schema(&self) -> SchemaRef {
        match &self.columns {
            Columns::Analyze(_) => AnalysisRow::schema(),
            Columns::Path(_) => MazeRow::schema(),
            Columns::Layers(_) => LayersRow::schema(),
            Columns::Distances(_) => DistancesRow::schema(),
        }
    }

    fn id(&self, index: usize) -> String {
        self.queries.ids()[index].to_owned()
    }

    fn append(&mut self, index: usize, answer: &Answer) -> usize {
        // A question without a lattice has no answer, so that nothing is lost here.
        let Ok(asked) = self.queries.asked(index) else {
            return 0;
        };
        let id = &self.queries.ids()[index];
        self.n_bytes += id.len() + 64 + self.columns.append(id, &asked, answer);
        1
    }

    fn n_bytes(&self) -> usize {
        self.n_bytes
    }

    fn take(&mut self) -> Vec<ArrayRef> {
        self.n_bytes = 0;
        match &mut self.columns {
            Columns::Analyze(columns) => AnalysisRow::arrays(columns),
            Columns::Path(columns) => MazeRow::arrays(columns),
            Columns::Layers(columns) => LayersRow::arrays(columns),
            Columns::Distances(columns) => DistancesRow::arrays(columns),
        }
    }
}

impl Columns {
    /// Returns the approximate number of bytes appended, without those of texts.
    fn append(&mut self, id: &str, asked: &ParsedQuery, answer: &Answer) -> usize {
        match (self, answer) {
            (Columns::Analyze(columns), Answer::Analysis(analysis)) => {
                AnalysisRow::of(id, asked, analysis).append(columns);
                96
            }
            (Columns::Path(columns), Answer::Path(path)) => {
                let row = MazeRow { path: PathRow::of(id, asked, path), blocked: drawn(asked) };
                row.append(columns);
                let lists = [&row.path.path, &row.blocked].into_iter().flatten();
                24 + 8 * lists.map(Vec::len).sum::<usize>()
            }
            (Columns::Layers(columns), Answer::Layers(layers)) => {
                LayersRow::of(id, asked, layers).append(columns);
                24 + 8 * layers.counts.len()
            }
            (Columns::Distances(columns), Answer::Layers(layers)) => {
                LayersRow::of(id, asked, layers).append(&mut columns.layers);
                // There are as many distances as vertices: a row would hold them a second time.
                let values = columns.distances.values();
                distances(layers).for_each(|distance| values.append_option(distance));
                columns.distances.append(true);
                24 + 8 * layers.counts.len() + 4 * layers.distances.as_ref().map_or(0, Vec::len)
            }
            _ => unreachable!("an answer is of its question's kind"),
        }
    }
}

/// The blocked vertices of a plane that is small enough to be drawn.
fn drawn(asked: &ParsedQuery) -> Option<Vec<u64>> {
    const N_DRAWN_MAX: u64 = 64 * 64;
    match *asked.lattice.sizes() {
        [height, width] if u64::from(height) * u64::from(width) <= N_DRAWN_MAX => {
            Some(asked.lattice.blocked().iter().map(|&vertex| vertex.into()).collect())
        }
        _ => None,
    }
}

/// The names and values of a row, in the order of the table's columns.
///
/// Counts beyond 64 bits are decimal strings; in the table all counts are.
pub fn values(id: &str, asked: &ParsedQuery, answer: &Answer) -> Vec<(&'static str, Value)> {
    fn named<R: Record + Figures>(row: &R) -> Vec<(&'static str, Value)> {
        row.named_figures().map(|(name, figure)| (name, figure.into())).collect()
    }
    match answer {
        Answer::Analysis(analysis) => named(&AnalysisRow::of(id, asked, analysis)),
        Answer::Path(path) => named(&PathRow::of(id, asked, path)),
        Answer::Layers(layers) => match &layers.distances {
            None => named(&LayersRow::of(id, asked, layers)),
            Some(_) => named(&DistancesRow::of(id, asked, layers)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use arrow::array::{Array, AsArray, RecordBatch};
    use arrow::datatypes::{UInt32Type, UInt64Type};
    use serde_json::json;
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
