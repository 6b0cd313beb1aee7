//! Finds what the tests need beyond cargo, and installs it if that is allowed.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{self, CommandError};
use crate::workspace::Workspace;

/// What the machine provides after the set-up.
#[derive(Debug, Default)]
pub(crate) struct Ready {
    /// The interpreter of `.venv`, if it exists and has the packages that the tests need.
    pub(crate) python: Option<PathBuf>,
    /// What is missing: for each, a sentence with the command that would install it.
    pub(crate) missing: Vec<String>,
}

/// Why an installation failed.
#[derive(Debug)]
pub(crate) enum SetupError {
    /// System packages could not be installed.
    Packages(CommandError),
    /// The virtual environment could not be made.
    Venv(CommandError),
    /// The Python packages of the tests could not be installed.
    Requirements(CommandError),
    /// A file of the set-up could not be read or written.
    File { path: PathBuf, source: std::io::Error },
}

/// What the set-up may install.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InstallPolicy {
    /// Nothing at all (`--no-install`).
    Nothing,
    /// Only what belongs to the checkout or to the user's tool chain.
    User,
    /// System packages too, through `sudo` unless the user is root.
    System { sudo: bool },
}

/// A system package that the tests need.
struct Package {
    /// The package's name on Debian.
    name: &'static str,
    /// What the package is needed for.
    why: &'static str,
    is_present: fn() -> bool,
}

/// Every system package in use. To add one, add a row.
const PACKAGES: &[Package] = &[
    Package {
        name: "python3-venv",
        why: "the virtual environment in which tests compare with NumPy",
        is_present: python_makes_venvs,
    },
    Package {
        name: "libvulkan1",
        why: "how kernels reach graphics processors",
        is_present: has_vulkan_loader,
    },
    Package {
        name: "mesa-vulkan-drivers",
        why: "a graphics processor in software, on which kernels are tested everywhere",
        is_present: has_software_gpu,
    },
    Package {
        name: "chromium",
        why: "a browser, in which pages are tested and pictures of them are made",
        is_present: has_browser,
    },
];

/// The rustup components that the steps of a test run call.
const COMPONENTS: &[(&str, &str)] = &[("rustfmt", "fmt"), ("clippy", "clippy")];

const REQUIREMENTS: &str = "xtask/requirements.txt";

/// `cargo xtask setup`: prints what is missing. Returns true if nothing is.
pub(crate) fn setup(workspace: &Workspace) -> bool {
    match set_up(&workspace.root, true) {
        Ok(Ready { missing, .. }) if missing.is_empty() => {
            println!("ready: `cargo xtask test` has what it needs");
            true
        }
        Ok(Ready { missing, .. }) => {
            for sentence in missing {
                println!("missing: {sentence}");
            }
            false
        }
        Err(error) => {
            eprintln!("error: {error}");
            false
        }
    }
}

/// Installs what is missing as far as it is allowed, and prints each installation before it starts.
pub(crate) fn set_up(root: &Path, may_install: bool) -> Result<Ready, SetupError> {
    let licence = licence(may_install, is_root(), is_ci());
    let mut ready = Ready::default();
    add_components(root, licence, &mut ready);
    add_packages(licence, &mut ready)?;
    ready.python = venv(root, licence, &mut ready)?;
    Ok(ready)
}

impl Ready {
    /// Sets the variables of a test process. It gets the path of Python, or none: a value inherited
    /// from the shell would make the tests depend on the machine. It also gets a cache folder of
    /// its own, so that costs measured by tests do not mix with those of the user's runs.
    pub(crate) fn export(&self, command: &mut Command, workspace: &Workspace) {
        match &self.python {
            Some(python) => command.env("SWATHE_PYTHON", python),
            None => command.env_remove("SWATHE_PYTHON"),
        };
        command.env("XDG_CACHE_HOME", workspace.target_dir.join("xtask-cache"));
        // Mesa's drivers print a complaint without this variable.
        if std::env::var_os("XDG_RUNTIME_DIR").is_none() {
            command.env("XDG_RUNTIME_DIR", std::env::temp_dir());
        }
    }
}

