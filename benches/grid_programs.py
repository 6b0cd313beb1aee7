"""Grid programs in swathe and in Python: processor time, and whether both give the same.

    python benches/grid_programs.py SWATHE PROGRAMS.py TASKS ARC_DSL RUN [N_CALLS [N_ENDED]]

SWATHE is the program, TASKS a folder of tasks, and ARC_DSL the folder with the `dsl.py` and `constants.py` that
PROGRAMS.py imports. `swathe arc` runs all programs on all samples and writes the folder RUN; if that is there already,
it is only compared. Two random samples of the calls run in Python, the same ones each time: N_CALLS (3,000) of those
that swathe finishes, and N_ENDED (60) of those that swathe ends at a limit of work or memory. Each has 10 s of
processor time and 2 GB. Every result is compared, and every difference printed.

A few calls take most of Python's time, so its time for all calls is extrapolated from the means of both samples. It is
that of the calls alone; swathe's is that of the whole command, reading and writing files included. Needs pyarrow.
"""

import json
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

SECONDS_MAX = 10
BYTES_MAX = 2 << 30
SEED = 3

COLUMNS = ["program", "task", "split", "sample", "outcome", "error_kind", "output"]
LIMITS = ["timeout", "memory"]

# A call that Python finishes in this time should not end at a limit of swathe.
SECONDS_EXPECTED = 1


