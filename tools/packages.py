"""The packages of the wheel, read from pyproject.toml, so that a further one is named there and nowhere else."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def packages() -> tuple[str, ...]:
    """Return the folders of all packages, relative to the checkout."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        found: list[str] = tomllib.load(file)["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    return tuple(found)
