//! Programs of a library as text and in the DOT language.

use crate::Primitive;
use crate::evaluate::library::{Guard, Head, Library, Node};
use crate::language::program::Constant;
use std::fmt::Write;

impl Library {
    /// One program's graph as text: a line per node, `*` where other programs use it too, `try` where a
    /// failure gives a safe default.
    ///
    /// ```
    /// use swathe_arc::{Library, parse};
    /// let programs = parse("mine.py", "def a(I):\n    return vmirror(hmirror(I))\n").programs;
    /// assert_eq!(Library::new(programs).text(0), "a\n  n1 = hmirror(I)\n  n2 = vmirror(n1)\n  return n2\n");
    /// ```
    ///
    /// # Panics
    /// If there is no program of this number.
    pub fn text(&self, program: usize) -> String {
        let mut out = format!("{}\n", self.name(program));
        for step in self.steps_once(program) {
            let shared = if self.is_shared(program, step) { " *" } else { "" };
            let _ = writeln!(out, "  n{step} = {}{shared}", self.expression(step));
        }
        let _ = writeln!(out, "  return {}", self.reference(self.entries[program].output));
        out
    }

    /// One program's graph in the DOT language; shared nodes are filled.
    ///
    /// # Panics
    /// If there is no program of this number.
    pub fn dot(&self, program: usize) -> String {
        let mut out =
            format!("digraph \"{}\" {{\n  rankdir=LR;\n  node [shape=box];\n", self.name(program));
        let _ = writeln!(out, "  n0 [label=\"I\"];");
        for step in self.steps_once(program) {
            let Node::Call(head, args, ..) = &self.nodes[step as usize] else {
                continue;
            };
            let mut label = match head {
                Head::Primitive(p) => Primitive::at(*p).name.to_string(),
                Head::Node(_) => "call".to_string(),
                Head::Tuple => "tuple".to_string(),
            };
            let mut sources: Vec<u32> = if let Head::Node(f) = head { vec![*f] } else { vec![] };
            for &arg in args.iter() {
                match &self.nodes[arg as usize] {
                    Node::Constant(..) | Node::Samples | Node::Expected => {
                        let _ = write!(label, " {}", self.reference(arg));
                    }
                    _ => sources.push(arg),
                }
            }
            let style = if self.is_shared(program, step) { " style=filled" } else { "" };
            let _ = writeln!(out, "  n{step} [label=\"{label}\"{style}];");
            for source in sources {
                let _ = writeln!(out, "  n{source} -> n{step};");
            }
        }
        let _ = writeln!(
            out,
            "  output [shape=plain];\n  n{} -> output;\n}}",
            self.entries[program].output
        );
        out
    }

    /// The nodes of a program, each once, in the program's order.
    fn steps_once(&self, program: usize) -> impl Iterator<Item = u32> {
        let mut seen = std::collections::HashSet::new();
        let steps = self.steps(program).iter().copied();
        steps.filter(move |step| seen.insert(*step))
    }

    fn is_shared(&self, program: usize, step: u32) -> bool {
        (0..self.len()).any(|k| k != program && self.steps(k).contains(&step))
    }

    /// The call that a node stands for.
    pub(crate) fn expression(&self, node: u32) -> String {
        match &self.nodes[node as usize] {
            Node::Call(head, args, guard, ..) => {
                let name = match head {
                    Head::Primitive(p) => Primitive::at(*p).name.to_string(),
                    Head::Node(f) => self.reference(*f),
                    Head::Tuple => String::new(),
                };
                let args: Vec<String> = args.iter().map(|&a| self.reference(a)).collect();
                let guard = match guard {
                    Guard::Open => "",
                    Guard::Guarded => "try ",
                };
                format!("{guard}{name}({})", args.join(", "))
            }
            _ => self.reference(node),
        }
    }

    fn reference(&self, node: u32) -> String {
        match &self.nodes[node as usize] {
            Node::Input => "I".into(),
            Node::Samples => "S".into(),
            Node::Expected => "C".into(),
            Node::Constant(c, _) => constant(c),
            Node::Call(..) => format!("n{node}"),
        }
    }
}

fn constant(c: &Constant) -> String {
    match c {
        Constant::None => "None".into(),
        Constant::Bool(b) => if *b { "True" } else { "False" }.into(),
        Constant::Int(n) => n.to_string(),
        Constant::Big(n) => n.to_string(),
        Constant::Primitive(p) => Primitive::at(*p).name.into(),
        Constant::Tuple(items) => {
            let items: Vec<String> = items.iter().map(constant).collect();
            let comma = if items.len() == 1 { "," } else { "" };
            format!("({}{comma})", items.join(", "))
        }
    }
}
