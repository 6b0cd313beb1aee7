//! Guarded lines: `try: t1 = callee(names)`, `except …: t1 = _get_safe_default(callee)`.

use super::cursor::Cursor;
use super::expression::Body;
use super::token::{Line, Token};
use super::{Outcome, Reason, Source};
use crate::language::program::Callee;

/// A guarded line whose head and handler are right; its call is still to be read.
pub(super) struct Guarded<'t, 'a> {
    /// The variable.
    pub(super) name: Token<'a>,
    /// What is called.
    pub(super) callee: Token<'a>,
    /// At the callee.
    pub(super) call: Cursor<'t, 'a>,
}

/// How many lines belong to a `try:`: those indented below it and below its handler. Any other line stands alone.
pub(super) fn n_lines(lines: &[Line<'_>]) -> usize {
    if lines[0].tokens[0].text != "try" {
        return 1;
    }
    let column = lines[0].tokens[0].column;
    let inside = |line: &Line<'_>| line.tokens[0].column > column;
    let mut n = 1 + lines[1..].iter().take_while(|line| inside(line)).count();
    while lines
        .get(n)
        .is_some_and(|line| line.tokens[0].column == column && line.tokens[0].text == "except")
    {
        n += 1;
        n += lines[n..].iter().take_while(|line| inside(line)).count();
    }
    n
}

/// Reads everything but the call.
pub(super) fn guarded<'t, 'a>(
    source: Source<'a>,
    lines: &'t [Line<'a>],
) -> Outcome<Guarded<'t, 'a>> {
    let mut head = Cursor::new(source, &lines[0]);
    head.at = 1;
    head.expect(":", "`:`")?;
    head.end()?;
    let [_, call, handler, default] = lines else {
        let last = lines.last().expect("a guarded line has a head");
        let mut end = Cursor::new(source, last);
        end.at = last.tokens.len();
        return Err(
            end.unexpected("one line, `except …:` and `… = _get_safe_default(…)` after `try:`")
        );
    };
    let mut call = Cursor::new(source, call);
    let name = call.name("a variable's name")?;
    call.expect("=", "`=`")?;
    let callee = call.name("a function's name")?;
    call.at -= 1;
    let mut handler = Cursor::new(source, handler);
    handler.expect("except", "`except`")?;
    handler.at = handler.tokens.len() - 1;
    handler.expect(":", "`:`")?;
    let wanted = [name.text, "=", "_get_safe_default", "(", callee.text, ")"];
    let found = default.tokens.iter().map(|t| t.text);
    if !found.eq(wanted) {
        let wanted = format!("{} = _get_safe_default({})", name.text, callee.text);
        return Err(source.error(&default.tokens[0], Reason::OtherDefault { wanted }));
    }
    Ok(Guarded { name, callee, call })
}

/// Marks the call that was read as guarded: the last of the statements from `n_before` on. The default is that of the
/// outermost call, so the line must hold no other call that could fail.
pub(super) fn mark(
    body: &mut Body<'_>,
    n_before: usize,
    source: Source<'_>,
    callee: &Token<'_>,
) -> Outcome<()> {
    let made = &mut body.statements[n_before..];
    let n_calls = made.iter().filter(|s| s.callee != Callee::Tuple).count();
    match made.last_mut() {
        Some(last) if n_calls == 1 && last.callee != Callee::Tuple => {
            last.is_guarded = true;
            Ok(())
        }
        _ => {
            let wanted = "one call, of names, in a line after `try:`";
            Err(source.error(callee, Reason::Expected { wanted }))
        }
    }
}
