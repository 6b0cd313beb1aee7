//! Functions of one argument written as `lambda x: …`, made from `compose`, `fork`, `lbind` and `rbind`.

use super::cursor::Cursor;
use super::expression::{Body, DEPTH_MAX, arguments, primitive_of};
use super::token::{Kind, Token};
use super::{Outcome, Reason};
use crate::language::program::{Callee, Operand};

/// The body of a function, before its argument is known.
enum Tree {
    /// The argument.
    Argument,
    /// Anything that does not depend on it.
    Value(Operand),
    Call(Operand, Vec<Tree>),
    /// A call that fails, because its arguments have names that the callee does not know.
    Failure(Operand),
}

/// Reads a function after the word `lambda`.
pub(super) fn function<'a>(
    body: &mut Body<'a>,
    cursor: &mut Cursor<'_, 'a>,
    depth: usize,
) -> Outcome<Operand> {
    let argument = cursor.name("the name of the argument")?;
    cursor.expect(":", "`:`: a function has one argument")?;
    let tree = tree(body, cursor, argument, depth + 1)?;
    let wanted =
        "a function that calls primitives, with its argument in at most two places of a call";
    made(body, tree).ok_or_else(|| cursor.source.error(&argument, Reason::Expected { wanted }))
}

fn tree<'a>(
    body: &mut Body<'a>,
    cursor: &mut Cursor<'_, 'a>,
    argument: Token<'a>,
    depth: usize,
) -> Outcome<Tree> {
    let Some(token) = cursor.peek().filter(|t| t.kind == Kind::Name) else {
        return body.expression(cursor, depth).map(Tree::Value);
    };
    if depth > DEPTH_MAX {
        return Err(cursor.source.error(&token, Reason::TooDeep));
    }
    cursor.at += 1;
    if token.text == argument.text {
        return Ok(Tree::Argument);
    }
    let callee = body.name(cursor, token)?;
    if !cursor.is_at("(") {
        return Ok(Tree::Value(callee));
    }
    cursor.at += 1;
    let args = arguments(cursor, &mut |cursor: &mut Cursor<'_, 'a>| {
        tree(body, cursor, argument, depth + 1)
    })?;
    Ok(match args.bound(primitive_of(&callee), cursor)? {
        Ok(args) => Tree::Call(callee, args),
        Err(_) => Tree::Failure(callee),
    })
}

/// The statements that make the function; None if the argument is in places that bound functions cannot reach.
fn made(body: &mut Body<'_>, tree: Tree) -> Option<Operand> {
    let identity = body.primitive("identity")?;
    let (callee, args) = match tree {
        Tree::Argument => return Some(identity),
        Tree::Value(_) => return None,
        Tree::Failure(callee) => {
            // Called with one argument or with two, whichever is wrong.
            let takes_one = primitive_of(&callee).is_some_and(|p| p.takes(1));
            return if takes_one {
                made_by(body, "fork", vec![callee, identity.clone(), identity])
            } else {
                made_by(body, "compose", vec![callee, identity])
            };
        }
        Tree::Call(callee, args) => (callee, args),
    };
    let is_open = |tree: &Tree| !matches!(tree, Tree::Value(_));
    let open: Vec<usize> = (0..args.len()).filter(|&k| is_open(&args[k])).collect();
    let mut function = callee;
    match open[..] {
        [0] => {
            let mut args = args.into_iter();
            let first = args.next()?;
            // The last argument is bound first; what remains takes one argument less.
            for arg in args.rev() {
                let Tree::Value(fixed) = arg else { return None };
                function = made_by(body, "rbind", vec![function, fixed])?;
            }
            let first = made(body, first)?;
            made_by(body, "compose", vec![function, first])
        }
        [1] if args.len() == 2 => {
            let mut args = args.into_iter();
            let (Some(Tree::Value(fixed)), Some(second)) = (args.next(), args.next()) else {
                return None;
            };
            let function = made_by(body, "lbind", vec![function, fixed])?;
            let second = made(body, second)?;
            made_by(body, "compose", vec![function, second])
        }
        [0, 1] if args.len() == 2 => {
            let mut args = args.into_iter();
            let first = made(body, args.next()?)?;
            let second = made(body, args.next()?)?;
            made_by(body, "fork", vec![function, first, second])
        }
        _ => None,
    }
}

fn made_by(body: &mut Body<'_>, name: &str, args: Vec<Operand>) -> Option<Operand> {
    let callee = body.primitive(name)?;
    Some(body.push(Callee::Function(callee), args))
}
