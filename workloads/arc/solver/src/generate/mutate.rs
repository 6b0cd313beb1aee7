//! Mutants: programs with arguments, functions and constants replaced by others of the same type, and programs spliced.

use crate::language::cone::{moved, needed, operands};
use crate::language::dialect::Dialect;
use crate::language::program::{Callee, Constant, Operand, PAIRS, Program, Statement};
use crate::language::result_type::{ResultType, operand_type, result_types};
use crate::{PRIMITIVES, Primitive};
use std::collections::{HashMap, HashSet};
use swathe::seed::{draw, mix};

/// Makes this many different mutants of programs, or fewer if no more are found. All are different from the programs.
/// They are called by their digests, and depend on the seed and the programs alone; a larger number of mutants begins
/// with those of a smaller one.
///
/// ```
/// use swathe_arc::{mutants, parse};
/// let programs = parse("mine.py", "def a(I):\n    x1 = vmirror(I)\n    return upscale(x1, TWO)\n").programs;
/// let made = mutants(&programs, 7, 20);
/// assert_eq!(made.len(), 20);
/// assert_eq!(made[..5], mutants(&programs, 7, 5));
/// ```
pub fn mutants(programs: &[Program], seed: u64, n: usize) -> Vec<Program> {
    let pool: Vec<Parent> = programs.iter().map(Parent::of).collect();
    let pool: Vec<Parent> =
        pool.into_iter().filter(|parent| !parent.program.statements.is_empty()).collect();
    let mut made = Vec::with_capacity(n);
    if pool.is_empty() {
        return made;
    }
    let alternatives: HashMap<Dialect, Alternatives> =
        Dialect::ALL.into_iter().map(|dialect| (dialect, Alternatives::of(dialect))).collect();
    let mut seen: HashSet<String> = pool.iter().map(|p| p.program.digest()).collect();
    // Small programs have few mutants, so that most attempts may repeat one.
    let n_attempts = 100 * n as u64 + 1000;
    for attempt in 0..n_attempts {
        if made.len() == n {
            break;
        }
        let mut chance = Chance(mix(seed ^ mix(attempt)));
        let parent = &pool[chance.below(pool.len())];
        let mut program = parent.program.clone();
        let of_dialect = &alternatives[&program.dialect];
        // One change, and half of the time one more.
        for _ in 0..4 {
            change(&mut program, &pool, of_dialect, &mut chance);
            if chance.below(2) == 0 {
                break;
            }
        }
        let program = program.minimised();
        let reads = |operand: &Operand| matches!(operand, Operand::Input | Operand::Samples);
        let is_constant = !program.statements.iter().flat_map(operands).any(reads);
        let digest = program.digest();
        if !is_constant && seen.insert(digest.clone()) {
            made.push(Program { name: format!("mutant_{digest}"), row: None, line: 1, ..program });
        }
    }
    made
}

/// Longer programs are not made by splicing.
const N_STATEMENTS_MAX: usize = 200;

/// A program that mutants are made from.
struct Parent {
    program: Program,
    types: Vec<ResultType>,
}

impl Parent {
    fn of(program: &Program) -> Parent {
        let program = program.minimised();
        Parent { types: result_types(&program.statements), program }
    }
}

struct Chance(u64);

impl Chance {
    /// A number below `n`, which is not 0.
    fn below(&mut self, n: usize) -> usize {
        (draw(&mut self.0) % n as u64) as usize
    }

    fn one_of<T>(&mut self, items: Vec<T>) -> Option<T> {
        let n = items.len();
        (n > 0).then(|| items.into_iter().nth(self.below(n)))?
    }
}

/// For each primitive of a dialect, those that can take its place.
struct Alternatives {
    /// Where it is called.
    called: HashMap<u16, Vec<u16>>,
    /// Where it is an argument.
    passed: HashMap<u16, Vec<u16>>,
}

impl Alternatives {
    fn of(dialect: Dialect) -> Alternatives {
        let rows = (0..PRIMITIVES.len() as u16).filter(|&p| Primitive::at(p).is_in(dialect));
        let rows: Vec<u16> = rows.collect();
        let others = |is_like: &dyn Fn(u16, u16) -> bool| -> HashMap<u16, Vec<u16>> {
            let of = |p: u16| {
                let like = rows.iter().copied().filter(|&q| q != p && is_like(p, q));
                (p, like.collect())
            };
            rows.iter().map(|&p| of(p)).collect()
        };
        let row = Primitive::at;
        Alternatives {
            called: others(&|p, q| {
                row(p).parameters == row(q).parameters && row(p).result == row(q).result
            }),
            passed: others(&|p, q| {
                row(p).n_args == row(q).n_args && row(p).result == row(q).result
            }),
        }
    }
}

/// Changes one thing, if some change of the kind that is drawn, or of a later kind, is possible.
fn change(program: &mut Program, pool: &[Parent], of: &Alternatives, chance: &mut Chance) {
    let first = chance.below(4);
    for kind in (first..first + 4).map(|kind| kind % 4) {
        let is_changed = match kind {
            0 => change_callee(program, of, chance),
            1 => change_constant(program, of, chance),
            2 => change_variable(program, chance),
            _ => splice(program, pool, chance),
        };
        if is_changed.is_some() {
            return;
        }
    }
}

