"""The notebooks run from the first cell to the last, in a fresh kernel, with this checkout."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest
from support.paths import ROOT

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
SECONDS = 60


def outputs(notebook: Any, kind: str) -> list[Any]:
    """All outputs of a kind ("stream", "display_data", …) of a notebook's cells."""
    return [o for cell in notebook.cells for o in cell.get("outputs", []) if o.output_type == kind]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every cell runs without error or warning, there is a picture, and the whole takes less than a minute."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "core"), str(ROOT), os.environ.get("PYTHONPATH", "")]))
    notebook = nbformat.read(path, as_version=4)
    begin = time.monotonic()
    nbclient.NotebookClient(notebook, timeout=SECONDS, kernel_name="python3").execute(cwd=str(path.parent))
    assert time.monotonic() - begin < SECONDS
    assert not [stream.text for stream in outputs(notebook, "stream") if stream.name == "stderr"]
    pictures = [o for o in outputs(notebook, "display_data") if "image/png" in o.data]
    assert pictures


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_is_kept_with_its_outputs(path: Path) -> None:
    """The outputs are in the file, from one run from top to bottom."""
    notebook = nbformat.read(path, as_version=4)
    numbers = [cell.execution_count for cell in notebook.cells if cell.cell_type == "code"]
    assert numbers == list(range(1, len(numbers) + 1))
    assert any("image/png" in o.data for o in outputs(notebook, "display_data"))
    assert not outputs(notebook, "error")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_checks_itself_and_says_what_to_try(path: Path) -> None:
    """It compares something with a known answer, and its last cell says what to try next."""
    cells = nbformat.read(path, as_version=4).cells
    assert any("assert " in cell.source for cell in cells if cell.cell_type == "code")
    assert cells[-1].source.startswith("## What to try next")


def test_there_are_seven_notebooks() -> None:
    """The folder has the seven notebooks, numbered in the order in which they are read."""
    assert [path.name[:3] for path in NOTEBOOKS] == [f"0{number}_" for number in range(1, 8)]
