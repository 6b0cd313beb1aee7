//! Questions about lattices, from a CSV file to the tables of a run folder.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::fmt::Write as _;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::compute::concat_batches;
use arrow::datatypes::UInt64Type;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use swathe::{AsSolved, Settings};
use swathe_lattice::LatticeWorkload;
use swathe_lattice_program::lattice_queries::{LatticeQueries, QueryKind};
use swathe_lattice_program::lattice_table::LatticeRows;
use swathe_run::store::execute::{Output, execute};
use swathe_run::store::run_folder::Identity;

#[test]
fn paths_in_the_table_are_shortest_and_failures_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let questions = questions(200);
    let csv = folder.path().join("q.csv");
    std::fs::write(&csv, to_csv(&questions)).unwrap();
    let queries = LatticeQueries::read(&csv, QueryKind::Path).unwrap();
    let out = folder.path().join("run");
    run(&queries, &out);

    let table = read(&out.join("queries.parquet"));
    let failures = read(&out.join("failures.parquet"));
    assert_eq!(table.num_rows() + failures.num_rows(), questions.len());
    let rows = table["row"].as_primitive::<UInt64Type>();
    let (mut n_found, mut n_separate) = (0, 0);
    for at in 0..table.num_rows() {
        let question = &questions[rows.value(at) as usize];
        let id = table["query_id"].as_string::<i32>().value(at);
        assert_eq!(id, format!("q{}", rows.value(at)));
        let distance = question.distance();
        let length = table["length"].as_primitive::<UInt64Type>();
        let length = length.is_valid(at).then(|| length.value(at));
        assert_eq!(length, distance, "{id}");
        assert_eq!(table["found"].as_boolean().value(at), distance.is_some());
        let paths = table["path"].as_list::<i32>();
        let Some(distance) = distance else {
            assert!(paths.is_null(at));
            n_separate += 1;
            continue;
        };
        let path = paths.value(at);
        let path = path.as_primitive::<UInt64Type>().values();
        assert_eq!(path.len() as u64, distance + 1);
        assert_eq!((path[0], path[path.len() - 1]), (question.from, question.to));
        let steps = path.windows(2);
        assert!(steps.clone().all(|step| question.neighbours(step[0]).contains(&step[1])));
        n_found += 1;
    }
    assert!(n_found > 20 && n_separate > 5, "{n_found} {n_separate}");

    let failed = failures["row"].as_primitive::<UInt64Type>();
    for at in 0..failures.num_rows() {
        let question = &questions[failed.value(at) as usize];
        let is_blocked = |end| question.blocked.contains(&end);
        assert!(is_blocked(question.from) || is_blocked(question.to));
        let message = failures["message"].as_string::<i32>().value(at);
        assert!(message.ends_with("is blocked"), "{message}");
    }

    let schema = table.schema();
    let unit = schema.field_with_name("length").unwrap().metadata().get("unit");
    assert_eq!(unit.map(String::as_str), Some("edges"));
}

fn run(queries: &LatticeQueries, out: &Path) {
    let identity = Identity {
        workload: "lattice".to_owned(),
        settings: BTreeMap::new(),
        inputs: Vec::new(),
        n_problems: queries.n_queries() as u64,
        shard: None,
        version: "0".to_owned(),
        simd: String::new(),
    };
    let output = Output {
        kind: &swathe_lattice_program::KIND,
        out: out.to_owned(),
        resume: false,
        shard: None,
        command: String::new(),
        settings: BTreeMap::new(),
        gives_up: None,
    };
    let settings = Settings { n_threads: 2, ..Settings::default() };
    let (workload, source) = (Arc::new(LatticeWorkload), queries.source());
    let rows = LatticeRows::new(queries.clone());
    execute(
        &Arc::new(AsSolved(workload)),
        &source,
        &settings,
        identity,
        &output,
        rows,
        Box::new(|_| Ok(())),
    )
    .unwrap();
}

fn read(path: &Path) -> RecordBatch {
    let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
    let schema = Arc::clone(builder.schema());
    let batches: Vec<RecordBatch> = builder.build().unwrap().map(Result::unwrap).collect();
    concat_batches(&schema, &batches).unwrap()
}

struct Question {
    sizes: Vec<u64>,
    blocked: HashSet<u64>,
    from: u64,
    to: u64,
}

impl Question {
    /// A plain breadth-first search over coordinates.
    fn distance(&self) -> Option<u64> {
        let mut seen = HashSet::from([self.from]);
        let mut queue = VecDeque::from([(self.from, 0)]);
        while let Some((vertex, distance)) = queue.pop_front() {
            if vertex == self.to {
                return Some(distance);
            }
            for neighbour in self.neighbours(vertex) {
                if seen.insert(neighbour) {
                    queue.push_back((neighbour, distance + 1));
                }
            }
        }
        None
    }

    /// The free neighbours of a vertex.
    fn neighbours(&self, vertex: u64) -> Vec<u64> {
        let mut neighbours = Vec::new();
        let mut stride = 1;
        for &size in self.sizes.iter().rev() {
            let coordinate = vertex / stride % size;
            if coordinate > 0 {
                neighbours.push(vertex - stride);
            }
            if coordinate + 1 < size {
                neighbours.push(vertex + stride);
            }
            stride *= size;
        }
        neighbours.retain(|neighbour| !self.blocked.contains(neighbour));
        neighbours
    }
}

fn questions(n_questions: usize) -> Vec<Question> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut below = |n: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % n
    };
    (0..n_questions)
        .map(|_| {
            let sizes: Vec<u64> = (0..1 + below(3)).map(|_| 2 + below(6)).collect();
            let n_vertices: u64 = sizes.iter().product();
            Question {
                blocked: (0..below(1 + n_vertices / 2)).map(|_| below(n_vertices)).collect(),
                from: below(n_vertices),
                to: below(n_vertices),
                sizes,
            }
        })
        .collect()
}

fn to_csv(questions: &[Question]) -> String {
    let join = |numbers: Vec<String>, separator: &str| numbers.join(separator);
    let mut text = "id,size,from,to,blocked\n".to_owned();
    for (number, question) in questions.iter().enumerate() {
        let sizes = join(question.sizes.iter().map(u64::to_string).collect(), "x");
        let blocked = join(question.blocked.iter().map(u64::to_string).collect(), " ");
        let (from, to) = (question.from, question.to);
        writeln!(text, "q{number},{sizes},{from},{to},{blocked}").unwrap();
    }
    text
}
