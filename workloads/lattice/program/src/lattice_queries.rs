//! Questions about lattices, from a table or from text.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use swathe::Source;
use swathe_lattice::Lattice;
use swathe_lattice::{LatticeDescription, Operation, Query, QueryError, query_size};

use swathe_formats::csv::{CsvError, CsvReader, Record};

/// What is asked of every lattice of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryKind {
    /// Vertices, edges, diameter and so on.
    Analyze,
    /// A shortest path between two vertices.
    Path,
    /// How many vertices lie at each distance from one.
    Layers {
        /// And the distance of each.
        with_distances: bool,
    },
}

/// Questions of one kind, each under its own id.
#[derive(Clone, Debug)]
pub struct LatticeQueries {
    kind: QueryKind,
    queries: Arc<Vec<NamedQuery>>,
    columns_unused: Vec<String>,
}

/// A question that may make no sense; the others are not harmed by that.
#[derive(Clone, Debug)]
pub struct NamedQuery {
    /// What its author calls it.
    pub id: String,
    /// What is asked, or why nothing can be.
    pub asked: Result<Asked, QueryError>,
}

/// What is asked, of a lattice that is built when its turn comes.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The lattice.
    pub lattice: Arc<LatticeDescription>,
    /// The question.
    pub operation: Operation,
}

/// Why a table of questions cannot be used. The caller knows the file's name and adds it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QueriesError {
    /// It is not a table.
    #[error(transparent)]
    Csv(#[from] CsvError),
    /// A column that the question needs is absent.
    #[error("no column called {column:?}; there are {columns:?}")]
    MissingColumn {
        /// The name.
        column: &'static str,
        /// The names there are.
        columns: Vec<String>,
    },
    /// Two questions have one id.
    #[error("lines {first_line} and {line} have the same id {id:?}")]
    DuplicateId {
        /// The id.
        id: String,
        /// The line that had it first.
        first_line: u64,
        /// The line that has it again.
        line: u64,
    },
}

/// The columns that mean something.
const COLUMNS: [&str; 5] = ["id", "size", "from", "to", "blocked"];

/// The most distances that one row of a table holds.
pub const N_DISTANCES_MAX: u64 = 1 << 28;

impl QueryKind {
    /// The columns a table must have.
    fn columns_needed(self) -> &'static [&'static str] {
        match self {
            QueryKind::Analyze => &["size"],
            QueryKind::Path => &["size", "from", "to"],
            QueryKind::Layers { .. } => &["size", "from"],
        }
    }
}

impl LatticeQueries {
    /// Drops all questions but these.
    pub fn keep(&mut self, chosen: &[usize]) {
        let kept = chosen.iter().map(|&at| self.queries[at].clone());
        self.queries = Arc::new(kept.collect());
    }

    /// One question.
    pub fn one(kind: QueryKind, id: &str, asked: Asked) -> LatticeQueries {
        let query = NamedQuery {
            id: id.to_owned(),
            asked: Ok(asked),
        };
        LatticeQueries {
            kind,
            queries: Arc::new(vec![query]),
            columns_unused: Vec::new(),
        }
    }

