//! Tests of `swathe lattice` that run the real program.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

struct Ended {
    code: i32,
    stdout: String,
    stderr: String,
}

fn program(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_swathe"));
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("SWATHE_")) {
        command.env_remove(name);
    }
    command
        .current_dir(folder)
        .env("COLUMNS", "100")
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn ended(output: Output) -> Ended {
    Ended {
        code: output.status.code().expect("it was not killed"),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

fn swathe(folder: &Path, line: &str) -> Ended {
    let args: Vec<&str> = line.split_whitespace().collect();
    ended(program(folder, &args).output().unwrap())
}

/// The stdout of a command that must succeed.
#[track_caller]
fn printed(folder: &Path, line: &str) -> String {
    let ended = swathe(folder, line);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    ended.stdout
}

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

#[test]
fn flags_ask_one_question() {
    let folder = folder();
    let printed = |line: &str| printed(folder.path(), line);
    insta::assert_snapshot!(printed("lattice analyze --size 3x3 --blocked 4"), @r"
    op                      analyze
    sizes                   3x3
    n_blocked               1
    n_vertices              8
    n_edges                 8
    connected               true
    diameter                4
    average_degree          2.0
    clustering_coefficient  0.0
    density                 0.2857142857142857
    ");
    insta::assert_snapshot!(printed("lattice path --size 3x3 --blocked 4 --from 0,1 --to 7"), @r"
    op           path
    sizes        3x3
    n_blocked    1
    from_vertex  1
    to_vertex    7
    found        true
    length       4
    path         1 0 3 6 7
    ");
    insta::assert_snapshot!(
        printed("lattice path --size 3x3 --blocked 1 3 --from 0 --to 8 --json"), @r#"{"row":0,"query_id":"0","op":"path","sizes":"3x3","n_blocked":2,"from_vertex":0,"to_vertex":8,"found":false,"length":null,"path":null}"#);
    insta::assert_snapshot!(
        printed("lattice layers --size 3x3 --blocked 4 --from 0 --distances"), @r"
    op             layers
    sizes          3x3
    n_blocked      1
    from_vertex    0
    eccentricity   4
    n_unreachable  0
    counts         1 2 2 2 1
    distances      0 1 2 1 - 3 2 3 4
    ");
    insta::assert_snapshot!(printed("lattice layers --size 100x100x100x100 --from 0 --json")
        .split("\"counts\"").next().unwrap(), @r#"{"row":0,"query_id":"0","op":"layers","sizes":"100x100x100x100","n_blocked":0,"from_vertex":0,"eccentricity":396,"n_unreachable":0,"#);

    std::fs::write(folder.path().join("walls.txt"), "0,1\n3 1,1\n").unwrap();
    let blocked = printed("lattice analyze --size 3x3 --blocked-file walls.txt");
    assert_eq!(blocked, printed("lattice analyze --size 3x3 --blocked 1,1 1,0 0,1"));
    // Blocked vertices take the same notation as the ends of a path.
    let path = printed("lattice path --size 20x20 --from 1,1 --to 1,3 --blocked 1,2");
    assert!(path.contains("length       4") && path.contains("from_vertex  21"), "{path}");
    let counts = printed("lattice analyze --size 100x100x100x100x100x100x100x100x100x100 --json");
    assert!(counts.contains(r#""n_vertices":"100000000000000000000""#), "{counts}");
    let counts = printed("lattice analyze --size 3x3 --json");
    assert!(counts.contains(r#""n_vertices":9,"n_edges":12"#), "{counts}");
}

const QUERIES: &str = "\u{feff}id,size,from,to,blocked,note\r\n\
    a,3x3,0,8,4,\r\n\
    b,3x3,0,8,1 3,no way out\r\n\
    walled,3x3,4,8,4,\r\n\
    \"d,1\",10x10x10,0 0 0,\"9,9,9\",,\r\n\
    thin,3x1,0,1,,\r\n\
    vast,100x100x100x100x100,0,1,,\r\n\
    huge,100x100x100x100x100,0,1,7,\r\n\
    vague,3x3,0,here,,\r\n";

#[test]
fn a_table_asks_many_and_bad_lines_fail_alone() {
    let folder = folder();
    std::fs::write(folder.path().join("q.csv"), QUERIES).unwrap();
    let table = swathe(folder.path(), "lattice path q.csv --threads 1");
    assert_eq!(table.code, 1);
    insta::assert_snapshot!(table.stdout, @r"
    row  query_id  op    sizes                n_blocked  from_vertex  to_vertex  found  length  path
    0    a         path  3x3                  1          0            8          true   4       0 1 2 5 8
    1    b         path  3x3                  2          0            8          false  -       -
    3    d,1       path  10x10x10             0          0            999        true   27      0 100 200 300 400 500 600 700 800 900 910 920 930 940 950 960 970 980 990 991 992 993 994 995 996 997 998 999
    5    vast      path  100x100x100x100x100  0          0            1          true   1       0 1
    ");
    insta::assert_snapshot!(table.stderr, @r#"
    warning: q.csv: the column "note" is not used
    error: query "walled" (row 2): vertex 4 is blocked
    error: query "thin" (row 4): axis 1 has 1 vertices; it needs at least 2
    error: query "huge" (row 6): the lattice has 10000000000 vertices, and a search through them needs 3 GiB of memory; at most 4294967296 vertices can be searched
    error: query "vague" (row 7): to has "here", which is not the id of a vertex, or its coordinates such as 0,0,9
    "#);

    let lines = swathe(folder.path(), "lattice path q.csv --json");
    assert_eq!((lines.code, lines.stdout.lines().count()), (1, 8));
    let vague = lines.stdout.lines().last().unwrap();
    assert!(vague.starts_with(r#"{"row":7,"query_id":"vague","failure":{"kind":"failed""#));

    // Columns that an operation does not need are ignored.
    let analyzed = swathe(folder.path(), "lattice analyze q.csv");
    assert_eq!((analyzed.code, analyzed.stdout.lines().count()), (1, 7));
    let layers = swathe(folder.path(), "lattice layers q.csv --json");
    assert_eq!(layers.code, 1);
    assert!(layers.stdout.contains(r#""counts":[1,3,6,10,15,21,28,36"#));
}

#[test]
fn what_cannot_be_used_is_an_error_before_anything_is_done() {
    let folder = folder();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("no-to.csv", "id,size,from\na,3x3,0\n");
    write("twice.csv", "id,size,from,to\na,3x3,0,1\nb,3x3,0,1\na,3x3,0,2\n");
    write("short.csv", "size,from,to\n3x3,0,1\n3x3,0\n");
    write("open.csv", "size,from,to\n3x3,\"0,1\n");
    write("empty.csv", "");
    write("words.txt", "1 2 three\n");
    for (line, message) in [
        ("path no-to.csv", "no-to.csv: no column called \"to\""),
        ("path twice.csv", "lines 2 and 4 have the same id \"a\""),
        ("path short.csv --out run", "short.csv: line 3: 2 fields"),
        ("path open.csv", "open.csv: line 2: a quote is opened"),
        ("analyze empty.csv", "empty.csv: the file is empty"),
        ("analyze absent.csv", "absent.csv: cannot be read"),
        ("analyze --size 3x3 --blocked-file words.txt", "words.txt: blocked has \"three\""),
        ("analyze --size 3x3 --blocked-file absent.txt", "cannot read absent.txt"),
        ("analyze --size 3x1", "axis 1 has 1 vertices"),
        ("analyze --size 3xx", "size has \"3xx\""),
        ("analyze --size 3x3 --blocked 9", "there is no vertex 9"),
        ("analyze --size 3x3 --blocked 1,2,4", "separate vertices by spaces"),
        ("path --size 3x3 --from 0 --to 9", "there is no vertex 9"),
        ("path --size 3x3 --from 0 --to 0,3", "coordinate 3 on axis 1"),
        ("path --size 3x3 --from 0 --to 8 --blocked 8", "vertex 8 is blocked"),
        ("path --size 3x3 --from 0", "--to <VERTEX>"),
        ("layers --size 100x100x100x100x100 --from 0 --blocked 1", "needs 3 GiB of memory"),
        ("layers twice.csv --size 3x3", "cannot be used with"),
        ("layers twice.csv --resume", "need a run folder"),
        ("layers twice.csv --threads many", "--threads is 'many'"),
        ("path --size 3x3 --from 0 --to 8 --length-max 9", "--scratch <FILE>"),
    ] {
        let ended = swathe(folder.path(), &format!("lattice {line}"));
        assert_eq!(ended.code, 2, "{line}: {}", ended.stderr);
        assert!(ended.stderr.contains(message), "{line}: {}", ended.stderr);
        assert_eq!(ended.stdout, "", "{line}");
    }
    assert!(!folder.path().join("run").exists());
}

/// Lattices of many shapes; some have everything between the ends blocked, some are invalid.
fn many_queries(n_queries: u64) -> String {
    let mut state = 88172645463325252_u64;
    let mut below = |n: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % n
    };
    let mut text = "id,size,from,to,blocked\n".to_owned();
    for number in 0..n_queries {
        let sizes: Vec<u64> = (0..1 + below(4)).map(|_| 2 + below(7)).collect();
        let n_vertices: u64 = sizes.iter().product();
        let blocked: Vec<String> =
            (0..below(1 + n_vertices / 2)).map(|_| below(n_vertices).to_string()).collect();
        let sizes: Vec<String> = sizes.iter().map(u64::to_string).collect();
        let (sizes, blocked) = (sizes.join("x"), blocked.join(" "));
        let (from, to) = (below(n_vertices), below(n_vertices));
        writeln!(text, "q{number},{sizes},{from},{to},{blocked}").unwrap();
    }
    text
}

/// The `result_hash` in a run's `run.json`.
fn result_hash(run: &Path) -> String {
    let text = std::fs::read_to_string(run.join("run.json")).unwrap();
    let (_, rest) = text.split_once("\"result_hash\": \"").expect("the run is complete");
    rest.split('"').next().unwrap().to_owned()
}

#[test]
fn runs_are_the_same_whatever_the_threads_and_batches() {
    let folder = folder();
    std::fs::write(folder.path().join("q.csv"), many_queries(300)).unwrap();
    for verb in ["analyze", "path", "layers"] {
        let mut hashes = Vec::new();
        for (number, flags) in [
            "--threads 1",
            "--threads 2",
            "--threads 1 --batch-size 1",
            "--threads 2 --batch-size 7",
            "--threads 2 --memory 1MiB --verify 20",
        ]
        .iter()
        .enumerate()
        {
            let out = format!("{verb}-{number}");
            let line = format!("lattice {verb} q.csv --out {out} {flags}");
            let ended = swathe(folder.path(), &line);
            // A blocked end is a failure; every lattice can be analyzed.
            let code = i32::from(verb != "analyze");
            assert_eq!(ended.code, code, "{line}: {}", ended.stderr);
            assert_eq!(ended.stdout, format!("{out}\n"));
            let run = folder.path().join(out);
            assert!(run.join("queries.parquet").exists() && run.join("failures.parquet").exists());
            hashes.push(result_hash(&run));
        }
        assert!(hashes.iter().all(|hash| *hash == hashes[0]), "{verb}: {hashes:?}");

        let shards = format!("{verb}-shards");
        for shard in ["1/3", "3/3", "2/3"] {
            let line = format!("lattice {verb} q.csv --out {shards} --shard {shard}");
            assert!(swathe(folder.path(), &line).code <= 1);
        }
        swathe(folder.path(), &format!("merge {shards}"));
        assert_eq!(result_hash(&folder.path().join(shards)), hashes[0], "{verb} in shards");
    }
    let again = swathe(folder.path(), "lattice path q.csv --out path-0");
    assert_eq!(again.code, 2);
    let other = swathe(folder.path(), "lattice layers q.csv --out path-0 --resume");
    assert_eq!(other.code, 2);
    assert!(other.stderr.contains("--op: \"path\" then, \"layers\" now"), "{}", other.stderr);
}

#[test]
fn a_question_by_flags_can_be_a_run_too() {
    let folder = folder();
    let line = "lattice layers --size 4x4 --from 0 --blocked 1 --distances --out run";
    assert_eq!(printed(folder.path(), line), "run\n");
    let plan = printed(folder.path(), "lattice layers --size 4x4 --from 0 --explain");
    assert!(plan.starts_with("1 problem in 1 batch on "), "{plan}");
}

fn someone_elses_data(path: &Path, n_bytes: usize) -> Vec<u8> {
    let bytes: Vec<u8> = (0..n_bytes as u64)
        .map(|at| (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8)
        .collect();
    std::fs::write(path, &bytes).unwrap();
    bytes
}

#[test]
fn borrowed_memory_is_as_it_was() {
    let folder = folder();
    let lent = folder.path().join("lent");
    // Three bytes more than needed, which are not a whole word.
    let before = someone_elses_data(&lent, 30 * 8 + 3);
    // A wall with a gap at the far end: the path from 0 to 2 has 2 + 2 · 9 steps.
    let walls = "--size 10x3 --from 0 --to 2 --blocked 1 4 7 10 13 16 19 22 25";
    let found = swathe(folder.path(), &format!("lattice path {walls} --scratch lent"));
    assert_eq!(found.code, 0);
    // The size of the search's own variables depends on the compiler.
    let (answer, rest) = found.stdout.split_once("clean_bytes").unwrap();
    assert!(rest.ends_with("\nborrowed_bytes  240\n"), "{rest}");
    insta::assert_snapshot!(answer, @r"
    op              path
    sizes           10x3
    n_blocked       9
    from_vertex     0
    to_vertex       2
    found           true
    length          20
    path            0 3 6 9 12 15 18 21 24 27 28 29 26 23 20 17 14 11 8 5 2
    certainty       probable
    length_max      -
    ");
    assert!(found.stderr.contains("lent: 240 bytes borrowed"), "{}", found.stderr);
    assert!(found.stderr.contains("clean memory: "), "{}", found.stderr);
    assert!(found.stderr.contains("probable, by 2 seeds"), "{}", found.stderr);
    assert_eq!(std::fs::read(&lent).unwrap(), before);

    let capped = format!("lattice path {walls} --scratch lent --length-max 19 --json");
    let capped = swathe(folder.path(), &capped);
    assert_eq!(capped.code, 1);
    assert!(capped.stdout.contains(r#""found":null"#), "{}", capped.stdout);
    assert!(capped.stderr.contains("no path of up to 18 edges"), "{}", capped.stderr);

    let short = "lattice path --size 31 --from 0 --to 1 --scratch lent";
    let short = swathe(folder.path(), short);
    assert_eq!(short.code, 2);
    assert!(short.stderr.contains("lent has 243 bytes; 248 are needed"), "{}", short.stderr);
    let absent = swathe(folder.path(), &format!("lattice path {walls} --scratch absent"));
    assert_eq!(absent.code, 2);
    assert!(!folder.path().join("absent").exists());
    assert_eq!(std::fs::read(&lent).unwrap(), before);
}

#[test]
fn borrowed_memory_gives_the_same_lengths() {
    let folder = folder();
    std::fs::write(folder.path().join("q.csv"), many_queries(40)).unwrap();
    let lent = folder.path().join("lent");
    let before = someone_elses_data(&lent, 8 * 8 * 8 * 8 * 8);
    let answers = swathe(folder.path(), "lattice path q.csv --json").stdout;
    let mut n_compared = 0;
    for (answer, line) in answers.lines().zip(many_queries(40).lines().skip(1)) {
        let fields: Vec<&str> = line.split(',').collect();
        let [_, size, from, to, blocked] = fields[..] else { panic!("five columns") };
        let mut args = vec!["lattice", "path", "--size", size, "--from", from, "--to", to];
        args.extend(["--blocked", blocked, "--scratch", "lent", "--length-max", "10000", "--json"]);
        let ended = ended(program(folder.path(), &args).output().unwrap());
        let length = |text: &str| {
            let (_, rest) = text.split_once("\"length\":")?;
            rest.split(',').next().map(str::to_owned)
        };
        assert_eq!(length(&ended.stdout), length(answer), "{line}");
        n_compared += usize::from(length(answer).is_some());
    }
    assert!(n_compared > 10, "{n_compared}");
    assert!(std::fs::read(&lent).unwrap() == before);
}

/// Two Ctrl-C during the search: the second must not end the process early.
#[test]
fn borrowed_memory_is_as_it_was_after_an_interruption() {
    let folder = folder();
    let lent = folder.path().join("lent");
    let before = someone_elses_data(&lent, 60 * 60 * 60 * 8);
    // The goal is enclosed by blocked vertices, so that every length up to the limit is tried.
    let line = "lattice path --size 60x60x60 --from 0 --to 215999 \
        --blocked 215998 215939 212399 --length-max 200000 --scratch lent";
    let args: Vec<&str> = line.split_whitespace().collect();
    let child = program(folder.path(), &args).spawn().unwrap();
    // The file itself is the memory, so its change is visible from outside.
    wait_until(|| std::fs::read(&lent).unwrap() != before);
    std::thread::sleep(Duration::from_millis(500));
    interrupt(&child);
    std::thread::sleep(Duration::from_millis(1));
    interrupt(&child);
    let ended = ended(child.wait_with_output().unwrap());
    assert_eq!(ended.code, 130, "{}", ended.stderr);
    assert_eq!(ended.stdout, "");
    assert!(ended.stderr.contains("interrupted: lent is as it was"), "{}", ended.stderr);
    assert!(std::fs::read(&lent).unwrap() == before);

    let limited = swathe(folder.path(), &format!("{line} --time-limit 300ms"));
    assert_eq!(limited.code, 1);
    assert!(limited.stderr.contains("not finished after 300ms"), "{}", limited.stderr);
    assert!(std::fs::read(&lent).unwrap() == before);
}

fn interrupt(child: &Child) {
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(sent.unwrap().success());
}

#[track_caller]
fn wait_until(is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(60), "it never came");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn help_teaches() {
    let folder = folder();
    for verb in ["", "analyze", "path", "layers"] {
        let name = format!("lattice_help_{verb}").trim_end_matches('_').to_owned();
        insta::assert_snapshot!(name, printed(folder.path(), &format!("lattice {verb} --help")));
    }
}
