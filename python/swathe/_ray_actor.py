"""The parts of a run on a cluster that run inside of Ray: the actors that solve blocks, and the
ledger of what they did."""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass
from typing import Any

from . import _swathe, own
from ._function import Function
from ._probe import Probe
from ._ray_input import Items, read_items
from ._ray_storage import ObjectStore, SharedFolder, is_complete, shard_name

__all__ = ["BlockActor", "Ledger", "Plan"]


@dataclass(frozen=True)
class Plan:
    """What all blocks of a run have in common."""

    name: str
    """A hash of the input and the settings: blocks of other runs have other names."""
    n_blocks: int
    n_attempts: int
    storage: SharedFolder | ObjectStore
    words: tuple[str, ...]
    """The command of a workload, without its folder and its shard; empty for a callable."""
    solve: Any
    """The callable, or a class that is instantiated once for each actor."""
    function: Function
    """The fingerprint of the callable, made on the driver."""
    arguments: dict[str, Any]
    """Of :func:`swathe.run`."""
    items: Items | None
    folder: str
    """The driver's current folder, from which paths are meant."""
    num_cpus: float

    def block_name(self, block: int) -> str:
        """The name under which a block is committed."""
        return f"{self.name}-{shard_name(block, self.n_blocks)}"


class Ledger:
    """Counts the attempts at each block, and writes a line for each event. It lives on the driver's
    node and survives the actors."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.n_begun: dict[int, int] = {}
        self.reasons: dict[int, str] = {}

    def begin(self, block: int, place: dict[str, Any]) -> tuple[int, str]:
        """Note that an actor begins a block; returns the number of the attempt, and why the last
        one failed."""
        self.n_begun[block] = self.n_begun.get(block, 0) + 1
        self._write({"event": "begin", "block": block, **place})
        reason = self.reasons.pop(block, "its actor died")
        return self.n_begun[block], reason

    def end(self, block: int, place: dict[str, Any], more: dict[str, Any]) -> None:
        """Note that a block is committed, or why it is not."""
        if "reason" in more:
            self.reasons[block] = more["reason"]
        event = "failed" if "reason" in more else "committed"
        self._write({"event": event, "block": block, **place, **more})

    def _write(self, line: dict[str, Any]) -> None:
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
            file.flush()
            os.fsync(file.fileno())


class _Unusable(Exception):
    """No attempt can succeed: the input or a setting is wrong."""


class BlockActor:
    """Solves blocks, one after another. The process stays: modules, devices, a callable's model and
    the checksums of inputs are there for the next block."""

    def __init__(self, plan: Plan, ledger: Any) -> None:
        import ray

        context = ray.get_runtime_context()
        node = context.get_node_id()
        known = next(one for one in ray.nodes() if one["NodeID"] == node)
        self.plan, self.ledger = plan, ledger
        self.place = {
            "node": f"{known['NodeManagerAddress']} {node[:8]}",
            "actor": f"actor {(context.get_actor_id() or '')[:8]}",
            "pid": os.getpid(),
        }
        self.share = plan.num_cpus / max(known["Resources"].get("CPU", 1.0), plan.num_cpus, 1e-9)
        if os.path.isdir(plan.folder):
            os.chdir(plan.folder)
        _swathe.stay_warm()
        self.solve = plan.solve() if isinstance(plan.solve, type) else plan.solve
        self.probe = Probe()

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        block = int(batch["block"][0])
        try:
            self._commit(block)
            wrong = ""
        except _Unusable as error:
            wrong = str(error)
        return {"block": [block], "wrong": [wrong]}

    def _commit(self, block: int) -> None:
        import ray

        plan = self.plan
        if block in plan.storage.finished(plan.name, plan.n_blocks):
            return
        while True:
            begun = self.ledger.begin.remote(block, self.place)
            attempt, reason = ray.get(begun)
            gives_up = None
            if attempt > plan.n_attempts:
                gives_up = (
                    f"block {block} of {plan.n_blocks} was given up after {plan.n_attempts} "
                    f"attempts: {reason}"
                )
            since = time.monotonic()
            try:
                with plan.storage.workplace(plan.block_name(block)) as run:
                    self._solve(block, run, gives_up)
            except _Unusable:
                raise
            except Exception as error:
                told = f"{type(error).__name__}: {error}"
                ray.get(self.ledger.end.remote(block, self.place, {"reason": told}))
                if gives_up is not None:
                    raise _Unusable(f"block {block} of {plan.n_blocks}: {told}") from error
                continue
            busy_ms = (time.monotonic() - since) * 1e3
            more = {"name": plan.block_name(block), "busy_ms": busy_ms}
            ray.get(self.ledger.end.remote(block, self.place, more))
            return

    def _solve(self, block: int, run: str, gives_up: str | None) -> None:
        """Solve what is left of a block. A process that has lost its node may still write it, so
        that this one waits."""
        while True:
            try:
                if self.plan.words:
                    self._command(block, run, gives_up)
                else:
                    self._call(block, run, gives_up)
                return
            except BlockingIOError:
                time.sleep(0.5)

    def _command(self, block: int, run: str, gives_up: str | None) -> None:
        plan = self.plan
        words = ["swathe", "-q", *plan.words]
        if plan.items is not None:
            words.append(plan.storage.local_file(plan.items.name))
        words += ["--out", run, "--shard", f"{block}/{plan.n_blocks}", "--resume"]
        words += ["--progress", "none"]
        if "--memory" not in words:
            words += ["--memory", f"{_free_bytes(self.share) >> 20}MiB"]
        if gives_up is not None:
            words.append(f"--give-up={gives_up}")
        status, told = _swathe.quiet_command(words)
        if status == 130:
            # The node asked the process to end, and every further command would end at once.
            os._exit(130)
        if status in (2, 3):
            raise _Unusable(told.strip())
        if "another process is writing" in told and status == 4:
            raise BlockingIOError(told)
        if not is_complete(run, block, plan.n_blocks):
            raise RuntimeError(told.strip() or f"the command ended with status {status}")

    def _call(self, block: int, run: str, gives_up: str | None) -> None:
        plan, items = self.plan, self.plan.items
        assert items is not None
        first = items.n_items * (block - 1) // plan.n_blocks
        end = items.n_items * block // plan.n_blocks
        ids, own_items = read_items(plan.storage.local_file(items.name), first, end)
        shard = own._Block(
            block, plan.n_blocks, items.n_items, items.fingerprint(), plan.function, gives_up
        )
        arguments: dict[str, Any] = {"memory": _free_bytes(self.share), **plan.arguments}
        own.run(
            own_items,
            self.solve,
            out=run,
            resume=True,
            ids=ids,
            _block=shard,
            _probe=self.probe,
            **arguments,
        )


def _free_bytes(share: float) -> int:
    """This actor's share of the memory that is free on its node."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            free = next(line for line in file if line.startswith("MemAvailable:"))
        n_bytes = int(free.split()[1]) * 1024
    except (OSError, StopIteration):
        n_bytes = 4 << 30
    return max(int(0.7 * share * n_bytes), 64 << 20)
