//! The order of sets against CPython's: recorded, and live where python3 is installed.
//!
//! A case is two lists and a value made from a seed. Nine sets are built from them and combined in the ways that
//! programs can. The tests compare a checksum of each set's elements in iteration order. `SWATHE_ARC_RECORD=1` records
//! the cases again with the installed python3.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use swathe_arc::{Value, call, primitive};

const N_RECORDED: u64 = 400;
const N_LIVE: u64 = 12_000;
const N_SETS: usize = 9;

const SCRIPT: &str = r#"
import sys, zlib
for line in sys.stdin:
    a, b, v = eval(line)
    f, g = frozenset(a), frozenset(b)
    sets = (f, g, frozenset((*f, *g)), f & g, frozenset(e for e in f if e not in g), f.union(frozenset({v})),
            f - g, (f - g).union(frozenset({v})), frozenset({x for r in (tuple(a), tuple(b)) for x in r}))
    print(' '.join('%08x' % zlib.crc32(repr(list(s)).encode()) for s in sets))
"#;

#[test]
fn recorded_cases() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/set_order.txt");
    if std::env::var_os("SWATHE_ARC_RECORD").is_some() {
        let sums = python(0..N_RECORDED).expect("python3 to record with");
        std::fs::write(&path, sums.join("\n") + "\n").expect("the recorded cases written");
    }
    let recorded = std::fs::read_to_string(path).expect("the recorded cases");
    assert_eq!(recorded.lines().count() as u64, N_RECORDED);
    for (seed, wanted) in (0..).zip(recorded.lines()) {
        assert_eq!(Case::new(seed).checksums(), wanted, "case {seed}");
    }
}

#[test]
fn live_cases() {
    match python(N_RECORDED..N_RECORDED + N_LIVE) {
        Err(reason) if std::env::var_os("CI").is_some() => {
            panic!("python3 is needed here: {reason}")
        }
        Err(reason) => println!("SKIPPED: no python3 to compare with ({reason})"),
        Ok(wanted) => {
            assert_eq!(wanted.len() as u64, N_LIVE);
            for (seed, wanted) in (N_RECORDED..).zip(&wanted) {
                assert_eq!(Case::new(seed).checksums(), *wanted, "case {seed}");
            }
            println!("{} sets compared", N_LIVE * N_SETS as u64);
        }
    }
}

const SORT_SCRIPT: &str = r#"
import sys, zlib
for line in sys.stdin:
    print('%08x' % zlib.crc32(repr([sorted(s) for s in sorted(eval(line))]).encode()))
"#;

/// Sets are only partly ordered, so what `order` gives depends on every comparison that the sort makes.
#[test]
fn sorting_by_sets() {
    let cases: Vec<Vec<Vec<i64>>> = (0..120)
        .map(|seed| {
            let mut random = Random(seed * 2 + 1);
            let n = [5, 63, 64, 65, 100, 200, 500, 1000][seed as usize % 8];
            let n_values = [3, 6, 12][seed as usize % 3];
            let mut sets: Vec<Vec<i64>> =
                (0..n).map(|_| (0..n_values).filter(|_| random.below(3) > 0).collect()).collect();
            if seed % 4 == 0 {
                // Long runs, so that the merges gallop.
                sets.sort_by_key(Vec::len);
            }
            sets
        })
        .collect();
    let lines: Vec<String> = cases
        .iter()
        .map(|sets| {
            let sets: Vec<String> = sets.iter().map(|s| format!("frozenset({s:?})")).collect();
            format!("[{}]", sets.join(", "))
        })
        .collect();
    let wanted = match piped(SORT_SCRIPT, lines) {
        Err(reason) if std::env::var_os("CI").is_some() => {
            panic!("python3 is needed here: {reason}")
        }
        Err(reason) => return println!("SKIPPED: no python3 to compare with ({reason})"),
        Ok(wanted) => wanted,
    };
    assert_eq!(wanted.len(), cases.len());
    let [order, identity] = ["order", "identity"].map(|name| primitive(name).expect("a primitive"));
    for (k, (sets, wanted)) in cases.iter().zip(&wanted).enumerate() {
        let set =
            |s: &Vec<i64>| Value::set(s.iter().map(|&n| Value::Int(n)).collect()).expect("a set");
        let container = Value::tuple(sets.iter().map(set).collect()).expect("a tuple");
        let sorted = call(&order, &[container, identity.clone()]).expect("a tuple");
        let shown = sorted
            .elements()
            .expect("a tuple")
            .iter()
            .map(ascending)
            .collect::<Vec<_>>()
            .join(", ");
        assert_eq!(format!("{:08x}", crc32(format!("[{shown}]").as_bytes())), *wanted, "case {k}");
    }
}

