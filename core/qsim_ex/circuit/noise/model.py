"""Noisy machines: which channel follows which gate, and the readout errors of wires.

Noise is added while a circuit is built, since only then the caller's names of gates are known: in a built circuit a
gate may have become several operations, whose wires are in another order.

>>> from qsim_ex.circuit.noise.channels import depolarizing
>>> machine = NoiseModel().with_error(["x", "h"], depolarizing(0.001)).with_error("cx", depolarizing(0.01, 2))
>>> builder = NoisyBuilder(2, 2, machine.with_misreading([[0.98, 0.02], [0.05, 0.95]]))
>>> circuit = builder.gate("h", [0]).gate("cx", [0, 1]).measure([0, 1], [0, 1]).build()
>>> [instruction.name for instruction in circuit.instructions[:-1]]
['h', 'h error', 'cx', 'cx error']
>>> [misread.clbits for misread in builder.readout_errors]
[(0,), (1,)]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qsim_ex.circuit import check
from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.matrices import UnitaryMatrix
from qsim_ex.circuit.noise.readout import ReadoutErrors, ReadoutNotes, confusion
from qsim_ex.errors import NoiseError

Kraus = NDArray[np.complex128]
Wires = tuple[int, ...]


class Noise(Protocol):
    """A noisy machine, as a builder uses it; names are those of the caller's gates.

    Kraus matrices act on all wires of the gate: ``wires[0]`` is the least significant bit of a matrix index.
    """

    def before(self, name: str, wires: Wires) -> Kraus | None:
        """Return the channel before a gate on some wires, if there is one."""

    def after(self, name: str, wires: Wires) -> Kraus | None:
        """Return the channel after a gate on some wires, if there is one."""

    def misreading(self, wire: int) -> NDArray[np.float64] | None:
        """Return P(read | true) [2, 2] of a wire's measurement, row = true value; None if it has no readout error."""


def surround(builder: CircuitBuilder, noise: Noise, name: str, wires: Wires, *, before: bool) -> None:
    """Append the channel that stands before a gate, or after it; raises `NoiseError` if their wires do not match."""
    kraus = noise.before(name, wires) if before else noise.after(name, wires)
    if kraus is not None:
        add_error(builder, kraus, name, wires)


def add_error(builder: CircuitBuilder, kraus: Kraus, name: str, wires: Wires) -> int:
    """Append the channel of a gate on some wires, and return how many instructions that takes.

    Raises `NoiseError` if their wires do not match.
    """
    if kraus.shape[-1] == 1 << len(wires):
        builder.channel(kraus, wires, name=f"{name} error")
        return 1
    if kraus.shape[-1] == 2:  # a channel on one wire acts on each wire of the gate
        for wire in wires:
            builder.channel(kraus, (wire,), name=f"{name} error")
        return len(wires)
    raise NoiseError(
        f"expected an error of {name!r} on 1 or {len(wires)} wires, got one on "
        f"{kraus.shape[-1].bit_length() - 1} wires; the gate acts on {wires}: pass a channel for its wires."
    )


def _nothing() -> Mapping[Any, Any]:
    return MappingProxyType({})


@dataclass(frozen=True, eq=False, slots=True)
class NoiseModel:
    """A noisy machine, made of channels and readout errors; the methods ``with_…`` return a new one.

    errors: (name, wires or None for all) -> Kraus matrices. misreadings: wire or None for all -> P(read | true).
    """

    errors: Mapping[tuple[str, Wires | None], Kraus] = field(default_factory=_nothing)
    misreadings: Mapping[int | None, NDArray[np.float64]] = field(default_factory=_nothing)

    def __repr__(self) -> str:
        names = ", ".join(repr(name) if on is None else f"{name!r} on {on}" for name, on in self.errors)
        wires = ", ".join("all wires" if wire is None else f"wire {wire}" for wire in self.misreadings)
        told = [f"errors of {names}"] * bool(names) + [f"readout errors of {wires}"] * bool(wires)
        return f"NoiseModel({'; '.join(told) or 'no noise'})"

    def with_error(
        self, names: str | Sequence[str], kraus: ArrayLike, wires: Sequence[int] | None = None
    ) -> NoiseModel:
        """Return the machine with a channel after every gate of some names, on given wires or, without them, on all.

        wires: in the order of the gate's arguments, controls first; a channel for these wires replaces one for all. A
        channel on one wire acts on every wire of a gate on several. Names are those of the gate table, or those given
        to the builder (``unitary(..., name=...)``). The channel of "measure" stands before the measurement.
        Raises `NoiseError` or `MatrixError` for matrices that are no channel.
        """
        array = np.array(kraus, dtype=np.complex128)
        size = array.shape[-1] if array.ndim == 3 else 0
        if size < 2 or size & (size - 1):
            raise NoiseError(
                f"expected Kraus matrices of shape [count, 2^k, 2^k], got {array.shape}; pass a channel such as "
                "depolarizing(0.01)."
            )
        array = check.kraus(array, size.bit_length() - 1, f"the error of {names}", None)
        array.setflags(write=False)  # so that a builder recognises it
        on = None if wires is None else tuple(wires)
        if on is not None and size not in (2, 1 << len(on)):
            raise NoiseError(
                f"expected a channel of {1 << len(on)} or 2 rows on wires {on}, got {size} rows; pass other matrices "
                "or other wires."
            )
        chosen = [names] if isinstance(names, str) else names
        return replace(self, errors={**self.errors, **{(name, on): array for name in chosen}})

    def with_misreading(self, probabilities: ArrayLike, wire: int | None = None) -> NoiseModel:
        """Return the machine with a readout error [[P(0|0), P(1|0)], [P(0|1), P(1|1)]] of one wire, or of all.

        The readout error of one wire replaces the one for all. Raises `NoiseError` for numbers that are no
        probabilities.
        """
        return replace(self, misreadings={**self.misreadings, wire: confusion(probabilities, 1)})

    def before(self, name: str, wires: Wires) -> Kraus | None:
        """Return the channel before a measurement; see `Noise`."""
        return self._error(name, wires) if name == "measure" else None

    def after(self, name: str, wires: Wires) -> Kraus | None:
        """Return the channel after a gate; see `Noise`."""
        return None if name == "measure" else self._error(name, wires)

    def misreading(self, wire: int) -> NDArray[np.float64] | None:
        """Return the readout error of a wire, or the one for all wires; see `Noise`."""
        return self.misreadings.get(wire, self.misreadings.get(None))

    def _error(self, name: str, wires: Wires) -> Kraus | None:
        return self.errors.get((name, wires), self.errors.get((name, None)))


