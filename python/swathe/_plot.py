"""Pictures of solutions, drawn by matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .ot import Solution


def plot_solution(solution: Solution, axes: Any, step: int | None) -> Any:
    """Draw the length of the velocity as colour and the velocity itself as arrows."""
    import matplotlib.pyplot as plt

    velocity = solution.velocity
    speed = np.hypot(velocity[..., 0], velocity[..., 1])
    ys, xs = np.nonzero(np.isfinite(speed))
    if axes is None:
        _, axes = plt.subplots()
    image = axes.imshow(speed, cmap="viridis")
    axes.figure.colorbar(image, ax=axes, label="displacement / px")
    if len(ys):
        if step is None:
            # About twenty arrows along the longer side of the mask.
            extent = max(np.ptp(ys), np.ptp(xs)) + 1
            step = max(1, int(extent) // 20)
        chosen = (ys % step == 0) & (xs % step == 0)
        if not chosen.any():
            chosen[:] = True
        y, x = ys[chosen], xs[chosen]
        axes.quiver(
            x, y, velocity[y, x, 1], velocity[y, x, 0], angles="xy", scale_units="xy", scale=1,
            color="white", width=0.004,
        )
    else:
        axes.set_title("no mass to move")
    axes.set_axis_off()
    return axes
