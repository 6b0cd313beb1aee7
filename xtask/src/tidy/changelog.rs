//! Rule: the change log has a section for unreleased changes.

use super::Finding;
use super::tree::Tree;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let path = "CHANGELOG.md";
    let message = match tree.text(path) {
        None => "the file is missing; write it, with a section `## Unreleased`",
        Some(text) if !text.lines().any(is_unreleased) => {
            "there is no section `## Unreleased`; put it first and tell there what changed"
        }
        Some(_) => return Vec::new(),
    };
    vec![Finding::new("changelog", path, 1, message)]
}

fn is_unreleased(line: &str) -> bool {
    line.strip_prefix("## ")
        .is_some_and(|title| title.trim().trim_matches(['[', ']']) == "Unreleased")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_section_must_be_there() {
        let passes = |text| check(&Tree::of(&[("CHANGELOG.md", text)])).is_empty();
        assert!(passes("# Changelog\n\n## Unreleased\n"));
        assert!(passes("## [Unreleased]\n"));
        assert!(!passes("# Changelog\n\n## 0.1.0\nUnreleased\n"));
    }

    #[test]
    fn the_file_must_be_there() {
        let findings = check(&Tree::of(&[]));
        assert!(findings[0].message.contains("missing"), "{findings:?}");
    }
}
