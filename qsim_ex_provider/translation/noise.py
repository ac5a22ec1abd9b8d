"""Noise as Qiskit's users write it: Aer's noise models, and channels that stand in a circuit.

Aer is never imported here: a caller who passes one of its objects has imported it. Of a `NoiseModel` the errors are
read that its own methods keep: for each instruction, by label or name, those for all qubits and for given ones; and
readout errors.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from qiskit.circuit import Instruction
from qiskit.quantum_info import Kraus as KrausChannel
from qiskit.quantum_info import SuperOp

from qsim_ex.errors import NoiseError, NotSupported, OptionError
from qsim_ex.frameworks import Noise, Remembered, check, confusion, lindblad_parts, simplified

Kraus = NDArray[np.complex128]
Wires = tuple[int, ...]


def of_aer(model: Any) -> AerNoise | None:
    """Return a noise model of Aer's as `Noise`; None if it has none. Raises `OptionError` for anything else."""
    if not _is_aers(model, "NoiseModel"):
        raise OptionError(
            "expected noise_model as a NoiseModel of qiskit_aer.noise or a qsim_ex.NoiseModel, got "
            f"{model!r}; pass None for no noise."
        )
    if model.is_ideal():
        return None
    reading = _reading_of(model)
    found: _Found | None = _known.get(model, "noise", reading)
    if found is None:
        found = _Found()
        _known.put(model, "noise", reading, found, 1)
    return AerNoise(model, found)


def basis_gates_of(noise: Noise | None) -> frozenset[str] | None:
    """Return the names of the gates that a noise model of Aer's is made for; None if it is made for any gate."""
    return frozenset(noise.model.basis_gates) if isinstance(noise, AerNoise) else None


def _is_aers(thing: Any, name: str) -> bool:
    """Return whether an object is of a class of Aer's noise package, or of one derived from it."""
    classes = type(thing).__mro__
    return any(one.__name__ == name and one.__module__.startswith("qiskit_aer.noise") for one in classes)


class _Found:
    """What was read of a noise model so far.

    errors: by the error's identity; readings of the model hold the errors. instructions: by name and wires.
    misreadings: by wire.
    """

    def __init__(self) -> None:
        self.errors: dict[int, Kraus] = {}
        self.instructions: dict[tuple[str, Wires], Kraus | None] = {}
        self.misreadings: dict[int, NDArray[np.float64] | None] = {}


_known = Remembered()
"""What was read of noise models, which runs one after another share."""


def _reading_of(model: Any) -> list[Any]:
    """Return all errors of a noise model; two readings are compared error by error, first by identity."""
    local = {name: dict(errors) for name, errors in model._local_quantum_errors.items()}
    default = dict(model._default_quantum_errors)
    return [default, local, model._default_readout_error, dict(model._local_readout_errors)]


class AerNoise:
    """A noise model of Aer's, as `Noise`; its errors become Kraus matrices when a circuit first needs them.

    As in Aer the error of a measurement stands before it, every other error after its gate, and an error for given
    qubits takes the place of one for all.
    """

    def __init__(self, model: Any, found: _Found | None = None) -> None:
        self.model = model
        self._found = _Found() if found is None else found

    @property
    def contents(self) -> object:
        """What is the same object as long as the model is not changed."""
        return self._found

    def before(self, name: str, wires: Wires) -> Kraus | None:
        """Return the error of a measurement."""
        return self._error(name, wires) if name == "measure" else None

    def after(self, name: str, wires: Wires) -> Kraus | None:
        """Return the error of any other instruction; name: its label, if it has one."""
        return None if name == "measure" else self._error(name, wires)

    def misreading(self, wire: int) -> NDArray[np.float64] | None:
        """Return the readout error of a qubit; raises `NotSupported` for one that several qubits share."""
        known = self._found.misreadings
        if wire not in known:
            known[wire] = self._new_misreading(wire)
        return known[wire]

    def _new_misreading(self, wire: int) -> NDArray[np.float64] | None:
        local = self.model._local_readout_errors
        shared = [qubits for qubits in local if wire in qubits and len(qubits) > 1]
        if shared:
            raise NotSupported(
                f"the readout error of qubits {shared[0]} together: Qiskit measures qubit by qubit, so that Aer does "
                "not apply it either. Give each qubit its own with add_readout_error."
            )
        error = local.get((wire,), self.model._default_readout_error)
        return None if error is None else confusion(error.probabilities, 1)

    def around(self, circuit: Any) -> Any:
        """Return the circuit as the model's own passes change it: with relaxation in delays, for a backend's model."""
        passes = self.model._pass_manager()
        return circuit if passes is None or "delay" not in circuit.count_ops() else passes.run(circuit)

    def _error(self, name: str, wires: Wires) -> Kraus | None:
        key, found = (name, wires), self._found.instructions
        if key not in found:
            found[key] = self._new_error(name, wires)
        return found[key]

    def _new_error(self, name: str, wires: Wires) -> Kraus | None:
        local = self.model._local_quantum_errors.get(name, {})
        error = local.get(wires, self.model._default_quantum_errors.get(name))
        if error is None:
            return None
        if error.num_qubits != len(wires):
            raise NoiseError(
                f"expected an error of {len(wires)} qubits for {name!r} on {wires}, got one of {error.num_qubits}."
            )
        known = self._found.errors
        if id(error) not in known:
            known[id(error)] = kraus_of(error)
            known[id(error)].setflags(write=False)  # so that a builder recognises it
        return known[id(error)]


