"""A picture of the times of workloads: how often Fuseline's time each library takes."""

from __future__ import annotations

import matplotlib

matplotlib.use("svg")
# Texts stay texts, and the file is the same for the same times.
matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "fuseline", "font.size": 9})
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.ticker import FormatStrFormatter, LogLocator, NullFormatter  # noqa: E402

COLOURS = {
    "numpy": "#4c72b0",
    "scipy": "#64b5cd",
    "numexpr": "#8172b3",
    "numba": "#dd8452",
    "jax": "#55a868",
    "keops": "#937860",
}


def draw(times: dict[str, dict[str, float]], caption: str, path: str) -> None:
    """Draws a bar for each library of each workload, on a logarithmic scale whose middle line is Fuseline."""
    figure, axes = plt.subplots(figsize=(7.2, 0.22 * sum(len(of) for of in times.values()) + 1.0))
    position, ticks, seen = 0.0, [], set()
    for of_workload in times.values():
        others = {name: time / of_workload["fuseline"] for name, time in of_workload.items() if name != "fuseline"}
        ticks.append(position + (len(others) - 1) / 2)
        for name, ratio in others.items():
            label = name if name not in seen else None
            axes.barh(position, ratio - 1, left=1, height=0.85, color=COLOURS[name], label=label)
            axes.text(max(ratio, 1) * 1.03, position, f"{ratio:.1f}", va="center", fontsize=7)
            seen.add(name)
            position += 1
        position += 0.8
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(FormatStrFormatter("%g"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.axvline(1, color="black", linewidth=1)
    axes.set_yticks(ticks, list(times))
    axes.invert_yaxis()
    axes.set_xlabel(f"times as long as Fuseline\n{caption}")
    axes.legend(fontsize=8, frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None})
