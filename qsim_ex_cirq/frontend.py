"""Cirq for the engine's command line, which finds `frontend` under the entry-point group ``qsim_ex.frontends``.

It runs circuits that belong to no framework through Cirq's own interface, as Cirq's users would: see
`qsim_ex.frontends.Runner` for what is asked of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import cirq
import numpy as np

from qsim_ex import Options
from qsim_ex.errors import UnknownInstruction, nearest
from qsim_ex_cirq.results import Vector
from qsim_ex_cirq.simulator import ENGINE, QsimExSimulator


def _fixed(gate: cirq.Gate) -> Callable[[], cirq.Gate]:
    return lambda: gate


def _turn(kind: Callable[..., cirq.Gate], shift: float = 0.0) -> Callable[[float], cirq.Gate]:
    return lambda angle: kind(exponent=angle / np.pi, global_shift=shift)


GATES: dict[str, Callable[..., cirq.Gate]] = {
    "x": _fixed(cirq.X),
    "y": _fixed(cirq.Y),
    "z": _fixed(cirq.Z),
    "h": _fixed(cirq.H),
    "s": _fixed(cirq.S),
    "sdg": _fixed(cirq.S**-1),
    "t": _fixed(cirq.T),
    "tdg": _fixed(cirq.T**-1),
    "sx": _fixed(cirq.X**0.5),
    "sxdg": _fixed(cirq.X**-0.5),
    "rx": cirq.rx,
    "ry": cirq.ry,
    "rz": cirq.rz,
    "p": _turn(cirq.ZPowGate),
    "rxx": _turn(cirq.XXPowGate, -0.5),
    "ryy": _turn(cirq.YYPowGate, -0.5),
    "rzz": _turn(cirq.ZZPowGate, -0.5),
    "cx": _fixed(cirq.CX),
    "cy": _fixed(cirq.Y.controlled()),
    "cz": _fixed(cirq.CZ),
    "cp": _turn(cirq.CZPowGate),
    "swap": _fixed(cirq.SWAP),
    "iswap": _fixed(cirq.ISWAP),
    "fsim": cirq.FSimGate,
    "ccx": _fixed(cirq.CCX),
    "ccz": _fixed(cirq.CCZ),
    "cswap": _fixed(cirq.CSWAP),
}
"""The gates of the engine's table that Cirq has too, by the table's names, with angles in radians."""


class CirqFrontend:
    """Runs gates through Cirq."""

    name = "cirq"

    def run_neutral(
        self,
        gates: Sequence[tuple[str, Sequence[int], Sequence[float]]],
        num_qubits: int,
        shots: int,
        seed: int,
        options: Options,
    ) -> tuple[Vector, dict[int, int], Mapping[str, object]]:
        """Run gates from |0…0> and measure all wires at the end.

        Returns the amplitudes before the measurement (bit w of the index = wire w), the counts (bit w of a key =
        wire w) and what is known of the run. Raises `UnknownInstruction` for a gate that is not in `GATES`.
        """
        line = cirq.LineQubit.range(num_qubits)
        circuit = circuit_of(gates, line)
        given = {name: getattr(options, name) for name in ENGINE}
        simulator = QsimExSimulator(dtype=options.dtype.type, seed=seed, **given)
        run = next(simulator.run_sweep_iter(circuit + cirq.measure(*line, key="all"), None, repetitions=shots))
        amplitudes = simulator.simulate(circuit, qubit_order=line).final_state_vector
        return amplitudes, dict(sorted(run.histogram(key="all").items())), run.qsim_ex


def circuit_of(
    gates: Sequence[tuple[str, Sequence[int], Sequence[float]]], line: Sequence[cirq.LineQubit]
) -> cirq.Circuit:
    """Return Cirq's circuit; wire w is the qubit w from the end, as the last qubit is the least significant."""
    circuit = cirq.Circuit()
    for name, wires, parameters in gates:
        make = GATES.get(name)
        if make is None:
            raise UnknownInstruction(f"Cirq has no gate {name!r} here.{nearest(name, GATES)}")
        circuit += make(*parameters).on(*(line[-1 - wire] for wire in wires))
    return circuit


frontend = CirqFrontend()
