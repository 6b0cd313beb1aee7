//! Ranking: which programs are best at a task.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::path::Path;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::Float64Type;

use super::Ranking;
use super::samples::{read_programs, read_samples};
use super::words::Words;
use crate::arc_table::RESULTS;
use swathe_run::store::run_folder::FolderError;
use swathe_run::store::table_reader::TableReader;

/// How a program did at the demonstrations of one task.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranked {
    /// Its name.
    pub program: String,
    /// Its number in the run.
    pub number: usize,
    /// Its length.
    pub n_statements: u64,
    /// Demonstrations of the task.
    pub n_demonstrations: u64,
    /// Those it gets right.
    pub n_right: u64,
    /// The sum of its scores over them.
    pub score_sum: f64,
}

impl Ranked {
    /// Whether it gets all demonstrations right, and there are some.
    pub fn solves(&self) -> bool {
        self.n_right == self.n_demonstrations && self.n_right > 0
    }

    /// Its mean score over the demonstrations; 0 where there are none.
    pub fn mean_score(&self) -> f64 {
        self.score_sum / self.n_demonstrations.max(1) as f64
    }

    fn standing(&self) -> ProgramScore<'_> {
        ProgramScore {
            n_right: self.n_right,
            score_sum: self.score_sum,
            n_statements: self.n_statements,
            program: &self.program,
        }
    }
}

/// What a program's rank at a task depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProgramScore<'a> {
    pub(crate) n_right: u64,
    pub(crate) score_sum: f64,
    pub(crate) n_statements: u64,
    pub(crate) program: &'a str,
}

impl ProgramScore<'_> {
    /// The better one is less: demonstrations solved, mean score, fewer statements, name.
    pub(crate) fn compare(&self, other: &ProgramScore<'_>) -> Ordering {
        (other.n_right.cmp(&self.n_right))
            .then(other.score_sum.total_cmp(&self.score_sum))
            .then(self.n_statements.cmp(&other.n_statements))
            .then_with(|| self.program.cmp(other.program))
    }
}

/// Ranks the programs that ran on each task of a complete run, the best first.
pub fn ranking(run: &Path) -> Result<Ranking, FolderError> {
    let programs = read_programs(run)?;
    let numbers: HashMap<&str, usize> = programs
        .iter()
        .enumerate()
        .map(|(number, program)| (program.name.as_str(), number))
        .collect();
    let mut n_demonstrations: HashMap<String, u64> = HashMap::new();
    for sample in read_samples(run)? {
        *n_demonstrations.entry(sample.task).or_default() += u64::from(!sample.is_test);
    }
    let mut ranking = Ranking::new();
    let mut tally = Tally {
        task: None,
        marks: vec![None; programs.len()],
    };
    let columns = ["program", "task", "split", "equal", "score"];
    let mut close = |task: &str, marks: Vec<(usize, Mark)>| {
        let ranked = marks.into_iter().map(|(number, mark)| Ranked {
            program: programs[number].name.clone(),
            number,
            n_statements: programs[number].n_statements,
            n_demonstrations: n_demonstrations.get(task).copied().unwrap_or(0),
            n_right: mark.n_right,
            score_sum: mark.score_sum,
        });
        let mut ranked: Vec<Ranked> = ranked.collect();
        ranked.sort_by(|a, b| a.standing().compare(&b.standing()));
        ranking.insert(task.to_owned(), ranked);
    };
    let table = TableReader::of_run(run, RESULTS)?.columns(&columns);
    table.for_each(|batch| tally.add(batch, &numbers, &mut close))?;
    if let Some(task) = tally.task.take() {
        close(&task, tally.take_marks());
    }
    Ok(ranking)
}

#[derive(Clone, Copy, Default)]
struct Mark {
    n_right: u64,
    score_sum: f64,
}

/// The marks of the task whose rows are being read; tasks stand together.
struct Tally {
    task: Option<String>,
    /// Of each program that ran on it, by its number.
    marks: Vec<Option<Mark>>,
}

impl Tally {
    fn take_marks(&mut self) -> Vec<(usize, Mark)> {
        let marks = self.marks.iter_mut().enumerate();
        marks
            .filter_map(|(number, mark)| Some((number, mark.take()?)))
            .collect()
    }

    fn add(
        &mut self,
        batch: &RecordBatch,
        numbers: &HashMap<&str, usize>,
        close: &mut impl FnMut(&str, Vec<(usize, Mark)>),
    ) -> Result<(), String> {
        let column = |name: &str| {
            let found = batch.column_by_name(name);
            found.ok_or_else(|| format!("it has no column {name}"))
        };
        let [program, task, split] = [
            Words::of(batch, "program")?,
            Words::of(batch, "task")?,
            Words::of(batch, "split")?,
        ];
        let program_numbers = program
            .words()
            .map(|name| {
                let number = name.and_then(|name| numbers.get(name));
                number
                    .copied()
                    .ok_or_else(|| format!("it has a program {name:?} that was not run"))
            })
            .collect::<Vec<_>>();
        let is_train: Vec<bool> = split.words().map(|word| word == Some("train")).collect();
        let equal = column("equal")?.as_boolean();
        let score = column("score")?.as_primitive::<Float64Type>();
        for at in 0..batch.num_rows() {
            if at == 0 || task.key(at) != task.key(at - 1) {
                let name = task.word(at);
                if self.task.as_deref() != Some(name) {
                    if let Some(task) = self.task.take() {
                        close(&task, self.take_marks());
                    }
                    self.task = Some(name.to_owned());
                }
            }
            let number = match &program_numbers[program.key(at)] {
                Ok(number) => *number,
                Err(reason) => return Err(reason.clone()),
            };
            let mark = self.marks[number].get_or_insert_default();
            if is_train[split.key(at)] {
                mark.n_right += u64::from(equal.is_valid(at) && equal.value(at));
                mark.score_sum += if score.is_valid(at) {
                    score.value(at)
                } else {
                    0.0
                };
            }
        }
        Ok(())
    }
}