class NoisyBuilder(CircuitBuilder):
    """A builder that adds the noise of a machine to every gate.

    readout_errors: the readout errors of the classical bits that were measured so far.
    """

    def __init__(self, num_qubits: int, num_clbits: int, noise: Noise) -> None:
        super().__init__(num_qubits, num_clbits)
        self.noise = noise
        self._readout = ReadoutNotes()
        self._within = False  # a gate that is made of others has only the noise of its own name

    @property
    def readout_errors(self) -> ReadoutErrors:
        """The readout errors of the classical bits that were measured so far."""
        return self._readout.errors()

    def gate(
        self,
        name: str,
        wires: Sequence[int],
        *parameters: float,
        controls: Sequence[int] = (),
        control_values: int | None = None,
    ) -> Self:
        """Append a gate of the gate table and its noise."""
        with self._noisy(name, (*controls, *wires)):
            return super().gate(name, wires, *parameters, controls=controls, control_values=control_values)

    def gates(self, names: Sequence[str], wires: Sequence[Wires], parameters: Sequence[Sequence[float]]) -> Self:
        """Append many gates of the gate table, each with its noise."""
        for name, on, given in zip(names, wires, parameters, strict=True):
            self.gate(name, on, *given)
        return self

    def unitary(
        self,
        matrix: ArrayLike | UnitaryMatrix,
        wires: Sequence[int],
        *,
        controls: Sequence[int] = (),
        control_values: int | None = None,
        name: str = "unitary",
        tolerance: float | None = None,
    ) -> Self:
        """Append a unitary matrix and the noise of its name."""
        given: dict[str, Any] = {"controls": controls, "control_values": control_values}
        with self._noisy(name, (*controls, *wires)):
            return super().unitary(matrix, wires, **given, name=name, tolerance=tolerance)

    def diagonal(
        self,
        entries: ArrayLike,
        wires: Sequence[int],
        *,
        controls: Sequence[int] = (),
        control_values: int | None = None,
        name: str = "diagonal",
    ) -> Self:
        """Append a diagonal matrix and the noise of its name."""
        with self._noisy(name, (*controls, *wires)):
            return super().diagonal(entries, wires, controls=controls, control_values=control_values, name=name)

    def multiplexer(
        self,
        matrices: ArrayLike,
        selectors: Sequence[int],
        wires: Sequence[int],
        *,
        controls: Sequence[int] = (),
        control_values: int | None = None,
        name: str = "multiplexer",
    ) -> Self:
        """Append a multiplexer and the noise of its name, which acts on controls, selectors and wires."""
        given: dict[str, Any] = {"controls": controls, "control_values": control_values}
        with self._noisy(name, (*controls, *selectors, *wires)):
            return super().multiplexer(matrices, selectors, wires, **given, name=name)

    def pauli_rotation(
        self,
        angle: float,
        paulis: str,
        wires: Sequence[int],
        *,
        controls: Sequence[int] = (),
        control_values: int | None = None,
    ) -> Self:
        """Append a Pauli rotation and the noise of "pauli_rotation"."""
        given: dict[str, Any] = {"controls": controls, "control_values": control_values}
        with self._noisy("pauli_rotation", (*controls, *wires)):
            return super().pauli_rotation(angle, paulis, wires, **given)

    def permutation(self, indices: Sequence[int], wires: Sequence[int]) -> Self:
        """Append a permutation and the noise of "permutation"."""
        with self._noisy("permutation", tuple(wires)):
            return super().permutation(indices, wires)

    def reset(self, wires: Sequence[int]) -> Self:
        """Put wires into |0>, each followed by the noise of "reset"."""
        super().reset(wires)
        for wire in wires:
            surround(self, self.noise, "reset", (wire,), before=False)
        return self

    def measure(self, wires: Sequence[int], clbits: Sequence[int]) -> Self:
        """Measure wires, each preceded by the noise of "measure", and note the readout errors of their bits."""
        for wire in wires:
            surround(self, self.noise, "measure", (wire,), before=True)
        super().measure(wires, clbits)
        for wire, bit in zip(wires, clbits, strict=True):
            self._readout.measured(bit, self.noise.misreading(wire))
        return self

    @contextmanager
    def _noisy(self, name: str, wires: Wires) -> Iterator[None]:
        if self._within or not wires:
            yield
            return
        surround(self, self.noise, name, wires, before=True)
        self._within = True
        try:
            yield
        finally:
            self._within = False
        surround(self, self.noise, name, wires, before=False)
