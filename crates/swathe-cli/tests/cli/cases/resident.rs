//! The memory that a process takes.

use std::path::Path;
use std::time::Duration;

use super::arrays::number;
use super::vocabulary::{Said, option};
use crate::program::{Ended, command};

/// `within MIB [--from MIB] swathe …`: the peak memory of the process is at most the one number of
/// MiB, and at least the other.
pub(crate) fn within(folder: &Path, arguments: &[String]) -> Result<Said, String> {
    let mut arguments = arguments.to_vec();
    let least: u64 = option(&mut arguments, "--from").map_or(Ok(0), |text| number(&text))?;
    let (most, line) = arguments.split_first().ok_or("within MIB swathe …")?;
    let line = line.join(" ");
    let line = line.strip_prefix("swathe ").ok_or("within MIB swathe …")?;
    let (ended, peak_bytes) = peak_bytes(folder, line);
    let peak_mib = peak_bytes >> 20;
    match (least..=number(most)?).contains(&peak_mib) {
        true => Ok(ended.into()),
        false => Err(format!("{peak_mib} MiB in the process")),
    }
}

/// Runs a command and returns the peak memory of the process, in bytes.
pub(crate) fn peak_bytes(folder: &Path, line: &str) -> (Ended, u64) {
    let mut child = command(folder, line).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak_bytes = 0;
    while child.try_wait().unwrap().is_none() {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let peak = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = peak.and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok());
        peak_bytes = peak_bytes.max(kib.unwrap_or(0) << 10);
        std::thread::sleep(Duration::from_millis(2));
    }
    (Ended::of(child.wait_with_output().unwrap()), peak_bytes)
}
