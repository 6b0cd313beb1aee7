//! The schedule of a library: how long the values of its graph last, and how many are alive at once.

use crate::evaluate::library::{Guard, Head, Library, Node};
use crate::language::primitive::{Primitive, Shortcut};

/// What follows from the graph alone; all threads share it.
#[derive(Debug, Default)]
pub(crate) struct Schedule {
    /// How long each node's value lasts.
    pub(crate) scopes: Vec<Scope>,
    /// For each node, whether it is a call of `first` whose result is only bound as an argument of a function. The
    /// function may never be called, so the lookup of the element can be deferred.
    pub(crate) is_first_to_fix: Vec<bool>,
    /// The node of the demonstrations, if some program reads them.
    pub(crate) samples_node: Option<usize>,
    /// The node of the expected output, if some program reads it.
    pub(crate) expected_node: Option<usize>,
    /// The largest number of values of a sample that programs still need at the same time.
    pub(crate) n_live_max: usize,
    /// The largest number of statements of one program.
    pub(crate) n_steps_max: usize,
    /// The number of values that outlast a sample.
    pub(crate) n_lasting: usize,
    /// The number of distinct outputs.
    pub(crate) n_outputs: usize,
    /// The nodes whose last user is a program, program by program.
    dropped: Vec<u32>,
    /// For each program, where its part of `dropped` ends.
    dropped_ends: Vec<u32>,
}

/// How long a node's value lasts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Scope {
    /// It depends on nothing.
    Always,
    /// It depends on the demonstrations alone.
    Task,
    /// It depends on the input or the expected output.
    Sample,
}

impl Schedule {
    pub(crate) fn new(library: &Library) -> Schedule {
        let (nodes, entries) = (&library.nodes, &library.entries);
        let scopes = scopes(nodes);
        const UNUSED: u32 = u32::MAX;
        let mut last_user = vec![UNUSED; nodes.len()];
        let mut n_new = vec![0usize; entries.len()];
        let mut n_lasting = 0;
        for (k, n_new) in n_new.iter_mut().enumerate() {
            for &step in library.steps(k) {
                let user = &mut last_user[step as usize];
                if *user == UNUSED && scopes[step as usize] == Scope::Sample {
                    *n_new += 1;
                } else if *user == UNUSED {
                    n_lasting += 1;
                }
                *user = k as u32;
            }
        }
        let of_sample = |node: usize| last_user[node] != UNUSED && scopes[node] == Scope::Sample;
        let mut dropped: Vec<u32> =
            (0..nodes.len()).filter(|&node| of_sample(node)).map(|node| node as u32).collect();
        dropped.sort_by_key(|&node| last_user[node as usize]);
        let mut dropped_ends = Vec::with_capacity(entries.len());
        let (mut end, mut n_live, mut n_live_max) = (0, 0, 0);
        for (k, n_new) in n_new.iter().enumerate() {
            n_live += n_new;
            n_live_max = n_live_max.max(n_live);
            let rest = dropped[end..].iter();
            let n_dropped = rest.take_while(|&&node| last_user[node as usize] == k as u32);
            let n_dropped = n_dropped.count();
            n_live -= n_dropped;
            end += n_dropped;
            dropped_ends.push(end as u32);
        }
        let mut outputs: Vec<u32> = entries.iter().map(|entry| entry.output).collect();
        outputs.sort_unstable();
        outputs.dedup();
        let position = |wanted: Node| nodes.iter().position(|node| *node == wanted);
        Schedule {
            scopes,
            is_first_to_fix: firsts_to_fix(library),
            samples_node: position(Node::Samples),
            expected_node: position(Node::Expected),
            n_live_max,
            n_steps_max: (0..entries.len()).map(|k| library.steps(k).len()).max().unwrap_or(0),
            n_lasting,
            n_outputs: outputs.len(),
            dropped,
            dropped_ends,
        }
    }

    /// The memory of the schedule.
    pub(crate) fn n_bytes(&self) -> u64 {
        let n_bytes = self.scopes.capacity() * size_of::<Scope>()
            + self.is_first_to_fix.capacity()
            + (self.dropped.capacity() + self.dropped_ends.capacity()) * size_of::<u32>();
        n_bytes as u64
    }

    /// The number of values of a sample.
    pub(crate) fn n_of_samples(&self) -> usize {
        self.dropped.len()
    }

