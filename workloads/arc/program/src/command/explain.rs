//! `swathe arc explain`: what programs share, and one program's graph.

use swathe_arc::{Counts, Library};

use super::programs;
use crate::flags::ArcExplainFlags;
use swathe_command::cli_error::{CliError, Code};
use swathe_command::error;

pub(super) fn explain(flags: &ArcExplainFlags) -> Result<Code, CliError> {
    let input = programs(&flags.programs, flags.dialect)?;
    for error in &input.rejected {
        error!("{error}");
    }
    let code = if input.rejected.is_empty() { Code::Solved } else { Code::SomeFailed };
    let library = Library::new(input.programs);
    let Some(name) = &flags.program else {
        swathe_command::stdout::print(&figures(&library.counts()))?;
        return Ok(code);
    };
    let program = library.position(name).ok_or_else(|| {
        CliError::usage(format!("there is no program called '{name}'")).hint(hint(&library, name))
    })?;
    if flags.dot {
        swathe_command::stdout::print(&library.dot(program))?;
    } else {
        swathe_command::stdout::print(&library.text(program))?;
    }
    Ok(code)
}

/// Names that the user may have meant.
fn hint(library: &Library, name: &str) -> String {
    let with_prefix = format!("solve_{name}");
    if library.position(&with_prefix).is_some() {
        return format!("did you mean {with_prefix}?");
    }
    let names: Vec<&str> = library.names().take(5).collect();
    format!(
        "the files have {} programs: {}{}",
        library.len(),
        names.join(", "),
        if library.len() > names.len() { " …" } else { "" }
    )
}

fn figures(counts: &Counts) -> String {
    let mut lines = vec![
        format!("{:<34}{:>8}", "programs", counts.n_programs),
        format!("{:<34}{:>8}", "statements", counts.n_statements),
        format!("{:<34}{:>8}", "different statements", counts.n_distinct),
        format!("{:<34}{:>8}", "of these in several programs", counts.n_shared),
        format!("{:<34}{:>8}", "of these without the input", counts.n_folded),
        format!("{:<34}{:>8}", "statements of no effect, left out", counts.n_dropped),
        String::new(),
        format!("{:<34}{:>8}", "different statements that call", ""),
    ];
    for (name, n) in &counts.by_primitive {
        let name = name.unwrap_or("(a variable, or a tuple)");
        lines.push(format!("  {name:<32}{n:>8}"));
    }
    lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
}
