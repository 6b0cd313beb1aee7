//! Injected faults: refusals, losses, delays and panics at chosen points of a run.
//!
//! A run that never meets a fault proves nothing about surviving one. Every place where the engine
//! requests something that can be refused is a *point*. Points are counted as they are reached. A
//! rule strikes at one point, at a share of the points, or at one problem.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Where a fault can strike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FaultPoint {
    /// A reservation from a memory budget.
    Reserve,
    /// A buffer taken from a pool.
    Pool,
    /// A problem about to be loaded.
    Load,
    /// A batch about to run on a device.
    Launch,
    /// A problem about to be solved.
    Item,
    /// A part about to be written to the run folder.
    Store,
    /// A buffer on a graphics processor.
    Buffer,
    /// Values about to be written to such a buffer.
    Upload,
    /// Values about to be read from such a buffer.
    Readback,
    /// A graphics processor about to be tested before it is used.
    SelfTest,
    /// A device about to be reopened.
    Reopen,
    /// A thread about to be started. Only rules that name this point strike here. It is not part of
    /// the count of all points, because the number of threads does not depend on the problems.
    Thread,
}

impl FaultPoint {
    /// All points.
    pub const ALL: [FaultPoint; 12] = [
        FaultPoint::Reserve,
        FaultPoint::Pool,
        FaultPoint::Load,
        FaultPoint::Launch,
        FaultPoint::Item,
        FaultPoint::Store,
        FaultPoint::Buffer,
        FaultPoint::Upload,
        FaultPoint::Readback,
        FaultPoint::SelfTest,
        FaultPoint::Reopen,
        FaultPoint::Thread,
    ];

    /// The name in fault rules.
    pub fn name(self) -> &'static str {
        match self {
            FaultPoint::Reserve => "reserve",
            FaultPoint::Pool => "pool",
            FaultPoint::Load => "load",
            FaultPoint::Launch => "launch",
            FaultPoint::Item => "item",
            FaultPoint::Store => "store",
            FaultPoint::Buffer => "buffer",
            FaultPoint::Upload => "upload",
            FaultPoint::Readback => "readback",
            FaultPoint::SelfTest => "selftest",
            FaultPoint::Reopen => "reopen",
            FaultPoint::Thread => "thread",
        }
    }
}

/// What a fault does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    /// Memory is refused (at a store: the device is busy). The refusal is temporary: a retry may
    /// succeed.
    OutOfMemory,
    /// The device, or the worker thread, is lost.
    Lost,
    /// The operation takes this much longer.
    Slow(Duration),
    /// The code panics.
    Panic,
}

/// The faults of a run, parsed from text such as `oom@17,lost@3,slow@5=2s,panic@item:42,oom%10:seed=7`.
///
/// | rule | strikes |
/// |---|---|
/// | `oom@17` | the 17th point of any kind (1-based) is refused |
/// | `oom@load:3` | the third load is refused; likewise `reserve`, `pool`, `launch`, `store`, `thread`, and on graphics processors `buffer`, `upload`, `readback`, `selftest`, `reopen` |
/// | `oom%10:seed=7` | one point in ten, drawn with this seed; `oom%10:seed=7:load` loads only |
/// | `lost@3` | the worker of the third launch is lost, or the graphics processor it runs on; `lost@upload:2` and so on at other points |
/// | `slow@5=2s` | the fifth launch takes two seconds longer |
/// | `slow%30=20ms:seed=1` | three launches in ten take 20 milliseconds longer |
/// | `panic@item:42` | problem number 42 (0-based) panics every time it is tried |
///
/// A clone shares the counters.
#[derive(Clone, Default)]
pub struct Faults(Option<Arc<Inner>>);

