"""The diagram of the layers in docs/architecture.md, made from the import contracts in pyproject.toml.

python tools/diagram.py            fail where page and contracts differ
python tools/diagram.py --write    put the diagram of the contracts into the page
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "architecture.md"

FRAMEWORKS_CONTRACT = "Frameworks stand on the engine; the engine knows neither, and they not each other"
ENGINE_CONTRACT = "A circuit flows one way through the engine"

BEGIN = "<!-- The layers: written by `python tools/diagram.py --write` from the contracts in pyproject.toml. -->"
END = "<!-- The end of the layers. -->"


def pyproject(root: Path = ROOT) -> dict[str, Any]:
    """Return what stands in pyproject.toml."""
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))


def contract(project: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the import contract of a name; raises `SystemExit` if there is none."""
    contracts: list[dict[str, Any]] = project["tool"]["importlinter"]["contracts"]
    for one in contracts:
        if one["name"] == name:
            return one
    known = ", ".join(repr(one["name"]) for one in contracts)
    raise SystemExit(f"pyproject.toml has no import contract {name!r}, only {known}; rename one of the two.")


def layer(text: str) -> str:
    """Return a layer as it is drawn: the names in it side by side, without the brackets of those that may be absent."""
    return " │ ".join(re.findall(r"[\w.]+", text))


def diagram(project: Mapping[str, Any]) -> str:
    """Draw the layers of the frameworks and, below them, those of the engine; each imports from those below it."""
    *frameworks, engine = contract(project, FRAMEWORKS_CONTRACT)["layers"]
    rooms = contract(project, ENGINE_CONTRACT)["layers"]
    return "\n".join([*map(layer, frameworks), f"└─ {layer(engine)}", *(f"   {layer(room)}" for room in rooms)])


def replaced(page: str, drawn: str) -> str:
    """Return a page with another diagram between its two marks; raises `SystemExit` unless each is there once."""
    if page.count(BEGIN) != 1 or page.count(END) != 1 or page.index(BEGIN) > page.index(END):
        raise SystemExit(f"the page needs these two lines, once each, where the diagram goes:\n{BEGIN}\n{END}")
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}\n\n```\n{drawn}\n```\n\n{END}{rest.partition(END)[2]}"


def agrees() -> bool:
    """Return whether the page has the diagram of the contracts."""
    page = PAGE.read_text(encoding="utf-8")
    return replaced(page, diagram(pyproject())) == page


def main() -> None:
    """Compare the page with the contracts, or write it."""
    match sys.argv[1:]:
        case ["--write"]:
            text = replaced(PAGE.read_text(encoding="utf-8"), diagram(pyproject()))
            PAGE.write_text(text, encoding="utf-8")
        case []:
            if not agrees():
                where = PAGE.relative_to(ROOT)
                raise SystemExit(f"{where}: the diagram is not that of the contracts; run tools/diagram.py --write")
        case _:
            raise SystemExit(__doc__)


if __name__ == "__main__":
    main()
