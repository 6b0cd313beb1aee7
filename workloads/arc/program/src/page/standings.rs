//! Standings: how every task and every program fared.

use serde_json::{Value, json};

use super::cell::{mean_score, solves};
use super::matrix::Matrix;
use super::samples::Samples;
use crate::arc_run::{Mark, TaskCalls};
use crate::arc_run::{ProgramRow, ProgramScore};
use swathe_run::page::significant;
use swathe_run::store::kept_rows::{N_ROWS_MAX, kept};

/// How every task and every program of a run fared, as far as the table has been read.
pub(super) struct Standings<'a> {
    samples: &'a Samples,
    programs: &'a [ProgramRow],
    of_tasks: Vec<OfTask>,
    of_programs: Vec<OfProgram>,
}

#[derive(Clone, Default)]
struct OfTask {
    n_programs: u32,
    n_solved_by: u32,
    best: Option<(u32, Mark)>,
}

#[derive(Clone, Default)]
struct OfProgram {
    n_tasks: u32,
    n_solved: u32,
    n_calls: u64,
    n_ok: u64,
    /// The sum of the mean scores of its tasks.
    score_sum: f64,
}

impl<'a> Standings<'a> {
    /// How many of the best programs are shown with a task.
    const N_BEST: usize = 3;

    pub(super) fn new(samples: &'a Samples, programs: &'a [ProgramRow]) -> Standings<'a> {
        Standings {
            samples,
            programs,
            of_tasks: vec![OfTask::default(); samples.tasks.len()],
            of_programs: vec![OfProgram::default(); programs.len()],
        }
    }

    /// Adds a task and returns the programs that are best at it, the best first.
    pub(super) fn add(&mut self, number: usize, calls: &TaskCalls<'_>) -> Vec<u32> {
        let n_demonstrations = self.samples.tasks[number].n_demonstrations;
        let of_task = &mut self.of_tasks[number];
        for &program in calls.programs {
            let mark = &calls.marks[program as usize];
            let is_solved = solves(mark, n_demonstrations);
            of_task.n_programs += 1;
            of_task.n_solved_by += u32::from(is_solved);
            let of_program = &mut self.of_programs[program as usize];
            of_program.n_tasks += 1;
            of_program.n_solved += u32::from(is_solved);
            of_program.n_calls += u64::from(mark.n_calls);
            of_program.n_ok += u64::from(mark.n_ok);
            of_program.score_sum += mean_score(mark, n_demonstrations);
        }
        let standing = |program: u32| {
            let (mark, row) = (&calls.marks[program as usize], &self.programs[program as usize]);
            ProgramScore {
                n_right: u64::from(mark.n_right),
                score_sum: mark.score_sum,
                n_statements: row.n_statements,
                program: &row.name,
            }
        };
        let mut best: Vec<u32> = Vec::with_capacity(Self::N_BEST + 1);
        for &program in calls.programs {
            let own = standing(program);
            let place = best.partition_point(|&other| standing(other).compare(&own).is_le());
            if place < Self::N_BEST {
                best.insert(place, program);
                best.truncate(Self::N_BEST);
            }
        }
        of_task.best = best.first().map(|&program| (program, calls.marks[program as usize]));
        best
    }

    /// Whether every program ran on a task of its own: then a matrix would be a diagonal.
    pub(super) fn is_one_to_one(&self) -> bool {
        self.programs.len() > 1 && self.of_tasks.iter().all(|task| task.n_programs <= 1)
    }

    /// An empty matrix of the programs that solve most, and of the tasks that most programs solve.
    pub(super) fn matrix_of_best(&self) -> Matrix {
        let mut tasks: Vec<usize> = (0..self.of_tasks.len()).collect();
        tasks.sort_by_key(|&task| std::cmp::Reverse(self.of_tasks[task].n_solved_by));
        tasks.truncate(Matrix::SIDE_MAX);
        tasks.sort_unstable();
        let mut programs = self.programs_by_rank();
        programs.truncate(Matrix::SIDE_MAX);
        programs.sort_unstable();
        Matrix::of(tasks, programs, self.of_tasks.len())
    }

    /// The programs by tasks solved, then by mean score.
    fn programs_by_rank(&self) -> Vec<usize> {
        let mut programs: Vec<usize> = (0..self.of_programs.len()).collect();
        programs.sort_by(|&a, &b| {
            let (a, b) = (&self.of_programs[a], &self.of_programs[b]);
            (b.n_solved.cmp(&a.n_solved)).then(b.score_sum.total_cmp(&a.score_sum))
        });
        programs
    }

    /// A row for each task, as columns.
    pub(super) fn tasks_json(&self) -> Value {
        let n_tasks = self.of_tasks.len();
        let unsolved = (0..n_tasks).filter(|&task| self.of_tasks[task].n_solved_by == 0);
        let rows = kept(n_tasks, N_ROWS_MAX, unsolved);
        let column = |value: &dyn Fn(usize) -> Value| -> Vec<Value> {
            rows.iter().map(|&task| value(task)).collect()
        };
        let best = |task: usize| self.of_tasks[task].best.as_ref();
        json!({
            "n": n_tasks,
            "n_fit": self.of_tasks.iter().filter(|task| task.n_solved_by > 0).count(),
            "n_tested": self.of_tasks.iter().filter(|task| task.tests_right().is_some()).count(),
            "n_solved": self.of_tasks.iter().filter(|task| task.is_solved()).count(),
            "name": column(&|task| json!(self.samples.tasks[task].name)),
            "n_demonstrations": column(&|task| json!(self.samples.tasks[task].n_demonstrations)),
            "n_tests": column(&|task| json!(self.samples.tasks[task].n_tests)),
            "n_solved_by": column(&|task| json!(self.of_tasks[task].n_solved_by)),
            "best": column(&|task| {
                json!(best(task).map(|(program, _)| &self.programs[*program as usize].name))
            }),
            "best_score": column(&|task| {
                let n_demonstrations = self.samples.tasks[task].n_demonstrations;
                json!(best(task).map(|(_, mark)| significant(mean_score(mark, n_demonstrations))))
            }),
            "n_tests_right": column(&|task| {
                let known = best(task).filter(|(_, mark)| mark.n_tests_known > 0);
                json!(known.map(|(_, mark)| mark.n_tests_right))
            }),
            "ms": column(&|task| json!(self.samples.tasks[task].ms.map(significant))),
        })
    }

    /// A row for each program, as columns.
    pub(super) fn programs_json(&self) -> Value {
        let rows = kept(self.programs.len(), N_ROWS_MAX, self.programs_by_rank());
        let column = |value: &dyn Fn(usize) -> Value| -> Vec<Value> {
            rows.iter().map(|&program| value(program)).collect()
        };
        let of = |program: usize| &self.of_programs[program];
        json!({
            "n": self.programs.len(),
            "n_solving": self.of_programs.iter().filter(|program| program.n_solved > 0).count(),
            "name": column(&|program| json!(self.programs[program].name)),
            "line": column(&|program| json!(self.programs[program].line)),
            "n_statements": column(&|program| json!(self.programs[program].n_statements)),
            "n_tasks": column(&|program| json!(of(program).n_tasks)),
            "n_solved": column(&|program| json!(of(program).n_solved)),
            "mean_score": column(&|program| {
                let n_tasks = f64::from(of(program).n_tasks.max(1));
                json!(significant(of(program).score_sum / n_tasks))
            }),
            "n_calls": column(&|program| json!(of(program).n_calls)),
            "n_no_output": column(&|program| json!(of(program).n_calls - of(program).n_ok)),
        })
    }
}

impl OfTask {
    /// Whether the best program gets the tests right, if that is known.
    fn tests_right(&self) -> Option<bool> {
        self.best.as_ref().and_then(|(_, mark)| mark.tests_right())
    }

    /// Whether the best program gets the demonstrations and the tests right.
    fn is_solved(&self) -> bool {
        self.n_solved_by > 0 && self.tests_right() == Some(true)
    }
}
