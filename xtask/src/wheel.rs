//! `cargo xtask wheel`: builds a wheel for every Linux with glibc 2.28 or newer, and checks it.

mod elf;

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{self, CommandError};
use crate::workspace::Workspace;

/// The newest version of glibc whose symbols the wheel may need: what Debian 10, RHEL 8 and the
/// notebooks of Kaggle and Colab have at least.
const GLIBC_MAX: (u32, u32) = (2, 28);

/// A wheel larger than this takes too long to install.
const WHEEL_BYTES_MAX: u64 = 30 << 20;

/// The tools, pinned. zig links against the symbols of an old glibc on a new system.
const TOOLS: [&str; 2] = ["maturin==1.16.0", "ziglang==0.15.2"];

/// What the wheel must do in an environment that has nothing else but NumPy.
const SMOKE: &str = "\
import numpy as np, subprocess, swathe, sys
a = np.zeros((16, 32)); a[6:9, 10] = 1
velocity = swathe.ot.solve(a, np.roll(a, 2, axis=1), relaxation=10).velocity
assert abs(np.nanmean(velocity[..., 1]) - 2) < 0.01
assert swathe.array.matmul([np.eye(2)], [np.ones((2, 2))])[0].sum() == 4
assert swathe.devices()[0]['device'] == 'cpu'
told = subprocess.run(['swathe', '--version'], capture_output=True, text=True, check=True).stdout
assert told.strip() == 'swathe ' + swathe.__version__, told
print('the wheel works:', told.strip())
";

/// Why there is no wheel, or none that can be given away.
enum WheelError {
    Command(CommandError),
    File { path: PathBuf, source: std::io::Error },
    NotOne { folder: PathBuf, n_found: usize },
    TooLarge { n_bytes: u64 },
    NotElf { path: PathBuf },
    TooNew { versions: Vec<String> },
}

/// Builds the wheel, checks it and prints its path. Returns whether it can be given away.
pub(crate) fn wheel(workspace: &Workspace) -> bool {
    match build(workspace).and_then(|wheel| check(workspace, &wheel).map(|()| wheel)) {
        Ok(wheel) => {
            println!("{}", wheel.display());
            true
        }
        Err(error) => {
            eprintln!("error: {error}");
            false
        }
    }
}

fn build(workspace: &Workspace) -> Result<PathBuf, WheelError> {
    let folder = workspace.target_dir.join("wheels");
    remove(&folder)?;
    let tools = workspace.target_dir.join("wheel-tools");
    let python = environment(&tools)?;
    install(&python, &TOOLS)?;
    let (major, minor) = GLIBC_MAX;
    let mut maturin = Command::new(&python);
    maturin
        .args(["-m", "maturin", "build", "--release", "--zig", "--compatibility"])
        .arg(format!("manylinux_{major}_{minor}"))
        .arg("--out")
        .arg(&folder)
        // maturin looks for zig in the first Python of the path.
        .env("PATH", path_with(&tools.join("bin")))
        .current_dir(&workspace.root);
    process::run(&mut maturin).map_err(WheelError::Command)?;
    one_in(&folder, "whl")
}

/// The variable `PATH` with a folder in front.
fn path_with(folder: &Path) -> std::ffi::OsString {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(folder.to_owned()).chain(std::env::split_paths(&path));
    std::env::join_paths(folders).unwrap_or(path)
}

fn check(workspace: &Workspace, wheel: &Path) -> Result<(), WheelError> {
    let n_bytes = file(wheel, |path| std::fs::metadata(path))?.len();
    println!("{:.1} MiB", n_bytes as f64 / f64::from(1 << 20));
    if n_bytes > WHEEL_BYTES_MAX {
        return Err(WheelError::TooLarge { n_bytes });
    }
    let trial = workspace.target_dir.join("wheel-trial");
    remove(&trial)?;
    let python = environment(&trial)?;
    install(&python, &[&*wheel.to_string_lossy()])?;
    let mut found = Command::new(&python);
    found.args(["-c", "import swathe._swathe as m; print(m.__file__)"]);
    let module = PathBuf::from(process::answer(&mut found).unwrap_or_default());
    let bytes = file(&module, |path| std::fs::read(path))?;
    let versions = elf::needed_versions(&bytes).ok_or(WheelError::NotElf { path: module })?;
    let newest = versions.iter().filter_map(|name| glibc(name)).max();
    if let Some((major, minor)) = newest {
        println!("needs glibc {major}.{minor}");
    }
    let is_new = |name: &String| glibc(name).is_some_and(|version| version > GLIBC_MAX);
    let versions: Vec<String> = versions.into_iter().filter(is_new).collect();
    if !versions.is_empty() {
        return Err(WheelError::TooNew { versions });
    }
    // No Vulkan driver can be found in this environment, as on most machines.
    let mut smoke = Command::new(&python);
    let path = python.parent().unwrap_or(&python);
    smoke
        .args(["-c", SMOKE])
        .env("PATH", path)
        .env("VK_ICD_FILENAMES", trial.join("no-driver.json"));
    process::run(&mut smoke).map_err(WheelError::Command)
}

