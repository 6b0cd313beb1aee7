//! Grid programs as a workload of the engine.

use crate::evaluate::large_calls::LargeCalls;
use crate::evaluate::library::Library;
use crate::evaluate::meter::{Limits, Order};
use crate::evaluate::profile::{Profile, StatementTime};
use crate::evaluate::score::{Score, score};
use crate::evaluate::{Evaluator, Inputs, VALUE_BYTES, Values};
use crate::task::{Sample, Task};
use crate::value::Value;
use crate::value::encode::Output;
use crate::value::fault::Fault;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::{ControlFlow, Range};
use std::sync::{Arc, Mutex, PoisonError};
use swathe::{DeviceKind, Difference, Need, Shape, Size, Stop, Workload};

/// Grid programs as a workload of the engine: a problem is one sample, and its solution is the outcome of every
/// program.
///
/// ```
/// use std::sync::{Arc, Mutex, PoisonError};
/// use swathe::Stop;
/// use swathe_arc::{GridPrograms, Library, Problem, Task, TaskError, parse};
///
/// let library = Library::new(parse("mine.py", "def turn(I):\n    return rot90(I)\n").programs);
/// let task = r#"{"train": [{"input": [[1, 2]], "output": [[1], [2]]}], "test": []}"#;
/// let problems = Problem::all(&Arc::new(Task::from_json("turn", task)?));
/// let outcomes = swathe::solve_slice(&GridPrograms::new(library), &problems, 1, &Stop::new());
/// let calls = outcomes[0].solution().unwrap();
/// let output = calls[0].output.as_ref().unwrap();
/// assert_eq!(output.text.as_deref(), Some(r#"{"grid":[[1],[2]]}"#));
/// assert!(calls[0].score.unwrap().equal);
/// # Ok::<(), TaskError>(())
/// ```
#[derive(Debug)]
pub struct GridPrograms {
    library: Library,
    /// The numbers of the programs, sorted by name.
    by_name: Vec<u32>,
    /// Which programs run on which task.
    pub pairing: Pairing,
    /// The order of sets.
    pub order: Order,
    /// What one call may use.
    pub limits: Limits,
    /// Outputs whose encoding is longer keep only their length and hash.
    pub output_bytes_max: usize,
    /// A thread keeps about this many bytes of values for later programs of a sample. A sample whose programs need more
    /// is evaluated in several groups of programs; what they share is then evaluated again, with the same results.
    pub kept_bytes_max: u64,
    large_calls: Arc<LargeCalls>,
    aside_bytes: u64,
    profile: Option<Mutex<Profile>>,
}

/// Which programs run on which task.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Pairing {
    /// Every program on every task.
    #[default]
    All,
    /// The program `solve_<task>` on the task of that name.
    Own,
}

/// One sample of a task.
#[derive(Clone, Debug)]
pub struct Problem {
    /// The task, shared by its samples.
    pub task: Arc<Task>,
    /// Whether the sample is a test, not a demonstration.
    pub is_test: bool,
    /// Its number among the demonstrations or the tests.
    pub index: usize,
}

/// What one program made of one sample.
#[derive(Clone, PartialEq, Debug)]
pub struct Call {
    /// The program's number in the library.
    pub program: usize,
    /// The output, encoded, or why there is none. Equal outputs share their text.
    pub output: Result<Output, Fault>,
    /// How the output compares with the expected one; None if that is not known or there is no output.
    pub score: Option<Score>,
}

/// The run was stopped before the sample was done; there is no solution.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("stopped")]
pub struct Stopped;

/// The memory of the caches of a thread: sets that recur on every sample, and tables for ordering sets. Measured: 20 MB
/// after 1,718 samples.
const CACHE_BYTES: u64 = 22 << 20;

/// The memory of this many values that are kept for later programs, of which about `kept_bytes_max` are kept. Measured
/// with 400 to 40,000 programs: values are hardly larger than their headers on small grids, and half as large again as
/// what is charged for them where programs read the order of large sets.
fn values_bytes(n_values: u64, n_cells: u64, kept_bytes_max: u64) -> u64 {
    let value_bytes = VALUE_BYTES + 14 * n_cells.saturating_sub(49);
    (n_values * value_bytes).min(kept_bytes_max.saturating_add(kept_bytes_max / 2))
}

