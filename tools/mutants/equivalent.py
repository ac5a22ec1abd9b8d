"""Mutants that nothing can tell apart from the product, and why."""

from __future__ import annotations

from collections.abc import Mapping

from tools.mutants.mutant import Mutant

_ENGINE = "core/qsim_ex/"

PROVED: Mapping[tuple[str, str, str], str] = {
    (f"{_ENGINE}program/simplified.py", "before = -1", "before = - 2"): "any number below the least length, 0, does",
}
"""For a file, its lines and the mutant's lines: the reason that both do the same."""


def reason(mutant: Mutant) -> str:
    """Return why a mutant does what the product does, "" if nobody has said so."""
    return PROVED.get((mutant.path, mutant.before, mutant.after), "")
