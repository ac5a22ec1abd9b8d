"""What state vectors and density matrices between moments have in common: Cirq's code leads them through a circuit.

Cirq numbers qubits as axes; axis a of n is wire n − 1 − a of the engine, unless some have other levels than two (see
`qudits.levels`). A state is in one of two places: in the
engine with the operations that wait for it, or in a tensor that somebody may have written to, until the next operation
brings it back.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import cirq
import numpy as np
from numpy.typing import NDArray

from qsim_ex_cirq.errors import UnknownOperation

if TYPE_CHECKING:
    from qsim_ex_cirq.qudits.levels import Levels

Axes = Sequence[int]
Tensor = NDArray[Any]
Seed = cirq.RANDOM_STATE_OR_SEED_LIKE
Factor = Callable[..., tuple[Tensor, Tensor]]


class Measured(Protocol):
    """A state of the engine, as far as outcomes are concerned: `StateVector` and `DensityMatrix` are such states."""

    def measure(self, wires: Sequence[int], /, *, random: float) -> int:
        """Measure wires and return their value, bit k being ``wires[k]``; random: a number in [0, 1)."""

    def sample(self, shots: int, wires: Sequence[int], seed: int, /) -> NDArray[np.uint8]:
        """Measure `shots` times without changing the state: uint8 [shots, wires]."""


class EngineRepresentation(cirq.QuantumStateRepresentation):
    """A state of qubits in the engine, with the answers that do not depend on whether it is pure."""

    _factor: ClassVar[Factor]
    """Cirq's function that divides a tensor of this kind into those of some qubits and of the others."""

    _shape: tuple[int, ...]
    """The levels of each axis."""

    _levels: Levels | None
    """The same, and which wires they are, where an axis has other levels than two."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The levels of each qubit."""
        return self._shape

    @property
    def _num_wires(self) -> int:
        """How many wires all axes take."""
        return len(self._shape) if self._levels is None else self._levels.num_wires

    @abstractmethod
    def now(self) -> Measured:
        """Return the engine's state after everything that was waiting."""

    @abstractmethod
    def tensor(self) -> Tensor:
        """Return the state as an array with an axis for each qubit, which is the state until the next operation."""

    @abstractmethod
    def _with(self, tensor: Tensor) -> Self:
        """Return a state of the same kind with the entries of a tensor."""

    def measure(self, axes: Axes, seed: Seed = None) -> list[int]:
        """Measure axes, which projects the state on what is found."""
        random = float(cirq.value.parse_random_state(seed).random())
        value = self.now().measure(self._wires(axes), random=random) if axes else 0
        if self._levels is None:
            return [value >> k & 1 for k in range(len(axes))]
        return self._levels.of(axes).digits(value)

    def sample(self, axes: Axes, repetitions: int = 1, seed: Seed = None) -> NDArray[np.uint8]:
        """Sample axes, uint8 [repetitions, axes], without changing the state."""
        number = int(cirq.value.parse_random_state(seed).randint(1 << 62, dtype=np.int64))
        if not repetitions or not axes:
            return np.zeros((repetitions, len(axes)), dtype=np.uint8)
        bits = self.now().sample(repetitions, self._wires(axes), number)
        return bits if self._levels is None else self._levels.of(axes).digits_of_bits(bits[:, ::-1]).astype(np.uint8)

    def factor(self, axes: Axes, *, validate: bool = True, atol: float = 1e-07) -> tuple[Self, Self]:
        """Return the states of some axes and of the others; raises `cirq.EntangledStateError` where they have none."""
        parts = type(self)._factor(self.tensor(), axes, validate=validate, atol=atol)
        return self._with(parts[0]), self._with(parts[1])

    @property
    def supports_factor(self) -> bool:
        """Whether states can be divided."""
        return True

    def without(self, axes: Axes) -> Self:
        """Return the state of the other axes; these are |0⟩."""
        tensor = self.tensor()  # a density matrix has each axis twice
        at = tuple(0 if axis % len(self._shape) in axes else slice(None) for axis in range(tensor.ndim))
        return self._with(tensor[at])

    def _wires(self, axes: Axes) -> list[int]:
        """Return the wires of some axes, one for each; of qudits the lowest bit of the last axis first."""
        if self._levels is None:
            return [len(self._shape) - 1 - axis for axis in axes]
        return [wire for axis in reversed(axes) for wire in reversed(self._levels.wires[axis])]


def numbers_of(action: object) -> object:
    """Return an operation whose formulas have no symbols, such as π/4, with their numbers.

    Cirq finds no matrix before that. Raises `UnknownOperation` for any other operation.
    """
    if cirq.is_parameterized(action) and not cirq.parameter_names(action):
        resolved = cirq.resolve_parameters(action, {"": 0})  # an empty resolver leaves everything as it is
        if not cirq.is_parameterized(resolved):
            return resolved
    raise UnknownOperation(
        f"expected a unitary matrix, Kraus matrices or a decomposition, got {action!r} with none of them."
    )


class InEngine(cirq.SimulationState[Any]):
    """The part of Cirq's simulation states that has the state in the engine, and changes its qubits."""

    _state: Any

    @property
    def qid_shape(self) -> tuple[int, ...]:
        """The levels of each qubit."""
        found: tuple[int, ...] = self._state.shape
        return found

    @abstractmethod
    def _fresh(self, qubits: Sequence[cirq.Qid]) -> Self:
        """Return qubits in |0⟩."""

    @property
    def target_tensor(self) -> Tensor:
        """The state, with an axis for each qubit; what is written there is the state, until the next operation."""
        found: Tensor = self._state.tensor()
        return found

    def add_qubits(self, qubits: Sequence[cirq.Qid]) -> Self:
        """Add qubits in |0⟩, behind the others."""
        return self.kronecker_product(self._fresh(qubits), inplace=True) if qubits else self

    def remove_qubits(self, qubits: Sequence[cirq.Qid]) -> Self:
        """Remove qubits that are |0⟩."""
        if qubits:
            self._state = self._state.without(self.get_axes(qubits))
            self._set_qubits([qubit for qubit in self.qubits if qubit not in qubits])
        return self
