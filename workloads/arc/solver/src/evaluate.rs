//! Evaluation: the merged graph of all programs on a sample.

pub(crate) mod identity;
pub(crate) mod large_calls;
pub(crate) mod library;
pub(crate) mod meter;
pub(crate) mod profile;
pub(crate) mod schedule;
pub(crate) mod score;

use crate::columns::column_cache;
use crate::evaluate::identity::OrderAmbiguity;
use crate::evaluate::large_calls::LargeCalls;
use crate::evaluate::library::{Guard, Head, Library, Node};
use crate::evaluate::meter::{Limits, Order, Usage};
use crate::evaluate::profile::{Profile, StatementTime};
use crate::evaluate::schedule::Scope;
use crate::generate::harvest::Finder;
use crate::language::primitive::{self, Primitive, Shortcut};
use crate::language::safe_default::{is_caught, safe, safe_default};
use crate::task::Sample;
use crate::value::Value;
use crate::value::closure::call;
use crate::value::fault::{Fault, Result};
use crate::value::grid::Grid;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;
use swathe::Stop;

/// Runs every program of a library on one input grid.
///
/// A call's work is summed over all its statements, shared ones in full, so an outcome does not depend on
/// which other programs are in the library.
///
/// ```
/// use swathe_arc::{Fault, Grid, Library, Limits, Order, encode, evaluate, parse};
/// let text = "
/// def mirror(I):
///     return vmirror(I)
/// def fails(I):
///     x1 = ofcolor(I, FIVE)
///     return first(x1)
/// ";
/// let library = Library::new(parse("mine.py", text).programs);
/// let grid = Grid::from_rows(&[vec![1, 2]]).unwrap();
/// let results = evaluate(&library, &grid, Order::Cpython, Limits::default());
/// assert_eq!(encode(results[0].as_ref().unwrap()), r#"{"grid":[[2,1]]}"#);
/// assert_eq!(results[1], Err(Fault::StopIteration));
/// ```
pub fn evaluate<'g>(
    library: &Library,
    inputs: impl Into<Inputs<'g>>,
    order: Order,
    limits: Limits,
) -> Vec<std::result::Result<Value, Fault>> {
    let mut results = Vec::with_capacity(library.len());
    Evaluator::new(library, order, limits)
        .run(inputs, |_, result| results.push(result.cloned().map_err(|fault| *fault)));
    results
}

/// What programs see of one sample: its input, and its expected output only if that is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'g> {
    /// The input grid, `I`.
    pub input: &'g Grid,
    /// The expected output, `C` in `batt` files. Only programs that compare outputs with it may see it; candidates
    /// run without.
    pub expected: Option<&'g Grid>,
}

impl<'g> Inputs<'g> {
    /// The input with the expected output, if that is known: for programs that compare with it.
    ///
    /// ```
    /// use swathe_arc::{Evaluator, Inputs, Library, Limits, Order, Task, Value, parse};
    /// let text = "def differ(S, I, C):\n    x1 = identity(C)\n    return x1\n";
    /// let library = Library::new(parse("mine.py", text).programs);
    /// let task = r#"{"train": [{"input": [[1]], "output": [[2]]}], "test": []}"#;
    /// let sample = &Task::from_json("mine", task)?.train[0];
    /// let mut evaluator = Evaluator::new(&library, Order::Cpython, Limits::default());
    /// // A sample alone gives the input only.
    /// evaluator.run(sample, |_, result| assert_eq!(result, Ok(&Value::None)));
    /// evaluator.run(Inputs::with_expected(sample), |_, result| assert_ne!(result, Ok(&Value::None)));
    /// # Ok::<(), swathe_arc::TaskError>(())
    /// ```
    pub fn with_expected(sample: &'g Sample) -> Inputs<'g> {
        Inputs { input: &sample.input, expected: sample.output.as_ref() }
    }
}

impl<'g> From<&'g Grid> for Inputs<'g> {
    fn from(input: &'g Grid) -> Inputs<'g> {
        let expected = None;
        Inputs { input, expected }
    }
}

/// The input alone: whatever a program does with `C`, it cannot reach the answer.
impl<'g> From<&'g Sample> for Inputs<'g> {
    fn from(sample: &'g Sample) -> Inputs<'g> {
        Inputs::from(&sample.input)
    }
}

/// Evaluates a library on many samples, one after the other, on one thread.
///
/// Values that do not depend on the input are evaluated once and kept. Values that depend on the demonstrations alone
/// are kept until the [task](Evaluator::start_task) changes.
pub struct Evaluator<'a> {
    library: &'a Library,
    order: Order,
    limits: Limits,
    values: Values,
    kept_bytes_max: u64,
    /// What the running program's statements have built so far.
    call_bytes: u64,
    large_calls: Option<Arc<LargeCalls>>,
    profile: Option<Profile>,
    stop: Option<Stop>,
    /// Looks for nodes with a certain value.
    finder: Option<Finder>,
}