    /// The nodes whose values no program after this one needs.
    pub(crate) fn dropped_after(&self, program: usize) -> &[u32] {
        let start = match program {
            0 => 0,
            _ => self.dropped_ends[program - 1] as usize,
        };
        &self.dropped[start..self.dropped_ends[program] as usize]
    }
}

fn scopes(nodes: &[Node]) -> Vec<Scope> {
    let mut scopes: Vec<Scope> = Vec::with_capacity(nodes.len());
    for node in nodes {
        scopes.push(match node {
            Node::Input | Node::Expected => Scope::Sample,
            Node::Samples => Scope::Task,
            Node::Constant(..) => Scope::Always,
            Node::Call(head, args, ..) => {
                let function = match head {
                    Head::Node(f) => Some(f),
                    Head::Primitive(_) | Head::Tuple => None,
                };
                let parts = args.iter().chain(function);
                let longest = parts.map(|&part| scopes[part as usize]).max();
                longest.unwrap_or(Scope::Always)
            }
        });
    }
    scopes
}

fn firsts_to_fix(library: &Library) -> Vec<bool> {
    let nodes = &library.nodes;
    let shortcut = |head: &Head| match head {
        Head::Primitive(p) => Primitive::at(*p).traits.shortcut,
        Head::Node(_) | Head::Tuple => None,
    };
    let mut is_one: Vec<bool> = nodes
        .iter()
        .map(|node| match node {
            Node::Call(head, args, Guard::Open, ..) => {
                matches!(shortcut(head), Some(Shortcut::First)) && args.len() == 1
            }
            _ => false,
        })
        .collect();
    for node in nodes {
        let Node::Call(head, args, ..) = node else {
            continue;
        };
        if let Head::Node(f) = head {
            is_one[*f as usize] = false;
        }
        let fixes = matches!(shortcut(head), Some(Shortcut::BindFirst(_))) && args.len() == 2;
        for (k, &arg) in args.iter().enumerate() {
            if !(fixes && k == 1) {
                is_one[arg as usize] = false;
            }
        }
    }
    for entry in &library.entries {
        is_one[entry.output as usize] = false;
    }
    is_one
}

#[cfg(test)]
mod tests {
    use crate::{Library, parse};

    fn library(text: &str) -> Library {
        let parsed = parse("mine.py", text);
        assert!(parsed.errors.is_empty(), "{}", parsed.errors[0]);
        Library::new(parsed.programs)
    }

    /// How many lookups of a first element can be deferred in programs with these last lines.
    fn n_to_fix(last_lines: &[&str]) -> usize {
        let program = |(k, last): (usize, &&str)| {
            format!("def p{k}(I):\n    s = objects(I, T, F, T)\n    x = first(s)\n    {last}\n")
        };
        let text: String = last_lines.iter().enumerate().map(program).collect();
        let library = library(&text);
        let marks = &library.schedule().is_first_to_fix;
        marks.iter().filter(|&&mark| mark).count()
    }

    #[test]
    fn a_first_element_waits_only_if_nothing_reads_it() {
        assert_eq!(n_to_fix(&["return lbind(shift, x)"]), 1);
        assert_eq!(n_to_fix(&["return rbind(shift, x)", "return lbind(add, x)"]), 1);
        // Some program returns the element, calls it, puts it into another value, or binds it as the function.
        for look in [
            "return x",
            "return x(I)",
            "return astuple(x, I)",
            "return lbind(x, I)",
            "return lbind(shift, x, I)",
            "return compose(shift, x)",
        ] {
            assert_eq!(n_to_fix(&[look]), 0, "{look}");
            assert_eq!(n_to_fix(&["return lbind(shift, x)", look]), 0, "{look}");
        }
    }

    #[test]
    fn values_are_counted_from_their_first_user_to_their_last() {
        let text = "
def a(I):
    x1 = hmirror(I)
    x2 = vmirror(x1)
    return x2
def b(I):
    x1 = rot90(I)
    return x1
def c(I):
    x1 = hmirror(I)
    x2 = rbind(add, ONE)
    x3 = rot180(x1)
    return x3
";
        let library = library(text);
        let schedule = library.schedule();
        // hmirror lasts from a to c; the others are dropped after their only user.
        assert_eq!(schedule.n_live_max, 2);
        assert_eq!((schedule.n_lasting, schedule.n_outputs), (0, 3));
        let n_dropped = |program| schedule.dropped_after(program).len();
        assert_eq!([0, 1, 2].map(n_dropped), [1, 1, 2]);
    }
}
