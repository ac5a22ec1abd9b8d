"""Later runs beside qsim in the bases of machines, and with each gate as a matrix through Cirq:

    python -m benchmarks.beside_qsim [--wires 20] [--threads 1] [--only walk ucc] [--bases cz matrices] --out FILE

In single precision, from |0…0⟩ to the state. In bases both are given circuits of their own, made beforehand; qsim fuses
gates of up to 3 and up to 4 qubits, and the better of both counts. As matrices both are given one circuit of
`cirq.MatrixGate`, and the clock runs from the call of ``simulate`` to the final state vector. Both take turns, after
runs of ours that last so long that all ways to write a circuit have been compared; medians are printed, with the load.
With one thread they are times of the processor.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import geometric_mean, median
from time import perf_counter, process_time

import cirq
import numpy as np
from qiskit import QuantumCircuit, transpile
from qiskit.quantum_info import Operator
from qsimcirq import QSimCircuit, QSimOptions, QSimSimulator, qsim

from benchmarks import machine
from benchmarks.bases import BASES, families
from qsim_ex import Simulator
from qsim_ex_cirq import QsimExSimulator
from qsim_ex_provider.translation.circuits import translate

MATRICES = "matrices"
TURNS = 5
PATIENCE = 6.0
"""Seconds of turns behind which there is no further one."""
WARM = 1.0, 60
"""Seconds of runs before anything is timed, and the most of them."""

_NAMED: dict[str, cirq.Gate] = {"h": cirq.H, "x": cirq.X, "cx": cirq.CX, "cz": cirq.CZ, "ccx": cirq.CCX,
                                "swap": cirq.SWAP, "sx": cirq.X**0.5}  # fmt: skip
_TURNS: dict[str, Callable[..., cirq.Gate]] = {
    "rx": cirq.rx, "ry": cirq.ry, "rz": cirq.rz,
    "cp": lambda angle: cirq.CZPowGate(exponent=angle / np.pi),
    "rzz": lambda angle: cirq.ZZPowGate(exponent=angle / np.pi, global_shift=-0.5),
    "r": lambda angle, axis: cirq.PhasedXPowGate(
        phase_exponent=axis / np.pi, exponent=angle / np.pi, global_shift=-0.5
    ),
}  # fmt: skip


def in_cirq(circuit: QuantumCircuit, *, matrices: bool) -> cirq.Circuit:
    """Return a circuit of Qiskit as one of Cirq. matrices: each gate as its matrix, else where Cirq has no name for it.

    The last qubit of Qiskit is the first of Cirq, so that indices of amplitudes are the same.
    """
    qubits, made = cirq.LineQubit.range(circuit.num_qubits)[::-1], cirq.Circuit()
    for item in circuit.data:
        on = [qubits[circuit.find_bit(one).index] for one in item.qubits]
        name, params = item.operation.name, item.operation.params
        if not matrices and name in _NAMED:
            made.append(_NAMED[name](*on))
        elif not matrices and name in _TURNS:
            made.append(_TURNS[name](*map(float, params))(*on))
        elif not matrices and name.endswith("z") and len(on) > 2:
            made.append(cirq.Z.controlled(len(on) - 1)(*on))
        else:
            made.append(cirq.MatrixGate(Operator(item.operation).data, unitary_check=False)(*reversed(on)))
    return made


def in_qsim(circuit: QuantumCircuit, fused: int, threads: int) -> Callable[[], object]:
    """Return a run of qsim, whose circuit is translated beforehand, and which reads one amplitude."""
    plain = QSimOptions(max_fused_gate_size=fused, cpu_threads=threads).as_dict()
    order = cirq.LineQubit.range(circuit.num_qubits)
    made, _ = QSimCircuit(in_cirq(circuit, matrices=False)).translate_cirq_to_qsim(order)
    asked = {**plain, "s": 1, "i": "0" * circuit.num_qubits, "c": made}
    return lambda: qsim.qsim_simulate(asked)


def runs(circuit: QuantumCircuit, basis: str, threads: int) -> tuple[Callable[[], object], list[Callable[[], object]]]:
    """Return a run of ours, and runs of qsim."""
    if basis == MATRICES:
        made = in_cirq(circuit, matrices=True)
        ours = QsimExSimulator(threads=threads, dtype=np.complex64)
        theirs = [QSimSimulator(QSimOptions(max_fused_gate_size=k, cpu_threads=threads)) for k in (3, 4)]
        return lambda: ours.simulate(made).final_state_vector, [
            lambda one=one: one.simulate(made).final_state_vector for one in theirs
        ]
    gates = BASES[basis]
    written = circuit if gates is None else transpile(circuit, basis_gates=list(gates), optimization_level=1)
    simulator, own = Simulator(precision="single", threads=threads), translate(written)

    def state() -> None:
        with simulator.state(own):
            pass

    return state, [in_qsim(written, fused, threads) for fused in (3, 4)]


def seconds(run: Callable[[], object], threads: int) -> float:
    """Return how long a run takes: of one thread the processor's time, which others who use the machine change less."""
    clock = process_time if threads == 1 else perf_counter
    begin = clock()
    run()
    return clock() - begin


def times(circuit: QuantumCircuit, basis: str, threads: int) -> dict[str, float]:
    """Return the first run of ours and the medians of both, in milliseconds, and the load."""
    ours, theirs = runs(circuit, basis, threads)
    first = seconds(ours, threads)
    spent, count = 0.0, 0
    while spent < WARM[0] and count < WARM[1]:
        spent, count = spent + seconds(ours, threads), count + 1
    each: list[list[float]] = [[], *([] for _ in theirs)]
    while len(each[0]) < TURNS and sum(map(sum, each)) < PATIENCE:
        for found, run in zip(each, (ours, *theirs), strict=True):
            found.append(seconds(run, threads))
    own, *others = map(median, each)
    return {"first": 1e3 * first, "ours": 1e3 * own, "qsim": 1e3 * min(others), "load": os.getloadavg()[0]}


def main(given: Sequence[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wires", type=int, default=20)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--bases", nargs="*", choices=[*BASES, MATRICES], default=["as", "cz", "r cz", MATRICES])
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args(given)
    rows = []
    for name, circuit in families(asked.wires):
        for basis in asked.bases if not asked.only or name in asked.only else []:
            found = times(circuit, basis, asked.threads)
            rows.append({"name": name, "basis": basis, **found})
            print(
                f"{name:16} {basis:8} first {found['first']:8.1f}  ours {found['ours']:8.2f}  "
                f"qsim {found['qsim']:8.1f} ms  {found['qsim'] / found['ours']:6.2f}  load {found['load']:.1f}",
                flush=True,
            )
    for basis in asked.bases:
        ratios = [row["qsim"] / row["ours"] for row in rows if row["basis"] == basis]
        if ratios:
            print(f"{basis}: qsim over ours {geometric_mean(ratios):.2f} in the mean, least {min(ratios):.2f}")
    if asked.out:
        text = {"machine": machine.describe(), "wires": asked.wires, "threads": asked.threads, "rows": rows}
        asked.out.write_text(json.dumps(text, indent=1) + "\n")


if __name__ == "__main__":
    main()
