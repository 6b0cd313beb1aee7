//! Scenarios in virtual time. Each shows a rule at work, and fails if the rule is switched off.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use super::world::{Act, Item, Move, Thread, World, policy};
use crate::BatchSize;
use crate::coordinator::rule::Rule;
use crate::coordinator::{EndCause, Place, Policy, Remedy, SetbackCause};

/// A scenario, with or without a rule.
type Scenario = fn(Option<Rule>);

/// Every rule, and the scenario that fails without it.
const TABLE: [(Rule, Scenario); 28] = [
    (Rule::RequeueRest, the_rest_of_a_stuck_range_is_solved),
    (Rule::ReplaceWorker, the_rest_of_a_stuck_range_is_solved),
    (Rule::FreeTurn, a_stuck_worker_keeps_no_turn),
    (Rule::FinishLeftAnswers, an_answer_survives_its_check),
    (Rule::FinishBeforeMemory, an_answer_survives_its_check),
    (Rule::QueueHandedOver, handed_over_lanes_do_not_wait_for_their_launch),
    (Rule::MoveLaunches, a_device_that_cannot_be_reopened_is_given_up),
    (Rule::TakeLots, a_device_that_cannot_be_reopened_is_given_up),
    (Rule::GiveBack, a_device_that_cannot_be_reopened_is_given_up),
    (Rule::RetireLost, a_device_that_is_lost_again_and_again_is_retired),
    (Rule::BanClass, a_class_that_fails_is_left_to_the_cpu),
    (Rule::AbandonLaunch, a_launch_that_never_ends_is_given_up),
    (Rule::ReplanRest, a_size_that_never_comes_harms_no_other_problem),
    (Rule::RetryMemory, a_range_waits_for_memory_that_comes_back),
    (Rule::NoteRelease, memory_released_before_the_refusal_is_known),
    (Rule::KeepOrder, small_launches_do_not_overtake_a_large_problem),
    (Rule::RefuseStranded, what_needs_stranded_memory_is_too_large),
    (Rule::SplitRefused, a_refused_range_is_halved),
    (Rule::GiveUp, what_is_always_refused_ends),
    (Rule::BackPressure, a_caller_that_stalls_holds_the_workers_back),
    (Rule::PlanAhead, planning_stops_some_way_ahead),
    (Rule::EndStarved, many_stuck_workers_end_the_run),
    (Rule::EndMemoryHeld, memory_that_others_keep_ends_the_run),
    (Rule::EndNoThread, a_run_without_threads_ends),
    (Rule::LeaveBehind, a_cancelled_run_waits_for_nobody),
    (Rule::RetireWithoutThread, a_device_without_threads_is_retired),
    (Rule::LimitTurns, no_more_solve_than_there_are_turns),
    (Rule::Flush, finished_outcomes_do_not_wait_for_a_slow_problem),
];

#[test]
fn every_scenario_passes_and_fails_without_its_rule() {
    for (rule, scenario) in TABLE {
        scenario(None);
        let without = catch_unwind(AssertUnwindSafe(|| scenario(Some(rule))));
        assert!(without.is_err(), "nothing fails without {rule:?}");
    }
}

fn cpu(lane_bytes: u64) -> Item {
    Item { lane_bytes, launch: None }
}

fn launched(lane_bytes: u64) -> Item {
    Item { lane_bytes, launch: Some((1, false)) }
}

fn world(
    off: Option<Rule>,
    items: &[Item],
    (n_threads, n_prefetch, n_devices): (usize, usize, usize),
    cap_bytes: u64,
    change: impl FnOnce(&mut Policy),
) -> World {
    let mut policy = policy(items.len(), n_threads, n_prefetch);
    change(&mut policy);
    World::without(off, items, n_devices, cap_bytes, policy)
}

fn alone(policy: &mut Policy) {
    policy.limits.batch_size = BatchSize::Fixed(1);
}

const CPU: Place = Place::Cpu;
const DEVICE: Place = Place::Device(0);

fn is_planning(act: Act) -> bool {
    matches!(act, Act::Planning { .. })
}

fn is_reserving(act: Act) -> bool {
    matches!(act, Act::Reserving { .. })
}

