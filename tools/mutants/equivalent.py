"""Mutants that nothing can tell apart from the product, and why."""

from __future__ import annotations

from collections.abc import Mapping

from tools.mutants.mutant import Mutant

PROVED: Mapping[tuple[str, str, str], str] = {}
"""For a file, its lines and the mutant's lines: the reason that both do the same."""


def reason(mutant: Mutant) -> str:
    """Return why a mutant does what the product does, "" if nobody has said so."""
    return PROVED.get((mutant.path, mutant.before, mutant.after), "")
