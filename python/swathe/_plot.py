"""Pictures with matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .ot import Solution


def plot_solution(solution: Solution, axes: Any = None, step: int | None = None) -> Any:
    """The speed of the mass as an image, cut to where there is mass, and arrows over it.

    Arrows stand ``step`` pixels apart and are drawn to a scale at which a fast one (the 95th
    percentile) reaches the next; the title says how long they are.
    """
    import matplotlib.pyplot as plt

    velocity = solution.velocity
    speed = np.hypot(velocity[..., 0], velocity[..., 1])
    if axes is None:
        axes = plt.figure(layout="constrained").add_subplot()
    axes.set_aspect("equal")
    axes.set_xlabel("x / px")
    axes.set_ylabel("y / px")
    live = np.isfinite(speed)
    if not live.any():
        height, width = speed.shape
        axes.set(xlim=(-0.5, width - 0.5), ylim=(height - 0.5, -0.5), title="no mass to move")
        return axes
    rows, columns = np.flatnonzero(live.any(axis=1)), np.flatnonzero(live.any(axis=0))
    y0, y1, x0, x1 = rows[0], rows[-1] + 1, columns[0], columns[-1] + 1
    image = axes.imshow(
        speed[y0:y1, x0:x1],
        extent=(x0 - 0.5, x1 - 0.5, y1 - 0.5, y0 - 0.5),
        cmap="viridis",
        interpolation="nearest",
    )
    axes.figure.colorbar(image, ax=axes, label="displacement / px")
    if step is None:
        step = max(1, int(max(y1 - y0, x1 - x0)) // 18)
    y, x = np.nonzero(live)
    # One arrow for each cell of a coarse grid: the pixel with mass that is nearest to its middle, so
    # that thin rings and single pixels have arrows too.
    cell = (y // step) * (speed.shape[1] // step + 1) + x // step
    far = np.abs(y % step - step / 2) + np.abs(x % step - step / 2)
    order = np.lexsort((far, cell))
    first = order[np.unique(cell[order], return_index=True)[1]]
    y, x = y[first], x[first]
    arrows = velocity[y, x]
    fast = np.percentile(np.hypot(arrows[:, 0], arrows[:, 1]), 95)
    longer = step / fast if fast > 0 else 1.0
    axes.quiver(
        x,
        y,
        arrows[:, 1],
        arrows[:, 0],
        angles="xy",
        scale_units="xy",
        scale=1 / longer,
        color="white",
        edgecolor="black",
        linewidth=0.3,
        width=0.005,
        pivot="mid",
    )
    axes.set_title(f"arrows are {longer:.3g} times as long as the displacement", fontsize="small")
    return axes
