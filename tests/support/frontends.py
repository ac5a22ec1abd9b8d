"""Frontends that exist for tests alone: one that is the engine itself, wrong ones, one that reads files, a broken one.

QSIM_EX_FRONTENDS names them, for example ``honest=support.frontends:honest``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from qsim_ex import CircuitBuilder, Simulator
from qsim_ex.errors import MissingPackage


class Honest:
    """A framework that is nothing but the engine."""

    name = "honest"

    def run_neutral(self, gates, num_qubits, shots, seed, options):
        """Build the circuit, run it."""
        builder = CircuitBuilder(num_qubits, num_qubits)
        for name, wires, angles in gates:
            builder.gate(name, wires, *angles)
        circuit = builder.save().measure(range(num_qubits), range(num_qubits)).build()
        result = Simulator(options).run(circuit, shots=shots, seed=seed)
        return result.saved["statevector"], result.counts(), result.metadata()


class WrongPhase(Honest):
    """A framework that loses the sign of one amplitude."""

    name = "wrong phase"

    def run_neutral(self, *args):
        """As the honest one, but for one sign."""
        psi, counts, metadata = super().run_neutral(*args)
        psi = np.array(psi)
        psi[np.argmax(abs(psi))] *= -1
        return psi, counts, metadata


class WrongShots(Honest):
    """A framework that moves one shot."""

    name = "wrong shots"

    def run_neutral(self, *args):
        """As the honest one, but for one shot."""
        psi, counts, metadata = super().run_neutral(*args)
        most, least = max(counts, key=counts.get), min(counts, key=counts.get)
        return psi, {**counts, most: counts[most] - 1, least: counts[least] + 1}, metadata


@dataclass(frozen=True)
class Info:
    """The facts that the reader below has of its files."""

    name: str = "flip"
    format: str = "flips"

    def format_bits(self, value: int) -> str:
        """Bits from 0 up."""
        return f"{value:b}"[::-1]


class Flips:
    """Reads files that hold numbers of wires to be flipped; waits for ever if told to."""

    name = "flips"
    suffixes = (".flip",)

    def load(self, path):
        """One X for each number, and measurements of all wires."""
        wires = [int(word) for word in path.read_text().split()]
        builder = CircuitBuilder(max(wires) + 1, max(wires) + 1)
        for wire in wires:
            builder.gate("x", [wire])
        return builder.measure(range(max(wires) + 1), range(max(wires) + 1)).build(), Info()


class Broken:
    """Reads nothing, since it has a bug."""

    name = "broken"
    suffixes = (".qasm",)

    def load(self, path):
        """Fail as bugs do."""
        raise ZeroDivisionError(f"{path} divided by zero")


honest, wrong_phase, wrong_shots, flips, broken = Honest(), WrongPhase(), WrongShots(), Flips(), Broken()


def __getattr__(name: str) -> Any:
    if name == "unbought":
        raise MissingPackage("the package has not been bought")
    raise AttributeError(name)
