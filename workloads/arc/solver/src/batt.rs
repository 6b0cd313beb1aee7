//! Programs and differs as one workload of the engine: what the functions `batt` of generated files do with a sample.

use crate::evaluate::Inputs;
use crate::evaluate::library::Library;
use crate::evaluate::profile::StatementTime;
use crate::language::program::{Callee, Constant, Operand, Program};
use crate::value::Value;
use crate::value::encode::Output;
use crate::value::fault::Fault;
use crate::workload::{Call, CallCollector, GridPrograms, KeptValues, Pairing, Problem, Stopped};
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::ops::Range;
use swathe::{DeviceKind, Difference, Need, Size, Stop, Workload};

/// Programs with differs as a workload: a problem is one sample, and its solution has the outcome of every program and
/// a [`DifferCall`] for every differ.
///
/// Programs run without the expected output (`C` is None). A differ is evaluated twice, without the expected output and
/// with it. All is one evaluation, so that differs share the statements of the programs whose outputs they read.
///
/// ```
/// use std::sync::Arc;
/// use swathe::Stop;
/// use swathe_arc::{Batt, GridPrograms, Problem, Task, parse};
/// let text = "
/// def batt(task_id, S, I, C, log_path):
///     s = []
///     o = []
///     t1 = equality(I, C)
///     t2 = branch(t1, THOUSAND, ZERO)
///     t3 = astuple(t2, t1)
///     s.append((3, 'None', 'differ_same', t3))
///     t4 = identity(C)
///     o.append((4, False, 'cheat', t4))
///     return o, s
/// ";
/// let parsed = parse("batt.py", text);
/// let batt = Batt::new(parsed.programs, &parsed.differs, |library| GridPrograms::new(library));
/// let task = r#"{"train": [{"input": [[1]], "output": [[1]]}], "test": [{"input": [[2]]}]}"#;
/// let problems = Problem::all(&Arc::new(Task::from_json("mine", task)?));
/// let outcomes = swathe::solve_slice(&batt, &problems, 1, &Stop::new());
/// let solution = outcomes[0].solution().unwrap();
/// let call = &solution.differs[0];
/// assert_eq!((call.without.score, call.with.as_ref().unwrap().score), (Some(0), Some(1000)));
/// // A program cannot return the answer.
/// assert!(!solution.calls[0].score.unwrap().equal);
/// // The answer of the test is not known.
/// assert!(outcomes[1].solution().unwrap().differs[0].with.is_none());
/// # Ok::<(), swathe_arc::TaskError>(())
/// ```
#[derive(Debug)]
pub struct Batt {
    /// The programs, the differs without the expected output, and the differs with it.
    programs: GridPrograms,
    n_programs: usize,
    n_differs: usize,
    /// Whether differs see the answers of tests, where they are known. They must not if a submission is made.
    pub shows_tests: bool,
    /// Whether samples of different tasks never share a batch.
    pub batches_within_task: bool,
    /// Samples of which the results of most programs and differs are known.
    known: HashSet<SampleKey>,
    /// The programs and differs that still run on them.
    left: ToRun,
}

/// The numbers of programs and differs that run on a sample, ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToRun {
    /// Programs.
    pub programs: Vec<usize>,
    /// Differs.
    pub differs: Vec<usize>,
}

/// A sample: the task's name, whether it is a test, and its number.
pub type SampleKey = (String, bool, usize);

/// What the programs and the differs make of one sample.
#[derive(Clone, PartialEq, Debug)]
pub struct BattCalls {
    /// A call for every program that runs on the task.
    pub calls: Vec<Call>,
    /// A call for every differ that runs, in their order.
    pub differs: Vec<DifferCall>,
}

/// What one differ says about one sample.
#[derive(Clone, PartialEq, Debug)]
pub struct DifferCall {
    /// The differ's number.
    pub differ: usize,
    /// With C = None.
    pub without: Rating,
    /// With C = the expected output; None if that is not known, or not shown.
    pub with: Option<Rating>,
}

/// The value of a differ.
#[derive(Clone, PartialEq, Debug)]
pub struct Rating {
    /// The value, encoded, or why there is none.
    pub output: Result<Output, Fault>,
    /// The first of at least two items of the value, if it is an integer, cut to 0 to 1000; None for any other value.
    pub score: Option<u16>,
}

impl Rating {
    fn of(result: Result<&Value, &Fault>, n_bytes_max: usize) -> Rating {
        let score = result.ok().and_then(|value| {
            let has_two = value.tuple_len().is_some_and(|n| n >= 2);
            match has_two.then(|| value.tuple_item(0))? {
                Value::Int(n) => Some(n.clamp(0, 1000) as u16),
                _ => None,
            }
        });
        Rating {
            output: result.map(|value| Output::of(value, n_bytes_max)).map_err(|fault| *fault),
            score,
        }
    }
}

impl Batt {
    /// Programs and differs, evaluated with the settings of the workload that `made` makes of a library.
    pub fn new(
        programs: Vec<Program>,
        differs: &[Program],
        made: impl FnOnce(Library) -> GridPrograms,
    ) -> Batt {
        let n_programs = programs.len();
        let without = programs.into_iter().chain(differs.iter().cloned());
        let all = without.map(without_expected).chain(differs.iter().cloned());
        Batt {
            programs: made(Library::new(all)),
            n_programs,
            n_differs: differs.len(),
            shows_tests: true,
            batches_within_task: false,
            known: HashSet::new(),
            left: ToRun::default(),
        }
    }

