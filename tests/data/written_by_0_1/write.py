"""Writes the files beside it; it was run once, with version 0.1, and later versions read what it wrote.

``PYTHONPATH=core python tests/data/written_by_0_1/write.py`` writes them again, with the `core` of commit 3082ca0 and
today's tests. States and circuits are those of tests/support/written_by_0_1.py; the engine's names are those of 0.1.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent.parent))

from support.written_by_0_1 import RUNS, STATES, circuit_of, run_of, stop_after  # noqa: E402

from qsim_ex import StateVector, saving  # noqa: E402


def write() -> None:
    """Write every state and every checkpoint, the latter by stopping runs."""
    saving.PIECE = 4  # so that even these states have several pieces
    for name, state in STATES.items():
        with StateVector(state.wires, device="cpu", precision=state.precision, **state.options) as made:
            made.apply(circuit_of(state)).save(HERE / f"{name}.qsx")
    for name, run in RUNS.items():
        with suppress(KeyboardInterrupt):
            run_of(run, HERE / f"{name}.qsx", seed=11, progress=stop_after(run.stop))
            raise AssertionError(f"{name} was not stopped")


if __name__ == "__main__":
    write()
