"""The program that computes a unitary: the work before a node, on wires that begin in Bell pairs with as many others.

Wire k begins in a Bell pair with wire n + k, on which nothing acts. So the state is Σ_c U|c⟩ ⊗ |c⟩ / √2^n, and its
amplitudes are the columns of U (Choi, Linear Algebra and its Applications 10, 285, 1975).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from qsim_ex.circuit.ops import Initialize
from qsim_ex.circuit.structure import straight_work
from qsim_ex.program.program import Program, Segment

BELL = np.array([[0, 1, 0.5**0.5, 0, 0, 0.5**0.5]], dtype=np.complex128)
"""The operands of the first segment: the constants 0 and 1, and the amplitudes of a Bell pair."""


def entangled(program: Program, node: int, num_wires: int) -> Program:
    """Return the program whose first segment makes the pairs, and whose others are those before a node."""
    pairs = Segment(straight_work(Initialize((wire, num_wires + wire), 2) for wire in range(num_wires)))
    before = [program.segment_at(place) for place in program.segment_places if place < node]
    return replace(program, make_nodes=lambda: (pairs, *before), choices=(), early=(), saves=(), memory={})
