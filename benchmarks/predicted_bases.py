"""Predicted times in the bases of machines, over that of the circuit as it is written:

    python -m benchmarks.predicted_bases [--machine gpu cpu] [--mqt 16 20 | --qasm FOLDER] [--levels 0 1 3] [--only qft]
    python -m benchmarks.predicted_bases --machine gpu_double cpu_double --bases cz t

A time is that of the plan which runs: of the circuit as it came, or of what is written of its form in the manner that
is fastest by prediction (`run.written_out`), where all may be compared since the circuit comes again. The GPU is one
H200, with 28 qubits, the CPU one thread, with 20; both start from |0…0⟩ in complex64, or in complex128. Clifford + T is
for circuits alone that it writes exactly. Circuits are the families of the
planner's counts, the algorithms of MQT Bench with so many qubits, or files in OpenQASM 2. Printed are a row for each
circuit, and for each basis and level the geometric mean and the worst. Circuits of more gates than ``--most`` are left
out.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from operator import itemgetter
from pathlib import Path
from statistics import geometric_mean
from typing import NamedTuple, cast

from qiskit import QuantumCircuit, transpile

from benchmarks.bases import algorithms, families
from qsim_ex import thresholds
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.ops import Unitary
from qsim_ex.circuit.structure import Structure
from qsim_ex.devices.cpu.device import CpuDevice
from qsim_ex.planning.cost.rates import cpu_rates
from qsim_ex.planning.longer import Longer, shorter_than
from qsim_ex.planning.planner import make_plan
from qsim_ex.planning.written.out import Manner, written_out
from qsim_ex.precision import DOUBLE, SINGLE, Precision
from qsim_ex.run.candidates import most_rotations
from qsim_ex.run.manners import in_manners, writing_limits
from qsim_ex.steps import Layout
from qsim_ex.steps.compiled import arrays_of
from qsim_ex_provider.translation.circuits import translate
from tools.fuzz.bases_programs import BASES
from tools.golden_counts import MACHINES, Machine

CLIFFORD_T = "t"
ROUNDING = 1e-9
"""The most that angles may be off that are eighth turns."""


def _one_thread(precision: Precision) -> Machine:
    shape = CpuDevice().shape(precision.storage.dtype.name)
    return Machine(shape, precision, rates=cpu_rates(shape, threads=1))


PLACES: dict[str, tuple[Callable[[], Machine], int]] = {
    "gpu": (lambda: MACHINES["gpu single"], 28),
    "gpu_double": (lambda: MACHINES["gpu double"], 28),
    "cpu": (lambda: _one_thread(SINGLE), 20),
    "cpu_double": (lambda: _one_thread(DOUBLE), 20),
}


class Time(NamedTuple):
    """Predicted milliseconds, and of what: "came", or the manner in which the form was written."""

    ms: float
    way: str

    def __str__(self) -> str:
        return f"{self.ms:.3g} {self.way}"


def milliseconds(gates: Structure, machine: Machine, most: float = math.inf) -> float:
    """Return how long native code predicts that gates take from |0…0⟩; `Longer` is raised if they take the most."""
    wires = gates.num_qubits
    one_pass = 1e3 * 2 * machine.precision.storage.nbytes(1 << wires) / machine.rates.memory
    instructions, start = cast(tuple[Unitary, ...], gates.instructions), Layout.identity(wires)
    with shorter_than(most / one_pass):
        steps = make_plan(instructions, wires, start, machine.shape, (1 << wires) - 1, place=True).steps
    arrays = arrays_of(steps) if steps else None
    return one_pass * arrays.passes if arrays else 0.0


def fastest(circuit: Circuit, machine: Machine, zeros: bool) -> Time:
    """Return the time of what runs."""
    came, now = milliseconds(circuit.structure, machine), thresholds.now
    best = Time(came, "came")
    if 1e3 * came < now.compared_microseconds:
        return best
    most = most_rotations(circuit.structure)
    limits = writing_limits(most, 1e-3 * came)
    first = written_out(circuit, manner=Manner.BETWEEN, zeros=zeros) or written_out(
        circuit, manner=Manner.CLUSTERS, zeros=zeros
    )
    if first is None:
        return best

    def found(manner: Manner, least: float) -> Time | None:
        if (written := first.again(manner, limits)) is None:
            return None
        try:
            return Time(milliseconds(written.structure, machine, least), manner.name.lower())
        except Longer:
            return None

    surely = machine.rates.surely * came
    times = in_manners(partial(partial, found), itemgetter(0), surely)
    return min((time for time in times if time.ms < surely), default=best)


def files(folder: Path) -> Iterator[tuple[str, QuantumCircuit]]:
    """Yield the circuits of files in OpenQASM 2, without their measurements."""
    for path in sorted(folder.glob("**/*.qasm")):
        made = QuantumCircuit.from_qasm_file(str(path))
        made.remove_final_measurements()
        yield path.stem, made


def row(
    circuit: QuantumCircuit, machine: Machine, bases: Sequence[str], levels: Sequence[int], zeros: bool
) -> Iterator[tuple[str, Time]]:
    """Yield the times of a circuit, as it is written and in each basis at each level."""
    yield "as", fastest(translate(circuit), machine, zeros)
    for basis in bases:
        if basis == CLIFFORD_T and not is_exact(circuit):
            continue
        for level in levels:
            made = transpile(circuit, basis_gates=list(BASES[basis]), optimization_level=level, seed_transpiler=1)
            yield f"{basis} {level}", fastest(translate(made), machine, zeros)


def is_exact(circuit: QuantumCircuit) -> bool:
    """Return whether Clifford gates and T write a circuit as it is: whether all its angles are eighth turns."""
    made = transpile(circuit, basis_gates=["rz", "h", "cx"], optimization_level=1, seed_transpiler=1)
    turns = [float(each.operation.params[0]) / (math.pi / 4) for each in made.data if each.operation.name == "rz"]
    return all(abs(turn - round(turn)) < ROUNDING for turn in turns)


def table(
    circuits: Iterator[tuple[str, QuantumCircuit]],
    machine: Machine,
    bases: Sequence[str],
    levels: Sequence[int],
    most: int,
    zeros: bool,
) -> None:
    """Print a row for each circuit, and for each basis and level the mean and the worst."""
    over: dict[str, dict[str, float]] = {}
    as_written: list[float] = []
    for name, circuit in circuits:
        flat = transpile(circuit, basis_gates=["u", "cx"], optimization_level=0)
        if not 0 < flat.size() <= most or not translate(circuit).structure.only_gates:
            print(f"{name}: left out, {flat.size()} gates or others", flush=True)
            continue
        times = dict(row(circuit, machine, bases, levels, zeros))
        own = times.pop("as")
        if not own.ms:
            continue
        as_written.append(own.ms)
        for basis, time in times.items():
            over.setdefault(basis, {})[name] = time.ms / own.ms
        text = " | ".join(f"{basis} {time} ({time.ms / own.ms:.2f})" for basis, time in times.items())
        print(f"{name}: {own} | {text}", flush=True)
    if as_written:
        print(f"as written: {len(as_written)} circuits, mean {geometric_mean(as_written):.3g} ms")
    for basis, ratios in over.items():
        worst = sorted(ratios, key=lambda name: -ratios[name])[:6]
        mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
        print(f"{basis}: {mean:.3f}; worst", ", ".join(f"{name} {ratios[name]:.2f}" for name in worst), flush=True)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--machine", nargs="*", choices=PLACES, default=["gpu", "cpu"])
    parser.add_argument("--mqt", nargs="*", type=int, default=[])
    parser.add_argument("--qasm", type=Path)
    parser.add_argument("--bases", nargs="*", choices=BASES, default=[basis for basis in BASES if basis != CLIFFORD_T])
    parser.add_argument("--levels", nargs="*", type=int, default=[0, 1, 3])
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--most", type=int, default=60_000)
    parser.add_argument(
        "--short", action="store_true", help="forms are written of runs that would be too short for it, too"
    )
    parser.add_argument("--any-state", action="store_true", help="what is written is to do for any state")
    given = parser.parse_args()
    limits = {"compared_microseconds": 0} if given.short else {}
    with thresholds.instead(**limits):
        for name in given.machine:
            made, width = PLACES[name]
            machine = made()
            for wires in given.mqt or [width]:
                drawn = algorithms(wires) if given.mqt else files(given.qasm) if given.qasm else families(wires)
                print(f"# {name}, {wires} qubits" + ", MQT Bench" * bool(given.mqt), flush=True)
                chosen = ((one, made) for one, made in drawn if not given.only or one in given.only)
                table(chosen, machine, given.bases, given.levels, given.most, not given.any_state)


if __name__ == "__main__":
    main()
