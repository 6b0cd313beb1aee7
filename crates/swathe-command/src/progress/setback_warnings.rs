//! Warnings about setbacks: a new kind is printed at once if possible, repetitions are combined,
//! and there is at most one line per second.

use std::mem::discriminant;
use std::time::{Duration, Instant};

use swathe::{Remedy, Setback, SetbackCause};

use crate::summary::counted;

/// Rate-limits and combines warnings about setbacks.
#[derive(Default)]
pub(super) struct SetbackWarnings {
    n_setbacks: u64,
    last_line: Option<Instant>,
    /// The first setback of each kind since the kind's last line, and how many there were.
    held: Vec<(Setback, u64)>,
}

/// The least time between two lines.
const LINE_EVERY: Duration = Duration::from_secs(1);

impl SetbackWarnings {
    /// The number of setbacks so far.
    pub(super) fn n_setbacks(&self) -> u64 {
        self.n_setbacks
    }

    /// Records a setback, and returns a line if one is due.
    pub(super) fn hear(&mut self, setback: &Setback, now: Instant) -> Option<String> {
        self.n_setbacks += 1;
        match self.held.iter_mut().find(|(held, _)| alike(held, setback)) {
            Some((_, n)) => *n += 1,
            None => self.held.push((setback.clone(), 1)),
        }
        self.due(now)
    }

    /// The line that is due now, if any: the kind that has waited longest.
    pub(super) fn due(&mut self, now: Instant) -> Option<String> {
        let is_free = |last: Instant| now.saturating_duration_since(last) >= LINE_EVERY;
        if self.held.is_empty() || !self.last_line.is_none_or(is_free) {
            return None;
        }
        self.last_line = Some(now);
        let (setback, n) = self.held.remove(0);
        Some(line(&setback, n))
    }

    /// All lines that are not printed yet.
    pub(super) fn rest(&mut self) -> Vec<String> {
        let held = self.held.drain(..);
        held.map(|(setback, n)| line(&setback, n)).collect()
    }
}

fn alike(a: &Setback, b: &Setback) -> bool {
    a.device == b.device && a.remedy == b.remedy && discriminant(&a.cause) == discriminant(&b.cause)
}

fn line(setback: &Setback, n: u64) -> String {
    let text = setback_text(setback);
    match n {
        1 => text,
        n => format!("{text} … and {} more", n - 1),
    }
}

/// The text of a warning: no fallback is silent.
fn setback_text(setback: &Setback) -> String {
    let problems = counted(setback.n_problems as u64, "problem", "problems");
    let then = match setback.remedy {
        Remedy::Split => "tried again in smaller batches",
        Remedy::Retried => "tried again",
        Remedy::Replaced => "another takes over",
        Remedy::ToCpu => "the CPU takes over",
        Remedy::Reopened => "it is opened again",
        Remedy::Retired => "it is not used any more",
        Remedy::FewerWorkers => "the run goes on with fewer",
    };
    let device = setback.device;
    match &setback.cause {
        SetbackCause::OutOfMemory { wanted_bytes } => {
            format!("{wanted_bytes} bytes refused on {device} for {problems}, {then}")
        }
        SetbackCause::WorkerLost => {
            format!("a worker was lost with {problems} in hand, {then}")
        }
        SetbackCause::WorkerStuck { problem } => {
            format!("problem {problem} does not stop; its thread is left behind and {then}")
        }
        SetbackCause::ThreadsRefused { n_refused } => {
            let threads = counted(*n_refused as u64, "thread", "threads");
            format!("the system refused to start {threads}, {then}")
        }
        SetbackCause::DeviceLost => {
            format!("{device} was lost with {problems} in hand, {then}")
        }
        SetbackCause::DeviceTimedOut => {
            format!("{device} did not answer in time with {problems} in hand, {then}")
        }
        SetbackCause::LaunchFailed { message } => {
            format!("a launch of {problems} on {device} failed, {then}: {message}")
        }
        SetbackCause::HandedOver { reason } => {
            format!("{device} cannot finish {problems}, {then}: {reason}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use swathe::DeviceId;

    fn setback(cause: SetbackCause) -> Setback {
        Setback { at_ms: 0.0, device: DeviceId::Cpu, cause, n_problems: 2, remedy: Remedy::Retried }
    }

    #[test]
    fn repetitions_are_folded_and_nothing_is_lost() {
        let refused = |wanted_bytes| setback(SetbackCause::OutOfMemory { wanted_bytes });
        let lost = setback(SetbackCause::WorkerLost);
        let start = Instant::now();
        let at = |ms: u64| start + Duration::from_millis(ms);
        let mut spoken = SetbackWarnings::default();
        let first = "7 bytes refused on cpu for 2 problems, tried again";
        assert_eq!(spoken.hear(&refused(7), at(0)).as_deref(), Some(first));
        // Setbacks within the same second wait; a new kind gets a line of its own.
        for n in 0..14 {
            assert_eq!(spoken.hear(&refused(8 + n), at(10)), None);
        }
        assert_eq!(spoken.hear(&lost, at(20)), None);
        assert_eq!(spoken.due(at(999)), None);
        let folded = "8 bytes refused on cpu for 2 problems, tried again … and 13 more";
        assert_eq!(spoken.due(at(1000)).as_deref(), Some(folded));
        assert_eq!(spoken.due(at(1001)), None);
        assert_eq!(spoken.hear(&lost, at(1500)), None);
        let both = "a worker was lost with 2 problems in hand, tried again … and 1 more";
        assert_eq!(spoken.rest(), [both]);
        assert_eq!(spoken.rest(), [""; 0]);
        assert_eq!(spoken.n_setbacks(), 17);
    }
}
