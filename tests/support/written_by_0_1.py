"""The states and runs whose files are in tests/data/written_by_0_1, described so that any version can make them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from qsim_ex import Circuit, CircuitBuilder, Result, Simulator


@dataclass(frozen=True)
class State:
    """A state in a file: how it was placed, and whether it reached all its wires (`whole`) before it was saved."""

    wires: int
    precision: Literal["single", "double"]
    whole: bool = True
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Run:
    """A run that was stopped after `stop` steps, with a state saved on the way or without."""

    wires: int
    stop: int
    saves: bool = False
    precision: Literal["single", "double"] = "double"
    options: dict[str, Any] = field(default_factory=dict)


STATES: dict[str, State] = {
    "single": State(3, "double"),
    "single_in_single": State(4, "single"),
    "peers": State(5, "double", options={"virtual_peers": 2}),
    "migrated": State(5, "single", options={"device_wires": 3}),
    "peers_over_host": State(5, "double", options={"virtual_peers": 2, "device_wires": 3}),
    "not_grown": State(5, "double", whole=False, options={"virtual_peers": 4}),
}

RUNS: dict[str, Run] = {
    "run_peers": Run(5, 2, options={"virtual_peers": 2}),
    "run_migrated": Run(5, 3, precision="single", options={"device_wires": 3}),
    "run_saved": Run(5, 2, saves=True),
}


def circuit_of(state: State) -> Circuit:
    """Gates that mix all wires, with a swap and an inversion at the end, which only the layout knows; or one gate."""
    builder = CircuitBuilder(state.wires)
    if not state.whole:
        return builder.gate("ry", [0], 0.7).build()
    for wire in range(state.wires):
        builder.gate("ry", [wire], 0.3 + wire).gate("rz", [wire], 0.2 - wire)
    for wire in range(state.wires - 1):
        builder.gate("cx", [wire, wire + 1])
    return builder.gate("swap", [0, 2]).gate("x", [1]).build()


def run_circuit(run: Run, until: str = "end") -> Circuit:
    """Layers that need several stages wherever the state is divided, measured at the end; or up to where it saves."""
    builder = CircuitBuilder(run.wires, run.wires)
    for layer in range(4):
        for wire in range(run.wires):
            builder.gate("ry", [wire], 0.1 + layer + wire)
        for wire in range(run.wires):
            builder.gate("cx", [wire, (wire + 1 + layer) % run.wires])
        if run.saves and layer in (0, 2):
            builder.save(f"after {layer}")
            if until == f"after {layer}":
                return builder.build()
    return builder.save("end").measure(range(run.wires), range(run.wires)).build()


def run_of(run: Run, path: Path | None, **how: Any) -> Result:
    """Run the circuit, with a checkpoint at every boundary if there is a path."""
    keeps: dict[str, Any] = {} if path is None else {"checkpoint": path, "checkpoint_every": 0}
    keeps["progress"] = how.pop("progress", None)
    simulator = Simulator(device="cpu", precision=run.precision, **keeps, **run.options)
    return simulator.run(run_circuit(run), shots=20, **how)


def stop_after(steps: int) -> Callable[[int, int], None]:
    """Return a progress callback that stops a run like Ctrl-C when this many steps are done."""

    def progress(done: int, total: int) -> None:
        if done == steps and done < total:
            raise KeyboardInterrupt

    return progress
