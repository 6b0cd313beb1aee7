//! Questions about lattices, read from a table or parsed from text.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use swathe::Source;
use swathe_lattice::Lattice;
use swathe_lattice::{LatticeDescription, Operation, Query, QueryError, query_size};

use swathe_formats::csv::{CsvError, CsvReader, Record};
use swathe_formats::name_list::{Duplicate, NameIndex, NameList};

/// The kind of question; all questions of a run have the same kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryKind {
    /// Vertices, edges, diameter and so on.
    Analyze,
    /// A shortest path between two vertices.
    Path,
    /// The number of vertices at each distance from one vertex.
    Layers {
        /// Whether the distance of each vertex is listed too.
        with_distances: bool,
    },
}

/// Questions of one kind, each under its own id. One that makes no sense does not harm the others.
#[derive(Clone, Debug)]
pub struct LatticeQueries {
    kind: QueryKind,
    table: Arc<QueryTable>,
    columns_unused: Vec<String>,
}

/// The questions. There may be millions: each takes its id and 28 bytes, and questions about one
/// lattice share its description.
#[derive(Debug, Default)]
struct QueryTable {
    ids: NameList,
    /// For each question the number of its lattice.
    lattice_numbers: Vec<u32>,
    /// For each question the vertices it names; those that its kind does not need are 0.
    ends: Vec<[u64; 2]>,
    lattices: Vec<Arc<LatticeDescription>>,
    /// Why questions make no sense, by their numbers.
    faults: HashMap<usize, QueryError>,
}

/// The number of the lattice of a question that makes no sense.
const NO_LATTICE: u32 = u32::MAX;

impl QueryTable {
    fn push(&mut self, id: &str, asked: Result<(u32, [u64; 2]), QueryError>) {
        let (lattice_number, ends) = asked.unwrap_or_else(|fault| {
            self.faults.insert(self.ids.len(), fault);
            (NO_LATTICE, [0; 2])
        });
        self.ids.push(id);
        self.lattice_numbers.push(lattice_number);
        self.ends.push(ends);
    }

    fn choose(&self, chosen: &[usize]) -> QueryTable {
        let faults = chosen.iter().enumerate().filter_map(|(now, before)| {
            let fault = self.faults.get(before)?;
            Some((now, fault.clone()))
        });
        QueryTable {
            ids: self.ids.choose(chosen),
            lattice_numbers: chosen.iter().map(|&at| self.lattice_numbers[at]).collect(),
            ends: chosen.iter().map(|&at| self.ends[at]).collect(),
            lattices: self.lattices.clone(),
            faults: faults.collect(),
        }
    }

    fn asked(&self, kind: QueryKind, at: usize) -> Result<ParsedQuery, QueryError> {
        if let Some(fault) = self.faults.get(&at) {
            return Err(fault.clone());
        }
        let [from, to] = self.ends[at];
        Ok(ParsedQuery {
            lattice: Arc::clone(&self.lattices[self.lattice_numbers[at] as usize]),
            operation: kind.operation(from, to),
        })
    }

    fn shrink_to_fit(&mut self) {
        self.ids.shrink_to_fit();
        self.lattice_numbers.shrink_to_fit();
        self.ends.shrink_to_fit();
    }
}

/// A valid question. Its lattice is built only when the question is loaded.
#[derive(Clone, Debug)]
pub struct ParsedQuery {
    /// The lattice.
    pub lattice: Arc<LatticeDescription>,
    /// The question.
    pub operation: Operation,
}

/// Why a table of questions cannot be used. The caller adds the file's name.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QueriesError {
    /// The file is not a CSV table.
    #[error(transparent)]
    Csv(#[from] CsvError),
    /// A required column is missing.
    #[error("no column called {column:?}; there are {columns:?}")]
    MissingColumn {
        /// The missing column.
        column: &'static str,
        /// The columns of the table.
        columns: Vec<String>,
    },
    /// The table has columns and no rows.
    #[error("it has no rows")]
    NoRows,
    /// Two questions have the same id.
    #[error("lines {first_line} and {line} have the same id {id:?}")]
    DuplicateId {
        /// The id.
        id: String,
        /// The line where the id occurs first.
        first_line: u64,
        /// The line where the id occurs again.
        line: u64,
    },
}

