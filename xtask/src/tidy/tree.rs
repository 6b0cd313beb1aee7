//! The files of a checkout, in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;
use std::process::Command;

/// Paths from the root, with forward slashes, and the files' text; `None` for files that are not
/// text.
#[derive(Debug)]
pub(super) struct Tree {
    files: BTreeMap<String, Option<String>>,
}

/// Why the files could not be listed.
#[derive(Debug)]
pub(crate) enum TreeError {
    NotStarted(std::io::Error),
    /// Git failed, with this message.
    Refused(String),
}

/// The files that git tracks or would add, without deleted ones.
pub(crate) fn files(root: &Path) -> Result<Vec<String>, TreeError> {
    let output = Command::new("git")
        .arg("-c")
        // In a container the checkout often belongs to another user.
        .arg(format!("safe.directory={}", root.display()))
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()
        .map_err(TreeError::NotStarted)?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(TreeError::Refused(words));
    }
    let listed = String::from_utf8_lossy(&output.stdout);
    let paths = listed.split_terminator('\0');
    Ok(paths.filter(|path| root.join(path).is_file()).map(str::to_owned).collect())
}

impl Tree {
    /// Reads what git tracks or would add, so that a new file is checked before it is committed.
    pub(super) fn of_checkout(root: &Path) -> Result<Self, TreeError> {
        let files = files(root)?
            .into_iter()
            .filter_map(|path| {
                let bytes = std::fs::read(root.join(&path)).ok()?;
                Some((path, String::from_utf8(bytes).ok()))
            })
            .collect();
        Ok(Self { files })
    }

    /// A tree that exists only in memory.
    #[cfg(test)]
    pub(super) fn of(files: &[(&str, &str)]) -> Self {
        let own = |&(path, text): &(&str, &str)| (path.to_owned(), Some(text.to_owned()));
        Self { files: files.iter().map(own).collect() }
    }

    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// Every text file, with its text.
    pub(super) fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().filter_map(|(path, text)| Some((path.as_str(), text.as_deref()?)))
    }

    pub(super) fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path)?.as_deref()
    }

    /// The folders `crates/NAME`, `workloads/NAME/PART` and `examples/NAME` that hold a manifest.
    pub(super) fn crates(&self) -> Vec<&str> {
        let folders = self.paths().filter_map(|path| path.strip_suffix("/Cargo.toml"));
        let is_crate = |folder: &&str| {
            let n_names = folder.split('/').count();
            match folder.split('/').next() {
                Some("crates" | "examples") => n_names == 2,
                Some("workloads") => n_names == 3,
                _ => false,
            }
        };
        folders.filter(is_crate).collect()
    }

    /// The module folders: those directly below a crate's `src`.
    pub(super) fn module_folders(&self) -> BTreeSet<&str> {
        let mut folders = BTreeSet::new();
        for folder in self.crates() {
            let source = format!("{folder}/src/");
            for path in self.paths().filter(|path| path.ends_with(".rs")) {
                let inner = path.strip_prefix(source.as_str());
                if let Some((name, _)) = inner.and_then(|inner| inner.split_once('/')) {
                    folders.insert(&path[..source.len() + name.len()]);
                }
            }
        }
        folders
    }
}

impl fmt::Display for TreeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotStarted(source) => {
                write!(f, "git lists the files to check, and did not start: {source}")
            }
            Self::Refused(words) => write!(f, "git lists the files to check, and said: {words}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_are_the_folders_with_a_manifest() {
        let tree = Tree::of(&[
            ("crates/a/Cargo.toml", ""),
            ("crates/a/fuzz/Cargo.toml", ""),
            ("crates/b/notes.md", ""),
            ("workloads/c/solver/Cargo.toml", ""),
            ("workloads/c/solver/src/lib.rs", ""),
            ("workloads/c/solver/src/sweep/tile.rs", ""),
            ("workloads/c/Cargo.toml", ""),
            ("xtask/Cargo.toml", ""),
        ]);
        assert_eq!(tree.crates(), ["crates/a", "workloads/c/solver"]);
        let folders: Vec<&str> = tree.module_folders().into_iter().collect();
        assert_eq!(folders, ["workloads/c/solver/src/sweep"]);
    }
}
