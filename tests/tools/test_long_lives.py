"""What grows over many jobs of one process is found, and so is a run that differs on several threads."""

from __future__ import annotations

import gc
import os
from typing import Any

import pytest

from tools import long_lives
from tools.long_lives import Look, grown, lived, together


@pytest.fixture(autouse=True, scope="module")
def _what_was_before_is_not_looked_through() -> None:
    """Each look empties the caches among all objects, of which other tests may have left millions."""
    gc.collect()
    gc.freeze()


def test_what_stays_is_not_found() -> None:
    """Looks that go up and down around a level are no growth."""
    assert grown([Look((300 << 20) + (k % 7 << 20), 6, 3 + k % 2) for k in range(40)]) == []


@pytest.mark.parametrize("name", Look._fields)
def test_what_grows_is_found(name: str) -> None:
    """A number that grows with the jobs is named, with what it was first and last."""
    looks = [Look(300 << 20, 6, 3)._replace(**{name: (300 << 20) + (k << 20)}) for k in range(60)]
    assert [line.split(":")[0] for line in grown(looks)] == [name]


def test_a_leak_is_found() -> None:
    """Jobs that leave a descriptor open are found, and a job that is wrong by its number."""
    left: list[int] = []

    def job(number: int) -> str | None:
        left.append(os.open(os.devnull, os.O_RDONLY))
        return "wrong" if number == 3 else None

    try:
        found = lived(64, job)
    finally:
        for one in left:
            os.close(one)
    assert found[0] == "job 3: wrong"
    assert found[1].startswith("descriptors")


def test_memory_that_is_kept_is_found() -> None:
    """Jobs that keep 2 MiB each are found, and those that give them back are not."""
    kept: list[bytes] = []
    assert lived(64, lambda _number: kept.append(bytes(2 << 20)))[0].startswith("memory")
    kept.clear()
    assert lived(64, lambda _number: kept.clear() or kept.append(bytes(2 << 20))) == []  # type: ignore[func-returns-value]


def test_a_run_that_differs_on_threads_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each run whose answer is not that of one thread is told, with its kind."""
    calls: list[int] = []

    def run_of(_case: Any, _made: Any) -> Any:
        return lambda _seed: calls.append(1) or len(calls) // 2  # type: ignore[func-returns-value]

    monkeypatch.setattr(long_lives, "run_of", run_of)
    monkeypatch.setattr(long_lives, "kinds", lambda: ("shots",))
    found = together(2, 1)
    assert found
    assert all("expected" in one for one in found)
