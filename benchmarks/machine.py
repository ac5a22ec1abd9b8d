"""The environment of a measurement: hardware, versions, commit, date."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_PACKAGES = (
    "numpy",
    "cupy-cuda12x",
    "cupy-cuda13x",
    "qiskit",
    "cirq-core",
    "pennylane",
    "qiskit-aer",
    "qsimcirq",
)


def _output(*command: str) -> str | None:
    """Return what a command prints, or None if it is not there or fails."""
    try:
        run = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30)
    except (OSError, subprocess.SubprocessError):
        return None
    return run.stdout.strip() or None


def _field(path: str, name: str) -> str | None:
    """Return the first value of ``name : value`` in a file of /proc."""
    try:
        lines = Path(path).read_text().splitlines()
    except OSError:
        return None
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith(name)), None)


def gpu() -> dict[str, str] | None:
    """Describe GPU 0 as nvidia-smi does, or return None without one."""
    query = "name,memory.total,driver_version"
    text = _output("nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader,nounits", "--id=0")
    return dict(zip(query.split(","), (f.strip() for f in text.split(",")), strict=True)) if text else None


def memory_bytes(device: str) -> int:
    """Return how much memory the device has in all; raise RuntimeError for a GPU that is not there.

    Of the host it is what the container may use, where that is less.
    """
    if device == "cpu":
        machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        try:
            limit = Path("/sys/fs/cgroup/memory.max").read_text().strip()
        except OSError:
            return machine
        return min(machine, int(limit)) if limit.isdigit() else machine
    found = gpu()
    if found is None:
        raise RuntimeError("no GPU: nvidia-smi is missing or lists none")
    return int(found["memory.total"]) << 20  # nvidia-smi counts in MiB


def commit() -> str:
    """Return the commit that is measured, marked if files differ from it, or 'unknown'."""
    return _output("git", "describe", "--always", "--dirty", "--abbrev=10") or "unknown"


def describe() -> dict[str, object]:
    """Return machine, versions and date, ready for JSON; no host name."""
    versions = {}
    for package in _PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "cpu": _field("/proc/cpuinfo", "model name") or platform.processor(),
        "cores": os.cpu_count(),
        "cores_of_this_process": len(os.sched_getaffinity(0)),
        "memory": memory_bytes("cpu"),
        "gpu": gpu(),
        "python": platform.python_version(),
        "versions": versions,
    }
