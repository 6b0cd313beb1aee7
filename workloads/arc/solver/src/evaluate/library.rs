//! The merged graph of many programs, with the figures of what they share.

use crate::evaluate::schedule::{Schedule, Scope};
use crate::language::dialect::Dialect;
use crate::language::primitive::{CanFail, Primitive};
use crate::language::program::{Callee, Constant, Operand, Program};
use std::borrow::Borrow;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;

/// Many programs merged into one graph: equal subexpressions are one node, whichever program they are in.
///
/// A library is plain data and can be shared between threads; values are made by [`evaluate`](crate::evaluate).
///
/// ```
/// use swathe_arc::{Library, parse};
/// let text = "
/// def a(I):
///     x1 = hmirror(I)
///     O = vmirror(x1)
///     return O
/// def b(I):
///     O = hmirror(I)
///     return O
/// ";
/// let library = Library::new(parse("mine.py", text).programs);
/// assert_eq!((library.counts().n_statements, library.counts().n_distinct), (3, 2));
/// ```
#[derive(Debug)]
pub struct Library {
    pub(crate) nodes: Vec<Node>,
    pub(crate) entries: Vec<Entry>,
    /// The names of all programs, one after the other. Many thousands of programs are in a few large blocks of memory,
    /// so that nothing stands between the blocks that their texts and statements leave behind.
    names: String,
    /// The nodes to evaluate of all programs.
    steps: Vec<u32>,
    schedule: Schedule,
}

/// A value of the graph.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Node {
    Input,
    /// All demonstrations of the task.
    Samples,
    /// The expected output.
    Expected,
    /// A tuple of three numbers has a form of its own in some dialects.
    Constant(Constant, Dialect),
    /// The number tells apart equal statements of one program: each makes an object of its own, and a program can see
    /// whether two sets or functions are one object.
    Call(Head, Args, Guard, Dialect, u32),
}

/// The nodes that a call takes; few of them need no memory of their own.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Args {
    Few(u8, [u32; Args::N_FEW]),
    Many(Box<[u32]>),
}

impl Args {
    const N_FEW: usize = 4;
}

impl std::ops::Deref for Args {
    type Target = [u32];

    #[inline]
    fn deref(&self) -> &[u32] {
        match self {
            Args::Few(n, args) => &args[..usize::from(*n)],
            Args::Many(args) => args,
        }
    }
}

impl FromIterator<u32> for Args {
    fn from_iter<T: IntoIterator<Item = u32>>(args: T) -> Args {
        let mut few = [0; Args::N_FEW];
        let mut n = 0;
        let mut args = args.into_iter();
        while let Some(arg) = args.next() {
            if n == Args::N_FEW {
                return Args::Many(few.into_iter().chain([arg]).chain(args).collect());
            }
            few[n] = arg;
            n += 1;
        }
        Args::Few(n as u8, few)
    }
}

/// What a call that fails gives.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Guard {
    /// Its error.
    Open,
    /// The callee's safe default.
    Guarded,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Head {
    Primitive(u16),
    /// A function that another node gives.
    Node(u32),
    Tuple,
}

/// A program of the library.
#[derive(Debug)]
pub(crate) struct Entry {
    /// Where its part of all names ends.
    name_end: u32,
    pub(crate) dialect: Dialect,
    n_statements: u32,
    /// Where its part of all steps ends.
    steps_end: u32,
    pub(crate) output: u32,
}

/// How much a library holds and how much of it is shared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counts {
    /// Programs.
    pub n_programs: usize,
    /// Statements of all programs.
    pub n_statements: usize,
    /// Distinct statements among them.
    pub n_distinct: usize,
    /// Distinct statements that more than one program uses.
    pub n_shared: usize,
    /// Distinct statements that do not depend on the input and are evaluated once.
    pub n_folded: usize,
    /// Statements of no effect that were dropped: not used, and unable to fail.
    pub n_dropped: usize,
    /// Distinct statements by what they call, most frequent first; a function held in a variable has no name.
    pub by_primitive: Vec<(Option<&'static str>, usize)>,
}

impl Library {
    /// Merges programs.
    pub fn new(programs: impl IntoIterator<Item = impl Borrow<Program>>) -> Library {
        let mut graph = Graph {
            entries: Vec::new(),
            names: String::new(),
            steps: Vec::new(),
            nodes: vec![Node::Input],
            ids: HashMap::from([(Node::Input, 0)]),
            n_programs: 0,
            last_programs: Vec::new(),
        };
        // A program is dropped once it is merged: a library of many thousands is not in memory twice.
        for program in programs {
            graph.add(program.borrow());
        }
        drop(graph.ids);
        graph.nodes.shrink_to_fit();
        let mut library = Library {
            nodes: graph.nodes,
            entries: graph.entries,
            names: graph.names,
            steps: graph.steps,
            schedule: Schedule::default(),
        };
        library.schedule = Schedule::new(&library);
        library
    }