/// Whether this is continuous integration, where a step that cannot run counts as failed.
pub(crate) fn is_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| !matches!(value.as_str(), "" | "0" | "false"))
}

fn is_root() -> bool {
    process::answer(Command::new("id").arg("-u")).as_deref() == Some("0")
}

fn licence(may_install: bool, is_root: bool, is_ci: bool) -> InstallPolicy {
    match (may_install, is_root, is_ci) {
        (false, _, _) => InstallPolicy::Nothing,
        (true, false, false) => InstallPolicy::User,
        (true, is_root, _) => InstallPolicy::System { sudo: !is_root },
    }
}

/// Adds rustfmt and clippy through rustup; without rustup they are only reported missing.
fn add_components(root: &Path, licence: InstallPolicy, ready: &mut Ready) {
    for (component, subcommand) in COMPONENTS {
        let is_present =
            || process::succeeds(process::cargo(root).args([*subcommand, "--version"]));
        if is_present() {
            continue;
        }
        if licence != InstallPolicy::Nothing
            && process::succeeds(Command::new("rustup").arg("--version"))
        {
            println!("adding {component} to the Rust tool chain");
            let mut add = Command::new("rustup");
            add.args(["component", "add", component]).current_dir(root);
            // The exit status is ignored: the check below decides whether the step can run.
            let _ = process::run(&mut add);
        }
        if !is_present() {
            ready.missing.push(format!("{component}; run: rustup component add {component}"));
        }
    }
}

fn add_packages(licence: InstallPolicy, ready: &mut Ready) -> Result<(), SetupError> {
    let absent = absent_packages();
    if absent.is_empty() {
        return Ok(());
    }
    for package in &absent {
        println!("absent: {} ({})", package.name, package.why);
    }
    let names: Vec<&str> = absent.iter().map(|package| package.name).collect();
    let has_apt = process::succeeds(Command::new("apt-get").arg("--version"));
    match licence {
        InstallPolicy::System { sudo } if has_apt => {
            println!("installing with apt-get, as root or under CI: {}", names.join(" "));
            process::run(&mut apt_get(sudo, &["update"])).map_err(SetupError::Packages)?;
            let mut install = apt_get(sudo, &["install", "-y", "--no-install-recommends"]);
            process::run(install.args(&names)).map_err(SetupError::Packages)?;
            for package in absent_packages() {
                let sentence = "was installed and is still not seen; what comes before it in PATH?";
                ready.missing.push(format!("{} {sentence}", package.name));
            }
            Ok(())
        }
        _ => {
            ready.missing.push(advice(&names, has_apt));
            Ok(())
        }
    }
}

fn absent_packages() -> Vec<&'static Package> {
    PACKAGES.iter().filter(|package| !(package.is_present)()).collect()
}

fn python_makes_venvs() -> bool {
    process::succeeds(Command::new("python3").args(["-c", "import venv, ensurepip"]))
}

fn has_vulkan_loader() -> bool {
    let listed = process::answer(Command::new("/sbin/ldconfig").arg("-p"));
    listed.is_some_and(|libraries| libraries.contains("libvulkan.so.1"))
}

fn has_software_gpu() -> bool {
    let folders = ["/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d"];
    let files = folders.iter().filter_map(|folder| std::fs::read_dir(folder).ok());
    let mut files = files.flatten().flatten().map(|entry| entry.file_name());
    files.any(|name| name.to_string_lossy().starts_with("lvp_icd"))
}

fn has_browser() -> bool {
    swathe_browser::Browser::find().is_ok()
}

/// The command that installs the system packages.
fn advice(names: &[&str], has_apt: bool) -> String {
    let names = names.join(" ");
    if has_apt {
        format!("{names}; run: sudo apt-get install -y {names}")
    } else {
        format!("{names} (as Debian calls it); install it with this system's package manager")
    }
}

fn apt_get(sudo: bool, args: &[&str]) -> Command {
    let mut command = Command::new(if sudo { "sudo" } else { "env" });
    if sudo {
        // In continuous integration no user can type a password.
        command.args(["-n", "env"]);
    }
    command.args(["DEBIAN_FRONTEND=noninteractive", "apt-get"]).args(args);
    command
}

