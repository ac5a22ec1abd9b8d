"""Notebooks as pages of the site: their text, their code, and what their cells showed."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
MADE = "made:"
"""Begins a link to a file of the site that is no file of the repository; `finished` takes it away."""

PICTURES = {"image/svg+xml": "svg", "image/png": "png"}
"""The outputs that become files, and their suffixes; of several forms of one output the first is taken."""


def page(path: Path) -> str:
    """Return a notebook as markdown."""
    cells = _cells(path)
    title, *rest = "".join(cells[0]["source"]).split("\n", 1)
    download = f"[Download this notebook]({MADE}../files/notebooks/{path.name}){{ .md-button .md-button--primary }}"
    parts = [title, download, *rest]
    for number, cell in enumerate(cells[1:], 1):
        text = "".join(cell["source"])
        parts.append(text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```")
        parts += [_shown(path, number, k, output) for k, output in enumerate(cell.get("outputs", []))]
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"


def pictures(path: Path) -> Iterator[tuple[str, str | bytes]]:
    """Yield the name and the content of each picture of a notebook."""
    for number, cell in enumerate(_cells(path)):
        for k, output in enumerate(cell.get("outputs", [])):
            data = output.get("data", {})
            if (kind := _kind(data)) is not None:
                text = "".join(data[kind])
                yield _name(path, number, k, kind), text if kind == "image/svg+xml" else base64.b64decode(text)


def chosen_picture(path: Path) -> str:
    """Return the name of the picture that stands for a notebook: the first of the cell with the tag "gallery"."""
    for number, cell in enumerate(_cells(path)):
        if "gallery" in cell.get("metadata", {}).get("tags", []):
            for k, output in enumerate(cell["outputs"]):
                if (kind := _kind(output.get("data", {}))) is not None:
                    return _name(path, number, k, kind)
    raise ValueError(f'{path.name}: expected a cell with the tag "gallery" that has drawn a picture, got none')


def finished(text: str) -> str:
    """Return a page with its links to files of the site alone; its other links must be those of the site already."""
    return text.replace(f"({MADE}", "(")


def _cells(path: Path) -> list[dict[str, Any]]:
    cells: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return cells


def _kind(data: dict[str, Any]) -> str | None:
    return next((kind for kind in PICTURES if kind in data), None)


def _name(path: Path, cell: int, output: int, kind: str) -> str:
    return f"{path.stem}_{cell}_{output}.{PICTURES[kind]}"


def _shown(path: Path, cell: int, number: int, output: dict[str, Any]) -> str:
    """Return an output as markdown; nothing for a bar that has gone."""
    data = output.get("data", {})
    if (kind := _kind(data)) is not None:
        return f"![What this cell draws]({MADE}{_name(path, cell, number, kind)})"
    if html := "".join(data.get("text/html", "")).strip():
        return f'<div class="output">{html}</div>' if "<table" in html else ""
    text = "".join(output.get("text") or data.get("text/plain", "")).rstrip("\n")
    return "" if "text/html" in data or not text else f"```text\n{text}\n```"
