//! The profile of an evaluator: how long each statement and each primitive took.

use crate::evaluate::library::{Head, Library, Node};
use crate::{PRIMITIVES, Primitive};
use std::time::Duration;

/// What one statement of a library took, over all inputs since the profile was started.
///
/// ```
/// use swathe_arc::{Evaluator, Grid, Library, Limits, Order, parse};
/// let library = Library::new(parse("mine.py", "def a(I):\n    return hmirror(I)\n").programs);
/// let mut evaluator = Evaluator::new(&library, Order::Cpython, Limits::default());
/// evaluator.start_profile();
/// evaluator.run(&Grid::from_rows(&[vec![1, 2]]).unwrap(), |_, _| ());
/// let slowest = &evaluator.profile()[0];
/// assert_eq!((slowest.program.as_str(), slowest.primitive, slowest.n_runs), ("a", Some("hmirror"), 1));
/// ```
#[derive(Clone, Debug)]
pub struct StatementTime {
    /// The first program that has the statement.
    pub program: String,
    /// What it calls; a function held in a variable has no name.
    pub primitive: Option<&'static str>,
    /// The statement as [`Library::text`] writes it.
    pub text: String,
    /// How often it was evaluated.
    pub n_runs: u64,
    /// Units of work charged.
    pub work: u64,
    /// Wall time spent in it.
    pub time: Duration,
}

/// The records of one evaluator, by node.
#[derive(Debug)]
pub(crate) struct Profile {
    nodes: Vec<Notes>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Notes {
    n_runs: u64,
    work: u64,
    time: Duration,
}

impl Profile {
    pub(crate) fn new(n_nodes: usize) -> Profile {
        Profile { nodes: vec![Notes::default(); n_nodes] }
    }

    pub(crate) fn add(&mut self, node: u32, time: Duration, work: u64) {
        let notes = &mut self.nodes[node as usize];
        notes.n_runs += 1;
        notes.work += work;
        notes.time += time;
    }

    /// Adds the records of another evaluator of the same library.
    pub(crate) fn merge(&mut self, other: &Profile) {
        for (notes, more) in self.nodes.iter_mut().zip(&other.nodes) {
            notes.n_runs += more.n_runs;
            notes.work += more.work;
            notes.time += more.time;
        }
    }

    /// What each primitive took: its name, calls and time. A function held in a variable, and a
    /// tuple, have no name of their own.
    pub(crate) fn by_primitive(
        &self,
        library: &Library,
    ) -> impl Iterator<Item = (&'static str, u64, Duration)> {
        const N_HEADS: usize = PRIMITIVES.len() + 1;
        let mut sums = [(0u64, Duration::ZERO); N_HEADS];
        for (node, notes) in library.nodes.iter().zip(&self.nodes) {
            if let Node::Call(head, ..) = node {
                let (n_runs, time) = &mut sums[match head {
                    Head::Primitive(primitive) => usize::from(*primitive),
                    Head::Node(_) | Head::Tuple => PRIMITIVES.len(),
                }];
                *n_runs += notes.n_runs;
                *time += notes.time;
            }
        }
        let names = PRIMITIVES.iter().map(|primitive| primitive.name);
        let names = names.chain(["(a variable, or a tuple)"]);
        names
            .zip(sums)
            .filter(|(_, (n_runs, _))| *n_runs > 0)
            .map(|(name, (n_runs, time))| (name, n_runs, time))
    }

    pub(crate) fn statements(&self, library: &Library) -> Vec<StatementTime> {
        let mut program = vec![usize::MAX; self.nodes.len()];
        for k in (0..library.len()).rev() {
            for &step in library.steps(k) {
                program[step as usize] = k;
            }
        }
        let mut all = Vec::new();
        for (node, notes) in self.nodes.iter().enumerate() {
            let Node::Call(head, ..) = &library.nodes[node] else {
                continue;
            };
            if program[node] == usize::MAX || notes.n_runs == 0 {
                continue;
            }
            all.push(StatementTime {
                program: library.name(program[node]).to_owned(),
                primitive: match head {
                    Head::Primitive(p) => Some(Primitive::at(*p).name),
                    Head::Node(_) | Head::Tuple => None,
                },
                text: format!("n{node} = {}", library.expression(node as u32)),
                n_runs: notes.n_runs,
                work: notes.work,
                time: notes.time,
            });
        }
        all.sort_by_key(|s| std::cmp::Reverse(s.time));
        all
    }
}