fn change_callee(program: &mut Program, of: &Alternatives, chance: &mut Chance) -> Option<()> {
    let primitive = |statement: &Statement| match &statement.callee {
        Callee::Function(Operand::Constant(Constant::Primitive(p))) => Some(*p),
        _ => None,
    };
    let places = program.statements.iter().enumerate();
    let places = places.filter_map(|(k, statement)| {
        let others = of.called.get(&primitive(statement)?)?;
        (!others.is_empty()).then_some((k, others))
    });
    let (place, others) = chance.one_of(places.collect())?;
    let other = chance.one_of(others.clone())?;
    program.statements[place].callee =
        Callee::Function(Operand::Constant(Constant::Primitive(other)));
    Some(())
}

/// The places of arguments: statement and argument.
fn arguments(program: &Program, is_wanted: impl Fn(&Operand) -> bool) -> Vec<(usize, usize)> {
    let statements = program.statements.iter().enumerate();
    let places = statements.flat_map(|(k, statement)| {
        let args = statement.args.iter().enumerate();
        let wanted = args.filter(|(_, arg)| is_wanted(arg));
        wanted.map(move |(at, _)| (k, at))
    });
    places.collect()
}

fn change_constant(program: &mut Program, of: &Alternatives, chance: &mut Chance) -> Option<()> {
    let places = arguments(program, |arg| matches!(arg, Operand::Constant(_)));
    let (k, at) = chance.one_of(places)?;
    let arg = &program.statements[k].args[at];
    let Operand::Constant(constant) = arg else {
        return None;
    };
    let other = match constant {
        Constant::Bool(b) => Constant::Bool(!b),
        Constant::Int(n) => {
            let steps = [n.checked_add(1), n.checked_sub(1)];
            let near = steps.into_iter().flatten();
            // Neighbours are as likely as all other colours together.
            let far = (0..10).filter(|m| m != n);
            let numbers = match chance.below(2) {
                0 => near.collect(),
                _ => far.collect(),
            };
            Constant::Int(chance.one_of(numbers)?)
        }
        Constant::Big(_) => Constant::Int(chance.one_of((0..10).collect())?),
        Constant::Primitive(p) => Constant::Primitive(chance.one_of(of.passed.get(p)?.clone())?),
        Constant::Tuple(_) if operand_type(arg, &[]) == ResultType::Pair => {
            let named = PAIRS.map(|(_, pair)| Constant::pair(pair));
            let others = named.into_iter().filter(|other| other != constant);
            chance.one_of(others.collect())?
        }
        Constant::None | Constant::Tuple(_) => return None,
    };
    program.statements[k].args[at] = Operand::Constant(other);
    Some(())
}

fn is_variable(operand: &Operand) -> bool {
    matches!(operand, Operand::Input | Operand::Result(_))
}

fn change_variable(program: &mut Program, chance: &mut Chance) -> Option<()> {
    let types = result_types(&program.statements);
    let (k, at) = chance.one_of(arguments(program, is_variable))?;
    let old = &program.statements[k].args[at];
    let wanted = operand_type(old, &types);
    let earlier = (0..k as u32).map(Operand::Result);
    let others = earlier.chain([Operand::Input]);
    let others = others.filter(|o| o != old && operand_type(o, &types) == wanted);
    let other = chance.one_of(others.collect())?;
    program.statements[k].args[at] = other;
    Some(())
}

/// Puts a part of another program in the place of an argument of the same type.
fn splice(program: &mut Program, pool: &[Parent], chance: &mut Chance) -> Option<()> {
    let types = result_types(&program.statements);
    let (k, at) = chance.one_of(arguments(program, is_variable))?;
    let wanted = operand_type(&program.statements[k].args[at], &types);
    let other = &pool[chance.below(pool.len())];
    if wanted == ResultType::Any || other.program.dialect != program.dialect {
        return None;
    }
    let places = (0..other.types.len() as u32).filter(|&n| other.types[n as usize] == wanted);
    let place = chance.one_of(places.collect())?;
    let (part, output) = needed(&other.program.statements, &[], Operand::Result(place));
    if part.len() + program.statements.len() > N_STATEMENTS_MAX {
        return None;
    }
    let n_before = k as u32;
    let n_more = part.len() as u32;
    let shifted = |n: u32| if n < n_before { n } else { n + n_more };
    let rest = program.statements.split_off(k);
    let part = part.iter().map(|s| moved(s, |n| n + n_before));
    program.statements.extend(part);
    let rest = rest.iter().map(|s| moved(s, shifted));
    program.statements.extend(rest);
    if let Operand::Result(n) = &mut program.output {
        *n = shifted(*n);
    }
    let Operand::Result(output) = output else {
        return None;
    };
    program.statements[k + n_more as usize].args[at] = Operand::Result(output + n_before);
    Some(())
}
