"""All that this process keeps of circuits that have run, so that a run is again the first of its circuit."""

from __future__ import annotations

import functools
import gc
import re
from typing import Any

from qsim_ex.devices.cpu.device import CpuDevice

_OURS = re.compile(r"(qsim_ex|qsim_ex_cirq|qsim_ex_provider)\.(?!native|comm|kernels\.host|kernels\.cpu\.pool)")
"""Modules whose caches hold what is made of circuits, and not the library, connections or threads."""


def is_cache(thing: object) -> bool:
    """Return whether something is a cache that may hold plans: of a function, or of a device."""
    if isinstance(thing, functools._lru_cache_wrapper):
        return bool(_OURS.match(thing.__module__ or ""))
    return isinstance(thing, CpuDevice)


def caches() -> list[Any]:
    """Return all caches that there are now, as far as Python's garbage collector looks at them."""
    return list(filter(is_cache, gc.get_objects()))


def forget(known: list[Any]) -> None:
    """Empty caches."""
    for cache in known:
        if isinstance(cache, CpuDevice):  # which keeps the plans that it has prepared
            cache._prepared.clear()
            cache._prepared_bytes = 0
        else:
            cache.cache_clear()