def kraus_of(error: Any) -> Kraus:
    """Return a `QuantumError` of Aer's as Kraus matrices: a mixture of unitary matrices where it is one.

    An error is circuits with probabilities; each is a product of gates, resets and channels.
    """
    if hasattr(error, "to_quantum_error"):  # errors that are kept as Pauli products with probabilities or rates
        error = error.to_quantum_error()
    _check_width(error.num_qubits, "an error of a noise model")
    terms = zip(error.circuits, error.probabilities, strict=True)
    return simplified(np.concatenate([np.sqrt(probability) * of_circuit(circuit) for circuit, probability in terms]))


def lindblad_of(operation: Instruction) -> list[tuple[Wires, Kraus]] | None:
    """Return a `PauliLindbladError` of Aer's in a circuit as channels on few of its qubits; None for other channels."""
    error = getattr(operation, "_quantum_error", None)
    generators = getattr(error, "generators", None)
    if error is None or generators is None:
        return None
    numbers = generators.x.astype(int) + 2 * generators.z
    letters = ["".join("IXZY"[number] for number in row) for row in numbers.tolist()]
    every = range(error.num_qubits)
    return lindblad_parts(((string, every), rate) for string, rate in zip(letters, error.rates.tolist(), strict=True))


def of_circuit(circuit: Any) -> Kraus:
    """Return the Kraus matrices of a circuit without classical bits: all products of those of its instructions."""
    n = circuit.num_qubits
    found = np.eye(1 << n, dtype=np.complex128)[None]
    for instruction in circuit.data:
        operation = instruction.operation
        if operation.name not in ("id", "barrier", "delay"):
            on = [circuit.find_bit(qubit).index for qubit in instruction.qubits]
            matrices = of_operation(operation)
            found = np.array([_applied(matrix, on, held) for held in found for matrix in matrices])
    return found


def of_operation(operation: Any) -> Sequence[Kraus]:
    """Return the Kraus matrices of an instruction: a channel, a reset, or a gate, which has one.

    Raises `NoiseError` for anything else.
    """
    match operation.name:
        case "kraus":
            _check_width(operation.num_qubits, "a channel")
            return [np.asarray(matrix, dtype=np.complex128) for matrix in operation.params]
        case "superop":
            _check_width(operation.num_qubits, "a channel")
            return _of_superop(SuperOp(operation.params[0]))
        case "quantum_channel":
            return [*kraus_of(operation._quantum_error)]
        case "reset":
            return [np.diag([1, 0]).astype(np.complex128), np.array([[0, 1], [0, 0]], dtype=np.complex128)]
        case _ if hasattr(operation, "to_matrix"):
            return [np.asarray(operation.to_matrix(), dtype=np.complex128)]
        case name:
            raise NoiseError(f"{name!r} in an error of a noise model is neither a gate nor a channel.")


def _of_superop(channel: SuperOp) -> Sequence[Kraus]:
    """Return the Kraus matrices of a map; raises `NoiseError` if it is not completely positive."""
    matrices = KrausChannel(channel).data
    if isinstance(matrices, tuple):
        raise NoiseError("a super-operator that is not completely positive is no channel.")
    return [*np.asarray(matrices, dtype=np.complex128)]


def _applied(matrix: Kraus, qubits: Iterable[int], to: Kraus) -> Kraus:
    """Return a matrix on some qubits, the first least significant, times a matrix [2^n, 2^n] on all."""
    n = len(to).bit_length() - 1
    axes = [n - 1 - qubit for qubit in qubits][::-1]  # most significant first, as axes are
    k = len(axes)
    given = np.reshape(matrix, (2,) * (2 * k))
    product = np.tensordot(given, to.reshape((2,) * n + (-1,)), axes=(range(k, 2 * k), axes))
    return np.moveaxis(product, range(k), axes).reshape(to.shape)


def _check_width(num_qubits: int, what: str) -> None:
    if num_qubits > check.CHANNEL_WIRES:
        raise NoiseError(f"expected {what} on at most {check.CHANNEL_WIRES} qubits, got one on {num_qubits}.")
