"""Docstrings of the source as markdown: entries ``name: meaning`` become lists, so that a page shows them as such."""

from __future__ import annotations

import inspect
import re

_ENTRY = re.compile(r"(\*{0,2}\w+(?:, \*{0,2}\w+)*): (.*)")


def as_markdown(text: str) -> str:
    """Return a docstring with each entry ``name: meaning`` at the beginning of a line as an item of a list."""
    lines: list[str] = []
    listed = False
    for line in inspect.cleandoc(text).splitlines():
        entry = _ENTRY.fullmatch(line)
        if entry and entry[1] not in ("Raises", "Note"):
            lines += [] if listed else [""]
            lines.append(f"- **{entry[1]}**: {entry[2]}".replace("***", "**"))
            listed = True
        elif listed and line.strip() and not line.startswith(" "):
            # A sentence that goes on belongs to the entry; a new one after a full stop begins a paragraph.
            ended = lines[-1].rstrip().endswith(".") and line.startswith(("Raises", "Return", "It ", "The "))
            lines += ["", line] if ended else [f"    {line}"]
            listed = not ended
        else:
            lines.append(line)
            listed = listed and bool(line.strip())
    return re.sub(r"``(?!`)([^`]+)``", r"`\1`", "\n".join(lines))
