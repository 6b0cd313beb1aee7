//! Rules about source files: printing, unfinished code, names, sizes, paths of one machine.

use super::Finding;
use super::tree::Tree;
use crate::rust_code::{code_only, macro_calls, without_test_items};

const PRINTING: &[&str] = &["println", "eprintln", "print", "eprint", "dbg"];
const UNFINISHED: &[&str] = &["todo", "unimplemented"];
const NAMELESS: &[&str] = &["utils.rs", "helpers.rs", "common.rs", "base.rs"];
const N_LINES_MAX: usize = 700;
/// The folders in which people and machines keep their checkouts.
const PRIVATE_FOLDERS: &[&str] = &["home", "root", "work"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.texts() {
        if path.ends_with(".rs") {
            check_rust(path, text, &mut findings);
        }
        check_size(path, text, &mut findings);
        check_private_paths(path, text, &mut findings);
    }
    for path in tree.paths() {
        let name = path.rsplit('/').next().unwrap_or(path);
        if NAMELESS.contains(&name) {
            let message = "a file is named for the noun in it; find that noun, or put the code \
                           where it is used";
            findings.push(Finding::new("name", path, 1, message));
        }
    }
    findings
}

fn check_rust(path: &str, text: &str, findings: &mut Vec<Finding>) {
    let code = code_only(text);
    for (line, name) in macro_calls(&code, UNFINISHED) {
        let message = format!("`{name}!`: finish it, or return an error that says what is absent");
        findings.push(Finding::new("unfinished", path, line, message));
    }
    if is_library(path) {
        for (line, name) in macro_calls(&without_test_items(&code), PRINTING) {
            let message = format!(
                "`{name}!` in a library: return the value, or report it as a progress event; \
                 only swathe-cli talks to users"
            );
            findings.push(Finding::new("printing", path, line, message));
        }
    }
}

/// Whether a source file belongs to a library and is no test, benchmark, example or build script.
fn is_library(path: &str) -> bool {
    let mut folders = path.split('/');
    folders.next() == Some("crates")
        && folders.next().is_some_and(|name| name != "swathe-cli")
        && folders.next() == Some("src")
        && !folders.any(|name| name == "tests" || name == "tests.rs")
}

fn check_size(path: &str, text: &str, findings: &mut Vec<Finding>) {
    let is_source = [".rs", ".wgsl", ".py"]
        .iter()
        .any(|end| path.ends_with(end));
    let n_lines = text.lines().count();
    if is_source && n_lines >= N_LINES_MAX {
        let message = format!(
            "{n_lines} lines; files stay under {N_LINES_MAX}: split it along the nouns in it"
        );
        findings.push(Finding::new("size", path, N_LINES_MAX, message).warning());
    }
}

fn check_private_paths(path: &str, text: &str, findings: &mut Vec<Finding>) {
    for (i, line) in text.lines().enumerate() {
        for folder in PRIVATE_FOLDERS {
            let private = format!("/{folder}/");
            if line
                .match_indices(&private)
                .any(|(at, _)| begins_path(&line[..at]))
            {
                let message = format!(
                    "`{private}` is a folder of one machine: use a path from the repository's \
                     root, or a temporary folder"
                );
                findings.push(Finding::new("private-path", path, i + 1, message));
            }
        }
    }
}

/// Whether a slash after these characters begins an absolute path, and does not continue a
/// relative one or an address.
fn begins_path(before: &str) -> bool {
    before.ends_with("file://")
        || !before.ends_with(|c: char| c.is_alphanumeric() || "_-.~/})]>*$%".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The findings in a tree of one file: (rule, line).
    fn broken(path: &str, text: &str) -> Vec<(&'static str, usize)> {
        let findings = check(&Tree::of(&[(path, text)]));
        findings
            .iter()
            .map(|finding| (finding.rule, finding.line))
            .collect()
    }

    #[test]
    fn libraries_do_not_print() {
        for name in PRINTING {
            let text = format!("fn f() {{\n    {name}!(\"x\");\n}}\n");
            assert_eq!(
                broken("crates/swathe/src/plan.rs", &text),
                [("printing", 2)]
            );
        }
    }

    #[test]
    fn binaries_tests_examples_and_doc_comments_may_print() {
        let prints = "fn f() { println!() }\n";
        for path in [
            "crates/swathe-cli/src/main.rs",
            "xtask/src/main.rs",
            "crates/swathe/tests/faults.rs",
            "crates/swathe/benches/overhead.rs",
            "crates/swathe/examples/hello.rs",
            "crates/swathe/src/plan/tests.rs",
            "crates/swathe/build.rs",
        ] {
            assert_eq!(broken(path, prints), [], "{path}");
        }
        let inside = "/// println!()\nfn f() {}\n#[cfg(test)]\nmod tests { fn g() { print!() } }\n";
        assert_eq!(broken("crates/swathe/src/plan.rs", inside), []);
    }

    #[test]
    fn unfinished_code_is_found_everywhere() {
        for path in [
            "crates/swathe-cli/src/main.rs",
            "crates/swathe/tests/a.rs",
            "xtask/src/a.rs",
        ] {
            assert_eq!(
                broken(path, "\nfn f() { todo!() }"),
                [("unfinished", 2)],
                "{path}"
            );
            assert_eq!(
                broken(path, "fn f() { unimplemented!() }"),
                [("unfinished", 1)]
            );
            assert_eq!(broken(path, "// todo!()\n"), []);
        }
    }

    #[test]
    fn files_are_named_for_a_noun() {
        for name in NAMELESS {
            assert_eq!(broken(&format!("crates/a/src/{name}"), ""), [("name", 1)]);
        }
        assert_eq!(broken("crates/a/src/database.rs", ""), []);
    }

    #[test]
    fn long_files_are_warned_about() {
        let long = "\n".repeat(N_LINES_MAX);
        let findings = check(&Tree::of(&[
            ("crates/a/src/a.rs", &long),
            ("a.json", &long),
        ]));
        assert_eq!(findings.len(), 1);
        assert!(findings[0].is_warning);
        assert_eq!(
            broken("crates/a/src/a.rs", &"\n".repeat(N_LINES_MAX - 1)),
            []
        );
    }

    #[test]
    fn paths_of_one_machine_are_found() {
        for folder in PRIVATE_FOLDERS {
            let private = format!("/{folder}/");
            for text in [
                format!("{private}ada/x"),
                format!("a\nsee `{private}x`"),
                format!("DIR={private}x"),
                format!("file://{private}x"),
            ] {
                let n_lines = text.lines().count();
                assert_eq!(
                    broken("README.md", &text),
                    [("private-path", n_lines)],
                    "{text}"
                );
            }
            for text in [
                format!("target{private}x"),
                format!("https://example.org{private}x"),
                format!("{{dir}}{private}x"),
                format!("~{private}x"),
            ] {
                assert_eq!(broken("README.md", &text), [], "{text}");
            }
        }
    }
}
