//! The folders that the tools of the public repository tokpidjin read, with their scores in the paths.

use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

use swathe_arc::{Batt, Evaluator, Library, Limits, Order, Program, Sample, Task};
use swathe_run::store::run_folder::{FolderError, write_file};

use super::make_folder;
use super::md5::md5_hex;
use crate::arc_run::{batt_scores, differ_scores, find_differ_rows, read_programs, read_samples};
use crate::differ_parts::DifferRow;

/// As many programs, and differs, of a task are kept.
const N_OF_TASK_MAX: usize = 32;

/// Writes the best programs of each task of a complete run under `solver_dir`, and the differs that rated them under
/// `differ_dir`. Returns how many programs there are.
///
/// A program is kept for a task if it gets a sample right and is one of the 32 best, or if it is the best. Its file is
/// `solver_dir/solve_<task>/<score>/<time class>/<md5>.py`, and the same in `solver_md5`; likewise for differs.
pub(super) fn save(run: &Path, workload: &Batt, to: &Path) -> Result<u64, FolderError> {
    let tasks = read_tasks(run)?;
    let programs = read_programs(run)?;
    let differs = find_differ_rows(run)?.unwrap_or_default();
    let sums = match differs.is_empty() {
        true => HashMap::new(),
        false => differ_scores(run)?,
    };
    let of_input = |row: &&(usize, &DifferRow)| row.1.candidate.is_none();
    let mut n_saved = 0;
    let mut n_differs: HashMap<String, usize> = HashMap::new();
    for score in batt_scores(run, &programs)? {
        let is_kept = score.rank == 1 || score.batt_score > 0;
        if !is_kept || score.rank as usize > N_OF_TASK_MAX {
            continue;
        }
        let program = workload.program(score.program as usize);
        let class = time_class(&program, &tasks[&score.task]);
        let place = |sum: u64| format!("solve_{}/{sum}/{class}", score.task);
        write(to, "solver", &place(score.batt_score), &program.unguarded_definition("solve"))?;
        n_saved += 1;
        let row = &programs[score.program as usize];
        for (number, differ) in differs.iter().enumerate().filter(|d| of_input(&d)) {
            let key = (
                score.task.clone(),
                row.file.clone(),
                Some(row.candidate.clone()),
                differ.differ.clone(),
            );
            let n_of_task = n_differs.entry(score.task.clone()).or_default();
            if let (Some(sum), true) = (sums.get(&key), differ.file == row.file)
                && *n_of_task < N_OF_TASK_MAX
            {
                *n_of_task += 1;
                let text = workload.differ(number).unguarded_definition("differ");
                write(to, "differ", &place(*sum), &text)?;
            }
        }
    }
    Ok(n_saved)
}

/// The tasks of a run, by name.
fn read_tasks(run: &Path) -> Result<HashMap<String, Task>, FolderError> {
    let mut tasks: HashMap<String, Task> = HashMap::new();
    for row in read_samples(run)? {
        let task = tasks.entry(row.task.clone()).or_insert_with(|| Task {
            name: row.task,
            train: Vec::new(),
            test: Vec::new(),
        });
        let samples = match row.is_test {
            true => &mut task.test,
            false => &mut task.train,
        };
        samples.push(Sample { input: row.input, output: row.expected });
    }
    Ok(tasks)
}

fn write(to: &Path, kind: &str, place: &str, definition: &str) -> Result<(), FolderError> {
    let text = format!("from dsl import *\nfrom constants import *\n\n\n{definition}");
    let name = format!("{}.py", md5_hex(&text));
    for folder in [format!("{kind}_md5"), format!("{kind}_dir/{place}")] {
        let folder = to.join(folder);
        make_folder(&folder)?;
        write_file(&folder.join(&name), text.as_bytes())?;
    }
    Ok(())
}

/// 11 less the natural logarithm of the seconds that a program takes on all samples of a task, as `run_batt` has it.
fn time_class(program: &Program, task: &Task) -> i64 {
    let library = Library::new(vec![program.clone()]);
    let started = Instant::now();
    let mut evaluator = Evaluator::new(&library, Order::Cpython, Limits::default());
    evaluator.start_task(&task.train);
    for sample in task.train.iter().chain(&task.test) {
        evaluator.run(sample, |_, _| {});
    }
    class_of(started.elapsed())
}

fn class_of(time: Duration) -> i64 {
    // A logarithm needs more than nothing.
    let seconds = time.max(Duration::from_nanos(1)).as_secs_f64();
    11 - seconds.ln() as i64
}

#[cfg(test)]
mod tests {
    use super::class_of;
    use std::time::Duration;

    #[test]
    fn a_time_class_is_larger_for_faster_programs() {
        for (seconds, class) in [(1.0, 11), (0.5, 11), (0.01, 15), (60.0, 7), (0.0, 31)] {
            assert_eq!(class_of(Duration::from_secs_f64(seconds)), class, "{seconds}");
        }
    }
}
