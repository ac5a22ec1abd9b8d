"""Runs jobs in one process for long, and says what grows: ``python -m tools.long_lives --jobs 10000``.

First 8 threads run circuits on shared simulators and on some of their own, and have to find what one thread has
found. Then programs of the fuzzer run, each another one, and after a warm-up memory, file descriptors and threads have
to stay as they are. Caches that hold so many entries and no more are emptied before each look, since some take 60,000
jobs to fill; those that know no limit are not, so they show if they grow. Every 100th job is a case with its oracle, so
what a long life breaks shows too.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import os
import sys
import threading
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from tools.fuzz.case import Case
from tools.fuzz.kinds import drawn, installed
from tools.fuzz.options import DEVICES
from tools.fuzz.run import outcome_of, quiet

WARM = 0.5
"""The share of the jobs before the first look."""

EVERY = 500
"""Jobs between two looks."""

GROWTH = 24 << 20
"""The bytes by which the median of the last quarter of the looks may be above that of the first, caches without a limit
included. A leak of 64 KiB a job comes to 230 MiB in 10,000 jobs."""

POOLS = 4
"""Threads that may come late: those of pools that begin with the first job that needs them."""

Cached = type(lru_cache(lambda: None))
"""The type of functions whose results are kept."""

OWN = {"PYTHONMALLOC": "malloc"}

THREADS = 8
SHOTS = 20


class Look(NamedTuple):
    """What a process has at a moment.

    memory: the bytes that are in use. What is resident is more, since a heap falls in pieces: 30 MiB more at once in
    jobs that leave nothing.
    """

    memory: int
    descriptors: int
    threads: int


def empty() -> None:
    """Empty all caches of so many entries, and give free memory back to the system."""
    for one in gc.get_objects():
        if isinstance(one, Cached) and one.cache_parameters()["maxsize"] is not None:
            one.cache_clear()
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)


class _Heap(ctypes.Structure):
    """`struct mallinfo2` of glibc, of all its heaps."""

    _fields_ = [(name, ctypes.c_size_t) for name in ("arena", "ordblks", "smblks", "hblks", "mapped", "usmblks")]
    _fields_ += [(name, ctypes.c_size_t) for name in ("fsmblks", "used", "fordblks", "keepcost")]


def look() -> Look:
    """Return what this process has, caches apart: bytes in use, open descriptors, and threads of the system."""
    empty()
    asked = ctypes.CDLL(None).mallinfo2
    asked.restype = _Heap
    heap = asked()
    descriptors, tasks = (len(list(Path("/proc/self", kind).iterdir())) for kind in ("fd", "task"))
    return Look(heap.used + heap.mapped, descriptors, tasks)


def grown(looks: Sequence[Look]) -> list[str]:
    """Return in words what grows from the first quarter of some looks to the last."""
    quarter = max(1, len(looks) // 4)
    found = []
    for name, most in (("memory", GROWTH), ("descriptors", 0), ("threads", POOLS)):
        before, after = (
            sorted(getattr(one, name) for one in some)[quarter // 2] for some in (looks[:quarter], looks[-quarter:])
        )
        if after - before > most:
            found.append(f"{name}: {before}, then {after}")
    return found


def lived(jobs: int, job: Callable[[int], str | None]) -> list[str]:
    """Do jobs 0 … jobs − 1; return in words what went wrong or grew."""
    wrong: list[str] = []
    looks: list[Look] = []
    every = min(EVERY, max(1, jobs // 16))
    for number in range(jobs):
        if (trouble := job(number)) is not None:
            wrong.append(f"job {number}: {trouble}")
        if number % every == 0 and number >= WARM * jobs:
            looks.append(look())
            if len(looks) % 2:
                print(f"{number} jobs: {looks[-1]}", flush=True)
    return wrong + (grown(looks) if looks else [])


# --- jobs -------------------------------------------------------------------------------------------------------------

ENGINE = ("shots", "chance")
FRAMEWORKS = {"qiskit": "qiskit-shots", "cirq": "cirq-shots"}
"""Kinds of programs that run without an oracle, which would take most of the time."""

QISKIT = "circuit of Qiskit"

Run = Callable[[int], Any]
"""What runs a program for a seed, and gives an answer that can be compared."""


def kinds() -> tuple[str, ...]:
    """Return the kinds that can be drawn here."""
    return ENGINE + tuple(kind for package, kind in FRAMEWORKS.items() if installed(package))


def job(seed: int) -> str | None:
    """Run a drawn program; every 100th is a case of any kind with its oracle."""
    from qsim_ex.errors import NotSupported

    if seed % 100 == 0:
        return outcome_of(drawn(seed)).trouble
    made: dict[str, Any] = {}
    try:
        run_of(drawn(seed, kinds()), made)(seed)
    except NotSupported:
        return None
    finally:
        if QISKIT in made:  # which Python never frees where a loop has a block or a parameter: Qiskit 2.6 keeps it
            made[QISKIT].clear()
    return None


def run_of(case: Case, made: dict[str, Any]) -> Run:
    """Return what runs a case. made: simulators and backends by their options, used again, and a circuit of Qiskit."""
    if case.kind == "cirq-shots":
        from tools.fuzz import cirq_kinds

        circuit = cirq_kinds.circuit_of(case)[0]
        return lambda seed: repr(cirq_kinds.simulator_of(case, seed=seed).run(circuit, repetitions=SHOTS))
    options = {**case.options, "device": "cpu"}
    if case.kind == "qiskit-shots":
        from qsim_ex_provider import QsimExBackend
        from tools.fuzz.qiskit_kinds import circuit_of as qiskit_circuit

        job, backend = qiskit_circuit(case), made.setdefault(f"qiskit {options}", QsimExBackend(**options))
        made[QISKIT] = job
        return lambda seed: backend.run(job, shots=SHOTS, seed_simulator=seed).result().get_counts()
    from qsim_ex import Options, Simulator
    from tools.fuzz.engine import circuit_of

    engine, program = made.setdefault(f"{options}", Simulator(Options(**options))), circuit_of(case)
    return lambda seed: engine.run(program, shots=SHOTS, seed=seed).counts()


# --- threads ----------------------------------------------------------------------------------------------------------


def together(circuits: int, rounds: int) -> list[str]:
    """Run circuits on 8 threads at once, on shared simulators and on own ones; return in words what differs."""
    from qsim_ex.errors import NotSupported

    shared: dict[str, Any] = {}
    runs: list[tuple[int, Run, Case, Any]] = []
    for seed in range(circuits):
        case = drawn(seed, kinds())
        try:
            runs.append((seed, run_of(case, shared), case, run_of(case, {})(seed)))
        except NotSupported:
            continue
    wrong: list[str] = []

    def work(number: int) -> None:
        random = Random(number)
        for k in [k for _ in range(rounds) for k in random.sample(range(len(runs)), len(runs))]:
            seed, run, case, expected = runs[k]
            try:
                found = (run if random.random() < 0.5 else run_of(case, {}))(seed)
            except Exception as error:  # noqa: BLE001  (whatever it is, it is a finding)
                found = f"{type(error).__name__}: {error}"
            if found != expected:
                wrong.append(f"thread {number}, {case.kind}: {found}, expected {expected}")

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
    given = parser.parse_args()
    if os.environ.get("PYTHONMALLOC") != "malloc":  # so that glibc knows of all memory in use
        os.execve(sys.executable, [sys.executable, "-m", "tools.long_lives", *sys.argv[1:]], {**os.environ, **OWN})
    quiet()
    os.environ[DEVICES] = "cpu"
    wrong = together(60, given.rounds)
    print(f"{THREADS} threads, {given.rounds} rounds of 60 circuits: {len(wrong)} differ", flush=True)
    wrong += lived(given.jobs, job)
    print("\n".join(wrong[:20]))
    print(f"{given.jobs} jobs: {len(wrong)} found")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