    /// Reads a table with a question on each line.
    ///
    /// Columns: `size` (such as `10x10x10`), `from` and `to` where the kind needs them (an id, or
    /// coordinates such as `0 0 9`), and if wanted `id` (else the number of the row, from 0) and
    /// `blocked` (vertices separated by spaces, each an id or coordinates such as `0,0,9`). Others are
    /// not looked at.
    pub fn read(path: &Path, kind: QueryKind) -> Result<LatticeQueries, QueriesError> {
        let reader = CsvReader::open(path)?;
        for &column in kind.columns_needed() {
            if reader.column(column).is_none() {
                return Err(QueriesError::MissingColumn {
                    column,
                    columns: reader.columns().to_vec(),
                });
            }
        }
        let places = Places {
            id: reader.column("id"),
            size: reader.column("size"),
            blocked: reader.column("blocked"),
            from: reader.column("from"),
            to: reader.column("to"),
        };
        let is_unused = |column: &&String| !COLUMNS.contains(&column.as_str());
        let columns_unused = reader.columns().iter().filter(is_unused).cloned().collect();
        let mut lattices = Lattices::default();
        let mut lines: HashMap<String, u64> = HashMap::new();
        let mut queries = Vec::new();
        for record in reader {
            let record = record?;
            let id = match places.id {
                Some(place) => record.fields[place].clone(),
                None => queries.len().to_string(),
            };
            if let Some(first_line) = lines.insert(id.clone(), record.line) {
                return Err(QueriesError::DuplicateId {
                    id,
                    first_line,
                    line: record.line,
                });
            }
            let asked = places.ask(&record, kind, &mut lattices);
            queries.push(NamedQuery { id, asked });
        }
        Ok(LatticeQueries {
            kind,
            queries: Arc::new(queries),
            columns_unused,
        })
    }

    /// What all of them ask.
    pub fn kind(&self) -> QueryKind {
        self.kind
    }

    /// The questions, in the order of the table.
    pub fn queries(&self) -> &[NamedQuery] {
        &self.queries
    }

    /// Columns of the table that mean nothing here: perhaps a name was mistyped.
    pub fn columns_unused(&self) -> &[String] {
        &self.columns_unused
    }

    /// The questions as problems of a run. Lattices are built when they are next.
    pub fn source(&self) -> Source<Query, QueryError> {
        let (sizes, loads) = (Arc::clone(&self.queries), Arc::clone(&self.queries));
        Source::new(
            self.queries.len(),
            move |index| {
                let asked = sizes[index].asked.as_ref().map_err(QueryError::clone)?;
                let lattice = &asked.lattice;
                Ok(query_size(
                    lattice.sizes(),
                    lattice.n_blocked(),
                    &asked.operation,
                ))
            },
            move |index, _| {
                let asked = loads[index].asked.as_ref().map_err(QueryError::clone)?;
                Ok(Query {
                    lattice: asked.lattice.build()?,
                    operation: asked.operation,
                })
            },
        )
    }
}

impl Asked {
    /// A question in words: `from` and `to` are an id or coordinates, and unused ones are ignored.
    pub fn parse(
        kind: QueryKind,
        lattice: Arc<LatticeDescription>,
        from: &str,
        to: &str,
    ) -> Result<Asked, QueryError> {
        let operation = match kind {
            QueryKind::Analyze => Operation::Analyze,
            QueryKind::Path => Operation::Path {
                from: parse_vertex("from", from, lattice.sizes())?,
                to: parse_vertex("to", to, lattice.sizes())?,
            },
            QueryKind::Layers { with_distances } => Operation::Layers {
                from: parse_vertex("from", from, lattice.sizes())?,
                with_distances,
            },
        };
        if kind
            == (QueryKind::Layers {
                with_distances: true,
            })
        {
            let n_vertices = Lattice::new(lattice.sizes())?.n_vertices();
            if n_vertices > u128::from(N_DISTANCES_MAX) {
                return Err(QueryError::TooManyDistances {
                    n_vertices,
                    n_vertices_max: N_DISTANCES_MAX,
                });
            }
        }
        Ok(Asked { lattice, operation })
    }
}

/// `10x10x10`: the vertices along each axis.
pub fn parse_sizes(text: &str) -> Result<Vec<u32>, QueryError> {
    let sizes = text.trim().split('x').map(|size| size.trim().parse());
    sizes
        .collect::<Result<_, _>>()
        .map_err(|_| meaningless("size", text, "a lattice's size, such as 10x10x10"))
}

/// `10x10x10`, from the vertices along each axis.
pub fn sizes_text(sizes: &[u32]) -> String {
    let sizes: Vec<String> = sizes.iter().map(u32::to_string).collect();
    sizes.join("x")
}

