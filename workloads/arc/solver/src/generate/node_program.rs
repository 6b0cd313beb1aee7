//! A node of a merged graph as a program of its own.

use crate::evaluate::library::{Guard, Head, Library, Node};
use crate::language::program::{Callee, Constant, Operand, Program, Statement};
use std::collections::HashMap;

impl Library {
    /// A program of the library with only the statements that its output needs, each once, as
    /// [`Program::minimised`] makes it.
    ///
    /// ```
    /// use swathe_arc::{Library, parse};
    /// let text = "def a(I):\n    x1 = hmirror(I)\n    x2 = vmirror(I)\n    return x2\n";
    /// let program = Library::new(parse("mine.py", text).programs).program(0);
    /// assert_eq!(program.definition("b"), "def b(I):\n    O = vmirror(I)\n    return O\n");
    /// ```
    ///
    /// # Panics
    /// If there is no program of this number.
    pub fn program(&self, number: usize) -> Program {
        let entry = &self.entries[number];
        Program {
            name: self.name(number).to_owned(),
            dialect: entry.dialect,
            ..self.program_at(entry.output).minimised()
        }
    }

    /// The program whose output is this node, with the statements that it needs.
    pub(crate) fn program_at(&self, node: u32) -> Program {
        let wanted = self.cone(node);
        let places: HashMap<u32, u32> = wanted.iter().copied().zip(0..).collect();
        let operand = |id: u32| match &self.nodes[id as usize] {
            Node::Input => Operand::Input,
            Node::Samples => Operand::Samples,
            Node::Expected => Operand::Expected,
            Node::Constant(constant, _) => Operand::Constant(constant.clone()),
            Node::Call(..) => Operand::Result(places[&id]),
        };
        let mut dialect = Default::default();
        let mut statements = Vec::with_capacity(wanted.len());
        for &id in &wanted {
            let Node::Call(head, args, guard, of, _) = &self.nodes[id as usize] else {
                continue;
            };
            dialect = *of;
            statements.push(Statement {
                callee: match head {
                    Head::Primitive(p) => {
                        Callee::Function(Operand::Constant(Constant::Primitive(*p)))
                    }
                    Head::Node(f) => Callee::Function(operand(*f)),
                    Head::Tuple => Callee::Tuple,
                },
                args: args.iter().map(|&arg| operand(arg)).collect(),
                is_guarded: *guard == Guard::Guarded,
            });
        }
        Program {
            name: String::new(),
            line: 1,
            dialect,
            row: None,
            statements,
            output: operand(node),
        }
    }
}
