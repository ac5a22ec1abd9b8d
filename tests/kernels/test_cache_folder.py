"""A cache of compiled kernels that is damaged, not writable, not private or missing costs time alone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from qsim_ex.kernels import cache_folder

CODE = """
import sys
from qsim_ex import CircuitBuilder, Simulator
circuit = CircuitBuilder(2, 2).gate("h", [0]).gate("cx", [0, 1]).measure([0, 1], [0, 1]).build()
print(sorted(Simulator(device="cpu").run(circuit, shots=50, seed=1).counts()))
from qsim_ex.kernels.cpu import sums
stats = sums.marginals.stats
print(sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
"""
POSIX = pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
ROOT = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away")
BOUND = shutil.which("setpriv") if hasattr(os, "geteuid") and os.geteuid() == 0 else None
"""The prefix that takes root's right to write everywhere from a process."""
PERMISSIONS = pytest.mark.skipif(
    os.name == "nt" or (os.geteuid() == 0 and BOUND is None), reason="permissions of POSIX, and for root setpriv"
)
NOBODY = """
import pwd
def unknown(user):
    raise KeyError(user)
pwd.getpwuid = unknown
"""


def run(before: str = "", **environment: str) -> tuple[list[str], str]:
    """Return a new process's output and warnings. Permissions hold for it even if it is root's."""
    paths = os.pathsep.join(path for path in sys.path if path)
    given = {"PATH": os.environ.get("PATH", ""), "PYTHONPATH": paths, **environment}
    bound = [] if BOUND is None else [BOUND, "--bounding-set=-dac_override,-dac_read_search"]
    command = [*bound, sys.executable, "-c", before + CODE]
    done = subprocess.run(command, env=given, capture_output=True, text=True, timeout=250, check=False)
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert first == "[0, 3]"
    return second.split(), done.stderr


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache that a process has filled."""
    folder = tmp_path_factory.mktemp("cache")
    hits, _ = run(QSIM_EX_CACHE_DIR=str(folder))
    assert hits[0] == "0"
    return folder


def test_every_way_of_damage_is_survived(filled: Path) -> None:
    """Files that were cut, overwritten or exchanged are compiled anew, and then found again."""
    assert run(QSIM_EX_CACHE_DIR=str(filled))[0][1] == "0"
    files = sorted(filled.rglob("*.nbc"))
    assert files
    for number, file in enumerate(files):
        data = file.read_bytes()
        file.write_bytes([b"", data[: len(data) // 2], b"garbage", data[:-1] + bytes([data[-1] ^ 1])][number % 4])
    hits, told = run(QSIM_EX_CACHE_DIR=str(filled))
    assert (hits[0], told) == ("0", "")
    assert run(QSIM_EX_CACHE_DIR=str(filled))[0][1] == "0"
    assert not list(filled.rglob("*.tmp"))


@PERMISSIONS
def test_what_cannot_be_written_or_read_is_no_trouble(filled: Path, tmp_path: Path) -> None:
    """A readable cache is used; where none can be read or made, kernels are compiled."""
    folders = [filled, *(path for path in filled.iterdir() if path.is_dir())]
    for path in folders:
        path.chmod(0o500)
    assert run(QSIM_EX_CACHE_DIR=str(filled))[0][1] == "0"
    files = list(filled.rglob("*.nbc"))
    for file in files:
        file.chmod(0)
    hits, told = run(QSIM_EX_CACHE_DIR=str(filled))
    assert (hits[0], told) == ("0", "")
    for path, mode in ((path, 0o700 if path.is_dir() else 0o600) for path in (*folders, *files)):
        path.chmod(mode)
    (tmp_path / "closed").mkdir(mode=0)
    hits, told = run(QSIM_EX_CACHE_DIR=str(tmp_path / "closed" / "cache"))
    assert (hits[0], told) == ("0", "")


@POSIX
def test_an_unknown_user_without_a_home(tmp_path: Path) -> None:
    """A process of a user that the system does not know, without HOME, runs, and keeps its kernels where it may."""
    hits, told = run(NOBODY, TMPDIR=str(tmp_path))
    assert (hits[0], told) == ("0", "")
    (made,) = tmp_path.iterdir()
    assert made.name == f"qsim-ex-{os.getuid()}"
    assert made.stat().st_mode & 0o777 == 0o700
    assert run(NOBODY, TMPDIR=str(tmp_path))[0][1] == "0"


@POSIX
def test_a_folder_that_others_may_write_to_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that others may write to, or that somebody else owns, is not used; one warning says what to do."""
    monkeypatch.setenv("QSIM_EX_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(cache_folder, "_warned", set())
    made = cache_folder.made("kernels")
    assert made == tmp_path / "cache" / "kernels"
    assert made.stat().st_mode & 0o777 == made.parent.stat().st_mode & 0o777 == 0o700
    for path, mode in ((made, 0o777), (made.parent, 0o770)):
        path.chmod(mode)
        with pytest.warns(RuntimeWarning, match=rf"{path} is not used: others may write to it.*chmod go-w '{path}'"):
            assert cache_folder.made("kernels") is None
        assert cache_folder.made("kernels") is None  # and no second warning
        path.chmod(0o700)
    assert cache_folder.made("kernels") == made
    monkeypatch.setattr(os, "geteuid", lambda: 54321)
    monkeypatch.setattr(cache_folder, "_warned", set())
    if made.stat().st_uid:
        with pytest.warns(RuntimeWarning, match="belongs to another user"):
            assert cache_folder.made("kernels") is None


@POSIX
@ROOT
def test_a_folder_of_another_user_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that belongs to another user is not used, though nobody else may write to it."""
    monkeypatch.setenv("QSIM_EX_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(cache_folder, "_warned", set())
    (tmp_path / "cache").mkdir(mode=0o700)
    os.chown(tmp_path / "cache", 54321, 54321)
    with pytest.warns(RuntimeWarning, match=r"belongs to another user \(number 54321\)"):
        assert cache_folder.made("kernels") is None


def test_a_folder_that_cannot_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no folder can be made there is none, and no error."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("QSIM_EX_CACHE_DIR", str(tmp_path / "file" / "cache"))
    assert cache_folder.made("kernels") is None
