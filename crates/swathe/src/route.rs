//! Routes: which device takes which problems, decided by measured costs.
//!
//! The devices of a run share one queue. Problems that several devices can solve are grouped in
//! [`Lot`]s. An idle device asks the router which lot to take from, and how many lanes. Three rules
//! keep the run short. Each device takes what it is best at *compared with the others*. No device
//! takes more than would last until the end. Near the end, a device leaves the rest alone if
//! another device would finish all of it sooner.

use std::time::Duration;

/// Problems of one kind that several devices can solve, as the router sees them.
#[derive(Clone, Debug, PartialEq)]
pub struct Lot {
    /// How many lanes are left.
    pub n_lanes: usize,
    /// The cost of one lane on each device.
    pub cost_by_device: Vec<LaneCost>,
}

/// The cost of one lane on a device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LaneCost {
    /// The device cannot solve the lane.
    Never,
    /// Nothing has been measured yet.
    Unknown,
    /// The measured time.
    Takes(Duration),
}

/// What a device should do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Take lanes from a lot.
    Take {
        /// The number of the lot.
        lot: usize,
        /// The maximum number of lanes.
        n_lanes: usize,
    },
    /// Leave the remaining lanes to the other devices.
    Leave,
}

/// How many lanes a device takes while their cost is unknown.
const N_PROBE: usize = 4;

/// A device leaves lanes to another only if that one is faster by this factor: measurements
/// scatter.
const HYSTERESIS: f64 = 1.25;

/// What a device should take. `n_at_once[d]` is how many lanes device `d` solves in parallel, each
/// in the time of its [`LaneCost`]. For the CPU this is the number of threads. For a device that
/// solves whole batches it is 1, and its lane cost is a share of the batch.
///
/// As long as a lot has lanes that some device can solve, at least one device takes lanes: the
/// devices cannot all leave the work to each other.
///
/// ```
/// use std::time::Duration;
/// use swathe::route::{Choice, LaneCost, Lot, choose};
/// let ms = |ms| LaneCost::Takes(Duration::from_millis(ms));
/// let lots = [
///     Lot { n_lanes: 100, cost_by_device: vec![ms(10), ms(1)] },
///     Lot { n_lanes: 100, cost_by_device: vec![ms(10), ms(8)] },
/// ];
/// // The first lot is what the second device is best at; the first device takes from the other.
/// assert!(matches!(choose(1, &lots, &[2, 1]), Choice::Take { lot: 0, .. }));
/// assert!(matches!(choose(0, &lots, &[2, 1]), Choice::Take { lot: 1, .. }));
/// ```
///
/// # Panics
/// If `device` is not below the number of devices, or a lot has fewer costs than there are devices.
pub fn choose(device: usize, lots: &[Lot], n_at_once: &[usize]) -> Choice {
    // Computed once for all lots, because a decision is made under the queue's lock.
    let devices = 0..n_at_once.len();
    let alone_s: Vec<f64> = devices.map(|other| alone(other, lots, n_at_once)).collect();
    let mut best: Option<(f64, usize)> = None;
    for (number, lot) in lots.iter().enumerate() {
        if lot.n_lanes == 0 || !should_take(device, lot, &alone_s) {
            continue;
        }
        let advantage = match lot.cost_by_device[device] {
            LaneCost::Never => continue,
            // A first measurement is worth a batch.
            LaneCost::Unknown => f64::INFINITY,
            LaneCost::Takes(lane) => rival(device, lot, n_at_once) / seconds(lane),
        };
        if best.is_none_or(|(most, _)| advantage > most) {
            best = Some((advantage, number));
        }
    }
    let Some((_, number)) = best else {
        return Choice::Leave;
    };
    let lot = &lots[number];
    let n_lanes = match lot.cost_by_device[device] {
        LaneCost::Takes(lane) => {
            // Half of what the devices together do until the end, because lanes that are taken
            // cannot be redistributed.
            let together = together(lots, &alone_s);
            (0.5 * together / seconds(lane)).min(lot.n_lanes as f64) as usize
        }
        LaneCost::Unknown | LaneCost::Never => N_PROBE.min(lot.n_lanes),
    };
    Choice::Take { lot: number, n_lanes: n_lanes.max(1) }
}