/// The state of an evaluator apart from its library. Another evaluator of the same library can reuse it.
pub(crate) struct Values {
    slots: Vec<Option<Done>>,
    /// The values of the current sample that are kept for later programs.
    of_sample: Kept,
    /// The values that outlast the sample.
    lasting: Kept,
}

/// Values that are kept because later programs or samples need them.
#[derive(Default)]
struct Kept {
    /// The nodes, and some that were dropped since.
    nodes: Vec<u32>,
    n_bytes: u64,
}

impl Kept {
    fn add(&mut self, node: u32, done: &Done) {
        self.nodes.push(node);
        self.n_bytes += done.n_bytes();
    }
}

/// The memory of a small value.
pub(crate) const VALUE_BYTES: u64 = 256;

/// A node that was evaluated.
struct Done {
    result: Result,
    usage: Usage,
    /// The result is a set with several elements, and the node stands for its first element, which is looked up on
    /// demand.
    is_first_of: bool,
    /// It was not evaluated to its end, because it builds more than its call had left; a call with more left may.
    is_cut: bool,
    ambiguity: OrderAmbiguity,
}

impl Done {
    fn new((result, usage): (Result, Usage)) -> Done {
        Done {
            result,
            usage,
            is_first_of: false,
            is_cut: false,
            ambiguity: OrderAmbiguity::default(),
        }
    }

    /// The memory of the value, estimated by what was charged for building it: some values share their parts, others
    /// grow when their order is read.
    fn n_bytes(&self) -> u64 {
        match self.result {
            Ok(_) => VALUE_BYTES + self.usage.bytes,
            Err(_) => VALUE_BYTES,
        }
    }

    /// A result that cost no work.
    fn given(result: Result) -> Done {
        Done::new((result, Usage::default()))
    }
}

impl Values {
    /// The memory of an evaluator for a library, apart from the values.
    pub(crate) fn n_bytes(library: &Library) -> u64 {
        (library.n_nodes() * (size_of::<Option<Done>>() + size_of::<u32>())) as u64
    }

    fn new(library: &Library) -> Values {
        Values {
            slots: library.nodes.iter().map(|_| None).collect(),
            of_sample: Kept::default(),
            lasting: Kept::default(),
        }
    }

    /// Drops a value of the sample that no later program needs.
    fn drop_one(&mut self, node: u32) {
        if let Some(done) = self.slots[node as usize].take() {
            self.of_sample.n_bytes -= done.n_bytes();
        }
    }

    /// Drops all values of the sample.
    fn drop_sample(&mut self) {
        for node in self.of_sample.nodes.drain(..) {
            self.slots[node as usize] = None;
        }
        self.of_sample.n_bytes = 0;
    }

    /// Drops the values that outlast a sample, apart from the demonstrations.
    fn drop_lasting(&mut self) {
        for node in self.lasting.nodes.drain(..) {
            self.slots[node as usize] = None;
        }
        self.lasting.n_bytes = 0;
    }
}

impl<'a> Evaluator<'a> {
    /// An evaluator for this thread.
    pub fn new(library: &'a Library, order: Order, limits: Limits) -> Evaluator<'a> {
        Evaluator::with_values(library, order, limits, Values::new(library))
    }

    /// Continues with the state of an evaluator of the same library, order and limits.
    pub(crate) fn with_values(
        library: &'a Library,
        order: Order,
        limits: Limits,
        values: Values,
    ) -> Evaluator<'a> {
        Evaluator {
            library,
            order,
            limits,
            values,
            kept_bytes_max: u64::MAX,
            call_bytes: 0,
            large_calls: None,
            profile: None,
            stop: None,
            finder: None,
        }
    }

    /// The state, for another evaluator to reuse.
    pub(crate) fn into_values(self) -> Values {
        self.values
    }

