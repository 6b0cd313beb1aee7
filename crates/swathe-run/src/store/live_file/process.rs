//! Process marks: identify a process, to find out later whether it is still running.

use std::fs;

use serde::{Deserialize, Serialize};

/// Identifies a process. The id alone is not enough, because the system reuses ids.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessMark {
    /// The process id.
    pub pid: u32,
    /// The machine's name.
    pub host: Option<String>,
    /// The kernel's id of the current boot.
    pub boot_id: Option<String>,
    /// When the process started, in clock ticks since the boot.
    pub start_ticks: Option<u64>,
}

/// Whether the process of a mark is still running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It is running.
    Alive,
    /// It has ended.
    Gone,
    /// It runs or ran on another machine, or this system does not report processes.
    Unknown,
}

impl ProcessMark {
    /// The mark of this process.
    pub fn of_this() -> ProcessMark {
        let pid = std::process::id();
        ProcessMark {
            pid,
            host: trimmed("/proc/sys/kernel/hostname"),
            boot_id: trimmed("/proc/sys/kernel/random/boot_id"),
            start_ticks: start_ticks(pid),
        }
    }

    /// Whether the process is still running, as far as this machine can know.
    pub fn presence(&self) -> Presence {
        let here = ProcessMark::of_this();
        if self.host != here.host || self.host.is_none() {
            return Presence::Unknown;
        }
        if self.boot_id != here.boot_id {
            return Presence::Gone;
        }
        match (self.start_ticks, start_ticks(self.pid)) {
            (Some(then), Some(now)) if then == now => Presence::Alive,
            (Some(_), _) => Presence::Gone,
            (None, _) => Presence::Unknown,
        }
    }

    /// Whether the process is known to be running.
    pub fn is_alive(&self) -> bool {
        self.presence() == Presence::Alive
    }
}

/// Whether a process with this id is running on this machine; false if the system does not report
/// processes.
pub(crate) fn is_process_alive(pid: u32) -> bool {
    start_ticks(pid).is_some()
}

fn trimmed(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned())
}

/// When a process started; `None` if there is no such process, or if it is a zombie.
fn start_ticks(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the program's name in parentheses, which may contain spaces and
    // parentheses.
    let mut fields = stat[stat.rfind(')')? + 1..].split_ascii_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{Presence, ProcessMark};

    #[test]
    #[cfg(target_os = "linux")]
    fn a_process_is_known_again_and_missed_when_gone() {
        let this = ProcessMark::of_this();
        assert_eq!(this.presence(), Presence::Alive);
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("sleep runs");
        let mark = ProcessMark {
            pid: child.id(),
            start_ticks: super::start_ticks(child.id()),
            ..this.clone()
        };
        assert_eq!(mark.presence(), Presence::Alive);
        child.kill().expect("it can be ended");
        child.wait().expect("it ends");
        assert_eq!(mark.presence(), Presence::Gone);
        let earlier =
            ProcessMark { start_ticks: this.start_ticks.map(|ticks| ticks - 1), ..this.clone() };
        assert_eq!(earlier.presence(), Presence::Gone, "its number was used again");
        let elsewhere = ProcessMark { host: Some("elsewhere".to_owned()), ..this };
        assert_eq!(elsewhere.presence(), Presence::Unknown);
    }
}