/// Whether a device should take lanes of this lot at all. A device leaves lanes only to devices
/// that can solve them.
///
/// Proof of progress, for a lot with lanes: if the CPU's cost is unknown, the CPU takes it. A
/// device with an unknown cost leaves the lot only to one with a known cost. A device with a known
/// cost leaves the lot only to one whose own lane is clearly shorter, so the device with the
/// shortest lane takes it.
fn should_take(device: usize, lot: &Lot, alone_s: &[f64]) -> bool {
    /// Lanes that another device will finish within this many seconds are not worth a probe.
    const PROBE_WORTH_S: f64 = 0.2;
    let mut others = (0..alone_s.len()).filter(|&other| other != device);
    match lot.cost_by_device[device] {
        LaneCost::Never => false,
        LaneCost::Unknown if device == 0 => true,
        LaneCost::Unknown => others.all(|other| match lot.cost_by_device[other] {
            LaneCost::Never => true,
            // The CPU is measured soon, but another device with an unknown cost may wait in the
            // same way.
            LaneCost::Unknown => other != 0,
            LaneCost::Takes(_) => alone_s[other] > PROBE_WORTH_S,
        }),
        LaneCost::Takes(lane) => others.all(|other| match lot.cost_by_device[other] {
            LaneCost::Never | LaneCost::Unknown => true,
            // Leave the lot if another device would finish everything before this one's first lane.
            LaneCost::Takes(_) => seconds(lane) <= HYSTERESIS * alone_s[other],
        }),
    }
}

/// The time that all devices together need for everything left, given the time each needs alone.
fn together(lots: &[Lot], alone_s: &[f64]) -> f64 {
    let rates = alone_s.iter().enumerate().map(|(device, alone)| {
        let can_all = lots
            .iter()
            .all(|lot| lot.n_lanes == 0 || lot.cost_by_device[device] != LaneCost::Never);
        match can_all && alone.is_finite() {
            true => 1.0 / alone.max(1e-12),
            false => 0.0,
        }
    });
    // Infinite where no device knows all costs: a device then takes what its batch limits allow.
    1.0 / rates.sum::<f64>()
}

/// The time that the fastest other device needs for a lane of this lot.
fn rival(device: usize, lot: &Lot, n_at_once: &[usize]) -> f64 {
    let mut least = f64::INFINITY;
    for (other, lane) in lot.cost_by_device.iter().enumerate() {
        if let LaneCost::Takes(lane) = lane
            && other != device
        {
            least = least.min(seconds(*lane) / n_at_once[other].max(1) as f64);
        }
    }
    least
}

/// The time that a device alone needs for everything left that it can solve; infinite if one of the
/// costs is unknown.
fn alone(device: usize, lots: &[Lot], n_at_once: &[usize]) -> f64 {
    let (mut sum, mut longest) = (0.0, 0.0f64);
    for lot in lots.iter().filter(|lot| lot.n_lanes > 0) {
        match lot.cost_by_device[device] {
            LaneCost::Never => {}
            LaneCost::Unknown => return f64::INFINITY,
            LaneCost::Takes(lane) => {
                sum += lot.n_lanes as f64 * seconds(lane);
                longest = longest.max(seconds(lane));
            }
        }
    }
    // A single lane is no faster on several threads. This also prevents two devices from leaving
    // the same lanes to each other: the one whose longest lane is shorter takes them.
    longest.max(sum / n_at_once[device].max(1) as f64)
}

