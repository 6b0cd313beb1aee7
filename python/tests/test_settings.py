"""Settings as keyword arguments: numbers, and the texts of the command line."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
import swathe
from conftest import disc

PAIR = (disc((30, 40), (12, 12), 5), disc((30, 40), (13, 15), 5))

NUMBERS = {
    "memory": 2 << 30,
    "memory_margin": 0.5,
    "time_limit": 300,
    "batch_size": 2,
    "batch_size_max": np.int64(64),
    "threads": 2,
    "verify": 1,
    "seed": 2**64 - 1,
    "epsilon": np.float32(0.0009765625),
    "relaxation": (np.inf, 10),
    "tolerance": 1e-6,
    "max_iterations": 500,
    "normalize": np.True_,
    "coord_scale": 0.025,
    "crop": "bucketed",
    "buckets": [(24, 32), (30, 40)],
}
TEXTS = {
    "memory": "2gib",
    "memory_margin": "0.5",
    "time_limit": "5m",
    "batch_size": "2",
    "batch_size_max": "64",
    "threads": "2",
    "verify": "1",
    "seed": str(2**64 - 1),
    "epsilon": "9.765625e-4",
    "relaxation": "inf,10",
    "tolerance": "1e-6",
    "max_iterations": "500",
    "normalize": "true",
    "coord_scale": "0.025",
    "crop": "bucketed",
    "buckets": "24x32,30x40",
}


def test_numbers_and_the_texts_of_the_command_mean_the_same():
    by_number = swathe.ot.solve_batch([PAIR, PAIR], **NUMBERS)
    by_text = swathe.ot.solve_batch([PAIR, PAIR], **TEXTS)
    assert by_number.rows() == by_text.rows()
    budgets = [batch.report["memory"]["budget_bytes"] for batch in (by_number, by_text)]
    assert budgets == [1 << 30, 1 << 30]
    assert by_number[0].geometry.work in [(24, 32), (30, 40)]


def test_what_is_none_is_the_default():
    nothing = {**{name: None for name in NUMBERS}, "buckets": ()}
    assert swathe.ot.solve_batch([PAIR, PAIR], **nothing).rows() == swathe.ot.solve_batch([PAIR, PAIR]).rows()


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("memory", "5", "memory is '5', which is not a memory size; write the unit too: 5MiB or 5GB"),
        ("memory_margin", 1, "memory_margin is '1', which is not a share of the memory"),
        ("time_limit", "soon", "time_limit is 'soon', which is not a time"),
        ("batch_size", 0, "batch_size is '0', which is not a batch size"),
        ("batch_size_max", 0, "batch_size_max is '0', which is not a batch size"),
        ("threads", -1, "threads is '-1', which is not a whole number in range"),
        ("max_iterations", 2.5, "max_iterations is '2.5', which is not a whole number in range"),
        ("relaxation", (1, "much"), "relaxation is '1,much', which is not a price, or two"),
        ("normalize", "perhaps", "normalize is 'perhaps', which is not true or false"),
        ("precision", "f16", "precision is 'f16', which is not a precision; write auto, f32 or f64"),
    ],
)
def test_a_wrong_value_is_told_with_the_keyword(name, value, text):
    for mode in ("batch", "sequential"):
        with pytest.raises(ValueError) as told:
            swathe.ot.solve_batch([PAIR, PAIR], mode=mode, **{name: value})
        assert str(told.value).startswith(text)


@pytest.mark.parametrize("wrong", ["memry", "epsilom", "tolerence", "batchsize"])
def test_a_typo_is_told_with_the_name_that_was_meant(wrong):
    with pytest.raises(TypeError, match=f"no argument '{wrong}'; did you mean"):
        swathe.ot.solve(*PAIR, **{wrong: 1})


@pytest.mark.parametrize("name", ["label", "group_by", "fields_path", "no_normalize", "coupling"])
def test_settings_of_files_are_no_keywords(name):
    with pytest.raises(TypeError, match=f"no argument '{name}'"):
        swathe.ot.solve(*PAIR, **{name: 1})


AUTO = """
import json, sys
import numpy as np
import swathe
frames = [np.roll(np.pad(np.ones((6, 6)), 10), step, axis=1) for step in range(5)]
for step, frame in enumerate(frames):
    np.save(f"frame{step}.npy", frame)
pairs = list(zip(frames, frames[1:]))
with open("pairs.csv", "w") as table:
    table.write("pair_id,src,tgt\\n")
    for step in range(4):
        table.write(f"{step},frame{step}.npy,frame{step + 1}.npy\\n")
call = swathe.ot.solve_batch(pairs, epsilon=1e-3)
again = swathe.ot.solve_batch(pairs, epsilon=1e-3)
folder = swathe.ot.solve_batch(pairs, epsilon=1e-3, out="CALL")
on_cpu = swathe.ot.solve_batch(pairs, epsilon=1e-3, device="cpu")
kinds = lambda report: [device["kind"] for device in report["devices"]]
print(json.dumps({
    "call": kinds(call.report),
    "cpu": kinds(on_cpu.report),
    "same": call.rows() == again.rows(),
    "usable": sum(row["device"] is not None for row in swathe.devices()) - 1,
}))
"""


def test_auto_takes_the_devices_that_the_command_takes(tmp_path):
    environment = {**os.environ, "SWATHE_SOFTWARE_GPU": "1", "XDG_CACHE_HOME": str(tmp_path / "cache")}
    run = lambda *words: subprocess.run(
        [sys.executable, *words], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    told = run("-c", AUTO)
    assert told.returncode == 0, told.stderr
    told = json.loads(told.stdout)
    if not told["usable"]:
        pytest.skip("no device for kernels")
    command = run("-m", "swathe", "ot", "pairs.csv", "--epsilon", "1e-3", "--out", "COMMAND")
    assert command.returncode == 0, command.stderr
    read = lambda path: json.loads((tmp_path / path).read_text())
    kinds = [device["kind"] for device in read("COMMAND/report.json")["report"]["devices"]]
    assert told["call"] == kinds and "gpu" in kinds
    assert told["cpu"] == ["cpu"]
    assert told["same"]
    placements = [read(f"{run}/run.json")["settings"]["placement"] for run in ("CALL", "COMMAND")]
    assert placements[0] == placements[1]
