//! `--augment`: programs on turned and recoloured inputs, with their outputs turned and recoloured back.

use std::collections::BTreeMap;
use std::fs;

use serde_json::{Value, json};

use crate::arc::results;
use crate::program::swathe;

type Rows = Vec<Vec<u8>>;

fn rot90(grid: &Rows) -> Rows {
    let width = grid[0].len();
    let column = |x: usize| grid.iter().rev().map(|row| row[x]).collect();
    (0..width).map(column).collect()
}

fn turned(grid: &Rows, n: usize) -> Rows {
    (0..n).fold(grid.clone(), |grid, _| rot90(&grid))
}

fn tophalf(grid: &Rows) -> Rows {
    grid[..grid.len() / 2].to_vec()
}

fn encoded(grid: &Rows) -> String {
    json!({ "grid": grid }).to_string()
}

fn task(input: &Rows, output: &Rows) -> Value {
    let sample = json!({"input": input, "output": output});
    json!({"train": [sample], "test": [sample]})
}

#[test]
fn turned_programs_solve_turned_tasks() {
    let folder = tempfile::tempdir().unwrap();
    let grid: Rows = vec![vec![1, 2, 3, 0], vec![4, 0, 0, 5], vec![0, 6, 7, 8], vec![9, 1, 0, 2]];
    // The bottom, left and right halves, and a mirror image of a part.
    let wanted = |n: usize| turned(&tophalf(&turned(&grid, n)), 4 - n);
    let tasks = json!({
        "left": task(&grid, &wanted(1)),
        "bottom": task(&grid, &wanted(2)),
        "right": task(&grid, &wanted(3)),
    });
    fs::write(folder.path().join("tasks.json"), tasks.to_string()).unwrap();
    let plain = "def half(I):\n    x1 = tophalf(I)\n    return x1\n";
    fs::write(folder.path().join("plain.py"), plain).unwrap();
    let generated = "from dsl import *\nfrom constants import *\nfrom safe_dsl import _get_safe_default\n\
        def solve_half(S, I, C):\n    x1 = tophalf(I)\n    return x1\n";
    fs::write(folder.path().join("generated.py"), generated).unwrap();
    let line = |file: &str, more: &str| {
        let out = file.trim_end_matches(".py").to_owned() + &more.replace([' ', '-'], "");
        let line = format!("arc --programs {file} --tasks tasks.json --out {out} {more}");
        (swathe(folder.path(), &line).expect(0).stderr, folder.path().join(out))
    };
    let (told, _) = line("plain.py", "");
    assert!(told.contains("0 of 3 tasks solved"), "{told}");
    for (file, name) in [("plain.py", "half"), ("generated.py", "solve_half")] {
        let (told, run) = line(file, "--augment");
        assert!(told.contains("7 programs added by --augment"), "{told}");
        assert!(told.contains("3 of 3 tasks solved"), "{told}");
        let outputs: BTreeMap<String, String> = results(&run)
            .into_iter()
            .filter(|row| row.task == "left" && row.split == "train")
            .map(|row| (row.program, row.output.unwrap()))
            .collect();
        assert_eq!(outputs.len(), 8);
        assert_eq!(outputs[name], encoded(&tophalf(&grid)));
        for (suffix, n) in [("rot90", 1), ("rot180", 2), ("rot270", 3)] {
            assert_eq!(outputs[&format!("{name}_{suffix}")], encoded(&wanted(n)));
        }
        assert_eq!(outputs[&format!("{name}_hmirror")], encoded(&wanted(2)));
        assert_eq!(outputs[&format!("{name}_vmirror")], encoded(&tophalf(&grid)));
    }
    // The programs that were added are kept as text, and read again they are the same.
    let text = fs::read_to_string(folder.path().join("plainaugment/augmented-arc-dsl.py")).unwrap();
    assert!(text.contains("def half_rot90(I)"), "{text}");
    let own = swathe(
        folder.path(),
        "arc --programs plain.py --tasks tasks.json --out x --augment --pairing own",
    );
    assert!(own.expect(2).stderr.contains("--pairing own leaves out"));
}

#[test]
fn recoloured_programs_see_other_colours() {
    let folder = tempfile::tempdir().unwrap();
    let grid: Rows = vec![vec![0, 1, 2, 3, 4], vec![5, 6, 7, 8, 9]];
    fs::write(folder.path().join("tasks.json"), json!({"one": task(&grid, &grid)}).to_string())
        .unwrap();
    let plain = "def blacken(I):\n    x1 = replace(I, TWO, ZERO)\n    return x1\n\
        def same(I):\n    return vmirror(vmirror(I))\n";
    fs::write(folder.path().join("plain.py"), plain).unwrap();
    let line = "arc --programs plain.py --tasks tasks.json --out run --augment colors";
    let ended = swathe(folder.path(), line).expect(0);
    assert!(ended.stderr.contains("8 programs added"), "{}", ended.stderr);
    let mut blackened = Vec::new();
    for row in results(&folder.path().join("run")) {
        let output: Value = serde_json::from_str(&row.output.unwrap()).unwrap();
        let output: Rows = serde_json::from_value(output["grid"].clone()).unwrap();
        let pairs = output.iter().flatten().zip(grid.iter().flatten());
        let changed: Vec<(u8, u8)> = pairs.filter(|(a, b)| a != b).map(|(a, b)| (*b, *a)).collect();
        if row.program.starts_with("same") {
            assert_eq!(changed, [], "{}", row.program);
        } else if row.split == "train" {
            // One colour became black, and which one depends on the permutation.
            assert_eq!((changed.len(), changed[0].1), (1, 0), "{changed:?}");
            blackened.push(changed[0].0);
        }
    }
    blackened.sort_unstable();
    blackened.dedup();
    assert!(blackened.len() > 2, "{blackened:?}");
}
