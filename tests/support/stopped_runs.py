"""A run that is stopped on the way, so that it leaves a checkpoint."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from qsim_ex import CircuitBuilder, Result, Simulator


def run_over_peers(path: Path, **how: Any) -> Result:
    """Run layers that need several stages over two devices, with a checkpoint at every boundary."""
    builder = CircuitBuilder(5, 5)
    for layer in range(4):
        for wire in range(5):
            builder.gate("ry", [wire], 0.1 + layer + wire)
        for wire in range(5):
            builder.gate("cx", [wire, (wire + 1 + layer) % 5])
    circuit = builder.save("end").measure(range(5), range(5)).build()
    keeps: dict[str, Any] = {"checkpoint": path, "checkpoint_every": 0, "progress": how.pop("progress", None)}
    return Simulator(device="cpu", precision="double", virtual_peers=2, **keeps).run(circuit, shots=20, **how)


def stop_after(steps: int) -> Callable[[int, int], None]:
    """Return a progress callback that stops a run like Ctrl-C when this many steps are done."""

    def progress(done: int, total: int) -> None:
        if done == steps and done < total:
            raise KeyboardInterrupt

    return progress
