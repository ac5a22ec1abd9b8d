"""Leakage and loss: channels on a qubit and a second wire, which says that the qubit is gone.

Qubits have no third level. A second wire has it: `leakage` acts on a qutrit whose level is the value of two wires, as
`qsim_ex_cirq` stores qutrits, and `heralded_loss` puts the qubit into the completely mixed state and flips a herald. A
gate that a leaked qubit does not feel is controlled by its second wire being 0.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.noise.channels import pauli_channel
from qsim_ex.errors import NoiseError

Kraus = NDArray[np.complex128]


def leakage(rate: float, seepage: float = 0.0) -> Kraus:
    """Return the channel on a qubit and its leakage wire that moves level 1 to level 2, and back.

    The level is the value of both wires, ``wires[0]`` the least significant bit: 00 and 01 are the qubit's, 10 is level
    2, and 11 is not used and stays. Level 1 leaks with probability `rate`, and level 2 returns to it with probability
    `seepage`. Both jumps are incoherent, and what stays keeps its phase (Wood and Gambetta, Physical Review A 97,
    032306 (2018), whose rates L1 and L2, means over the levels of each subspace, are rate/2 and seepage).
    """
    for name, value in (("rate", rate), ("seepage", seepage)):
        if not 0 <= value <= 1:
            raise NoiseError(f"leakage: expected a {name} from 0 to 1, got {value!r}; pass a probability.")
    matrices = np.zeros((3, 4, 4), dtype=np.complex128)
    matrices[0] = np.diag([1, math.sqrt(1 - rate), math.sqrt(1 - seepage), 1])
    matrices[1, 2, 1], matrices[2, 1, 2] = math.sqrt(rate), math.sqrt(seepage)
    return np.array([matrix for matrix in matrices if matrix.any()])


def heralded_loss(probability: float) -> Kraus:
    """Return the channel on a qubit and its herald that loses the qubit with a probability, and flips the herald then.

    A lost qubit is in the completely mixed state, as Stim's HERALDED_ERASE has it: the identity, X, Y and Z are as
    likely as each other. This is a mixture of products of Pauli matrices. A loss that nothing heralds is
    ``reset_channel(p)`` for a new qubit in |0⟩, and ``depolarizing(p)`` for a completely mixed one.
    """
    if not 0 <= probability <= 1:
        raise NoiseError(f"heralded_loss: expected a probability from 0 to 1, got {probability!r}; pass one.")
    return pauli_channel({letter + "X": probability / 4 for letter in "IXYZ"})
