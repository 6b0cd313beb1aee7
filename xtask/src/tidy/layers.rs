//! Rule: crates depend only on lower layers, workloads never on each other, and only tests on tools.

use super::Finding;
use super::tree::Tree;
use crate::workspace::Package;

/// The layers from the bottom. A new crate is a new name here.
const LAYERS: &[&[&str]] = &[
    &["swathe"],
    &["swathe-ot", "swathe-arc", "swathe-array"],
    &["swathe-io"],
    &["swathe-cli", "swathe-py"],
];

/// Tools for tests and chores, which use no crate of ours and are no part of the product.
const TOOLS: &[&str] = &["swathe-browser"];

pub(super) fn check(tree: &Tree, packages: &[Package]) -> Vec<Finding> {
    let mut findings = Vec::new();
    // The chores in xtask stand outside: they use tools alone, and no crate uses them.
    for package in packages {
        let layer = layer(&package.name);
        let is_crate = package.manifest.starts_with("crates/");
        if layer.is_none() && is_crate && !is_tool(&package.name) {
            let message = format!(
                "`{}` has no layer; add it to LAYERS in xtask/src/tidy/layers.rs",
                package.name
            );
            findings.push(Finding::new("layers", &package.manifest, 1, message));
            continue;
        }
        for dependency in &package.dependencies {
            if !packages.iter().any(|package| package.name == *dependency) {
                continue;
            }
            let is_allowed = if is_tool(dependency) {
                !is_crate || package.dev_only.contains(dependency)
            } else {
                matches!(
                    (self::layer(dependency), layer),
                    (Some(below), Some(own)) if below < own
                )
            };
            if !is_allowed {
                let text = tree.text(&package.manifest).unwrap_or_default();
                let why = if is_tool(dependency) {
                    "it is for tests and chores; put it under [dev-dependencies]".to_owned()
                } else {
                    format!(
                        "crates depend only on lower layers ({}); move what is shared down, or \
                         what needs both up",
                        chain()
                    )
                };
                let message = format!("`{}` may not depend on `{dependency}`: {why}", package.name);
                let line = line_of(text, dependency);
                findings.push(Finding::new("layers", &package.manifest, line, message));
            }
        }
    }
    findings
}

fn layer(name: &str) -> Option<usize> {
    LAYERS.iter().position(|names| names.contains(&name))
}

fn is_tool(name: &str) -> bool {
    TOOLS.contains(&name)
}

/// The layers as they are drawn in ARCHITECTURE.md.
fn chain() -> String {
    let layers = LAYERS.iter().map(|names| match names {
        [name] => (*name).to_owned(),
        names => format!("{{{}}}", names.join(", ")),
    });
    layers.collect::<Vec<_>>().join(" ← ")
}

/// The line of a manifest where a dependency is declared, as a key or as a section.
fn line_of(manifest: &str, dependency: &str) -> usize {
    let is_declared = |line: &str| {
        let key = line.split(['=', ' ']).next().unwrap_or_default();
        key.trim_end_matches(".workspace") == dependency
            || line
                .trim_end()
                .ends_with(&format!("dependencies.{dependency}]"))
    };
    manifest.lines().position(is_declared).map_or(1, |n| n + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, dependencies: &[&str]) -> Package {
        Package {
            name: name.to_owned(),
            manifest: format!("crates/{name}/Cargo.toml"),
            dependencies: dependencies.iter().map(|&name| name.to_owned()).collect(),
            ..Package::default()
        }
    }

    /// Checks one package among all that have a layer; the findings' lines.
    fn lines(checked: Package, manifest: &str) -> Vec<usize> {
        let tree = Tree::of(&[(&checked.manifest, manifest)]);
        let others = LAYERS
            .iter()
            .flat_map(|names| names.iter())
            .chain(TOOLS.iter());
        let others = others
            .filter(|&&name| name != checked.name)
            .map(|name| package(name, &[]));
        let packages: Vec<Package> = others.chain([checked.clone()]).collect();
        check(&tree, &packages)
            .iter()
            .map(|finding| finding.line)
            .collect()
    }

    #[test]
    fn lower_layers_and_strangers_are_allowed() {
        let io = package(
            "swathe-io",
            &["swathe", "swathe-ot", "swathe-array", "serde"],
        );
        assert!(lines(io, "").is_empty());
        let cli = package("swathe-cli", &["swathe", "swathe-io"]);
        assert!(lines(cli, "").is_empty());
    }

    #[test]
    fn workloads_do_not_import_each_other() {
        let manifest =
            "[dependencies]\nswathe = { workspace = true }\nswathe-ot.workspace = true\n";
        assert_eq!(
            lines(package("swathe-arc", &["swathe", "swathe-ot"]), manifest),
            [3]
        );
    }

    #[test]
    fn nothing_points_up_even_in_tests() {
        let manifest = "[dev-dependencies.swathe-io]\nworkspace = true\n";
        assert_eq!(lines(package("swathe", &["swathe-io"]), manifest), [1]);
        assert_eq!(lines(package("swathe-py", &["swathe-cli"]), ""), [1]);
        let mut xtask = package("xtask", &["swathe"]);
        xtask.manifest = "xtask/Cargo.toml".to_owned();
        assert_eq!(lines(xtask, ""), [1]);
    }

    #[test]
    fn tools_are_for_tests_and_chores() {
        let manifest = "[dependencies]\nswathe-browser = { workspace = true }\n";
        let mut cli = package("swathe-cli", &["swathe-browser"]);
        assert_eq!(lines(cli.clone(), manifest), [2]);
        cli.dev_only = vec!["swathe-browser".to_owned()];
        assert!(lines(cli, manifest).is_empty());
        let mut xtask = package("xtask", &["swathe-browser"]);
        xtask.manifest = "xtask/Cargo.toml".to_owned();
        assert!(lines(xtask, "").is_empty());
        assert_eq!(lines(package("swathe-browser", &["swathe"]), ""), [1]);
    }

    #[test]
    fn a_crate_without_a_layer_is_named() {
        let newcomer = package("swathe-new", &[]);
        let tree = Tree::of(&[]);
        let findings = check(&tree, &[newcomer]);
        assert!(
            findings[0].message.contains("`swathe-new` has no layer"),
            "{findings:?}"
        );
    }
}