def main():
    # Not above: the process that runs the calls has 2 GB of addresses in all.
    import pyarrow.compute
    import pyarrow.parquet

    swathe, programs, tasks, dsl, run = sys.argv[1:6]
    n_calls, n_ended = [int(n) for n in sys.argv[6:]] + [3000, 60][len(sys.argv) - 6 :]
    seconds = None if Path(run).exists() else run_swathe(swathe, programs, tasks, run)
    file = pyarrow.parquet.ParquetFile(Path(run) / "results.parquet")
    outcomes = file.read(columns=["outcome"])["outcome"].cast("string")
    ends = pyarrow.compute.is_in(outcomes, pyarrow.array(LIMITS)).to_numpy()
    n_all, spent = len(ends), 0
    if seconds:
        print(f"swathe: {n_all:,} calls, {seconds:.1f} s of processor time, {n_all / seconds:,.0f} calls/s")
    for kind, wanted, n_wanted in [("finished", ~ends, n_calls), ("ended at a limit", ends, n_ended)]:
        rows = wanted.nonzero()[0].tolist()
        if not rows:
            continue
        calls = rows_of(file, random.Random(SEED).sample(rows, min(n_wanted, len(rows))))
        answers = run_python(calls, programs, tasks, dsl)
        times = sorted(answer["seconds"] for answer in answers)
        spent += sum(times) / len(times) * len(rows)
        print(f"{len(rows):,} calls {kind} in swathe; {len(calls):,} of them in Python, in {sum(times):.1f} s")
        longest = sum(times[-max(1, len(times) // 100) :]) / sum(times)
        print(f"  of which the longest hundredth takes {longest:.0%}")
        compare(calls, answers)
    print(f"Python, extrapolated: {spent:,.0f} s of processor time, {n_all / spent:,.0f} calls/s")
    if seconds:
        print(f"ratio: {spent / seconds:.1f}")


def run_swathe(swathe, programs, tasks, run):
    """The processor seconds of the whole command."""
    words = [swathe, "arc", "--programs", programs, "--tasks", tasks, "--out", run, "--quiet"]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def rows_of(file, picked):
    """These rows of a table whose outputs may be larger than memory."""
    picked, calls, first = set(picked), [], 0
    for batch in file.iter_batches(batch_size=10_000, columns=COLUMNS):
        here = [k for k in range(len(batch)) if first + k in picked]
        calls += batch.take(here).to_pylist() if here else []
        first += len(batch)
    return calls


def run_python(calls, programs, tasks, dsl):
    """What Python gives for these calls, in a process of its own."""
    parts = re.split(r"^(?=def )", Path(programs).read_text(), flags=re.MULTILINE)
    texts = {part[4 : part.index("(")]: part for part in parts[1:]}
    read = {path.stem: json.loads(path.read_text()) for path in Path(tasks).glob("*.json")}
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        for call in calls:
            grid = read[call["task"]][call["split"]][call["sample"]]["input"]
            name = call["program"]
            # Other results are not in the table, and may take minutes to write.
            is_shown = call["output"] is not None
            line = {"name": name, "text": texts[name], "grid": grid, "is_shown": is_shown}
            file.write(json.dumps(line) + "\n")
        file.flush()
        words = [sys.executable, __file__, "--calls", dsl, file.name]
        lines = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    return [json.loads(line) for line in lines]


def compare(calls, answers):
    """Prints every difference, and how many calls are the same."""
    sys.set_int_max_str_digits(0)
    sys.setrecursionlimit(100_000)
    counts = Counter()
    for call, answer in zip(calls, answers, strict=True):
        verdict = judge(call, answer)
        counts[verdict] += 1
        if verdict.isupper():
            there = answer.get("error") or answer.get("out", "a result")
            here = call["error_kind"] or call["output"] or "a result"
            print(f"{verdict}: {call['program']} on {call['task']} {call['split']} {call['sample']}")
            print(f"  Python: {there:.300} ({answer['seconds']:.2f} s)\n  swathe: {here:.300}")
    for verdict, n in counts.most_common():
        print(f"{n:6,} {verdict}")


def judge(call, answer):
    """How the two results of a call compare; in capitals where they should be the same and are not."""
    is_ended = call["outcome"] in LIMITS
    if "limit" in answer:
        return "at a limit of both" if is_ended else f"over Python's limit of {answer['limit']} alone"
    if is_ended:
        is_late = answer["seconds"] > SECONDS_EXPECTED
        return "at a limit of swathe, over 1 s in Python" if is_late else "AT A LIMIT OF SWATHE ALONE"
    if "error" in answer:
        return "the same error" if call["error_kind"] == answer["error"] else "ANOTHER ERROR"
    if call["outcome"] != "ok":
        return "AN ERROR IN SWATHE ALONE"
    if call["output"] is None:
        return "results too long to be in the table, not compared"
    is_same = text_of_json(json.loads(call["output"])) == answer["out"]
    return "the same result" if is_same else "ANOTHER RESULT"


def text_of_json(value):
    """A result as swathe's tables hold it, in the form of `text_of`."""
    if not isinstance(value, dict):
        return str(value)
    (kind, items), = value.items()
    match kind:
        case "fn":
            return "f"
        case "grid":
            return text_of(tuple(map(tuple, items)))
        case "idx":
            return text_of(frozenset(map(tuple, items)))
        case "obj":
            return text_of(frozenset((c, (i, j)) for c, i, j in items))
        case "set":
            return "{" + ",".join(sorted(map(text_of_json, items))) + "}"
    return "(" + ",".join(map(text_of_json, items)) + ")"


def text_of(value):
    """A value as text, sets ascending by the texts of their elements, functions without their names."""
    if isinstance(value, tuple):
        return "(" + ",".join(map(text_of, value)) + ")"
    if isinstance(value, frozenset):
        return "{" + ",".join(sorted(map(text_of, value))) + "}"
    return "f" if callable(value) else str(value)


class TooLong(BaseException):
    """Not an Exception, so that only `run_calls` catches it."""


def too_long(*_):
    raise TooLong


def run_calls(dsl, file):
    """Runs calls and prints what each gives. The stack is as deep as swathe assumes: a module, this function, the
    program."""
    sys.path.insert(0, dsl)
    names = {}
    exec("from dsl import *\nfrom constants import *", names)
    sys.set_int_max_str_digits(0)
    signal.signal(signal.SIGPROF, too_long)
    resource.setrlimit(resource.RLIMIT_AS, (BYTES_MAX, BYTES_MAX))
    for line in open(file):
        call = json.loads(line)
        exec(call["text"], names)
        program = names.pop(call["name"])
        grid = tuple(map(tuple, call["grid"]))
        answer, value = {}, None
        # Not the clock of the process: while the timer runs, Linux updates that one only some hundred times a second.
        start = time.thread_time()
        signal.setitimer(signal.ITIMER_PROF, SECONDS_MAX)
        try:
            value = program(grid)
        except TooLong:
            answer["limit"] = "time"
        except MemoryError:
            answer["limit"] = "memory"
        except Exception as error:
            answer["error"] = type(error).__name__
        signal.setitimer(signal.ITIMER_PROF, 0)
        answer["seconds"] = time.thread_time() - start
        if len(answer) == 1 and call["is_shown"]:
            sys.setrecursionlimit(100_000)
            try:
                answer["out"] = text_of(value)
            except MemoryError:
                answer["limit"] = "memory"
            sys.setrecursionlimit(1000)
        print(json.dumps(answer), flush=True)


if sys.argv[1] == "--calls":
    run_calls(*sys.argv[2:])
elif __name__ == "__main__":
    main()
