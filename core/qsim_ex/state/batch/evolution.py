"""Circuits, gates and matrices on a batch of states: planned once, and run on several states at a time."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

from numpy.typing import ArrayLike

from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.parameters.batched_gates import gate_of, unitary_of
from qsim_ex.circuit.parameters.bindings import Bindings
from qsim_ex.devices.memory import state_bytes
from qsim_ex.errors import CircuitError
from qsim_ex.execution.prepare import plan_of, prepare
from qsim_ex.execution.progress import Ticker, work_of
from qsim_ex.options import Options
from qsim_ex.placement import executor
from qsim_ex.placement import index_bits as at
from qsim_ex.placement.batch import Batch, rows_at_once
from qsim_ex.program.one_state import unitary_program
from qsim_ex.state.guard import Guard
from qsim_ex.state.initial import require_circuit
from qsim_ex.steps.plan import Plan


class BatchedWork:
    """The part of `BatchedStateVector` that runs circuits."""

    num_wires: int
    rows: int
    options: Options
    _guard: Guard
    _states: Batch
    _touched: int  # mask of the wires that may not be |0> in some state

    if TYPE_CHECKING:

        def close(self) -> None:
            """Free the memory; that of `MemoryOwner`."""

    def apply(
        self,
        circuit: Circuit,
        operands: Bindings | ArrayLike | None = None,
        cancel: threading.Event | None = None,
    ) -> Self:
        """Apply a circuit's unitary instructions to every state; measurements at its end are ignored.

        operands: the numbers of each state, complex128 [rows, total] or `Bindings`, laid out as in
        `Circuit.operands`; if None, the circuit's own numbers for all states.
        Raises `CircuitError` for operands of another shape, `NotSupported` for what is not unitary, `Cancelled` if the
        event is set: the batch is then closed, since its states are neither the old ones nor the new ones.
        """
        with self._guard:
            require_circuit(circuit, self.num_wires)
            bound = self._bound(circuit, operands)
            program = unitary_program(circuit.structure, self._touched)
            states, shape = self._states, self._states.device.batch_shape(self.options.dtype)
            new = states.fresh == (1 << self.num_wires) - 1
            shape = shape if new else shape.staying()
            plan = plan_of(program.whole.work, self.num_wires, states.layout, shape, states.fresh, None, new)
            if new:
                states.layout = at.begun_as(states.layout, plan.start)
            self._run(plan, bound, cancel)
            self._touched = program.touched()
        return self

    def _bound(self, circuit: Circuit, operands: Bindings | ArrayLike | None) -> Bindings:
        """Return the numbers of all states, checked as far as they are known."""
        given = circuit.operands if operands is None else operands
        bound = given if isinstance(given, Bindings) else Bindings.of(given)
        total = circuit.operands.shape[1]
        if bound.count not in (1, self.rows) or (first := bound.operands(0, 1)).shape != (1, total):
            count = "" if bound.count not in (1, self.rows) else f" of {first.shape[-1]} numbers"
            raise CircuitError(
                f"operands: expected {total} numbers for each of {self.rows} states, got {bound.count} rows{count}; "
                f"pass an array of shape ({self.rows}, {total}), or (1, {total}) for all states."
            )
        return bound

    def _run(self, plan: Plan, bound: Bindings, cancel: threading.Event | None) -> None:
        """Run a plan on all states, as many at a time as is fastest; close the batch if the run is interrupted."""
        states, options, device = self._states, self.options, self._states.device
        at_once = rows_at_once(device, state_bytes(self.num_wires, self.options.dtype), 16 * plan.coefficients.size())
        parts, steps = list(states.parts(at_once)), len(plan.steps)
        size = work_of(self.num_wires, plan.num_gates, self.rows)
        with Ticker(cancel, options.progress, options.watch, size) as ticker:
            ticker.expect(self.rows, executor.stage_ends(states, [plan]), lambda: 0)
            try:
                for first, part in parts:
                    begin, end = (0, 1) if bound.count == 1 else (first, first + part.rows)
                    operands = bound.operands(begin, end)
                    work = prepare(plan, operands, (device,), self.options.dtype, options.compile, rows=True)
                    part.run(plan, work, ticker.of_states(part.rows, steps))
            except BaseException:
                self.close()
                raise
            states.layout, states.fresh = plan.end, plan.left
            ticker.finish()

    def gate(
        self,
        name: str,
        wires: Sequence[int],
        *parameters: float | ArrayLike,
        controls: Sequence[int] = (),
        control_values: int | None = None,
    ) -> Self:
        """Apply one gate of the gate table; a parameter is a number, or an array [rows] with one for each state."""
        made = gate_of(self.num_wires, self.rows, name, wires, parameters, controls, control_values)
        return self.apply(*made)

    def unitary(
        self,
        matrix: ArrayLike,
        wires: Sequence[int],
        *,
        controls: Sequence[int] = (),
        control_values: int | None = None,
    ) -> Self:
        """Apply a unitary matrix, [2^k, 2^k] for all states or [rows, 2^k, 2^k], ``wires[0]`` least significant.

        Raises `MatrixError`, naming the states whose matrix is not unitary.
        """
        return self.apply(*unitary_of(self.num_wires, self.rows, matrix, wires, controls, control_values))
