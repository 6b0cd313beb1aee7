//! What depends on which values are one object in Python: the order of `a & b`, and the equality of functions. The
//! wanted values are those of CPython 3.11 and arc-dsl.

use swathe_arc::{Grid, Library, Limits, Order, Value, evaluate, parse};

/// The result of a program on a grid of 4 rows and 6 columns, without spaces.
fn result(body: &str) -> String {
    let lines: Vec<String> = body.lines().map(|l| format!("    {}", l.trim())).collect();
    // Another program of the library has the same statements, so that values are shared.
    let text = ["p", "q"].map(|name| format!("def {name}(I):\n{}\n", lines.join("\n")));
    let parsed = parse("test.py", &text.concat());
    assert_eq!(parsed.errors, [], "{body}");
    let rows: Vec<Vec<i8>> =
        (0..4).map(|i| (0..6).map(|j| (i * 7 + j * 3) % 5).collect()).collect();
    let grid = Grid::from_rows(&rows).expect("a grid");
    let library = Library::new(parsed.programs);
    let mut results = evaluate(&library, &grid, Order::Cpython, Limits::default());
    let shown = |result: Option<Result<Value, _>>| shown(&result.expect("a program").expect(body));
    let last = shown(results.pop());
    assert_eq!(shown(results.pop()), last, "{body}");
    last
}

fn shown(value: &Value) -> String {
    match value {
        Value::Bool(b) => b.to_string(),
        Value::Int(n) => n.to_string(),
        _ => {
            let elements = value.elements().expect("a container");
            let elements: Vec<String> = elements.iter().map(shown).collect();
            format!("({})", elements.join(","))
        }
    }
}

fn check(body: &str, wanted: &str) {
    assert_eq!(result(body), wanted, "{body}");
}

/// All places of the grid, after a copy.
const COPIED: &str = "((0,1),(2,4),(1,2),(0,4),(3,4),(2,1),(1,5),(3,1),(0,2),(0,5),(2,2),(1,0),(3,2),(2,5),(1,3),(3,5),\
(0,0),(1,1),(0,3),(2,0),(1,4),(3,0),(2,3),(3,3))";

/// All places of the grid, inserted one by one.
const INSERTED: &str = "((3,4),(3,1),(0,2),(0,5),(2,2),(1,0),(2,5),(1,3),(3,0),(3,3),(0,1),(2,4),(1,2),(0,4),(2,1),(1,5),\
(3,2),(3,5),(0,0),(1,1),(0,3),(2,0),(1,4),(2,3))";

#[test]
fn a_set_and_itself_are_copied() {
    for makes in [
        "z = intersection(x, x)",
        "y = toindices(x)\nz = intersection(y, x)",
        "y = branch(T, x, I)\nz = intersection(x, y)",
        "f = fork(intersection, identity, identity)\nz = f(x)",
        "f = lbind(intersection, x)\nz = f(x)",
        "y = first(initset(x))\nz = intersection(y, x)",
        "y = last((I, x))\nz = intersection(y, x)",
    ] {
        check(&format!("x = asindices(I)\n{makes}\nreturn totuple(z)"), COPIED);
    }
}

#[test]
fn equal_sets_are_not_one_set() {
    for makes in [
        "y = asindices(I)",
        "y = shift(x, ORIGIN)",
        "y = sfilter(x, rbind(contained, x))",
        "y = merge(initset(x))",
    ] {
        check(
            &format!("x = asindices(I)\n{makes}\nz = intersection(x, y)\nreturn totuple(z)"),
            INSERTED,
        );
    }
}

#[test]
fn sets_from_the_cache_are_not_one_set() {
    check(
        "x = connect((0, 0), (0, 5))\ny = connect((0, 5), (0, 0))\nz = intersection(x, y)\nreturn totuple(z)",
        "((0,1),(0,4),(0,0),(0,3),(0,2),(0,5))",
    );
    check(
        "x = connect((0, 0), (0, 5))\nz = intersection(x, x)\nreturn totuple(z)",
        "((0,1),(0,2),(0,4),(0,5),(0,0),(0,3))",
    );
}

#[test]
fn elements_looked_up_twice_are_one_set() {
    let lines = "s = apply(lbind(connect, (0, 0)), insert((6, 0), asindices(I)))";
    let copied = "((4,0),(5,0),(6,0),(0,0),(1,0),(2,0),(3,0))";
    check(
        &format!(
            "{lines}\nx = argmax(s, size)\ny = argmax(s, size)\nz = intersection(x, y)\nreturn totuple(z)"
        ),
        copied,
    );
    check(
        &format!(
            "{lines}\nf = compose(totuple, fork(intersection, identity, identity))\nreturn argmax(apply(f, s), size)"
        ),
        copied,
    );
    check(
        "s = apply(lbind(shift, asindices(I)), insert((6, 0), asindices(I)))\nx = first(s)\ny = first(s)
         z = intersection(x, y)\nreturn first(shift(z, invert(ulcorner(z))))",
        "(3,4)",
    );
}

#[test]
fn a_doubtful_order_is_settled_for_every_reader() {
    // Three statements read the order, the first inside of another set.
    check(
        "x = connect((0, 0), (0, 5))\ny = connect((0, 5), (0, 0))\nz = intersection(x, y)
         a = apply(totuple, initset(z))\nb = (first(z), last(z))\nc = totuple(recolor(3, z))\nreturn (a, b, c)",
        "((((0,1),(0,4),(0,0),(0,3),(0,2),(0,5))),((0,1),(0,5)),\
         ((3,(0,1)),(3,(0,3)),(3,(0,5)),(3,(0,0)),(3,(0,2)),(3,(0,4))))",
    );
}

#[test]
fn functions_made_twice_differ() {
    check(
        "f = compose(vmirror, hmirror)\ng = compose(vmirror, hmirror)\nreturn (equality(f, g), equality(f, f))",
        "(false,true)",
    );
    check(
        "f = lbind(add, ONE)\ng = lbind(add, ONE)\nreturn (contained(f, (g, g)), size(dedupe((f, g, f))))",
        "(false,2)",
    );
    check(
        "m = lbind(compose, vmirror)\nf = m(hmirror)\ng = m(hmirror)\nreturn equality(f, g)",
        "false",
    );
    check(
        "f = matcher(size, ONE)\ng = matcher(size, ONE)\nreturn (size(insert(f, initset(g))), size(insert(f, initset(f))))",
        "(2,1)",
    );
    check("return equality(power(size, ONE), size)", "true");
}

#[test]
fn truth_values_stay_what_they_are() {
    check("return (toivec(F), tojvec(T), astuple(T, F))", "((false,0),(0,true),(true,false))");
    check("return (both(T, F), either(F, ZERO))", "(false,0)");
    check("return (add(T, T), intersection(T, F), maximum((T, ZERO)))", "(2,false,true)");
    check(
        "return (totuple(initset(T)), dedupe((T, ONE)), first(insert(ONE, initset(T))))",
        "((true),(true),true)",
    );
    check("return (mostcommon((T, ONE, ZERO)), canvas(T, (ONE, TWO)))", "(true,((true,true)))");
    check(
        "return (replace(canvas(ZERO, (ONE, TWO)), ZERO, T), fill(canvas(ZERO, (ONE, TWO)), T, initset((ZERO, ONE))))",
        "(((true,true)),((0,true)))",
    );
}