fn seconds(lane: Duration) -> f64 {
    lane.as_secs_f64().max(1e-12)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: f64) -> LaneCost {
        LaneCost::Takes(Duration::from_secs_f64(ms / 1e3))
    }

    /// Executes the choices on devices that need exactly the given costs. Returns the time until
    /// the last lane is done.
    fn simulate(mut lots: Vec<Lot>, n_at_once: &[usize], lanes_max: usize) -> f64 {
        // Every thread is a worker of its own.
        let mut free: Vec<(f64, usize)> = n_at_once
            .iter()
            .enumerate()
            .flat_map(|(device, &n)| std::iter::repeat_n((0.0, device), n))
            .collect();
        let mut end = 0.0f64;
        while lots.iter().any(|lot| lot.n_lanes > 0) {
            free.sort_by(|a, b| a.0.total_cmp(&b.0));
            let taken = free
                .iter()
                .position(|&(_, device)| choose(device, &lots, n_at_once) != Choice::Leave);
            let at = taken.expect("some device takes what is left");
            let (now, device) = free[at];
            let Choice::Take { lot, n_lanes } = choose(device, &lots, n_at_once) else {
                unreachable!()
            };
            let LaneCost::Takes(lane) = lots[lot].cost_by_device[device] else {
                panic!("costs are known here")
            };
            let n_lanes = n_lanes.min(lanes_max);
            lots[lot].n_lanes -= n_lanes;
            free[at].0 = now + n_lanes as f64 * lane.as_secs_f64();
            end = end.max(free[at].0);
        }
        end
    }

    /// The shortest time of two devices if lots could be divided freely: the first device takes the
    /// lots that it is relatively best at until both end at the same time.
    fn best(lots: &[Lot], n_at_once: &[usize]) -> f64 {
        let cost = |lot: &Lot, device: usize| match lot.cost_by_device[device] {
            LaneCost::Takes(lane) => {
                lot.n_lanes as f64 * lane.as_secs_f64() / n_at_once[device] as f64
            }
            _ => f64::INFINITY,
        };
        let mut order: Vec<&Lot> = lots.iter().collect();
        order.sort_by(|a, b| (cost(a, 0) / cost(a, 1)).total_cmp(&(cost(b, 0) / cost(b, 1))));
        let mut least = f64::INFINITY;
        for cut in 0..order.len() {
            let before: f64 = order[..cut].iter().map(|lot| cost(lot, 0)).sum();
            let after: f64 = order[cut + 1..].iter().map(|lot| cost(lot, 1)).sum();
            let (first, second) = (cost(order[cut], 0), cost(order[cut], 1));
            let share = ((after + second - before) / (first + second)).clamp(0.0, 1.0);
            least = least.min((before + share * first).max(after + (1.0 - share) * second));
        }
        least
    }

    #[test]
    fn two_devices_of_known_cost_end_within_five_percent_of_the_best() {
        let mut state = 7u64;
        let mut draw = |low: f64, high: f64| {
            state = crate::seed::mix(state);
            let share = (state >> 11) as f64 / (1u64 << 53) as f64;
            low * (high / low).powf(share)
        };
        let mut worst = 0.0f64;
        for _ in 0..300 {
            let n_lots = 1 + draw(1.0, 8.0) as usize;
            let lots: Vec<Lot> = (0..n_lots)
                .map(|_| Lot {
                    n_lanes: draw(400.0, 4000.0) as usize,
                    cost_by_device: vec![ms(draw(0.1, 10.0)), ms(draw(0.05, 10.0))],
                })
                .collect();
            let n_at_once = [2, 1];
            let ratio = simulate(lots.clone(), &n_at_once, 64) / best(&lots, &n_at_once);
            worst = worst.max(ratio);
        }
        assert!((0.999..1.05).contains(&worst), "{worst}");
    }

    #[test]
    fn what_only_one_can_do_is_done_by_that_one() {
        let lots = [
            Lot { n_lanes: 10, cost_by_device: vec![ms(1.0), LaneCost::Never] },
            Lot { n_lanes: 10, cost_by_device: vec![ms(1.0), ms(5.0)] },
        ];
        assert!(matches!(choose(0, &lots, &[1, 1]), Choice::Take { lot: 0, .. }));
        assert!(matches!(choose(1, &lots, &[1, 1]), Choice::Take { lot: 1, .. }));
        assert_eq!(choose(1, &lots[..1], &[1, 1]), Choice::Leave);
    }

    #[test]
    fn a_slow_device_leaves_the_last_lanes_to_the_fast_one() {
        let lots = [Lot { n_lanes: 10, cost_by_device: vec![ms(1.0), ms(50.0)] }];
        assert_eq!(choose(1, &lots, &[1, 1]), Choice::Leave);
        assert!(matches!(choose(0, &lots, &[1, 1]), Choice::Take { lot: 0, .. }));
        let many = [Lot { n_lanes: 1000, ..lots[0].clone() }];
        assert!(matches!(choose(1, &many, &[1, 1]), Choice::Take { lot: 0, .. }));
    }

    #[test]
    fn the_unknown_is_tried_with_few() {
        let lot = |n_lanes: usize, cpu: LaneCost| {
            let cost_by_device = vec![cpu, LaneCost::Unknown];
            [Lot { n_lanes, cost_by_device }]
        };
        let probe = Choice::Take { lot: 0, n_lanes: N_PROBE };
        assert_eq!(choose(1, &lot(1000, ms(1.0)), &[1, 1]), probe);
        assert_eq!(choose(1, &lot(1000, LaneCost::Never), &[1, 1]), probe);
        // Lanes worth ten milliseconds are left to the CPU, and so are lanes whose CPU cost is
        // unknown.
        assert_eq!(choose(1, &lot(10, ms(1.0)), &[1, 1]), Choice::Leave);
        let unknown = lot(1000, LaneCost::Unknown);
        assert_eq!(choose(1, &unknown, &[1, 1]), Choice::Leave);
        assert_eq!(choose(0, &unknown, &[1, 1]), probe);
        // Two devices of unknown cost do not wait for each other.
        let cost_by_device = vec![LaneCost::Never, LaneCost::Unknown, LaneCost::Unknown];
        let lots = [Lot { n_lanes: 20, cost_by_device }];
        assert_eq!(choose(1, &lots, &[1, 1, 1]), probe);
        assert_eq!(choose(2, &lots, &[1, 1, 1]), probe);
    }

    /// A class that is banned on one device must not keep that device from another class that only
    /// it may solve.
    #[test]
    fn a_banned_class_does_not_keep_a_device_from_another() {
        let lots = |n_banned: usize| {
            [
                Lot { n_lanes: n_banned, cost_by_device: vec![ms(1.0), LaneCost::Never] },
                Lot { n_lanes: 100, cost_by_device: vec![LaneCost::Never, LaneCost::Unknown] },
            ]
        };
        for n_banned in [0, 100] {
            let probe = Choice::Take { lot: 1, n_lanes: N_PROBE };
            assert_eq!(choose(1, &lots(n_banned), &[2, 1]), probe, "{n_banned}");
        }
    }

    /// As long as one device can solve a lane, some device takes lanes, whatever costs are known.
    #[test]
    fn the_devices_never_all_leave_what_one_of_them_can_do() {
        let mut state = 11u64;
        let mut draw = move |n: u64| {
            state = crate::seed::mix(state);
            state % n
        };
        for case in 0..20_000 {
            let n_devices = 1 + draw(4) as usize;
            let mut n_at_once = vec![1; n_devices];
            n_at_once[0] = 1 + draw(8) as usize;
            let mut lots: Vec<Lot> = (0..1 + draw(5))
                .map(|_| Lot {
                    n_lanes: draw(3) as usize * draw(100) as usize,
                    cost_by_device: (0..n_devices)
                        .map(|_| match draw(4) {
                            0 => LaneCost::Never,
                            1 => LaneCost::Unknown,
                            _ => ms(10f64.powf(draw(7) as f64 - 3.0)),
                        })
                        .collect(),
                })
                .collect();
            let can = |lot: &Lot| lot.cost_by_device.iter().any(|lane| *lane != LaneCost::Never);
            while lots.iter().any(|lot| lot.n_lanes > 0 && can(lot)) {
                let choices =
                    (0..n_devices).map(|device| (device, choose(device, &lots, &n_at_once)));
                let taken = choices.filter_map(|(device, choice)| match choice {
                    Choice::Take { lot, n_lanes } => Some((device, lot, n_lanes)),
                    Choice::Leave => None,
                });
                let taken: Vec<(usize, usize, usize)> = taken.collect();
                assert!(!taken.is_empty(), "case {case}: all leave {lots:?}, {n_at_once:?}");
                for &(device, lot, n_lanes) in &taken {
                    assert_ne!(lots[lot].cost_by_device[device], LaneCost::Never, "case {case}");
                    assert!((1..=lots[lot].n_lanes).contains(&n_lanes), "case {case}");
                }
                let (device, lot, n_lanes) = taken[draw(taken.len() as u64) as usize];
                lots[lot].n_lanes -= n_lanes;
                if lots[lot].cost_by_device[device] == LaneCost::Unknown && draw(2) == 0 {
                    lots[lot].cost_by_device[device] = ms(10f64.powf(draw(7) as f64 - 3.0));
                }
            }
        }
    }
}
