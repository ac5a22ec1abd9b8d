"""The target for the transpiler: every standard gate on any qubits, without a width limit."""

from __future__ import annotations

from typing import Any

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


def build_target(basis_gates: frozenset[str] | None = None) -> Target:
    """Return a target in which every instruction acts on all qubits, however many there are.

    basis_gates: names of the only gates that may stay, for a noise model that knows no others; instructions that are no
    gates stay anyway.
    """
    target = Target(description="qsim-ex: state vectors, all-to-all, of any width", num_qubits=None)
    for name, instruction in get_standard_gate_name_mapping().items():
        if basis_gates is None or name in basis_gates or not isinstance(instruction, Gate):
            target.add_instruction(instruction, name=name)
    for name, instruction_class in CLASSES.items():
        if basis_gates is None or name in basis_gates or not issubclass(instruction_class, Gate):
            target.add_instruction(instruction_class, name=name)
    return target
