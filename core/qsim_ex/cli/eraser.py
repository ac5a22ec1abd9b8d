"""The circuit of the demonstration: a double slit whose path is marked, and the mark erased.

A particle can be at 2^n places. It passes one of two slits, and one more qubit, the marker, is flipped if it took
the second. Far behind the slits the momentum decides where it lands, so the screen shows the Fourier transform of
the slits. The path is known to the marker, and so the screen shows no fringes. If the marker is measured in the
basis |0⟩ ± |1⟩, the path can no longer be known: the shots that found + show fringes again, and the shots that found −
show fringes in the gaps of these (Scully and Drühl, Physical Review A 25, 2208, 1982).
"""

from __future__ import annotations

import math

from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.frameworks.frontends import NeutralGate

PLACES = 11
"""The number of wires that hold the place; the marker is the wire after them."""

MARKER = PLACES
NUM_QUBITS = PLACES + 1
OUTCOMES = 1 << PLACES

WIDTH_WIRES = 2
"""A slit is 2^2 places wide."""

SLIT_WIRE = 3
"""The wire that distinguishes the slits: they are 2^3 places apart."""


def gates() -> list[NeutralGate]:
    """Return slits, marker, Fourier transform and eraser, without measurements."""
    made: list[NeutralGate] = [("h", (wire,), ()) for wire in (*range(WIDTH_WIRES), SLIT_WIRE)]
    made.append(("z", (0,), ()))  # alternating signs: the middle of the screen is the middle of the picture
    made.append(("cx", (SLIT_WIRE, MARKER), ()))
    made += fourier(range(PLACES))
    made.append(("h", (MARKER,), ()))
    return made


def fourier(wires: range) -> list[NeutralGate]:
    """Return the quantum Fourier transform, wires least significant first (Nielsen and Chuang, section 5.1)."""
    made: list[NeutralGate] = []
    for high in reversed(wires):
        made.append(("h", (high,), ()))
        made += [("cp", (low, high), (math.pi / 2 ** (high - low),)) for low in reversed(range(wires.start, high))]
    made += [("swap", (low, high), ()) for low, high in zip(wires, reversed(wires), strict=True) if low < high]
    return made


def circuit() -> Circuit:
    """Return the engine's circuit: the state is saved, then wire k is measured into classical bit k."""
    builder = CircuitBuilder(NUM_QUBITS, NUM_QUBITS)
    for name, wires, angles in gates():
        builder.gate(name, wires, *angles)
    return builder.save().measure(range(NUM_QUBITS), range(NUM_QUBITS)).build()


def screens(counts: dict[int, int]) -> tuple[dict[int, int], dict[int, int]]:
    """Return the counts of places among the shots whose marker was +, and among those with −."""
    found: tuple[dict[int, int], dict[int, int]] = ({}, {})
    for value, count in counts.items():
        found[value >> MARKER][value & OUTCOMES - 1] = count
    return found
