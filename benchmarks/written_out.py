"""How long a circuit takes, and its form written out as gates: ``python -m benchmarks.written_out``.

Times are predicted for one H200, in complex64, from |0…0⟩. What is written out does what the circuit does,
in a Clifford frame that changes (`planning.written.written_out`); of all manners the fastest is printed.
``--write FILE`` transpiles the circuits and keeps them, and what is written of them in each manner; ``--measure FILE``
runs them on a GPU by compiled kernels, and prints medians beside what is predicted.
"""

from __future__ import annotations

import argparse
import json
import pickle
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import cast

from benchmarks import machine
from benchmarks.engine import circuit_of
from benchmarks.forms import BASES, LARGE, transpiled
from qsim_ex import thresholds
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.ops import Unitary
from qsim_ex.planning.cost.summary import summary
from qsim_ex.planning.planner import make_plan
from qsim_ex.planning.written.out import Manner, WritingLimits, written_out
from qsim_ex.steps import Layout
from tools.golden_counts import FAMILIES, MACHINES

MACHINE = MACHINES["gpu single"]


def milliseconds(circuit: Circuit) -> float:
    """Return how long a circuit takes from |0…0⟩ on one device, as the planner predicts."""
    instructions, wires = cast(tuple[Unitary, ...], circuit.instructions), circuit.num_qubits
    plan = make_plan(instructions, wires, Layout.identity(wires), MACHINE.shape, (1 << wires) - 1, place=True)
    return 1e3 * summary(plan, MACHINE.precision, MACHINE.rates).seconds


def row(name: str, wires: int, bases: list[str]) -> Iterator[str]:
    """Yield the times of a family, as it is written and in some bases, beside those of what is written out."""
    gates = FAMILIES[name](wires)
    for circuit in (circuit_of(gates, wires), *(transpiled(gates, wires, *BASES[basis]) for basis in bases)):
        times = [(milliseconds(other), manner.name.lower()) for manner, other in manners(circuit)]
        yield f"{milliseconds(circuit):.3g} → " + ("{:.3g} {}".format(*min(times)) if times else "blocks")


def manners(circuit: Circuit) -> Iterator[tuple[Manner, Circuit]]:
    """Yield what is written out of a circuit in each manner, unless it has blocks."""
    written = written_out(circuit)
    for manner in Manner if written else ():
        if written and (other := written.again(manner, WritingLimits(alone=True))):
            yield manner, other.circuit(circuit.operands)


def circuits(names: list[str], wires: int, bases: list[str]) -> dict[str, Circuit]:
    """Return families as they are written and in bases, and what is written out of the first basis in each manner."""
    found: dict[str, Circuit] = {}
    for name in names:
        gates = FAMILIES[name](wires)
        made = {"as": circuit_of(gates, wires), **{each: transpiled(gates, wires, *BASES[each]) for each in bases}}
        found |= {f"{name}, {basis}": circuit for basis, circuit in made.items()}
        found |= {f"{name}, {manner.name.lower()}": other for manner, other in manners(made[bases[0]])}
    return found


def measured(found: Mapping[str, Circuit], dtype: str, repeat: int = 5) -> Iterator[dict[str, object]]:
    """Yield for each circuit its predicted and its measured milliseconds on the GPU that is there."""
    from qsim_ex import Simulator

    simulator = Simulator(device="gpu", precision="single" if dtype == "complex64" else "double", compile="always")
    for name, circuit in found.items():
        times = []
        for _ in range(1 + repeat):
            began = perf_counter()
            with simulator.state(circuit) as state:
                state.synchronize()
            times.append(1e3 * (perf_counter() - began))
        expected = 1e3 * simulator.summary(circuit).seconds
        yield {"name": name, "gates": circuit.num_gates, "predicted": expected, "ms": median(times[1:])}


def main() -> None:
    """Print a row for each family."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", choices=FAMILIES, default=[name for name in FAMILIES if name not in LARGE])
    parser.add_argument("--bases", nargs="*", choices=BASES, default=["cz", "r cz"])
    parser.add_argument("--wires", type=int, default=28)
    parser.add_argument("--write", type=Path)
    parser.add_argument("--measure", type=Path)
    parser.add_argument("--dtype", choices=("complex64", "complex128"), default="complex64")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    if given.write:
        given.write.write_bytes(pickle.dumps(circuits(given.only, given.wires, given.bases)))
        return
    if given.measure:
        rows = []
        with thresholds.instead(written_percent=0):  # each circuit runs as it is
            for each in measured(pickle.loads(given.measure.read_bytes()), given.dtype):
                rows.append(each)
                print(
                    "{name:28} {gates:6} gates  predicted {predicted:8.2f}  measured {ms:8.2f} ms".format(**each),
                    flush=True,
                )
        if given.out:
            given.out.write_text(json.dumps({"machine": machine.describe(), "dtype": given.dtype, "rows": rows}) + "\n")
        return
    print("family | as | " + " | ".join(given.bases))
    for name in given.only:
        print(name, "|", " | ".join(row(name, given.wires, given.bases)), flush=True)


if __name__ == "__main__":
    main()
