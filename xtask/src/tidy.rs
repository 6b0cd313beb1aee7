//! `cargo xtask tidy`: checks the repository's rules.
//!
//! A rule is a function from a [`Tree`] to findings. It accesses no files itself, so the tests use
//! small trees that exist only in memory.

mod architecture;
mod changelog;
mod layers;
mod manifests;
mod source;
mod tree;

pub(crate) use tree::files;

use std::fmt;

use crate::step::Verdict;
use crate::workspace::{Package, Workspace};
use tree::Tree;

/// A breach of a rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    path: String,
    /// Counted from 1.
    line: usize,
    rule: &'static str,
    /// What is wrong, and what to do.
    message: String,
    is_warning: bool,
}

/// Checks the rules and prints the findings. Returns whether there are none.
pub(crate) fn tidy(workspace: &Workspace) -> bool {
    match verdict(workspace) {
        Verdict::Passed => true,
        Verdict::Failed(why) | Verdict::Skipped(why) | Verdict::LeftOut(why) => {
            println!("FAILED: {why}");
            false
        }
    }
}

/// The check as a step of a test run.
pub(crate) fn verdict(workspace: &Workspace) -> Verdict {
    let tree = match Tree::of_checkout(&workspace.root) {
        Ok(tree) => tree,
        Err(error) => return Verdict::Skipped(error.to_string()),
    };
    let findings = findings(&tree, &workspace.packages);
    for finding in &findings {
        println!("{finding}");
    }
    match findings.iter().filter(|finding| !finding.is_warning).count() {
        0 => Verdict::Passed,
        1 => Verdict::Failed("1 breach of the repository's rules".to_owned()),
        n => Verdict::Failed(format!("{n} breaches of the repository's rules")),
    }
}

/// The findings of every rule, in the order of the files.
fn findings(tree: &Tree, packages: &[Package]) -> Vec<Finding> {
    let mut findings = layers::check(tree, packages);
    findings.extend(manifests::check(tree));
    findings.extend(architecture::check(tree));
    findings.extend(changelog::check(tree));
    findings.extend(source::check(tree));
    findings.sort();
    findings
}

impl Finding {
    fn new(rule: &'static str, path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, rule, message: message.into(), is_warning: false }
    }

    fn warning(self) -> Self {
        Self { is_warning: true, ..self }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, line, rule, message, is_warning } = self;
        let prefix = if *is_warning { "warning: " } else { "" };
        write!(f, "{prefix}{path}:{line}: [{rule}] {message}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_says_file_line_rule_and_what_to_do() {
        let finding = Finding::new("name", "crates/a/src/utils.rs", 1, "rename it");
        assert_eq!(finding.to_string(), "crates/a/src/utils.rs:1: [name] rename it");
        let warned = finding.warning().to_string();
        assert_eq!(warned, "warning: crates/a/src/utils.rs:1: [name] rename it");
    }

    #[test]
    fn a_small_tidy_repository_passes_every_rule() {
        let tree = Tree::of(&[
            ("ARCHITECTURE.md", "The engine is `crates/swathe`, in `plan.rs`.\n"),
            ("CHANGELOG.md", "# Changelog\n\n## Unreleased\n"),
            ("crates/swathe/Cargo.toml", manifests::TIDY),
            ("crates/swathe/src/plan.rs", "//! Plans.\n"),
        ]);
        let package = Package {
            name: "swathe".into(),
            manifest: "crates/swathe/Cargo.toml".into(),
            ..Package::default()
        };
        assert_eq!(findings(&tree, &[package]), []);
    }
}
