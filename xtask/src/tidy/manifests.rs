//! Rule: manifests inherit common settings from the workspace.

use super::Finding;
use super::tree::Tree;

/// Keys of `[package]` that every crate inherits.
const INHERITED: &[&str] = &["version", "edition", "rust-version", "license", "publish"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let of_crates = tree.crates().into_iter().map(|folder| format!("{folder}/Cargo.toml"));
    let of_xtask = tree.text("xtask/Cargo.toml").map(|_| "xtask/Cargo.toml".to_owned());
    for path in of_crates.chain(of_xtask) {
        let manifest = tree.text(&path).unwrap_or_default();
        let mut want = |section: &str, key: &str, words: &str| {
            let section = section_lines(manifest, section);
            if !section.iter().any(|(_, line)| says_workspace(line, key)) {
                let line = section.first().map_or(1, |(line, _)| *line);
                findings.push(Finding::new("manifests", &path, line, words));
            }
        };
        for key in INHERITED {
            want("package", key, &format!("write `{key}.workspace = true` under [package]"));
        }
        want("lints", "", "write `workspace = true` under [lints]");
    }
    findings
}

/// The heading and the lines of a section, with their line numbers.
fn section_lines<'a>(manifest: &'a str, section: &str) -> Vec<(usize, &'a str)> {
    let heading = format!("[{section}]");
    let numbered = manifest.lines().enumerate().map(|(i, line)| (i + 1, line.trim()));
    let mut from_heading = numbered.skip_while(|(_, line)| *line != heading);
    let heading = from_heading.next();
    let body = from_heading.take_while(|(_, line)| !line.starts_with('['));
    heading.into_iter().chain(body).collect()
}

/// Whether a line is `key.workspace = true` or `key = { workspace = true }`; the key may be
/// empty.
fn says_workspace(line: &str, key: &str) -> bool {
    let line: String = line.split('#').next().unwrap_or_default().split_whitespace().collect();
    if key.is_empty() {
        line == "workspace=true"
    } else {
        line == format!("{key}.workspace=true") || line == format!("{key}={{workspace=true}}")
    }
}

/// A manifest that satisfies every rule.
#[cfg(test)]
pub(super) const TIDY: &str = "\
[package]
name = \"swathe\"
version.workspace = true
edition.workspace = true
rust-version = { workspace = true }
license.workspace = true # Apache-2.0 OR MIT
publish.workspace = true

[lints]
workspace = true
";

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(manifest: &str) -> Vec<(usize, String)> {
        let tree = Tree::of(&[("crates/swathe/Cargo.toml", manifest)]);
        check(&tree).into_iter().map(|finding| (finding.line, finding.message)).collect()
    }

    #[test]
    fn a_manifest_that_inherits_passes() {
        assert_eq!(findings(TIDY), []);
    }

    #[test]
    fn what_is_not_inherited_is_named() {
        let own_edition = TIDY.replace("edition.workspace = true", "edition = \"2021\"");
        let message = "write `edition.workspace = true` under [package]";
        assert_eq!(findings(&own_edition), [(1, message.to_owned())]);
    }

    #[test]
    fn lints_are_looked_for_under_their_heading() {
        let misplaced = TIDY.replace("[lints]", "[lints.rust]");
        let message = "write `workspace = true` under [lints]";
        assert_eq!(findings(&misplaced), [(1, message.to_owned())]);
        let off = TIDY.replace("[lints]\nworkspace = true", "[lints]\nworkspace = false");
        assert_eq!(findings(&off), [(9, message.to_owned())]);
    }
}