struct Inner {
    rules: Vec<Rule>,
    /// Points reached so far, of each kind.
    met: [AtomicU64; FaultPoint::ALL.len()],
    met_in_all: AtomicU64,
    injected: AtomicU64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Rule {
    fault: Fault,
    point: Option<FaultPoint>,
    trigger: Trigger,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Trigger {
    /// The k-th point, counted from 1.
    Nth(u64),
    /// Every time for this problem.
    Problem(usize),
    /// This share of the points.
    Percent { percent: f64, seed: u64 },
}

impl Faults {
    /// No fault ever strikes, and nothing is counted.
    pub fn none() -> Faults {
        Faults(None)
    }

    /// No fault strikes, but the points are counted, so that tests can build a fault matrix.
    pub fn count_only() -> Faults {
        Faults::with_rules(Vec::new())
    }

    fn with_rules(rules: Vec<Rule>) -> Faults {
        Faults(Some(Arc::new(Inner {
            rules,
            met: Default::default(),
            met_in_all: AtomicU64::new(0),
            injected: AtomicU64::new(0),
        })))
    }

    /// Called at a point: counts it and returns the fault that strikes there, if any.
    pub fn strike(&self, point: FaultPoint, problem: Option<usize>) -> Option<Fault> {
        let inner = self.0.as_deref()?;
        let nth = inner.met[point as usize].fetch_add(1, Ordering::Relaxed) + 1;
        let nth_in_all = match point {
            FaultPoint::Thread => None,
            _ => Some(inner.met_in_all.fetch_add(1, Ordering::Relaxed) + 1),
        };
        let fault = inner.rules.iter().find_map(|rule| {
            if rule.point.is_some_and(|wanted| wanted != point) {
                return None;
            }
            let nth = if rule.point.is_some() { nth } else { nth_in_all? };
            let strikes = match rule.trigger {
                Trigger::Nth(k) => k == nth,
                Trigger::Problem(k) => Some(k) == problem,
                Trigger::Percent { percent, seed } => share(seed, nth) * 100.0 < percent,
            };
            strikes.then_some(rule.fault)
        })?;
        inner.injected.fetch_add(1, Ordering::Relaxed);
        Some(fault)
    }

    /// Like [`Faults::strike`] where only a refusal makes sense. A delay is slept through.
    pub fn refuses(&self, point: FaultPoint) -> bool {
        match self.strike(point, None) {
            Some(Fault::Slow(delay)) => {
                std::thread::sleep(delay);
                false
            }
            Some(_) => true,
            None => false,
        }
    }

    /// How many points were reached, of each kind, in the order of [`FaultPoint::ALL`].
    pub fn n_met(&self) -> [u64; FaultPoint::ALL.len()] {
        match &self.0 {
            None => [0; FaultPoint::ALL.len()],
            Some(inner) => {
                FaultPoint::ALL.map(|point| inner.met[point as usize].load(Ordering::Relaxed))
            }
        }
    }

    /// How many faults struck.
    pub fn n_injected(&self) -> u64 {
        self.0.as_ref().map_or(0, |inner| inner.injected.load(Ordering::Relaxed))
    }
}

/// A number in [0, 1) that depends on the seed and the point's number alone.
fn share(seed: u64, nth: u64) -> f64 {
    (crate::seed::mix(seed ^ crate::seed::mix(nth)) >> 11) as f64 / (1u64 << 53) as f64
}

impl fmt::Debug for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            None => f.write_str("Faults(none)"),
            Some(inner) => f.debug_tuple("Faults").field(&inner.rules).finish(),
        }
    }
}

/// A fault rule that does not parse.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{rule}' is not a fault: {reason} (examples: oom@17, oom@load:3, lost@3, slow@5=2s, panic@item:42, oom%10:seed=7)"
)]
pub struct FaultParseError {
    /// The rule.
    pub rule: String,
    /// What is wrong with it.
    pub reason: &'static str,
}

impl FromStr for Faults {
    type Err = FaultParseError;

    fn from_str(text: &str) -> Result<Faults, FaultParseError> {
        let rules = text
            .split(',')
            .map(str::trim)
            .filter(|rule| !rule.is_empty())
            .map(|rule| {
                parse_rule(rule).map_err(|reason| FaultParseError { rule: rule.to_owned(), reason })
            })
            .collect::<Result<Vec<Rule>, _>>()?;
        Ok(if rules.is_empty() { Faults::none() } else { Faults::with_rules(rules) })
    }
}

fn parse_rule(rule: &str) -> Result<Rule, &'static str> {
    let split = rule.find(['@', '%']).ok_or("there is neither '@' nor '%' in it")?;
    let (name, rest) = rule.split_at(split);
    let (sign, rest) = rest.split_at(1);
    let (rest, delay) = split_delay(rest, sign);
    let fault = match (name, delay) {
        ("oom", None) => Fault::OutOfMemory,
        ("lost", None) => Fault::Lost,
        ("panic", None) => Fault::Panic,
        ("slow", Some(delay)) => {
            Fault::Slow(parse_delay(delay).ok_or("the delay is not like 2s or 50ms")?)
        }
        ("slow", None) => return Err("slow needs a delay, such as slow@5=2s"),
        _ => return Err("the fault is none of oom, lost, slow, panic"),
    };
    // By default a loss or a delay strikes launches and a panic strikes items. Memory can be
    // refused anywhere.
    let point_of_fault = match fault {
        Fault::OutOfMemory => None,
        Fault::Lost | Fault::Slow(_) => Some(FaultPoint::Launch),
        Fault::Panic => Some(FaultPoint::Item),
    };
    if sign == "%" {
        let mut fields = rest.split(':');
        let percent = fields
            .next()
            .and_then(|text| text.parse().ok())
            .ok_or("the percentage is not a number")?;
        let mut seed = 0;
        let mut point = point_of_fault;
        for field in fields {
            match field.strip_prefix("seed=") {
                Some(text) => seed = text.parse().map_err(|_| "the seed is not a number")?,
                None => point = Some(parse_point(field)?),
            }
        }
        return Ok(Rule { fault, point, trigger: Trigger::Percent { percent, seed } });
    }
    match rest.split_once(':') {
        None => {
            let k = rest
                .parse()
                .ok()
                .filter(|&k| k > 0)
                .ok_or("the point's number is not 1 or more")?;
            Ok(Rule { fault, point: point_of_fault, trigger: Trigger::Nth(k) })
        }
        Some((point, k)) => {
            let point = parse_point(point)?;
            let trigger = if point == FaultPoint::Item {
                Trigger::Problem(k.parse().map_err(|_| "the problem's number is not a number")?)
            } else {
                Trigger::Nth(
                    k.parse()
                        .ok()
                        .filter(|&k| k > 0)
                        .ok_or("the point's number is not 1 or more")?,
                )
            };
            Ok(Rule { fault, point: Some(point), trigger })
        }
    }
}

