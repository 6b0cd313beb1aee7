//! Files of programs: what is accepted, and what errors say.

use swathe_arc::{Grid, Library, Limits, Order, encode, evaluate, parse};

/// The value that the only program of a file gives on a grid of one row.
fn value(text: &str) -> String {
    let parsed = parse("test.py", text);
    assert!(parsed.errors.is_empty(), "{}", parsed.errors[0]);
    let library = Library::new(parsed.programs);
    let grid = Grid::from_rows(&[vec![1, 2]]).expect("a grid");
    let results = evaluate(&library, &grid, Order::Cpython, Limits::default());
    results[0].as_ref().map_or_else(|f| f.name().to_string(), encode)
}

/// The first error of a file, as it is shown.
fn error(text: &str) -> String {
    parse("test.py", text).errors.first().expect("an error").to_string()
}

#[test]
fn styles() {
    assert_eq!(
        value("def solve_1(I):\n    x1 = vmirror(I)\n    O = hmirror(x1)\n    return O\n"),
        r#"{"grid":[[2,1]]}"#
    );
    let odd = "\u{feff}# a comment\nfrom dsl import *\nimport constants\n'''about\nthis'''\n\ndef s(grid):  # here\n\n\t\"doc\"\n\tx = add(\n\t    (1, -2),  # inside\n\t    3,\n\t)\n\n\treturn x";
    assert_eq!(value(odd), r#"{"tuple":[4,1]}"#);
    assert_eq!(
        value("def s(I): \r\n    return (I, (1, 2), T, None)\r\n"),
        r#"{"tuple":[{"grid":[[1,2]]},{"tuple":[1,2]},true,null]}"#
    );
    assert_eq!(value("def s(I):\n    return compose(size, first)(I)\n"), "2");
    assert_eq!(value("def s(I):\n    return ((I))\n"), r#"{"grid":[[1,2]]}"#);
    assert_eq!(value("def s(I):\n    add = I\n    return add\n"), r#"{"grid":[[1,2]]}"#);
    assert_eq!(value("def s(I):\n    return add(I)\n"), "TypeError");
    assert_eq!(value("def s(I):\n    return ONE(I)\n"), "TypeError");
    assert_eq!(value("def s(I):\n    return 5\n"), "5");
    assert_eq!(value("def s(I):\n    return rot90\n"), r#"{"fn":"rot90"}"#);
}

#[test]
fn errors_point_at_the_token() {
    assert_eq!(
        error("def s(I):\n    x1 = objcts(I, T, F, T)\n    return x1\n"),
        "test.py:2:10: unknown function `objcts`; did you mean `objects`?\n  |\n2 |     x1 = objcts(I, T, F, T)\n  |          ^^^^^^"
    );
    assert_eq!(
        error("\n\n\n\n\n\n\n\n\ndef s(I):\n\treturn first(x1\n"),
        "test.py:11:15: unknown name `x1`\n   |\n11 | \treturn first(x1\n   | \t             ^^"
    );
    assert_eq!(
        error("def s(I):\n    return first(I\n"),
        "test.py:2:19: expected `,` or `)`\n  |\n2 |     return first(I\n  |                   ^"
    );
}

#[test]
fn reasons() {
    let reason = |text: &str| {
        let shown = error(text);
        let line = shown.lines().next().expect("a line").to_string();
        line.trim_start_matches("test.py:").to_string()
    };
    assert_eq!(
        reason("def s(I):\n    x = first(y)\n    y = I\n    return x\n"),
        "2:15: `y` is used before it is set"
    );
    assert_eq!(
        reason("def s(I):\n    return s(I)\n"),
        "2:12: `s` calls itself; programs are straight lines"
    );
    assert_eq!(reason("def s(I):\n    x = I\n"), "1:5: no `return`");
    assert_eq!(reason("def s(I):\n    return I\n    x = I\n"), "3:5: nothing may follow `return`");
    let refused = "2:12: not a decimal integer, or too long for one";
    let n_digits = |n: usize| format!("def s(I):\n    return {}\n", "9".repeat(n));
    assert_eq!(parse("s.py", &n_digits(4300)).errors, []);
    assert_eq!(reason(&n_digits(4301)), refused);
    assert_eq!(reason("def s(I):\n    return 0x1F\n"), refused);
    assert_eq!(reason("def s(I):\n    return I + I\n"), "2:14: expected the end of the line");
    assert_eq!(
        reason("def s(I, J):\n    return I\n"),
        "1:8: expected `)`: a program has one argument, or S, I and C"
    );
    assert_eq!(reason("x = 3\n"), "1:1: expected `def`, an import or a comment");
    assert_eq!(
        reason("def s(I):\n    return NEGONE\n"),
        "2:12: unknown name `NEGONE`; did you mean `NEG_ONE`?"
    );
    let deep = format!("def s(I):\n    return {}I\n", "first(".repeat(1000));
    assert!(reason(&deep).ends_with("nested too deeply"));
}

#[test]
fn one_bad_program_spares_the_rest() {
    let text = "
def a(I):
    return I
def b(I):
    x = first((I
def a(I):
    return 1
!!
def c(I):
    return nothing(I)
def d(I):
    return 2
";
    let parsed = parse("test.py", text);
    let names: Vec<&str> = parsed.programs.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(names, ["a", "d"]);
    let rejected: Vec<Option<&str>> = parsed.errors.iter().map(|e| e.program.as_deref()).collect();
    assert_eq!(rejected, [Some("b"), Some("a"), None, Some("c")]);
}

#[test]
fn counts_of_a_merge() {
    let text = "
def a(I):
    x = hmirror(I)
    dead = compose(first, last)
    f = rbind(add, ONE)
    return vmirror(x)
def b(I):
    x = hmirror(I)
    y = rot90(x)
    return y
";
    let counts = Library::new(parse("test.py", text).programs).counts();
    assert_eq!((counts.n_programs, counts.n_statements), (2, 6));
    assert_eq!(
        (counts.n_distinct, counts.n_shared, counts.n_folded, counts.n_dropped),
        (3, 1, 0, 2)
    );
}

#[test]
fn of_a_long_line_only_what_is_around_the_mistake_is_shown() {
    let long = "é".repeat(500);
    let text = format!("def s(I):\n    x = vmirror({long}, 1 2, {long})\n    return x\n");
    let shown = error(&text);
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(lines.len(), 4, "{shown}");
    assert!(lines[0].starts_with("test.py:2:17: unknown name `éééé"), "{shown}");
    assert!(lines.iter().all(|line| line.chars().count() < 250), "{shown}");
    assert!(lines[2].starts_with("2 |     x = vmirror(ééé") && lines[2].ends_with("é…"), "{shown}");
    assert!(lines[3].starts_with("  |                 ^^^"), "{shown}");
}
