"""Run notebooks from top to bottom and keep them with their outputs: ``python -m tools.notebooks [NUMBER ...]``.

Without numbers all are run. Cells that fail stop it, and the file stays as it was.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import nbclient
import nbformat

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "notebooks"


def run(path: Path) -> None:
    """Execute a notebook in a fresh kernel with this checkout, and write it with what its cells showed."""
    notebook = nbformat.read(path, as_version=4)
    client = nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3", coalesce_streams=True)
    client.execute(cwd=str(FOLDER))
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # the times of the run, which differ each time
        if cell.cell_type == "code":  # without progress bars, which are empty at the end
            cell.outputs = [one for one in cell.outputs if one.get("data", {}).get("text/html") != ""]
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    nbformat.write(notebook, path)


def main(numbers: list[str]) -> None:
    """Run the notebooks of the given numbers, or all."""
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT / "core"), str(ROOT)])
    for path in sorted(FOLDER.glob("*.ipynb")):
        if not numbers or path.name.split("_")[0].lstrip("0") in [number.lstrip("0") for number in numbers]:
            began = time.monotonic()
            run(path)
            print(f"{path.name}: {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main(sys.argv[1:])
