//! The types that primitives give, as far as their names tell: what may take the place of what in a program.

use crate::PRIMITIVES;
use crate::language::program::{Callee, Constant, Operand, Statement};
use std::sync::LazyLock;

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

use ResultType::{Any, Bool, Function, Grid, Int, Objects, OfFirst, Pair, Patch, Samples};

/// Names by type. A name of `batt` with a suffix for the kind of container (`_t`, `_f`, `_i`, `_o`) has the type of the
/// name without it, unless it stands here itself.
const NAMES: [(ResultType, &str); 8] = [
    (
        Grid,
        "rot90 rot180 rot270 fill paint underfill underpaint hupscale vupscale downscale hconcat vconcat subgrid \
         cellwise replace switch canvas cover trim move tophalf bottomhalf lefthalf righthalf compress crop cmirror_t \
         dmirror_t hmirror_t vmirror_t mir_rot_t upscale_t normalize_t",
    ),
    (
        Patch,
        "asindices ofcolor f_ofcolor toindices recolor shift normalize dneighbors ineighbors neighbors toobject \
         asobject corners connect vfrontier hfrontier backdrop delta inbox outbox box shoot occurrences cmirror_f \
         cmirror_i cmirror_o dmirror_f dmirror_i dmirror_o hmirror_f hmirror_i hmirror_o vmirror_f vmirror_i vmirror_o \
         mir_rot_f upscale_f",
    ),
    (
        Objects,
        "objects objects_g o_g o_g_tuple partition fgpartition frontiers colorfilter sizefilter hsplit vsplit",
    ),
    (
        Int,
        "size maximum minimum valmax valmin mostcolor leastcolor height width colorcount uppermost lowermost leftmost \
         rightmost numcolors color index manhattan hperiod vperiod get_color_rank get_rank c_iz_n c_zo_n col_row",
    ),
    (
        Bool,
        "even flip equality contained greater both either positive portrait square vline hline hmatching vmatching \
         adjacent bordering",
    ),
    (
        Pair,
        "toivec tojvec shape ulcorner urcorner llcorner lrcorner corner center centerofmass position gravitate toij",
    ),
    (Function, "compose chain matcher rbind lbind power fork"),
    (
        OfFirst,
        "identity hmirror vmirror dmirror cmirror upscale add subtract multiply divide invert double halve increment \
         decrement crement sign difference intersection combine insert remove sfilter dedupe",
    ),
];

/// The type of a primitive's results.
pub(crate) fn result_type(primitive: u16) -> ResultType {
    static TYPES: LazyLock<Vec<ResultType>> =
        LazyLock::new(|| PRIMITIVES.iter().map(|p| type_of(p.name)).collect());
    TYPES[primitive as usize]
}

fn type_of(name: &str) -> ResultType {
    let named = |name: &str| {
        let mut types = NAMES.iter();
        let found = types.find(|(_, names)| names.split_whitespace().any(|n| n == name));
        found.map(|(of, _)| *of)
    };
    let ends = ["_t", "_f", "_i", "_o"];
    let stem = ends.iter().find_map(|end| name.strip_suffix(end));
    named(name).or_else(|| stem.and_then(named)).unwrap_or(Any)
}

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
            Callee::Function(Operand::Constant(Constant::Primitive(p))) => result_type(*p),
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
    use super::*;
    use crate::{Dialect, Primitive, parse_in};

    #[test]
    fn every_name_is_one_of_a_primitive() {
        for (of, names) in NAMES {
            for name in names.split_whitespace() {
                let is_it = |primitive: &&Primitive| {
                    let stem = primitive.name.rsplit_once('_').map(|(stem, _)| stem);
                    primitive.name == name || stem == Some(name)
                };
                let found = PRIMITIVES.iter().find(is_it);
                assert!(found.is_some(), "{name} of {of:?}");
            }
        }
    }

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
