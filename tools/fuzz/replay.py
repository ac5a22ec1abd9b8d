"""Repeats one case that was printed by the fuzzer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tools.fuzz.case import Case, parse
from tools.fuzz.run import outcome_of


def replay(
    kind: str, wires: int, bits: int, program: str, options: Mapping[str, Any], ask: Mapping[str, Any]
) -> str | None:
    """Check a case, print what differs, and return it."""
    outcome = outcome_of(Case(kind, wires, bits, parse(program), options, ask))
    print(outcome.trouble or outcome.refusal or "nothing differs")
    return outcome.trouble
