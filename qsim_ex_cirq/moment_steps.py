"""States between moments, for ``simulate_moment_steps``: Cirq's code goes through them, the engine has the amplitudes.

Gates are collected and reach the engine together, when somebody asks for the state or an outcome has to be found. So
steps that nobody looks at cost little more than `simulate`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Self

import cirq
import numpy as np
from cirq.sim.simulation_state import strat_act_on_from_apply_decompose
from numpy.typing import NDArray

from qsim_ex import Simulator
from qsim_ex.frameworks import thresholds
from qsim_ex_cirq.final_states import metadata_of
from qsim_ex_cirq.halves import Halves
from qsim_ex_cirq.moment_circuits import circuit_of
from qsim_ex_cirq.representation import Axes, EngineRepresentation, InEngine, Seed, numbers_of
from qsim_ex_cirq.results import Metadata, Vector
from qsim_ex_cirq.states import initial_of
from qsim_ex_cirq.translation.gates import RULES
from qsim_ex_cirq.translation.noise import MomentOperation, drawn_from
from qsim_ex_cirq.wires import levels_of, levels_of_shape, qids_of

if TYPE_CHECKING:
    from qsim_ex import StateVector

Random = np.random.RandomState


class EngineState(EngineRepresentation):
    """Amplitudes of qubits, or of qids of any number of levels."""

    _factor = staticmethod(cirq.linalg.transformations.factor_state_vector)

    def __init__(
        self,
        engine: Simulator,
        qubits: tuple[cirq.Qid, ...],
        initial: int | NDArray[np.generic] = 0,
    ) -> None:
        """Prepare a basis value or amplitudes of the wires; qubits: those by which `append_all` knows the axes."""
        self._engine = engine
        self._qubits = qubits
        self._levels = levels_of(qubits)
        self._shape = (2,) * len(qubits) if self._levels is None else self._levels.shape
        self._state: StateVector = engine.state(num_wires=self._num_wires, initial=initial)
        self._waiting: list[MomentOperation] = []
        self._whole: cirq.Moment | None = None  # the moment whose gates are all that waits
        self._tensor: NDArray[Any] | None = None
        self._moment = 0
        self._halves: Halves | None = None  # whose product the state is, until a gate joins them
        if len(qubits) >= thresholds.now.halved_qubits and isinstance(initial, int) and self._is_array:
            self._halves = None if self._levels else Halves(engine, qubits, initial)

    # --- gates ----------------------------------------------------------------------------------------------------

    def append(self, action: cirq.Gate | cirq.Operation, axes: Axes) -> None:
        """Apply a unitary operation, at the latest when the state is needed."""
        qubits = [self._qubits[axis] for axis in axes]
        operation = action.on(*qubits) if isinstance(action, cirq.Gate) else action.with_qubits(*qubits)
        self._whole = None
        self._waiting.append((self._moment, operation))

    def append_all(
        self,
        operations: Iterable[cirq.Operation],
        qubits: tuple[cirq.Qid, ...],
        moment: cirq.Moment | None = None,
    ) -> None:
        """Apply operations that are gates with rules, on some of the qubits, which are the axes in order.

        moment: the one whose operations they are, if they are all of them.
        """
        if qubits is not self._qubits:  # since axes were added, removed, or put in another order
            if self._waiting:
                self.now()
            self._qubits, self._halves = qubits, None
        self._whole = None if self._waiting else moment
        self._waiting.extend((self._moment, operation) for operation in operations)

    def begin_moment(self, number: int) -> None:
        """Note the number of the moment that comes now, for errors."""
        self._moment = number

    def choose_kraus(self, matrices: Sequence[NDArray[np.generic]], axes: Axes, random: Random) -> int:
        """Apply one Kraus matrix, chosen by its probability, and return its number.

        It is applied on the host, since the engine takes unitary matrices and whole channels only.
        """
        tensor, left = self.tensor(), float(random.random())
        chosen, largest = (0, tensor), -1.0
        for number, matrix in enumerate(matrices):
            moved = cirq.targeted_left_multiply(
                np.asarray(matrix, dtype=tensor.dtype).reshape([tensor.shape[axis] for axis in axes] * 2), tensor, axes
            )
            weight = float(np.vdot(moved, moved).real)
            if weight > largest:  # where rounding leaves some of the random number, the likeliest one is taken
                chosen, largest = (number, moved / np.sqrt(weight)), weight
            left -= weight
            if left < 0:
                chosen = (number, moved / np.sqrt(weight))
                break
        self._tensor = chosen[1]
        return chosen[0]

    # --- what Cirq asks -------------------------------------------------------------------------------------------

    def measure(self, axes: Axes, seed: Seed = None) -> list[int]:
        """Measure axes, which collapses the state."""
        found = super().measure(axes, seed)
        self._halves = None
        return found

    def vector(self, copy: bool = True) -> Vector:
        """Return all amplitudes; without a copy an array to read from, until the next operation."""
        state = self.now(in_order=True).canonical()
        if self._levels is not None:
            return self._levels.cut(state.to_numpy())
        if copy or not self._is_array:
            return state.to_numpy()
        found: Vector = np.asarray(state)[:]
        found.setflags(write=False)
        return found

    def tensor(self) -> NDArray[Any]:
        """Return the amplitudes as an array with an axis for each qubit, which is the state until the next gate."""
        if self._tensor is None or self._waiting:
            self._tensor = self.vector().reshape(self._shape)
        return self._tensor

    def metadata(self) -> Metadata:
        """Return where and how the state is stored."""
        return metadata_of(self._state)

    def copy(self, deep_copy_buffers: bool = True) -> Self:  # noqa: ARG002  (there are none)
        """Return another state with the same amplitudes."""
        return self._of(self.now().clone())

    def kron(self, other: Self) -> Self:
        """Return the state of these qubits and those of another one."""
        return self._with(np.tensordot(self.tensor(), other.tensor(), 0))

    def reindex(self, axes: Axes) -> Self:
        """Return the state with its axes in another order."""
        return self._with(np.transpose(self.tensor(), axes))

    # --- inside ---------------------------------------------------------------------------------------------------

    def now(self, *, in_order: bool = False) -> StateVector:
        """Return the state vector after everything that was waiting.

        in_order: whether its wires are to be in order, in which a single moment leaves them: see `StateVector.apply`.
        The plan of many moments is better without that, and a pass for the order at its end.
        """
        if self._tensor is not None:
            vector = self._tensor.reshape(-1)
            self._state.set(vector if self._levels is None else self._levels.widened(vector))
            self._tensor = self._halves = None
        if self._waiting:
            waiting, self._waiting = self._waiting, []
            whole, self._whole = self._whole, None
            if in_order and self._halves is not None and whole is not None and self._halves.apply(waiting, whole):
                self._halves.write(self._state)
                return self._state
            self._halves = None
            circuit = circuit_of(waiting, self._qubits, whole)
            ancillas = range(self._num_wires, circuit.num_qubits)
            if ancillas:
                self._state.add_wires(len(ancillas)).apply(circuit).remove_wires(ancillas)
            else:
                self._state.apply(circuit, in_order=in_order and whole is not None)
        return self._state

    @property
    def _is_array(self) -> bool:
        """Whether the amplitudes are one array in the host's memory."""
        return self._state.device.in_host_memory and self._state.in_one_piece

    def _with(self, tensor: NDArray[np.generic]) -> Self:
        vector, levels = np.ascontiguousarray(tensor).reshape(-1), levels_of_shape(tensor.shape)
        return type(self)(self._engine, qids_of(tensor.shape), vector if levels is None else levels.widened(vector))

    def _of(self, state: StateVector) -> Self:
        made = type(self).__new__(type(self))
        vars(made).update(vars(self), _state=state, _waiting=[], _tensor=None, _halves=None)
        return made


