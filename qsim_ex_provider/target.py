"""The target for the transpiler: every standard gate on any qubits; it becomes wider with the circuits."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Self

from qiskit.circuit import (
    BoxOp,
    BreakLoopOp,
    ContinueLoopOp,
    ForLoopOp,
    Gate,
    IfElseOp,
    Instruction,
    Store,
    SwitchCaseOp,
    WhileLoopOp,
)
from qiskit.circuit import library as qiskit_library
from qiskit.circuit.library import get_standard_gate_name_mapping
from qiskit.transpiler import Target

from qsim_ex_provider.saves.instructions import SaveInstruction, SetStatevector
from qsim_ex_provider.saves.kinds import NOT_SUPPORTED, SAVES

CLASSES: dict[str, Any] = {
    "box": BoxOp,
    "break_loop": BreakLoopOp,
    "continue_loop": ContinueLoopOp,
    "diagonal": qiskit_library.DiagonalGate,
    "for_loop": ForLoopOp,
    "if_else": IfElseOp,
    "initialize": qiskit_library.Initialize,
    "kraus": Instruction,  # channels have no classes of their own, and are known by their names
    "mcphase": qiskit_library.MCPhaseGate,
    "mcx": qiskit_library.MCXGate,
    "multiplexer": qiskit_library.UCGate,
    "pauli": qiskit_library.PauliGate,
    "PauliEvolution": qiskit_library.PauliEvolutionGate,
    "permutation": qiskit_library.PermutationGate,
    "quantum_channel": Instruction,  # an error of Aer's
    **dict.fromkeys(SAVES, SaveInstruction),
    **dict.fromkeys(NOT_SUPPORTED, Instruction),
    "set_statevector": SetStatevector,
    "state_preparation": qiskit_library.StatePreparation,
    "store": Store,
    "superop": Instruction,
    "switch_case": SwitchCaseOp,
    "ucrx": qiskit_library.UCRXGate,
    "ucry": qiskit_library.UCRYGate,
    "ucrz": qiskit_library.UCRZGate,
    "unitary": qiskit_library.UnitaryGate,
    "while_loop": WhileLoopOp,
}
"""Instructions of any width, by the name that Qiskit gives them.

Control flow is among them so that the transpiler keeps it; a run says by name what it does not do yet.
"""


WIDTH = 160
"""Qubits of a target at first, as many as the widest devices in common use have.

Qiskit's passes take time in proportion to it: `transpile` with an ``initial_layout`` pads every circuit to this width.
"""

WIDEST = 1 << 16
"""The most qubits that a target is widened to; a circuit that is wider runs without `transpile`."""


class Width(int):
    """The number of qubits of a target that is widened for circuits, since the backend itself has no limit.

    Before it asks for the target, `transpile` compares a circuit's width with the backend's, and that is all that a
    backend learns of a circuit. To be less than another number up to `WIDEST` is therefore denied, and `widen` is
    called with that number. In everything else this is an int.
    """

    _widen: Callable[[int], None]

    def __new__(cls, value: int, widen: Callable[[int], None]) -> Self:
        """Return a number; widen: called with the width of a circuit that is wider."""
        made = super().__new__(cls, value)
        made._widen = widen
        return made

    def __lt__(self, other: int) -> bool:
        if int(self) >= other or other > WIDEST:
            return int(self) < other
        self._widen(other)
        return False

    def __ge__(self, other: int) -> bool:
        return not self < other

    def __reduce__(self) -> tuple[type[int], tuple[int]]:
        return int, (int(self),)


def build_target(num_qubits: int, basis_gates: frozenset[str] | None = None) -> Target:
    """Return a target in which every instruction acts on all qubits.

    basis_gates: names of the only gates that may stay, for a noise model that knows no others; instructions that are no
    gates stay anyway.
    """
    target = Target(description="qsim-ex: state vectors, all-to-all", num_qubits=num_qubits)
    for name, instruction in get_standard_gate_name_mapping().items():
        if basis_gates is None or name in basis_gates or not isinstance(instruction, Gate):
            target.add_instruction(instruction, name=name)
    for name, instruction_class in CLASSES.items():
        if basis_gates is None or name in basis_gates or not issubclass(instruction_class, Gate):
            target.add_instruction(instruction_class, name=name)
    return target


DEVICE_NEEDS_GATES = ("initialize",)
"""Instructions of any width that a device makes of its gates, so that the transpiler breaks them up."""


def device_target(target: Target) -> Target:
    """Return a copy of a device's target that also keeps what a simulator alone can do, such as saves and channels."""
    made = copy.deepcopy(target)
    for name, instruction_class in CLASSES.items():
        is_gate = issubclass(instruction_class, Gate) or name in DEVICE_NEEDS_GATES
        if not is_gate and name not in made.operation_names:
            made.add_instruction(instruction_class, name=name)
    return made
