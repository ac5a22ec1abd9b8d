"""What is differentiated: values of a final state, and the cotangents from which their derivatives follow.

A value is Re ⟨λ|ψ⟩, and the cotangent λ is what multiplies a change of ψ. Of an expectation value it is H|ψ⟩, and of a
sum of several with weights the sum of these; of the real part of an overlap ⟨φ|ψ⟩ it is φ, of the imaginary part i·φ.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.inverse import inverse
from qsim_ex.circuit.observables import PauliString, PauliSum
from qsim_ex.circuit.parameters.sweep import ParameterSweep, Values
from qsim_ex.circuit.structure import Structure, structure_of
from qsim_ex.devices.base import Buffer
from qsim_ex.errors import CircuitError, InvalidInput
from qsim_ex.observe import expectation
from qsim_ex.options import Options
from qsim_ex.placement.base import Tick
from qsim_ex.placement.batch import Batch
from qsim_ex.placement.divided import products
from qsim_ex.placement.divided.divided import Divided
from qsim_ex.placement.divided.products import Beside
from qsim_ex.program.one_state import unitary_program
from qsim_ex.run.gradients.states import DifferentiatingDevice, final_states, forward_plan, stored

Complex = NDArray[np.complex128]
Rows = NDArray[np.intp]


class Given(NamedTuple):
    """What a target may need besides states: their device, their bindings' numbers, and whom to tell of steps."""

    device: DifferentiatingDevice
    options: Options
    which: Rows
    tick: Tick


class Target(ABC):
    """What is differentiated. factor: of derivatives, 2 where a value depends on the state twice."""

    factor: ClassVar[int] = 2

    @property
    @abstractmethod
    def cotangents(self) -> int:
        """The number of cotangents of a state."""

    @property
    @abstractmethod
    def values(self) -> int:
        """The number of values of a binding."""

    @abstractmethod
    def require(self, num_wires: int, bindings: int) -> None:
        """Raise `CircuitError`, `WireError` or `InvalidInput` for a target that no such sweep has."""

    @abstractmethod
    def told(self) -> str:
        """Return what tells it from others, for processes that compare their calls."""

    @abstractmethod
    def begin(self, states: Batch, cotangents: Buffer, given: Given) -> Callable[[], Values]:
        """Begin to write the cotangents of the states of some bindings; the result waits for values [rows, values]."""

    @abstractmethod
    def write_beside(self, state: Divided, binding: int) -> tuple[Values, Beside]:
        """Write the cotangent of a divided state beside it; return the values of all ranks, [values], and sums.

        There is one cotangent: see `apart`.
        """

    def apart(self) -> Sequence[Target]:
        """Return the target as several with one cotangent each, whose values follow one another."""
        return (self,)

    def followed(self, work: Structure, operands: Complex, which: Rows) -> tuple[Structure, Complex]:  # noqa: ARG002
        """Return the work of divided states and its operands [bindings, total]: `write_beside` is for what it ends in.

        The operands of `work` come first.
        """
        return work, operands


@dataclass(frozen=True, slots=True)
class Expectations(Target):
    """The expectation values of observables, each with a cotangent of its own."""

    sums: tuple[PauliSum, ...]

    @property
    def cotangents(self) -> int:
        """One for each observable."""
        return len(self.sums)

    @property
    def values(self) -> int:
        """One for each observable."""
        return len(self.sums)

    def require(self, num_wires: int, bindings: int) -> None:  # noqa: ARG002 - any number
        """Raise `CircuitError` unless all observables are Hermitian, `WireError` if one is too wide."""
        require_hermitian(self.sums, num_wires)

    def told(self) -> str:
        """Return the observables."""
        return repr(self.sums)

    def begin(self, states: Batch, cotangents: Buffer, given: Given) -> Callable[[], Values]:
        """Begin to write H|ψ⟩ for each observable."""
        known = stored(self.sums, states.layout)
        return given.device.begin_sums(states.buffer, cotangents, states.num_wires, known)

    def write_beside(self, state: Divided, binding: int) -> tuple[Values, Beside]:  # noqa: ARG002 - the same for all
        """Write H|ψ⟩ of the one observable."""
        (one,) = self.sums
        found = products.write_product(state, one)
        return state.total(np.array([found.overlap.real], dtype=np.float64)), found

    def apart(self) -> Sequence[Target]:
        """Return one target for each observable."""
        return [Expectations((one,)) for one in self.sums]


@dataclass(frozen=True, eq=False, slots=True)
class WeightedExpectations(Target):
    """A weighted sum of expectation values for each binding, which share a cotangent; its values are those of each.

    weights: float64 [bindings, observables].
    """

    sums: tuple[PauliSum, ...]
    weights: Values

    @property
    def cotangents(self) -> int:
        """One for all observables."""
        return 1

    @property
    def values(self) -> int:
        """One for each observable."""
        return len(self.sums)

    def require(self, num_wires: int, bindings: int) -> None:
        """Raise what `Expectations` raises, and `InvalidInput` for other weights."""
        require_hermitian(self.sums, num_wires)
        expected = bindings, len(self.sums)
        if self.weights.shape != expected or not np.isfinite(self.weights).all():
            raise InvalidInput(
                f"vjp: expected finite cotangents of shape {expected}, one for each binding and observable, got an "
                f"array of shape {self.weights.shape}; pass one for each value."
            )

    def told(self) -> str:
        """Return the observables and the weights."""
        return f"{self.sums!r} {self.weights.tolist()}"

    def begin(self, states: Batch, cotangents: Buffer, given: Given) -> Callable[[], Values]:
        """Begin to write the weighted sum of all H|ψ⟩."""
        known = stored(self.sums, states.layout)
        return given.device.begin_sums(states.buffer, cotangents, states.num_wires, known, self.weights[given.which])

    def write_beside(self, state: Divided, binding: int) -> tuple[Values, Beside]:
        """Write the weighted sum of all H|ψ⟩, as one observable; values are taken first."""
        weights = self.weights[binding].tolist()
        terms = [
            PauliString(term.x, term.z, weight * term.coefficient)
            for weight, one in zip(weights, self.sums, strict=True)
            for term in one.terms
        ]
        home = state.layout
        values = expectation.pauli_sums(state, self.sums).real
        state.arrange(home)  # wires were brought near
        return values, products.write_product(state, PauliSum(tuple(terms)))


