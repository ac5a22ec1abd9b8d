"""What the planner makes of circuits, kept in a file: ``python -m tools.golden_counts`` counts again and compares.

Each family of circuits, as it is written and in rz, sx, x and cz, is planned for each machine, from |0…0⟩ and for a
state that is there. If a number differs from the file, the plans are others. A change that means to do that is blessed
in its own diff: ``python -m tools.golden_counts --bless`` writes the file anew, and prints what is different and
the geometric mean of the changes on each machine. No device is needed, and nothing runs.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import geometric_mean
from typing import cast

from benchmarks import held_out, textbook
from benchmarks.engine import circuit_of
from benchmarks.gates import Gate
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.ops import Unitary
from qsim_ex.devices.cpu.device import CpuDevice
from qsim_ex.devices.gpu.shape import shape_of
from qsim_ex.options.network import Layer
from qsim_ex.planning.cost.rates import H200, Rates, cpu_rates
from qsim_ex.planning.cost.summary import summary
from qsim_ex.planning.planner import make_plan
from qsim_ex.precision import DOUBLE, SINGLE, Precision
from qsim_ex.steps import Layout, Levels, Shape
from tools import transpiled_circuits
from tools.transpiled_circuits import WIRES

FILE = Path(__file__).parent.parent / "tests" / "data" / "golden_counts.json"
COLUMNS = ("sweeps", "passes", "exchanges", "copies", "multiply-adds", "ms")
"""Of a row: sweeps and other steps; what they read and write, in passes over the whole state; exchanges between
devices; passes over host memory; multiply-adds for each amplitude; and the predicted milliseconds."""

_LONG = ("brick_56", "qv_square", "su4_any_14")
"""Families whose shorter siblings say the same."""

FAMILIES: dict[str, Callable[[int], list[Gate]]] = {
    **{name: family for name, family in held_out.FAMILIES.items() if name not in _LONG},
    "grover": partial(held_out.grover, rounds=1),  # in rz, sx, x and cz a round has 34,000 gates
    **textbook.FAMILIES,
}


@dataclass(frozen=True)
class Machine:
    """A machine, as planning sees it: a shape, the bytes of an amplitude, levels above a device, and its rates."""

    shape: Shape
    precision: Precision = SINGLE
    levels: Levels | None = None
    rates: Rates = H200


def _cpu() -> Machine:
    """Sixteen cores; a pass takes as long as `Shape.balance` multiply-adds, and only ratios of its times mean much."""
    shape = CpuDevice().shape("complex64")
    return Machine(shape, rates=cpu_rates(shape, threads=16))


_SLICE = 16
_LAYERS = (Layer(1, "near", 4e11), Layer(1, "far", 5e10))

MACHINES = {
    "gpu single": Machine(shape_of(SINGLE, tensor=True)),
    "gpu double": Machine(shape_of(DOUBLE), precision=DOUBLE),
    "cpu single": _cpu(),
    "3 migration wires": Machine(shape_of(SINGLE), levels=Levels(WIRES - 3, 0, _SLICE)),
    "2 devices": Machine(shape_of(SINGLE), levels=Levels(WIRES - 1, 1, _SLICE)),
    "1 migration wire, 4 devices": Machine(shape_of(SINGLE), levels=Levels(WIRES - 3, 2, _SLICE, layers=_LAYERS)),
}
"""Between them they have all candidate plans: tensor cores or none, tiles in registers or in vectors, passes and
exchanges, alone and together."""

Counts = dict[str, list[float]]


def circuits() -> Iterator[tuple[str, Circuit]]:
    """Return all circuits by name."""
    stored = transpiled_circuits.circuits()
    for name, family in FAMILIES.items():
        yield name, circuit_of(family(WIRES), WIRES)
        yield f"{name} in rz, sx, x, cz", circuit_of(stored[name], WIRES)


def counted(circuit: Circuit, machine: Machine, fresh: int) -> list[float]:
    """Return one row: the figures of `COLUMNS` of one plan, to four digits."""
    instructions = cast(tuple[Unitary, ...], circuit.instructions)
    at = Layout.identity(WIRES)
    plan = make_plan(instructions, WIRES, at, machine.shape, fresh, machine.levels, place=bool(fresh))
    found = summary(plan, machine.precision, machine.rates)
    passes = found.bytes_moved / machine.precision.storage.nbytes(2 << WIRES)
    motions = found.exchanges, found.passes
    figures = found.sweeps + found.wide, passes, *motions, found.fma / (1 << WIRES), 1e3 * found.seconds
    return [float(f"{figure:.4g}") for figure in figures]


def counts(names: Mapping[str, Machine] = MACHINES, every: int = 1) -> Counts:
    """Return rows by circuit, machine and start: all of them, or one of so many."""
    rows: Counts = {}
    for number, (circuit_name, circuit) in enumerate(circuits()):
        for shift, (name, machine) in enumerate(names.items()):
            for start, fresh in (("from zero", (1 << WIRES) - 1), ("there", 0)):
                if (number + shift + bool(fresh)) % every == 0:
                    rows[f"{circuit_name} | {name} | {start}"] = counted(circuit, machine, fresh)
    return rows


def golden() -> Counts:
    """Return the rows of the file."""
    found: Counts = json.loads(FILE.read_text())["rows"]
    return found


def bless(rows: Counts) -> None:
    """Write the file, a row in a line."""
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(row)}" for name, row in rows.items())
    FILE.write_text(f'{{"columns": {json.dumps(COLUMNS)},\n"rows": {{\n{lines}\n}}}}\n')


def differences(before: Counts, after: Counts) -> list[str]:
    """Return a line for each row that is different, and geometric means for each machine; nothing if all are equal."""
    lines = []
    for name in [*before, *(name for name in after if name not in before)]:
        old, new = before.get(name), after.get(name)
        if old is None or new is None:
            lines.append(f"{name}: {'new' if new else 'gone'}")
        elif old != new:
            found = [f"{column} {a:g} → {b:g}" for column, a, b in zip(COLUMNS, old, new, strict=True) if a != b]
            lines.append(f"{name}: {', '.join(found)}")
    return [*lines, *_means(before, after)] if lines else []


def _means(before: Counts, after: Counts) -> Iterator[str]:
    """Return a line for each machine: the geometric mean of each figure where it is not 0, and the worst time."""
    for machine in MACHINES:
        names = [name for name in before if name in after and name.split(" | ")[1] == machine]
        ratios = {
            column: {name: after[name][at] / before[name][at] for name in names if before[name][at] and after[name][at]}
            for at, column in enumerate(COLUMNS)
        }
        if names:
            means = [f"{column} {geometric_mean(of.values()):.4f}" for column, of in ratios.items() if of]
            yield f"{machine}, geometric mean: {', '.join(means)}; worst time {_worst(ratios['ms'])}"


def _worst(ratios: Mapping[str, float]) -> str:
    name = max(ratios, key=lambda each: ratios[each])
    return f"{ratios[name]:.3f} ({name.split(' | ')[0]})"


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bless", action="store_true", help="write the file anew")
    given = parser.parse_args()
    rows = counts()
    found = differences(golden() if FILE.exists() else {}, rows)
    print("\n".join(found) or f"{len(rows)} plans have the counts of {FILE.name}")
    if given.bless:
        bless(rows)
    elif found:
        sys.exit("The planner makes other plans. If they are meant: python -m tools.golden_counts --bless")


if __name__ == "__main__":
    main()