/// The interpreter of a virtual environment, which is made if it is not there.
fn environment(folder: &Path) -> Result<PathBuf, WheelError> {
    let python = folder.join("bin/python");
    if !python.exists() {
        let mut made = Command::new("python3");
        made.args(["-m", "venv"]).arg(folder);
        process::run(&mut made).map_err(WheelError::Command)?;
    }
    Ok(python)
}

fn install(python: &Path, packages: &[&str]) -> Result<(), WheelError> {
    let mut pip = Command::new(python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    process::run(pip.args(packages)).map_err(WheelError::Command)
}

/// The only file with this ending in a folder.
fn one_in(folder: &Path, ending: &str) -> Result<PathBuf, WheelError> {
    let entries = file(folder, |path| std::fs::read_dir(path))?.flatten();
    let paths = entries.map(|entry| entry.path());
    let mut paths: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|found| found == ending)).collect();
    match (paths.pop(), paths.len()) {
        (Some(path), 0) => Ok(path),
        (found, n) => Err(WheelError::NotOne {
            folder: folder.to_owned(),
            n_found: n + usize::from(found.is_some()),
        }),
    }
}

fn remove(folder: &Path) -> Result<(), WheelError> {
    match folder.exists() {
        true => file(folder, |path| std::fs::remove_dir_all(path)),
        false => Ok(()),
    }
}

fn file<T>(path: &Path, act: impl FnOnce(&Path) -> std::io::Result<T>) -> Result<T, WheelError> {
    act(path).map_err(|source| WheelError::File { path: path.to_owned(), source })
}

/// The version in a name like `GLIBC_2.17`; `None` for symbols of other libraries.
fn glibc(name: &str) -> Option<(u32, u32)> {
    let mut parts = name.strip_prefix("GLIBC_")?.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

impl fmt::Display for WheelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command(error) => error.fmt(f),
            Self::File { path, source } => write!(f, "{}: {source}", path.display()),
            Self::NotOne { folder, n_found } => {
                write!(f, "{n_found} wheels in {}, not one", folder.display())
            }
            Self::TooLarge { n_bytes } => {
                write!(f, "the wheel has {n_bytes} bytes; at most {WHEEL_BYTES_MAX} are allowed")
            }
            Self::NotElf { path } => {
                write!(f, "{} is no module for 64-bit Linux", path.display())
            }
            Self::TooNew { versions } => {
                let (major, minor) = GLIBC_MAX;
                let names = versions.join(", ");
                write!(f, "the module needs {names}, newer than GLIBC_{major}.{minor}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_as_numbers() {
        assert_eq!(glibc("GLIBC_2.17"), Some((2, 17)));
        assert_eq!(glibc("GLIBC_2.2.5"), Some((2, 2)));
        assert!(glibc("GLIBC_2.4") < glibc("GLIBC_2.28"));
        assert!(glibc("GLIBC_2.34") > Some(GLIBC_MAX));
        assert_eq!(glibc("GCC_3.0"), None);
    }

    /// This test's own binary needs some symbols of the glibc it was built with.
    #[cfg(all(target_os = "linux", target_env = "gnu", target_endian = "little"))]
    #[test]
    fn the_versions_that_a_binary_needs_are_read() {
        let bytes = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let versions = elf::needed_versions(&bytes).unwrap();
        assert!(versions.iter().any(|name| glibc(name).is_some()), "{versions:?}");
        assert_eq!(elf::needed_versions(b"no ELF"), None);
        for cut in (0..bytes.len()).step_by(bytes.len() / 50) {
            // Cut files may give anything but a panic.
            let _ = elf::needed_versions(&bytes[..cut]);
        }
    }
}