    /// The memory of the library.
    pub(crate) fn n_bytes(&self) -> u64 {
        let n_bytes = self.nodes.capacity() * size_of::<Node>()
            + self.entries.capacity() * size_of::<Entry>()
            + self.names.capacity()
            + self.steps.capacity() * size_of::<u32>();
        n_bytes as u64 + self.schedule.n_bytes()
    }

    /// The number of programs.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The programs' names in the order they were given.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.len()).map(|program| self.name(program))
    }

    /// A program's name.
    ///
    /// # Panics
    /// If there is no program of this number.
    pub fn name(&self, program: usize) -> &str {
        &self.names[range(&self.entries, program, |entry| entry.name_end)]
    }

    /// The nodes to evaluate for a program, in its order: the first failure is the program's failure.
    pub(crate) fn steps(&self, program: usize) -> &[u32] {
        &self.steps[range(&self.entries, program, |entry| entry.steps_end)]
    }

    /// The number of a program.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.names().position(|known| known == name)
    }

    /// The number of statements of a program.
    ///
    /// # Panics
    /// If there is no program of this number.
    pub fn n_statements(&self, program: usize) -> usize {
        self.entries[program].n_statements as usize
    }

    /// The number of nodes of the graph.
    pub(crate) fn n_nodes(&self) -> usize {
        self.nodes.len()
    }

    /// The node that is a program's output.
    pub(crate) fn output_node(&self, program: usize) -> usize {
        self.entries[program].output as usize
    }

    /// The dialect of a program.
    ///
    /// # Panics
    /// If there is no program of this number.
    pub fn dialect(&self, program: usize) -> Dialect {
        self.entries[program].dialect
    }

    /// The calls that a node depends on, and the node itself if it is a call, in an order in which they can be
    /// evaluated.
    pub(crate) fn cone(&self, node: u32) -> BTreeSet<u32> {
        let mut cone = BTreeSet::new();
        let mut open = vec![node];
        while let Some(id) = open.pop() {
            if let Node::Call(head, args, ..) = &self.nodes[id as usize]
                && cone.insert(id)
            {
                open.extend(args.iter());
                if let Head::Node(f) = head {
                    open.push(*f);
                }
            }
        }
        // Arguments have smaller numbers than calls.
        cone
    }

    /// How long its values last.
    pub(crate) fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// The figures of the merge.
    pub fn counts(&self) -> Counts {
        let mut n_users = vec![0usize; self.nodes.len()];
        for program in 0..self.len() {
            let mut steps = self.steps(program).to_vec();
            steps.sort_unstable();
            steps.dedup();
            for step in steps {
                n_users[step as usize] += 1;
            }
        }
        let scopes = &self.schedule.scopes;
        let used = || (0..self.nodes.len()).filter(|&k| n_users[k] > 0);
        let mut by_primitive: HashMap<Option<&'static str>, usize> = HashMap::new();
        for k in used() {
            if let Node::Call(head, ..) = &self.nodes[k] {
                let name = match head {
                    Head::Primitive(p) => Some(Primitive::at(*p).name),
                    Head::Node(_) | Head::Tuple => None,
                };
                *by_primitive.entry(name).or_default() += 1;
            }
        }
        let mut by_primitive: Vec<_> = by_primitive.into_iter().collect();
        by_primitive.sort_by_key(|(name, n)| (std::cmp::Reverse(*n), *name));
        let n_statements = (0..self.len()).map(|k| self.n_statements(k)).sum();
        Counts {
            n_programs: self.entries.len(),
            n_statements,
            n_distinct: used().count(),
            n_shared: used().filter(|&k| n_users[k] > 1).count(),
            n_folded: used().filter(|&k| scopes[k] == Scope::Always).count(),
            n_dropped: n_statements - self.steps.len(),
            by_primitive,
        }
    }
}

/// A program's part of a list of all programs, given where each part ends.
fn range(entries: &[Entry], program: usize, end: fn(&Entry) -> u32) -> Range<usize> {
    let start = program.checked_sub(1).map_or(0, |k| end(&entries[k]));
    start as usize..end(&entries[program]) as usize
}

