//! Rule: crates depend only on lower layers, workloads never on each other, only tests on tools,
//! and shared crates name no workload. A crate's folder determines its layer.

use super::Finding;
use super::tree::Tree;
use crate::workspace::Package;

/// The role of a crate, which determines what it may depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role<'a> {
    /// A shared crate, by its position: `swathe ← swathe-formats ← swathe-run ← swathe-command ←
    /// swathe-python`.
    Ground(usize),
    /// `workloads/NAME/solver`.
    Solver(&'a str),
    /// `workloads/NAME/program`, and `python` beside it.
    Program(&'a str),
    /// A crate that combines everything, by its position: the program, the Python module.
    Edge(usize),
    /// A crate for tests and tasks, which is not part of the product.
    Tool,
    /// An example of a program that uses swathe's crates.
    Example,
    /// `xtask`.
    Chores,
}

const GROUND: [&str; 5] =
    ["swathe", "swathe-formats", "swathe-run", "swathe-command", "swathe-python"];
const EDGES: [&str; 2] = ["swathe-cli", "swathe-py"];
const TOOLS: [&str; 2] = ["swathe-browser", "swathe-testing"];

/// The layers as ARCHITECTURE.md draws them.
const CHAIN: &str = "swathe ← swathe-formats ← swathe-run ← swathe-command ← \
                     workloads/*/program ← {swathe-cli, swathe-py}, and swathe ← \
                     workloads/*/solver ← workloads/*/program; swathe-command ← swathe-python ← \
                     workloads/*/python ← swathe-py";

pub(super) fn check(tree: &Tree, packages: &[Package]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in packages {
        let Some(role) = role(package) else {
            let message = format!("`{}` is in no folder that has a layer ({CHAIN})", package.name);
            findings.push(Finding::new("layers", &package.manifest, 1, message));
            continue;
        };
        for dependency in &package.dependencies {
            let Some(below) = packages.iter().find(|other| other.name == *dependency) else {
                continue;
            };
            let Some(below) = self::role(below) else {
                continue;
            };
            if !may_use(role, below, package.dev_only.contains(dependency)) {
                let text = tree.text(&package.manifest).unwrap_or_default();
                let why = match below {
                    Role::Tool => {
                        "it is for tests and chores; put it under [dev-dependencies]".to_owned()
                    }
                    _ => format!(
                        "crates depend only on lower layers ({CHAIN}); move what is shared down, \
                         or what needs both up"
                    ),
                };
                let message = format!("`{}` may not depend on `{dependency}`: {why}", package.name);
                let line = line_of(text, dependency);
                findings.push(Finding::new("layers", &package.manifest, line, message));
            }
        }
    }
    findings.extend(named_workloads(tree, packages));
    findings
}

fn role(package: &Package) -> Option<Role<'_>> {
    let name = package.name.as_str();
    if package.manifest == "xtask/Cargo.toml" {
        return Some(Role::Chores);
    }
    let mut folders = package.manifest.split('/');
    match (folders.next()?, folders.next()?, folders.next()?) {
        ("crates", ..) if TOOLS.contains(&name) => Some(Role::Tool),
        ("crates", ..) if EDGES.contains(&name) => {
            EDGES.iter().position(|&edge| edge == name).map(Role::Edge)
        }
        ("crates", ..) => GROUND.iter().position(|&known| known == name).map(Role::Ground),
        ("workloads", workload, "solver") => Some(Role::Solver(workload)),
        ("workloads", workload, "program" | "python") => Some(Role::Program(workload)),
        ("examples", ..) => Some(Role::Example),
        _ => None,
    }
}

/// Whether a crate may depend on another, either at all or, if `in_tests`, for its tests.
fn may_use(role: Role<'_>, below: Role<'_>, in_tests: bool) -> bool {
    match (role, below) {
        (Role::Chores, Role::Tool) => true,
        (Role::Tool | Role::Chores, _) => false,
        (_, Role::Tool) => in_tests,
        (Role::Ground(own), Role::Ground(below)) => below < own,
        (Role::Solver(_), Role::Ground(below)) => below == 0,
        (Role::Program(_) | Role::Edge(_) | Role::Example, Role::Ground(_)) => true,
        (Role::Program(own), Role::Solver(below) | Role::Program(below)) => own == below,
        (Role::Edge(_), Role::Program(_)) => true,
        // The Python package brings the program along.
        (Role::Edge(own), Role::Edge(below)) => below < own,
        (Role::Edge(_), Role::Solver(_)) => in_tests,
        _ => false,
    }
}

/// Source files of shared crates that name a workload's crate; only the register may do so.
fn named_workloads(tree: &Tree, packages: &[Package]) -> Vec<Finding> {
    let crates = packages.iter().filter_map(|package| match role(package)? {
        Role::Solver(_) | Role::Program(_) => Some(package.name.replace('-', "_")),
        _ => None,
    });
    let crates: Vec<String> = crates.collect();
    let mut findings = Vec::new();
    for (path, text) in tree.texts() {
        let is_ground = path.starts_with("crates/") && path.contains("/src/");
        if !is_ground || path.ends_with("/workloads.rs") {
            continue;
        }
        for (at, line) in text.lines().enumerate() {
            if let Some(name) = crates.iter().find(|name| line.contains(&format!("{name}::"))) {
                let message = format!("shared ground names no workload, and here is `{name}`");
                findings.push(Finding::new("layers", path, at + 1, message));
            }
        }
    }
    findings
}

