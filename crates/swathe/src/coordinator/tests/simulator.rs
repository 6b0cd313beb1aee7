//! Runs under a simulator: a seed, or every order of events, decides who is fast, stuck, refused or
//! lost.

use std::collections::{BTreeSet, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use super::world::{Item, Move, World, policy};
use crate::BatchSize;
use crate::coordinator::WorkerId;
use crate::seed::{draw, mix};

struct Draws(u64);

impl Draws {
    fn below(&mut self, n: usize) -> usize {
        (draw(&mut self.0) % n as u64) as usize
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

/// One run that is made from a seed. Returns how many steps it took.
fn random_run(seed: u64) -> usize {
    let mut draws = Draws(mix(seed));
    let n = 1 + draws.below(12);
    let cap_bytes = 8 + draws.below(24) as u64;
    let lane_max = if draws.chance(20) { cap_bytes as usize + 4 } else { 6 };
    let items: Vec<Item> = (0..n)
        .map(|_| Item {
            lane_bytes: 1 + draws.below(lane_max) as u64,
            launch: match draws.below(4) {
                0 | 1 => None,
                class => Some((class as u32, draws.chance(30))),
            },
        })
        .collect();
    let mut policy = policy(n, 1 + draws.below(3), draws.below(3));
    policy.n_undelivered_max = 1 + draws.below(4) as i64;
    policy.n_window = 1 + draws.below(8);
    policy.limits.batch_size = BatchSize::Fixed(1 + draws.below(4));
    policy.launches_in_budget = draws.chance(30);
    let n_devices = draws.below(3);
    let mut n_faults = if draws.chance(20) { 0 } else { draws.below(10) };
    let (is_wild, has_foreign) = (draws.chance(50), draws.chance(20));
    let mut world = World::without(None, &items, n_devices, cap_bytes, policy);
    let mut has_faults = false;
    for step in 0..3000 {
        if world.is_over {
            world.check_end();
            let is_too_large = |item: &&Item| item.lane_bytes + 1 > cap_bytes;
            let n_too_large = items.iter().filter(is_too_large).count();
            assert!(has_faults || world.is_cancelled || world.n_too_large == n_too_large);
            return step;
        }
        let able: Vec<usize> = world.able().collect();
        let n_others = 2 * usize::from(!world.mail.is_empty());
        let choice = draws.below(able.len() + n_others + 1);
        if choice < able.len() {
            let moves = world.moves_of(able[choice]);
            let is_fault = n_faults > 0 && moves.len() > 1 && draws.chance(15);
            let mut next = Move::Go;
            if is_fault {
                next = moves[1 + draws.below(moves.len() - 1)];
                let is_hang = matches!(next, Move::Hang | Move::HangCheck);
                if is_hang && !is_wild {
                    next = Move::Go;
                }
            }
            if next != Move::Go {
                has_faults = true;
                n_faults -= 1;
            }
            world.go(able[choice], next);
        } else if choice < able.len() + n_others {
            world.take();
        } else if has_foreign && world.foreign_bytes > 0 {
            world.foreign_bytes = 0;
            world.tick(Duration::from_millis(10));
        } else if has_foreign && draws.chance(10) {
            let free_bytes = world.cap_bytes - world.used_bytes();
            world.foreign_bytes = draws.below(free_bytes as usize + 1) as u64;
        } else if n_faults > 0 && draws.chance(2) {
            world.cancel();
        } else if draws.chance(20) {
            world.tick(Duration::from_millis(150));
        } else if able.is_empty() && world.mail.is_empty() && world.foreign_bytes == 0 {
            // Threads that are stuck may be left behind a while after a stop; nothing else may need
            // the clock.
            let before = world.setbacks.len();
            let is_cancelled = world.is_cancelled;
            world.tick(Duration::from_secs(100));
            assert!(
                is_cancelled || world.is_over || world.setbacks.len() > before,
                "nothing moves: {:?}",
                world.threads
            );
        }
    }
    panic!("it does not end");
}

/// Every order of events of a small run, depth first. Returns the number of states.
fn exhaust(n: usize, n_threads: usize, n_devices: usize, n_faults: u8) -> usize {
    let items: Vec<Item> = (0..n)
        .map(|k| Item { lane_bytes: 1 + k as u64 % 3, launch: (k % 2 == 1).then_some((1, false)) })
        .collect();
    let mut policy = policy(n, n_threads, 0);
    policy.n_undelivered_max = 2;
    let mut world = World::without(None, &items, n_devices, 6, policy);
    world.is_coarse = true;
    let key = |world: &World, n_faults: u8| {
        let mut hasher = DefaultHasher::new();
        (world, n_faults).hash(&mut hasher);
        hasher.finish()
    };
    let mut seen = HashSet::from([key(&world, n_faults)]);
    let mut open = vec![(world, n_faults)];
    while let Some((world, n_faults)) = open.pop() {
        if world.is_over {
            world.check_end();
            continue;
        }
        let mut n_next = 0;
        let mut add = |next: World, n_faults: u8| {
            n_next += 1;
            if seen.insert(key(&next, n_faults)) {
                open.push((next, n_faults));
            }
        };
        for worker in world.able() {
            for (at, &step) in world.moves_of(worker).iter().enumerate() {
                let n_left = n_faults - u8::from(at > 0 && n_faults > 0);
                if at == 0 || n_faults > 0 {
                    let mut next = world.clone();
                    next.go(worker, step);
                    add(next, n_left);
                }
            }
        }
        if !world.mail.is_empty() {
            let mut next = world.clone();
            next.take();
            add(next, n_faults);
        }
        if n_faults > 0 && !world.is_cancelled {
            let mut next = world.clone();
            next.cancel();
            add(next, n_faults - 1);
        }
        if n_next == 0 {
            // Only what is stuck may be waited for, and only after a stop.
            assert!(world.is_cancelled, "nothing moves: {:?}", world.threads);
            let mut next = world.clone();
            next.tick(Duration::from_secs(100));
            assert!(next.is_over, "nothing moves: {:?}", next.threads);
        }
    }
    seen.len()
}

impl Hash for World {
    /// What decides what may happen next. Workers of one place are alike, so that their numbers are
    /// left out: states that differ in them alone are one state. Costs are left out because nobody
    /// learns any here.
    fn hash<H: Hasher>(&self, state: &mut H) {
        let its = &self.coordinator;
        let ids: BTreeSet<WorkerId> =
            self.threads.keys().chain(its.workers.keys()).copied().collect();
        let workers = ids.iter().map(|id| {
            let mut hasher = DefaultHasher::new();
            (self.threads.get(id), its.workers.get(id), its.stuck.contains(id)).hash(&mut hasher);
            its.waiting.iter().position(|waiting| waiting == id).hash(&mut hasher);
            let asking = its.shortage.asking.iter().find(|(asking, _)| asking == id);
            asking.map(|(_, has_news)| has_news).hash(&mut hasher);
            hasher.finish()
        });
        let mut workers: Vec<u64> = workers.collect();
        workers.sort_unstable();
        workers.hash(state);
        let place = |id: &WorkerId| its.workers.get(id).map(|worker| worker.place);
        its.idle.iter().map(place).collect::<Vec<_>>().hash(state);
        (&its.backlog, &its.unplanned, its.is_planning, &its.answered).hash(state);
        (&its.devices, its.n_open, its.n_undelivered, its.n_refused).hash(state);
        (its.shortage.waits, its.shortage.may_retry).hash(state);
        (its.cancelled_at.is_some(), its.is_over).hash(state);
        (&self.left, &self.mail, &self.n_outcomes).hash(state);
    }
}

#[test]
fn random_runs_keep_the_invariants() {
    let n_runs: u64 = match std::env::var_os("SWATHE_SOAK") {
        Some(_) => 20_000_000,
        None => 1_000_000,
    };
    let n_threads = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let steps = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..n_threads)
            .map(|first| {
                scope.spawn(move || {
                    (first..n_runs).step_by(n_threads as usize).fold(0, |sum, seed| {
                        SEED.set(seed);
                        sum + random_run(seed)
                    })
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("no run fails")).sum::<usize>()
    });
    assert!(steps > 10 * n_runs as usize, "{steps} steps");
}

thread_local! {
    /// The run of this thread, for the message of a panic.
    static SEED: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// The two runs are tests of their own, so that they share the processor.
#[test]
fn every_order_of_four_problems_keeps_the_invariants() {
    assert!(exhaust(4, 2, 1, 2) > 100_000);
}

#[test]
fn every_order_with_two_devices_keeps_the_invariants() {
    assert!(exhaust(3, 2, 2, 2) > 100_000);
}
