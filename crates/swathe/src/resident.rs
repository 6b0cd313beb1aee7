//! Resident memory: what a process takes up, as the operating system counts it.

/// The resident memory of this process; zeros where the system does not report it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Resident {
    /// Now.
    pub(crate) bytes: u64,
    /// The most since the process started.
    pub(crate) peak_bytes: u64,
}

impl Resident {
    // This path is an interface of the kernel, not a file on a disk.
    pub(crate) fn now() -> Resident {
        std::fs::read_to_string("/proc/self/status")
            .map_or(Resident::default(), |text| Resident::of_status(&text))
    }

    fn of_status(text: &str) -> Resident {
        let bytes = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name))?;
            let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
            Some(kib * 1024)
        };
        Resident { bytes: bytes("VmRSS:").unwrap_or(0), peak_bytes: bytes("VmHWM:").unwrap_or(0) }
    }

    /// The most that was resident since `self`, which was measured at the start of a run. Where the
    /// process had more before, the samples of the run say it.
    pub(crate) fn peak_since(self, samples: impl Iterator<Item = u64>) -> u64 {
        let now = Resident::now();
        match now.peak_bytes > self.peak_bytes {
            true => now.peak_bytes,
            false => samples.chain([self.bytes, now.bytes]).max().unwrap_or(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Resident;

    #[test]
    fn the_status_of_a_process_is_read() {
        let text = "Name:\tswathe\nVmPeak:\t 9 kB\nVmHWM:\t   14200 kB\nVmRSS:\t   13000 kB\n";
        let read = Resident::of_status(text);
        assert_eq!(read, Resident { bytes: 13_312_000, peak_bytes: 14_540_800 });
        assert_eq!(Resident::of_status("Name:\tswathe\n"), Resident::default());
        let before = Resident { peak_bytes: u64::MAX, bytes: 5 };
        assert!(before.peak_since([7, u64::MAX - 1].into_iter()) == u64::MAX - 1);
    }
}
