"""`BatchedStateVector`: many states of one structure that are evolved and read together. It owns their memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self, Unpack, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qsim_ex.circuit import check
from qsim_ex.circuit.ops import ALWAYS, Op, mask_of, pattern
from qsim_ex.circuit.parameters.batched_gates import numbered, on_wires
from qsim_ex.devices.base import Batches, Device
from qsim_ex.display.described import with_options
from qsim_ex.errors import CircuitError, NotSupported, OptionError, StateError
from qsim_ex.observe import drawn_wires, sampling
from qsim_ex.options import OptionKeywords, Options
from qsim_ex.placement.batch import Batch, BatchDevice
from qsim_ex.placement.single import Single
from qsim_ex.state import basis
from qsim_ex.state.batch.evolution import BatchedWork
from qsim_ex.state.batch.questions import BatchedQuestions
from qsim_ex.state.initial import adopt, checked_rows, fresh_rows, require_state_options, row_values, with_room
from qsim_ex.state.measuring import Collapse, known_mode
from qsim_ex.state.memory_owner import MemoryLender
from qsim_ex.state.vector import StateVector
from qsim_ex.steps.layout import Layout


@with_options(Options, but=("checkpoint", "checkpoint_every"))
class BatchedStateVector(BatchedWork, BatchedQuestions, MemoryLender):
    """A batch of `rows` states of `num_wires` qubits each on one device; the counterpart of `StateVector`.

    The same circuits act on all states, with numbers of each state's own if given, and a question is answered for all
    states; the states are the first axis of an answer. They share one layout. Only one thread at a time may use the
    batch (`StateVectorBusy`), and none after `close` (`StateVectorClosed`); ``with`` closes it.

    options, changes: see `Options`; `max_memory` is for all states together.
    initial: a basis value, or whole numbers [rows], one for each state; or normalised amplitudes, [2^n] for all or
        [rows, 2^n]; if None, |0…0>, or the contents of a given array.
    array: a contiguous NumPy or CuPy array [rows, 2^n] of complex64 or complex128, to be used in place.
    Raises `OutOfMemory` with the sum before anything is allocated, `DeviceError`, `OptionError`, `StateError`,
    `CircuitError`, and `NotSupported` on a device that works on single states only.
    """

    def __init__(
        self,
        rows: int,
        num_wires: int,
        *,
        options: Options | None = None,
        initial: int | ArrayLike | None = None,
        array: Any = None,
        **changes: Unpack[OptionKeywords],
    ) -> None:
        rows, num_wires = check.count(rows, "rows"), check.count(num_wires, "num_wires")
        if rows < 1:
            raise CircuitError("expected rows >= 1, got rows=0; a batch has at least one state.")
        options = (options or Options()).with_(changes)
        require_state_options(options)
        if array is not None:
            where, options = adopt(array, num_wires, options, None, None, rows)
        else:
            where = fresh_rows(rows, num_wires, options)
        device = _batches(where.device)
        start = None if initial is None else checked_rows(initial, rows, num_wires)
        if array is None:
            states = Batch(device, num_wires, rows, options.dtype)
        else:
            states = Batch.over(device, array.reshape(-1), Layout.identity(num_wires))
        super().__init__(states, where, options)
        everything = (1 << num_wires) - 1
        self._touched = 0 if array is None else everything
        if start is not None:
            self._begin(start, new=array is None)
            self._touched = 0 if isinstance(start, int) and start == 0 else everything

    def _begin(self, start: int | NDArray[Any], *, new: bool) -> None:
        """Put the states into basis states or amplitudes."""
        states = self._states
        if isinstance(start, int) and new:
            states.layout = replace(states.layout, flip=start)
        elif isinstance(start, int) or start.dtype.kind != "i":
            self._put(start)
        else:
            if not new:
                states.fill(0)
            bits = start[:, None] >> np.arange(self.num_wires) & 1
            flips = np.stack([1 - bits, bits, bits, 1 - bits], axis=2)
            self.apply(*on_wires(self.num_wires, range(self.num_wires), pattern("rrrr"), flips))
            if not new:
                self.canonical()

    def _put(self, values: int | NDArray[Any]) -> None:
        """Overwrite all amplitudes by a basis state, by 2^n amplitudes, or by [rows, 2^n]."""
        if isinstance(values, int) or values.ndim == 1:
            self._states.fill(values)
        else:
            self._states.forget()
            self._states.write(0, values)

    def __repr__(self) -> str:
        state = "closed" if self.closed else self.device.name
        return f"BatchedStateVector({self.rows} states of {self.num_wires} wires, {self.dtype.name}, {state})"

    # --- chance ----------------------------------------------------------------------------------------------------

    def measure(
        self,
        wires: Sequence[int],
        *,
        seed: int | Sequence[int] | None = None,
        random: ArrayLike | None = None,
        collapse: Collapse = "normalise",
    ) -> NDArray[np.int64]:
        """Measure wires in each state and return their values, int64 [rows], bit k being ``wires[k]``.

        seed: as in `sample`. random: numbers in [0, 1) in place of seeds, [rows] or one for all. collapse:
        'normalise' projects the states on the values found, 'reset' also puts their measured wires into |0>, 'none'
        leaves the states unchanged.
        """
        with self._guard:
            wires = basis.order(wires, self.num_wires, "measure")
            known_mode(collapse)
            if random is None:
                seeds, instruction = self._seeds(seed)
                random = sampling.uniforms_of(seeds, instruction, 1)[:, 0]
            numbers = self._one_each(np.asarray(random, dtype=np.float64), "random", "numbers")
            if not ((numbers >= 0) & (numbers < 1)).all():
                raise OptionError(
                    "random: expected numbers from 0 up to, not including, 1; pass a seed or numbers in [0, 1)."
                )
            found = [
                drawn_wires.draw_wires_rows(part, wires, numbers[first : first + part.rows])
                for first, part in self._parts(1 << len(wires))
            ]
            values, weights, _ = (np.concatenate(parts) for parts in zip(*found, strict=True))
            self._project(wires, values, weights, collapse)
            return values

    def collapse(
        self, wires: Sequence[int], values: int | ArrayLike, mode: Collapse = "normalise"
    ) -> NDArray[np.float64]:
        """Project wires of each state on a value and return its probability in each state, float64 [rows].

        values: whole numbers [rows], or one for all states, bit k being ``wires[k]``. Modes as in `measure`.
        Raises `StateError` with their numbers if some states have probability 0; then no state is changed.
        """
        with self._guard:
            wires = basis.order(wires, self.num_wires, "collapse")
            known_mode(mode)
            given = np.asarray(values)
            if given.dtype.kind not in "iu":
                raise CircuitError(f"collapse: expected basis values as whole numbers, got an array of {given.dtype}.")
            wanted = row_values(self._one_each(given, "collapse", "values"), len(wires), "collapse")
            weights, norms = np.empty(self.rows), np.empty(self.rows)
            for first, part in self._parts(1 << len(wires)):
                rows, sums = slice(first, first + part.rows), part.marginals(wires)
                weights[rows], norms[rows] = sums[np.arange(part.rows), wanted[rows]], sums.sum(axis=1)
            if len(never := np.flatnonzero(weights == 0)):
                value = f"{wanted[never[0]]:0{len(wires)}b}"
                raise StateError(
                    f"wires {list(wires)} of {check.rows(never)} are never found at {value}: its probability is 0."
                )
            self._project(wires, wanted, weights, mode)
            return weights / norms

    def _project(self, wires: Sequence[int], values: NDArray[Any], weights: NDArray[Any], mode: Collapse) -> None:
        """Project each state on a value of some wires, whose weight is given, and scale it to norm 1."""
        if mode == "none":
            return
        if not wires:
            scale = Op((), (), ALWAYS, pattern("c"), 2, "normalise")
            self.apply(*numbered(self.num_wires, (scale,), weights[:, None] ** -0.5))
            return
        bits = values[:, None] >> np.arange(len(wires)) & 1
        entries = np.zeros((*bits.shape, 4))
        entries[:, :, 0], entries[:, :, 1 if mode == "reset" else 3] = 1 - bits, bits
        entries[:, 0] *= weights[:, None] ** -0.5
        self.apply(*on_wires(self.num_wires, wires, pattern("rr00" if mode == "reset" else "r00r"), entries))
        if mode == "reset":
            self._touched &= ~mask_of(tuple(wires))

    def _one_each(self, given: NDArray[np.generic], name: str, what: str) -> NDArray[Any]:
        """Return a number for each state; raises `CircuitError` for another shape."""
        if given.shape not in ((), (self.rows,)):
            raise CircuitError(f"{name}: expected {self.rows} {what}, or one for all states, got shape {given.shape}.")
        return np.broadcast_to(given, (self.rows,))

    # --- amplitudes, and other batches -----------------------------------------------------------------------------

    def set(self, values: ArrayLike, start: int = 0) -> None:
        """Overwrite amplitudes from basis value `start` on, [k] for all states or [rows, k]; no norm is checked.

        Raises `StateError`.
        """
        with self._guard:
            array = np.asarray(values, dtype=self.dtype)
            if array.ndim not in (1, 2) or (array.ndim == 2 and len(array) != self.rows):
                raise StateError(f"set: expected amplitudes of shape [k] or [{self.rows}, k], got shape {array.shape}.")
            self._range(start, start + array.shape[-1])
            if not np.isfinite(array).all():
                raise StateError("set: expected finite amplitudes, got NaN or infinity.")
            if array.shape[-1] == self.stride:
                self._put(array)
            else:
                self.canonical()
                self._states.write(start, np.broadcast_to(array, (self.rows, array.shape[-1])))
            self._touched = (1 << self.num_wires) - 1

    def permute(self, wires: Sequence[int]) -> Self:
        """Move amplitudes so that wire ``wires[k]`` lies on index bit k and none is inverted; no state changes."""
        with self._guard:
            wires = basis.order(wires, self.num_wires, "permute", all_wires=True)
            self._states.arrange(Layout(tuple(wires.index(wire) for wire in range(self.num_wires))))
        return self

    def canonical(self) -> Self:
        """Move amplitudes into the order of the wires: basis value i of state k is then at ``array[k, i]``."""
        return self.permute(range(self.num_wires))

    def take(self, rows: Sequence[int] | NDArray[np.integer]) -> Self:
        """Return a new batch whose state k is state ``rows[k]`` of this one. Raises `OutOfMemory`, `StateError`."""
        with self._guard:
            chosen = np.asarray(rows)
            if chosen.ndim != 1 or not chosen.size or chosen.dtype.kind not in "iu":
                raise StateError(f"take: expected the numbers of one or more states, got {rows!r}.")
            if len(bad := np.flatnonzero((chosen < 0) | (chosen >= self.rows))):
                raise StateError(f"take: expected numbers of states from 0 to {self.rows - 1}, got {chosen[bad[0]]}.")
            where = with_room(self.device, len(chosen), self.num_wires, self.options, self.where.reason)
            made = type(self).__new__(type(self))
            BatchedQuestions.__init__(made, self._states.take(chosen.astype(np.int64)), where, self.options)
            made._touched = self._touched
            return made

    def clone(self) -> Self:
        """Return another batch on the same device that holds the same states. Raises `OutOfMemory`."""
        return self.take(np.arange(self.rows))

    def row(self, row: int) -> StateVector:
        """Return a copy of one state, in memory of its own."""
        with self.take([row]) as one:
            states, touched = one._states, self._touched
            placed = Single(states.device, states._buffer, states.layout, states.fresh)
            return StateVector.of(placed, one.where, self.options, lambda: touched)

    def _release(self) -> None:
        self._states.release()


def _batches(device: Device) -> BatchDevice:
    """Return the device; raises `NotSupported` if it does not run batches."""
    if not isinstance(device, Batches):
        raise NotSupported(f"{device.name} does not work on batches of states; use device='cpu'.")
    return cast(BatchDevice, device)