/// Vertices separated by spaces or line breaks: each an id, or coordinates joined by
/// commas.
pub fn parse_vertices(text: &str, sizes: &[u32]) -> Result<Vec<u64>, QueryError> {
    // Not for every id: a maze has thousands of them.
    let mut lattice = None;
    text.split_ascii_whitespace()
        .map(|word| match word.contains(',') {
            false => word.parse().map_err(|_| no_vertex("blocked", word)),
            true => {
                let lattice = match &lattice {
                    Some(lattice) => lattice,
                    None => lattice.insert(Lattice::new(sizes)?),
                };
                let numbers = numbers("blocked", word)?;
                match numbers.len() == sizes.len() {
                    true => Ok(lattice.vertex_at(&coordinates(&numbers))?),
                    false => Err(no_vertex("blocked", word)),
                }
            }
        })
        .collect()
}

/// An id, or as many coordinates as there are axes, joined by commas or separated by spaces.
fn parse_vertex(field: &'static str, text: &str, sizes: &[u32]) -> Result<u64, QueryError> {
    let numbers = numbers(field, text)?;
    match numbers.as_slice() {
        [] => Err(no_vertex(field, text)),
        [vertex] => Ok(*vertex),
        numbers => Ok(Lattice::new(sizes)?.vertex_at(&coordinates(numbers))?),
    }
}

fn numbers(field: &'static str, text: &str) -> Result<Vec<u64>, QueryError> {
    let numbers = words(text).map(|word| word.parse().map_err(|_| no_vertex(field, text)));
    numbers.collect()
}

/// Beyond 32 bits is beyond every axis, and the axis is named in the error.
fn coordinates(numbers: &[u64]) -> Vec<u32> {
    let narrow = |&number: &u64| u32::try_from(number).unwrap_or(u32::MAX);
    numbers.iter().map(narrow).collect()
}

fn no_vertex(field: &'static str, text: &str) -> QueryError {
    let expected = match field {
        "blocked" => {
            "an id or the coordinates of a vertex, such as 0,0,9; separate vertices by spaces"
        }
        _ => "the id of a vertex, or its coordinates such as 0,0,9",
    };
    meaningless(field, text, expected)
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_ascii_whitespace() || c == ',')
        .filter(|word| !word.is_empty())
}

fn meaningless(field: &'static str, text: &str, expected: &'static str) -> QueryError {
    const N_CHARS_MAX: usize = 40;
    let mut shown: String = text.chars().take(N_CHARS_MAX).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    QueryError::Text {
        field,
        text: shown,
        expected,
    }
}

/// Where in a record the parts of a question stand.
struct Places {
    id: Option<usize>,
    size: Option<usize>,
    blocked: Option<usize>,
    from: Option<usize>,
    to: Option<usize>,
}

impl Places {
    fn ask(
        &self,
        record: &Record,
        kind: QueryKind,
        lattices: &mut Lattices,
    ) -> Result<Asked, QueryError> {
        let field = |place: Option<usize>| place.map_or("", |place| record.fields[place].as_str());
        let lattice = lattices.find(field(self.size), field(self.blocked))?;
        Asked::parse(kind, lattice, field(self.from), field(self.to))
    }
}

/// The lattices met so far: a table that asks many things of one lattice keeps it once.
#[derive(Default)]
struct Lattices {
    /// Under a hash of their text, which may be long.
    known: HashMap<blake3::Hash, Arc<LatticeDescription>>,
}

