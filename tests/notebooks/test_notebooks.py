"""The notebooks run from the first cell to the last, each with no name of another, with this checkout.

They share a kernel, in which packages are imported once: importing them took half of the time of a kernel for each.

How they are kept, `tools/house` reads.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
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


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """What runs cells in a kernel that stays."""
    found = nbclient.NotebookClient(nbformat.v4.new_notebook(), kernel_name="python3", timeout=SECONDS)
    manager, found.owns_km = found.create_kernel_manager(), False
    yield found
    if found.kc is not None:
        found.kc.stop_channels()
        nbclient.util.run_sync(manager.shutdown_kernel)(now=True)


FORGET = "import matplotlib\nmatplotlib.rcdefaults()\n%reset -f"
"""What a notebook before has set and named is gone behind this; pictures are closed at the end of each cell."""


def run(client: Any, notebook: Any) -> None:
    """Run the cells of a notebook."""
    client.nb = notebook
    client.execute(cwd=str(ROOT / "notebooks"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs(path: Path, client: Any) -> None:
    """Every cell runs without error or warning, there is a picture, and the whole takes less than a minute."""
    if path.stem in NEEDS:
        pytest.importorskip(NEEDS[path.stem])
    notebook, forget = nbformat.read(path, as_version=4), nbformat.v4.new_code_cell(FORGET)
    run(client, nbformat.v4.new_notebook(cells=[forget]))
    begin = time.monotonic()
    run(client, notebook)
    assert time.monotonic() - begin < SECONDS
    assert not [stream.text for stream in outputs(notebook, "stream") if stream.name == "stderr"]
    pictures = [o for o in outputs(notebook, "display_data") if "image/png" in o.data]
    assert pictures
