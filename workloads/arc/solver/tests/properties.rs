//! Laws that hold for any grid and any programs.

mod variants;

use proptest::prelude::*;
use swathe_arc::{
    Dialect, Evaluator, Grid, Library, Limits, Order, PRIMITIVES, Program, Value, call, encode,
    evaluate, parse, primitive,
};
use variants::variants;

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
        (0..160usize, [0u32..1000, 0u32..1000, 0u32..1000, 0u32..1000]),
        1..14,
    )
    .prop_map(|calls| {
        let constants = [
            "T", "F", "ZERO", "ONE", "TWO", "UNITY", "UP", "size", "first", "color", "shift", "add",
        ];
        let mut text = String::new();
        for (k, (p, picks)) in calls.iter().enumerate() {
            let mut primitives = PRIMITIVES.iter().filter(|p| p.is_in(Dialect::ArcDsl));
            let primitive = primitives.nth(*p).expect("one of 160");
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
    let text: String =
        bodies.iter().enumerate().map(|(k, b)| format!("def p{k}(I):\n{b}")).collect();
    let parsed = parse("random.py", &text);
    assert!(parsed.errors.is_empty(), "{}", parsed.errors[0]);
    parsed.programs
}

fn outcomes(library: &Library, grid: &Grid, order: Order) -> Vec<String> {
    let limits = Limits { work_max: 20_000, bytes_max: 1 << 22, ..Limits::default() };
    let results = evaluate(library, grid, order, limits);
    results.iter().map(|r| r.as_ref().map_or_else(|f| f.name().to_string(), encode)).collect()
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
    fn a_first_element_that_is_only_fixed_is_the_same(grid in grids(), work_max in 1u64..60) {
        let sets = [
            "objects(I, T, F, T)", "objects(I, T, T, F)", "partition(I)", "asindices(I)", "palette(I)",
            "prapply(connect, asindices(I), corners(asindices(I)))",
            "apply(partition, hsplit(I, ONE))", "totuple(partition(I))",
        ];
        let uses = [
            "f", "f(UNITY)", "compose(f, tojvec)", "mapply(compose(f, tojvec), interval(ZERO, ZERO, ONE))",
            "apply(compose(f, tojvec), interval(ZERO, THREE, ONE))", "initset(f)", "astuple(f, f)",
            "sfilter(asindices(I), matcher(f, I))", "rapply(initset(f), UNITY)",
        ];
        let bodies = |binder: &str, set: &str| -> Vec<String> {
            let body = |then: &&str| format!("    s = {set}\n    x = first(s)\n    f = {binder}(shift, x)\n    return {then}\n");
            uses.iter().map(body).collect()
        };
        let limits = [Limits::default(), Limits { work_max, ..Limits::default() }];
        let outcomes = |bodies: &[String], order: Order, limits: Limits| -> Vec<String> {
            let results = evaluate(&Library::new(parsed(bodies)), &grid, order, limits);
            results.iter().map(|r| r.as_ref().map_or_else(|f| f.name().to_string(), encode)).collect()
        };
        for (binder, set) in sets.iter().flat_map(|set| [("lbind", set), ("rbind", set)]) {
            let later = bodies(binder, set);
            // Where a program returns the element itself, it is looked up at once.
            let mut at_once = later.clone();
            at_once.push(format!("    s = {set}\n    return first(s)\n"));
            for order in [Order::Cpython, Order::Sorted] {
                for limits in limits {
                    let at_once = outcomes(&at_once, order, limits);
                    prop_assert_eq!(&outcomes(&later, order, limits)[..], &at_once[..later.len()], "{} {}", binder, set);
                }
            }
        }
    }

    #[test]
    fn groups_of_programs_are_the_whole(
        grids in proptest::collection::vec(grids(), 1..3),
        seed: u64,
        n_programs in 1usize..40,
        kept_bytes_max in prop_oneof![Just(0u64), 0u64..2_000, 0u64..200_000],
        work_max in prop_oneof![Just(1_000_000u64), 1u64..2_000],
        bytes_max in prop_oneof![Just(1u64 << 27), 100u64..50_000],
    ) {
        let programs = variants(include_str!("../samples/programs.py"), 100 + n_programs, seed);
        // The variants, and some of the programs that they come from.
        let programs = parse("variants.py", &programs).programs.split_off(60);
        let alone: Vec<Library> = programs.iter().map(|program| Library::new([program])).collect();
        let library = Library::new(programs);
        let limits = Limits { work_max, bytes_max, ..Limits::default() };
        let mut whole = Evaluator::new(&library, Order::Cpython, limits);
        let mut grouped = Evaluator::new(&library, Order::Cpython, limits);
        grouped.keep_at_most(kept_bytes_max);
        for grid in &grids {
            let outcomes = |evaluator: &mut Evaluator| {
                let mut outcomes = Vec::new();
                evaluator.run(grid, |_, r| {
                    // The elements in order: the encoding alone sorts sets.
                    let order = r.ok().and_then(Value::elements);
                    outcomes.push((r.map_or_else(|f| f.name().to_string(), encode), order));
                });
                outcomes
            };
            let together = outcomes(&mut whole);
            prop_assert_eq!(&together, &outcomes(&mut grouped));
            for (library, together) in alone.iter().zip(together) {
                let mut evaluator = Evaluator::new(library, Order::Cpython, limits);
                prop_assert_eq!(outcomes(&mut evaluator), [together]);
            }
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
