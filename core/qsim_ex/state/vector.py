"""`StateVector`: the object that users of the engine hold. It owns the memory of 2^n amplitudes."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Self, Unpack

import numpy as np
from numpy.typing import ArrayLike

from qsim_ex.circuit import check
from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.comm.agreed import asked_of, require_same
from qsim_ex.deployment.assignment import Assignment
from qsim_ex.display.described import with_options
from qsim_ex.errors import StateError
from qsim_ex.execution.prepare import Prepared, ordered_plan_of, plan_of, prepare
from qsim_ex.execution.progress import Tick, Ticker, while_planning, work_of
from qsim_ex.files import saving
from qsim_ex.native.library import cancelled_by
from qsim_ex.options import OptionKeywords, Options
from qsim_ex.placement import executor, wires
from qsim_ex.placement import index_bits as at
from qsim_ex.placement.base import Placement
from qsim_ex.placement.single import Single
from qsim_ex.precision import BY_DTYPE
from qsim_ex.program.one_state import unitary_program
from qsim_ex.state import initial as begin
from qsim_ex.state.amplitude_slice import AmplitudeSlice
from qsim_ex.state.measuring import Measuring
from qsim_ex.state.memory_owner import MemoryLender
from qsim_ex.state.questions import Questions
from qsim_ex.state.sub_states import SubStateVectors
from qsim_ex.state.wiring import Wiring
from qsim_ex.steps.layout import Layout
from qsim_ex.steps.plan import Plan


@with_options(Options, but=("checkpoint", "checkpoint_every"))
class StateVector(Wiring, SubStateVectors, Questions, Measuring, MemoryLender):
    """The state of `num_wires` qubits, 2^n amplitudes on one device or divided over several and host memory.

    Arguments and results are in wires: bit w of a basis value is wire w. The index bit of each wire is in `layout`
    and changes as circuits are applied; no question moves an amplitude. Only one thread at a time may use the state
    (`StateVectorBusy`), and none after `close` (`StateVectorClosed`); ``with`` closes it.

    options, changes: see `Options`; ``StateVector(20, device="cpu")``.
    initial: a basis value, or 2^n normalised amplitudes; if None, |0…0> or the contents of a given array.
    array: a NumPy or CuPy array of 2^n complex64 or complex128 amplitudes, to be used in place.
    stream, allocator: CuPy's, for a state on a GPU. where: an assignment to devices that was made before.
    Raises `OutOfMemory` with the sum before anything is allocated, `DeviceError`, `OptionError`, `StateError`.
    """

    def __init__(
        self,
        num_wires: int,
        *,
        options: Options | None = None,
        initial: int | ArrayLike | None = None,
        array: object = None,
        stream: object = None,
        allocator: object = None,
        where: Assignment | None = None,
        **changes: Unpack[OptionKeywords],
    ) -> None:
        num_wires = check.count(num_wires, "num_wires")
        options = (options or Options()).with_(changes)
        begin.require_state_options(options)
        if array is not None:
            where, options = begin.adopt(array, num_wires, options, stream, allocator)
        elif where is None:
            where = begin.fresh(num_wires, options, stream, allocator)
        start = begin.checked(0 if initial is None else initial, num_wires)
        whole = start == 0 if isinstance(start, int) else False
        if array is None:
            placed = begin.begun(where, options, start)
        else:
            if initial is not None:
                begin.put(where.device, array, start)
            placed = Single(where.device, array, Layout.identity(num_wires))
        super().__init__(placed, where, options)
        self._touched = 0 if whole and array is None else (1 << num_wires) - 1
        self._compared = where.compared

    def __repr__(self) -> str:
        state = "closed" if self.closed else self.device.name
        return f"StateVector({self.num_wires} wires, {self.dtype.name}, {state})"

    # --- work ------------------------------------------------------------------------------------------------------

    def apply(self, circuit: Circuit, cancel: threading.Event | None = None, *, in_order: bool = False) -> Self:
        """Apply a circuit's unitary instructions; measurements at its end are ignored.

        in_order: leave the amplitudes in the order of the wires, so that reading them as an array moves none.
        Raises `NotSupported` for instructions that are not unitary, `Cancelled` if the event is set: the state is then
        closed, since it is neither the old one nor the new one.
        """
        with self._guard:
            begin.require_circuit(circuit, self.num_wires)
            options, placed = self.options, self._placement
            new = placed.fresh == (1 << self.num_wires) - 1
            ordered = in_order and self.device.in_host_memory and self.in_one_piece
            ordered = ordered and (not new or self.layout.is_identity())  # 1s of a new state cost nothing in any layout
            shape, held = self.device.shape(self.dtype), 0
            if ordered:
                self.canonical()
                # Bits at whose 1 memory holds zeros, which sweeps need not pass; those inside of a piece save nothing.
                held = (1 << self.num_wires) - (1 << shape.low) & ~(self._touched | placed.fresh)
                placed.mark_zero(held)
            if self.where.ranks is not None:
                compared, self._compared = self._compared, None
                if compared is not circuit:
                    require_same(self.where.ranks, asked_of(circuit).given)
            program = unitary_program(circuit.structure, self._touched)
            if ordered:
                planned = partial(ordered_plan_of, program.whole.work, self.num_wires, shape, placed.fresh)
            else:
                shape, levels = shape if new else shape.staying(), placed.planning_levels
                given = program.whole.work, self.num_wires, self.layout, shape, placed.fresh, levels, new
                planned = partial(plan_of, *given)
            with nullcontext() if cancel is None else cancelled_by(cancel):
                plan = while_planning(options.progress, len(circuit.instructions), planned)
            work = prepare(plan, circuit.operands, self.where.devices, self.dtype, options.compile)
            size = work_of(self.num_wires, plan.num_gates, 1)
            ticker = Ticker(cancel, options.progress, options.watch, size)
            if ticker.reports or cancel is not None:
                with ticker:
                    ticker.expect(1, executor.stage_ends(placed, [plan]), lambda: placed.bytes_moved)
                    self._run(plan, work, ticker)
                    ticker.finish()
            else:
                self._run(plan, work, ticker.tick)
            self._touched = program.touched()
            placed.fresh &= ~held
            if in_order:
                self.canonical()
        return self

    def _run(self, plan: Plan, work: Prepared, tick: Tick) -> None:
        """Run work that was prepared for this state's devices and layout; close the state if it is interrupted."""
        placed = self._placement
        if (plan.start, plan.fresh) != (placed.layout, placed.fresh):
            if not (placed.fresh == plan.fresh == (1 << self.num_wires) - 1):
                raise StateError("expected a plan that begins in this state's layout, got one for another layout.")
            placed.layout = at.begun_as(placed.layout, plan.start)
        try:
            placed.run(plan, work, tick)
        except BaseException as error:
            self.close()
            if self.where.ranks is not None:
                self.where.ranks.abort(error)
            raise

    @contextmanager
    def placed(self) -> Iterator[Placement]:
        """Yield the placement, for code that works on amplitudes by their index; no other use is possible meanwhile.

        If that code fails the state is closed, since it may be neither the old one nor a new one.
        """
        with self._guard:
            try:
                yield self._placement
            except BaseException:
                self.close()
                raise

    def gate(
        self,
        name: str,
        wires: Sequence[int],
        *parameters: float,
        controls: Sequence[int] = (),
        control_values: int | None = None,
    ) -> Self:
        """Apply one gate of the gate table; arguments as of `CircuitBuilder.gate`."""
        builder = CircuitBuilder(self.num_wires)
        builder.gate(name, wires, *parameters, controls=controls, control_values=control_values)
        return self.apply(builder.build())

    def unitary(
        self,
        matrix: ArrayLike,
        wires: Sequence[int],
        *,
        controls: Sequence[int] = (),
        control_values: int | None = None,
    ) -> Self:
        """Apply a unitary matrix [2^k, 2^k], ``wires[0]`` least significant; raises `MatrixError`."""
        builder = CircuitBuilder(self.num_wires)
        builder.unitary(matrix, wires, controls=controls, control_values=control_values)
        return self.apply(builder.build())

    # --- amplitudes as arrays --------------------------------------------------------------------------------------

    def own_slices(self) -> tuple[AmplitudeSlice, ...]:
        """Return the amplitudes that this process holds as new NumPy arrays, each with its first basis value.

        Of a state over several processes each rank gets its own part: one slice, or one for each of its devices; none
        if it holds no amplitudes. All ranks together have each amplitude once. All of them make this call, since
        amplitudes are moved into the order of the wires first. A state of one process is one slice from 0 on. To gather
        all amplitudes on every rank call `to_numpy`.
        """
        with self._guard:
            self.canonical()
            share = self.nbytes >> (0 if self.where.ranks is None else self._placement.levels.peers)
            self._fits_host("a copy of the amplitudes of this process", share)
            return tuple(AmplitudeSlice(start, values) for start, values in self._placement.own_slices())

    def set(self, values: ArrayLike, start: int = 0) -> None:
        """Overwrite amplitudes from basis value `start` on; their norm is not checked. Raises `StateError`."""
        with self._guard:
            array = np.asarray(values, dtype=self.dtype).reshape(-1)
            stop = self._range(start, start + array.size)
            if not np.isfinite(array).all():
                raise StateError("set: expected finite amplitudes, got NaN or infinity.")
            if stop - start == 1 << self.num_wires:
                self._placement.forget()
            self.canonical()
            self._placement.write(start, array)
            self._touched = (1 << self.num_wires) - 1

    def set_product(self, low: StateVector, high: StateVector) -> Self:
        """Overwrite the state with the product of two others: wires of `low` come first, those of `high` follow.

        Raises `StateError` unless both together have as many wires as this state, `NotSupported` where sub state
        vectors of this one have fewer wires than `high` has.
        """
        with self._guard:
            begin.require_factors(self.num_wires, low.num_wires, high.num_wires, self._placement.levels.local)
            rows, wires = low.to_numpy(), range(low.num_wires, self.num_wires)
            circuit = CircuitBuilder(self.num_wires).initialize(high.to_numpy(), wires).build()
            self._placement.forget()
            self.canonical()
            self._placement.write(0, rows.astype(self.dtype, copy=False))
            self._touched = (1 << low.num_wires) - 1
            if not self.in_one_piece:  # else none of the other amplitudes is read before it is written
                self._placement.mark_zero((1 << self.num_wires) - (1 << low.num_wires))
            self.apply(circuit).canonical()
            self._touched = low._touched | high._touched << low.num_wires
        return self

    # --- copies and files ------------------------------------------------------------------------------------------

    def clone(self) -> Self:
        """Return another state vector in the same state and placement on the same devices. Raises `OutOfMemory`."""
        with self._guard:
            return self.of(wires.cloned(self._placement), self.where, self.options, partial(int, self._touched))

    @classmethod
    def of(cls, placement: Placement, where: Assignment, options: Options, touched: Callable[[], int]) -> Self:
        """Return the owner of a placement made elsewhere; touched: returns which wires may not be in |0>, as a mask."""
        made = cls.__new__(cls)
        Questions.__init__(made, placement, where, options)
        made._find_touched = touched
        made._compared = None
        return made

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to a file, a piece at a time, each with a checksum; see docs/saved_states.md.

        The file gets its name only when it is complete. Raises `SavedStateError` if the disk is full or fails.
        """
        with self._guard:
            saving.save(self._placement, Path(path), {"touched": hex(self._touched)})

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], *, options: Options | None = None, **changes: Unpack[OptionKeywords]
    ) -> Self:
        """Return the state in a file, in the placement and precision that the options ask for.

        Without options the file's precision is used. Raises `SavedStateError` for a file that is missing, damaged, or
        no saved state, before any memory is taken where that can be detected.
        """
        asked = (Options() if options is None else options).with_(changes)
        with closing(saving.look_for(Path(path), asked)) as found:
            if options is None:
                options = Options(precision=BY_DTYPE[found.dtype].name)
            touched = found.mask("touched")
            state = cls(found.num_wires, options=options, **changes)
            try:
                with state.placed() as placed:
                    saving.load_into(placed, found)
            except BaseException as error:
                state.close()
                if state.where.ranks is not None:
                    state.where.ranks.abort(error)
                raise
        state._touched = touched
        return state

    def _release(self) -> None:
        self._drop()
        self._placement.release()
