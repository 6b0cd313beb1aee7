"""The file for Slurm, run as Slurm runs it."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import swathe
from conftest import disc

SBATCH = Path(__file__).parents[2] / "examples" / "cluster" / "swathe.sbatch"


def test_the_sbatch_file_makes_the_whole(tmp_path):
    subprocess.run(["bash", "-n", SBATCH], check=True)
    lines = ["pair_id,src,tgt"]
    for k in range(6):
        np.save(tmp_path / f"{k}.npy", disc((30, 40), (12, 12 + k), 5))
        lines.append(f"p{k},{k}.npy,{max(k - 1, 0)}.npy")
    (tmp_path / "pairs.csv").write_text("\n".join(lines) + "\n")
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, line in [("srun", 'exec "$@"'), ("swathe", f'exec {sys.executable} -m swathe "$@"')]:
        (programs / name).write_text(f"#!/bin/bash\n{line}\n")
        (programs / name).chmod(0o755)
    n_tasks = 4
    slurm = {
        **os.environ,
        "PATH": f"{programs}:{os.environ['PATH']}",
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