/// The columns that are read.
const COLUMNS: [&str; 5] = ["id", "size", "from", "to", "blocked"];

/// The most distances that one row of a table holds.
pub const N_DISTANCES_MAX: u64 = 1 << 28;

impl QueryKind {
    /// The columns that a table must have.
    fn columns_needed(self) -> &'static [&'static str] {
        match self {
            QueryKind::Analyze => &["size"],
            QueryKind::Path => &["size", "from", "to"],
            QueryKind::Layers { .. } => &["size", "from"],
        }
    }

    fn operation(self, from: u64, to: u64) -> Operation {
        match self {
            QueryKind::Analyze => Operation::Analyze,
            QueryKind::Path => Operation::Path { from, to },
            QueryKind::Layers { with_distances } => Operation::Layers { from, with_distances },
        }
    }
}

impl LatticeQueries {
    /// Keeps only the questions at these positions.
    pub fn keep(&mut self, chosen: &[usize]) {
        self.table = Arc::new(self.table.choose(chosen));
    }

    /// A list of a single question.
    pub fn one(kind: QueryKind, id: &str, asked: ParsedQuery) -> LatticeQueries {
        let mut table = QueryTable::default();
        table.push(id, Ok((0, asked.ends())));
        table.lattices.push(asked.lattice);
        LatticeQueries { kind, table: Arc::new(table), columns_unused: Vec::new() }
    }

    /// Reads a table with a question on each line.
    ///
    /// Required columns: `size` (such as `10x10x10`), and `from` and `to` where the kind needs them
    /// (an id, or coordinates such as `0 0 9`). Optional columns: `id` (default: the number of the
    /// row, from 0) and `blocked` (vertices separated by spaces, each an id or coordinates such as
    /// `0,0,9`). Other columns are ignored.
    ///
    /// # Errors
    /// If the file cannot be read as CSV, lacks a required column, or has an id twice.
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
        let mut table = QueryTable::default();
        let mut known = HashMap::new();
        for record in reader {
            let record = record?;
            let asked = places.ask(&record, kind, &mut table.lattices, &mut known);
            match places.id {
                Some(place) => table.push(&record.fields[place], asked),
                None => table.push(&table.ids.len().to_string(), asked),
            }
        }
        drop(known);
        table.shrink_to_fit();
        if table.ids.is_empty() {
            return Err(QueriesError::NoRows);
        }
        if let Err(duplicate) = NameIndex::of(&table.ids) {
            return Err(duplicate_error(path, &table.ids, duplicate)?);
        }
        Ok(LatticeQueries { kind, table: Arc::new(table), columns_unused })
    }

    /// The kind of all these questions.
    pub fn kind(&self) -> QueryKind {
        self.kind
    }

    /// How many there are.
    pub fn n_queries(&self) -> usize {
        self.table.ids.len()
    }

    /// What their author calls them, in the order of the table.
    pub fn ids(&self) -> &NameList {
        &self.table.ids
    }

    /// What a question asks.
    ///
    /// # Errors
    /// If it makes no sense.
    pub fn asked(&self, at: usize) -> Result<ParsedQuery, QueryError> {
        self.table.asked(self.kind, at)
    }

    /// The memory that knowing them takes.
    pub fn size_bytes(&self) -> u64 {
        let table = &self.table;
        let lattices = table.lattices.iter().map(|lattice| {
            let numbers = lattice.sizes().len() + lattice.blocked().len();
            (size_of::<LatticeDescription>() + 16 + numbers * size_of::<u32>()) as u64
        });
        let queries = table.lattice_numbers.capacity() * size_of::<u32>()
            + table.ends.capacity() * size_of::<[u64; 2]>()
            + table.faults.len() * (2 * size_of::<QueryError>());
        table.ids.size_bytes() + queries as u64 + lattices.sum::<u64>()
    }

    /// Columns of the table that are not read: perhaps a name was mistyped.
    pub fn columns_unused(&self) -> &[String] {
        &self.columns_unused
    }

    /// The questions as problems of a run. Each lattice is built when its question is loaded.
    pub fn source(&self) -> Source<Query, QueryError> {
        let (sizes, loads) = (self.clone(), self.clone());
        Source::new(
            self.n_queries(),
            move |index| {
                let ParsedQuery { lattice, operation } = sizes.asked(index)?;
                let n_blocked = lattice.n_blocked();
                Ok(query_size(lattice.sizes(), n_blocked, &operation))
            },
            move |index, _| {
                let asked = loads.asked(index)?;
                Ok(Query { lattice: asked.lattice.build()?, operation: asked.operation })
            },
        )
    }
}

