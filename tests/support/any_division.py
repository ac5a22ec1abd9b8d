"""Plans of states on several levels with far parities wherever there are such plans, faster or not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from qsim_ex.execution.prepare import plan_of
from qsim_ex.planning import rules

MOST = 12
"""The most passes of such a plan."""


@contextmanager
def far_parities_always() -> Iterator[None]:
    """Take every plan with far parities meanwhile."""
    plan_of.cache_clear()
    with patch.object(rules, "PARITIES", MOST):
        yield
    plan_of.cache_clear()
