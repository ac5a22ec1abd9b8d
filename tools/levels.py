"""Draws docs/images/levels.png, the memories that hold a state: ``python tools/levels.py``."""

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.patches import FancyBboxPatch

LEVELS = (
    ("registers of a thread", "4 bits", "a register block", ""),
    ("tile: shared memory of a block", "11 or 12 bits", "a sweep", "3.9 TB/s"),
    ("memory of one GPU: a sub state vector", "local bits, up to 34", "an exchange", "382 GB/s\neach way"),
    ("memories of 2, 4, 8 GPUs", "device bits, 1 to 3", "a pass", "101 GB/s both\nways together"),
    ("host memory", "migration bits, any number", "", ""),
)
"""Innermost first: what it is, how many index bits it adds, what brings bits in from the next level, and how fast."""


def main() -> None:
    """Draw boxes in boxes, with an arrow from each to the one around it."""
    figure, axes = plt.subplots(figsize=(6.2, 4.4), layout="constrained")
    shades = mpl.colormaps["Blues"]
    for k, (name, bits, motion, rate) in reversed(list(enumerate(LEVELS))):
        width, height = 5.4 + 2.0 * k, 1.0 + 1.05 * k
        face = shades(0.55 - 0.11 * k)
        axes.add_patch(FancyBboxPatch((0, 0), width, height, boxstyle="round,pad=0.04", fc=face, ec="black", lw=0.8))
        axes.text(0.15, height - 0.32, name, weight="bold", fontsize=8.5, va="center")
        axes.text(0.15, height - 0.66, bits, fontsize=8.5, va="center")
        if motion:
            arrow = {"arrowstyle": "<->", "lw": 1.6}
            axes.annotate("", (width - 0.45, height - 0.32), (width + 0.55, height - 0.32), arrowprops=arrow)
            axes.text(width + 0.15, height - 0.45, f"{motion}\n{rate}", fontsize=7.5, ha="left", va="top")
    axes.set_xlim(-0.2, 13.6)
    axes.set_ylim(-0.2, 5.4)
    axes.axis("off")
    figure.savefig(Path(__file__).parent.parent / "docs" / "images" / "levels.png", dpi=200)


if __name__ == "__main__":
    main()
