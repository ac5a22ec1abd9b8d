"""The rules of planning that may be left out: `Shape.left_out` names some, core/native/planner/rules.hpp has them all.

Without a rule plans take longer, but do the same. Tests leave out one rule after another, and compare the state that a
plan makes with its definition.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from functools import lru_cache

import numpy as np

from qsim_ex.errors import OptionError
from qsim_ex.native.library import function


@lru_cache(maxsize=1)
def rules() -> tuple[str, ...]:
    """Return the names of all rules, in the order of native code."""
    out = np.empty(2, dtype=np.int64)
    function("plan_rules")(out.ctypes.data)
    at, length = out.tolist()
    return tuple(ctypes.string_at(at, length).decode().split())


def mask_of_rules(names: Iterable[str]) -> int:
    """Return some rules as native code takes them; raises `OptionError` for a name that is none."""
    mask, known = 0, rules()
    for name in names:
        if name not in known:
            raise OptionError(f"expected rules of planning, got {name!r}; choose from {', '.join(known)}.")
        mask |= 1 << known.index(name)
    return mask
