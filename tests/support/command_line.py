"""The command line called inside a test, with what it printed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from qsim_ex.cli import main

REAL = "qiskit=qsim_ex_provider.frontend:frontend,cirq=qsim_ex_cirq.frontend:frontend"
"""The entry points of pyproject.toml, for QSIM_EX_FRONTENDS: a checkout need not be installed to be tested."""


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The one JSON document on stdout."""
        return json.loads(self.out)


class CommandLine:
    """Calls `main` and keeps what it printed."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *argv: str | Path) -> Ended:
        """Run one command."""
        self._capsys.readouterr()
        code = main([str(word) for word in argv])
        captured = self._capsys.readouterr()
        return Ended(code, captured.out, captured.err)
