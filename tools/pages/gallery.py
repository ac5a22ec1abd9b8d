"""The gallery: the table of notebooks as cards with pictures, where the site has them."""

from __future__ import annotations

import re
from pathlib import Path

from tools.pages.notebooks import MADE, ROOT, chosen_picture

PLACE = "notebooks/README.md"
"""The page that has the table of notebooks."""

_TABLE = re.compile(r"^\| notebook \|[^\n]*\n\|[ -|]*\n(?P<rows>(?:\| \[.*\|\n)+)", re.MULTILINE)
_ROW = re.compile(r"\| \[(?P<title>[^\]]+)\]\((?P<path>[^)]+)\) \| (?P<about>.*) \|\n")


def with_cards(text: str) -> str:
    """Return the page with a card for each row of its table: a picture of the notebook, its title, what is in it.

    Raises `ValueError` if the page has no such table.
    """
    changed, times = _TABLE.subn(lambda table: _cards(table["rows"]), text)
    if times != 1:
        raise ValueError(f"expected one table of notebooks in {PLACE}, got {times}")
    return changed


def _cards(rows: str) -> str:
    cards = []
    for row in _ROW.finditer(rows):
        picture = chosen_picture(ROOT / "notebooks" / Path(row["path"]).name)
        cards.append(
            '<div class="card" markdown="1">\n\n'
            f"[![{row['title']}]({MADE}{picture})]({row['path']})\n\n"
            f"[{row['title']}]({row['path']})\n\n{row['about']}\n\n</div>\n"
        )
    return '<div class="gallery" markdown="1">\n\n' + "\n".join(cards) + "\n</div>\n"
