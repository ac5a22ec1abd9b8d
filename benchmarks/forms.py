"""The form of each family in each basis: ``python -m benchmarks.forms``.

A row has the rotations of a family as it is written and as Qiskit's transpiler writes it in five ways, "=" where the
list is the very one of the circuit as it is written, the number of its blocks, and the microseconds that a gate takes.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from benchmarks.engine import circuit_of
from benchmarks.gates import Gate
from benchmarks.warm import in_qiskit
from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.planning.form import TOLERANCE, form_of
from tools.golden_counts import FAMILIES

BASES: dict[str, tuple[tuple[str, ...], int]] = {
    "cx": (("rz", "sx", "x", "cx"), 1),
    "cz": (("rz", "sx", "x", "cz"), 1),
    "cz 0": (("rz", "sx", "x", "cz"), 0),
    "r cz": (("r", "cz"), 1),
    "rzz": (("rx", "ry", "rz", "rzz"), 1),
}
"""For each basis its gates, and the level at which circuits are transpiled."""

LARGE = ("grover",)
"""Families that have more than ten thousand gates once they are transpiled."""


def transpiled(gates: Sequence[Gate], wires: int, basis: Sequence[str], level: int) -> Circuit:
    """Return gates in a basis as Qiskit's transpiler writes them at some level, with the phase that it says."""
    made = in_qiskit(gates, wires, basis, level)
    builder = CircuitBuilder(wires)
    builder.gate("global_phase", (), float(made.global_phase))
    for each in made.data:
        on = tuple(made.find_bit(qubit).index for qubit in each.qubits)
        builder.gate(each.operation.name, on, *map(float, each.operation.params))
    return builder.build()


def written(family: Callable[[int], list[Gate]], wires: int) -> Iterator[tuple[str, Circuit]]:
    """Yield a family as it is written, and in each basis."""
    gates = family(wires)
    yield "as", circuit_of(gates, wires)
    for basis, (names, level) in BASES.items():
        yield basis, transpiled(gates, wires, names, level)


def row(circuits: Iterator[tuple[str, Circuit]], tolerance: float) -> str:
    """Return the counts of one family."""
    out, keys = [], []
    for _, circuit in circuits:
        begin = time.process_time()
        form = form_of(circuit, tolerance)
        spent = (time.process_time() - begin) / max(1, circuit.num_gates)
        keys.append(form.key)
        blocks = f"+{len(form.blocks)}" if form.blocks else ""
        out.append(f"{len(form.rotations)}{blocks}{'=' if form.key == keys[0] else ''} ({spent * 1e6:.2f})")
    return " | ".join(out)


def main() -> None:
    """Print a row for each family."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", choices=FAMILIES, default=[name for name in FAMILIES if name not in LARGE])
    parser.add_argument("--wires", type=int, default=28)
    parser.add_argument("--tolerance", type=float, default=TOLERANCE)
    given = parser.parse_args()
    print("family | as | " + " | ".join(BASES))
    for name in given.only:
        print(name, "|", row(partial(written, FAMILIES[name], given.wires)(), given.tolerance), flush=True)


if __name__ == "__main__":
    main()
