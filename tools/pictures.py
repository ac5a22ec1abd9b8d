"""Draws the pictures of "How it works" and one of a plan: ``python -m tools.pictures``; they are in docs/images."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.patches import Arc, Patch

from benchmarks.engine import circuit_of
from benchmarks.families import FAMILIES
from qsim_ex import CircuitBuilder, PauliSum, Simulator
from qsim_ex.steps.plan import Plan

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
WIRES = 24
LARGE = 28
BLUES = ("#ffffff", "#dbe7f6", "#8fb8e0", "#1f5fa8")
"""Not there yet, in memory, in the tile, in registers."""
ORANGE = "#d9822b"


def simulator() -> Simulator:
    """Return a simulator that plans for one H200, which need not be here."""
    return Simulator(device="gpu", precision="single", max_memory="139 GiB")


def save(figure: Any, name: str) -> None:
    """Write a picture that is the same in every run."""
    figure.savefig(IMAGES / f"{name}.svg", metadata={"Date": None}, facecolor="white")
    plt.close(figure)


def index_bits() -> None:
    """Draw the 16 amplitudes of four qubits, with the pairs that three gates act on."""
    gates = (("H on bit 0: mixes neighbours", 0, None), ("H on bit 3: mixes amplitudes far apart", 3, None))
    gates += (("CZ on bits 2 and 3: reads them, moves nothing", None, 0b1100),)
    figure, rows = plt.subplots(3, 1, figsize=(8.4, 4.2), layout="constrained", height_ratios=(1.7, 2.4, 1.1))
    for axes, (title, mixed, read) in zip(rows, gates, strict=True):
        for index in range(16):
            there = read is not None and index & read == read
            axes.add_patch(plt.Rectangle((index - 0.4, -0.4), 0.8, 0.8, fc=ORANGE if there else BLUES[1], ec="#33475b"))
            axes.text(index, 0, f"{index:04b}", ha="center", va="center", fontsize=8)
            if mixed is not None and not index >> mixed & 1:
                width = 1 << mixed
                height = 1.0 + 0.16 * width
                axes.add_patch(
                    Arc((index + width / 2, 0.4), width, height, theta1=0, theta2=180, color=BLUES[3], lw=1.4)
                )
        axes.set(xlim=(-0.7, 15.7), ylim=(-0.6, 0.6 if mixed is None else 1.0 + 0.09 * (1 << mixed)), title=title)
        axes.axis("off")
    save(figure, "index_bits")


def light_cone() -> None:
    """Draw the magnetisation of an XX chain in which two flipped spins spread, for the landing page."""
    spins, steps, angle = 21, 60, 0.2
    ups = [PauliSum.from_labels({"I" * (spins - 1 - k) + "Z" + "I" * k: 1.0}) for k in range(spins)]
    flips = CircuitBuilder(spins).gate("x", [6]).gate("x", [14]).build()
    step = CircuitBuilder(spins)
    for first in (0, 1):
        for k in range(first, spins - 1, 2):
            step.gate("rxx", [k, k + 1], angle).gate("ryy", [k, k + 1], angle)
    circuit = step.build()
    with Simulator(device="cpu").state(flips) as state:
        rows = [state.expectation(ups)]
        for _ in range(steps):
            rows.append(state.apply(circuit).expectation(ups))  # noqa: PERF401  (the state changes)
    gray = "#808890"  # which can be read on a light page and on a dark one
    figure, axes = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
    flipped = (1 - np.array(rows).T) / 2
    image = axes.imshow(flipped, aspect="auto", cmap="inferno", vmin=0, vmax=0.5, interpolation="nearest")
    bar = figure.colorbar(image, ax=axes, label="probability of a flipped spin")
    axes.set(xlabel="Trotter step", ylabel="spin", yticks=range(0, spins, 5))
    for one in (axes, bar.ax):
        one.tick_params(colors=gray)
        one.xaxis.label.set_color(gray)
        one.yaxis.label.set_color(gray)
        for spine in one.spines.values():
            spine.set_color(gray)
    figure.savefig(IMAGES / "light_cone.png", dpi=130, transparent=True, metadata={"Software": None})
    plt.close(figure)


def nearness(plan: Plan) -> tuple[list[list[int]], list[int], list[str]]:
    """Return the level of each index bit in each register block of a plan, where sweeps begin, and their labels."""
    columns: list[list[int]] = []
    begins, labels = [], []
    for sweep in plan.sweeps:
        begins.append(len(columns))
        there = [0 if sweep.fresh >> bit & 1 and bit not in sweep.tile else 1 for bit in range(plan.num_wires)]
        columns += [
            [3 if b in block.registers else 2 if b in sweep.tile else there[b] for b in range(plan.num_wires)]
            for block in sweep.register_blocks
        ]
        labels.append(f"{sum(len(block.items) for block in sweep.register_blocks)}")
    return columns, begins, labels


def sweeps() -> None:
    """Draw the plans of a QFT and of a random circuit: which index bits are in registers, block by block."""
    figure, axes = plt.subplots(1, 2, figsize=(9.6, 4.8), layout="constrained", width_ratios=(1, 2.6), sharey=True)
    for one, name in zip(axes, ("qft", "grid"), strict=True):
        gates = FAMILIES[name].build(WIRES, 1)
        (plan,) = simulator().plans(circuit_of(gates, WIRES))
        columns, begins, labels = nearness(plan)
        grid = [list(row) for row in zip(*columns, strict=True)]
        one.pcolormesh(grid, cmap=ListedColormap(BLUES), vmin=0, vmax=3, edgecolors="#c9d3de", linewidth=0.4)
        for begin, end, label in zip(begins, [*begins[1:], len(columns)], labels, strict=True):
            one.axvline(begin, color=ORANGE, lw=2)
            one.text((begin + end) / 2, WIRES + 0.4, label, ha="center", fontsize=8)
        kind = FAMILIES[name].title.split(",")[0]
        one.set_title(f"{kind}: {len(gates)} gates, {len(begins)} sweeps", pad=20)
        one.set_xticks([])
        one.set_xlabel("register blocks, from left to right")
    axes[0].set_ylabel("index bit")
    names = ("not in the state yet", "in memory", "in the tile", "in registers")
    handles = [Patch(fc=color, ec="#33475b", label=label) for color, label in zip(BLUES, names, strict=True)]
    handles.append(Patch(fc=ORANGE, label="a sweep begins (above: its operations)"))
    figure.legend(handles=handles, loc="outside lower center", ncols=5, fontsize=8, frameon=False)
    save(figure, "sweeps")


def passes() -> None:
    """Draw how often the memory of the whole state is read and written: once for each gate, and as planned."""
    figure, axes = plt.subplots(figsize=(8.4, 3.8), layout="constrained")
    whole = 2 * 8 << LARGE  # complex64, read and written
    for k, family in enumerate(FAMILIES.values()):
        gates = family.build(LARGE, 1)
        costs = simulator().summary(circuit_of(gates, LARGE))
        planned = costs.bytes_moved / whole
        for at, width, color in ((k + 0.2, len(gates), BLUES[2]), (k - 0.2, planned, BLUES[3])):
            axes.barh(at, width, 0.38, color=color)
            axes.text(width * 1.06, at, f"{width:,.3g}" if width < 100 else f"{width:,.0f}", va="center", fontsize=8)
    axes.set_yticks(range(len(FAMILIES)), [family.title for family in FAMILIES.values()], fontsize=9)
    axes.set(xscale="log", xlim=(0.08, 6000), xlabel=f"passes over the memory of {LARGE} qubits")
    axes.invert_yaxis()
    labels = (("one pass for each gate", BLUES[2]), ("as planned, bytes moved", BLUES[3]))
    handles = [Patch(fc=color, label=label) for label, color in labels]
    figure.legend(handles=handles, fontsize=8, loc="outside upper center", ncols=2, frameon=False)
    save(figure, "passes")


def plan() -> None:
    """Draw the picture that `explain(circuit).plot()` makes of a QFT."""
    circuit = circuit_of(FAMILIES["qft"].build(WIRES, 1), WIRES)
    simulator().explain(circuit).plot().save(IMAGES / "plan.svg")


def main() -> None:
    """Draw all pictures."""
    plan()
    mpl.rcParams.update({"svg.hashsalt": "qsim-ex", "svg.fonttype": "path", "font.size": 9})
    light_cone()
    index_bits()
    sweeps()
    passes()


if __name__ == "__main__":
    main()
