//! Diagnoses Vulkan on this machine: why there is no device, and what to install.

use std::path::{Path, PathBuf};

/// Environment variables that list driver files.
const VARIABLES: [&str; 2] = ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"];

/// The folders of driver manifests.
const FOLDERS: [&str; 4] = [
    "/usr/share/vulkan/icd.d",
    "/etc/vulkan/icd.d",
    "/usr/local/share/vulkan/icd.d",
    "/usr/local/etc/vulkan/icd.d",
];

/// Whether the user chose the drivers through a variable.
pub(crate) fn is_set_by_hand() -> bool {
    VARIABLES.iter().any(|name| std::env::var_os(name).is_some())
}

/// Whether this machine may have a hardware GPU. Loading all drivers to find none takes longer than
/// a small run.
pub(crate) fn may_have_hardware() -> bool {
    const NODES: [&str; 5] =
        ["/dev/dri", "/dev/nvidiactl", "/dev/dxg", "/dev/mali0", "/dev/kgsl-3d0"];
    !cfg!(target_os = "linux") || NODES.iter().any(|node| Path::new(node).exists())
}

/// Why there is no device, and what to do about it, in one line.
pub(crate) fn why_nothing() -> String {
    if !cfg!(target_os = "linux") {
        return "the system shows none".to_owned();
    }
    for name in VARIABLES {
        if let Some(files) = std::env::var_os(name) {
            let missing = std::env::split_paths(&files).find(|file| !file.exists());
            return match missing {
                Some(file) => format!(
                    "{name} names {}, which is not there; correct it or leave it out",
                    file.display()
                ),
                None => format!(
                    "the drivers that {name} names show none; leave it out to see all others"
                ),
            };
        }
    }
    let has_nvidia =
        Path::new("/proc/driver/nvidia/version").exists() || Path::new("/dev/nvidiactl").exists();
    explain(has_loader(), &driver_files(), has_nvidia)
}

fn explain(has_loader: bool, drivers: &[PathBuf], has_nvidia: bool) -> String {
    if !has_loader {
        return "the Vulkan loader is missing (Debian: apt-get install libvulkan1)".to_owned();
    }
    let is_of_nvidia = |file: &PathBuf| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        name.contains("nvidia")
    };
    if has_nvidia && !drivers.iter().any(is_of_nvidia) {
        return "there is an NVIDIA card, but not its Vulkan driver; a container needs \
                NVIDIA_DRIVER_CAPABILITIES=all, container toolkit 1.18 or later, and the packages \
                libvulkan1, libegl1 and libxext6"
            .to_owned();
    }
    if drivers.is_empty() {
        return format!(
            "no Vulkan driver in {} or {} (the card's driver package brings one)",
            FOLDERS[0], FOLDERS[1]
        );
    }
    let drivers: Vec<String> = drivers.iter().map(|file| file.display().to_string()).collect();
    format!(
        "the Vulkan drivers {} show none; is this user allowed to open /dev/dri/renderD128?",
        drivers.join(", ")
    )
}

fn driver_files() -> Vec<PathBuf> {
    let files = FOLDERS.iter().filter_map(|folder| std::fs::read_dir(folder).ok());
    let files = files.flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> = files
        .filter(|file| file.extension().is_some_and(|extension| extension == "json"))
        .collect();
    files.sort();
    files
}

fn has_loader() -> bool {
    const NAME: &str = "libvulkan.so.1";
    let listed = ["/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib"];
    let listed = listed.iter().map(PathBuf::from);
    let variable = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let set: Vec<PathBuf> = std::env::split_paths(&variable).collect();
    let mut folders: Vec<PathBuf> = listed.chain(set).collect();
    // Debian and its derivatives have a folder of libraries for each architecture.
    for folder in ["/lib", "/usr/lib"] {
        let inside = std::fs::read_dir(folder).into_iter().flatten().flatten();
        folders.extend(inside.map(|entry| entry.path()));
    }
    folders.iter().any(|folder| folder.join(NAME).exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_says_what_to_do() {
        let mesa = [PathBuf::from("/usr/share/vulkan/icd.d/radeon_icd.x86_64.json")];
        let nvidia = [PathBuf::from("/etc/vulkan/icd.d/nvidia_icd.json")];
        assert!(explain(false, &mesa, true).contains("libvulkan1"));
        assert!(explain(true, &mesa, true).contains("NVIDIA_DRIVER_CAPABILITIES"));
        assert!(explain(true, &[], false).contains("no Vulkan driver in"));
        assert!(explain(true, &nvidia, true).contains("nvidia_icd.json"));
        assert!(explain(true, &mesa, false).contains("renderD128"));
    }
}
