//! Random programs on random grids, and random text for the parser: no panic, and nothing that hangs.
//!
//! `SWATHE_FUZZ_SECONDS` is the duration of each test, `SWATHE_FUZZ_SEED` the first seed. In continuous integration,
//! which sets `CI`, the two short tests take half a minute each.

mod random_programs;

use random_programs::Dice;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};
use swathe_arc::{
    Dialect, Evaluator, Fault, Grid, Library, Limits, Order, Value, encode, evaluate, parse,
    parse_in, score,
};

const SAMPLES: &str = include_str!("../samples/programs.py");
const BATT: &str = include_str!("../samples/batt.py");

/// No call takes longer than this. The default limits are made for about a second; the machine may be busy.
const WALL_S_MAX: u64 = 60;

#[test]
fn random_programs() {
    watched(seconds(short_s()), programs_on_grids);
}

#[test]
fn random_text() {
    watched(seconds(short_s()), texts);
}

#[test]
#[ignore = "takes ten minutes"]
fn random_programs_for_long() {
    watched(seconds(600), programs_on_grids);
}

#[test]
#[ignore = "takes ten minutes"]
fn random_text_for_long() {
    watched(seconds(600), texts);
}

#[test]
fn long_chains_of_wrapping() {
    // A value that is one level deeper after each statement must not overflow the stack when it is read or dropped.
    let wraps = [
        "initset(x)",
        "(x, ONE)",
        "repeat(x, ONE)",
        "astuple(x, x)",
        "compose(x, x)",
        "chain(identity, x, identity)",
        "fork(astuple, x, identity)",
        "matcher(x, ZERO)",
        "lbind(astuple, x)",
        "rbind(x, ONE)",
        "insert(x, initset(ONE))",
        "shift(x, UNITY)",
        "hmirror(x)",
        "combine(x, x)",
    ];
    let grid = Grid::from_rows(&[vec![1, 0], vec![0, 2]]).expect("a grid");
    // The shorter chain gives a value that is as deep as values may be; the longer one is refused on the way.
    for (wrap, n_lines) in wraps.iter().flat_map(|wrap| [(wrap, 1_900), (wrap, 4_000)]) {
        for start in ["identity", "I", "asindices(I)"] {
            let lines = format!("    x = {wrap}\n").repeat(n_lines);
            let text = format!(
                "def p(I):\n    x = {start}\n{lines}    y = equality(x, (x, I))\n    return x\n"
            );
            let library = Library::new(parse("chain.py", &text).programs);
            for order in [Order::Cpython, Order::Sorted] {
                let results = evaluate(&library, &grid, order, small_limits());
                assert_eq!(results.len(), 1, "{wrap}");
                assert!(!looked_at(results[0].as_ref(), &grid).is_empty());
            }
        }
    }
}

