"""A pure function: a circuit of Qiskit becomes a circuit of qsim-ex.

`walk` sends standard gates straight to the gate table. Everything else is looked at as an object: `library` says
what is done with a class of Qiskit's circuit library, and what is not listed there is replaced by its definition,
by its definition's definitions, and so on. Controls of any depth are handed down to the gates inside, so a
controlled circuit is a circuit of controlled gates.
"""

from __future__ import annotations

from typing import NamedTuple

from qiskit.circuit import QuantumCircuit

from qsim_ex import Circuit, CircuitBuilder
from qsim_ex.circuit.noise_model import Noise
from qsim_ex.circuit.readout import ReadoutErrors
from qsim_ex.errors import ParameterError
from qsim_ex_provider.library import emit
from qsim_ex_provider.noise import AerNoise
from qsim_ex_provider.walk import NO_CONTROLS, Walk


def translate(circuit: QuantumCircuit) -> Circuit:
    """Return the same circuit in the engine's words: wire w is ``circuit.qubits[w]``, as are classical bits.

    Raises errors of `qsim_ex.errors` that name the instruction and its place.
    """
    return translate_noisy(circuit, None).circuit


class Noisy(NamedTuple):
    """A circuit with the channels of a noisy machine, and how its classical bits are misread."""

    circuit: Circuit
    readout_errors: ReadoutErrors


def translate_noisy(circuit: QuantumCircuit, noise: Noise | None) -> Noisy:
    """Return a circuit in the engine's words as a noisy machine would run it; see `noise.noise_of`.

    Noise is found by the labels or names of the circuit's instructions, as in Aer: transpile to the noise model's basis
    gates first if gates are to be broken up. Raises as `translate` does, and `NoiseError` for an error that is none.
    """
    if circuit.num_parameters:
        names = ", ".join(sorted(parameter.name for parameter in circuit.parameters))
        raise ParameterError(
            f"circuit {circuit.name!r} has unbound parameters: {names}. Use assign_parameters, or give parameter_binds."
        )
    if isinstance(noise, AerNoise):
        circuit = noise.around(circuit)
    builder = CircuitBuilder(circuit.num_qubits, circuit.num_clbits)
    wires, clbits = tuple(range(circuit.num_qubits)), tuple(range(circuit.num_clbits))
    walk = Walk(builder, emit, noise=noise)
    walk.circuit(circuit, wires, clbits, NO_CONTROLS)
    return Noisy(builder.build(), walk.readout_errors)
