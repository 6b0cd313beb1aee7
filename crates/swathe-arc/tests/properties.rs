//! Laws that hold for any grid and any programs.

use proptest::prelude::*;
use swathe_arc::{
    Evaluator, Grid, Library, Limits, Order, PRIMITIVES, Program, Value, call, encode, evaluate,
    parse, primitive,
};

fn grids() -> impl Strategy<Value = Grid> {
    (1usize..9, 1usize..9).prop_flat_map(|(h, w)| {
        proptest::collection::vec(proptest::collection::vec(0i8..4, w), h)
            .prop_map(|rows| Grid::from_rows(&rows).expect("a grid"))
    })
}

fn f(name: &str, args: &[Value]) -> Value {
    call(&primitive(name).expect("a primitive"), args).expect("a value")
}

/// Straight-line programs of random calls on random earlier values.
fn programs() -> impl Strategy<Value = String> {
    proptest::collection::vec(
        (
            0..PRIMITIVES.len(),
            [0u32..1000, 0u32..1000, 0u32..1000, 0u32..1000],
        ),
        1..14,
    )
    .prop_map(|calls| {
        let constants = [
            "T", "F", "ZERO", "ONE", "TWO", "UNITY", "UP", "size", "first", "color", "shift", "add",
        ];
        let mut text = String::new();
        for (k, (p, picks)) in calls.iter().enumerate() {
            let primitive = &PRIMITIVES[*p];
            let args: Vec<String> = picks[..usize::from(primitive.n_args)]
                .iter()
                .map(|&pick| match pick as usize % (k + 4) {
                    n if n < k => format!("x{n}"),
                    n if n == k => constants[pick as usize % constants.len()].to_string(),
                    n if n == k + 1 => "asindices(I)".to_string(),
                    n if n == k + 2 => "objects(I, T, F, F)".to_string(),
                    _ => "I".to_string(),
                })
                .collect();
            text += &format!("    x{k} = {}({})\n", primitive.name, args.join(", "));
        }
        text + &format!("    return x{}\n", calls.len() - 1)
    })
}

fn parsed(bodies: &[String]) -> Vec<Program> {
    let text: String = bodies
        .iter()
        .enumerate()
        .map(|(k, b)| format!("def p{k}(I):\n{b}"))
        .collect();
    let parsed = parse("random.py", &text);
    assert!(parsed.errors.is_empty(), "{}", parsed.errors[0]);
    parsed.programs
}

fn outcomes(library: &Library, grid: &Grid, order: Order) -> Vec<String> {
    let limits = Limits {
        work_max: 20_000,
        bytes_max: 1 << 22,
        ..Limits::default()
    };
    let results = evaluate(library, grid, order, limits);
    results
        .iter()
        .map(|r| r.as_ref().map_or_else(|f| f.name().to_string(), encode))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn mirrors_are_involutions(grid in grids()) {
        let grid = Value::from(grid);
        let object = f("asobject", std::slice::from_ref(&grid));
        for name in ["hmirror", "vmirror", "dmirror", "cmirror", "rot180"] {
            let twice = f(name, &[f(name, std::slice::from_ref(&grid))]);
            prop_assert_eq!(&twice, &grid);
            if name != "rot180" && name != "cmirror" {
                let twice = f(name, &[f(name, std::slice::from_ref(&object))]);
                prop_assert_eq!(&twice, &object);
            }
        }
        let mut turned = grid.clone();
        for _ in 0..4 {
            turned = f("rot90", &[turned]);
        }
        prop_assert_eq!(&turned, &grid);
        prop_assert_eq!(f("rot270", &[f("rot90", std::slice::from_ref(&grid))]), grid);
    }

    #[test]
    fn objects_partition_the_cells(grid in grids(), univalued: bool, diagonal: bool) {
        let grid = Value::from(grid);
        let objects = f("objects", &[grid.clone(), univalued.into(), diagonal.into(), false.into()]);
        let n: usize = objects.elements().expect("a set").iter().map(|o| o.len().expect("an object")).sum();
        let all = f("merge", &[objects]);
        prop_assert_eq!(all.len(), Some(n));
        prop_assert_eq!(all, f("asobject", &[grid]));
    }

    #[test]
    fn merged_is_program_by_program(grid in grids(), bodies in proptest::collection::vec(programs(), 1..6)) {
        for order in [Order::Cpython, Order::Sorted] {
            let merged = outcomes(&Library::new(parsed(&bodies)), &grid, order);
            let alone: Vec<String> = parsed(&bodies)
                .into_iter()
                .flat_map(|p| outcomes(&Library::new(vec![p]), &grid, order))
                .collect();
            prop_assert_eq!(merged, alone);
        }
    }

    #[test]
    fn samples_do_not_disturb_each_other(grids in proptest::collection::vec(grids(), 2..4), bodies in proptest::collection::vec(programs(), 1..4)) {
        let library = Library::new(parsed(&bodies));
        let limits = Limits { work_max: 20_000, bytes_max: 1 << 22, ..Limits::default() };
        let mut evaluator = Evaluator::new(&library, Order::Cpython, limits);
        for grid in &grids {
            let mut together = Vec::new();
            evaluator.run(grid, |_, r| together.push(r.map_or_else(|f| f.name().to_string(), encode)));
            prop_assert_eq!(&together, &outcomes(&library, grid, Order::Cpython));
        }
    }

    #[test]
    fn the_parser_takes_any_text(text in "(def |I|x1|return|[a-z]{1,5}|[(),=:#'\"\\\\ \n\t-]|[0-9]{1,20}|\\PC){0,60}") {
        let parsed = parse("random.py", &text);
        for error in parsed.errors {
            prop_assert!(!error.to_string().is_empty());
        }
    }
}
