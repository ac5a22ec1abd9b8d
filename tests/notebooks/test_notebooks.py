"""The notebooks run from the first cell to the last, in a fresh kernel, with this checkout.

How they are kept, `tools/house` reads.
"""

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
SECONDS = 180
NEEDS = {"08_error_mitigation": "qiskit_ibm_runtime"}
"""Packages that only some notebooks need; where they are missing, tests/ecosystem runs the cells."""


def outputs(notebook: Any, kind: str) -> list[Any]:
    """All outputs of a kind ("stream", "display_data", …) of a notebook's cells."""
    return [o for cell in notebook.cells for o in cell.get("outputs", []) if o.output_type == kind]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every cell runs without error or warning, there is a picture, and the whole takes less than a minute."""
    if path.stem in NEEDS:
        pytest.importorskip(NEEDS[path.stem])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "core"), str(ROOT), os.environ.get("PYTHONPATH", "")]))
    notebook = nbformat.read(path, as_version=4)
    begin = time.monotonic()
    nbclient.NotebookClient(notebook, timeout=SECONDS, kernel_name="python3").execute(cwd=str(path.parent))
    assert time.monotonic() - begin < SECONDS
    assert not [stream.text for stream in outputs(notebook, "stream") if stream.name == "stderr"]
    pictures = [o for o in outputs(notebook, "display_data") if "image/png" in o.data]
    assert pictures