/// The interpreter of the virtual environment with the packages of the tests; made if it does not
/// exist.
fn venv(
    root: &Path,
    licence: InstallPolicy,
    ready: &mut Ready,
) -> Result<Option<PathBuf>, SetupError> {
    let requirements_path = root.join(REQUIREMENTS);
    let wanted = std::fs::read_to_string(&requirements_path)
        .map_err(|source| SetupError::File { path: requirements_path.clone(), source })?;
    let dir = root.join(".venv");
    let python = dir.join("bin/python");
    // The stamp is the list itself and is written last, so that an incomplete environment has none.
    let stamp = dir.join("swathe-requirements.txt");
    let is_stamped = std::fs::read_to_string(&stamp).is_ok_and(|had| had == wanted);
    if is_stamped && process::succeeds(Command::new(&python).arg("--version")) {
        return Ok(Some(python));
    }
    if licence == InstallPolicy::Nothing {
        let sentence = "an up-to-date .venv; run: cargo xtask setup";
        ready.missing.push(sentence.to_owned());
        return Ok(None);
    }
    if !python_makes_venvs() {
        // The package is already in the list of what is missing.
        return Ok(None);
    }
    println!("making the virtual environment .venv with what {REQUIREMENTS} names");
    let mut make = Command::new("python3");
    make.args(["-m", "venv", "--clear", ".venv"]).current_dir(root);
    process::run(&mut make).map_err(SetupError::Venv)?;
    let mut install = Command::new(&python);
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"]);
    install.arg(REQUIREMENTS).current_dir(root);
    process::run(&mut install).map_err(SetupError::Requirements)?;
    std::fs::write(&stamp, wanted).map_err(|source| SetupError::File { path: stamp, source })?;
    Ok(Some(python))
}

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const WITHOUT: &str = "`cargo xtask test --no-install` runs what can run without it";
        match self {
            Self::Packages(source) => {
                write!(f, "system packages were not installed: {source}; {WITHOUT}")
            }
            Self::Venv(source) => write!(f, ".venv was not made: {source}; {WITHOUT}"),
            Self::Requirements(source) => write!(
                f,
                "the Python packages of {REQUIREMENTS} were not installed: {source}; \
                 is the network there? {WITHOUT}"
            ),
            Self::File { path, source } => write!(f, "{}: {source}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn system_packages_are_installed_only_as_root_or_under_ci() {
        assert_eq!(licence(true, false, false), InstallPolicy::User);
        assert_eq!(licence(true, true, false), InstallPolicy::System { sudo: false });
        assert_eq!(licence(true, true, true), InstallPolicy::System { sudo: false });
        assert_eq!(licence(true, false, true), InstallPolicy::System { sudo: true });
        for (is_root, is_ci) in [(true, true), (true, false), (false, true), (false, false)] {
            assert_eq!(licence(false, is_root, is_ci), InstallPolicy::Nothing);
        }
    }

    #[test]
    fn what_is_missing_comes_with_one_command() {
        assert_eq!(
            advice(&["python3-venv", "libvulkan1"], true),
            "python3-venv libvulkan1; run: sudo apt-get install -y python3-venv libvulkan1"
        );
    }

    #[test]
    fn without_licence_a_missing_environment_is_reported_and_not_made() {
        let root = std::env::temp_dir().join(format!("swathe-setup-{}", std::process::id()));
        std::fs::create_dir_all(root.join("xtask")).unwrap();
        std::fs::write(root.join(REQUIREMENTS), "numpy\n").unwrap();
        let mut ready = Ready::default();
        let python = venv(&root, InstallPolicy::Nothing, &mut ready).unwrap();
        let is_made = root.join(".venv").exists();
        std::fs::remove_dir_all(&root).unwrap();
        assert_eq!((python, is_made), (None, false));
        assert_eq!(ready.missing, ["an up-to-date .venv; run: cargo xtask setup"]);
    }

    #[test]
    fn every_python_package_is_pinned() {
        let requirements = include_str!("../requirements.txt");
        let lines = requirements.lines().filter(|line| !line.starts_with('#'));
        for line in lines {
            assert!(line.contains("=="), "{line}");
        }
    }
}
