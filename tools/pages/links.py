"""Links of pages: files of the repository by their paths there, and what the site makes of them."""

from __future__ import annotations

import os
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

PAGES_BESIDE = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "benchmarks/README.md": "benchmarks/method.md",
}
"""Files outside docs/ that are pages of the site, and their places among the pages."""

NOTEBOOKS = {f"notebooks/{path.name}": f"notebooks/{path.stem}.md" for path in (ROOT / "notebooks").glob("*.ipynb")}
"""The notebooks, and their places among the pages."""

STATIC = ("benchmarks/results/*.json", "notebooks/*.ipynb", "notebooks/*.fcidump", "examples/*.py")
"""Files outside docs/ that can be downloaded from the site, under files/."""

_PART = re.compile(
    r"(?P<code>^ *```.*?^ *```$|`[^`\n]+`)"
    r"|!\[[^\]]*\]\((?P<image>[^)\s]+)\)"
    r"|\[(?P<words>(?:[^\[\]`]|`[^`\n]*`|\[[^\]]*\])*)\]\((?P<target>[^)\s]+)\)",
    re.MULTILINE | re.DOTALL,
)
"""Code, in which nothing is a link; a picture; a link with its words and its target."""


def for_site(text: str, home: str, place: str) -> tuple[str, list[str]]:
    """Return a page with links for the site, and the links that lead nowhere.

    home: the page's path in the repository. place: its path among the pages. A link to a page or a download leads
    there; a link to another file of the repository becomes the file's path, since the site has no source code.
    """
    broken: list[str] = []

    def part(match: re.Match[str]) -> str:
        target = match["target"] or match["image"]
        if target is None or target.startswith("#") or re.match(r"[a-z]+:", target):
            return match[0]
        path, _, anchor = target.partition("#")
        there = os.path.normpath(str(Path(home).parent / path))
        if there.startswith("..") or not (ROOT / there).exists():
            broken.append(target)
            return match[0]
        if match["image"]:
            return match[0]
        words, page = match["words"], _page(there)
        if page is None:
            return words if words.strip("`") == there else f"{words} (`{there}`)"
        near = os.path.relpath(page, str(Path(place).parent))
        return f"[{words}]({near}{'#' + anchor if anchor else ''})"

    return _PART.sub(part, text), broken


def edit_link(repository: str, home: str) -> str | None:
    """Return where a page is edited: the path of its file in a repository on the web; None without a repository."""
    return f"{repository.rstrip('/')}/edit/main/{home}" if repository else None


def _page(there: str) -> str | None:
    """Return the place on the site of a file of the repository; None if it has none."""
    if place := (PAGES_BESIDE | NOTEBOOKS).get(there):
        return place
    if there == "README.md":
        return "index.md"
    if there == "docs/decisions":
        return "decisions/README.md"
    if there.startswith("docs/"):
        return there.removeprefix("docs/")
    if any(Path(there).match(pattern) for pattern in STATIC):
        return f"files/{there}"
    return None
