//! Tiny runs with random faults, devices, delays and misbehaviour: every problem gets its one right
//! outcome, all memory is released, and no run hangs. (The simulator of the coordinator has far
//! more of them, without threads.)

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use swathe::{BatchSize, Budget, Faults, OutcomeKind, Routing, Settings};

use crate::sieve::{Field, Sieve, Twist, Watchdog, check, mix, run};
use crate::supervision::hosts;

struct Draws(u64);

impl Draws {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = mix(self.0);
        self.0 % n
    }

    fn one_of<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize].clone()
    }
}

/// One run generated from a seed.
fn tiny_run(seed: u64) {
    let mut draws = Draws(mix(seed));
    let twists = [
        Twist::Fails,
        Twist::Panics,
        Twist::NeedsCpu,
        Twist::LaunchPanics,
        Twist::LoadFails,
        Twist::LoadPanics,
        Twist::SizeFails,
        Twist::HasWrongSize,
    ];
    // Problems that stand still cost their whole time limit, so only some runs have them.
    let stands_still = draws.below(50) == 0;
    let slow = [
        Twist::LoopsAsleep,
        Twist::LoopsAndPolls,
        Twist::LoadLoopsOnce,
        Twist::LoadLoopsAndPolls,
        Twist::AnswersOnce,
    ];
    let n_problems = 1 + draws.below(40);
    let fields: Vec<Field> = (0..n_problems)
        .map(|_| {
            let seed = draws.below(u64::MAX);
            let field = Field::new(seed, 1 + (seed % 4) as u32, 1 + (seed / 4 % 6) as u32);
            match draws.below(12) {
                0 => field.twisted(draws.one_of(&twists)),
                1 if stands_still => field.twisted(draws.one_of(&slow)),
                2 if stands_still => field.twisted(Twist::Takes {
                    load: Duration::from_micros(draws.below(2000)),
                    solve: Duration::from_micros(draws.below(2000)),
                }),
                _ => field,
            }
        })
        .collect();
    let rules = [
        "",
        "",
        "oom%5:seed=S",
        "lost%10:seed=S",
        "lost%40:seed=S,oom%5:seed=S",
        "oom%20:seed=S:reserve",
        "lost%30:seed=S,lost%50:seed=S:reopen",
        "slow%20=1ms:seed=S,oom%3:seed=S",
        "lost@launch:1,slow@reopen:1=30ms",
    ];
    let rule = draws.one_of(&rules).replace('S', &seed.to_string());
    let faults: Faults = rule.parse().unwrap();
    // The CPU solves what launches cannot, so every setting must give the reference answers.
    let settings = Settings {
        n_threads: 1 + draws.below(3) as usize,
        n_prefetch: draws.below(3) as usize,
        batch_size: draws.one_of(&[BatchSize::Auto, BatchSize::Fixed(1), BatchSize::Fixed(5)]),
        devices: hosts(draws.below(4) as usize),
        routing: draws.one_of(&[Routing::Launch, Routing::Measured]),
        memory: Budget::with_faults(draws.one_of(&[16 << 10, 64 << 10, 1 << 20]), faults),
        time_limit: match stands_still {
            true => Duration::from_millis(60),
            false => Duration::from_secs(30),
        },
        grace: Duration::from_millis(10),
        n_stuck_max: 1000,
        n_verify: draws.one_of(&[0, 0, 3, 100]),
        seed,
        ..Settings::default()
    };
    let budget = settings.memory.clone();
    let sieve = Sieve::new(&budget);
    let fields = Arc::new(fields);
    let report = match stands_still {
        false => check(&sieve, &fields, &settings),
        // Limits are short here, and on a busy machine a good problem may exceed its limit.
        true => {
            let ran = run(&sieve, &fields, &settings);
            for (k, field) in fields.iter().enumerate() {
                let (kind, answer) = (ran.kinds[k], &ran.answers[k]);
                let is_late = kind == OutcomeKind::TimedOut;
                assert!(is_late || kind == field.twist.kind(), "run {seed}: {field:?}");
                let is_plain = matches!(field.twist, Twist::None | Twist::AnswersOnce);
                assert!(is_late || !is_plain || *answer == Some(field.oracle()));
            }
            ran.report
        }
    };
    assert!(report.verification.mismatches.is_empty(), "run {seed}");
    assert!(report.memory.peak_bytes <= report.memory.budget_bytes);
    sieve.released.store(true, Ordering::Relaxed);
    drop((settings, report, sieve));
    // Abandoned workers hold their memory until they return; after that all of it is free.
    let _watchdog = Watchdog::start();
    while budget.used_bytes() > 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn many_tiny_runs() {
    let n_runs = match std::env::var_os("SWATHE_SOAK") {
        Some(_) => 200_000,
        None => 1_000,
    };
    for seed in 0..n_runs {
        tiny_run(seed);
    }
}
