//! Programs of several dialects in one library.

use swathe_arc::{
    Dialect, Grid, Library, Limits, Order, Program, encode, evaluate, parse_in, primitive_in,
};

const ARC_DSL: &str = "
def cells(I):
    return asobject(I)
def fails(I):
    x1 = ofcolor(I, NINE)
    return argmax(x1, size)
def objects_of(I):
    x1 = objects(I, T, F, T)
    return order(x1, size)
def triple(I):
    return initset((1, 2, 3))
";

const BATT: &str = "
def cells(I):
    return asobject(I)
def fails(I):
    x1 = f_ofcolor(I, NINE)
    return argmax(x1, size)
def objects_of(I):
    x1 = objects(I, T, F, T)
    return order(x1, size)
def triple(I):
    return initset((1, 2, 3))
";

fn programs(dialect: Dialect, text: &str) -> Vec<Program> {
    let parsed = parse_in("mine.py", text, dialect);
    assert_eq!(parsed.errors, []);
    parsed.programs
}

fn results(programs: Vec<Program>) -> Vec<String> {
    let grid = Grid::from_rows(&[vec![1, 0, 2], vec![1, 0, 2]]).expect("a grid");
    let results = evaluate(&Library::new(programs), &grid, Order::Cpython, Limits::default());
    let shown = results.iter().map(|r| r.as_ref().map_or_else(|f| f.to_string(), encode));
    shown.collect()
}

/// Equal text means different things, and the results are those of each dialect alone.
#[test]
fn a_library_may_hold_programs_of_all_dialects() {
    let [arc_dsl, batt, re_arc] = [
        programs(Dialect::ArcDsl, ARC_DSL),
        programs(Dialect::Batt, BATT),
        programs(Dialect::ReArc, ARC_DSL),
    ];
    let alone: Vec<String> = [&arc_dsl, &batt, &re_arc]
        .into_iter()
        .flat_map(|programs| results(programs.clone()))
        .collect();
    let together = results([arc_dsl, batt, re_arc].concat());
    assert_eq!(together, alone);
    let cells = r#"{"obj":[[0,0,1],[0,1,1],[1,0,0],[1,1,0],[2,0,2],[2,1,2]]}"#;
    assert_eq!(together[0], cells);
    let triples = r#"{"cells":[[0,0,1],[0,1,0],[0,2,2],[1,0,1],[1,1,0],[1,2,2]]}"#;
    assert_eq!(together[4], triples);
    let fails: Vec<&str> = [1, 5, 9].map(|k| together[k].as_str()).to_vec();
    assert_eq!(fails, ["ValueError", r#"{"tuple":[]}"#, "null"]);
    let sets_of_triples: Vec<&str> = [3, 7].map(|k| together[k].as_str()).to_vec();
    assert_eq!(sets_of_triples, [r#"{"set":[{"tuple":[1,2,3]}]}"#, r#"{"cells":[[1,2,3]]}"#]);
}

#[test]
fn names_belong_to_dialects() {
    for (name, wanted) in [
        ("add", [true, true, true]),
        ("vmirror", [true, false, true]),
        ("vmirror_t", [false, true, false]),
        ("get_nth_f", [false, true, false]),
        ("nothing", [false; 3]),
    ] {
        let is_known = Dialect::ALL.map(|dialect| primitive_in(dialect, name).is_some());
        assert_eq!(is_known, wanted, "{name}");
    }
    for dialect in Dialect::ALL {
        assert_eq!(Dialect::named(dialect.name()), Some(dialect));
    }
}

/// Annotations, names of arguments and functions written as `lambda`.
#[test]
fn python_that_generators_and_people_write() {
    let text = "
def plain(I):
    return fill(I, THREE, asindices(I))
def named(I: Grid) -> Tuple[Tuple[int, ...]]:
    x1: Grid = fill(grid=I, patch=asindices(I), value=THREE)
    return x1
def function(I):
    x1 = compose(increment, first)
    return apply(lambda row: increment(first(row)), I)
def both(I):
    return apply(lambda row: add(first(row), last(row)), I)
def unknown(I):
    return fill(I, THREE, nowhere=I)
";
    assert_eq!(
        results(programs(Dialect::ArcDsl, text)),
        [
            r#"{"grid":[[3,3,3],[3,3,3]]}"#,
            r#"{"grid":[[3,3,3],[3,3,3]]}"#,
            r#"{"tuple":[2,2]}"#,
            r#"{"tuple":[3,3]}"#,
            "TypeError",
        ]
    );
    let errors = |text: &str| {
        let parsed = parse_in("mine.py", text, Dialect::ArcDsl);
        parsed.errors[0].to_string()
    };
    let bad = errors("def s(I):\n    x = compose(size, first)\n    return x(container=I)\n");
    assert!(bad.starts_with("mine.py:3:14: expected an argument without a name"), "{bad}");
    let bad = errors("def s(I):\n    return apply(lambda x: 5, I)\n");
    assert!(bad.starts_with("mine.py:2:25: expected a function that calls primitives"), "{bad}");
}
