//! The Python package, tested by Python: the module that was just built, in a folder of its own.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A folder with the package and the module beside its sources.
fn package() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let to = folder.path().join("swathe");
    copy_tree(&root().join("python/swathe"), &to);
    let module = module();
    std::fs::copy(&module, to.join("_swathe.abi3.so"))
        .unwrap_or_else(|error| panic!("{}: {error}", module.display()));
    folder
}

/// The module: cargo builds it before the tests of its crate, beside them.
fn module() -> PathBuf {
    let test = std::env::current_exe().expect("this test has a path");
    test.with_file_name("libswathe_py.so")
}

fn copy_tree(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("the folder can be made");
    for entry in std::fs::read_dir(from).expect("the package is there").flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_tree(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).expect("a file can be copied");
        }
    }
}

/// Runs Python with the package on its path; `None` if there is no Python for tests.
#[expect(clippy::print_stdout, reason = "a skipped test says so")]
fn python(words: &[&str]) -> Option<std::process::Output> {
    let Some(python) = std::env::var_os("SWATHE_PYTHON") else {
        assert!(std::env::var_os("CI").is_none(), "there is no Python for tests");
        println!("SKIPPED: SWATHE_PYTHON names no interpreter (cargo xtask setup makes one)");
        return None;
    };
    let package = package();
    let output = Command::new(python)
        .args(words)
        .current_dir(root().join("python/tests"))
        .env("PYTHONPATH", package.path())
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("MPLBACKEND", "Agg")
        .env_remove("SWATHE_FAULTS")
        .output();
    Some(output.expect("Python starts"))
}

fn check(words: &[&str]) {
    if let Some(output) = python(words) {
        let told = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{told}\n{errors}");
    }
}

#[test]
fn the_tests_of_the_package_pass() {
    check(&["-m", "pytest", "-q", "-p", "no:cacheprovider", "."]);
}

/// The README's lines of Python, pasted one after another into one session in the folder of the
/// demo's data.
#[test]
fn the_lines_of_the_readme_work() {
    let readme = std::fs::read_to_string(root().join("README.md")).expect("the README is there");
    let blocks = readme.split("```python\n").skip(1);
    let blocks: Vec<&str> = blocks.filter_map(|block| block.split("```").next()).collect();
    assert!(blocks.len() >= 5, "every workload has an example");
    let code = format!(
        "import os, subprocess, sys, tempfile\n\
         os.chdir(tempfile.mkdtemp())\n\
         swathe_command = [sys.executable, '-m', 'swathe', '-q']\n\
         subprocess.run([*swathe_command, 'demo', '--out', 'demo'], check=True)\n\
         os.chdir('demo/data')\n\
         words = ['ot', 'pairs.csv', '--out', 'FLOW', '--fields', 'npz']\n\
         subprocess.run([*swathe_command, *words], check=True)\n{}",
        blocks.join("\n")
    );
    check(&["-c", &code]);
}

/// Every script under `examples/python` runs without arguments, in an empty folder.
#[test]
fn the_example_scripts_run() {
    let go = "import os, runpy, sys\n\
              os.chdir(sys.argv[1])\n\
              sys.argv = sys.argv[2:]\n\
              runpy.run_path(sys.argv[0], run_name='__main__')";
    let found = std::fs::read_dir(root().join("examples/python")).expect("the examples are there");
    let is_script = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "py");
    let mut n_run = 0;
    for script in found.flatten().map(|entry| entry.path()).filter(is_script) {
        let script = script.canonicalize().expect("the script is there");
        let folder = tempfile::tempdir().expect("a folder");
        check(&["-c", go, &folder.path().to_string_lossy(), &script.to_string_lossy()]);
        n_run += 1;
    }
    assert!(n_run >= 4, "{n_run} scripts were run");
}

/// The types that the package declares fit together.
#[test]
fn types_are_consistent() {
    let package = root().join("python/swathe");
    let package = package.to_string_lossy().into_owned();
    let cache = tempfile::tempdir().expect("a folder");
    let cache = cache.path().to_string_lossy().into_owned();
    check(&["-m", "mypy", "--ignore-missing-imports", "--cache-dir", &cache, &package]);
}

/// The examples in the documentation of the package are run.
#[test]
fn documented_examples_print_what_they_say() {
    let code = "import doctest, sys, swathe\n\
        modules = [swathe, swathe.ot, swathe.arc, swathe.array, swathe.lattice, swathe.own]\n\
        sys.exit(sum(doctest.testmod(module).failed for module in modules))";
    check(&["-c", code]);
}
