"""Density matrices between moments: Cirq's code goes through them, the engine has the numbers.

Gates and channels are collected and reach the engine together, when somebody asks for the state or an outcome has to be
found; so `simulate` without measurements is one run of the engine. Qubits that nothing has joined have states of their
own, which take no memory before that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Self

import cirq
import numpy as np
from cirq.sim.simulation_state import strat_act_on_from_apply_decompose
from numpy.typing import NDArray

from qsim_ex import Circuit, DensityMatrix, PauliSum
from qsim_ex.errors import OutOfMemory, StateError
from qsim_ex.options import Options
from qsim_ex_cirq.final_states import ANCILLA_TOLERANCE, ancillas_are_left
from qsim_ex_cirq.representation import Axes, EngineRepresentation, InEngine, numbers_of
from qsim_ex_cirq.translation.circuits import translator_of
from qsim_ex_cirq.wires import in_words, levels_of, levels_of_shape, qids_of, say_in_qids

Action = cirq.Gate | cirq.Operation
Waiting = tuple[Action, tuple[int, ...]]
"""A gate or a channel, and the axes that it acts on."""
Random = np.random.RandomState


class EngineDensityMatrix(EngineRepresentation):
    """The density matrix of qubits, or of qids of any number of levels; its tensor has the axes of rows first.

    It begins as `initial`: a basis value of all wires, or a matrix on them.
    """

    _factor = staticmethod(cirq.linalg.transformations.factor_density_matrix)

    def __init__(self, options: Options, shape: tuple[int, ...], initial: int | NDArray[np.generic] = 0) -> None:
        self._options = options
        self._shape = shape
        self._levels = levels_of_shape(shape)
        self._initial = initial
        self._state: DensityMatrix | None = None  # made when it is needed
        self._waiting: list[Waiting] = []
        self._tensor: NDArray[Any] | None = None

    def append(self, action: Action, axes: Axes) -> None:
        """Apply a gate or a channel, at the latest when the state is needed."""
        self._waiting.append((action, tuple(axes)))

    # --- what Cirq asks -------------------------------------------------------------------------------------------

    def expectation(self, sums: Sequence[PauliSum]) -> NDArray[Any]:
        """Return the trace of the state with each observable."""
        return self.now().expectation(list(sums))

    def tensor(self) -> NDArray[Any]:
        """Return the entries as an array, the axes of rows first, which is the state until the next operation."""
        if self._tensor is None or self._waiting:
            found = self.now().to_numpy()
            matrix = np.ascontiguousarray(found) if self._levels is None else self._levels.cut(found, 2)
            self._tensor = matrix.reshape(self._shape * 2)
        return self._tensor

    def copy(self, deep_copy_buffers: bool = True) -> Self:  # noqa: ARG002  (there are none)
        """Return another density matrix with the same entries."""
        state = None if self._is_untouched else self.now().clone()
        made = type(self).__new__(type(self))
        vars(made).update(vars(self), _state=state, _waiting=[*self._waiting], _tensor=None)
        return made

    def kron(self, other: Self) -> Self:
        """Return the density matrix of these qubits and those of another one."""
        if self._is_untouched and other._is_untouched:
            assert isinstance(self._initial, int)
            assert isinstance(other._initial, int)
            n, m = len(self._shape), len(other._shape)
            value = self._initial << other._num_wires | other._initial
            made = type(self)(self._options, self._shape + other._shape, value)
            made._waiting = [*self._waiting, *_moved(other._waiting, range(n, n + m))]
            return made
        return self._with(cirq.linalg.transformations.density_matrix_kronecker_product(self.tensor(), other.tensor()))

    def reindex(self, axes: Axes) -> Self:
        """Return the state with its axes in another order."""
        n = len(self._shape)
        if self._is_untouched:
            assert isinstance(self._initial, int)
            if self._levels is None:
                value = sum((self._initial >> n - 1 - axis & 1) << n - 1 - k for k, axis in enumerate(axes))
            else:
                value = self._levels.reordered(self._initial, axes)
            made = type(self)(self._options, tuple([self._shape[axis] for axis in axes]), value)
            made._waiting = _moved(self._waiting, [[*axes].index(axis) for axis in range(n)])
            return made
        return self._with(cirq.linalg.transformations.transpose_density_matrix_to_axis_order(self.tensor(), axes))

    @property
    def can_represent_mixed_states(self) -> bool:
        """Whether a channel leaves nothing to chance."""
        return True

    # --- inside ---------------------------------------------------------------------------------------------------

    @property
    def _is_untouched(self) -> bool:
        """Whether nothing has happened but that operations wait for a basis state."""
        return self._state is None and self._tensor is None and isinstance(self._initial, int)

    def now(self) -> DensityMatrix:
        """Return the engine's density matrix after everything that was waiting."""
        if self._state is None:
            try:
                self._state = DensityMatrix(self._num_wires, options=self._options, initial=self._initial)
            except OutOfMemory as error:
                say_in_qids(error, qids_of(self._shape))
                raise
        if self._tensor is not None:
            matrix = self._tensor.reshape((math.prod(self._shape),) * 2)
            self._state.set(matrix if self._levels is None else self._levels.widened(matrix, 2))
            self._tensor = None
        if self._waiting:
            waiting, self._waiting = self._waiting, []
            qubits = qids_of(self._shape)
            translator = translator_of(qubits, False)
            for action, axes in waiting:
                translator.operation(_on(action, [qubits[axis] for axis in axes]), literal=True)
            circuit = translator.translation(False).circuit
            if circuit.num_qubits > self._num_wires:
                self._borrow(self._state, circuit)
            else:
                self._state.apply(circuit)
        return self._state

    def _borrow(self, state: DensityMatrix, circuit: Circuit) -> None:
        """Apply a circuit that needs ancillas, whose wires stand behind the others and are |0⟩ before and after."""
        size = 1 << self._num_wires
        wide = np.zeros((1 << circuit.num_qubits,) * 2, dtype=state.dtype)
        wide[:size, :size] = state.to_numpy()
        with DensityMatrix(circuit.num_qubits, options=self._options, initial=wide) as larger:
            kept = larger.apply(circuit).to_numpy()[:size, :size]
        trace = float(np.trace(kept).real)
        if abs(trace - 1) > ANCILLA_TOLERANCE:
            raise ancillas_are_left(trace)
        state.set(kept)

    def _with(self, tensor: NDArray[np.generic]) -> Self:
        shape = tensor.shape[: tensor.ndim // 2]
        matrix = np.ascontiguousarray(tensor).reshape((math.prod(shape),) * 2)
        levels = levels_of_shape(shape)
        return type(self)(self._options, shape, matrix if levels is None else levels.widened(matrix, 2))


def _moved(waiting: Sequence[Waiting], to: Sequence[int]) -> list[Waiting]:
    return [(action, tuple(to[axis] for axis in axes)) for action, axes in waiting]


def _on(action: Action, qubits: Sequence[cirq.Qid]) -> cirq.Operation:
    """Return a gate or an operation on some qubits."""
    if isinstance(action, cirq.Gate):
        return action.on(*qubits)
    try:
        return action.with_qubits(*qubits)
    except NotImplementedError:  # of an operation that has a matrix and little else
        return cirq.KrausChannel(cirq.kraus(action)).on(*qubits)


class QsimExDensityMatrixState(InEngine, cirq.DensityMatrixSimulationState):
    """Cirq's simulation state, with its density matrix in the engine."""

    _state: EngineDensityMatrix  # Cirq's own keeps its arrays in a class of its own

    def __init__(
        self,
        options: Options,
        qubits: Sequence[cirq.Qid],
        *,
        initial_state: object = 0,
        prng: Random | None = None,
        classical_data: cirq.ClassicalDataStore | None = None,
    ) -> None:
        order = tuple(qubits)
        shape = tuple(qubit.dimension for qubit in order)
        state = EngineDensityMatrix(options, shape, matrix_of(initial_state, order))
        how: dict[str, object] = {"prng": prng, "qubits": order, "classical_data": classical_data}
        base: Any = cirq.SimulationState  # past the arrays of `DensityMatrixSimulationState`
        base.__init__(self, state=state, **how)
        self._options = options

    def _fresh(self, qubits: Sequence[cirq.Qid]) -> Self:
        return type(self)(self._options, qubits)

    @property
    def available_buffer(self) -> list[NDArray[Any]]:
        """Three arrays like `target_tensor`, with any content."""
        return [np.empty_like(self.target_tensor) for _ in range(3)]

    @property
    def engine_state(self) -> EngineDensityMatrix:
        """The density matrix in the engine."""
        return self._state

    def _act_on_fallback_(self, action: Any, qubits: Sequence[cirq.Qid], allow_decompose: bool = True) -> bool:
        if cirq.has_kraus(action):
            if cirq.is_measurement(action):  # a channel with a key, under which Cirq's density matrices write nothing
                action = cirq.KrausChannel(cirq.kraus(action))
            self._state.append(action, self.get_axes(qubits))
            return True
        if allow_decompose and strat_act_on_from_apply_decompose(action, self, qubits) is True:
            return True
        return self._act_on_fallback_(numbers_of(action), qubits, allow_decompose)


def matrix_of(given: Any, qubits: tuple[cirq.Qid, ...]) -> int | NDArray[Any]:
    """Return the basis value (first qubit most significant) or the density matrix [2^n, 2^n] of an initial state.

    given: what ``cirq.DensityMatrixSimulator`` takes: None, an integer, amplitudes, or a density matrix. Where qids
    have other levels than two, it is in their basis, and what is returned in that of their wires. Raises `StateError`.
    """
    if given is None:
        return 0
    levels, shape = levels_of(qubits), tuple(qubit.dimension for qubit in qubits)
    n, size = len(qubits), math.prod(shape)
    if isinstance(given, int | np.integer):
        if not 0 <= given < size:
            values = f"{in_words(qubits)} have the values 0 to {size - 1}"
            raise StateError(f"initial_state={given} is out of range: {values}.")
        return int(given) if levels is None else levels.value(int(given))
    try:
        if isinstance(given, cirq.ProductState):
            given = given.state_vector(cirq.QubitOrder.explicit(qubits))  # a KeyError names a qubit that it lacks
        array = np.asarray(given)
        atol = 1e-7 if array.dtype.char == "D" else 1e-5
        tensor = array.reshape(size, size) if array.ndim == 2 * n and n > 1 else given
        matrix = cirq.to_valid_density_matrix(tensor, n, qid_shape=shape, atol=atol)
    except (ValueError, TypeError, KeyError) as error:  # what Cirq raises for lists, strings and missing qubits
        raise StateError(f"this is no state of {in_words(qubits)}: {error}") from error
    matrix = np.asarray(matrix).reshape(size, size)
    return matrix if levels is None else levels.widened(matrix, 2)
