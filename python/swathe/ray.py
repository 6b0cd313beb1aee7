"""Runs on a Ray cluster: the call that works on a laptop, on many machines.

``swathe.ray.solve`` cuts the input into blocks, lets actors solve them, and merges them into one run
folder with one report. Whatever dies, every id has one outcome; the same call goes on with a run
whose driver died. It needs Ray: ``pip install "ray[data]>=2.60,<3" pandas pyarrow``.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from . import _swathe, own
from ._errors import check_arguments
from ._function import Function, fingerprint_of, text_of
from ._ray_actor import BlockActor, Ledger, Plan
from ._ray_input import Items, is_dataset, write_items, write_table
from ._ray_storage import ObjectStore, SharedFolder, storage_of
from ._warnings import warn
from .runs import Run, open_run

__all__ = ["solve"]

ID_COLUMNS = {"ot": "pair_id", "array": "name"}
"""The name that each command gives to the column of ids."""

N_WARNINGS = 10
"""The most warnings of a run that are issued one by one."""

NOT_IN_ANSWERS = {"threads", "memory", "memory_margin", "device", "prefetch", "batch_size",
                  "batch_size_max", "batch_size_min", "time_limit", "workers"}
"""Settings that answers do not depend on: a resumed run may have others."""


def solve(
    input: Any,
    out: str | os.PathLike[str],
    workload: str | Callable[..., Any],
    *,
    id_column: str | None = None,
    num_cpus: float = 1,
    num_gpus: float = 0,
    concurrency: int | None = None,
    address: str | None = "auto",
    resume: bool = True,
    blocks: int | None = None,
    attempts: int = 3,
    column: str | None = None,
    filesystem: Any = None,
    **settings: Any,
) -> Run:
    """Solve an input on a Ray cluster, and return the run folder.

    ``workload`` is ``"ot"``, ``"arc"``, ``"array"`` or a callable as :func:`swathe.run` takes it; a
    class is instantiated once for each actor. ``input`` is what the command takes (a path that all
    nodes see; for arrays ``operation="map exp"`` says what to do; for ``"arc"`` a dictionary of
    ``programs`` and ``tasks``), or a Ray Dataset or a folder of Parquet files, whose ``id_column``
    names the problems; a callable also takes a list. Rows of a Dataset are in the order of their
    ids. A callable gets a row as a dictionary, or the value of ``column``.

    ``out`` is a folder that all nodes see, or an address such as ``s3://bucket/run`` (or a path in
    ``filesystem``, of ``pyarrow.fs`` or ``fsspec``). The run is cut into ``blocks`` (by default four
    for each actor); there are ``concurrency`` actors (by default as many as the cluster has room
    for) with ``num_cpus`` and ``num_gpus`` each. A block whose actor dies or raises is tried
    ``attempts`` times; then its problems without an outcome are failures that say why.

    ``address`` is that of a cluster, ``"auto"`` for the one that this machine belongs to, or
    ``None`` for this machine alone; a program that is connected already stays so. With ``resume``,
    a run that is there goes on, if input, settings and callable are the same; blocks that are complete
    are not solved again. Further ``settings``
    are the options of the command (``epsilon=1e-3``; without it every block finds the same one, on
    a sample of the whole input) or arguments of :func:`swathe.run`. What the blocks warn of is issued
    as ``UserWarning`` once they are merged.
    """
    ray = _import_ray()
    if attempts < 1 or (blocks is not None and blocks < 1):
        raise ValueError("attempts and blocks are 1 or more")
    storage = storage_of(out, filesystem)
    if storage.is_used() and not resume:
        raise FileExistsError(f"{storage} holds a run already; go on with it by resume=True")
    _connect(ray, address)
    if concurrency is None:
        room = ray.cluster_resources()
        concurrency = max(1, int(room.get("CPU", 1) // max(num_cpus, 1e-9)))
        if num_gpus > 0:
            concurrency = min(concurrency, max(1, int(room.get("GPU", 0) // num_gpus)))
    work = storage.open()
    words, items = _problems(ray, input, workload, id_column, column, storage, settings)
    if words:
        words += _flags(settings, num_cpus, num_gpus)
    function = fingerprint_of(workload) if callable(workload) else Function({})
    warn(function.warnings("a run whose driver dies cannot go on"))
    begun = _plan(storage, workload, function, words, items, settings, blocks, concurrency)
    plan = Plan(
        name=begun["name"],
        n_blocks=begun["n_blocks"],
        n_attempts=attempts,
        storage=storage,
        words=tuple(words),
        solve=workload if callable(workload) else None,
        function=function,
        arguments={} if words else settings,
        items=items,
        folder=os.getcwd(),
        num_cpus=num_cpus,
    )
    if items is not None and items.repeated:
        some = ", ".join(repr(name) for name in items.repeated[:5])
        warnings.warn(
            f"{len(items.repeated)} rows repeat an id with the same contents and are solved once: {some}",
            stacklevel=2,
        )
    done = storage.finished(plan.name, plan.n_blocks)
    todo = [block for block in range(1, plan.n_blocks + 1) if block not in done]
    if todo:
        ledger = work / "shards" / "blocks.jsonl"
        if isinstance(storage, ObjectStore):
            ledger.write_bytes(storage.read("blocks.jsonl") or b"")
        _execute(ray, plan, todo, concurrency, num_gpus, ledger)
        if isinstance(storage, ObjectStore):
            storage.write("blocks.jsonl", ledger.read_bytes())
    elif (work / "run.json").exists() and open_run(work).is_complete:
        return open_run(work)
    storage.collect(work, plan.name, plan.n_blocks)
    _merge(work)
    storage.publish(work)
    run = open_run(work)
    warn(_told(run.report.figures["warnings"]))
    return run


def _told(texts: list[str]) -> list[str]:
    """The warnings of a run, which name the shards that they are of; many shards are summed up."""
    if len(texts) <= N_WARNINGS:
        return texts
    more = f"{len(texts) - N_WARNINGS} more warnings of shards are on the run's page"
    return [*texts[:N_WARNINGS], more]


def _import_ray() -> Any:
    try:
        import ray
        import ray.data
    except ImportError as error:
        raise ImportError(
            f"swathe.ray needs Ray, which is not installed ({error}): "
            'pip install "ray[data]>=2.60,<3" pandas pyarrow'
        ) from None
    return ray


def _connect(ray: Any, address: str | None) -> None:
    if ray.is_initialized():
        return
    if address is None:
        # Without an address Ray would join a cluster that happens to run on this machine.
        ray.init("local", include_dashboard=False, log_to_driver=False)
        return
    try:
        ray.init(address=address, log_to_driver=False)
    except ConnectionError as error:
        raise ConnectionError(
            f"there is no Ray cluster at address={address!r}: {error}; start one by `ray start "
            "--head`, or take address=None for this machine alone"
        ) from None


def _problems(
    ray: Any,
    input: Any,
    workload: str | Callable[..., Any],
    id_column: str | None,
    column: str | None,
    storage: SharedFolder | ObjectStore,
    settings: dict[str, Any],
) -> tuple[list[str], Items | None]:
    """The words of the command and the file with the problems, if there is one."""
    if callable(workload):
        without = ("out", "resume", "ids", "progress", "on_error")
        check_arguments("swathe.ray.solve", own.run, settings, without)
        if not isinstance(input, (list, tuple)) and not is_dataset(ray, input):
            raise TypeError("a callable takes a list, a Dataset or a folder of Parquet files")
        batched = bool(settings.get("batched", True))
        return [], write_items(ray, input, id_column, column, storage, batched)
    if workload not in ("ot", "arc", "array"):
        raise ValueError(f"workload is {workload!r}; it is 'ot', 'arc', 'array' or a callable")
    words = [workload, *str(settings.pop("operation", "")).split()]
    if is_dataset(ray, input):
        if workload not in ID_COLUMNS:
            raise TypeError("arc takes files: input={'programs': [...], 'tasks': ...}")
        return words, write_table(ray, input, id_column, ID_COLUMNS[workload], storage)
    if isinstance(input, Mapping):
        for name, value in input.items():
            paths = value if isinstance(value, (list, tuple)) else [value]
            words += [f"--{name}", *(os.path.abspath(path) for path in paths)]
        return words, None
    paths = input if isinstance(input, (list, tuple)) else [input]
    return words + [os.path.abspath(path) for path in paths], None


def _flags(settings: Mapping[str, Any], num_cpus: float, num_gpus: float) -> list[str]:
    given = {"threads": max(1, int(num_cpus)), "device": "gpu" if num_gpus > 0 else "cpu"}
    words: list[str] = []
    for name, value in {**given, **settings}.items():
        if value is None or value is False:
            continue
        words.append(f"--{name.replace('_', '-')}")
        if value is not True:
            values = value if isinstance(value, (list, tuple)) else [value]
            words += [str(one) for one in values]
    return words


def _plan(
    storage: SharedFolder | ObjectStore,
    workload: str | Callable[..., Any],
    function: Function,
    words: list[str],
    items: Items | None,
    settings: Mapping[str, Any],
    blocks: int | None,
    concurrency: int,
) -> dict[str, Any]:
    """The plan that is beside the blocks, or a new one: a run keeps its number of blocks."""
    answers = {}
    for name, value in settings.items():
        if name not in NOT_IN_ANSWERS:
            try:
                answers[name] = text_of(value)
            except TypeError as error:
                raise TypeError(f"{name} {error}: the run could not be resumed") from None
    wanted: dict[str, Any] = {
        "workload": workload if isinstance(workload, str) else function.parts,
        "input": list(items.digest) if items else [word for word in words if os.path.isabs(word)],
        "settings": answers,
        "version": _swathe.__version__,
    }
    found = storage.read("plan.json")
    if found is not None:
        before = json.loads(found)
        for name, value in wanted.items():
            then, now = before[name], value
            if then != now and isinstance(then, dict) and isinstance(now, dict):
                names = [key for key in {**then, **now} if then.get(key) != now.get(key)]
                then, now = ({key: one.get(key) for key in names} for one in (then, now))
            if then != now:
                raise ValueError(f"{storage} was begun with another {name}: {then} then, {now} now")
        if blocks not in (None, before["n_blocks"]):
            raise ValueError(f"{storage} was begun with {before['n_blocks']} blocks, not {blocks}")
        return dict(before)
    n_blocks = blocks if blocks is not None else 4 * concurrency
    if items is not None:
        n_blocks = max(1, min(n_blocks, items.n_items))
    plan = {**wanted, "n_blocks": n_blocks}
    plan["name"] = hashlib.blake2b(json.dumps(plan).encode(), digest_size=8).hexdigest()
    storage.write("plan.json", json.dumps(plan, indent=1).encode())
    return plan


def _execute(
    ray: Any, plan: Plan, todo: list[int], concurrency: int, num_gpus: float, ledger: Path
) -> None:
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    here = ray.get_runtime_context().get_node_id()
    remote = ray.remote(Ledger).options(
        num_cpus=0, scheduling_strategy=NodeAffinitySchedulingStrategy(here, soft=False)
    )
    lines = remote.remote(str(ledger))
    context = ray.data.DataContext.get_current()
    logger = logging.getLogger("ray.data")
    had_bars, had_level = context.enable_progress_bars, logger.level
    context.enable_progress_bars = False
    # Its warnings are about scaling, which is not wanted here.
    logger.setLevel(logging.ERROR)
    n_actors = min(concurrency, len(todo))
    try:
        rows = [{"block": block} for block in todo]
        solved = ray.data.from_items(rows, override_num_blocks=len(rows)).map_batches(
            BlockActor,
            fn_constructor_kwargs={"plan": plan, "ledger": lines},
            batch_size=1,
            # With one actor as the least, the place of one that is idle can go to one that lost its
            # node. A second block in an actor's queue would wait for the first.
            compute=ray.data.ActorPoolStrategy(
                min_size=1, max_size=n_actors, initial_size=n_actors, max_tasks_in_flight_per_actor=1
            ),
            num_cpus=plan.num_cpus,
            num_gpus=num_gpus or None,
        )
        for row in solved.iter_rows():
            if row["wrong"]:
                raise ValueError(row["wrong"])
    finally:
        context.enable_progress_bars = had_bars
        logger.setLevel(had_level)
        ray.kill(lines)


def _merge(run: Path) -> None:
    """In a process of its own: a command takes over the signals of its process."""
    words = [sys.executable, "-m", "swathe", "-q", "merge", str(run)]
    ended = subprocess.run(words, capture_output=True, text=True)
    if ended.returncode not in (0, 1):
        raise RuntimeError(f"the blocks in {run} cannot be merged: {ended.stderr.strip()}")
