"""Where the compiled part of the package is not to be had, an error says what to type."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from support.paths import ROOT

from qsim_ex.errors import MissingPackage
from qsim_ex.native import library


def test_a_package_that_was_not_built_says_how_to(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A library that is not there is a `MissingPackage` with its path and the command that builds it."""
    monkeypatch.setattr(library, "FILE", tmp_path / "built" / "library.so")
    with pytest.raises(MissingPackage, match=r"library\.so.*python -m tools\.native"):
        library._library.__wrapped__()


def test_an_archive_says_that_it_has_to_be_installed(tmp_path: Path) -> None:
    """What is imported from a zip file, such as a wheel, cannot load a library, and says how to install it."""
    archive = tmp_path / "qsim_ex.whl"
    with zipfile.ZipFile(archive, "w") as packed:
        for file in (ROOT / "core" / "qsim_ex").rglob("*.py"):
            packed.write(file, file.relative_to(ROOT / "core"))
    code = f"import sys; sys.path.insert(0, {str(archive)!r}); from qsim_ex.native import library; library.built_from()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert f"MissingPackage: qsim-ex cannot run from an archive, got {archive}; run: pip install" in done.stderr
