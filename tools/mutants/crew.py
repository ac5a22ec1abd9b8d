"""Runs mutants in several copies of the checkout at once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from pathlib import Path
from queue import SimpleQueue
from typing import Self, TypeVar

from tools.mutants.mutant import Mutant, Record, Result
from tools.mutants.runner import FRAMEWORKS, Checkout, copy

Work = TypeVar("Work")
Found = TypeVar("Found")

LEAST_CORES = 2
"""How many cores each copy has at least: some of the product begins with the second."""


class Crew:
    """Copies of the checkout, of which each runs one mutant at a time.

    folder: where they lie. processes: how many there are. imported: modules that each imports once.
    """

    def __init__(self, folder: Path, processes: int, imported: Sequence[str] = FRAMEWORKS) -> None:
        self._imported = imported
        self._pool = ThreadPoolExecutor(processes)
        self._free: SimpleQueue[Checkout] = SimpleQueue()
        self._open = ExitStack()
        self._folders = [folder / f"checkout{k or ''}" for k in range(processes)]

    def __enter__(self) -> Self:
        list(self._pool.map(copy, self._folders))
        for folder, cores in zip(self._folders, shares(len(self._folders)), strict=True):
            self._free.put(self._open.enter_context(Checkout(folder, self._imported, cores)))
        return self

    def __exit__(self, *_error: object) -> None:
        self._pool.shutdown(cancel_futures=True)
        self._open.close()

    def submit(self, do: Callable[[Checkout, Work], Found], work: Work) -> Future[Found]:
        """Do some work in a copy as soon as one is free."""

        def done() -> Found:
            tests = self._free.get()
            try:
                return do(tests, work)
            finally:
                self._free.put(tests)

        return self._pool.submit(done)

    def map(self, do: Callable[[Checkout, Work], Found], works: Sequence[Work]) -> list[Found]:
        """Do several works and return what each found."""
        return [future.result() for future in [self.submit(do, work) for work in works]]


def shares(processes: int) -> list[list[int]]:
    """Return the cores of each of some processes: equal shares of ours, which overlap where there are too few."""
    ours = sorted(os.sched_getaffinity(0))
    size = min(len(ours), max(LEAST_CORES, len(ours) // processes))
    return [[ours[(k * size + j) % len(ours)] for j in range(size)] for k in range(processes)]


def campaign(
    crew: Crew,
    record: Record,
    mutants: Iterator[Mutant],
    count: int,
    result_of: Callable[[Checkout, Mutant], Result | None],
    *,
    again: bool,
) -> list[Result]:
    """Run mutants until there are results of so many; those that do not compile are none. again: survivors as well."""

    def run(tests: Checkout, mutant: Mutant) -> None:
        record.add(result_of(tests, mutant) or Result.of(mutant, "none"))
        print(record[mutant.name].line_of_log(), flush=True)

    drawn: list[Mutant] = []
    running: dict[Future[None], Mutant] = {}
    while True:
        named = [mutant.name for mutant in drawn]
        wanted = count - sum(name not in record or record[name].outcome != "none" for name in named)
        for mutant in (next(mutants) for _ in range(wanted)):
            drawn.append(mutant)
            if mutant.name not in record or (again and record[mutant.name].outcome == "survived"):
                running[crew.submit(run, mutant)] = mutant
        if not running:
            break
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            del running[future]
            future.result()
    return [record[mutant.name] for mutant in drawn if record[mutant.name].outcome != "none"]
