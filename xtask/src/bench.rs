//! `cargo xtask bench`: lists or runs the benchmarks, and prints on what machine the figures were
//! measured.

use std::ffi::OsString;
use std::process::Command;

use crate::machine::Circumstances;
use crate::process::{self, cargo};
use crate::workspace::Workspace;

/// Lists the benchmarks, or runs those whose name contains `name`. Returns true if all of them ran.
pub(crate) fn bench(workspace: &Workspace, name: Option<&str>, passed_on: &[OsString]) -> bool {
    let benchmarks = benchmarks(workspace);
    let Some(name) = name else {
        if benchmarks.is_empty() {
            println!("there are no benchmarks");
        }
        for Benchmark { package, name, .. } in &benchmarks {
            println!("{name}  ({package})");
        }
        return true;
    };
    let chosen: Vec<_> = benchmarks.iter().filter(|one| one.name.contains(name)).collect();
    if chosen.is_empty() {
        eprintln!("error: no benchmark's name contains `{name}`; `cargo xtask bench` lists them");
        return false;
    }
    println!("{}", Circumstances::now(workspace));
    let mut all_ran = true;
    for benchmark in chosen {
        println!("\n== {} ({})", benchmark.name, benchmark.package);
        let mut command = cargo(&workspace.root);
        benchmark.add_args(&mut command);
        if !passed_on.is_empty() {
            command.arg("--").args(passed_on);
        }
        if let Err(error) = process::run(&mut command) {
            println!("FAILED: {error}");
            all_ran = false;
        }
    }
    all_ran
}

#[derive(Debug, PartialEq, Eq)]
struct Benchmark {
    package: String,
    name: String,
    /// Whether this is an example that runs in release mode, instead of a target of `cargo bench`.
    is_example: bool,
}

/// Reads the benchmarks from the manifests, so that no list can become outdated.
fn benchmarks(workspace: &Workspace) -> Vec<Benchmark> {
    let mut found = Vec::new();
    for package in &workspace.packages {
        for target in &package.targets {
            let is_example = target.kind == "example" && target.name.starts_with("bench_");
            if is_example || target.kind == "bench" {
                let (package, name) = (package.name.clone(), target.name.clone());
                found.push(Benchmark { package, name, is_example });
            }
        }
    }
    found
}

impl Benchmark {
    fn add_args(&self, command: &mut Command) {
        let (verb, target): (&[&str], _) = if self.is_example {
            (&["run", "--release"], "--example")
        } else {
            (&["bench"], "--bench")
        };
        command.args(verb).args(["--package", &self.package, target, &self.name]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::{Package, Target};

    #[test]
    fn benches_and_the_examples_called_so_are_found() {
        let target = |kind: &str, name: &str| Target { name: name.into(), kind: kind.into() };
        let targets = vec![
            target("lib", "swathe"),
            target("bench", "overhead"),
            target("example", "hello"),
            target("example", "bench_peak"),
        ];
        let package = Package { name: "swathe".into(), targets, ..Package::default() };
        let workspace =
            Workspace { root: "/".into(), target_dir: "/".into(), packages: vec![package] };
        let lines: Vec<String> = benchmarks(&workspace)
            .iter()
            .map(|benchmark| {
                let mut command = Command::new("cargo");
                benchmark.add_args(&mut command);
                let words = command.get_args().map(|word| word.to_str().unwrap());
                words.collect::<Vec<_>>().join(" ")
            })
            .collect();
        assert_eq!(
            lines,
            [
                "bench --package swathe --bench overhead",
                "run --release --package swathe --example bench_peak",
            ]
        );
    }
}
