"""Ray: its tasks run the circuits of a job, and the example with each kind of cluster ends well."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "many_circuits.py"


def test_tasks_count_what_one_process_counts() -> None:
    """The example compares the counts of all circuits with those of this process, and with their angles."""
    pytest.importorskip("ray")
    environment = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0"}
    ended = subprocess.run(
        [sys.executable, str(EXAMPLE), "--small", "--on", "ray"],
        capture_output=True,
        text=True,
        env=environment,
        timeout=200,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert "8 circuits on ray: the counts of one process" in ended.stdout