impl Lattices {
    fn find(&mut self, size: &str, blocked: &str) -> Result<Arc<LatticeDescription>, QueryError> {
        let mut hasher = blake3::Hasher::new();
        hasher.update(size.as_bytes()).update(b"\n");
        let key = hasher.update(blocked.as_bytes()).finalize();
        if let Some(lattice) = self.known.get(&key) {
            return Ok(Arc::clone(lattice));
        }
        let sizes = parse_sizes(size)?;
        let blocked = parse_vertices(blocked, &sizes)?;
        let description = LatticeDescription::new(&sizes, blocked)?;
        let lattice = Arc::new(description);
        self.known.insert(key, Arc::clone(&lattice));
        Ok(lattice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, kind: QueryKind) -> Result<LatticeQueries, QueriesError> {
        let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
        std::fs::write(&path, text).unwrap();
        LatticeQueries::read(&path, kind)
    }

    #[test]
    fn a_table_of_paths() {
        let text = "note,to,id,size,from,blocked\n\
            x,8,first,3x3,0,\"1,1 4\"\n\
            ,\"2,2\",second,3x3,0 1,\"1,1 4\"\n\
            ,0,third,3xx,0,\n\
            ,0,fourth,3x1,0,\n\
            ,5,fifth,3x3,nine,\n\
            ,\"3,0\",sixth,3x3,0,\n\
            ,8,seventh,3x3,0,4 four\n";
        let queries = read(text, QueryKind::Path).unwrap();
        assert_eq!(queries.columns_unused(), ["note"]);
        let queries = queries.queries();
        let asked = |at: usize| queries[at].asked.as_ref().unwrap();
        assert_eq!(queries[0].id, "first");
        assert_eq!(asked(0).operation, Operation::Path { from: 0, to: 8 });
        assert_eq!(asked(1).operation, Operation::Path { from: 1, to: 8 });
        assert_eq!(asked(0).lattice.n_blocked(), 1);
        assert!(Arc::ptr_eq(&asked(0).lattice, &asked(1).lattice));

        let why = |at: usize| queries[at].asked.as_ref().unwrap_err().to_string();
        assert_eq!(
            why(2),
            "size has \"3xx\", which is not a lattice's size, such as 10x10x10"
        );
        assert_eq!(why(3), "axis 1 has 1 vertices; it needs at least 2");
        assert!(why(4).starts_with("from has \"nine\""));
        assert_eq!(why(5), "coordinate 3 on axis 0, which has 3 vertices");
        assert_eq!(
            why(6),
            "blocked has \"four\", which is not an id or the coordinates of a vertex, such as 0,0,9; \
             separate vertices by spaces"
        );
    }

    #[test]
    fn ids_are_row_numbers_unless_given() {
        let queries = read("size\n3\n3x3\n", QueryKind::Analyze).unwrap();
        let ids: Vec<&str> = queries.queries().iter().map(|q| q.id.as_str()).collect();
        assert_eq!(ids, ["0", "1"]);
    }

    #[test]
    fn tables_that_cannot_be_used() {
        let message = |text: &str| read(text, QueryKind::Path).unwrap_err().to_string();
        assert!(message("size,from\n3,0\n").starts_with("no column called \"to\""));
        assert_eq!(
            message("id,size,from,to\na,3,0,1\nb,3,0,1\na,3,0,1\n"),
            "lines 2 and 4 have the same id \"a\""
        );
        assert!(message("size,from,to\n3,0\n").starts_with("line 2:"));
    }

    #[test]
    fn distances_that_fit_in_no_row_are_refused() {
        let kind = QueryKind::Layers {
            with_distances: true,
        };
        let queries = read("size,from\n100x100x100x100x3,0\n100x100,0\n", kind).unwrap();
        assert!(matches!(
            queries.queries()[0].asked,
            Err(QueryError::TooManyDistances { .. })
        ));
        assert!(queries.queries()[1].asked.is_ok());
    }

    #[test]
    fn a_source_surveys_without_building_and_builds_what_it_surveyed() {
        use swathe::{Stop, Workload};
        use swathe_lattice::LatticeWorkload;
        let text = "size,from,to,blocked\n9x10x11x12,0,7,3 4 5\n3,5,1,\n3,7x,1,\n";
        let source = read(text, QueryKind::Path).unwrap().source();
        for index in 0..2 {
            let query = source.load(index, &Stop::new()).unwrap();
            assert_eq!(
                source.size(index).unwrap(),
                LatticeWorkload.size(&query),
                "query {index}"
            );
        }
        assert!(matches!(source.size(2), Err(QueryError::Text { .. })));
        assert!(source.load(2, &Stop::new()).is_err());
    }
}
