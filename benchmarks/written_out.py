"""How long a circuit takes, and its form written out as gates: ``python -m benchmarks.written_out``.

Times are predicted for one H200, in complex64, from |0…0⟩. What is written out does what the circuit does,
in a Clifford frame that changes (`planning.form.written_out`).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import cast

from benchmarks.engine import circuit_of
from benchmarks.forms import BASES, LARGE, transpiled
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.ops import Unitary
from qsim_ex.planning.cost.summary import summary
from qsim_ex.planning.form import written_out
from qsim_ex.planning.planner import make_plan
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
        written = written_out(circuit)
        yield f"{milliseconds(circuit):.3g} → {f'{milliseconds(written):.3g}' if written else 'blocks'}"


def main() -> None:
    """Print a row for each family."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", choices=FAMILIES, default=[name for name in FAMILIES if name not in LARGE])
    parser.add_argument("--bases", nargs="*", choices=BASES, default=["cz", "r cz"])
    parser.add_argument("--wires", type=int, default=28)
    given = parser.parse_args()
    print("family | as | " + " | ".join(given.bases))
    for name in given.only:
        print(name, "|", " | ".join(row(name, given.wires, given.bases)), flush=True)


if __name__ == "__main__":
    main()
