"""A form written out in a frame that changes, and how long today's planner says that it takes: an experiment.
``python -m benchmarks.changing_frame``. `written_out` comes back to one frame behind each rotation; here a Pauli string
becomes diagonal when it is first used, and what takes it there stays, so that later strings are others.

At each step the first strings that can run are looked at: H on all wires that one flips, or CX onto the others and one
H. What lets most of the next rotations run, for each H, is done. It takes seconds in Python, and is there to be priced.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from benchmarks.engine import circuit_of
from benchmarks.written_out import append_clifford, before, milliseconds, written_out
from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.observables import PauliString
from qsim_ex.circuit.ops import wires_of
from qsim_ex.planning.form import Clifford, Form, PauliRotation, form_of
from tools.golden_counts import FAMILIES

LOOKED_AT = 200
"""The most rotations that are looked at for a choice."""

_FIRST, _IN_THE_WAY = 6, 60
"""How many strings may become diagonal next, and how many that wait are asked whether one commutes with them."""

Placed = tuple[str, tuple[int, ...]]


def behind(image: PauliString, name: str, wires: tuple[int, ...]) -> PauliString:
    """Return GPG† for a gate G of H, S†, CX."""
    if name == "h":
        (wire,) = wires
        has_x, has_z = image.x >> wire & 1, image.z >> wire & 1
        both = (has_x ^ has_z) << wire
        return PauliString(image.x ^ both, image.z ^ both, -image.coefficient if has_x & has_z else image.coefficient)
    return before(image, "s" if name == "sdg" else name, wires)  # CX is its own inverse


def commute(a: PauliString, b: PauliString) -> bool:
    """Return whether two strings commute."""
    return ((a.x & b.z).bit_count() + (a.z & b.x).bit_count()) % 2 == 0


def ways(string: PauliString) -> Iterator[list[Placed]]:
    """Yield ways to make a string diagonal."""
    flipped = wires_of(string.x)
    turned: list[Placed] = [("sdg", (wire,)) for wire in flipped if string.z >> wire & 1]
    yield [*turned, *(("h", (wire,)) for wire in flipped)]
    for pivot in dict.fromkeys((*flipped[:3], flipped[-1])) if len(flipped) > 1 else ():
        yield [*turned, *(("cx", (pivot, wire)) for wire in flipped if wire != pivot), ("h", (pivot,))]


class _Writer:
    """The rotations that wait, as the frame of now sees them, and the circuit so far."""

    def __init__(self, form: Form) -> None:
        self.builder = CircuitBuilder(form.num_wires)
        self.waiting: list[PauliRotation] = list(form.rotations)
        self.xs, self.zs = list(form.clifford.x_images), list(form.clifford.z_images)

    def run(self) -> None:
        """Run all diagonal rotations that nothing is in the way of, of those that are looked at."""
        left: list[PauliRotation] = []
        for rotation in self.waiting[: 4 * LOOKED_AT]:
            string = rotation.pauli
            if string.x or not all(commute(string, other.pauli) for other in left):
                left.append(rotation)
                continue
            wires = wires_of(string.z)
            self.builder.pauli_rotation(rotation.angle * string.coefficient.real, "Z" * len(wires), wires)
        self.waiting[: 4 * LOOKED_AT] = left

    def score(self, gates: list[Placed]) -> float:
        """Return how many rotations would run behind some gates, for each H."""
        found, blocked = 0, list[PauliString]()
        for rotation in self.waiting[:LOOKED_AT]:
            string = rotation.pauli
            for name, wires in gates:
                string = behind(string, name, wires)
            if not string.x and all(commute(string, other) for other in blocked):
                found += 1
            elif len(blocked) < _IN_THE_WAY:
                blocked.append(string)
        return found / (sum(name == "h" for name, _ in gates) + 0.5)

    def first(self) -> list[PauliString]:
        """Return some strings that could run, were they diagonal."""
        found: list[PauliString] = []
        for place, rotation in enumerate(self.waiting[:LOOKED_AT]):
            if all(commute(rotation.pauli, other.pauli) for other in self.waiting[:place]):
                found.append(rotation.pauli)
            if len(found) == _FIRST:
                break
        return found

    def step(self) -> None:
        """Change the frame."""
        gates = max(
            (way for string in self.first() for way in ways(string)), key=lambda way: (self.score(way), -len(way))
        )
        for name, wires in gates:
            self.builder.gate(name, wires)
            self.waiting = [PauliRotation(behind(one.pauli, name, wires), one.angle, one.layer) for one in self.waiting]
            self.xs = [behind(image, name, wires) for image in self.xs]
            self.zs = [behind(image, name, wires) for image in self.zs]


def in_changing_frame(form: Form, *, clifford: bool = True) -> Circuit:
    """Return a circuit that does what a form without blocks does, but for a phase; see `written_out`."""
    assert not form.blocks
    writer = _Writer(form)
    writer.run()
    while writer.waiting:
        writer.step()
        writer.run()
    if clifford:
        append_clifford(writer.builder, Clifford(tuple(writer.xs), tuple(writer.zs)))
    return writer.builder.build()


def main() -> None:
    """Print for each family its time as it is written, written out, and in a changing frame with and without C."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", choices=FAMILIES, default=["ghz", "qft", "ucc", "kernel", "iqp", "draper"])
    parser.add_argument("--wires", type=int, default=28)
    given = parser.parse_args()
    for name in given.only:
        circuit = circuit_of(FAMILIES[name](given.wires), given.wires)
        form = form_of(circuit)
        if form.blocks:
            continue
        found = (circuit, written_out(form), in_changing_frame(form), in_changing_frame(form, clifford=False))
        print(name, " | ".join(f"{milliseconds(one):.3g}" for one in found), flush=True)


if __name__ == "__main__":
    main()