/// The working memory of the most demanding of this many statements: a set of pairs of cells, or a part of one. The more
/// statements, the likelier is one that takes them all.
fn statement_bytes(n_statements: u64, n_cells: u64) -> u64 {
    (1 << 20) + n_statements.clamp(500, 4000) * n_cells * n_cells / 200
}

/// The memory of the texts of this many distinct outputs. Some are long; many are equal.
fn texts_bytes(n_outputs: u64, n_cells: u64) -> u64 {
    (192 << 10) + n_outputs * (64 + 3 * n_cells / 2)
}

/// The memory in which distinct outputs are found again, for each.
const KNOWN_BYTES: u64 = 64;

impl GridPrograms {
    /// All programs of the library, in CPython's set order and with the usual limits.
    pub fn new(library: Library) -> GridPrograms {
        let mut by_name: Vec<u32> = (0..library.len() as u32).collect();
        by_name.sort_by_key(|&program| library.name(program as usize));
        GridPrograms {
            library,
            by_name,
            pairing: Pairing::default(),
            order: Order::default(),
            limits: Limits::default(),
            output_bytes_max: Self::OUTPUT_BYTES_MAX,
            kept_bytes_max: Self::KEPT_BYTES_MAX,
            large_calls: Arc::new(LargeCalls::new(u64::MAX)),
            aside_bytes: 0,
            profile: None,
        }
    }

    /// Prepares for so many threads in a memory of `n_bytes`; the limits of calls must be set before.
    ///
    /// A quarter of the memory, or less if that is enough for all threads, is set aside for calls that build much, and
    /// is then a part of [`shared_bytes`](GridPrograms::shared_bytes). These calls wait for each other. One call alone
    /// may build what its limit allows, even if that is more. Little memory also means that fewer values are kept for
    /// later programs.
    pub fn fit(&mut self, n_bytes: u64, n_threads: usize) {
        self.kept_bytes_max = (n_bytes / 32).clamp(1 << 20, Self::KEPT_BYTES_MAX);
        let call_bytes = self.limits.bytes_max;
        // What a call builds takes about twice what is charged for it.
        let aside_bytes = (n_bytes / 4).min(call_bytes.saturating_mul(2 * n_threads as u64));
        let beside_bytes = (aside_bytes / 2).saturating_sub(call_bytes);
        self.large_calls = Arc::new(LargeCalls::new(beside_bytes.max(aside_bytes / 8)));
        self.aside_bytes = aside_bytes;
    }

    /// From now on, records how long each statement takes.
    pub fn start_profile(&mut self) {
        self.profile = Some(Mutex::new(Profile::new(self.library.n_nodes())));
    }

    /// What the statements took on all samples since the profile was started, the slowest first.
    pub fn profile(&self) -> Vec<StatementTime> {
        let Some(profile) = &self.profile else {
            return Vec::new();
        };
        let profile = profile.lock().unwrap_or_else(PoisonError::into_inner);
        profile.statements(&self.library)
    }

    /// The default of `output_bytes_max`.
    pub const OUTPUT_BYTES_MAX: usize = 64 << 10;

    /// The default of `kept_bytes_max`.
    pub const KEPT_BYTES_MAX: u64 = 32 << 20;

    /// The numbers of the programs that run on a task.
    pub fn programs_for(&self, task: &str) -> Range<usize> {
        match self.pairing {
            Pairing::All => 0..self.library.len(),
            Pairing::Own => {
                let wanted = format!("solve_{task}");
                let name = |&program: &u32| self.library.name(program as usize);
                match (self.by_name).binary_search_by_key(&wanted.as_str(), name) {
                    Ok(at) => {
                        let program = self.by_name[at] as usize;
                        program..program + 1
                    }
                    Err(_) => 0..0,
                }
            }
        }
    }

    /// The programs.
    pub fn library(&self) -> &Library {
        &self.library
    }

    /// The memory that threads share as long as the workload lives: the programs, and what is set aside for calls that
    /// build much.
    pub fn shared_bytes(&self) -> u64 {
        let by_name_bytes = (self.by_name.capacity() * size_of::<u32>()) as u64;
        self.library.n_bytes() + by_name_bytes + self.aside_bytes
    }

