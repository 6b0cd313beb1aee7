"""The file for Slurm, run as Slurm runs it, and the lines for Dask and joblib, run as they are."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import swathe
from conftest import disc

ROOT = Path(__file__).parents[2]
SBATCH = ROOT / "examples" / "cluster" / "swathe.sbatch"


def programs(folder):
    """A folder for PATH with the command, and `srun` of Slurm."""
    made = folder / "bin"
    made.mkdir()
    for name, line in [("srun", 'exec "$@"'), ("swathe", f'exec {sys.executable} -m swathe "$@"')]:
        (made / name).write_text(f"#!/bin/bash\n{line}\n")
        (made / name).chmod(0o755)
    return f"{made}:{os.environ['PATH']}"


def write_pairs(folder, n_pairs):
    """Pairs of discs as files and as a table of them."""
    lines = ["pair_id,src,tgt"]
    for k in range(n_pairs):
        np.save(folder / f"{k}.npy", disc((30, 40), (12, 12 + k % 20), 5))
        lines.append(f"p{k},{k}.npy,{max(k - 1, 0)}.npy")
    (folder / "pairs.csv").write_text("\n".join(lines) + "\n")


def test_the_sbatch_file_makes_the_whole(tmp_path):
    subprocess.run(["bash", "-n", SBATCH], check=True)
    write_pairs(tmp_path, 6)
    n_tasks = 4
    slurm = {
        **os.environ,
        "PATH": programs(tmp_path),
        "SLURM_ARRAY_TASK_COUNT": str(n_tasks),
        "SLURM_CPUS_PER_TASK": "1",
    }
    tasks = [
        subprocess.Popen(
            ["bash", SBATCH, "pairs.csv", "RUN"],
            cwd=tmp_path,
            env={**slurm, "SLURM_ARRAY_TASK_ID": str(task)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for task in range(1, n_tasks + 1)
    ]
    for task in tasks:
        _, told = task.communicate()
        assert task.returncode == 0, told
    command = [sys.executable, "-m", "swathe", "-q"]
    for words in (["merge", "RUN"], ["ot", "pairs.csv", "--out", "WHOLE"]):
        subprocess.run([*command, *words], cwd=tmp_path, check=True, capture_output=True)
    merged, whole = swathe.open_run(tmp_path / "RUN"), swathe.open_run(tmp_path / "WHOLE")
    assert merged.info["result_hash"] == whole.info["result_hash"]
    # A shard read its own frames; together they read all.
    assert merged.info["inputs"] == whole.info["inputs"]
    shard = swathe.open_run(tmp_path / "RUN" / "shards" / "1-of-4")
    assert any(file["blake3"] == "unread" for file in shard.info["inputs"])
    assert sum(place["n_shards"] for place in merged.report["places"]) == n_tasks


def test_the_lines_for_dask_and_joblib_work(tmp_path):
    page = (ROOT / "docs" / "dask-and-joblib.md").read_text()
    blocks = [part.split("```")[0] for part in page.split("```python\n")[1:]]
    assert len(blocks) == 3
    write_pairs(tmp_path, 120)
    before = """
import numpy as np
frames = [np.load(f"{k}.npy") for k in range(120)]
pairs = [(frames[k], frames[max(k - 1, 0)]) for k in range(120)]
"""
    after = """
assert len(table) == 120
tables.append(table)
"""
    last = """
import swathe
first, second = tables
assert first.equals(second)
run = swathe.open_run("RUN")
assert run.is_complete
assert list(run.table["cost"]) == list(first["cost"])
"""
    # joblib takes functions from the file of a program.
    script = tmp_path / "script.py"
    code = before + "tables = []\n" + blocks[0] + after + blocks[1] + after + blocks[2] + last
    script.write_text(code)
    env = {**os.environ, "PATH": programs(tmp_path), "SWATHE_EPSILON": "1e-3"}
    ended = subprocess.run([sys.executable, script], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
