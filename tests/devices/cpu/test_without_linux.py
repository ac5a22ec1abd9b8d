"""The engine on a CPU needs nothing that Linux alone has, as far as a Linux machine can tell."""

from __future__ import annotations

import os
import subprocess
import sys

from support.paths import ROOT

WITHOUT = """
import mmap, os, pathlib, sys

for module, names in (
    (os, "sched_getaffinity sched_setaffinity memfd_create pidfd_open eventfd posix_fallocate posix_fadvise splice"),
    (mmap, "MADV_HUGEPAGE MADV_COLLAPSE MADV_DONTFORK"),
):
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)
opened = pathlib.Path.open


def refused(path, *given, **named):
    if str(path).startswith(("/proc", "/sys")):
        raise FileNotFoundError(str(path))
    return opened(path, *given, **named)


pathlib.Path.open = pathlib.Path.read_text = refused
sys.path.insert(0, "tools")
import smoke
from qsim_ex import CircuitBuilder, Simulator, thresholds

smoke.check()
circuit = CircuitBuilder(14).gate("h", [13]).build()
with thresholds.instead(large_bytes=1 << 16), Simulator(device="cpu").state(circuit) as state:
    assert abs(state.amplitudes([1 << 13])[0] - 0.5**0.5) < 1e-12  # in large pages, where there are some
"""


def test_an_engine_without_calls_of_linux() -> None:
    """Without Linux's own calls and files an engine starts, finds its memory and cores, and gives right answers."""
    found = subprocess.run(
        [sys.executable, "-c", WITHOUT],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "core")},
        check=False,
        capture_output=True,
        text=True,
    )
    assert found.returncode == 0, found.stderr