    /// An evaluator with the values that a worker has kept, at a sample of this task.
    pub(crate) fn evaluator(
        &self,
        kept: &mut KeptValues,
        task: &Arc<Task>,
        stop: &Stop,
    ) -> Evaluator<'_> {
        let mut evaluator = kept.evaluator(&self.library, self.order, self.limits, task);
        evaluator.keep_at_most(self.kept_bytes_max);
        evaluator.share(&self.large_calls);
        evaluator.watch(stop);
        evaluator
    }

    /// Runs these programs, given in ascending order, on a sample.
    pub(crate) fn run_on(
        &self,
        problem: &Problem,
        inputs: Inputs<'_>,
        programs: impl IntoIterator<Item = usize>,
        kept: &mut KeptValues,
        stop: &Stop,
        mut done: impl FnMut(usize, Result<&Value, &Fault>),
    ) -> Result<(), Stopped> {
        let mut evaluator = self.evaluator(kept, &problem.task, stop);
        if self.profile.is_some() {
            evaluator.start_profile();
        }
        let finished = evaluator.run_while(inputs, programs, |program, result| {
            done(program, result);
            if stop.requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        if let (Some(all), Some(own)) = (&self.profile, evaluator.take_profile()) {
            for (name, n_calls, time) in own.by_primitive(&self.library) {
                swathe::record_time(name, n_calls, time);
            }
            let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
            all.merge(&own);
        }
        // After a stop, a kept value may be a false timeout.
        if !stop.requested() {
            kept.keep(&problem.task, evaluator);
        }
        if finished.is_break() { Err(Stopped) } else { Ok(()) }
    }
}

/// The calls of one sample, as their results arrive.
pub(crate) struct CallCollector<'a> {
    of: &'a GridPrograms,
    sample: &'a Sample,
    pub(crate) calls: Vec<Call>,
    /// Programs that end in the same node have the same output: its text and score are made once.
    known: HashMap<u32, u32>,
    /// Different nodes may still have equal outputs, which then share their text.
    texts: HashMap<u128, Arc<str>>,
}

impl<'a> CallCollector<'a> {
    pub(crate) fn new(
        of: &'a GridPrograms,
        sample: &'a Sample,
        n_calls: usize,
    ) -> CallCollector<'a> {
        CallCollector {
            of,
            sample,
            calls: Vec::with_capacity(n_calls),
            known: HashMap::new(),
            texts: HashMap::new(),
        }
    }

    pub(crate) fn push(&mut self, program: usize, result: Result<&Value, &Fault>) {
        let (output, score) = match result {
            Err(fault) => (Err(*fault), None),
            Ok(value) => {
                let node = self.of.library.output_node(program) as u32;
                let number = *self.known.entry(node).or_insert(self.calls.len() as u32);
                match self.calls.get(number as usize) {
                    Some(call) => (call.output.clone(), call.score),
                    None => {
                        let wanted = self.sample.output.as_ref();
                        let score = wanted.map(|wanted| score(value, wanted));
                        let mut output = Output::of(value, self.of.output_bytes_max);
                        if let Some(text) = &mut output.text {
                            let same = self.texts.entry(output.hash).or_insert(Arc::clone(text));
                            *text = Arc::clone(same);
                        }
                        (Ok(output), score)
                    }
                }
            }
        };
        self.calls.push(Call { program, output, score });
    }
}

impl Problem {
    /// All samples of a task, demonstrations first.
    pub fn all(task: &Arc<Task>) -> Vec<Problem> {
        let split = |is_test: bool, n: usize| {
            (0..n).map(move |index| Problem { task: Arc::clone(task), is_test, index })
        };
        split(false, task.train.len()).chain(split(true, task.test.len())).collect()
    }

    /// The sample.
    ///
    /// # Panics
    /// If the task has no sample of this number.
    pub fn sample(&self) -> &Sample {
        let samples = if self.is_test { &self.task.test } else { &self.task.train };
        &samples[self.index]
    }
}

/// Values that a worker keeps from one sample to the next: the constants of the library, and values that depend only on
/// the demonstrations of the last task. The engine keeps the samples of a task together.
#[derive(Default)]
pub struct KeptValues(Option<(Arc<Task>, Values)>);

