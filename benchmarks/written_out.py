"""A form written out again as a circuit, and how long today's planner says that it takes beside the circuit itself:
``python -m benchmarks.written_out``. What is written out does what the circuit does, but for the order of its gates.

A rotation about a diagonal string is a phase of a parity. Any other one is RX or RY of one wire, between controlled
Pauli gates that take its string there. The Clifford operator at the end is gates of one wire and CX, wire after wire.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import cast

from benchmarks.engine import circuit_of
from benchmarks.forms import BASES, LARGE, transpiled
from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.observables import PauliString
from qsim_ex.circuit.ops import Unitary, wires_of
from qsim_ex.planning.cost.summary import summary
from qsim_ex.planning.form import Clifford, Form, PauliRotation, form_of
from qsim_ex.planning.planner import make_plan
from qsim_ex.steps import Layout
from tools.golden_counts import FAMILIES, MACHINES

MACHINE = MACHINES["gpu single"]


def _rotate(builder: CircuitBuilder, rotation: PauliRotation) -> None:
    """Append one rotation."""
    x, z = rotation.pauli.x, rotation.pauli.z
    if not x:
        wires = wires_of(z)
        builder.pauli_rotation(rotation.angle, "Z" * len(wires), wires)
        return
    pivot, *_ = wires_of(x)
    others = [wire for wire in wires_of(x | z) if wire != pivot]
    names = ["IXZY"[(x >> wire & 1) + 2 * (z >> wire & 1)] for wire in others]
    around = [(f"c{name.lower()}", (pivot, wire)) for name, wire in zip(names, others, strict=True)]
    for name, wires in around:
        builder.gate(name, wires)
    builder.gate("ry" if z >> pivot & 1 else "rx", (pivot,), rotation.angle)
    for name, wires in reversed(around):
        builder.gate(name, wires)


def _before(image: PauliString, name: str, wires: tuple[int, ...]) -> PauliString:
    """Return G†PG for H, S and CX."""
    x, z, sign = image.x, image.z, image.coefficient
    if name == "cx":
        control, target = wires
        both = (x >> control) & (z >> target) & ~((x >> target) ^ (z >> control)) & 1
        x ^= (x >> control & 1) << target
        z ^= (z >> target & 1) << control
        return PauliString(x, z, -sign if both else sign)
    (wire,) = wires
    has_x, has_z = x >> wire & 1, z >> wire & 1
    if name == "h":
        return PauliString(x ^ (has_x ^ has_z) << wire, z ^ (has_x ^ has_z) << wire, -sign if has_x & has_z else sign)
    return PauliString(x, z ^ has_x << wire, -sign if has_x & ~has_z & 1 else sign)  # S†XS = −Y, S†YS = X


class _Synthesis:
    """Gates that make up a Clifford operator: gates before it make it the identity, wire after wire."""

    def __init__(self, clifford: Clifford) -> None:
        self.xs, self.zs = list(clifford.x_images), list(clifford.z_images)
        self.gates: list[tuple[str, tuple[int, ...]]] = []
        for wire in range(len(self.xs)):
            self._to_x(wire, self.xs)
            if self.zs[wire] != PauliString(0, 1 << wire, self.zs[wire].coefficient):
                self._before("h", wire)
                self._to_x(wire, self.zs)  # gates that leave Z of the wire as it is
                self._before("h", wire)
            if self.xs[wire].coefficient == -1:
                self._before("s", wire)
                self._before("s", wire)
            if self.zs[wire].coefficient == -1:
                for name in "hssh":
                    self._before(name, wire)

    def _to_x(self, wire: int, images: list[PauliString]) -> None:
        """Let the image of a wire be X there, or its negative."""
        for other in wires_of(images[wire].x | images[wire].z):
            if not images[wire].x >> other & 1:
                self._before("h", other)
            elif images[wire].z >> other & 1:
                self._before("s", other)
        if not images[wire].x >> wire & 1:
            self._before("cx", wires_of(images[wire].x)[0], wire)
        for other in wires_of(images[wire].x):
            if other != wire:
                self._before("cx", wire, other)

    def _before(self, name: str, *wires: int) -> None:
        self.xs[:] = [_before(image, name, wires) for image in self.xs]
        self.zs[:] = [_before(image, name, wires) for image in self.zs]
        self.gates.append(("sdg" if name == "s" else name, wires))


def written_out(form: Form, *, clifford: bool = True) -> Circuit:
    """Return a circuit that does what a form without blocks does, but for a phase. clifford: also its end."""
    assert not form.blocks
    builder = CircuitBuilder(form.num_wires)
    for rotation in form.rotations:
        _rotate(builder, rotation)
    if clifford:
        for name, wires in _Synthesis(form.clifford).gates:
            builder.gate(name, wires)
    return builder.build()


def milliseconds(circuit: Circuit) -> float:
    """Return how long a circuit takes from |0…0⟩ on one device, as the planner predicts."""
    instructions, wires = cast(tuple[Unitary, ...], circuit.instructions), circuit.num_qubits
    plan = make_plan(instructions, wires, Layout.identity(wires), MACHINE.shape, (1 << wires) - 1, place=True)
    return 1e3 * summary(plan, MACHINE.itemsize, MACHINE.rates).seconds


def row(name: str, wires: int, bases: list[str]) -> Iterator[str]:
    """Yield the times of a family, as it is written and in some bases, beside its form: written out, and without C."""
    gates = FAMILIES[name](wires)
    for circuit in (circuit_of(gates, wires), *(transpiled(gates, wires, *BASES[basis]) for basis in bases)):
        form = form_of(circuit)
        out = "blocks"
        if not form.blocks:
            out = f"{milliseconds(written_out(form)):.3g}, {milliseconds(written_out(form, clifford=False)):.3g}"
        yield f"{milliseconds(circuit):.3g} → {out}"


def main() -> None:
    """Print a row for each family."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", choices=FAMILIES, default=[name for name in FAMILIES if name not in LARGE])
    parser.add_argument("--bases", nargs="*", choices=BASES, default=["cz", "r cz"])
    parser.add_argument("--wires", type=int, default=28)
    given = parser.parse_args()
    print("family | as | " + " | ".join(given.bases))
    for name in given.only:
        print(name, "|", " | ".join(row(name, given.wires, given.bases)), flush=True)


if __name__ == "__main__":
    main()
