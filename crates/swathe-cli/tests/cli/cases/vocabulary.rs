//! The commands of cases that no shell has: they make inputs and print outputs as text.

use std::collections::HashMap;
use std::path::Path;
use std::sync::LazyLock;

use super::{arrays, files, frames, resident, tables};

/// What a command said.
#[derive(Clone, Debug, Default)]
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Said {
    pub(crate) fn printed(stdout: String) -> Said {
        Said { stdout, ..Said::default() }
    }
}

/// A command: the folder of its case, its arguments, and what it says or why it cannot be done.
type Verb = fn(&Path, &[String]) -> Result<Said, String>;

/// Every command, in the order of the module that has it, where it is described.
const VERBS: &[(&str, Verb)] = &[
    ("npz", arrays::npz),
    ("npy", arrays::npy),
    ("lists", arrays::lists),
    ("poke", arrays::poke),
    ("arrays", arrays::arrays),
    ("same-arrays", arrays::same_arrays),
    ("series", frames::series),
    ("discs", frames::discs),
    ("embryos", frames::embryos),
    ("lit", frames::lit),
    ("masks", frames::masks),
    ("parquet", tables::parquet),
    ("table", tables::table),
    ("columns", tables::columns),
    ("same-table", tables::same_table),
    ("json", files::json),
    ("same", files::same),
    ("differ", files::differ),
    ("flip", files::flip),
    ("replace", files::replace),
    ("samples", files::samples),
    ("within", resident::within),
];

/// Carries out a line if its first word is a command of cases; `> FILE` at its end keeps the
/// stdout. The inner error is why the rest of the case cannot run on this machine.
pub(crate) fn run(folder: &Path, line: &str) -> Option<Result<Said, String>> {
    static BY_NAME: LazyLock<HashMap<&str, Verb>> =
        LazyLock::new(|| VERBS.iter().copied().collect());
    let words = words(&line.replace("\\\n", " "));
    let (words, file) = match words.as_slice() {
        [words @ .., mark, file] if mark == ">" => (words, Some(file)),
        words => (words, None),
    };
    let (first, rest) = words.split_first()?;
    if first == "needs" {
        return Some(files::needs(folder, rest).map(|()| Said::default()));
    }
    let verb = BY_NAME.get(first.as_str())?;
    let said = verb(folder, rest);
    let refused = |why: String| Said { code: 1, stdout: String::new(), stderr: why + "\n" };
    let mut said = said.unwrap_or_else(refused);
    if let Some(file) = file {
        std::fs::write(folder.join(file), std::mem::take(&mut said.stdout)).unwrap();
    }
    Some(Ok(said))
}

/// The words of a line as a shell separates them, with single and double quotes.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let (mut word, mut is_open, mut quote) = (String::new(), false, None);
    for c in line.chars() {
        match (quote, c) {
            (Some(end), c) if c == end => quote = None,
            (None, '\'' | '"') => (quote, is_open) = (Some(c), true),
            (None, c) if c.is_whitespace() => {
                if is_open || !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
                is_open = false;
            }
            (_, c) => word.push(c),
        }
    }
    if is_open || !word.is_empty() {
        words.push(word);
    }
    words
}

/// Takes the value of `--name VALUE` out of the arguments.
pub(crate) fn option(arguments: &mut Vec<String>, name: &str) -> Option<String> {
    let at = arguments.iter().position(|argument| argument == name)?;
    arguments.remove(at);
    (at < arguments.len()).then(|| arguments.remove(at))
}