struct Graph {
    entries: Vec<Entry>,
    names: String,
    steps: Vec<u32>,
    nodes: Vec<Node>,
    ids: HashMap<Node, u32>,
    /// The programs so far, with the one that is being added.
    n_programs: u32,
    /// For each node the number of the last program with such a statement, from 1.
    last_programs: Vec<u32>,
}

impl Graph {
    fn node(&mut self, node: Node) -> u32 {
        if let Some(&id) = self.ids.get(&node) {
            return id;
        }
        self.insert(node)
    }

    /// Adds a node that is not known yet.
    fn insert(&mut self, node: Node) -> u32 {
        let id = self.nodes.len() as u32;
        self.nodes.push(node.clone());
        self.ids.insert(node, id);
        id
    }

    fn operand(&mut self, operand: &Operand, results: &[u32], dialect: Dialect) -> u32 {
        match operand {
            Operand::Input => 0,
            Operand::Samples => self.node(Node::Samples),
            Operand::Expected => self.node(Node::Expected),
            Operand::Constant(c) => self.node(Node::Constant(c.clone(), dialect)),
            Operand::Result(k) => results[*k as usize],
        }
    }

    /// The node of a statement: another one for each of several equal statements of a program.
    fn statement(&mut self, head: Head, args: Args, guard: Guard, dialect: Dialect) -> u32 {
        let mut node = Node::Call(head, args, guard, dialect, 0);
        loop {
            let Some(&id) = self.ids.get(&node) else {
                let id = self.insert(node);
                self.last_programs.resize(self.nodes.len(), 0);
                self.last_programs[id as usize] = self.n_programs;
                return id;
            };
            let last_program = &mut self.last_programs[id as usize];
            if *last_program != self.n_programs {
                *last_program = self.n_programs;
                return id;
            }
            let Node::Call(.., number) = &mut node else { unreachable!("a statement is a call") };
            *number += 1;
        }
    }

    fn add(&mut self, program: &Program) {
        let dialect = program.dialect;
        let mut results: Vec<u32> = Vec::with_capacity(program.statements.len());
        self.n_programs += 1;
        for statement in &program.statements {
            let args = statement.args.iter().map(|a| self.operand(a, &results, dialect)).collect();
            let head = match &statement.callee {
                Callee::Tuple => Head::Tuple,
                Callee::Function(Operand::Constant(Constant::Primitive(p))) => Head::Primitive(*p),
                Callee::Function(f) => Head::Node(self.operand(f, &results, dialect)),
            };
            let guard = if statement.is_guarded { Guard::Guarded } else { Guard::Open };
            results.push(self.statement(head, args, guard, dialect));
        }
        let output = self.operand(&program.output, &results, dialect);
        let steps = self.live(&results, output);
        self.steps.extend(steps);
        self.names.push_str(&program.name);
        self.entries.push(Entry {
            name_end: self.names.len() as u32,
            dialect,
            n_statements: program.statements.len() as u32,
            steps_end: self.steps.len() as u32,
            output,
        });
    }

    /// The statements that can change the outcome: what is used, and what can fail.
    fn live(&self, results: &[u32], output: u32) -> Vec<u32> {
        let mut is_used: HashSet<u32> = [output].into();
        let mut live = Vec::with_capacity(results.len());
        for &id in results.iter().rev() {
            if is_used.contains(&id) || self.may_fail(id) {
                live.push(id);
                if let Node::Call(head, args, ..) = &self.nodes[id as usize] {
                    is_used.extend(args.iter());
                    if let Head::Node(f) = head {
                        is_used.insert(*f);
                    }
                }
            }
        }
        live.reverse();
        live
    }

    /// Whether a call can fail although its arguments did not: true unless failure is certainly impossible.
    fn may_fail(&self, id: u32) -> bool {
        let (p, args) = match &self.nodes[id as usize] {
            Node::Call(Head::Primitive(p), args, _, dialect, _) => {
                // Only a recursion without end is no default there.
                if dialect.has_defaults() {
                    return Primitive::at(*p).traits.can_fail == CanFail::DespiteDefaults;
                }
                (p, args)
            }
            Node::Call(_, _, guard, dialect, _) => {
                return *guard == Guard::Open || !dialect.has_defaults();
            }
            _ => return true,
        };
        let primitive = Primitive::at(*p);
        let is_safe = match primitive.traits.can_fail {
            CanFail::Yes | CanFail::DespiteDefaults => false,
            CanFail::NotOnPrimitives => args.first().is_some_and(|&f| {
                matches!(self.nodes[f as usize], Node::Constant(Constant::Primitive(_), _))
            }),
            CanFail::Never => true,
        };
        !is_safe || !primitive.takes(args.len())
    }
}
