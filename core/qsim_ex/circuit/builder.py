"""The builder of circuits: gate by gate, with every argument checked.

The roles of a gate's wires are in its row of the gate table (`placed_gate`). Numbers are collected gate by gate, and
computed at the end (`operands`). Blocks are opened and closed in `blocks`, matrices are appended in `matrix_builder`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import chain, repeat
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qsim_ex import thresholds
from qsim_ex.circuit import check, many, quarters, saves
from qsim_ex.circuit.blocks import BlockBuilder, OpenBlock
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.gates import GATES, unknown
from qsim_ex.circuit.matrix_builder import MatrixBuilder
from qsim_ex.circuit.ops import (
    Initialize,
    Instruction,
    Measure,
    Op,
    Permutation,
    Reset,
    Save,
    SetState,
)
from qsim_ex.circuit.placed_gate import OperandBuilder, PlacedGate, placed_gate
from qsim_ex.errors import InvalidInput, ParameterError, WireError
from qsim_ex.later import later
from qsim_ex.native import objects

if TYPE_CHECKING:
    from qsim_ex.circuit import observables
else:
    observables = later("qsim_ex.circuit.observables")


class CircuitBuilder(BlockBuilder, MatrixBuilder):
    """Builds a `Circuit` gate by gate; every method checks its arguments and returns the builder.

    Wires are integers from 0; ``wires[0]`` is the least significant bit of a matrix index. `controls` are further
    wires, `control_values` an integer whose bit k is the required value of ``controls[k]`` (all 1 by default).
    """

    _takes_arrays = False  # whether parameters may be arrays, as those of a sweep

    def __init__(self, num_qubits: int, num_clbits: int = 0) -> None:
        self.num_qubits = check.count(num_qubits, "num_qubits")
        self.num_clbits = check.count(num_clbits, "num_clbits")
        self._takes_quarters = self.num_qubits >= thresholds.now.quarter_wires
        self._instructions: list[Instruction] = []
        self._open: list[OpenBlock] = []
        self._variables: list[int] = []
        self._records: dict[str, int] = {}
        self._operands = OperandBuilder()
        self._shared: dict[PlacedGate, tuple[Op, ...]] = {}  # gates that share their operands, which come again
        self._channels = {}
        self._checked = {}
        self._repeated = {}

    def __repr__(self) -> str:
        size = f"{self.num_qubits} wires, {self.num_clbits} classical bits, {len(self._instructions)} instructions"
        return f"{type(self).__name__}({size})"

    @property
    def num_instructions(self) -> int:
        """The number of instructions so far."""
        return len(self._instructions)

    def since(self, number: int) -> tuple[Instruction, ...]:
        """Return the instructions so far without the first `number`."""
        return tuple(self._instructions[number:])

    def taken(self, number: int) -> tuple[Instruction, ...]:
        """Remove the instructions so far but for the first `number`, and return them; `again` takes them back."""
        found = self.since(number)
        del self._instructions[number:]
        return found

    def again(self, instructions: Iterable[Instruction]) -> Self:
        """Append instructions that this builder has returned from `since` or `taken`, with the operands they had."""
        self._instructions.extend(instructions)
        return self

    def gate(
        self,
        name: str,
        wires: Sequence[int],
        *parameters: float,
        controls: Sequence[int] = (),
        control_values: int | None = None,
    ) -> Self:
        """Append a gate of the table by its name, with angles in radians.

        Raises `UnknownInstruction`, `WireError` or `ParameterError`.
        """
        row = GATES.get(name)
        if row is None:
            raise unknown(name)
        if len(parameters) != len(row.parameters):
            raise ParameterError(
                f"gate {name!r}: expected {len(row.parameters)} parameters ({', '.join(row.parameters) or 'none'}), "
                f"got {len(parameters)}; pass a number for each."
            )
        if parameters:
            self._check_finite(parameters, name)
        values = -1 if control_values is None else control_values
        try:
            on, under = tuple(wires), tuple(controls)
        except TypeError:
            raise WireError(
                f"gate {name!r}: expected lists of wires and controls, got {wires!r} and {controls!r}; pass [0], "
                "which is wire 0."
            ) from None
        placed = placed_gate(name, on, self.num_qubits, under, values)
        if self._takes_quarters and not controls and (turned := quarters.quarter(name, parameters)):
            placed, parameters = placed_gate(turned, placed.wires, self.num_qubits), ()
        self._put(placed, parameters)
        return self

    def gates(
        self, names: Sequence[str], wires: Sequence[tuple[int, ...]], parameters: Sequence[Sequence[float]]
    ) -> Self:
        """Append many gates of the table: gate k is ``names[k]`` on ``wires[k]`` with ``parameters[k]``.

        It takes a fraction of the time of many calls of `gate`. Raises what `gate` raises, for the first gate that is
        wrong; the gates before it are appended then.
        """
        rows, angles = quarters.without_quarters(names, parameters) if self._takes_quarters else (names, parameters)
        try:
            placed = list(map(placed_gate, rows, wires, repeat(self.num_qubits)))
            right = [gate.row.parameters for gate in placed] == list(map(len, angles)) and self._are_finite(angles)
        except (InvalidInput, TypeError):
            right = False
        if right and len(placed) >= thresholds.now.gates_at_once and not self._takes_arrays:
            distinct, numbers = objects.numbered(placed)
            values = np.fromiter(chain.from_iterable(angles), np.float64)
            self.row_gates(*many.RowGates.of(distinct), numbers, values)
        elif right:
            self._put_all(placed, angles)
        else:
            for name, on, given in zip(names, wires, parameters, strict=True):
                self.gate(name, on, *given)
        return self

    def row_gates(
        self,
        gates: many.RowGates,
        keys: NDArray[np.uint64],
        numbers: NDArray[np.uint32],
        parameters: NDArray[np.float64],
    ) -> int | None:
        """Append many gates, and return the mask of their wires; None if these are wrong. See `many.append_gates`."""
        arrays = keys, numbers, parameters
        return many.append_gates(self._instructions, self._operands, gates, *arrays, self.num_qubits)

    def _put(self, gate: PlacedGate, parameters: Sequence[float]) -> None:
        """Append one gate whose arguments were checked."""
        self._put_all((gate,), (parameters,))

    def _put_all(self, gates: Iterable[PlacedGate], parameters: Iterable[Sequence[float]]) -> None:
        """Append gates whose arguments were checked."""
        append, extend, operands = self._instructions.append, self._instructions.extend, self._operands
        shared, whole, factored = self._shared, operands.whole, operands.factored
        size = operands.size
        new = tuple.__new__  # a named tuple's own takes twice as long
        for gate, given in zip(gates, parameters, strict=True):
            row = gate.row
            if row.shared:
                known = shared.get(gate)
                if known is None:
                    operands.size = size
                    known = shared[gate] = operands.shared_ops(gate)
                    size = operands.size
                extend(known)
                continue
            alike = (factored if row.of_factors else whole)[row.name]
            alike.offsets.append(size)
            alike.parameters.append(given)
            for mixes, reads, when, of, operand, name, unitary in gate.ops:
                append(new(Op, (mixes, reads, when, of, size + operand, name, unitary)))
            size += row.size
        operands.size = size

    def permutation(self, indices: Sequence[int], wires: Sequence[int]) -> Self:
        """Append the basis permutation that moves value x of `wires` to ``indices[x]``."""
        numbers = check.wires(wires, self.num_qubits, "permutation")
        self._instructions.append(Permutation(numbers, check.permutation(indices, len(numbers))))
        return self

    def global_phase(self, angle: float) -> Self:
        """Multiply the state by e^{i·angle}."""
        return self.gate("global_phase", (), angle) if angle else self

    def initialize(self, amplitudes: ArrayLike, wires: Sequence[int]) -> Self:
        """Put wires, which must be in |0>, into a normalised state of 2^k amplitudes; raises `StateError`."""
        numbers = check.wires(wires, self.num_qubits, "initialize")
        vector = check.state(amplitudes, len(wires))
        offset = self._operands.literal(vector)
        self._instructions.append(Initialize(numbers, offset))
        return self

    def measure(self, wires: Sequence[int], clbits: Sequence[int]) -> Self:
        """Measure ``wires[k]`` into classical bit ``clbits[k]``."""
        numbers = check.wires(wires, self.num_qubits, "measure")
        self._instructions.append(Measure(numbers, check.clbits(clbits, len(numbers), self.num_clbits)))
        return self

    def reset(self, wires: Sequence[int]) -> Self:
        """Put wires into |0>."""
        self._instructions.append(Reset(check.wires(wires, self.num_qubits, "reset")))
        return self

    def save(
        self,
        label: str | None = None,
        what: str = "statevector",
        *,
        wires: Sequence[int] | None = None,
        how: str | None = None,
        observable: observables.PauliSum | None = None,
        values: Sequence[int] | None = None,
    ) -> Self:
        """Save a value of the state at this point under a label, by default the state vector.

        label: the name of `what` by default. what: a row of `circuit.saves.SAVE_KINDS`. wires: of probabilities,
        expectation values and density matrices; all wires by default. how: how the values of several trajectories are
        put together, see `circuit.saves.How`. observable: of an expectation value; its wire k is ``wires[k]``.
        values: the basis values whose amplitudes are saved.
        Raises `CircuitError` for a label that is taken and for arguments that do not fit, and `WireError`.
        """
        made = saves.checked(label, what, self.num_qubits, wires=wires, how=how, observable=observable, values=values)
        check.label(made.label, (i.label for i in self._instructions if isinstance(i, Save)))
        self._instructions.append(made)
        return self

    def set_statevector(self, amplitudes: ArrayLike, wires: Sequence[int] | None = None) -> Self:
        """Put all wires into a normalised state of 2^n amplitudes, whatever their state is; raises `StateError`.

        wires: an order of all wires, ``wires[0]`` least significant; by default wire k is bit k.
        """
        numbers = check.wires(range(self.num_qubits) if wires is None else wires, self.num_qubits, "set_statevector")
        if len(numbers) != self.num_qubits:
            raise WireError(
                f"set_statevector: expected all {self.num_qubits} wires, got {len(numbers)}; use reset and initialize "
                "for some of them."
            )
        vector = check.state(amplitudes, self.num_qubits)
        offset = self._operands.literal(vector)
        self._instructions.append(SetState(numbers, offset))
        return self

    def build(self) -> Circuit:
        """Return the circuit so far; more gates may be appended afterwards."""
        if self._open:
            self._check_closed()
        return Circuit(self.num_qubits, self.num_clbits, tuple(self._instructions), self._operands.operands())

    def _are_finite(self, parameters: Sequence[Sequence[float]]) -> bool:
        """Return whether all parameters of some gates are finite; raises TypeError if one is no number."""
        return all(map(math.isfinite, chain.from_iterable(parameters)))

    def _check_finite(self, parameters: tuple[float, ...], name: str) -> None:
        try:
            if all(map(math.isfinite, parameters)):
                return
        except TypeError:
            raise ParameterError(
                f"gate {name!r}: expected numbers as parameters, got {parameters}; bind or convert them, and pass them "
                f"one after another, as in gate('rz', [0], 0.3)."
            ) from None
        raise ParameterError(
            f"gate {name!r}: expected finite parameters, got one that is not finite: {parameters}; check how they were "
            "computed."
        )
