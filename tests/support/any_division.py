"""Plans of states on several levels with far parities wherever there are such plans, faster or not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from unittest.mock import patch

from qsim_ex.planning import compiled
from qsim_ex.planning.planner import make_plan
from qsim_ex.planning.stages import staging

MOST = 12
"""The most passes of such a plan."""


@contextmanager
def far_parities_always() -> Iterator[None]:
    """Take every plan with far parities meanwhile."""
    make_plan.cache_clear()
    in_python = patch.multiple(staging, motions=lambda *_: MOST + 1, least_seconds=lambda *_: inf)
    with in_python, patch.object(compiled, "PARITIES", MOST):
        yield
    make_plan.cache_clear()