fn the_rest_of_a_stuck_range_is_solved(off: Option<Rule>) {
    let mut world = world(off, &[cpu(1); 4], (1, 0, 0), 20, |_| {});
    let worker = world.until(CPU, |act| act == Act::Solving);
    world.go(worker, Move::Hang);
    world.run_out();
    assert_eq!((world.n_timed_out, world.n_finished.as_slice()), (1, [0, 1, 1, 1].as_slice()));
}

fn a_stuck_worker_keeps_no_turn(off: Option<Rule>) {
    let mut world = world(off, &[cpu(1); 4], (1, 1, 0), 20, |_| {});
    let worker = world.until(CPU, |act| act == Act::Solving);
    world.until(CPU, |act| act == Act::Loaded);
    world.go(worker, Move::Hang);
    world.run_out();
}

/// The answer of a stuck check holds memory that the next range waits for. It is finished first.
fn an_answer_survives_its_check(off: Option<Rule>) {
    let mut world = world(off, &[cpu(4), cpu(4)], (1, 0, 0), 6, alone);
    let worker = world.until(CPU, |act| act == Act::Solving);
    world.go(worker, Move::HangCheck);
    world.run_out();
    assert_eq!((world.n_timed_out, world.n_finished.as_slice()), (0, [1, 1].as_slice()));
}

/// The finishing of one lane never ends. The lane that the launch left to the CPU is solved.
fn handed_over_lanes_do_not_wait_for_their_launch(off: Option<Rule>) {
    let mut world = world(off, &[launched(1); 4], (1, 0, 1), 20, |_| {});
    let worker = world.until(DEVICE, |act| act == Act::Launching);
    world.go(worker, Move::HandOver);
    let worker = world.until(DEVICE, |act| act == Act::Finishing);
    world.go(worker, Move::Hang);
    world.run_out();
    assert_eq!((world.n_timed_out, world.n_finished.as_slice()), (1, [1, 0, 1, 1].as_slice()));
}

/// One launch is queued again, one is loaded, and some lanes wait.
fn a_device_that_cannot_be_reopened_is_given_up(off: Option<Rule>) {
    let mut world = world(off, &[launched(1); 8], (1, 0, 1), 40, |_| {});
    let worker = world.until(DEVICE, |act| act == Act::Launching);
    world.until(DEVICE, |act| act == Act::Loaded);
    world.go(worker, Move::LoseDevice);
    world.go(worker, Move::FailReopen);
    assert_eq!(world.coordinator.retired(0), Some("lost, then no"));
    world.run_out();
}

fn a_device_that_is_lost_again_and_again_is_retired(off: Option<Rule>) {
    let mut world = world(off, &[launched(1); 8], (1, 0, 1), 40, |_| {});
    for _ in 0..4 {
        let worker = world.until(DEVICE, |act| act == Act::Launching);
        world.go(worker, Move::LoseDevice);
    }
    assert_eq!(world.coordinator.retired(0), Some("lost 4 times"));
    world.run_out();
}

fn a_class_that_fails_is_left_to_the_cpu(off: Option<Rule>) {
    let mut world = world(off, &[launched(1); 12], (1, 0, 1), 40, alone);
    for _ in 0..3 {
        let worker = world.until(DEVICE, |act| act == Act::Launching);
        world.go(worker, Move::Code);
    }
    world.run_out();
    let n_launches = world.n_launches;
    assert!(n_launches <= 4, "{n_launches}: one more is loaded when the third fails");
}

fn a_launch_that_never_ends_is_given_up(off: Option<Rule>) {
    let mut world = world(off, &[launched(1); 6], (1, 0, 1), 40, |_| {});
    let worker = world.until(DEVICE, |act| act == Act::Launching);
    world.go(worker, Move::Hang);
    world.run_out();
    assert_eq!(world.coordinator.retired(0), Some("its driver does not come back"));
    assert_eq!(world.setbacks, [(SetbackCause::DeviceTimedOut, Remedy::Retired)]);
}