#[test]
fn what_was_found_before() {
    let grid = Grid::from_rows(&[vec![1, 0], vec![0, 2]]).expect("a grid");
    let outcome = |text: &str| {
        let library = Library::new(parse("found.py", text).programs);
        let results = evaluate(&library, &grid, Order::Cpython, Limits::default());
        results[0].as_ref().map(encode).map_err(|fault| *fault)
    };
    // A charge so large that the meter's own figures overflowed 64 bits.
    let text = "def p(I):\n    return multiply(I, 9223372036854775807)\n";
    assert_eq!(outcome(text), Err(Fault::Memory));
    // Empty tuples, repeated endlessly.
    let text = "def p(I):\n    return multiply(9223372036854775807, ((), ()))\n";
    assert_eq!(outcome(text), Ok(r#"{"tuple":[{"tuple":[]},{"tuple":[]}]}"#.into()));
    // Values that double with each line: constants in the parser, tuples, sets.
    let lines = "    x = (x, x)\n".repeat(60);
    let text = format!("def p(I):\n    x = ONE\n{lines}    return x\n");
    assert_eq!(outcome(&text), Err(Fault::Memory));
    let text = "def p(I):\n    f = power(fork(insert, identity, identity), 60)\n    return f(asindices(I))\n";
    assert_eq!(outcome(text), Err(Fault::Memory));
    // A function that is never called may have any number of parts; it is not written out.
    let lines = "    x = compose(x, x)\n".repeat(60);
    let text = format!("def p(I):\n    x = identity\n{lines}    y = initset(x)\n    return x\n");
    assert!(outcome(&text).is_ok_and(|text| text.len() < 100_000));
}

/// A few seconds on a developer's machine.
fn short_s() -> u64 {
    if std::env::var_os("CI").is_some() { 30 } else { 5 }
}

/// How long to run: as the environment says, or this many seconds.
fn seconds(default: u64) -> Duration {
    let said = std::env::var("SWATHE_FUZZ_SECONDS").ok();
    Duration::from_secs(said.map_or(default, |s| s.parse().expect("a number of seconds")))
}

fn small_limits() -> Limits {
    Limits { work_max: 20_000, bytes_max: 4 << 20, ..Limits::default() }
}

/// Runs cases on a thread of their own until the time is over; fails when one panics or takes too long.
#[expect(clippy::print_stderr, reason = "figures to read with --nocapture")]
fn watched(length: Duration, case: fn(&mut Dice, &Sender<String>)) {
    let first_seed = std::env::var("SWATHE_FUZZ_SEED").map_or(1, |s| s.parse().expect("a seed"));
    let (says, hears): (Sender<String>, Receiver<String>) = channel();
    let worker = std::thread::spawn(move || {
        let end = Instant::now() + length;
        let mut seed: u64 = first_seed;
        while Instant::now() < end {
            case(&mut Dice::new(seed), &says);
            seed += 1;
        }
        seed - first_seed
    });
    let mut doing = String::from("nothing yet");
    let (mut since, mut slowest) = (Instant::now(), (Duration::ZERO, String::new()));
    loop {
        match hears.recv_timeout(Duration::from_secs(WALL_S_MAX)) {
            Ok(next) => {
                if since.elapsed() > slowest.0 {
                    slowest = (since.elapsed(), doing);
                }
                (doing, since) = (next, Instant::now());
            }
            Err(RecvTimeoutError::Timeout) => panic!("over {WALL_S_MAX} s:\n{doing}"),
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    let n_cases = worker.join().unwrap_or_else(|_| panic!("a panic in:\n{doing}"));
    eprintln!("{n_cases} cases; the slowest took {:?}:\n{}", slowest.0, slowest.1);
    assert!(n_cases > 0);
}

/// One program that grows: of many possible next lines, all tried at once, one that works is kept.
fn programs_on_grids(dice: &mut Dice, says: &Sender<String>) {
    let grids: Vec<Grid> = (0..2).map(|_| dice.grid()).collect();
    let order = *dice.pick(&[Order::Cpython, Order::Sorted]);
    let limits = if dice.below(8) == 0 {
        Limits { bytes_max: 64 << 20, ..Limits::default() }
    } else {
        small_limits()
    };
    dice.dialect = *dice.pick(&Dialect::ALL);
    let mut kept: Vec<String> = Vec::new();
    for n_lines in 0..12 {
        let lines: Vec<String> = (0..24).map(|_| dice.line(n_lines)).collect();
        let mut text = String::new();
        for (k, line) in lines.iter().enumerate() {
            text += &format!(
                "def p{k}(I):\n{}    x{n_lines} = {line}\n    return x{n_lines}\n",
                kept.concat()
            );
        }
        let parsed = parse_in("fuzz.py", &text, dice.dialect);
        assert_eq!(parsed.errors, [], "random programs are well formed");
        let names: Vec<String> =
            lines.iter().map(|line| format!("{}    x{n_lines} = {line}", kept.concat())).collect();
        let library = Library::new(parsed.programs);
        let mut evaluator = Evaluator::new(&library, order, limits);
        let mut works = vec![true; lines.len()];
        let mut outcomes = vec![Vec::new(); lines.len()];
        for grid in &grids {
            let about = |k: usize| {
                let doing = names.get(k).map_or("the next round", String::as_str);
                let _ = says.send(format!("{doing}\n{order:?} {limits:?}\n{grid:?}"));
            };
            about(0);
            evaluator.run(grid, |k, result| {
                works[k] &= result.is_ok();
                outcomes[k].push(looked_at(result, grid));
                about(k + 1);
            });
        }
        // A program gives the same result alone: the other programs leave no trace.
        let k = dice.below(lines.len());
        let alone = parse_in("fuzz.py", &text, dice.dialect).programs.swap_remove(k);
        for (grid, outcome) in grids.iter().zip(&outcomes[k]) {
            let library = Library::new(vec![alone.clone()]);
            let mut result = String::new();
            // Encoded while the dialect of the program is set: how a set is written depends on it.
            Evaluator::new(&library, order, limits)
                .run(grid, |_, alone| result = looked_at(alone, grid));
            assert_eq!(&result, outcome, "{}\n{grid:?}", names[k]);
        }
        let working: Vec<usize> = (0..lines.len()).filter(|&k| works[k]).collect();
        if working.is_empty() {
            break;
        }
        kept.push(format!("    x{n_lines} = {}\n", lines[*dice.pick(&working)]));
    }
}

/// A result as text; the output is scored on the way.
fn looked_at(result: Result<&Value, &Fault>, grid: &Grid) -> String {
    match result {
        Ok(value) => format!("{} {:?}", encode(value), score(value, grid)),
        Err(fault) => fault.to_string(),
    }
}

/// Text that is nearly a program, or not at all; whatever parses is run.
fn texts(dice: &mut Dice, says: &Sender<String>) {
    let text = if dice.below(2) == 0 {
        dice.spoilt_samples()
    } else {
        (0..dice.below(80)).map(|_| dice.token()).collect()
    };
    let _ = says.send(text.clone());
    let parsed = parse("fuzz.py", &text);
    for error in &parsed.errors {
        assert!(error.to_string().contains("fuzz.py:"));
        assert!(error.line >= 1 && error.column >= 1);
    }
    let library = Library::new(parsed.programs);
    let results = evaluate(&library, &dice.grid(), Order::Cpython, small_limits());
    assert_eq!(results.len(), library.len());
}

impl Dice {
    /// A piece of the sample programs with a few characters lost, doubled, changed or moved.
    fn spoilt_samples(&mut self) -> String {
        let mut chars: Vec<char> = if self.below(3) == 0 {
            BATT.chars().collect()
        } else {
            let blocks: Vec<&str> = SAMPLES.split("\n\n").collect();
            let n_blocks = 1 + self.below(6);
            let blocks: Vec<&str> = (0..n_blocks).map(|_| *self.pick(&blocks)).collect();
            blocks.join("\n\n").chars().collect()
        };
        for _ in 0..self.below(8) {
            if chars.is_empty() {
                break;
            }
            let (at, to) = (self.below(chars.len()), self.below(chars.len()));
            match self.below(5) {
                0 => {
                    chars.remove(at);
                }
                1 => chars.insert(at, chars[to]),
                2 => chars.swap(at, to),
                3 => chars.truncate(at.max(to)),
                _ => chars.splice(at..at, self.token().chars()).for_each(drop),
            }
        }
        chars.into_iter().collect()
    }

    fn token(&mut self) -> String {
        const TOKENS: [&str; 40] = [
            "def ",
            "return ",
            "I",
            "x1",
            "x2",
            "O",
            "(",
            ")",
            "((((",
            "))))",
            ",",
            ":",
            "=",
            "#",
            "'",
            "\"",
            "\"\"\"",
            "\\",
            "\n",
            "\n    ",
            "\r\n",
            "\t",
            " ",
            "-",
            "--",
            ".",
            "0",
            "7",
            "0x1f",
            "1_000",
            "99999999999999999999",
            "import ",
            "from ",
            "lambda",
            "é",
            "中",
            "\u{0}",
            "\u{feff}",
            "🦀",
            "\u{2028}",
        ];
        match self.below(8) {
            6 => "def batt(task_id, S, I, C, log_path):\n    t1 = ".into(),
            7 => (*self.pick(&[
                "try:",
                "\nexcept E:",
                "_get_safe_default(",
                "o.append((1, ",
                "return o, s",
            ]))
            .into(),
            0 => self.primitive().name.into(),
            1 => "def p(I):\n    x1 = ".into(),
            2 => "first(".repeat(self.below(300)),
            _ => (*self.pick(&TOKENS)).into(),
        }
    }
}