/// The line of a manifest where a dependency is declared, as a key or as a section.
fn line_of(manifest: &str, dependency: &str) -> usize {
    let is_declared = |line: &str| {
        let key = line.split(['=', ' ']).next().unwrap_or_default();
        key.trim_end_matches(".workspace") == dependency
            || line.trim_end().ends_with(&format!("dependencies.{dependency}]"))
    };
    manifest.lines().position(is_declared).map_or(1, |n| n + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(folder: &str, name: &str, dependencies: &[&str]) -> Package {
        Package {
            name: name.to_owned(),
            manifest: format!("{folder}/Cargo.toml"),
            dependencies: dependencies.iter().map(|&name| name.to_owned()).collect(),
            ..Package::default()
        }
    }

    /// A crate of every role.
    fn all() -> Vec<Package> {
        let mut all: Vec<Package> = GROUND
            .iter()
            .chain(&EDGES)
            .chain(&TOOLS)
            .map(|name| package(&format!("crates/{name}"), name, &[]))
            .collect();
        for (folder, name) in [
            ("workloads/a/solver", "swathe-a"),
            ("workloads/a/program", "swathe-a-program"),
            ("workloads/b/solver", "swathe-b"),
            ("workloads/b/program", "swathe-b-program"),
            ("examples/own", "own"),
            ("xtask", "xtask"),
        ] {
            all.push(package(folder, name, &[]));
        }
        all
    }

    /// Checks one package among all others, and returns the lines of the findings.
    fn lines(folder: &str, name: &str, dependencies: &[&str], manifest: &str) -> Vec<usize> {
        let checked = package(folder, name, dependencies);
        let tree = Tree::of(&[(&checked.manifest, manifest)]);
        let mut packages = all();
        packages.retain(|other| other.name != name);
        packages.push(checked);
        let findings = check(&tree, &packages);
        findings.iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn lower_layers_and_strangers_are_allowed() {
        let allowed: [(&str, &str, &[&str]); 5] = [
            ("crates/swathe-run", "swathe-run", &["swathe", "swathe-formats", "serde"]),
            ("workloads/a/solver", "swathe-a", &["swathe"]),
            (
                "workloads/a/program",
                "swathe-a-program",
                &["swathe", "swathe-a", "swathe-formats", "swathe-run", "swathe-command"],
            ),
            (
                "crates/swathe-cli",
                "swathe-cli",
                &["swathe-a-program", "swathe-b-program", "swathe-command"],
            ),
            ("examples/own", "own", &["swathe", "swathe-command", "swathe-run"]),
        ];
        for (folder, name, dependencies) in allowed {
            assert!(lines(folder, name, dependencies, "").is_empty(), "{name}");
        }
    }

    #[test]
    fn nothing_points_up_or_sideways() {
        let refused = [
            ("crates/swathe", "swathe", "swathe-formats"),
            ("crates/swathe-run", "swathe-run", "swathe-command"),
            ("crates/swathe-run", "swathe-run", "swathe-a"),
            ("workloads/a/solver", "swathe-a", "swathe-formats"),
            ("workloads/a/solver", "swathe-a", "swathe-b"),
            ("workloads/a/program", "swathe-a-program", "swathe-b"),
            ("workloads/a/program", "swathe-a-program", "swathe-b-program"),
            ("workloads/a/program", "swathe-a-program", "swathe-cli"),
            ("crates/swathe-cli", "swathe-cli", "swathe-py"),
            ("examples/own", "own", "swathe-a"),
            ("xtask", "xtask", "swathe"),
        ];
        for (folder, name, dependency) in refused {
            let manifest = format!("[dependencies]\n{dependency} = {{ workspace = true }}\n");
            assert_eq!(lines(folder, name, &[dependency], &manifest), [2], "{name}");
        }
        let manifest = "[dev-dependencies.swathe-run]\nworkspace = true\n";
        assert_eq!(lines("crates/swathe", "swathe", &["swathe-run"], manifest), [1]);
    }

    #[test]
    fn tools_are_for_tests_and_chores() {
        let dependencies = ["swathe-browser"];
        let (folder, name) = ("crates/swathe-cli", "swathe-cli");
        assert_eq!(lines(folder, name, &dependencies, ""), [1]);
        let mut packages = all();
        let cli = packages.iter_mut().find(|package| package.name == name);
        let cli = cli.unwrap();
        cli.dependencies = vec!["swathe-browser".to_owned(), "swathe-a".to_owned()];
        cli.dev_only = cli.dependencies.clone();
        assert!(check(&Tree::of(&[]), &packages).is_empty());
        assert!(lines("xtask", "xtask", &dependencies, "").is_empty());
        let up = lines("crates/swathe-browser", "swathe-browser", &["swathe"], "");
        assert_eq!(up, [1]);
    }

    #[test]
    fn shared_ground_names_no_workload() {
        let register = "crates/swathe-cli/src/workloads.rs";
        let named = "use swathe::Size;\nuse swathe_a::Solver;\n";
        let tree = Tree::of(&[("crates/swathe-run/src/page.rs", named), (register, named)]);
        let findings = check(&tree, &all());
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert_eq!(findings[0].line, 2);
    }

    #[test]
    fn a_crate_without_a_layer_is_named() {
        let newcomer = package("crates/swathe-new", "swathe-new", &[]);
        let findings = check(&Tree::of(&[]), &[newcomer]);
        assert!(findings[0].message.contains("`swathe-new`"), "{findings:?}");
    }
}
