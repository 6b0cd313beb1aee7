//! The types of values: what may take the place of what in a program.

use crate::language::primitive::Primitive;
use crate::language::program::{Callee, Constant, Operand, Statement};

/// What kind of value an operand is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum ResultType {
    Grid,
    /// A set of places or cells.
    Patch,
    /// A set or tuple of patches.
    Objects,
    Int,
    Bool,
    Pair,
    Function,
    /// All demonstrations.
    Samples,
    /// The type of the first argument.
    OfFirst,
    /// Anything.
    Any,
}

use ResultType::{Any, Bool, Function, Grid, Int, OfFirst, Pair, Samples};

/// The type of an operand, given those of earlier results.
pub(crate) fn operand_type(operand: &Operand, results: &[ResultType]) -> ResultType {
    match operand {
        Operand::Input | Operand::Expected => Grid,
        Operand::Samples => Samples,
        Operand::Result(k) => results[*k as usize],
        Operand::Constant(constant) => match constant {
            Constant::None => Any,
            Constant::Bool(_) => Bool,
            Constant::Int(_) | Constant::Big(_) => Int,
            Constant::Primitive(_) => Function,
            Constant::Tuple(items) => match items.as_slice() {
                [Constant::Int(_), Constant::Int(_)] => Pair,
                _ => Any,
            },
        },
    }
}

/// The types of the results of statements.
pub(crate) fn result_types(statements: &[Statement]) -> Vec<ResultType> {
    let mut types: Vec<ResultType> = Vec::with_capacity(statements.len());
    for statement in statements {
        let made = match &statement.callee {
            Callee::Function(Operand::Constant(Constant::Primitive(p))) => Primitive::at(*p).result,
            _ => Any,
        };
        types.push(match (made, statement.args.first()) {
            (OfFirst, Some(first)) => operand_type(first, &types),
            (OfFirst, None) => Any,
            (made, _) => made,
        });
    }
    types
}

#[cfg(test)]
mod tests {
    use super::ResultType::Objects;
    use super::*;
    use crate::{Dialect, parse_in};

    #[test]
    fn types_follow_the_arguments() {
        let text = "def a(S, I, C):\n    x1 = identity(I)\n    x2 = o_g(x1, R5)\n    x3 = get_nth_f(x2, F0)\n    x4 = height_f(x3)\n    x5 = increment(x4)\n    x6 = increment(UNITY)\n    x7 = rbind(o_g, R5)\n    return x7\n";
        let program = &parse_in("a.py", text, Dialect::Batt).programs[0];
        assert_eq!(
            result_types(&program.statements),
            [Grid, Objects, Any, Int, Int, Pair, Function]
        );
    }
}
