"""Runs jobs in one process for long, and says what grows: ``python -m tools.long_lives --jobs 10000``.

The jobs are cases of the fuzzer, each with its oracle, so what a long life breaks shows too. After a warm-up, in which
caches fill, memory, file descriptors and threads have to stay as they are. Before that, 8 threads run circuits on one
simulator and one backend, and on some of their own, and have to find what one thread has found.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from tools.fuzz.kinds import drawn, installed
from tools.fuzz.run import outcome_of, quiet

WARM = 0.4
"""The share of the jobs in which caches may fill."""

EVERY = 50
"""Jobs between two looks."""

GROWTH = 24 << 20
"""The bytes by which the median of the last quarter of the looks may be above that of the first: what a heap that is in
pieces needs more. A job that leaks 16 KiB comes to four times as much in 10,000."""

THREADS = 8


class Look(NamedTuple):
    """What a process has at a moment."""

    memory: int
    descriptors: int
    threads: int


def look() -> Look:
    """Return what this process has: resident bytes, open descriptors, and threads of the system."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    descriptors, tasks = (len(list(Path("/proc/self", kind).iterdir())) for kind in ("fd", "task"))
    return Look(pages * os.sysconf("SC_PAGE_SIZE"), descriptors, tasks)


def grown(looks: Sequence[Look]) -> list[str]:
    """Return in words what grows from the first quarter of some looks to the last."""
    quarter = max(1, len(looks) // 4)
    limits = {"memory": GROWTH, "descriptors": 0, "threads": 0}
    found = []
    for name, most in limits.items():
        before, after = (
            sorted(getattr(one, name) for one in some)[quarter // 2] for some in (looks[:quarter], looks[-quarter:])
        )
        if after - before > most:
            found.append(f"{name}: {before}, then {after}")
    return found


def lived(jobs: int, work: Callable[[int], str | None], say: Callable[[str], None]) -> list[str]:
    """Do jobs 0 … jobs − 1; return in words what went wrong or grew."""
    wrong: list[str] = []
    looks: list[Look] = []
    for number in range(jobs):
        if (trouble := work(number)) is not None:
            wrong.append(f"job {number}: {trouble}")
        if number >= WARM * jobs and number % EVERY == 0:
            looks.append(look())
            if number % (20 * EVERY) == 0:
                say(f"{number} jobs: {looks[-1]}")
    return wrong + (grown(looks) if looks else [])


# --- threads ----------------------------------------------------------------------------------------------------------


def _runs() -> list[Callable[[bool], Any]]:
    """Return runs with answers that can be compared; the argument says whether a simulator is shared or its own."""
    from qsim_ex import Options, Simulator
    from tools.fuzz.engine import circuit_of

    found: list[Callable[[bool], Any]] = []
    shared: dict[str, Any] = {}
    for seed in range(60):
        case = drawn(seed, ("shots", "chance"))
        circuit, options = circuit_of(case), Options(**{**case.options, "device": "cpu"})

        def run(own: bool, circuit: Any = circuit, options: Any = options, seed: int = seed) -> Any:
            simulator = Simulator(options) if own else shared.setdefault(repr(options), Simulator(options))
            return simulator.run(circuit, shots=50, seed=seed).counts()

        found.append(run)
    if installed("qiskit"):
        from qsim_ex_provider import QsimExBackend
        from tools.fuzz.qiskit_kinds import circuit_of as qiskit_circuit

        backend = QsimExBackend(device="cpu")
        for seed in range(30):
            case = drawn(seed, ("qiskit-shots",))
            if "errors" not in case.ask:
                circuit = qiskit_circuit(case)

                def job(own: bool, circuit: Any = circuit, seed: int = seed) -> Any:
                    on = QsimExBackend(device="cpu") if own else backend
                    return on.run(circuit, shots=50, seed_simulator=seed).result().get_counts()

                found.append(job)
    return found


def together(rounds: int) -> list[str]:
    """Run circuits on 8 threads at once, on shared simulators and on own ones; return in words what differs."""
    runs = _runs()
    expected = [run(True) for run in runs]
    wrong: list[str] = []

    def work(number: int) -> None:
        random = Random(number)
        for _ in range(rounds):
            for k in random.sample(range(len(runs)), len(runs)):
                try:
                    if (found := runs[k](random.random() < 0.5)) != expected[k]:
                        wrong.append(f"thread {number}, run {k}: {found}, expected {expected[k]}")
                except Exception as error:  # noqa: BLE001  (whatever it is, it is a finding)
                    wrong.append(f"thread {number}, run {k}: {type(error).__name__}: {error}")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return wrong


def main() -> int:
    """Run threads, then jobs; 1 if anything was wrong or grew."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=100_000, help="how many jobs of all kinds")
    parser.add_argument("--rounds", type=int, default=10, help="how often each thread runs all of its circuits")
    parser.add_argument("--seed", type=int, default=0, help="the first job's seed")
    given = parser.parse_args()
    quiet()
    os.environ["QSIM_EX_FUZZ_DEVICES"] = "cpu"
    wrong = together(given.rounds)
    print(f"{THREADS} threads: {len(wrong)} runs differ", flush=True)
    wrong += lived(
        given.jobs,
        lambda number: outcome_of(drawn(given.seed + number)).trouble,
        lambda text: print(text, flush=True),
    )
    print("\n".join(wrong[:20]))
    print(f"{given.jobs} jobs, {len(wrong)} found")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
