//! Rule: ARCHITECTURE.md names every crate and every folder of modules, only paths that exist, and
//! every field of the structs that describe a workload.

use std::collections::BTreeSet;

use super::Finding;
use super::tree::Tree;

const PATH: &str = "ARCHITECTURE.md";
const RULE: &str = "architecture";

/// Words with these prefixes are paths from the root.
const FROM_ROOT: &[&str] =
    &["crates/", "workloads/", "examples/", "xtask/", "python/", "docs/", ".ci/", ".cargo/"];
/// Words with these prefixes are paths from the root or from some crate.
const FROM_CRATE: &[&str] = &["src/", "tests/", "benches/"];
/// Words with these suffixes are files anywhere in the tree.
const SOURCE_ENDS: &[&str] = &[".rs", ".wgsl", ".py"];

/// The structs that describe a workload, and their files.
const DESCRIBED: &[(&str, &str)] = &[
    ("RunKind", "crates/swathe-run/src/kind.rs"),
    ("Program", "crates/swathe-command/src/program.rs"),
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let Some(text) = tree.text(PATH) else {
        let message = "the file is missing; write the map of the crates";
        return vec![Finding::new(RULE, PATH, 1, message)];
    };
    let mut findings = Vec::new();
    let mut named = BTreeSet::new();
    for (line, word) in words(text) {
        named.insert(word.trim_end_matches('/').to_owned());
        if !exists(tree, &word) {
            let message = format!("`{word}` does not exist; correct the path, or take it out");
            findings.push(Finding::new(RULE, PATH, line, message));
        }
    }
    let folders = tree.crates().into_iter().chain(tree.module_folders());
    for folder in folders {
        if !named.contains(folder) {
            let message = format!("`{folder}` is not described; say what it is for");
            findings.push(Finding::new(RULE, PATH, 1, message));
        }
    }
    for &(name, path) in DESCRIBED {
        findings.extend(fields(tree.text(path).unwrap_or_default(), name).filter_map(|field| {
            let begin = format!("**`{name}`.**");
            let paragraph = text.lines().enumerate().find(|(_, line)| line.starts_with(&begin));
            let (at, line) = paragraph.unwrap_or_default();
            let message = format!("`{field}` of {name} is not described; say why it exists");
            let is_described = line.contains(&format!("`{field}`"));
            (!is_described).then(|| Finding::new(RULE, PATH, at + 1, message))
        }));
    }
    findings
}

/// The public fields of a struct.
fn fields<'a>(source: &'a str, name: &str) -> impl Iterator<Item = &'a str> {
    let begin = format!("pub struct {name} {{");
    let lines = source.lines().skip_while(move |line| *line != begin).skip(1);
    let lines = lines.take_while(|line| *line != "}");
    lines.filter_map(|line| Some(line.trim().strip_prefix("pub ")?.split_once(':')?.0))
}

/// Whether a word is not a path, or is a path that exists.
fn exists(tree: &Tree, word: &str) -> bool {
    let begins = |starts: &[&str]| starts.iter().any(|start| word.starts_with(start));
    let folder = format!("{}/", word.trim_end_matches('/'));
    if begins(FROM_ROOT) {
        tree.paths().any(|path| path == word || path.starts_with(&folder))
    } else if begins(FROM_CRATE) || SOURCE_ENDS.iter().any(|end| word.ends_with(end)) {
        let (inner_file, inner_folder) = (format!("/{word}"), format!("/{folder}"));
        tree.paths().any(|path| {
            path == word
                || path.ends_with(&inner_file)
                || path.starts_with(&folder)
                || path.contains(&inner_folder)
        })
    } else {
        true
    }
}

