//! Calls that exceed a limit fail alone: too much work, too much memory, too deep.

use swathe_arc::{Fault, Grid, Library, Limits, Order, encode, evaluate, parse};

/// The outcome of the last of these programs on a small grid; all are in one library.
fn outcome(text: &str) -> Result<String, Fault> {
    let parsed = parse("test.py", text);
    assert_eq!(
        parsed.errors,
        [],
        "{}",
        parsed.errors.first().map(ToString::to_string).unwrap_or_default()
    );
    let library = Library::new(parsed.programs);
    let grid = Grid::from_rows(&[vec![1, 2, 3], vec![4, 5, 6]]).expect("a grid");
    let results = evaluate(&library, &grid, Order::Cpython, Limits::default());
    results.last().expect("a program").as_ref().map(encode).map_err(|f| *f)
}

fn check(body: &str, wanted: Result<&str, Fault>) {
    let lines: Vec<String> = body.lines().map(|l| format!("    {}", l.trim())).collect();
    let text = format!("def p(I):\n{}\n", lines.join("\n"));
    assert_eq!(outcome(&text), wanted.map(String::from), "{body}");
}

#[test]
fn a_billion_elements() {
    check("return canvas(ZERO, (100000, 10000))", Err(Fault::Memory));
    check("return repeat(I, 1000000000)", Err(Fault::Memory));
    check("return interval(0, 1000000000000, 1)", Err(Fault::Memory));
    check("return upscale(I, 30000)", Err(Fault::Memory));
    check("return connect((0, 0), (0, 1000000000))", Err(Fault::Memory));
    check("return backdrop(insert((0, 0), initset((1000000, 1000000))))", Err(Fault::Memory));
    check("x = interval(0, 40000, 1)\nreturn product(x, x)", Err(Fault::Memory));
    check("return multiply((I, I), 1000000000)", Err(Fault::Memory));
}

#[test]
fn endless_work() {
    // 300 × 300 × 300 calls, none of them deep or large.
    let body = "f = power(increment, 300)\ng = power(f, 300)\nh = power(g, 300)\nreturn h(0)";
    check(body, Err(Fault::Timeout));
    check(
        "x = interval(0, 3000, 1)\ny = lbind(apply, rbind(add, ONE))\nreturn apply(y, repeat(x, 3000))",
        Err(Fault::Timeout),
    );
}

