"""A state of 33 qubits on one GPU, with an answer that is known at every size.

One layer of QAOA on a ring of n nodes cuts a known share of the edges, ½ + ¼ sin 4β sin 2γ, however long the ring
is. A state of 33 qubits takes 64 GiB in single precision. `explain` says before the run what it needs.

    python examples/large_state.py                             # one H200: 0.03 s predicted, not measured
    python examples/large_state.py --small                     # 20 qubits on two cores: 1 s
    python examples/large_state.py --qubits 26 --device cpu    # two busy cores: 7 s
"""

from __future__ import annotations

import argparse
from math import pi, sin

from qsim_ex import Circuit, CircuitBuilder, PauliSum, Simulator

GAMMA, BETA = pi / 5, pi / 9


def ring(qubits: int) -> Circuit:
    """Return one layer of QAOA on a ring."""
    builder = CircuitBuilder(qubits)
    for wire in range(qubits):
        builder.gate("h", [wire])
    for wire in range(qubits):
        builder.gate("rzz", [wire, (wire + 1) % qubits], -GAMMA)
    for wire in range(qubits):
        builder.gate("rx", [wire], 2 * BETA)
    return builder.build()


def main() -> None:
    """Plan, run and compare."""
    parser = argparse.ArgumentParser(description="a large state with a known answer")
    parser.add_argument("--small", action="store_true", help="20 qubits on the CPU")
    parser.add_argument("--qubits", type=int, default=33)
    parser.add_argument("--device", choices=("auto", "cpu", "gpu"), default="gpu")
    given = parser.parse_args()
    qubits, device = (20, "cpu") if given.small else (given.qubits, given.device)
    circuit = ring(qubits)
    simulator = Simulator(device=device, precision="single")
    print(simulator.explain(circuit).splitlines()[0])
    cost = simulator.summary(circuit)
    print(f"{cost.gates} gates in {cost.sweeps} sweeps, {cost.bytes_moved / 2**30:.1f} GiB moved")

    edge = PauliSum.from_labels({"I" * (qubits - 2) + "ZZ": -0.5})  # one edge; all are alike
    result = simulator.run_batch(circuit, observables=[edge])
    found, known = 0.5 + result.values[0, 0], 0.5 + sin(4 * BETA) * sin(2 * GAMMA) / 4
    print(
        f"share of edges that are cut: {found:.6f}, known {known:.6f}, "
        f"in {result.timings['total']:.2f} s on {result.device}"
    )
    assert abs(found - known) < 1e-4


if __name__ == "__main__":
    main()
