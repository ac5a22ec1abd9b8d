"""A form written out again as a circuit, and how long today's planner says that it takes beside the circuit itself:
``python -m benchmarks.written_out``. What is written out does what the circuit does, but for the order of its gates.

A rotation about a diagonal string is a phase of a parity. Any other one is RX or RY of one wire, between controlled
Pauli gates that take its string there. The Clifford operator at the end is H on as few wires as possible between CX,
CZ and S.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
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


_INVERSE = {"s": "sdg"}


def before(image: PauliString, name: str, wires: tuple[int, ...]) -> PauliString:
    """Return G†PG for a gate G of X, Z, S, CX and CZ."""
    x, z, sign = image.x, image.z, image.coefficient
    first, last = wires[0], wires[-1]
    has_x, has_z, last_x, last_z = (bits >> wire & 1 for wire in (first, last) for bits in (x, z))
    match name:
        case "x":
            return PauliString(x, z, -sign if has_z else sign)
        case "z":
            return PauliString(x, z, -sign if has_x else sign)
        case "s":  # S†XS = −Y, S†YS = X
            return PauliString(x, z ^ has_x << first, -sign if has_x > has_z else sign)
        case "cx":
            negative = has_x & last_z & (last_x == has_z)
            return PauliString(x ^ has_x << last, z ^ last_z << first, -sign if negative else sign)
        case _:
            negative = has_x & last_x & (has_z ^ last_z)
            return PauliString(x, z ^ last_x << first ^ has_x << last, -sign if negative else sign)


def _product(a: PauliString, b: PauliString, power: int = 0) -> PauliString:
    """Return the product of two, times a power of i that makes it Hermitian."""
    x, z = a.x ^ b.x, a.z ^ b.z
    power += a.num_y + b.num_y + 2 * (a.z & b.x).bit_count() - (x & z).bit_count()
    return PauliString(x, z, a.coefficient * b.coefficient * (-1) ** (power // 2))


class _Synthesis:
    """Gates that make up a Clifford operator: CX, CZ and S, then H on as few wires as possible, then CX, CZ and S.

    Gates before it and behind it make it the identity. What the images of Z flip has the rank that is the number of H.
    """

    def __init__(self, clifford: Clifford) -> None:
        self.xs, self.zs = list(clifford.x_images), list(clifford.z_images)
        self._first: list[tuple[str, tuple[int, ...]]] = []
        self._last: list[tuple[str, tuple[int, ...]]] = []
        flipping = self._separate()
        self._flips_to_units(flipping)
        self._phases_to_units([wire for wire in range(len(self.xs)) if wire not in flipping])
        self._without_phases(flipping, self.zs)
        self._without_flips(flipping)
        for wire in flipping:
            self._behind("h", wire)
        self._without_phases(range(len(self.xs)), self.xs)
        for wire in range(len(self.xs)):
            if self.xs[wire].coefficient == -1:
                self._before("z", wire)
            if self.zs[wire].coefficient == -1:
                self._before("x", wire)
        self.gates = [(_INVERSE.get(name, name), wires) for name, wires in (*self._first, *reversed(self._last))]

    def _separate(self) -> list[int]:
        """Let the images of Z of some wires flip independent strings, and the others none; return the first ones."""
        pivots: dict[int, int] = {}  # of a bit of X the wire
        for wire in range(len(self.zs)):
            while (x := self.zs[wire].x) and (top := x.bit_length() - 1) in pivots:
                self._behind("cx", pivots[top], wire)
            if self.zs[wire].x:
                pivots[self.zs[wire].x.bit_length() - 1] = wire
        return sorted(pivots.values())

    def _flips_to_units(self, flipping: list[int]) -> None:
        """Let each of some images of Z flip its own wire alone."""
        for wire in flipping:
            mine = ~sum(1 << other for other in flipping if other < wire)
            if not self.zs[wire].x >> wire & 1:
                self._before("cx", wires_of(self.zs[wire].x & mine)[0], wire)
            for other in wires_of(self.zs[wire].x):
                if other != wire:
                    self._before("cx", wire, other)

    def _phases_to_units(self, others: list[int]) -> None:
        """Let each of some images of Z, which flip nothing, be Z of its own wire."""
        for wire in others:
            mine = ~sum(1 << other for other in others if other < wire)
            if not self.zs[wire].z >> wire & 1:
                self._before("cx", wire, wires_of(self.zs[wire].z & mine)[0])
            for other in wires_of(self.zs[wire].z):
                if other != wire:
                    self._before("cx", other, wire)

    def _without_phases(self, wires: Iterable[int], images: list[PauliString]) -> None:
        """Let images that flip their own wires be X there, by phases before the operator."""
        for wire in wires:
            for other in wires_of(images[wire].z):
                if other == wire:
                    self._before("s", wire)
                else:
                    self._before("cz", wire, other)

    def _without_flips(self, flipping: list[int]) -> None:
        """Let the images of X of some wires, whose Z is X, be Z there, by phases behind the operator."""
        for wire in flipping:
            flips, phases = self.xs[wire].x, self.xs[wire].z & ~(1 << wire)
            for other in wires_of(flips | phases):
                if other == wire:
                    self._behind("s", wire)
                else:
                    self._behind("cz", wire, other)

    def _before(self, name: str, *wires: int) -> None:
        self.xs[:] = [before(image, name, wires) for image in self.xs]
        self.zs[:] = [before(image, name, wires) for image in self.zs]
        self._first.append((name, wires))

    def _behind(self, name: str, *wires: int) -> None:
        xs, zs, first, last = self.xs, self.zs, wires[0], wires[-1]
        match name:
            case "h":
                xs[first], zs[first] = zs[first], xs[first]
            case "s":
                xs[first] = _product(xs[first], zs[first], 3)
            case "cx":
                xs[first], zs[last] = _product(xs[first], xs[last]), _product(zs[first], zs[last])
            case _:
                xs[first], xs[last] = _product(xs[first], zs[last]), _product(xs[last], zs[first])
        self._last.append((name, wires))


def append_clifford(builder: CircuitBuilder, clifford: Clifford) -> None:
    """Append gates that are a Clifford operator, but for a phase."""
    for name, wires in _Synthesis(clifford).gates:
        builder.gate(name, wires)


def written_out(form: Form, *, clifford: bool = True) -> Circuit:
    """Return a circuit that does what a form without blocks does, but for a phase. clifford: also its end."""
    assert not form.blocks
    builder = CircuitBuilder(form.num_wires)
    for rotation in form.rotations:
        _rotate(builder, rotation)
    if clifford:
        append_clifford(builder, form.clifford)
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
