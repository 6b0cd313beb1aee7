//! Rules about source files: names, sizes, machine-specific paths. Clippy checks the code itself:
//! no printing in libraries, no `todo!`, no `dbg!`.

use super::Finding;
use super::tree::Tree;

const NAMELESS: &[&str] = &["utils.rs", "helpers.rs", "common.rs", "base.rs"];
const N_LINES_MAX: usize = 700;
/// The top-level folders in which users and CI machines keep their checkouts.
const PRIVATE_FOLDERS: &[&str] = &["home", "root", "work"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.texts() {
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

fn check_size(path: &str, text: &str, findings: &mut Vec<Finding>) {
    let is_source = [".rs", ".wgsl", ".py"].iter().any(|end| path.ends_with(end));
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
            if line.match_indices(&private).any(|(at, _)| begins_path(&line[..at])) {
                let message = format!(
                    "`{private}` is a folder of one machine: use a path from the repository's \
                     root, or a temporary folder"
                );
                findings.push(Finding::new("private-path", path, i + 1, message));
            }
        }
    }
}

/// Whether a slash after these characters begins an absolute path, instead of continuing a relative
/// path or a URL.
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
        findings.iter().map(|finding| (finding.rule, finding.line)).collect()
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
        let findings = check(&Tree::of(&[("crates/a/src/a.rs", &long), ("a.json", &long)]));
        assert_eq!(findings.len(), 1);
        assert!(findings[0].is_warning);
        assert_eq!(broken("crates/a/src/a.rs", &"\n".repeat(N_LINES_MAX - 1)), []);
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
                assert_eq!(broken("README.md", &text), [("private-path", n_lines)], "{text}");
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
