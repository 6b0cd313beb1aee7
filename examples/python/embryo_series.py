"""A series of frames to velocity maps: how a body that divides moves from frame to frame.

    python embryo_series.py [OUT [N_FRAMES]]

Writes OUT/FLOW, a run folder with a table, maps and a page, and OUT/pair.png.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
import swathe


def frames(n, shape=(96, 160)):
    """Two discs that drift apart from one place, as intensities."""
    y, x = np.ogrid[: shape[0], : shape[1]]
    for k in range(n):
        apart = 2.0 * k
        left = np.exp(-(((y - 48) ** 2 + (x - 80 + apart) ** 2) / (2 * 9.0**2)))
        right = np.exp(-(((y - 48) ** 2 + (x - 80 - apart) ** 2) / (2 * 9.0**2)))
        yield np.where(left + right > 0.05, left + right, 0)


def main(out=None, n_frames=9):
    out = Path(out or tempfile.mkdtemp(prefix="embryo-", dir="."))
    out.mkdir(parents=True, exist_ok=True)
    series = list(frames(n_frames))
    pairs = list(zip(series, series[1:]))
    names = [f"t{k:03}" for k in range(len(pairs))]

    run = swathe.ot.solve_batch(
        pairs,
        epsilon=1e-4,
        relaxation=10,
        um_per_px=0.65,
        fields=True,
        out=out / "FLOW",
        ids=names,
    )
    table = run.table
    print(table[["pair_id", "displacement_p50_um", "mass_transported", "residual"]].to_string())

    velocity = run.fields(names[-1])["velocity_yx"]
    left, right = np.nanmean(velocity[:, :80, 1]), np.nanmean(velocity[:, 80:, 1])
    print(f"the left half moves by {left:.2f} px, the right one by {right:.2f} px")

    solution = swathe.ot.solve(*pairs[-1], epsilon=1e-4, relaxation=10)
    axes = solution.plot()
    axes.figure.savefig(out / "pair.png", dpi=120)
    print(out / "pair.png")


if __name__ == "__main__":
    main(*sys.argv[1:2], *[int(word) for word in sys.argv[2:]])