fn a_size_that_never_comes_harms_no_other_problem(off: Option<Rule>) {
    let mut world = world(off, &[cpu(1); 5], (1, 0, 0), 20, |_| {});
    let worker = world.until(CPU, is_planning);
    world.go(worker, Move::Hang);
    world.run_out();
    assert_eq!((world.n_timed_out, world.n_finished.as_slice()), (1, [0, 1, 1, 1, 1].as_slice()));
}

fn a_range_waits_for_memory_that_comes_back(off: Option<Rule>) {
    world(off, &[cpu(4); 4], (2, 0, 0), 6, alone).run_out();
}

/// A worker learns that memory is short; before it reports this, all of it is released.
fn memory_released_before_the_refusal_is_known(off: Option<Rule>) {
    let mut world = world(off, &[cpu(4); 2], (2, 0, 0), 6, alone);
    let first = world.until(CPU, |act| act == Act::Loading);
    let second = world.until(CPU, is_reserving);
    world.go(second, Move::Go);
    while world.n_finished == [0, 0] {
        world.go(first, Move::Go);
    }
    world.take();
    world.run_out();
}

fn small_launches_do_not_overtake_a_large_problem(off: Option<Rule>) {
    let mut items = [launched(3); 8];
    items[0] = cpu(8);
    let mut world = world(off, &items, (1, 0, 1), 10, alone);
    let is_before_launch = |thread: &Thread| thread.place == DEVICE && thread.act != Act::Launching;
    while let Some(worker) = world.able_if(is_before_launch) {
        world.go(worker, Move::Go);
    }
    while world.n_finished[0] == 0 {
        // Devices are quicker, but for the first request of the CPU.
        let quickest = world.able().max_by_key(|worker| {
            let thread = &world.threads[worker];
            let is_solving = matches!(thread.act, Act::Solving | Act::Loading);
            (thread.place == CPU && !is_solving, thread.place != CPU)
        });
        match quickest {
            Some(worker) => world.go(worker, Move::Go),
            None => world.take(),
        }
    }
    let n_before: u8 = world.n_finished[1..].iter().sum();
    assert!(n_before <= 2, "{n_before} launches overtook it");
    world.run_out();
}

fn what_needs_stranded_memory_is_too_large(off: Option<Rule>) {
    let mut world = world(off, &[cpu(8), cpu(5), cpu(1)], (1, 0, 0), 12, alone);
    let worker = world.until(CPU, |act| act == Act::Solving);
    world.go(worker, Move::Hang);
    world.run_out();
    assert_eq!((world.n_timed_out, world.n_too_large), (1, 1));
    assert!(world.setbacks.iter().all(|(_, remedy)| *remedy != Remedy::Retried));
}

fn a_refused_range_is_halved(off: Option<Rule>) {
    let mut world = world(off, &[cpu(1); 2], (1, 0, 0), 20, |_| {});
    let worker = world.until(CPU, is_reserving);
    world.go(worker, Move::RefuseMemory);
    assert_eq!(world.setbacks[0].1, Remedy::Split);
    world.run_out();
    assert_eq!(world.n_finished, [1, 1]);
}

fn what_is_always_refused_ends(off: Option<Rule>) {
    let mut world = world(off, &[cpu(1)], (1, 0, 0), 20, |_| {});
    for _ in 0..1000 {
        let worker = world.until(CPU, is_reserving);
        world.go(worker, Move::RefuseMemory);
    }
    world.run_out();
    assert_eq!(world.n_too_large, 1);
}

/// A worker that is abandoned meanwhile is replaced all the same.
fn a_caller_that_stalls_holds_the_workers_back(off: Option<Rule>) {
    let mut world = world(off, &[cpu(1); 12], (2, 0, 0), 40, alone);
    let worker = world.until(CPU, |act| act == Act::Solving);
    loop {
        let other = world.able().find(|other| *other != worker);
        let Some(other) = other else { break };
        world.go(other, Move::Go);
    }
    assert_eq!(world.mail.len(), 3);
    world.go(worker, Move::Hang);
    assert_eq!(world.threads.values().filter(|t| t.act == Act::Starting).count(), 1);
    world.run_out();
}

