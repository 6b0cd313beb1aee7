//! The heads of functions: their parameters, with or without types.

use super::Outcome;
use super::cursor::Cursor;
use crate::language::program::Operand;
use std::collections::HashMap;

/// The parameters of a program: the input, or the demonstrations, the input and the expected output, which may be left
/// out.
pub(super) fn solver_parameters<'a>(
    head: &mut Cursor<'_, 'a>,
) -> Outcome<HashMap<&'a str, Operand>> {
    head.expect("(", "`(`")?;
    let first = parameter(head, "the input's name")?;
    let at_second = head.at;
    let mut others = Vec::new();
    while head.is_at(",") {
        head.at += 1;
        if head.is_at(")") {
            break;
        }
        others.push(parameter(head, "a parameter's name")?);
    }
    let variables = match others[..] {
        [] => HashMap::from([(first, Operand::Input)]),
        ["I"] if first == "S" => HashMap::from([(first, Operand::Samples), ("I", Operand::Input)]),
        [second, third] => HashMap::from([
            (first, Operand::Samples),
            (second, Operand::Input),
            (third, Operand::Expected),
        ]),
        _ => {
            head.at = at_second;
            return Err(head.unexpected("`)`: a program has one argument, or S, I and C"));
        }
    };
    end(head, "`)`: a program has one argument, or S, I and C")?;
    Ok(variables)
}

const BATT_PARAMETERS: [&str; 5] = [
    "the name of the task's name",
    "the name of the demonstrations",
    "the name of the input",
    "the name of the expected output",
    "the name of the log's path",
];

/// The five parameters of `batt`, known by their place.
pub(super) fn batt_parameters<'a>(head: &mut Cursor<'_, 'a>) -> Outcome<HashMap<&'a str, Operand>> {
    head.expect("(", "`(`")?;
    let mut names = Vec::new();
    for wanted in BATT_PARAMETERS {
        if !names.is_empty() {
            head.expect(",", "`,`: `batt` has five arguments")?;
        }
        names.push(parameter(head, wanted)?);
    }
    end(head, "`)`: `batt` has five arguments")?;
    Ok(HashMap::from([
        (names[1], Operand::Samples),
        (names[2], Operand::Input),
        (names[3], Operand::Expected),
    ]))
}

/// A parameter, and its type if it has one.
fn parameter<'a>(head: &mut Cursor<'_, 'a>, wanted: &'static str) -> Outcome<&'a str> {
    let name = head.name(wanted)?.text;
    if head.is_at(":") {
        head.at += 1;
        head.skip_type(&[",", ")"]);
    }
    Ok(name)
}

/// The end of a head, with the type of the result if it has one.
fn end(head: &mut Cursor<'_, '_>, wanted: &'static str) -> Outcome<()> {
    head.expect(")", wanted)?;
    if head.is_at("-") {
        head.at += 1;
        head.expect(">", "`>`")?;
        head.skip_type(&[":"]);
    }
    head.expect(":", "`:`")?;
    head.end()
}

/// Skips the type of a variable that is being set.
pub(super) fn skip_annotation(line: &mut Cursor<'_, '_>) {
    if line.is_at(":") {
        line.at += 1;
        line.skip_type(&["="]);
    }
}