class QsimExSimulationState(InEngine, cirq.StateVectorSimulationState):
    """Cirq's simulation state, with its amplitudes in the engine."""

    _state: EngineState  # Cirq's own keeps its arrays in a class of its own

    def __init__(
        self,
        engine: Simulator,
        qubits: Sequence[cirq.Qid],
        *,
        initial_state: object = 0,
        prng: Random | None = None,
        classical_data: cirq.ClassicalDataStore | None = None,
    ) -> None:
        order = tuple(qubits)
        state = EngineState(engine, order, initial_of(initial_state, order))
        how: dict[str, object] = {"prng": prng, "qubits": order, "classical_data": classical_data}
        base: Any = cirq.SimulationState  # past the arrays of `StateVectorSimulationState`
        base.__init__(self, state=state, **how)
        self._engine = engine

    def _fresh(self, qubits: Sequence[cirq.Qid]) -> Self:
        return type(self)(self._engine, qubits)

    @property
    def available_buffer(self) -> NDArray[Any]:
        """An array like `target_tensor`, with any content."""
        return np.empty_like(self.target_tensor)

    def vector(self, copy: bool) -> Vector:
        """Return all amplitudes, big endian by the order of the qubits; see `EngineState.vector`."""
        return self._state.vector(copy)

    def metadata(self) -> Metadata:
        """Return where and how the state is stored."""
        return self._state.metadata()

    def moment(self, number: int, moment: cirq.OP_TREE) -> None:
        """Act with the operations of a moment: gates with rules of their own at once, others by Cirq's protocol."""
        self._state.begin_moment(number)
        gates: list[cirq.Operation] = []
        if isinstance(moment, cirq.Moment) and all(map(_has_rule, moment.operations)):
            self._state.append_all(moment.operations, self.qubits, moment)
            return
        for operation in cirq.flatten_to_ops(moment):
            if _has_rule(operation):
                gates.append(operation)
            else:
                self._state.append_all(gates, self.qubits)
                gates.clear()
                cirq.act_on(operation, self)
        self._state.append_all(gates, self.qubits)

    def _act_on_fallback_(self, action: Any, qubits: Sequence[cirq.Qid], allow_decompose: bool = True) -> bool:
        axes = self.get_axes(qubits)
        if cirq.has_unitary(action):
            self._state.append(action, axes)
            return True
        weights, gates, kraus = drawn_from(action)
        if gates:
            number = int(self.prng.choice(len(gates), p=weights))
            self._state.append(gates[number], axes)
        elif kraus is not None:
            number = self._state.choose_kraus(kraus, axes, self.prng)
        elif allow_decompose and strat_act_on_from_apply_decompose(action, self, qubits) is True:
            return True
        else:
            return self._act_on_fallback_(numbers_of(action), qubits, allow_decompose)
        if cirq.is_measurement(action):
            self._classical_data.record_channel_measurement(cirq.measurement_key_obj(action), number)
        return True


def _has_rule(operation: cirq.Operation) -> bool:
    return isinstance(operation, cirq.GateOperation) and type(operation.gate) in RULES


class QsimExStepResult(cirq.SparseSimulatorStep):
    """Cirq's step of a simulation; it can be sampled and read, and what follows goes on from it."""

    def metadata(self) -> Metadata:
        """Return where and how the state is stored; empty for a state of Cirq's own."""
        state = self._merged_sim_state
        return state.metadata() if isinstance(state, QsimExSimulationState) else {}

    def engine_state(self) -> StateVector:
        """Return the engine's state at this point, until the next moment; of a state that is in the engine."""
        state = self._merged_sim_state
        assert isinstance(state, QsimExSimulationState)
        return state._state.now()

    def state_vector(self, copy: bool = False) -> Vector:
        """Return the amplitudes at this point, [2^n] for n qubits, big endian by the qubit order.

        Without a copy the array, which is to be read only, may show the state after the next moment later.
        """
        state = self._merged_sim_state
        if isinstance(state, QsimExSimulationState):
            return state.vector(copy)
        vector: Vector = super().state_vector(copy)
        return vector