/// Takes the delay out of `5=2s` and of `30=20ms:seed=1`; the seed's own `=` comes after a colon.
fn split_delay<'a>(rest: &'a str, sign: &str) -> (Cow<'a, str>, Option<&'a str>) {
    let (head, tail) = match rest.split_once(':') {
        Some((head, tail)) if sign == "%" => (head, Some(tail)),
        _ => (rest, None),
    };
    match (head.split_once('='), tail) {
        (None, _) => (Cow::Borrowed(rest), None),
        (Some((before, delay)), None) => (Cow::Borrowed(before), Some(delay)),
        (Some((before, delay)), Some(tail)) => {
            (Cow::Owned(format!("{before}:{tail}")), Some(delay))
        }
    }
}

fn parse_point(text: &str) -> Result<FaultPoint, &'static str> {
    FaultPoint::ALL
        .into_iter()
        .find(|point| point.name() == text)
        .ok_or("the point is none of reserve, pool, load, launch, item, store, buffer, upload, readback, selftest, reopen, thread")
}

fn parse_delay(text: &str) -> Option<Duration> {
    let (digits, unit) = match text.strip_suffix("ms") {
        Some(digits) => (digits, 1e-3),
        None => (text.strip_suffix('s')?, 1.0),
    };
    let seconds = digits.parse::<f64>().ok()? * unit;
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_strike_where_they_say() {
        let faults: Faults = "oom@3,oom@load:2,panic@item:42,slow@1=5ms".parse().unwrap();
        assert_eq!(faults.strike(FaultPoint::Reserve, None), None);
        assert_eq!(faults.strike(FaultPoint::Load, None), None);
        assert_eq!(
            faults.strike(FaultPoint::Reserve, None),
            Some(Fault::OutOfMemory),
            "third of all"
        );
        assert_eq!(faults.strike(FaultPoint::Load, None), Some(Fault::OutOfMemory), "second load");
        assert_eq!(faults.strike(FaultPoint::Item, Some(41)), None);
        assert_eq!(faults.strike(FaultPoint::Item, Some(42)), Some(Fault::Panic));
        assert_eq!(
            faults.strike(FaultPoint::Launch, None),
            Some(Fault::Slow(Duration::from_millis(5)))
        );
        assert_eq!(faults.n_injected(), 4);
        assert_eq!(faults.n_met(), [2, 0, 2, 1, 2, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn a_share_is_a_share_and_repeats() {
        let struck = |text: &str| {
            let faults: Faults = text.parse().unwrap();
            (0..10_000).filter(|_| faults.refuses(FaultPoint::Pool)).count()
        };
        let n = struck("oom%10:seed=7");
        assert!((850..1150).contains(&n), "{n} of 10000");
        assert_eq!(struck("oom%10:seed=7"), n);
        assert_ne!(struck("oom%10:seed=8"), n);
        assert_eq!(struck("oom%10:seed=7:load"), 0);
    }

    #[test]
    fn a_share_of_the_launches_is_slow() {
        for (rule, expected) in
            [("slow%100=20ms:seed=1", 1000), ("slow%100=20ms", 1000), ("slow%0=20ms:seed=1", 0)]
        {
            let faults: Faults = rule.parse().unwrap();
            let slow = Some(Fault::Slow(Duration::from_millis(20)));
            let n_slow =
                (0..1000).filter(|_| faults.strike(FaultPoint::Launch, None) == slow).count();
            assert_eq!(n_slow, expected, "{rule}");
            assert_eq!(faults.strike(FaultPoint::Load, None), None, "{rule}");
        }
        let faults: Faults = "slow%100=1ms:seed=1:store".parse().unwrap();
        assert_eq!(faults.strike(FaultPoint::Launch, None), None);
        assert!(faults.strike(FaultPoint::Store, None).is_some());
    }

    #[test]
    fn wrong_rules_say_why() {
        for rule in [
            "oom",
            "oom@0",
            "oom@x",
            "boom@1",
            "slow@3",
            "slow@3=soon",
            "slow%50",
            "slow%50:seed=1",
            "slow%50=soon:seed=1",
            "oom%50=2s",
            "oom@lunch:1",
            "oom%x",
            "oom%1:seed=q",
        ] {
            let error = rule.parse::<Faults>().unwrap_err();
            assert_eq!(error.rule, rule);
        }
    }
}
