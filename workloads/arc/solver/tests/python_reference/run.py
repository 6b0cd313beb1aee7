"""Runs programs on grids with a Python implementation of the DSL and prints what each call gives.

    python run.py FOLDER CALLS N_MOVED

N_MOVED functions are made first, so that the functions of the DSL have other addresses. FOLDER holds `dsl.py`, and `constants.py` if the dialect has one. CALLS has one JSON object in each line: `text`, a
function `p(I)` that returns a tuple, and `grid`. One JSON object is printed for each: `out`, or `error`, with
`seconds`; or `skip` for a call that takes too long, and for one whose result depends on addresses.
"""

import ctypes
import json
import os
import resource
import signal
import sys
import time

SECONDS_MAX = 5
BYTES_MAX = 2 << 30
TEXT_MAX = 1 << 20
HASH_OF_NONE = 0xFCA86420


class TooLong(BaseException):
    """Not an Exception, which some dialects catch everywhere."""


def too_long(*_):
    raise TooLong


def namespace(folder):
    sys.path.insert(0, folder)
    os.environ["EXPECT_GPU"] = "0"
    names = {}
    exec("from dsl import *", names)
    if os.path.exists(os.path.join(folder, "constants.py")):
        exec("from constants import *", names)
    return names


def hash_of_none(_):
    return HASH_OF_NONE


def fix_hash_of_none():
    """Gives None the hash that it has from CPython 3.12 on. Before, it is an address."""
    if hash(None) == HASH_OF_NONE:
        return None
    function = ctypes.PYFUNCTYPE(ctypes.c_ssize_t, ctypes.c_void_p)(hash_of_none)
    # tp_hash is the 16th word of a type.
    slot = ctypes.c_void_p.from_address(id(type(None)) + 15 * ctypes.sizeof(ctypes.c_void_p))
    slot.value = ctypes.cast(function, ctypes.c_void_p).value
    assert hash(None) == HASH_OF_NONE
    return function


def is_fixed(value):
    """Whether the hash of a value is the same in every process."""
    if isinstance(value, (tuple, frozenset)):
        return all(map(is_fixed, value))
    return value is None or isinstance(value, int) or isinstance(value, float) and value == value


def is_ordered(value):
    """Whether the order of all sets in a value is the same in every process."""
    if isinstance(value, frozenset) and len(value) > 1 and not is_fixed(value):
        return False
    return not isinstance(value, (tuple, frozenset)) or all(map(is_ordered, value))


def write(value, out):
    """A value as text, sets in the order of iteration."""
    if isinstance(value, (tuple, frozenset)):
        ends = "()" if isinstance(value, tuple) else "{}"
        out.append(ends[0])
        for element in value:
            write(element, out)
            out.append(",")
        out.append(ends[1])
    elif isinstance(value, float):
        out.append("~" + (str(int(value)) if value - value == 0 else str(value)))
    elif value is None or isinstance(value, int):
        out.append(str(value))
    else:
        out.append("f")


def main():
    moved = [eval("lambda: 0") for _ in range(int(sys.argv[3]))]
    names = namespace(sys.argv[1])
    keep_alive = fix_hash_of_none()
    if hasattr(sys, "set_int_max_str_digits"):
        sys.set_int_max_str_digits(0)
    signal.signal(signal.SIGALRM, too_long)
    resource.setrlimit(resource.RLIMIT_AS, (BYTES_MAX, BYTES_MAX))
    for line in open(sys.argv[2]):
        call = json.loads(line)
        grid = tuple(map(tuple, call["grid"]))
        exec(call["text"], names)
        p = names["p"]
        answer = {}
        start = time.process_time()
        signal.setitimer(signal.ITIMER_REAL, SECONDS_MAX)
        try:
            value = p(grid)
            answer["seconds"] = time.process_time() - start
            if is_ordered(value):
                text = []
                write(value, text)
                text = "".join(text)
                answer["out"] = text if len(text) <= TEXT_MAX else str(len(text))
            else:
                answer["skip"] = "addresses"
        except TooLong:
            answer["skip"] = "time"
        except MemoryError:
            answer["skip"] = "memory"
        except Exception as error:
            answer["seconds"] = time.process_time() - start
            answer["error"] = type(error).__name__
        signal.setitimer(signal.ITIMER_REAL, 0)
        print(json.dumps(answer), flush=True)


main()