fn ascending(set: &Value) -> String {
    let mut items: Vec<i64> =
        set.elements().expect("a set").iter().filter_map(Value::as_int).collect();
    items.sort_unstable();
    format!("{items:?}")
}

/// The checksums that Python finds for these cases.
fn python(seeds: std::ops::Range<u64>) -> Result<Vec<String>, std::io::Error> {
    piped(SCRIPT, seeds.map(|seed| Case::new(seed).text))
}

/// The lines that a Python script prints for these lines.
fn piped(
    script: &str,
    lines: impl IntoIterator<Item = String, IntoIter: Send + 'static>,
) -> Result<Vec<String>, std::io::Error> {
    let lines = lines.into_iter();
    let mut child = Command::new("python3")
        .args(["-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut stdin = child.stdin.take().expect("a pipe");
    let writer = std::thread::spawn(move || {
        for line in lines {
            writeln!(stdin, "{line}").expect("python3 reads");
        }
    });
    let output = child.wait_with_output()?;
    writer.join().expect("the cases were written");
    assert!(output.status.success(), "python3 failed");
    Ok(String::from_utf8(output.stdout).expect("text").lines().map(String::from).collect())
}

struct Case {
    a: Vec<Value>,
    b: Vec<Value>,
    v: Value,
    text: String,
}

impl Case {
    fn new(seed: u64) -> Case {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        let kind = random.below(8);
        let sizes = [1, 2, 3, 4, 5, 6, 9, 18, 19, 20, 33, 60, 76, 77, 78, 130, 307, 320];
        let size = |random: &mut Random| {
            let most = if random.below(12) == 0 { sizes.len() } else { 12 };
            sizes[random.below(most)]
        };
        let n = size(&mut random);
        let a: Vec<RunOrigin> = (0..n).map(|_| random.value(kind, 2)).collect();
        let m = size(&mut random);
        let mut b: Vec<RunOrigin> = (0..m).map(|_| random.value(kind, 2)).collect();
        // A part of the first list again, so that intersections and differences are not trivial.
        let from = random.below(n);
        b.extend_from_slice(&a[from..]);
        let v =
            if random.below(2) == 0 { a[random.below(n)].clone() } else { random.value(kind, 2) };
        let text = format!("([{}], [{}], {})", texts(&a), texts(&b), v.text);
        let [a, b] = [a, b].map(|l| l.into_iter().map(|m| m.value).collect());
        let v = v.value;
        Case { a, b, v, text }
    }

    fn checksums(&self) -> String {
        let f = |name: &str, args: &[&Value]| {
            let args: Vec<Value> = args.iter().map(|v| (*v).clone()).collect();
            call(&primitive(name).expect("a primitive"), &args).expect("a set")
        };
        let (a, b) = (
            Value::set(self.a.clone()).expect("a set"),
            Value::set(self.b.clone()).expect("a set"),
        );
        let two = |x: &Value| Value::tuple(vec![x.clone(), Value::Int(0)]).expect("a tuple");
        let minus = f("first", &[&f("subtract", &[&two(&a), &two(&b)])]);
        let rows = [&self.a, &self.b].map(|l| Value::tuple(l.clone()).expect("a tuple"));
        let sets: [Value; N_SETS] = [
            f("combine", &[&a, &b]),
            f("intersection", &[&a, &b]),
            f("difference", &[&a, &b]),
            f("insert", &[&self.v, &a]),
            minus.clone(),
            f("insert", &[&self.v, &minus]),
            f("palette", &[&Value::tuple(rows.to_vec()).expect("a tuple")]),
            a,
            b,
        ];
        // The sources come first in the output of the script.
        let order = [7, 8, 0, 1, 2, 3, 4, 5, 6];
        let sums = order.map(|k| {
            let text = format!("[{}]", list(&sets[k].elements().expect("a set")));
            format!("{:08x}", crc32(text.as_bytes()))
        });
        sums.join(" ")
    }
}

fn list(values: &[Value]) -> String {
    values.iter().map(python_text).collect::<Vec<_>>().join(", ")
}

/// Python's `repr`.
fn python_text(v: &Value) -> String {
    match v {
        Value::Bool(b) => if *b { "True" } else { "False" }.into(),
        Value::Int(n) => n.to_string(),
        Value::Set(s) if s.is_empty() => "frozenset()".into(),
        Value::Set(_) => format!("frozenset({{{}}})", list(&v.elements().expect("a set"))),
        _ => {
            let items = v.elements().expect("a tuple");
            let mut text = String::new();
            let comma = if items.len() == 1 { "," } else { "" };
            let _ = write!(text, "({}{comma})", list(&items));
            text
        }
    }
}

/// A value and the Python expression that makes it, sets by inserting in the same order.
#[derive(Clone)]
struct RunOrigin {
    value: Value,
    text: String,
}

fn texts(made: &[RunOrigin]) -> String {
    made.iter().map(|m| m.text.clone()).collect::<Vec<_>>().join(", ")
}

/// A multiplicative generator; the cases must be the same everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % n as u64) as usize
    }

    fn int(&mut self, low: i64, high: i64) -> i64 {
        low + self.below((high - low) as usize) as i64
    }

    /// Places, cells and wild mixtures; packed and general forms.
    fn value(&mut self, kind: usize, depth: usize) -> RunOrigin {
        let kind = if kind == 7 || depth == 0 { self.below(7) } else { kind };
        let value = match kind {
            0 => Value::Pair(self.int(-2, 31) as i32, self.int(-2, 31) as i32),
            1 => Value::Cell(
                self.int(0, 10) as i32,
                self.int(-2, 31) as i32,
                self.int(-2, 31) as i32,
            ),
            2 => Value::Int(self.int(-5, 40)),
            3 | 4 if depth > 0 => return self.container(kind == 4, depth - 1),
            5 => Value::Pair(self.int(-5000, 5000) as i32, self.int(-3, 4) as i32),
            6 => match self.below(4) {
                0 => Value::Bool(self.below(2) == 1),
                1 => Value::Int((1 << 61) - 3 + self.int(0, 6)),
                2 => Value::Int(i64::MIN + self.int(0, 3)),
                _ => Value::Int(self.int(-3, 4)),
            },
            _ => Value::Int(self.int(0, 100)),
        };
        RunOrigin { text: python_text(&value), value }
    }

    fn container(&mut self, is_set: bool, depth: usize) -> RunOrigin {
        let n = self.below(5);
        let kind = self.below(if is_set { 2 } else { 8 });
        let items: Vec<RunOrigin> = (0..n).map(|_| self.value(kind, depth)).collect();
        let values = items.iter().map(|m| m.value.clone()).collect();
        if is_set {
            let text = format!("frozenset([{}])", texts(&items));
            return RunOrigin { value: Value::set(values).expect("a set"), text };
        }
        let comma = if n == 1 { "," } else { "" };
        RunOrigin {
            value: Value::tuple(values).expect("a tuple"),
            text: format!("({}{comma})", texts(&items)),
        }
    }
}

fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for &b in bytes {
        crc ^= u32::from(b);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0xEDB8_8320 & (crc & 1).wrapping_neg());
        }
    }
    !crc
}