    /// From now on, values are kept for later programs only up to about this many bytes; what is dropped is evaluated
    /// again. Results and charges do not depend on it.
    ///
    /// Values of the program that is running are not counted: the [limits](Limits) of a call bound them.
    pub fn keep_at_most(&mut self, n_bytes: u64) {
        self.kept_bytes_max = n_bytes;
    }

    /// From now on, shares the memory of large calls with the evaluators of other threads.
    pub(crate) fn share(&mut self, calls: &Arc<LargeCalls>) {
        self.large_calls = Some(Arc::clone(calls));
    }

    /// Gives up soon after this stop is requested, even in the middle of a statement. The current program and the
    /// remaining ones then end as timeouts, which the caller must not take for results.
    pub fn watch(&mut self, stop: &Stop) {
        self.stop = Some(stop.clone());
    }

    /// From now on, looks for nodes with the value that this finder wants; returns the finder before.
    pub(crate) fn find(&mut self, finder: Option<Finder>) -> Option<Finder> {
        std::mem::replace(&mut self.finder, finder)
    }

    /// From now on, records how long each statement takes.
    pub fn start_profile(&mut self) {
        self.profile = Some(Profile::new(self.library.n_nodes()));
    }

    /// What the statements have taken since the profile was started, the slowest first.
    pub fn profile(&self) -> Vec<StatementTime> {
        self.profile.as_ref().map_or_else(Vec::new, |p| p.statements(self.library))
    }

    /// Takes the profile so far and ends profiling.
    pub(crate) fn take_profile(&mut self) -> Option<Profile> {
        self.profile.take()
    }

    /// From now on, these are the demonstrations that programs see as `S`; before that there are none.
    pub fn start_task(&mut self, demonstrations: &[Sample]) {
        let schedule = self.library.schedule();
        let Some(node) = schedule.samples_node else {
            return;
        };
        let slots = &mut self.values.slots;
        let lasting = &mut self.values.lasting;
        lasting.nodes.retain(|&node| {
            let is_kept = schedule.scopes[node as usize] == Scope::Always;
            if !is_kept && let Some(done) = slots[node as usize].take() {
                lasting.n_bytes -= done.n_bytes();
            }
            is_kept
        });
        let pairs = demonstrations.iter().map(|sample| {
            let output = sample.output.clone().map_or(Value::None, Value::from);
            Value::two(sample.input.clone().into(), output)
        });
        let result = pairs.collect::<Result<_>>().and_then(Value::tuple);
        slots[node] = Some(Done::given(result));
    }

