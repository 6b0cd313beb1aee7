//! Task input: ARC tasks from folders, from the competition's files and from combined files.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use swathe_arc::{Task, TaskError, TaskJson, grid_from_value};
use swathe_formats::regular_file;

use swathe_run::store::run_folder::InputFile;

/// Tasks that can be used, those that cannot, and the files they came from.
#[derive(Debug, Default)]
pub struct TaskInput {
    /// The tasks, file by file, in the order of their names.
    pub tasks: Vec<Arc<Task>>,
    /// Tasks that were rejected, and why.
    pub rejected: Vec<RejectedTask>,
    /// The files that were read.
    pub files: Vec<InputFile>,
}

/// A task that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("task {name} ({path}): {reason}", path = path.display())]
pub struct RejectedTask {
    /// Its name.
    pub name: String,
    /// The file it is in.
    pub path: PathBuf,
    /// What is wrong with it.
    pub reason: TaskReason,
}

/// What is wrong with a task.
#[derive(Debug, thiserror::Error)]
pub enum TaskReason {
    /// It is not a task.
    #[error(transparent)]
    Malformed(#[from] TaskError),
    /// It has neither demonstrations nor tests.
    #[error("it has no samples")]
    NoSamples,
    /// The answers beside it are for another number of tests.
    #[error("it has {n_tests} tests, and {path} has {n_answers} answers for them", path = path.display())]
    Answers {
        /// The tests of the task.
        n_tests: usize,
        /// The answers in the other file.
        n_answers: usize,
        /// The file of the answers.
        path: PathBuf,
    },
    /// Its file cannot be read.
    #[error("{0}")]
    Unreadable(io::Error),
}

/// Why a path named on the command line cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TaskInputError {
    /// It cannot be read.
    #[error("cannot read {path}: {source}", path = path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// It is a folder without tasks.
    #[error("{path} has no .json files", path = path.display())]
    Empty {
        /// The folder.
        path: PathBuf,
    },
    /// It is a file, but not one of tasks.
    #[error("{path}: {reason}", path = path.display())]
    NotTasks {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Two tasks have one name.
    #[error("two tasks are called '{name}', in {first} and in {second}", first = first.display(), second = second.display())]
    DuplicateName {
        /// The name.
        name: String,
        /// The file with the first.
        first: PathBuf,
        /// The file with the second.
        second: PathBuf,
    },
}

/// Reads all tasks of some paths.
///
/// A path is a folder (each `.json` file in it is a task and has its name), a file `*_challenges.json` of the
/// competition (the tests' answers are taken from `*_solutions.json` beside it, if that is there), a file of one task,
/// or a file of many tasks by name. A malformed task is rejected alone.
///
/// # Errors
/// If a path cannot be read, is not JSON or has no tasks, or if two tasks have one name.
pub fn read_tasks(paths: &[PathBuf]) -> Result<TaskInput, TaskInputError> {
    let mut input = TaskInput::default();
    let mut named: HashMap<String, PathBuf> = HashMap::new();
    for path in paths {
        for (name, file, task) in tasks_at(path, &mut input.files)? {
            if let Some(first) = named.insert(name.clone(), file.clone()) {
                return Err(TaskInputError::DuplicateName { name, first, second: file });
            }
            match task {
                Ok(task) => input.tasks.push(Arc::new(task)),
                Err(reason) => input.rejected.push(RejectedTask { name, path: file, reason }),
            }
        }
    }
    Ok(input)
}

/// A task's name and file, and the task or what is wrong with it.
type Found = (String, PathBuf, Result<Task, TaskReason>);

fn tasks_at(path: &Path, files: &mut Vec<InputFile>) -> Result<Vec<Found>, TaskInputError> {
    let unreadable = |source| TaskInputError::Read { path: path.to_owned(), source };
    if !std::fs::metadata(path).map_err(unreadable)?.is_dir() {
        return tasks_of_file(path, files);
    }
    let mut in_folder: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(path).map_err(unreadable)? {
        let file = entry.map_err(unreadable)?.path();
        if file.extension().is_some_and(|extension| extension == "json") {
            in_folder.push(file);
        }
    }
    if in_folder.is_empty() {
        return Err(TaskInputError::Empty { path: path.to_owned() });
    }
    in_folder.sort();
    let mut found: Vec<Found> = Vec::new();
    for file in in_folder {
        if answers_beside(&file).is_some() {
            found.extend(tasks_of_file(&file, files)?);
        } else if !is_answers(&file) {
            let name = stem(&file);
            let task = match read(&file, files) {
                Ok(bytes) => task_of_bytes(&name, &bytes),
                Err(error) => Err(TaskReason::Unreadable(error)),
            };
            found.push((name, file, task));
        }
    }
    Ok(found)
}

fn stem(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default();
    stem.to_string_lossy().into_owned()
}

/// Reads a file and records it as an input of the run.
fn read(path: &Path, files: &mut Vec<InputFile>) -> io::Result<Vec<u8>> {
    let bytes = regular_file::read(path)?;
    files.push(InputFile::of_bytes(path, &bytes));
    Ok(bytes)
}

fn task_of_bytes(name: &str, bytes: &[u8]) -> Result<Task, TaskReason> {
    with_samples(Task::from_json(name, &String::from_utf8_lossy(bytes))?)
}

fn with_samples(task: Task) -> Result<Task, TaskReason> {
    if task.train.is_empty() && task.test.is_empty() {
        Err(TaskReason::NoSamples)
    } else {
        Ok(task)
    }
}

const CHALLENGES_END: &str = "_challenges";
const SOLUTIONS_END: &str = "_solutions";

/// Where the answers to a file of challenges would be.
fn answers_beside(path: &Path) -> Option<PathBuf> {
    let stem = stem(path);
    let set = stem.strip_suffix(CHALLENGES_END)?;
    Some(path.with_file_name(format!("{set}{SOLUTIONS_END}.json")))
}

/// Whether a file has the answers to a file of challenges beside it.
fn is_answers(path: &Path) -> bool {
    let stem = stem(path);
    stem.strip_suffix(SOLUTIONS_END)
        .is_some_and(|set| path.with_file_name(format!("{set}{CHALLENGES_END}.json")).exists())
}

/// The tasks of one file: one, or many by name.
fn tasks_of_file(path: &Path, files: &mut Vec<InputFile>) -> Result<Vec<Found>, TaskInputError> {
    let json = json_of(path, files)?;
    if json.get("train").is_some() || json.get("test").is_some() {
        let name = stem(path);
        let task = Task::from_value(&name, &json);
        let task = task.map_err(TaskReason::from).and_then(with_samples);
        return Ok(vec![(name, path.to_owned(), task)]);
    }
    let TaskJson::Object(tasks) = json else {
        return Err(not_tasks(path, "it is JSON, but holds no tasks by name"));
    };
    if tasks.is_empty() {
        return Err(not_tasks(path, "it has no tasks"));
    }
    let answers = match answers_beside(path).filter(|answers| answers.exists()) {
        None => None,
        Some(path) => match json_of(&path, files)? {
            answers @ TaskJson::Object(_) => Some((path, answers)),
            _ => return Err(not_tasks(&path, "it is JSON, but holds no answers by name")),
        },
    };
    // Of two tasks with one name the last counts, as in Python.
    let tasks: BTreeMap<String, TaskJson> = tasks.into_iter().collect();
    let found = tasks.into_iter().map(|(name, json)| {
        let mut task = Task::from_value(&name, &json).map_err(TaskReason::from);
        if let (Ok(task), Some((path, answers))) = (&mut task, &answers)
            && let Some(answers) = answers.get(&name)
            && let Err(reason) = add_answers(task, answers, path)
        {
            return (name, path.to_owned(), Err(reason));
        }
        (name, path.to_owned(), task.and_then(with_samples))
    });
    Ok(found.collect())
}

fn not_tasks(path: &Path, reason: &str) -> TaskInputError {
    TaskInputError::NotTasks { path: path.to_owned(), reason: reason.to_owned() }
}

fn json_of(path: &Path, files: &mut Vec<InputFile>) -> Result<TaskJson, TaskInputError> {
    let bytes = read(path, files)
        .map_err(|source| TaskInputError::Read { path: path.to_owned(), source })?;
    serde_json::from_slice(&bytes)
        .map_err(|error| not_tasks(path, &format!("it is not JSON: {error}")))
}

/// Adds the outputs from a file of answers to a task's tests.
fn add_answers(task: &mut Task, answers: &TaskJson, path: &Path) -> Result<(), TaskReason> {
    let answers = match answers {
        TaskJson::List(answers) => answers.as_slice(),
        _ => &[],
    };
    if answers.len() != task.test.len() {
        return Err(TaskReason::Answers {
            n_tests: task.test.len(),
            n_answers: answers.len(),
            path: path.to_owned(),
        });
    }
    for (k, (sample, answer)) in task.test.iter_mut().zip(answers).enumerate() {
        sample.output = Some(grid_from_value(answer, &format!("answer {k}"))?);
    }
    Ok(())
}
