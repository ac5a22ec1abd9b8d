"""Answers of used objects in child processes: forked, spawned, and in pools.

``python child_processes.py`` prints what the objects of `support.used_objects` answer here and in
children, as JSON, for tests/contract/test_processes.py.
"""

from __future__ import annotations

import concurrent.futures
import json
import multiprocessing
import os
import sys
from collections.abc import Callable
from typing import Any

Ask = Callable[[str, Any], Any]
"""A question to a thing of that name."""


def in_fork(ask_there: Callable[[], Any], seconds: int = 60) -> Any:
    """Return a forked child's answer, or None if it is killed, after this many seconds at the latest."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        import signal

        signal.alarm(seconds)
        try:
            os.write(write, json.dumps(ask_there()).encode())
        except BaseException as error:  # noqa: BLE001 - the parent is told
            os.write(write, json.dumps(f"{type(error).__name__}: {error}").encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else None


def forked(ask: Ask, things: dict[str, Any]) -> dict[str, Any]:
    """Return what forked children answer, one for each thing."""
    return {name: in_fork(lambda n=name, t=thing: ask(n, t)) for name, thing in things.items()}


def pooled(ask: Ask, things: dict[str, Any]) -> dict[str, Any]:
    """Return what children in pools of both kinds answer, which are forked."""
    fork = multiprocessing.get_context("fork")
    with fork.Pool(2) as pool:
        there = dict(zip(things, pool.starmap(ask, things.items()), strict=True))
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=fork) as executor:
        again = dict(zip(things, executor.map(ask, things, things.values()), strict=True))
    assert again == there
    return there


def spawned(ask: Ask, things: dict[str, Any]) -> dict[str, Any]:
    """Return what a child answers that was not forked."""
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as executor:
        return dict(zip(things, executor.map(ask, things, things.values()), strict=True))


def main() -> None:
    """Print what the objects answer here and in children, first in forked ones, while there is no other thread."""
    from support.used_objects import ask, used  # of all frameworks, which who imports `in_fork` may lack

    things = used()
    here = {name: ask(name, thing) for name, thing in things.items()}
    ways = (forked, pooled, spawned) if hasattr(os, "fork") else (spawned,)
    json.dump([here, {way.__name__: way(ask, things) for way in ways}], sys.stdout)


if __name__ == "__main__":
    main()
