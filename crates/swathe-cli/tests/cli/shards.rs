//! Shards, and the runs that `swathe merge` makes of them.

use crate::program::{Random, failures, json, many_floats, result_hash, save, swathe, table};

#[test]
fn three_shards_make_the_whole() {
    let folder = tempfile::tempdir().unwrap();
    many_floats(folder.path());
    let line = "array map exp in.npz --memory 1MiB";
    swathe(folder.path(), &format!("{line} --out whole")).expect(0);
    for k in [2, 1, 3] {
        let ended = swathe(folder.path(), "merge run").expect(2);
        let missing = if k == 2 { "no run.json" } else { "is missing" };
        assert!(ended.stderr.contains(missing), "{}", ended.stderr);
        let ended = swathe(folder.path(), &format!("{line} --out run --shard {k}/3")).expect(0);
        assert_eq!(ended.stdout, format!("run/shards/{k}-of-3\n"));
    }
    let ended = swathe(folder.path(), "merge run").expect(0);
    assert_eq!(ended.stdout, "run\n");
    let run = folder.path().join("run");
    assert_eq!(result_hash(&run), result_hash(&folder.path().join("whole")));
    let n_timed: usize = table(&run.join("timing.parquet"))
        .iter()
        .map(|b| b.num_rows())
        .sum();
    assert_eq!(n_timed, 60);

    let shard = run.join("shards/2-of-3/run.json");
    let mut unfinished = json(&shard);
    unfinished["state"] = "interrupted".into();
    std::fs::write(&shard, unfinished.to_string()).unwrap();
    let ended = swathe(folder.path(), "merge run").expect(2);
    assert!(
        ended.stderr.contains("shard 2/3 is not finished"),
        "{}",
        ended.stderr
    );

    let ended = swathe(folder.path(), "merge whole").expect(2);
    assert!(
        ended
            .stderr
            .starts_with("error: whole has no shards, so that there is nothing to merge\nhint: "),
        "{}",
        ended.stderr
    );
    let ended = swathe(folder.path(), &format!("{line} --out whole --shard 1/2")).expect(2);
    assert!(
        ended.stderr.contains("whole holds a run already"),
        "{}",
        ended.stderr
    );
}

#[test]
fn there_may_be_more_shards_than_problems() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random(1);
    let mut items = vec![
        ("a".to_owned(), random.floats(&[5])),
        ("b".to_owned(), random.floats(&[2, 2])),
    ];
    // An item that fails, alone in its shard.
    items.push(("c".to_owned(), random.bytes(3)));
    save(folder.path(), "in.npz", &items);
    swathe(folder.path(), "array map abs in.npz --out whole").expect(1);
    for k in 1..=7 {
        let ended = swathe(
            folder.path(),
            &format!("array map abs in.npz --out run --shard {k}/7"),
        );
        assert!(ended.code <= 1, "{}", ended.stderr);
    }
    let ended = swathe(folder.path(), "merge run").expect(1);
    assert!(ended.stderr.contains("2 rows merged"), "{}", ended.stderr);
    let run = folder.path().join("run");
    assert_eq!(result_hash(&run), result_hash(&folder.path().join("whole")));
    let failures = failures(&run);
    assert_eq!(failures.len(), 1);
    assert_eq!((failures[0].0, failures[0].1.as_str()), (2, "c"));
}
