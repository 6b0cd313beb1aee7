//! Ranking: which programs are best at a task.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::path::Path;

use super::Ranking;
use super::samples::{numbers_by_name, read_programs, read_sample_names};
use super::tally::tally;
use swathe_run::store::run_folder::FolderError;

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
    /// Demonstrations that it gets right.
    pub n_right: u64,
    /// The sum of its scores over the demonstrations.
    pub score_sum: f64,
    /// Whether it gets all tests right, if there are some and all answers are known.
    pub tests_right: Option<bool>,
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
///
/// # Errors
/// If a table of the run cannot be read.
pub fn ranking(run: &Path) -> Result<Ranking, FolderError> {
    let programs = read_programs(run)?;
    let numbers = numbers_by_name(&programs);
    let mut n_demonstrations: HashMap<String, u64> = HashMap::new();
    for sample in read_sample_names(run)? {
        *n_demonstrations.entry(sample.task).or_default() += u64::from(!sample.is_test);
    }
    let mut ranking = Ranking::new();
    tally(run, &numbers, |calls| {
        let ranked = calls.programs.iter().map(|&number| {
            let (program, mark) = (&programs[number as usize], &calls.marks[number as usize]);
            Ranked {
                program: program.name.clone(),
                number: number as usize,
                n_statements: program.n_statements,
                n_demonstrations: n_demonstrations.get(calls.task).copied().unwrap_or(0),
                n_right: u64::from(mark.n_right),
                score_sum: mark.score_sum,
                tests_right: mark.tests_right(),
            }
        });
        let mut ranked: Vec<Ranked> = ranked.collect();
        ranked.sort_by(|a, b| a.standing().compare(&b.standing()));
        ranking.insert(calls.task.to_owned(), ranked);
    })?;
    Ok(ranking)
}
