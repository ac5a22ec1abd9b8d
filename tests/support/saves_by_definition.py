"""What saves have to find, by the definition: all ways through a circuit, and the value of a save in a state."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, assert_never

import numpy as np
from numpy.typing import NDArray

from qsim_ex import reference
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.control import ControlFlow
from qsim_ex.circuit.ops import Begin, Conditional, Measure, Op, Save, SetState
from qsim_ex.reference import Matrix, Vector


class Way(NamedTuple):
    """One way through a circuit: its probability, the classical bits (bit c = classical bit c), and its state."""

    probability: float
    bits: int
    psi: Vector


def ways_to(circuit: Circuit, label: str) -> list[Way]:
    """Return all ways through a circuit up to the save of a label; ways of probability 0 are left out.

    A gate has one way on, a measurement or a reset one for each outcome, and a channel one for each Kraus matrix.
    """
    n, operands = circuit.num_qubits, circuit.operands[0]
    ways = [Way(1.0, 0, reference.zero_state(n))]
    for instruction in circuit.instructions:
        match instruction:
            case Save(name):
                if name == label:
                    return ways
            case Op():
                ways = [way._replace(psi=reference.apply_op(way.psi, instruction, operands)) for way in ways]
            case SetState(wires, operand):
                psi = reference.set_state(wires, operands[operand : operand + (1 << n)])
                ways = [way._replace(psi=psi) for way in ways]
            case Conditional(operation, clbits, values):
                ways = [
                    way._replace(psi=reference.apply_op(way.psi, operation, operands))
                    if reference.value_of(way.bits, clbits) in values
                    else way
                    for way in ways
                ]
            case Measure(wires, clbits):
                found = range(1 << len(wires))
                jumps = [reference.embedded(n, wires, reference.jump(len(wires), value, value)) for value in found]
                bits = [[(clbit, value >> k & 1) for k, clbit in enumerate(clbits)] for value in found]
                ways = [on for way in ways for on in _ways_on(way, jumps, bits)]
            case Begin():
                pass
            case ControlFlow():
                raise ValueError("expected a circuit without blocks and loops; use density_matrix.")
            case _:
                maps = reference.maps_of(n, instruction, operands)
                ways = [on for way in ways for on in _ways_on(way, maps, [[]] * len(maps))]
    raise ValueError(f"expected the label of a save, got {label!r}.")


def _ways_on(way: Way, maps: list[Matrix], written: list[list[tuple[int, int]]]) -> Iterable[Way]:
    """Yield the ways on from a way; written: for each map the classical bits that it writes, and their values."""
    for matrix, bits in zip(maps, written, strict=True):
        psi, after = matrix @ way.psi, way.bits
        weight = float(np.vdot(psi, psi).real)
        for clbit, value in bits:
            after = after & ~(1 << clbit) | value << clbit
        if weight > 1e-15:
            yield Way(way.probability * weight, after, psi / np.sqrt(weight))


def saved_value(save: Save, psi: Vector) -> NDArray[Any]:
    """Return the value of a save in a state; raises `ValueError` for a unitary, which is of no state."""
    n = psi.size.bit_length() - 1
    wires = tuple(range(n)) if save.wires is None else save.wires
    rest = tuple(wire for wire in range(n) if wire not in wires)
    index = np.arange(psi.size, dtype=np.int64)
    columns = np.zeros((1 << len(wires), 1 << len(rest)), dtype=np.complex128)  # the state, by values of the wires
    columns[reference.extract(index, wires), reference.extract(index, rest)] = psi
    rho = columns @ columns.conj().T
    chosen = psi[np.array(save.values, dtype=np.int64)]
    match save.what:
        case "statevector":
            return psi
        case "amplitudes":
            return np.asarray(chosen)
        case "amplitudes_squared":
            return np.abs(chosen) ** 2
        case "probabilities":
            return rho.diagonal().real
        case "density_matrix":
            return rho
        case "expectation_value" | "expectation_value_variance":
            matrix = observable_of(save, len(wires))
            mean = np.trace(matrix @ rho).real
            if save.what == "expectation_value":
                return np.asarray(mean)
            return np.array([mean, np.trace(matrix @ matrix @ rho).real - mean**2])
        case "unitary":
            raise ValueError("expected the save of a value of a state, got that of a unitary; use unitary_at.")
        case "stabilizer":
            raise ValueError("expected a value that a state has one of, got a tableau, whose strings keep the state.")
        case _:
            assert_never(save.what)


def observable_of(save: Save, num_wires: int) -> Matrix:
    """Return the matrix [2^k, 2^k] of an observable: a sum of Kronecker products of Pauli matrices."""
    assert save.observable is not None
    i, x = np.eye(2), np.array([[0, 1], [1, 0]])
    z = np.diag([1, -1])
    paulis = {(0, 0): i, (1, 0): x, (0, 1): z, (1, 1): 1j * x @ z}
    total = np.zeros((1 << num_wires, 1 << num_wires), dtype=np.complex128)
    for term in save.observable.terms:
        matrix = np.ones((1, 1), dtype=np.complex128)
        for wire in range(num_wires):
            matrix = np.kron(paulis[term.x >> wire & 1, term.z >> wire & 1], matrix)
        total += term.coefficient * matrix
    return total


def unitary_at(circuit: Circuit, label: str) -> Matrix:
    """Return the unitary of all gates before the save of a label, column by column."""
    place = next(k for k, i in enumerate(circuit.instructions) if isinstance(i, Save) and i.label == label)
    before = Circuit(circuit.num_qubits, 0, circuit.instructions[:place], circuit.operands)
    columns = np.eye(1 << circuit.num_qubits, dtype=np.complex128)
    return np.array([reference.simulate(before, column) for column in columns]).T