/// The document's words with their lines; alternatives in braces are expanded. Words with a
/// placeholder (`crates/<name>`, `src/*.rs`) do not name a single path and are skipped.
fn words(text: &str) -> Vec<(usize, String)> {
    let mut words = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let separates = |c: char| c.is_whitespace() || "`()[]\"'|".contains(c);
        for word in line.split(separates).map(|word| word.trim_end_matches(['.', ',', ';', ':'])) {
            if !word.contains(['<', '>', '*', '…']) {
                words.extend(expand(word).into_iter().map(|word| (i + 1, word)));
            }
        }
    }
    words
}

/// Expands `a{b,c}d` to `abd` and `acd`.
fn expand(word: &str) -> Vec<String> {
    let parts = word.split_once('{').and_then(|(before, rest)| {
        let (choices, after) = rest.split_once('}')?;
        Some((before, choices, after))
    });
    match parts {
        Some((before, choices, after)) => choices
            .split(',')
            .flat_map(|choice| expand(&format!("{before}{}{after}", choice.trim())))
            .collect(),
        None => vec![word.to_owned()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The findings for a document beside two crates: (line, the named path).
    fn findings(text: &str) -> Vec<(usize, String)> {
        let tree = Tree::of(&[
            (PATH, text),
            ("crates/a/Cargo.toml", ""),
            ("crates/a/src/plan.rs", ""),
            ("crates/a/src/gpu/launch.rs", ""),
            ("crates/b/Cargo.toml", ""),
            (".ci/run", ""),
        ]);
        let findings = check(&tree).into_iter();
        findings
            .map(|finding| {
                let name = finding.message.split('`').nth(1).unwrap_or_default().to_owned();
                (finding.line, name)
            })
            .collect()
    }

    #[test]
    fn a_document_that_names_what_exists_passes() {
        let text = "`crates/a`: `crates/a/src/plan.rs`, `crates/a/src/gpu/`, [b](crates/b/), `src/{plan,gpu/launch}.rs`, \
                    `plan.rs`, `src/gpu/`, `.ci/run`; and/or `report.html`, `crates/<name>/src/*.rs`.";
        assert_eq!(findings(text), []);
    }

    #[test]
    fn a_crate_that_is_not_there_is_named_with_its_line() {
        let text = "crates/a crates/a/src/gpu crates/b\n\nand `crates/c`.";
        assert_eq!(findings(text), [(3, "crates/c".to_owned())]);
    }

    #[test]
    fn a_crate_that_is_not_described_is_named() {
        let expected = ["crates/b", "crates/a/src/gpu"].map(|name| (1, name.to_owned()));
        assert_eq!(findings("only `crates/a/`"), expected);
    }

    #[test]
    fn stale_paths_are_named() {
        let text = "crates/a crates/b crates/a/src/gpu\n`crates/a/src/old.rs`\n`src/{plan,gone}.rs`\n`lost.wgsl`\n`xtask/`";
        let expected =
            [(2, "crates/a/src/old.rs"), (3, "src/gone.rs"), (4, "lost.wgsl"), (5, "xtask/")];
        assert_eq!(findings(text), expected.map(|(line, name)| (line, name.to_owned())));
    }

    #[test]
    fn a_field_that_is_not_described_is_named() {
        let source = "pub struct RunKind {\n    /// Its name.\n    pub name: &'static str,\n    \
                      pub page: fn(&Path),\n}\n\npub struct Apart {\n    pub n: u64,\n}\n";
        let text = "`crates/swathe-run`\n\n**`RunKind`.** `name` is what it is called.";
        let tree = Tree::of(&[
            (PATH, text),
            ("crates/swathe-run/Cargo.toml", ""),
            ("crates/swathe-run/src/kind.rs", source),
        ]);
        let messages: Vec<String> = check(&tree).into_iter().map(|f| f.message).collect();
        assert_eq!(messages, ["`page` of RunKind is not described; say why it exists"]);
    }

    #[test]
    fn the_document_must_be_there() {
        let findings = check(&Tree::of(&[]));
        assert!(findings[0].message.contains("missing"), "{findings:?}");
    }
}