#[test]
fn work_is_charged_as_python_takes_time() {
    // Two thousandths of a second in Python, which looks elements up by their hashes.
    check(
        "x = product(interval(0, 12000, 1), initset(7))\ny = product(interval(6000, 18000, 1), initset(7))
         return (size(intersection(x, y)), size(difference(x, y)))",
        Ok(r#"{"tuple":[6000,6000]}"#),
    );
    // Python repeats the same rows.
    check("return height(upscale(I, 4500))", Ok("9000"));
    // Python hashes the grid again for each of 5,400 cells, 20 seconds long.
    check("return recolor(upscale(I, 500), asindices(upscale(I, 30)))", Err(Fault::Timeout));
}

#[test]
fn the_sum_over_a_program_counts() {
    // Each statement is within the limit; together they are not.
    let one = "x{k} = apply(power(increment, 8), interval({k}, 100000, 1))\n";
    let some: String = (0..3).map(|k| one.replace("{k}", &k.to_string())).collect();
    check(&format!("{some}return size(x0)"), Ok("100000"));
    let many: String = (0..8).map(|k| one.replace("{k}", &k.to_string())).collect();
    check(&format!("{many}return size(x0)"), Err(Fault::Timeout));
}

#[test]
fn memory_is_summed_whichever_program_comes_first() {
    // A canvas of 50 or 60 thousand cells takes as many bytes; a call may take 100 thousand.
    let limits = Limits { bytes_max: 100_000, ..Limits::default() };
    let first = "    x1 = canvas(1, (50, 1000))\n";
    let second = "    x2 = canvas(2, (60, 1000))\n";
    let fails = "    x3 = first(canvas(3, (60, 1000)), 1)\n";
    let programs = [
        (format!("{first}{second}    return x2"), Err(Fault::Memory)),
        (format!("{second}    return size(x2)"), Ok("60")),
        (format!("{first}{fails}    return x3"), Err(Fault::Memory)),
        (format!("{fails}    return x3"), Err(Fault::TypeError)),
    ];
    let grid = Grid::from_rows(&[vec![0]]).expect("a grid");
    for order in [[0, 1, 2, 3], [1, 0, 3, 2], [0, 2, 1, 3]] {
        let program = |&k: &usize| format!("def p{k}(I):\n{}\n", programs[k].0);
        let text: String = order.iter().map(program).collect();
        let parsed = parse("mine.py", &text);
        assert!(parsed.errors.is_empty(), "{}", parsed.errors[0]);
        let library = Library::new(parsed.programs);
        let results = evaluate(&library, &grid, Order::Cpython, limits);
        for (k, result) in order.into_iter().zip(results) {
            let wanted = programs[k].1.map(str::to_owned);
            assert_eq!(result.map(|value| encode(&value)), wanted, "{k}");
        }
    }
}

#[test]
fn recursion() {
    check("return power(identity, ZERO)", Err(Fault::RecursionError));
    check("f = power(identity, 2000)\nreturn f(I)", Err(Fault::RecursionError));
    check("f = power(increment, 900)\nreturn f(0)", Ok("900"));
    check("f = power(power(increment, 600), 600)\nreturn f(0)", Err(Fault::RecursionError));
    // Sets inside sets, deeper than can be handled.
    check("f = power(power(initset, 100), 100)\nreturn f(0)", Err(Fault::RecursionError));
    // A long chain of shifts must not be a long chain of recipes.
    check(
        "s = asindices(I)\nf = power(power(rbind(shift, (1, -1)), 30), 30)\nt = f(s)\nreturn ulcorner(t)",
        Ok(r#"{"tuple":[900,-900]}"#),
    );
}

#[test]
fn frames_are_counted_as_in_cpython() {
    // How often a function can be composed with itself, by CPython 3.11 with its limit of 1000 frames, of which the
    // module, the function that drives the programs and the program are three.
    for (body, n_max) in [
        ("f = power(increment, N)\nreturn ONE", 997),
        ("f = power(increment, N)\nreturn f(0)", 997),
        ("f = power(increment, N)\nreturn apply(f, (1, 2, 3))", 995),
        ("f = power(increment, N)\nreturn apply(f, initset(2))", 995),
        ("f = power(increment, N)\nreturn sfilter((1, 2, 3), f)", 995),
        ("f = power(identity, N)\nreturn mapply(f, ((1, 2), (3, 4)))", 994),
        ("f = power(identity, N)\nreturn mfilter(((1, 2), (3, 4)), f)", 994),
        ("f = power(increment, N)\nreturn order((1, 2, 3), f)", 995),
        ("f = power(increment, N)\nreturn argmax((1, 2, 3), f)", 995),
        ("f = power(increment, N)\nreturn valmax((1, 2, 3), f)", 995),
        ("f = power(increment, N)\nreturn extract((1, 2, 3), f)", 995),
        ("f = power(increment, N)\nreturn rapply((f, f), 3)", 995),
        ("f = power(increment, N)\ng = compose(f, f)\nreturn g(0)", 996),
        ("f = power(increment, N)\ng = chain(identity, f, identity)\nreturn g(0)", 996),
        ("f = power(increment, N)\ng = fork(add, f, identity)\nreturn g(0)", 996),
        ("f = power(increment, N)\ng = matcher(f, 5)\nreturn g(0)", 996),
        ("f = power(rbind(add, ONE), N)\nreturn f(0)", 996),
        ("f = power(rbind(shift, UNITY), N)\nreturn size(f(asindices(I)))", 995),
        ("f = power(normalize, N)\nreturn size(f(asindices(I)))", 994),
        ("f = power(vmirror, N)\nreturn f(I)", 996),
        ("f = power(hmirror, N)\nreturn f(I)", 997),
        ("f = power(rot90, N)\nreturn f(I)", 996),
    ] {
        let at = |n: i32| {
            let body = body.replace("N)", &format!("{n})"));
            let text = format!("def p(I):\n    {}\n", body.replace('\n', "\n    "));
            outcome(&text)
        };
        assert!(at(n_max).is_ok(), "{body}: {n_max} gives {:?}", at(n_max));
        assert_eq!(at(n_max + 1), Err(Fault::RecursionError), "{body}: {n_max}");
    }
}

#[test]
fn frames_depend_on_the_first_argument() {
    // How deep a function can be nested in `identity` before CPython 3.11 raises a RecursionError, less 490: on an empty
    // set, on a number, and on an object.
    for (function, n_max) in [
        ("center", [503, 504, 502]),
        ("backdrop", [506, 506, 503]),
        ("numcolors", [504, 505, 504]),
        ("cmirror", [503, 503, 502]),
        ("dmirror", [504, 504, 503]),
        ("palette", [505, 506, 505]),
    ] {
        for (argument, n_max) in ["ofcolor(I, NINE)", "ONE", "asobject(I)"].into_iter().zip(n_max) {
            let at = |n: i32| {
                let inner = format!(
                    "f = lbind(compose, identity)\n    a = power(f, 490)\n    b = a({function})"
                );
                let outer = format!("c = power(f, {n})\n    d = c(b)\n    return d({argument})");
                outcome(&format!("def p(I):\n    {inner}\n    {outer}\n"))
            };
            let call = format!("{function}({argument}): {n_max}");
            assert_ne!(at(n_max), Err(Fault::RecursionError), "{call}");
            assert_eq!(at(n_max + 1), Err(Fault::RecursionError), "{call}");
        }
    }
}

#[test]
fn integers_beyond_64_bits() {
    check("f = power(double, 62)\nreturn f(1)", Ok("4611686018427387904"));
    check("f = power(double, 63)\nreturn f(1)", Ok("9223372036854775808"));
    check("return invert(-9223372036854775808)", Ok("9223372036854775808"));
    check("return add(9223372036854775807, 1)", Ok("9223372036854775808"));
    check("return divide(-9223372036854775808, -1)", Ok("9223372036854775808"));
    let big = "b = multiply(9223372036854775807, 9223372036854775807)\n";
    for (call, wanted) in [
        ("b", "85070591730234615847396907784232501249"),
        ("subtract(b, b)", "0"),
        ("halve(invert(b))", "-42535295865117307923698453892116250625"),
        ("divide(b, invert(9223372036854775806))", "-9223372036854775809"),
        ("divide(invert(b), b)", "-1"),
        ("divide(ONE, b)", "0"),
        ("even(b)", "false"),
        ("even(increment(b))", "true"),
        ("sign((b, invert(b)))", r#"{"tuple":[1,-1]}"#),
        ("crement(invert(b))", "-85070591730234615847396907784232501250"),
        ("decrement(b)", "85070591730234615847396907784232501248"),
        ("positive(b)", "true"),
        ("flip(b)", "false"),
        ("greater(b, ONE)", "true"),
        ("greater(invert(b), b)", "false"),
        ("equality(b, multiply(9223372036854775807, 9223372036854775807))", "true"),
        ("equality(b, ONE)", "false"),
        ("maximum((ONE, b, TWO))", "85070591730234615847396907784232501249"),
        (
            "order((b, ONE, invert(b)), identity)",
            r#"{"tuple":[-85070591730234615847396907784232501249,1,85070591730234615847396907784232501249]}"#,
        ),
        ("intersection(b, invert(255))", "85070591730234615847396907784232501249"),
        ("intersection(invert(b), 255)", "255"),
        (
            "totuple(insert(b, insert(invert(b), initset(7))))",
            r#"{"tuple":[85070591730234615847396907784232501249,-85070591730234615847396907784232501249,7]}"#,
        ),
        (
            "interval(b, add(b, THREE), TWO)",
            r#"{"tuple":[85070591730234615847396907784232501249,85070591730234615847396907784232501251]}"#,
        ),
        ("interval(b, ONE, ONE)", r#"{"tuple":[]}"#),
        ("interval(T, b, b)", r#"{"tuple":[1]}"#),
        ("interval(T, F, invert(b))", r#"{"tuple":[1]}"#),
        ("repeat(ONE, invert(b))", r#"{"tuple":[]}"#),
        ("crop(I, ORIGIN, (b, b))", r#"{"grid":[[1,2,3],[4,5,6]]}"#),
        ("index(I, (b, ZERO))", "null"),
        ("downscale(I, b)", r#"{"grid":[[1]]}"#),
        (
            "fill(I, b, initset(ORIGIN))",
            r#"{"tuple":[{"tuple":[85070591730234615847396907784232501249,2,3]},{"tuple":[4,5,6]}]}"#,
        ),
        (
            "add(b, (ONE, TWO))",
            r#"{"tuple":[85070591730234615847396907784232501250,85070591730234615847396907784232501251]}"#,
        ),
        (
            "apply(rbind(multiply, b), (ONE, TWO, THREE, FOUR))",
            r#"{"tuple":[85070591730234615847396907784232501249,170141183460469231694793815568465002498,255211775190703847542190723352697503747,340282366920938463389587631136930004996]}"#,
        ),
        (
            "manhattan(initset((b, ZERO)), initset((ONE, ZERO)))",
            "85070591730234615847396907784232501248",
        ),
        ("uppermost(shift(asindices(I), (b, ZERO)))", "85070591730234615847396907784232501249"),
    ] {
        check(&format!("{big}return {call}"), Ok(wanted));
    }
    for (call, wanted) in [
        ("repeat(ONE, b)", Fault::Memory),
        ("canvas(ZERO, (b, ONE))", Fault::Memory),
        ("interval(ZERO, b, ONE)", Fault::Memory),
        ("interval(b, ONE, ZERO)", Fault::ValueError),
        ("interval(I, I, b)", Fault::TypeError),
        ("add(b, ONE, ONE)", Fault::TypeError),
        ("multiply(((), ()), b)", Fault::OverflowError),
        ("divide(b, ZERO)", Fault::ZeroDivisionError),
        ("greater(b, I)", Fault::TypeError),
        ("power(identity, b)", Fault::RecursionError),
        // Each squaring doubles the length.
        ("power(fork(multiply, identity, identity), 60)", Fault::Memory),
    ] {
        let call = if call.ends_with("60)") {
            format!("f = {call}\nreturn f(b)")
        } else {
            format!("return {call}")
        };
        check(&format!("{big}{call}"), Err(wanted));
    }
}

#[test]
fn integers_beyond_64_bits_are_written_in_programs() {
    let ten_to_20 = "100_000_000_000_000_000_000";
    for (call, wanted) in [
        (ten_to_20, "100000000000000000000"),
        ("-9223372036854775809", "-9223372036854775809"),
        (
            "add(A, (-9223372036854775809, ONE))",
            r#"{"tuple":[90776627963145224191,100000000000000000001]}"#,
        ),
        ("subtract(A, 99_999_999_999_999_999_999)", "1"),
        ("equality(A, multiply(10000000000, 10000000000))", "true"),
        ("size(insert(A, initset(A)))", "1"),
        (
            "apply(rbind(add, A), (ONE, TWO))",
            r#"{"tuple":[100000000000000000001,100000000000000000002]}"#,
        ),
    ] {
        let call = call.replace('A', ten_to_20);
        check(&format!("return {call}"), Ok(wanted));
    }
    check("return canvas(ZERO, (9223372036854775808, ONE))", Err(Fault::Memory));
    check("f = 9223372036854775808\nreturn f(I)", Err(Fault::TypeError));
}

#[test]
fn the_first_failure_in_program_order_decides() {
    // The dead statement fails first, though the other failure is in a node that an earlier program made.
    let text = "
def a(I):
    x = first(ofcolor(I, 9))
    return x
def b(I):
    dead = divide(1, ZERO)
    x = first(ofcolor(I, 9))
    return x
";
    assert_eq!(outcome(text), Err(Fault::ZeroDivisionError));
}

#[test]
fn forms_that_do_not_pack() {
    check(
        "return vconcat(I, hconcat(I, I))",
        Ok(
            r#"{"tuple":[{"tuple":[1,2,3]},{"tuple":[4,5,6]},{"tuple":[1,2,3,1,2,3]},{"tuple":[4,5,6,4,5,6]}]}"#,
        ),
    );
    check(
        "return vmirror(vconcat(tophalf(I), lefthalf(I)))",
        Ok(r#"{"tuple":[{"tuple":[3,2,1]},{"tuple":[1]},{"tuple":[4]}]}"#),
    );
    check(
        "return replace(I, ONE, None)",
        Ok(r#"{"tuple":[{"tuple":[null,2,3]},{"tuple":[4,5,6]}]}"#),
    );
    check("return fill(I, 1000, initset((0, 1)))", Ok(r#"{"grid":[[1,1000,3],[4,5,6]]}"#));
    check("return mostcolor(canvas(None, (2, 2)))", Ok("null"));
    check("return size(objects(replace(I, ONE, None), T, F, F))", Ok("5"));
    check("return shift(initset((3, (0, 1))), (5000, 70000))", Ok(r#"{"obj":[[3,5000,70001]]}"#));
    check(
        "return box(shift(asindices(I), (3000, 0)))",
        Ok(r#"{"idx":[[3000,0],[3000,1],[3000,2],[3001,0],[3001,1],[3001,2]]}"#),
    );
    check("return intersection(I, I)", Err(Fault::TypeError));
    check("return insert(ONE, I)", Err(Fault::AttributeError));
}