    /// From now on, only these programs and differs run on these samples: the results of the others are known from
    /// elsewhere, and solutions are without them.
    pub fn run_only(&mut self, left: ToRun, samples: HashSet<SampleKey>) {
        (self.known, self.left) = (samples, left);
    }

    /// What runs on a sample.
    fn to_run(&self, problem: &Problem) -> ToRun {
        let key = (problem.task.name.clone(), problem.is_test, problem.index);
        match self.known.contains(&key) {
            true => self.left.clone(),
            false => ToRun {
                programs: self.programs_for(&problem.task.name).collect(),
                differs: (0..self.n_differs).collect(),
            },
        }
    }

    /// The numbers of the programs that run on a task.
    pub fn programs_for(&self, task: &str) -> Range<usize> {
        match self.programs.pairing {
            Pairing::All => 0..self.n_programs,
            Pairing::Own => self.programs.programs_for(task),
        }
    }

    /// The memory of the programs, as [`GridPrograms::shared_bytes`].
    pub fn shared_bytes(&self) -> u64 {
        self.programs.shared_bytes()
    }

    /// The programs' names in the order they were given.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.programs.library().names().take(self.n_programs)
    }

    /// A program, minimised, without the expected output.
    ///
    /// # Panics
    /// If there is no program of this number.
    pub fn program(&self, number: usize) -> Program {
        assert!(number < self.n_programs, "there is no program {number}");
        self.programs.library().program(number)
    }

    /// A differ, minimised.
    ///
    /// # Panics
    /// If there is no differ of this number.
    pub fn differ(&self, number: usize) -> Program {
        let first = self.n_programs + self.n_differs;
        self.programs.library().program(first + number)
    }

    /// What statements took, as [`GridPrograms::profile`] says it.
    pub fn profile(&self) -> Vec<StatementTime> {
        self.programs.profile()
    }
}

/// The program as it runs where there is no expected output.
fn without_expected(mut program: Program) -> Program {
    let hide = |operand: &mut Operand| {
        if *operand == Operand::Expected {
            *operand = Operand::Constant(Constant::None);
        }
    };
    for statement in &mut program.statements {
        statement.args.iter_mut().for_each(hide);
        if let Callee::Function(f) = &mut statement.callee {
            hide(f);
        }
    }
    hide(&mut program.output);
    program
}

impl Workload for Batt {
    type Problem = Problem;
    type Solution = BattCalls;
    type Failure = Stopped;
    type Scratch = ();
    type Local = KeptValues;
    const NAME: &'static str = GridPrograms::NAME;

    fn size(&self, problem: &Problem) -> Size {
        let mut size = self.programs.size(problem);
        if self.batches_within_task {
            let mut hasher = DefaultHasher::new();
            problem.task.name.hash(&mut hasher);
            size.class = hasher.finish() as u32;
        }
        size
    }

    fn need(&self, size: &Size, on: DeviceKind) -> Need {
        self.programs.need(size, on)
    }

    fn scratch(&self) {}

    fn local(&self) -> KeptValues {
        self.programs.local()
    }

    fn local_bytes(&self) -> u64 {
        self.programs.local_bytes()
    }

    fn solve(
        &self,
        problem: &Problem,
        _: &mut (),
        kept: &mut KeptValues,
        stop: &Stop,
    ) -> Result<BattCalls, Stopped> {
        let sample = problem.sample();
        let is_shown = sample.output.is_some() && (self.shows_tests || !problem.is_test);
        let (inputs, n_passes) = match is_shown {
            true => (Inputs::with_expected(sample), 2),
            false => (Inputs::from(sample), 1),
        };
        let ToRun { programs, differs } = self.to_run(problem);
        let mut calls = CallCollector::new(&self.programs, sample, programs.len());
        let mut ratings: Vec<Rating> = Vec::with_capacity(n_passes * differs.len());
        let rated = (0..n_passes).flat_map(|pass| {
            let first = self.n_programs + pass * self.n_differs;
            differs.iter().map(move |differ| first + differ)
        });
        let all = programs.into_iter().chain(rated);
        let (library, n_programs) = (self.programs.library(), self.n_programs);
        let mut known: HashMap<usize, Rating> = HashMap::new();
        (self.programs).run_on(problem, inputs, all, kept, stop, |program, result| {
            match program < n_programs {
                true => calls.push(program, result),
                false => {
                    let made = || Rating::of(result, self.programs.output_bytes_max);
                    let rating = match result {
                        // Differs that end in the same node say the same.
                        Ok(_) => known.entry(library.output_node(program)).or_insert_with(made),
                        Err(_) => &made(),
                    };
                    ratings.push(rating.clone());
                }
            }
        })?;
        let mut with = ratings.split_off(differs.len()).into_iter();
        let differs = differs.iter().zip(ratings);
        let differs =
            differs.map(|(&differ, without)| DifferCall { differ, without, with: with.next() });
        Ok(BattCalls { calls: calls.calls, differs: differs.collect() })
    }

    fn can_compare(&self) -> bool {
        true
    }

    fn agree(
        &self,
        reference: &BattCalls,
        other: &BattCalls,
        on: DeviceKind,
    ) -> Result<(), Difference> {
        self.programs.agree(&reference.calls, &other.calls, on)?;
        let pairs = reference.differs.iter().zip(&other.differs);
        for (expected, found) in pairs {
            if expected != found {
                let number = self.n_programs + expected.differ;
                let name = self.programs.library().names().nth(number);
                return Err(Difference {
                    field: format!("value of the differ {}", name.unwrap_or_default()),
                    expected: format!("{expected:?}"),
                    found: format!("{found:?}"),
                });
            }
        }
        Ok(())
    }
}