impl ParsedQuery {
    /// Parses a question: `from` and `to` are an id or coordinates; those that the kind does not
    /// need are ignored.
    ///
    /// # Errors
    /// If a needed vertex is neither an id nor coordinates of the lattice, or if all distances are
    /// requested of a lattice with more than [`N_DISTANCES_MAX`] vertices.
    pub fn parse(
        kind: QueryKind,
        lattice: Arc<LatticeDescription>,
        from: &str,
        to: &str,
    ) -> Result<ParsedQuery, QueryError> {
        let from = match kind {
            QueryKind::Analyze => 0,
            _ => parse_vertex("from", from, lattice.sizes())?,
        };
        let to = match kind {
            QueryKind::Path => parse_vertex("to", to, lattice.sizes())?,
            _ => 0,
        };
        if kind == (QueryKind::Layers { with_distances: true }) {
            let n_vertices = Lattice::new(lattice.sizes())?.n_vertices();
            if n_vertices > u128::from(N_DISTANCES_MAX) {
                return Err(QueryError::TooManyDistances {
                    n_vertices,
                    n_vertices_max: N_DISTANCES_MAX,
                });
            }
        }
        let operation = kind.operation(from, to);
        Ok(ParsedQuery { lattice, operation })
    }

    /// The vertices that it names; those it does not need are 0.
    fn ends(&self) -> [u64; 2] {
        match self.operation {
            Operation::Analyze => [0, 0],
            Operation::Path { from, to } => [from, to],
            Operation::Layers { from, .. } => [from, 0],
        }
    }
}

/// The error of two questions with one id. Lines are not kept, so that they are looked for again.
fn duplicate_error(
    path: &Path,
    ids: &NameList,
    duplicate: Duplicate,
) -> Result<QueriesError, CsvError> {
    let lines = CsvReader::open(path)?.map(|record| record.map(|record| record.line));
    let lines: Vec<u64> = lines.take(duplicate.second + 1).collect::<Result<_, _>>()?;
    Ok(QueriesError::DuplicateId {
        id: ids[duplicate.second].to_owned(),
        first_line: lines[duplicate.first],
        line: lines[duplicate.second],
    })
}

/// Parses a size such as `10x10x10` into the vertices along each axis.
///
/// # Errors
/// If the text is not a list of numbers joined by `x`.
pub fn parse_sizes(text: &str) -> Result<Vec<u32>, QueryError> {
    let sizes = text.trim().split('x').map(|size| size.trim().parse());
    sizes
        .collect::<Result<_, _>>()
        .map_err(|_| meaningless("size", text, "a lattice's size, such as 10x10x10"))
}

/// The text of a size, such as `10x10x10`.
pub fn sizes_text(sizes: &[u32]) -> String {
    let sizes: Vec<String> = sizes.iter().map(u32::to_string).collect();
    sizes.join("x")
}

/// Parses vertices separated by spaces or line breaks: each an id, or coordinates joined by commas.
///
/// # Errors
/// If a word is neither an id nor coordinates of a vertex of the lattice.
pub fn parse_vertices(text: &str, sizes: &[u32]) -> Result<Vec<u64>, QueryError> {
    // Built once, and only if there are coordinates: a maze has thousands of ids.
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

/// Parses an id, or as many coordinates as there are axes, joined by commas or separated by spaces.
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

/// Narrows to 32 bits. Larger numbers become `u32::MAX`, which is beyond every axis, so the error
/// names the axis.
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
    text.split(|c: char| c.is_ascii_whitespace() || c == ',').filter(|word| !word.is_empty())
}