@dataclass(frozen=True, eq=False, slots=True)
class Overlaps(Target):
    """The overlap ⟨φ|ψ⟩ with the final states φ of another sweep, of one binding or of as many.

    parts: which of its parts: 0 for the real one and 1 for the imaginary one, each with a cotangent.
    """

    other: ParameterSweep
    parts: tuple[int, ...] = (0, 1)

    factor = 1

    @property
    def cotangents(self) -> int:
        """One for each part."""
        return len(self.parts)

    @property
    def values(self) -> int:
        """One for each part."""
        return len(self.parts)

    def require(self, num_wires: int, bindings: int) -> None:
        """Raise `CircuitError` for another number of wires or bindings, `NotSupported` for a random final state."""
        template = self.other.template
        if template.num_qubits != num_wires:
            raise CircuitError(
                f"overlap: expected circuits of equal numbers of wires, got {num_wires} and {template.num_qubits}; "
                "give both the wires of the wider one."
            )
        if self.other.count not in (1, bindings):
            raise CircuitError(
                f"overlap: expected another sweep of 1 binding or of {bindings}, got {self.other.count} bindings; pass "
                "one for each."
            )
        unitary_program(template.structure)

    def told(self) -> str:
        """Return the key and the numbers of the other circuit."""
        return f"{self.other.template.key} {self._operands(np.arange(self.other.count)).tolist()}"

    def begin(self, states: Batch, cotangents: Buffer, given: Given) -> Callable[[], Values]:
        """Run the other circuit, with a phase of each part behind it, and write its states."""
        device, n = given.device, states.num_wires
        work, operands = unitary_program(self.other.template.structure).whole.work, self._operands(given.which)
        phases = np.array([[0, 1, 1j**part] for part in self.parts])
        both = [np.repeat(operands, len(phases), axis=0), np.tile(phases, (len(operands), 1))]
        followed = _behind(work, operands.shape[1], _phase())
        plan = forward_plan(followed, n, device.batch_shape(given.options.dtype), device.grows)
        others = final_states(plan, np.concatenate(both, axis=1), device, given.options, given.tick)
        others.arrange(states.layout)
        device.take_rows(cotangents, others.buffer, n, np.arange(states.rows * len(phases)) % others.rows)
        others.release()
        found = np.empty((states.rows, len(phases)))
        for row in range(states.rows):
            for number in range(len(phases)):
                first = row * len(phases) + number
                one = cotangents[first << n : first + 1 << n]
                found[row, number] = device.inner(one, states.buffer[row << n : row + 1 << n]).real
        return lambda: found

    def write_beside(self, state: Divided, binding: int) -> tuple[Values, Beside]:  # noqa: ARG002 - see `followed`
        """Write |0…0⟩ with the phase of the one part: the overlap with it is that of both circuits."""
        (part,) = self.parts
        found = products.write_basis_state(state, 1j**part)
        return state.total(np.array([found.overlap.real], dtype=np.float64)), found

    def apart(self) -> Sequence[Target]:
        """Return one target for each part."""
        return [Overlaps(self.other, (part,)) for part in self.parts]

    def followed(self, work: Structure, operands: Complex, which: Rows) -> tuple[Structure, Complex]:
        """Return the work and behind it the inverse of the other circuit's: ⟨φ|ψ⟩ = ⟨0…0|W†U|0…0⟩."""
        back = inverse(unitary_program(self.other.template.structure).whole.work)
        own = back.operands(self._operands(which))
        own = np.broadcast_to(own, (len(operands), own.shape[1]))
        return _behind(work, operands.shape[1], back.work), np.concatenate([operands, own], axis=1)

    def _operands(self, which: Rows) -> Complex:
        return self.other.operands(which if self.other.count > 1 else np.zeros(1, dtype=np.intp))


@lru_cache(maxsize=1)
def _phase() -> Structure:
    """Return work that multiplies a state by its third operand."""
    return CircuitBuilder(0).gate("global_phase", [], 0.1).build().structure


@lru_cache(maxsize=16)
def _behind(work: Structure, total: int, other: Structure) -> Structure:
    """Return two pieces of work as one, whose operands follow each other; `total` are those of the first."""
    gates = ((one, one.applies) for one in other.instructions)
    moved = tuple(one if gate is None else gate._replace(operand=gate.operand + total) for one, gate in gates)
    return structure_of(work.num_qubits, 0, (*work.instructions, *moved))


@lru_cache(maxsize=16)
def require_hermitian(observables: tuple[PauliSum, ...], num_wires: int) -> None:
    """Raise `CircuitError` unless all observables are Hermitian and there is one, `WireError` if one is too wide."""
    if not observables:
        raise CircuitError("gradient: expected at least one observable, got none; pass a list of PauliSum.")
    expectation.fit(observables, num_wires)
    for number, one in enumerate(observables):
        for term in one.terms:
            if complex(term.coefficient).imag:
                raise CircuitError(
                    f"gradient: expected real coefficients, got {term.coefficient} in observable {number}; "
                    "differentiate the real and the imaginary part by themselves."
                )
