"""Data and processes that several tests share."""

import contextlib
import signal
import subprocess
import sys

import numpy as np
import pytest


def disc(shape, centre, radius, dtype=np.float64):
    """A disc of ones."""
    y, x = np.ogrid[: shape[0], : shape[1]]
    return ((y - centre[0]) ** 2 + (x - centre[1]) ** 2 <= radius**2).astype(dtype)


@contextlib.contextmanager
def process_of(code, *words):
    """Python that runs this code, after it has printed "ready"; Ctrl-C acts even where a shell in the background has
    switched it off, and no failure leaves the process behind."""
    process = subprocess.Popen(
        [sys.executable, "-c", code, *words],
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def pairs():
    """Discs that move, on frames of several shapes and types."""
    shapes = [(40, 60), (50, 50), (33, 71), (64, 64)]
    types = [np.float64, np.float32, np.uint8, np.bool_]
    made = []
    for k in range(12):
        shape, dtype = shapes[k % 4], types[k % 4]
        radius = 5 + k % 3
        made.append(
            (disc(shape, (15, 18), radius, dtype), disc(shape, (16, 20 + k % 2), radius, dtype))
        )
    return made