fn meaningless(field: &'static str, text: &str, expected: &'static str) -> QueryError {
    const N_CHARS_MAX: usize = 40;
    let mut shown: String = text.chars().take(N_CHARS_MAX).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    QueryError::Text { field, text: shown, expected }
}

/// The column positions of the parts of a question.
struct Places {
    id: Option<usize>,
    size: Option<usize>,
    blocked: Option<usize>,
    from: Option<usize>,
    to: Option<usize>,
}

impl Places {
    /// The number of the lattice and the vertices of a question. `known` has the numbers of the
    /// lattices met so far.
    fn ask(
        &self,
        record: &Record,
        kind: QueryKind,
        lattices: &mut Vec<Arc<LatticeDescription>>,
        known: &mut HashMap<blake3::Hash, u32>,
    ) -> Result<(u32, [u64; 2]), QueryError> {
        let field = |place: Option<usize>| place.map_or("", |place| record.fields[place].as_str());
        let (size, blocked) = (field(self.size), field(self.blocked));
        // The text may be long; a hash of it is not.
        let mut hasher = blake3::Hasher::new();
        hasher.update(size.as_bytes()).update(b"\n");
        let key = hasher.update(blocked.as_bytes()).finalize();
        let number = match known.get(&key) {
            Some(&number) => number,
            None => {
                let sizes = parse_sizes(size)?;
                let blocked = parse_vertices(blocked, &sizes)?;
                let number = lattices.len() as u32;
                lattices.push(Arc::new(LatticeDescription::new(&sizes, blocked)?));
                known.insert(key, number);
                number
            }
        };
        let lattice = Arc::clone(&lattices[number as usize]);
        let asked = ParsedQuery::parse(kind, lattice, field(self.from), field(self.to))?;
        Ok((number, asked.ends()))
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
        let asked = |at: usize| queries.asked(at).unwrap();
        assert_eq!(&queries.ids()[0], "first");
        assert_eq!(asked(0).operation, Operation::Path { from: 0, to: 8 });
        assert_eq!(asked(1).operation, Operation::Path { from: 1, to: 8 });
        assert_eq!(asked(0).lattice.n_blocked(), 1);
        assert!(Arc::ptr_eq(&asked(0).lattice, &asked(1).lattice));

        let why = |at: usize| queries.asked(at).unwrap_err().to_string();
        assert_eq!(why(2), "size has \"3xx\", which is not a lattice's size, such as 10x10x10");
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
        let ids: Vec<&str> = queries.ids().iter().collect();
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
        assert_eq!(message("size,from,to\n"), "it has no rows");
    }

    #[test]
    fn distances_that_fit_in_no_row_are_refused() {
        let kind = QueryKind::Layers { with_distances: true };
        let queries = read("size,from\n100x100x100x100x3,0\n100x100,0\n", kind).unwrap();
        assert!(matches!(queries.asked(0), Err(QueryError::TooManyDistances { .. })));
        assert!(queries.asked(1).is_ok());
    }

    #[test]
    fn a_source_surveys_without_building_and_builds_what_it_surveyed() {
        use swathe::{Stop, Workload};
        use swathe_lattice::LatticeWorkload;
        let text = "size,from,to,blocked\n9x10x11x12,0,7,3 4 5\n3,5,1,\n3,7x,1,\n";
        let source = read(text, QueryKind::Path).unwrap().source();
        for index in 0..2 {
            let query = source.load(index, &Stop::new()).unwrap();
            assert_eq!(source.size(index).unwrap(), LatticeWorkload.size(&query), "query {index}");
        }
        assert!(matches!(source.size(2), Err(QueryError::Text { .. })));
        assert!(source.load(2, &Stop::new()).is_err());
    }
}
