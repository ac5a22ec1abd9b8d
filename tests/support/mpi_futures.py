"""Many circuits over an executor: ``mpiexec -n 3 python -m mpi4py.futures tests/support/mpi_futures.py``.

With the argument ``pool`` over a pool of processes in place of MPI's. No option says that workers simulate alone.
"""

from __future__ import annotations

import sys
import warnings
from concurrent.futures import Executor, ProcessPoolExecutor
from multiprocessing import get_context

from qiskit import QuantumCircuit

from qsim_ex_provider import QsimExBackend

WIDE = 22
"""Wires of a state that 'auto' divides over two processes and more, where it is not a worker's."""


def ghz(qubits: int) -> QuantumCircuit:
    """A GHZ state, measured."""
    made = QuantumCircuit(qubits)
    made.h(0)
    for qubit in range(1, qubits):
        made.cx(qubit - 1, qubit)
    made.measure_all()
    return made


def main(executor: Executor) -> None:
    """Run circuits of different widths, and compare their counts with those of this process."""
    warnings.simplefilter("error")
    circuits = [ghz(qubits) for qubits in (3, 5, WIDE)]
    backend = QsimExBackend(device="cpu", threads=1, precision="single")
    with executor:
        found = backend.run(circuits, shots=50, seed_simulator=3, executor=executor).result()
    alone = QsimExBackend(device="cpu", threads=1, precision="single", processes="never")
    assert found.get_counts() == alone.run(circuits, shots=50, seed_simulator=3).result().get_counts()
    sys.stdout.write("the same counts\n")


if __name__ == "__main__":
    if "pool" in sys.argv:
        main(ProcessPoolExecutor(2, mp_context=get_context("spawn")))
    else:
        from mpi4py.futures import MPIPoolExecutor

        main(MPIPoolExecutor())
