//! Differs as a workload of the engine: what the rows of `s` in `batt` files say about samples.

use crate::evaluate::Inputs;
use crate::evaluate::library::Library;
use crate::language::program::{Callee, Constant, Operand, Program};
use crate::value::Value;
use crate::value::encode::Output;
use crate::value::fault::Fault;
use crate::workload::{GridPrograms, KeptValues, Problem, Stopped};
use std::ops::ControlFlow;
use swathe::{DeviceKind, Need, Size, Stop, Workload};

/// Differs as a workload: a problem is one sample, and its solution has a [`DifferCall`] for every differ.
///
/// A differ is evaluated twice, without the expected output (`C` is None) and with it, in one evaluation: both share
/// all statements that do not read `C`.
///
/// ```
/// use std::sync::Arc;
/// use swathe::Stop;
/// use swathe_arc::{Differs, GridPrograms, Problem, Task, parse};
/// let text = "
/// def batt(task_id, S, I, C, log_path):
///     s = []
///     o = []
///     t1 = equality(I, C)
///     t2 = branch(t1, THOUSAND, ZERO)
///     t3 = astuple(t2, t1)
///     s.append((3, 'None', 'differ_same', t3))
///     return o, s
/// ";
/// let differs = Differs::new(&parse("batt.py", text).differs, |library| GridPrograms::new(library));
/// let task = r#"{"train": [{"input": [[1]], "output": [[1]]}], "test": [{"input": [[2]]}]}"#;
/// let problems = Problem::all(&Arc::new(Task::from_json("mine", task)?));
/// let outcomes = swathe::solve_slice(&differs, &problems, 1, &Stop::new());
/// let call = &outcomes[0].solution().unwrap()[0];
/// assert_eq!((call.without.score, call.with.as_ref().unwrap().score), (Some(0), Some(1000)));
/// // The answer of the test is not known.
/// assert!(outcomes[1].solution().unwrap()[0].with.is_none());
/// # Ok::<(), swathe_arc::TaskError>(())
/// ```
#[derive(Debug)]
pub struct Differs {
    /// The differs without the expected output, then those with it.
    programs: GridPrograms,
    n_differs: usize,
    /// Whether differs see the answers of tests, where they are known. They must not if a submission is made.
    pub shows_tests: bool,
}

/// What one differ says about one sample.
#[derive(Clone, PartialEq, Debug)]
pub struct DifferCall {
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
            output: result
                .map(|value| Output::of(value, n_bytes_max))
                .map_err(|fault| *fault),
            score,
        }
    }
}

impl Differs {
    /// Differs, evaluated with the settings of the workload that `made` makes of a library.
    pub fn new(differs: &[Program], made: impl FnOnce(Library) -> GridPrograms) -> Differs {
        let without = differs.iter().map(without_expected);
        let programs = without.chain(differs.iter().cloned()).collect();
        Differs {
            programs: made(Library::new(programs)),
            n_differs: differs.len(),
            shows_tests: true,
        }
    }
}

/// The program as it runs where there is no expected output.
fn without_expected(program: &Program) -> Program {
    let mut program = program.clone();
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

impl Workload for Differs {
    type Problem = Problem;
    type Solution = Vec<DifferCall>;
    type Failure = Stopped;
    type Scratch = ();
    type Local = KeptValues;
    const NAME: &'static str = "arc differs";

    fn size(&self, problem: &Problem) -> Size {
        self.programs.size(problem)
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
    ) -> Result<Vec<DifferCall>, Stopped> {
        let sample = problem.sample();
        let is_shown = sample.output.is_some() && (self.shows_tests || !problem.is_test);
        let (inputs, n_programs) = match is_shown {
            true => (Inputs::with_expected(sample), 2 * self.n_differs),
            false => (Inputs::from(sample), self.n_differs),
        };
        let GridPrograms {
            order,
            limits,
            output_bytes_max,
            ..
        } = self.programs;
        let library = self.programs.library();
        let mut evaluator = kept.evaluator(library, order, limits, &problem.task);
        evaluator.watch(stop);
        let mut ratings: Vec<Rating> = Vec::with_capacity(n_programs);
        let flow = evaluator.run_while(inputs, 0..n_programs, |_, result| {
            ratings.push(Rating::of(result, output_bytes_max));
            match stop.requested() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        if flow.is_break() || stop.requested() {
            return Err(Stopped);
        }
        kept.keep(&problem.task, evaluator);
        let mut with = ratings.split_off(self.n_differs).into_iter();
        let calls = ratings.into_iter().map(|without| DifferCall {
            without,
            with: with.next(),
        });
        Ok(calls.collect())
    }
}