    /// Runs all programs on one input; `done` receives each program's number and result, in order.
    pub fn run<'g>(
        &mut self,
        inputs: impl Into<Inputs<'g>>,
        done: impl FnMut(usize, std::result::Result<&Value, &Fault>),
    ) {
        let all = 0..self.library.len();
        self.run_some(inputs, all, done);
    }

    /// Runs these programs, given in ascending order.
    ///
    /// # Panics
    /// If there is no program of one of these numbers.
    pub fn run_some<'g>(
        &mut self,
        inputs: impl Into<Inputs<'g>>,
        programs: impl IntoIterator<Item = usize>,
        mut done: impl FnMut(usize, std::result::Result<&Value, &Fault>),
    ) {
        let _ = self.run_while(inputs, programs, |program, result| {
            done(program, result);
            ControlFlow::Continue(())
        });
    }

    /// Runs these programs, given in ascending order, until `done` breaks.
    ///
    /// # Panics
    /// If there is no program of one of these numbers.
    pub fn run_while<'g>(
        &mut self,
        inputs: impl Into<Inputs<'g>>,
        programs: impl IntoIterator<Item = usize>,
        mut done: impl FnMut(usize, std::result::Result<&Value, &Fault>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let mut flow = ControlFlow::Continue(());
        let dialect_before = meter::dialect();
        meter::set_order(self.order);
        meter::watch(self.stop.as_ref());
        let shared = meter::share(self.large_calls.as_ref());
        let inputs = inputs.into();
        let schedule = self.library.schedule();
        self.values.slots[0] = Some(Done::given(Ok(inputs.input.clone().into())));
        if let Some(node) = schedule.expected_node {
            let expected = inputs.expected.cloned();
            let expected = expected.map_or(Value::None, Value::from);
            self.values.slots[node] = Some(Done::given(Ok(expected)));
        }
        for program in programs {
            flow = match self.program(program) {
                Err(fault) => done(program, Err(&fault)),
                Ok(()) => {
                    let output = self.library.entries[program].output;
                    let output =
                        self.values.slots[output as usize].as_ref().expect("the output is a step");
                    done(program, output.result.as_ref())
                }
            };
            for &node in schedule.dropped_after(program) {
                self.values.drop_one(node);
            }
            if self.values.of_sample.n_bytes > self.kept_bytes_max {
                self.values.drop_sample();
                column_cache::clear();
            }
            if self.values.lasting.n_bytes > self.kept_bytes_max {
                self.values.drop_lasting();
            }
            meter::end_claim();
            if flow.is_break() {
                break;
            }
        }
        // A value whose last user did not run has not been dropped yet.
        self.values.drop_sample();
        self.values.slots[0] = None;
        column_cache::clear();
        drop(shared);
        meter::watch(None);
        meter::set_dialect(dialect_before);
        if let Some(node) = schedule.expected_node {
            self.values.slots[node] = None;
        }
        flow
    }

    /// Evaluates the steps of a program up to the first that fails.
    fn program(&mut self, program: usize) -> Result<()> {
        let mut total = Usage::default();
        let mut may_be_ambiguous = false;
        let library = self.library;
        let entry = &library.entries[program];
        meter::set_dialect(entry.dialect);
        for &step in library.steps(program) {
            if self.is_missing(step, total.bytes) {
                if self.stop.as_ref().is_some_and(Stop::requested) {
                    return Err(Fault::Timeout);
                }
                self.call_bytes = total.bytes;
                let mut done = self.node(step);
                if done.ambiguity.is_read {
                    done = self.node_exactly(step);
                }
                let kept = match library.schedule().scopes[step as usize] {
                    Scope::Sample => &mut self.values.of_sample,
                    Scope::Task | Scope::Always => &mut self.values.lasting,
                };
                if let Some(cut) = &self.values.slots[step as usize] {
                    kept.n_bytes -= cut.n_bytes();
                }
                kept.add(step, &done);
                // Constants are evaluated once for all tasks, so that finding them would depend on the order of tasks.
                if let Some(finder) = &mut self.finder
                    && library.schedule().scopes[step as usize] != Scope::Always
                    && !done.is_first_of
                    && let Ok(value) = &done.result
                {
                    finder.check(step, value);
                }
                self.values.slots[step as usize] = Some(done);
            }
            let done = self.values.slots[step as usize].as_ref().expect("just evaluated");
            may_be_ambiguous |= done.ambiguity.is_made;
            total.work += done.usage.work;
            total.bytes += done.usage.bytes;
            // A step of which the call has too little memory left is not evaluated to its end, so that its own failure
            // would not always be known.
            if total.bytes > self.limits.bytes_max {
                return Err(Fault::Memory);
            }
            // A step's own failure comes before a timeout of the whole call.
            if let Err(fault) = &done.result {
                return Err(*fault);
            }
            if total.work > self.limits.work_max {
                return Err(Fault::Timeout);
            }
        }
        if self.values.slots[entry.output as usize].is_none() {
            // A program may return a constant that no statement mentions.
            let done = self.node(entry.output);
            self.values.slots[entry.output as usize] = Some(done);
        }
        if may_be_ambiguous {
            self.settle(entry.output);
        }
        Ok(())
    }

    /// Whether a step must be evaluated for a call whose earlier steps built so many bytes.
    fn is_missing(&self, step: u32, call_bytes: u64) -> bool {
        let Some(done) = &self.values.slots[step as usize] else {
            return true;
        };
        done.is_cut && call_bytes + done.usage.bytes <= self.limits.bytes_max
    }

    /// Evaluates a node again if the order of a set in its value is ambiguous, because callers may read it.
    #[cold]
    fn settle(&mut self, id: u32) {
        let done = &self.values.slots[id as usize];
        let result = done.as_ref().map(|done| &done.result);
        if let Some(Ok(value)) = result
            && identity::is_ambiguous(value)
        {
            let exact = self.node_exactly(id);
            if let Some(done) = &mut self.values.slots[id as usize] {
                done.result = exact.result;
            }
        }
    }

    fn node(&mut self, id: u32) -> Done {
        let limits = self.limits;
        let (head, args, guard) = match &self.library.nodes[id as usize] {
            Node::Input | Node::Expected => unreachable!("the inputs are always there"),
            // No task was started, so there are no demonstrations.
            Node::Samples => return Done::given(Value::tuple(Vec::new())),
            Node::Constant(c, _) => return Done::given(c.value()),
            Node::Call(head, args, guard, ..) => (*head, args, guard),
        };
        for &arg in args.iter().chain(if let Head::Node(f) = &head { Some(f) } else { None }) {
            if self.values.slots[arg as usize].is_none() {
                // Only constants and the demonstrations are missing from the steps.
                let done = self.node(arg);
                self.values.slots[arg as usize] = Some(done);
            }
        }
        let start = self.profile.as_ref().map(|_| Instant::now());
        let is_deferred = self.library.schedule().is_first_to_fix[id as usize];
        let several =
            if is_deferred && !identity::is_exact() { self.several(args[0]) } else { None };
        let is_first_of = several.is_some();
        let measured = meter::measured(&limits, self.call_bytes, || match several {
            Some(set) => meter::called(|| Ok(set)),
            None => match (self.call(head, args), guard) {
                (Err(fault), Guard::Guarded) if is_caught(fault) => self.default_of(head),
                (result, _) => result,
            },
        });
        let (result, usage) = &measured;
        let is_cut = matches!(result, Err(Fault::Memory))
            && usage.bytes <= limits.bytes_max
            && self.call_bytes + usage.bytes > limits.bytes_max;
        let done = Done {
            is_first_of,
            is_cut,
            ambiguity: identity::take_ambiguity(),
            ..Done::new(measured)
        };
        if let (Some(profile), Some(start)) = (&mut self.profile, start) {
            profile.add(id, start.elapsed(), done.usage.work);
        }
        done
    }

    /// Evaluates a node and all that it depends on again, so that sets are one object where Python's are.
    #[cold]
    fn node_exactly(&mut self, id: u32) -> Done {
        let cone = self.library.cone(id);
        let _guard = identity::start_exact();
        self.call_bytes = 0;
        let before: Vec<Option<Done>> =
            cone.iter().map(|&node| self.values.slots[node as usize].take()).collect();
        for &node in &cone {
            self.values.slots[node as usize] = Some(self.node(node));
        }
        let done = self.values.slots[id as usize].take();
        for (&node, before) in cone.iter().zip(before) {
            self.values.slots[node as usize] = before;
        }
        done.expect("a node is in its cone")
    }

    /// A node's value, if it is a set with several elements, so that finding the first one takes a lookup.
    fn several(&self, id: u32) -> Option<Value> {
        match &self.values.slots[id as usize].as_ref()?.result {
            Ok(Value::Set(set)) if set.len() > 1 => Some(Value::Set(set.clone())),
            _ => None,
        }
    }

    /// What a guarded call gives when it fails.
    fn default_of(&self, head: Head) -> Result {
        match head {
            Head::Primitive(p) => safe_default(&Value::Primitive(p)),
            Head::Node(f) => match &self.values.slots[f as usize] {
                Some(done) => safe_default(&done.result.clone()?),
                None => unreachable!("functions come before calls"),
            },
            Head::Tuple => Value::tuple(Vec::new()),
        }
    }

    /// Whether a node stands for the first element of the set in its slot. Such a node is only ever bound as an
    /// argument.
    fn is_first_of(&self, id: u32) -> bool {
        let done = &self.values.slots[id as usize];
        done.as_ref().is_some_and(|done| done.is_first_of)
    }

    fn call(&self, head: Head, args: &[u32]) -> Result {
        let value = |id: u32| match &self.values.slots[id as usize] {
            Some(done) => done.result.clone(),
            None => unreachable!("arguments come before calls"),
        };
        let mut buffer = [const { Value::None }; 4];
        let long;
        let values: &[Value] = if args.len() <= 4 {
            for (k, &arg) in args.iter().enumerate() {
                buffer[k] = value(arg)?;
            }
            &buffer[..args.len()]
        } else {
            long = args.iter().map(|&a| value(a)).collect::<Result<Vec<_>>>()?;
            &long
        };
        match head {
            Head::Primitive(p) => {
                let primitive = Primitive::at(p);
                if let [function, Value::Set(set)] = values
                    && let Some(Shortcut::BindFirst(bind)) = primitive.traits.shortcut
                    && self.is_first_of(args[1])
                {
                    return meter::called(|| safe(bind(function, set), primitive.default()));
                }
                meter::called(|| primitive::run(p, values))
            }
            Head::Node(f) => call(&value(f)?, values),
            Head::Tuple => Value::tuple(values.to_vec()),
        }
    }
}