impl KeptValues {
    /// An evaluator with the values that were kept, at a sample of this task.
    fn evaluator<'a>(
        &mut self,
        library: &'a Library,
        order: Order,
        limits: Limits,
        task: &Arc<Task>,
    ) -> Evaluator<'a> {
        let before = self.0.take();
        let is_same_task = matches!(&before, Some((of, _)) if Arc::ptr_eq(of, task));
        let mut evaluator = match before {
            Some((_, values)) => Evaluator::with_values(library, order, limits, values),
            None => Evaluator::new(library, order, limits),
        };
        if !is_same_task {
            evaluator.start_task(&task.train);
        }
        evaluator
    }

    /// Keeps an evaluator's values for the next sample.
    pub(crate) fn keep(&mut self, task: &Arc<Task>, evaluator: Evaluator<'_>) {
        self.0 = Some((Arc::clone(task), evaluator.into_values()));
    }
}

impl Workload for GridPrograms {
    type Problem = Problem;
    type Solution = Vec<Call>;
    type Failure = Stopped;
    type Scratch = ();
    // Values are counted by `Rc` and cannot move to another thread.
    type Local = KeptValues;
    const NAME: &'static str = "arc";

    fn size(&self, problem: &Problem) -> Size {
        let input = &problem.sample().input;
        let mut size = Size::of(Shape::new(&[input.height() as u32, input.width() as u32]));
        if self.library.schedule().samples_node.is_some() {
            // Values that depend on the demonstrations alone are kept from one sample of a task to the next.
            let mut hasher = DefaultHasher::new();
            problem.task.name.hash(&mut hasher);
            size.affinity = hasher.finish();
        }
        size
    }

    fn need(&self, size: &Size, _on: DeviceKind) -> Need {
        let schedule = self.library.schedule();
        let counts = match self.pairing {
            Pairing::All => [
                self.library.len(),
                schedule.n_of_samples(),
                schedule.n_live_max,
                schedule.n_outputs,
            ],
            Pairing::Own => [1, schedule.n_steps_max, schedule.n_steps_max, 1],
        };
        let [n_programs, n_statements, n_live, n_outputs] = counts.map(|n| n as u64);
        let n_cells = size.shape.volume();
        Need {
            lane_bytes: 2 * n_cells,
            // Values that would take more are evaluated again for each of several groups of programs.
            scratch_bytes: values_bytes(n_live, n_cells, self.kept_bytes_max)
                + statement_bytes(n_statements, n_cells)
                + n_outputs * KNOWN_BYTES,
            solution_bytes: n_programs * size_of::<Call>() as u64 + texts_bytes(n_outputs, n_cells),
        }
    }

    fn scratch(&self) {}

    fn local(&self) -> KeptValues {
        KeptValues::default()
    }

    fn local_bytes(&self) -> u64 {
        let schedule = self.library.schedule();
        let lasting_bytes = (schedule.n_lasting as u64 * VALUE_BYTES).min(self.kept_bytes_max);
        CACHE_BYTES + Values::n_bytes(&self.library) + lasting_bytes
    }

    fn solve(
        &self,
        problem: &Problem,
        _: &mut (),
        kept: &mut KeptValues,
        stop: &Stop,
    ) -> Result<Vec<Call>, Stopped> {
        let sample = problem.sample();
        let programs = self.programs_for(&problem.task.name);
        let mut calls = CallCollector::new(self, sample, programs.len());
        let inputs = Inputs::from(sample);
        self.run_on(problem, inputs, programs, kept, stop, |program, result| {
            calls.push(program, result);
        })?;
        Ok(calls.calls)
    }

    fn can_compare(&self) -> bool {
        true
    }

    fn agree(
        &self,
        reference: &Vec<Call>,
        other: &Vec<Call>,
        _on: DeviceKind,
    ) -> Result<(), Difference> {
        let shown = |call: Option<&Call>| match call.map(|c| &c.output) {
            Some(Ok(output)) => match &output.text {
                Some(text) => text.to_string(),
                None => format!("{} bytes of hash {:032x}", output.n_bytes, output.hash),
            },
            Some(Err(fault)) => fault.name().to_string(),
            None => "missing".to_string(),
        };
        for k in 0..reference.len().max(other.len()) {
            let (expected, found) = (reference.get(k), other.get(k));
            if expected != found {
                // Calls carry their program: which ones there are depends on the pairing.
                let program = expected.or(found).map(|call| call.program);
                let name = program.and_then(|program| self.library.names().nth(program));
                return Err(Difference {
                    field: format!("output of {}", name.unwrap_or("no program")),
                    expected: shown(expected),
                    found: shown(found),
                });
            }
        }
        Ok(())
    }
}
