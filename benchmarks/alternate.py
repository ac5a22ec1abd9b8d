"""Two versions in turn on one machine: ``python -m benchmarks.alternate OTHER [--device gpu] [--out FILE.json]``.

OTHER is a folder with another version of the project, such as ``git worktree add --detach ../before COMMIT``. Each
version has a process of its own in each turn, one of them first and then the other, and runs the cases of its own
`benchmarks`, so that names may differ between versions. A case is the median of many repetitions: the seven families
from |0…0⟩ to the state with fresh numbers, loops of small circuits through the engine and both frameworks, and many
bindings at once. The table has the medians over all turns.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from statistics import geometric_mean, median
from time import perf_counter
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
BINDINGS = 1000


def seconds_of(work: Callable[[int], Any], repeat: int, warmup: int) -> float:
    """The median of some repetitions, each with a number of its own."""
    times = []
    for turn in range(-warmup, repeat):
        begin = perf_counter()
        work(turn + warmup)
        if turn >= 0:
            times.append(perf_counter() - begin)
    return median(times)


def families(device: str, sizes: Sequence[int], repeat: int) -> dict[str, float]:
    """Seconds from |0…0⟩ to the state of each family, warm, with fresh numbers."""
    from benchmarks.engine import circuit_of
    from benchmarks.families import FAMILIES
    from qsim_ex import Simulator

    simulator, found = Simulator(device=device, precision="single"), {}  # type: ignore[arg-type]
    for n, name in product(sizes, FAMILIES):
        made = [circuit_of(FAMILIES[name].build(n, seed), n) for seed in range(repeat + 6)]

        def work(turn: int, made: list[Any] = made) -> None:
            with simulator.state(made[turn]) as state:
                state.synchronize()

        found[f"{name} {n}"] = seconds_of(work, repeat, 6)
    return found


def loops(device: str, repeat: int) -> dict[str, float]:
    """Seconds of one call in loops over a small circuit with fresh angles, as users write them."""
    from benchmarks import latency
    from benchmarks.engine import appended
    from qsim_ex import CircuitBuilder, Simulator

    def engine(seed: int) -> Any:
        wires = range(latency.QUBITS)
        return (
            appended(CircuitBuilder(latency.QUBITS, latency.QUBITS), latency.circuit(seed))
            .measure(wires, wires)
            .build()
        )

    simulator = Simulator(device=device)  # type: ignore[arg-type]
    runs: dict[str, tuple[Callable[[int], Any], Callable[[Any], Any]]] = {
        "engine": (engine, lambda made: simulator.run(made, latency.SHOTS).counts())
    }
    try:
        from qsim_ex_provider import QsimExBackend

        backend = QsimExBackend(device=device)
        runs["qiskit"] = (
            lambda seed: latency.for_qiskit(latency.circuit(seed)),
            lambda made: backend.run(made, shots=latency.SHOTS).result().get_counts(),
        )
    except ImportError:
        pass
    try:
        from qsim_ex_cirq import QsimExSimulator

        simulator_of_cirq = QsimExSimulator(device=device)
        runs["cirq"] = (
            lambda seed: latency.for_cirq(latency.circuit(seed)),
            lambda made: simulator_of_cirq.run(made, repetitions=latency.SHOTS).histogram(key="all"),
        )
    except ImportError:
        pass
    found = {}
    for name, (words, run) in runs.items():
        made = [words(seed) for seed in range(repeat + 10)]
        found[f"loop {name}"] = seconds_of(lambda turn, run=run, made=made: run(made[turn]), repeat, 10)  # type: ignore[misc]
    return found


def many(device: str, repeat: int) -> dict[str, float]:
    """Seconds of a batch of bindings of a variational circuit, 100 shots each, operands given."""
    import numpy as np

    from benchmarks.ansatz import SAMPLED, in_engine
    from qsim_ex import Simulator
    from qsim_ex.circuit.parameters.bindings import Bindings

    simulator = Simulator(device=device, precision="single")  # type: ignore[arg-type]
    sweep = in_engine(SAMPLED, SAMPLED.angles(0, BINDINGS))
    operands = np.array(sweep.bindings().operands(0, BINDINGS))

    def work(turn: int) -> None:
        simulator.run_batch(sweep.template, Bindings.of(operands), shots=100, seeds=turn)

    return {f"many {BINDINGS}": seconds_of(work, repeat, 3)}


def child(device: str, sizes: Sequence[int], repeat: int) -> None:
    """Print the seconds of all cases as JSON."""
    found = families(device, sizes, max(5, repeat // 4)) | loops(device, repeat) | many(device, max(5, repeat // 4))
    print(json.dumps(found))


def one_turn(checkout: Path, arguments: Sequence[str]) -> dict[str, float]:
    """The cases of one version, in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": f"{checkout / 'core'}:{checkout}:{os.environ.get('PYTHONPATH', '')}"}
    command = [sys.executable, "-m", "benchmarks.alternate", "--child", *arguments]
    done = subprocess.run(command, cwd=checkout, env=environment, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Compare; returns 1 if the mean is more than 5 % or a case more than 15 % slower than the other version."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("other", type=Path, nargs="?", help="the folder of the other version")
    parser.add_argument("--device", choices=("cpu", "gpu"), default="cpu")
    parser.add_argument("--n", type=int, nargs="+", default=[20], help="qubits of the families")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--repeat", type=int, default=100)
    parser.add_argument("--commits", nargs=2, help="of the other version and of this one, where there is no git")
    parser.add_argument("--out", type=Path, help="the JSON file to write")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args(argv)
    if given.child:
        child(given.device, given.n, given.repeat)
        return 0
    arguments = ["--device", given.device, "--n", *map(str, given.n), "--repeat", str(given.repeat)]
    turns: list[dict[str, dict[str, float]]] = []
    for turn in range(-1, given.turns):  # the first turn compiles what is kept on the disk, and does not count
        order = (("before", given.other.resolve()), ("now", ROOT))
        found = {name: one_turn(path, arguments) for name, path in (order if turn % 2 else order[::-1])}
        if turn >= 0:
            turns.append(found)
    ratios = {}
    for case in turns[0]["now"]:
        before, now = (median(turn[name][case] for turn in turns) for name in ("before", "now"))
        ratios[case] = now / before
        print(f"{case:16} {before * 1e3:9.3f} ms → {now * 1e3:9.3f} ms   {now / before:5.2f}")
    mean = geometric_mean(ratios.values())
    print(f"geometric mean {mean:.3f}, worst {max(ratios.values()):.3f}")
    if given.out:
        from benchmarks import machine

        commits = given.commits or ["unknown", machine.commit()]
        told = {"machine": machine.describe(), "commits": commits, "ratios": ratios, "mean": mean, "turns": turns}
        given.out.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    return int(mean > 1.05 or max(ratios.values()) > 1.15)


if __name__ == "__main__":
    raise SystemExit(main())
