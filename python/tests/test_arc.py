"""Grid programs: the command and Python itself are the oracles."""

import collections
import json
import math
import pickle
import random
import subprocess
import sys
from pathlib import Path

import pytest
import swathe

SAMPLES = Path(__file__).parents[2] / "workloads/arc/solver/samples"
PROGRAMS = """
def solve_flip(I):
    O = hmirror(I)
    return O

def solve_largest(I):
    x1 = objects(I, True, False, True)
    x2 = argmax(x1, size)
    O = subgrid(x2, I)
    return O

def solve_places(I):
    O = ofcolor(I, 1)
    return O

def solve_wrong(I):
    O = first(frozenset())
    return O
"""


def task(chance, n_train=2, n_test=1):
    """A task whose outputs are its inputs upside down."""

    def grid():
        h, w = chance.randint(2, 8), chance.randint(2, 8)
        return [[chance.randint(0, 3) for _ in range(w)] for _ in range(h)]

    def sample():
        made = grid()
        return {"input": made, "output": made[::-1]}

    return {"train": [sample() for _ in range(n_train)], "test": [sample() for _ in range(n_test)]}


@pytest.fixture
def tasks():
    chance = random.Random(5)
    return {f"t{k}": task(chance, 1 + k % 3, 1 + k % 2) for k in range(8)}


def test_values_are_pythons():
    library = swathe.arc.Library.from_text(PROGRAMS)
    assert list(library) == ["solve_flip", "solve_largest", "solve_places"] and library.rejected
    grid = ((1, 0, 1), (0, 1, 1))
    assert library["solve_flip"](grid) == ((0, 1, 1), (1, 0, 1))
    assert library["solve_flip"]([[1, 2]]) == ((1, 2),)
    places = library["solve_places"](grid)
    assert isinstance(places, frozenset) and places == {(0, 0), (0, 2), (1, 1), (1, 2)}
    with pytest.raises(KeyError):
        library["solve_none"]
    with pytest.raises(ValueError, match="a grid is rows"):
        library["solve_flip"](((1, 2), (3,)))


def test_sets_iterate_as_pythons_do():
    """CPython makes the same set from the same statement; its order is what programs see."""
    chance = random.Random(9)
    for _ in range(200):
        h, w = chance.randint(1, 30), chance.randint(1, 30)
        grid = tuple(tuple(chance.randint(0, 2) for _ in range(w)) for _ in range(h))
        expected = frozenset(
            (i, j) for i, row in enumerate(grid) for j, value in enumerate(row) if value == 1
        )
        (found,) = swathe.arc.call("ofcolor", [grid], 1)
        assert found == expected and hash(found) == hash(expected)
        assert list(found) == list(expected)
        cells = frozenset((value, (i, j)) for i, row in enumerate(grid) for j, value in enumerate(row))
        (found,) = swathe.arc.call("asobject", [grid])
        assert list(found) == list(cells)


def first(container):
    return next(iter(container))


def merge(containers):
    return type(containers)(element for container in containers for element in container)


def in_order(value):
    """A value with its sets as lists, in the order in which they are iterated."""
    if not isinstance(value, (tuple, frozenset)):
        return value
    return (isinstance(value, frozenset), [in_order(element) for element in value])


# What a few primitives do to sets, in Python's own words.
ON_SETS = {
    "first": first,
    "totuple": tuple,
    "merge": merge,
    "last": lambda container: max(enumerate(container))[1],
    "remove": lambda value, container: type(container)(e for e in container if e != value),
    "insert": lambda value, container: container.union(frozenset({value})),
    "combine": lambda a, b: type(a)((*a, *b)),
    "intersection": lambda a, b: a & b,
    "difference": lambda a, b: type(a)(e for e in a if e not in b),
}


def element(chance, depth=2):
    kind = chance.random() if depth else 0
    if kind < 0.3:
        return chance.randint(-5, 40)
    if kind < 0.5:
        return frozenset(element(chance, depth - 1) for _ in range(chance.randint(0, 6)))
    if kind < 0.7:
        return (element(chance, depth - 1), element(chance, depth - 1))
    return (chance.randint(0, 9), (chance.randint(-2, 30), chance.randint(-2, 30)))