fn planning_stops_some_way_ahead(off: Option<Rule>) {
    let mut world = world(off, &[launched(1); 60], (2, 0, 1), 200, |policy| policy.n_window = 4);
    world.until(DEVICE, |act| act == Act::Launching);
    while let Some(worker) = world.able_if(|thread| thread.place == CPU) {
        world.go(worker, Move::Go);
    }
    let (_, n_waiting) = world.coordinator.n_in_flight_waiting();
    assert!(n_waiting > 40, "{n_waiting} are waiting");
    assert!(world.n_planned <= 16, "{} are planned", world.n_planned);
    world.run_out();
}

fn many_stuck_workers_end_the_run(off: Option<Rule>) {
    let mut world = world(off, &[cpu(1); 6], (1, 0, 0), 40, |policy| policy.n_stuck_max = 1);
    for _ in 0..2 {
        let worker = world.until(CPU, |act| act == Act::Solving);
        world.go(worker, Move::Hang);
    }
    assert_eq!(world.ended_by, Some(EndCause::StuckSolvers { n_stuck: 2, n_stuck_max: 1 }));
    assert!(world.is_over);
}

fn memory_that_others_keep_ends_the_run(off: Option<Rule>) {
    let mut world = world(off, &[cpu(4)], (1, 0, 1), 10, |_| {});
    world.foreign_bytes = 8;
    while let Some(worker) = world.able_if(|_| true) {
        world.go(worker, Move::Go);
    }
    for _ in 0..30 {
        world.tick(Duration::from_secs(1));
        while let Some(worker) = world.able_if(|_| true) {
            world.go(worker, Move::Go);
        }
    }
    let cause = EndCause::MemoryHeld { held_bytes: 8, budget_bytes: 10 };
    assert_eq!(world.ended_by, Some(cause));
    assert!(world.is_over);
}

fn a_run_without_threads_ends(off: Option<Rule>) {
    let mut world = world(off, &[cpu(4)], (2, 0, 1), 10, |_| {});
    while let Some(worker) = world.able_if(|_| true) {
        world.go(worker, Move::RefuseThread);
    }
    assert_eq!(world.ended_by, Some(EndCause::NoThread));
    assert!(world.is_over);
}

fn a_cancelled_run_waits_for_nobody(off: Option<Rule>) {
    let mut world = world(off, &[cpu(1); 4], (2, 0, 0), 20, |policy| {
        policy.time_limit = Duration::MAX;
    });
    let worker = world.until(CPU, |act| act == Act::Solving);
    world.go(worker, Move::Hang);
    world.cancel();
    while let Some(worker) = world.able_if(|_| true) {
        world.go(worker, Move::Go);
    }
    world.tick(Duration::from_millis(500));
    assert!(!world.is_over, "within the grace it may still come");
    world.tick(Duration::from_secs(2));
    assert!(world.is_over);
}

fn a_device_without_threads_is_retired(off: Option<Rule>) {
    let mut world = world(off, &[launched(1); 4], (1, 0, 1), 20, |_| {});
    for _ in 0..2 {
        let worker = world.until(DEVICE, |act| act == Act::Starting);
        world.go(worker, Move::RefuseThread);
    }
    world.run_out();
    let refused = SetbackCause::ThreadsRefused { n_refused: 2 };
    assert_eq!(world.setbacks, [(refused, Remedy::FewerWorkers)]);
}

fn no_more_solve_than_there_are_turns(off: Option<Rule>) {
    let mut world = world(off, &[cpu(1); 6], (1, 2, 0), 20, alone);
    world.until(CPU, |act| act == Act::Solving);
    // The invariant is checked after every step.
    while let Some(worker) = world.able_if(|thread| thread.act != Act::Solving) {
        world.go(worker, Move::Go);
    }
    world.run_out();
}

fn finished_outcomes_do_not_wait_for_a_slow_problem(off: Option<Rule>) {
    let mut world = world(off, &[cpu(1); 2], (1, 0, 0), 20, |_| {});
    let worker = world.until(CPU, |act| act == Act::Solving);
    world.go(worker, Move::Go);
    world.tick(Duration::from_millis(50));
    assert!(world.mail.is_empty());
    world.tick(Duration::from_millis(150));
    assert_eq!(world.mail.len(), 1);
    world.run_out();
}
