//! The circumstances under which a figure was measured: date, machine, version.

use std::fmt;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::process::answer;
use crate::workspace::Workspace;

/// The date, the machine and the version: without these a figure cannot be compared.
#[derive(Debug)]
pub(crate) struct Circumstances {
    date: String,
    processor: String,
    n_threads: usize,
    memory: String,
    compiler: String,
    commit: String,
}

impl Circumstances {
    /// Collects the circumstances of this machine; values that the system does not report are
    /// "unknown".
    pub(crate) fn now(workspace: &Workspace) -> Self {
        let read = |path| std::fs::read_to_string(path).unwrap_or_default();
        let unknown = || "unknown".to_owned();
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let git =
            |args: &[&str]| answer(Command::new("git").args(args).current_dir(&workspace.root));
        let commit = git(&["rev-parse", "--short=10", "HEAD"]).map(|hash| {
            match git(&["status", "--porcelain", "--untracked-files=no"]) {
                Some(changes) if changes.is_empty() => hash,
                _ => format!("{hash}, with changes"),
            }
        });
        Self {
            date: utc_date(since_epoch.as_secs() / 86_400),
            processor: value(&read("/proc/cpuinfo"), "model name").unwrap_or_else(unknown),
            n_threads: std::thread::available_parallelism().map_or(1, usize::from),
            memory: value(&read("/proc/meminfo"), "MemTotal")
                .and_then(|kib| gib(&kib))
                .unwrap_or_else(unknown),
            compiler: answer(Command::new("rustc").arg("--version")).unwrap_or_else(unknown),
            commit: commit.unwrap_or_else(unknown),
        }
    }
}

/// The value of the first `key : value` line with this key.
fn value(text: &str, key: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.trim().to_owned())
    })
}

/// The kernel's `24682416 kB` (of 1,024 bytes) in GiB.
fn gib(kib: &str) -> Option<String> {
    let n_kib: f64 = kib.strip_suffix(" kB")?.parse().ok()?;
    Some(format!("{:.1} GiB", n_kib / (1024.0 * 1024.0)))
}

/// The day of the Gregorian calendar that begins so many days after 1970-01-01.
fn utc_date(n_days: u64) -> String {
    // Years begin on 1 March, so that the leap day is the last day. There are 719,468 days between
    // 0000-03-01 and 1970-01-01, and every 400 years have 146,097 days.
    let days = n_days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let months_since_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * months_since_march + 2) / 5 + 1;
    let month = (months_since_march + 2) % 12 + 1;
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year}-{month:02}-{day:02}")
}

impl fmt::Display for Circumstances {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "date       {}", self.date)?;
        writeln!(f, "processor  {}, {} threads", self.processor, self.n_threads)?;
        writeln!(f, "memory     {}", self.memory)?;
        writeln!(f, "compiler   {}", self.compiler)?;
        write!(f, "commit     {}", self.commit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_become_dates() {
        // From `date -u -d @$((86400 * n)) +%F`.
        for (n_days, date) in [
            (0, "1970-01-01"),
            (58, "1970-02-28"),
            (59, "1970-03-01"),
            (789, "1972-02-29"),
            (11_016, "2000-02-29"),
            (11_017, "2000-03-01"),
            (20_772, "2026-11-15"),
            (47_540, "2100-02-28"),
            (47_541, "2100-03-01"),
        ] {
            assert_eq!(utc_date(n_days), date);
        }
    }

    #[test]
    fn memory_is_given_in_gib() {
        assert_eq!(gib("24682416 kB").as_deref(), Some("23.5 GiB"));
        assert_eq!(gib("much"), None);
    }

    #[test]
    fn the_first_processor_gives_its_name() {
        let text = "processor\t: 0\nmodel name\t: A: 1\nprocessor\t: 1\nmodel name\t: B\n";
        assert_eq!(value(text, "model name").as_deref(), Some("A: 1"));
        assert_eq!(value(text, "MemTotal"), None);
    }
}