def plain_set(chance):
    """A frozenset that Python made in one of the ways that give it another hash table."""
    items = [element(chance) for _ in range(chance.choice([1, 2, 3, 4, 5, 6, 19, 20, 77]))]
    made, other = frozenset(items), frozenset(items[: len(items) // 6] + [element(chance)])
    return chance.choice(
        [made, frozenset(set(items)), made | other, made & frozenset(items[::2]), made - other]
    )


def test_plain_frozensets_are_read_as_python_holds_them():
    chance = random.Random(26)
    wrong = collections.Counter()
    for _ in range(2400):
        a, b = plain_set(chance), plain_set(chance)
        inner = frozenset(plain_set(chance) for _ in range(chance.randint(1, 4)))
        value = element(chance)
        calls = [("first", a), ("totuple", a), ("merge", inner), ("last", a), ("insert", value, a)]
        calls += [("remove", max(enumerate(a), default=(0, 0))[1], a), ("combine", a, b)]
        calls += [("difference", a, b)]
        calls += [("intersection", a, b), ("intersection", a, a)]
        for name, *arguments in calls:
            # Some sets of `made - other` are empty.
            if name in ("first", "last", "remove") and not a:
                continue
            wanted = ON_SETS[name](*arguments)
            (found,) = swathe.arc.call(name, arguments[:1], *arguments[1:])
            wrong[name] += in_order(found) != in_order(wanted)
    assert not +wrong


def test_sets_that_were_returned_keep_their_order():
    """A program computes without sets that leave it: its calls one by one give the same."""
    chance = random.Random(27)
    lines = {
        "x1": ("objects", "I", True, False, True),
        "x2": ("first", "x1"),
        "x3": ("merge", "x1"),
        "x4": ("insert", (1, (40, 40)), "x3"),
        "x5": ("difference", "x4", "x2"),
        "x6": ("toindices", "x5"),
        "x7": ("delta", "x6"),
        "x8": ("insert", (3, 7), "x7"),
        "x9": ("box", "x8"),
        "y1": ("intersection", "x9", "x9"),
        "y2": ("combine", "y1", "x6"),
        "y3": ("totuple", "y2"),
    }
    text, programs = "", []
    for name, (call, *arguments) in lines.items():
        text += f"    {name} = {call}({', '.join(map(str, arguments))})\n"
        programs.append(f"def to_{name}(I):\n{text}    return {name}\n")
    library = swathe.arc.Library.from_text("".join(programs))
    n_compared = 0
    for _ in range(150):
        h, w = chance.randint(1, 12), chance.randint(1, 12)
        grid = tuple(tuple(chance.choice([0, 0, 0, 1, 2, 3]) for _ in range(w)) for _ in range(h))
        known = {"I": grid}
        for name, (call, *arguments) in lines.items():
            arguments = [known.get(argument, argument) for argument in arguments]
            if call == "first" and not arguments[0]:
                break
            (known[name],) = swathe.arc.call(call, arguments[:1], *arguments[1:])
            wanted = library[f"to_{name}"](grid)
            assert in_order(known[name]) == in_order(wanted), (grid, name)
            known[name] = pickle.loads(pickle.dumps(known[name]))
            n_compared += 1
    assert n_compared > 1000


def test_calls_have_the_limits_of_programs():
    far = 2**70
    for error, name, *arguments in [
        (MemoryError, "interval", [0, 0], 10**9, 1),
        ((MemoryError, TimeoutError), "interval", [-far], 7, 5),
        (MemoryError, "interval", [0], far, 1),
        (MemoryError, "repeat", [1], 10**12),
        (MemoryError, "canvas", [0], (10**6, 10**6)),
        (MemoryError, "upscale", [((1, 2), (3, 4))], 10**6),
        (MemoryError, "hupscale", [((1, 2), (3, 4))], 10**10),
        (MemoryError, "product", [tuple(range(10**4))], tuple(range(10**4))),
        (OverflowError, "shoot", [(0, 0)], (far, far)),
    ]:
        with pytest.raises(error, match=f"{name} of grid 0"):
            swathe.arc.call(name, *arguments)
    # Limits are those of one grid, and the grid is named.
    assert len(swathe.arc.call("interval", [0] * 40, 10**6, 1)) == 40
    with pytest.raises(MemoryError, match="interval of grid 1 used up its memory limit"):
        swathe.arc.call("interval", [10**9, 0], 10**9, 1)
    nested = ()
    for _ in range(100_000):
        nested = (nested,)
    endless = []
    endless.append(endless)
    for value in (nested, endless):
        with pytest.raises(RecursionError, match="nested more than 1000 levels"):
            swathe.arc.call("size", [value])


def test_integers_have_any_size():
    text = "def big(I):\n    x = multiply(9223372036854775807, -9223372036854775807)\n    return (x, double(x))\n"
    wanted = -(9223372036854775807**2)
    assert swathe.arc.Library.from_text(text)["big"]([[1]]) == (wanted, 2 * wanted)
    assert swathe.arc.call("replace", [((1, 2),)], 1, 2**70) == [((2**70, 2),)]


def test_primitives_take_many_grids():
    grids = [((1, 0), (1, 1)), ((2, 2), (0, 2))]
    objects = swathe.arc.call("objects", grids, True, False, True)
    # The most common colour is the background: one cell of another colour is left in each.
    assert objects == [frozenset({frozenset({(0, (0, 1))})}), frozenset({frozenset({(0, (1, 0))})})]
    with pytest.raises(ValueError, match="there is no primitive"):
        swathe.arc.call("fly", grids)
    with pytest.raises(TypeError):
        swathe.arc.call("vmirror", grids, 1, 2)


def test_a_program_raises_what_python_would():
    library = swathe.arc.Library.from_text("def a(I):\n    x1 = ofcolor(I, 9)\n    O = first(x1)\n    return O\n")
    with pytest.raises((StopIteration, RuntimeError)):
        library["a"](((1,),))


def test_results_are_those_of_the_command(tasks, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    (tmp_path / "p.py").write_text(PROGRAMS)
    (tmp_path / "tasks.json").write_text(json.dumps(tasks))
    command = [sys.executable, "-m", "swathe", "arc", "--programs", "p.py", "--tasks", "tasks.json"]
    command += ["--out", "RUN", "--submission", "submission.json"]
    subprocess.run(command, cwd=tmp_path, capture_output=True)
    rows = parquet.read_table(tmp_path / "RUN/results.parquet").to_pylist()
    library = swathe.arc.Library.from_file(tmp_path / "p.py")
    results = library.run(tasks, threads=2)
    table = results.to_pandas()
    assert len(rows) == len(table) == 3 * sum(len(t["train"]) + len(t["test"]) for t in tasks.values())
    names = ["program", "task", "split", "sample", "outcome", "error_kind", "equal", "output"]
    key = lambda row: (row["task"], row["split"], row["sample"], row["program"])
    ours = sorted(table.to_dict("records"), key=key)
    for row, other in zip(sorted(rows, key=key), ours):
        assert [row[name] for name in names] == [other[name] or None if name == "error_kind" else other[name] for name in names]
    assert results.submission() == json.loads((tmp_path / "submission.json").read_text())
    assert set(results.solved) == set(tasks)
    assert all(programs[0] == "solve_flip" for programs in results.solved.values())


def test_own_programs_run_on_their_own_tasks(tasks):
    text = PROGRAMS.replace("solve_flip", "solve_t3")
    results = swathe.arc.Library.from_text(text).run(tasks, pairing="own")
    assert len(results) == len(tasks["t3"]["train"]) + len(tasks["t3"]["test"])
    assert results.solved == {"t3": ["solve_t3"]}
    with pytest.raises(ValueError, match="pairing"):
        swathe.arc.Library.from_text(text).run(tasks, pairing="some")


def test_unknown_keywords_are_refused(tasks):
    library = swathe.arc.Library.from_text(PROGRAMS)
    with pytest.raises(TypeError, match="no argument 'harvest'; there are pairing, progress, device"):
        library.run(tasks, harvest=True, vote=True, anything=1)
    with pytest.raises(TypeError, match="did you mean 'threads'?"):
        library.run(tasks, thread=2)


def test_a_library_without_programs_is_refused(tmp_path):
    (tmp_path / "bad.py").write_text("def solve_a(I):\n    O = vmirrr(I)\n    return O\n")
    with pytest.raises(ValueError, match=r"no program of .*bad.py can be used: .*bad.py:2:.*vmirrr"):
        swathe.arc.Library.from_file(tmp_path / "bad.py")
    with pytest.raises(ValueError, match="<text> has no programs"):
        swathe.arc.Library.from_text("# nothing\n")


def test_fitting_demonstrations_is_not_solving(tasks, capsys):
    names = sorted(tasks)
    tests = tasks[names[0]]["test"]
    tests[-1]["output"] = [[9]]
    library = swathe.arc.Library.from_text(PROGRAMS)
    library.run(tasks).print_stats()
    assert "7 of 8 tasks solved, 8 fit their demonstrations\n" in capsys.readouterr().out
    for one in tasks.values():
        for sample in one["test"]:
            sample.pop("output")
    library.run(tasks).print_stats()
    assert capsys.readouterr().out.startswith("8 of 8 tasks fit their demonstrations\n")


def test_bad_tasks_are_named(tasks):
    bad = {**tasks, "ragged": {"train": [], "test": [{"input": [[1], [2, 3]]}]}}
    results = swathe.arc.Library.from_text(PROGRAMS).run(bad)
    assert [name for name, _ in results.rejected_tasks] == ["ragged"]
    assert "row 1 has 2 cells" in results.rejected_tasks[0][1]


@pytest.mark.skipif(not SAMPLES.exists(), reason="the samples are in the repository")
def test_the_samples_solve_their_tasks():
    library = swathe.arc.Library.from_file(SAMPLES / "programs.py")
    assert len(library) > 50 and not library.rejected


BATT = Path(__file__).parents[2] / "workloads/arc/solver/tests/batt"


def decoded(value):
    """A value of the recorded rows as Python's."""
    if not isinstance(value, dict):
        return value
    ((kind, items),) = value.items()
    if kind == "float":
        return math.nan if items == "nan" else float(items)
    if kind == "grid":
        return tuple(tuple(row) for row in items)
    if kind in ("cells", "idx"):
        return frozenset(tuple(item) for item in items)
    made = {"tuple": tuple, "set": frozenset}[kind]
    return made(decoded(item) for item in items)


@pytest.mark.skipif(not BATT.exists(), reason="the recorded rows are in the repository")
def test_batt_returns_what_the_python_source_returned():
    lines = [json.loads(line) for line in (BATT / "expected.jsonl").read_text().splitlines()]
    # The broken file is no Python, and the file without constants has no row that can be used.
    lines = [line for line in lines if line["file"] not in ("broken", "no_constants")]
    n_values = n_failed = 0
    for file in sorted({line["file"] for line in lines}):
        batt = swathe.arc.Batt.from_file(BATT / f"{file}.py")
        of_file = [line for line in lines if line["file"] == file]
        calls = []
        for line in of_file:
            task = json.loads((SAMPLES / f"tasks/{line['task']}.json").read_text())
            S = tuple((pair["input"], pair["output"]) for pair in task["train"])
            sample = task["train"][line["sample"]]
            C = sample["output"] if line["pass"] == "differ" else None
            calls.append((line["task"], S, sample["input"], C))
        found = batt.batch(*zip(*calls), threads=2, on_error="return")
        assert found == batt.batch(*zip(*calls), threads=1, on_error="return")
        for line, returned in zip(of_file, found):
            if "error" in line:
                n_failed += 1
                assert returned is None, line["file"]
                continue
            o, s = returned
            for rows, wanted in ((o, line["o"]), (s, line["s"])):
                assert [list(row[:3]) for row in rows] == [row[:3] for row in wanted]
                for row, (*_, k, _) in zip(rows, wanted):
                    if k >= 0:
                        n_values += 1
                        value = decoded(line["vals"][k])
                        assert row[3] == value or row[3] is value, (file, row)
                        assert type(row[3]) is type(value) or isinstance(row[3], frozenset)
    assert n_values > 900 and n_failed > 0


def test_batt_has_functions_and_tells_what_is_wrong():
    head = "def batt(task_id, S, I, C, log_path):\n    s = []\n    o = []\n"
    text = head + "    t1 = rbind(o_g, R5)\n    o.append((1, True, 'None', t1))\n    return o, s\n"
    batt = swathe.arc.Batt.from_text(text)
    S = ((((1,),), ((2,),)),)
    (((number, flag, task, value),), ratings), = batt.batch(["a"], [S], [((1,),)], [None])
    assert (number, flag, task, ratings) == (1, True, "None", [])
    assert isinstance(value, swathe.arc.Function) and "rbind" in value
    assert batt.batch([], [], [], []) == []
    with pytest.raises(ValueError, match="different lengths"):
        batt.batch(["a"], [S], [], [None])
    with pytest.raises(ValueError, match="a grid is rows"):
        batt.batch(["a"], [S], [((1,), (2, 3))], [None])
    with pytest.raises(ValueError, match="on_error is 'skip'"):
        batt.batch(["a"], [S], [((1,),)], [None], on_error="skip")
    with pytest.raises(ValueError, match="no function batt"):
        swathe.arc.Batt.from_text("def solve_a(I):\n    return vmirror(I)\n")
    with pytest.raises(ValueError, match="unknown function"):
        swathe.arc.Batt.from_text(text.replace("rbind", "bind"))


def test_batt_says_why_a_sample_has_no_lists():
    text = """
def batt(task_id, S, I, C, log_path):
    s = []
    o = []
    t1 = mir_rot_t(I, R2)
    o.append((1, False, 'fine', t1))
    t2 = astuple(I, I)
    t3 = t2(I)
    s.append((3, 'fine', 'differ_calls', t3))
    return o, s
"""
    wrong = swathe.arc.Batt.from_text(text)
    assert wrong.rejected == []
    right = swathe.arc.Batt.from_text(text.replace("t2(I)", "identity(t2)"))
    S = ((((1,),), ((2,),)),)
    arguments = (["a", "b"], [S, S], [((1, 2),), ((3,),)], [None, None])
    (o, s), _ = right.batch(*arguments)
    assert o == [(1, False, "fine", ((2, 1),))] and len(s) == 1
    reason = r"sample 0: the function raised TypeError \(1 more failed\)"
    with pytest.warns(RuntimeWarning, match=f"samples without rows: {reason}"):
        assert wrong.batch(*arguments) == [([], []), ([], [])]
    with pytest.raises(swathe.SolveError, match=reason) as raised:
        wrong.batch(*arguments, on_error="raise")
    failures = raised.value.failures
    assert [(failure.index, failure.kind) for failure in failures] == [(0, "TypeError"), (1, "TypeError")]
    assert wrong.batch(*arguments, on_error="return") == [None, None]
    slow = "    t2 = power(increment, 300)\n    t4 = power(t2, 300)\n    t5 = power(t4, 300)\n    t3 = t5(0)\n"
    for lines, kind, message in [
        (slow, "timeout", "the function used up its work limit"),
        ("    t3 = interval(0, 1000000000000, 1)\n", "memory", "the function used up its memory limit"),
    ]:
        limited = text.replace("    t2 = astuple(I, I)\n    t3 = t2(I)\n", lines)
        with pytest.raises(swathe.SolveError) as raised:
            swathe.arc.Batt.from_text(limited).batch(*arguments, on_error="raise")
        failure = raised.value.failures[1]
        assert (failure.index, failure.kind) == (1, kind) and failure.message == message
