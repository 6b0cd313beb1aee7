//! The workspace as cargo describes it.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::process::cargo;

/// The repository's root, cargo's target folder, and the packages.
#[derive(Debug)]
pub(crate) struct Workspace {
    pub(crate) root: PathBuf,
    pub(crate) target_dir: PathBuf,
    pub(crate) packages: Vec<Package>,
}

/// One member of the workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Package {
    pub(crate) name: String,
    /// The manifest's path from the root, with forward slashes.
    pub(crate) manifest: String,
    /// The names of its dependencies of every kind (normal, build, tests).
    pub(crate) dependencies: Vec<String>,
    /// The dependencies that only its tests, benchmarks and examples use.
    pub(crate) dev_only: Vec<String>,
    pub(crate) targets: Vec<Target>,
}

/// A build target of a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) name: String,
    /// Cargo's name for the kind: `lib`, `bin`, `bench`, `example` …
    pub(crate) kind: String,
}

/// Why the workspace could not be read.
#[derive(Debug)]
pub(crate) enum WorkspaceError {
    NotStarted(std::io::Error),
    /// Cargo failed, with this message.
    Refused(String),
    NotJson(serde_json::Error),
    /// A field that cargo documents is missing.
    Incomplete {
        field: &'static str,
    },
}

impl Workspace {
    /// Runs `cargo metadata` and reads its output.
    pub(crate) fn load() -> Result<Self, WorkspaceError> {
        let manifest_dir = std::env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let root = manifest_dir.parent().unwrap_or(&manifest_dir);
        let output = cargo(root)
            .args(["metadata", "--no-deps", "--format-version=1"])
            .output()
            .map_err(WorkspaceError::NotStarted)?;
        if !output.status.success() {
            let words = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(WorkspaceError::Refused(words));
        }
        let metadata = serde_json::from_slice(&output.stdout).map_err(WorkspaceError::NotJson)?;
        Self::from_metadata(&metadata).map_err(|field| WorkspaceError::Incomplete { field })
    }

    /// Reads the output of `cargo metadata --no-deps`. The error is the name of a missing field.
    fn from_metadata(metadata: &Value) -> Result<Self, &'static str> {
        let root = PathBuf::from(text(metadata, "workspace_root")?);
        let mut packages = list(metadata, "packages")?
            .iter()
            .map(|package| Package::from_metadata(package, &root))
            .collect::<Result<Vec<_>, _>>()?;
        packages.sort_by(|a, b| a.name.cmp(&b.name));
        let target_dir = PathBuf::from(text(metadata, "target_directory")?);
        Ok(Self { root, target_dir, packages })
    }
}

impl Package {
    fn from_metadata(package: &Value, root: &Path) -> Result<Self, &'static str> {
        let manifest = Path::new(text(package, "manifest_path")?);
        let manifest = manifest.strip_prefix(root).unwrap_or(manifest);
        // The same crate may be listed under several kinds.
        let [mut in_tests, mut elsewhere] = [BTreeSet::new(), BTreeSet::new()];
        for dependency in list(package, "dependencies")? {
            let name = text(dependency, "name")?.to_owned();
            if dependency["kind"] == "dev" {
                in_tests.insert(name);
            } else {
                elsewhere.insert(name);
            }
        }
        let targets = list(package, "targets")?
            .iter()
            .map(|target| {
                let kind = list(target, "kind")?.first().and_then(Value::as_str).ok_or("kind")?;
                Ok(Target { name: text(target, "name")?.to_owned(), kind: kind.to_owned() })
            })
            .collect::<Result<Vec<_>, &'static str>>()?;
        Ok(Self {
            name: text(package, "name")?.to_owned(),
            manifest: manifest.to_string_lossy().replace('\\', "/"),
            dependencies: in_tests.union(&elsewhere).cloned().collect(),
            dev_only: in_tests.difference(&elsewhere).cloned().collect(),
            targets,
        })
    }
}

fn text<'a>(value: &'a Value, field: &'static str) -> Result<&'a str, &'static str> {
    value[field].as_str().ok_or(field)
}

fn list<'a>(value: &'a Value, field: &'static str) -> Result<&'a [Value], &'static str> {
    value[field].as_array().map(Vec::as_slice).ok_or(field)
}

impl fmt::Display for WorkspaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotStarted(source) => write!(f, "cargo did not start: {source}"),
            Self::Refused(words) => write!(f, "cargo cannot read the workspace\n{words}"),
            Self::NotJson(source) => write!(f, "`cargo metadata` printed no JSON: {source}"),
            Self::Incomplete { field } => write!(f, "`cargo metadata` left out `{field}`"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargos_account_of_a_workspace_is_read() {
        let metadata = serde_json::json!({
            "workspace_root": "/w", "target_directory": "/t",
            "packages": [{
                "name": "swathe-ot",
                "manifest_path": "/w/crates/swathe-ot/Cargo.toml",
                "dependencies": [
                    {"name": "swathe", "kind": null},
                    {"name": "proptest", "kind": "dev"},
                    {"name": "swathe", "kind": "dev"},
                ],
                "targets": [{"name": "pairs", "kind": ["bench"]}],
            }],
        });
        let workspace = Workspace::from_metadata(&metadata).unwrap();
        assert_eq!(workspace.target_dir, Path::new("/t"));
        let expected = Package {
            name: "swathe-ot".to_owned(),
            manifest: "crates/swathe-ot/Cargo.toml".to_owned(),
            dependencies: vec!["proptest".to_owned(), "swathe".to_owned()],
            dev_only: vec!["proptest".to_owned()],
            targets: vec![Target { name: "pairs".to_owned(), kind: "bench".to_owned() }],
        };
        assert_eq!(workspace.packages, [expected]);
    }

    #[test]
    fn a_missing_field_is_named() {
        let metadata = serde_json::json!({"workspace_root": "/w", "packages": [{}]});
        assert_eq!(Workspace::from_metadata(&metadata).unwrap_err(), "manifest_path");
    }
}
