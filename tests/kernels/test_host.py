"""The cores and the memory that this process may use."""

from __future__ import annotations

from pathlib import Path

import pytest

from qsim_ex.kernels import host


@pytest.mark.parametrize(
    ("version", "files", "cores"),
    [
        (0, {"cpu.max": "max 100000"}, None),
        (0, {"cpu.max": "150000 100000"}, 2),
        (0, {"cpu.max": "10000 100000"}, 1),
        (1, {"cpu.cfs_quota_us": "-1", "cpu.cfs_period_us": "100000"}, None),
        (1, {"cpu.cfs_quota_us": "300000", "cpu.cfs_period_us": "100000"}, 3),
        (0, {}, None),
    ],
)
def test_limits_of_control_groups(
    version: int, files: dict[str, str], cores: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process uses no more cores than its control group has time for, in whole cores, and at least one."""
    for name, text in files.items():
        (tmp_path / name).write_text(text + "\n")
    monkeypatch.setattr(host, "_group_folders", lambda _controller: iter([(tmp_path, version)]))
    monkeypatch.setattr(host.os, "sched_getaffinity", lambda _pid: range(64), raising=False)
    host._group_cores.cache_clear()
    try:
        assert host.cores() == (64 if cores is None else cores)
    finally:
        host._group_cores.cache_clear()


def test_memory_is_what_the_machine_tells() -> None:
    """Total bytes are those of /proc/meminfo, read line by line, and at most these are free."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    told = {line.split(":")[0]: int(line.split()[1]) * 1024 for line in lines}
    free, total = host._machine_memory()
    assert total == told["MemTotal"]
    assert 0 < free <= total
