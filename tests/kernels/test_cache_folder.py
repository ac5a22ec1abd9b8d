"""The folder of compiled kernels is its user's alone, or none."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from qsim_ex.kernels import cache_folder

POSIX = pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
ROOT = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away")


@POSIX
def test_an_unknown_user_without_a_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For a user that the system does not know, without HOME, the folder is made among temporary files."""

    def unknown(user: int) -> None:
        raise KeyError(user)

    for name in ("HOME", "XDG_CACHE_HOME", "QSIM_EX_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", unknown)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    made = cache_folder.made("kernels")
    assert made == tmp_path / f"qsim-ex-{os.getuid()}" / "kernels"
    assert made.stat().st_mode & 0o777 == made.parent.stat().st_mode & 0o777 == 0o700


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
