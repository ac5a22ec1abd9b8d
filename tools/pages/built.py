"""Check a built site: ``python -m tools.pages.built FOLDER``.

Every link leads to a file of the folder, and to an anchor that is there; nothing is loaded from another server.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_LOADED = {"script": "src", "img": "src", "iframe": "src", "link": "href", "source": "src"}
"""What a browser loads with a page, and the attribute that says from where."""
_NOT_LOADED = {"canonical", "next", "prev", "alternate"}
"""Relations of a ``<link>`` that a browser does not load."""


class Page(HTMLParser):
    """The anchors of a page, its links, and what it loads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag names, links to, or loads."""
        found = {name: value or "" for name, value in attrs}
        self.anchors |= {found[name] for name in ("id", "name") if name in found}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if tag in _LOADED and found.get("rel") not in _NOT_LOADED and (target := found.get(_LOADED[tag])):
            self.loaded.append(target)


def faults(folder: Path) -> list[str]:
    """Return what is wrong with a built site, a line for each fault."""
    pages = {path: Page(path) for path in sorted(folder.rglob("*.html"))}
    found = []
    for path, page in pages.items():
        if path.name == "404.html":  # its links are those of the server's root
            continue
        where = path.relative_to(folder)
        found += [f"{where} loads {one} from elsewhere" for one in page.loaded if urlsplit(one).netloc]
        for link in {*page.links, *page.loaded}:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.exists():
                found.append(f"{where}: no file for the link {link}")
            elif parts.fragment and target.suffix == ".html":
                known = pages.get(target) or pages.get(folder / target.relative_to(folder.resolve()))
                if known is not None and unquote(parts.fragment) not in known.anchors:
                    found.append(f"{where}: no anchor for the link {link}")
    return found if pages else [f"{folder} has no pages"]


def main(folder: Path) -> int:
    """Print the faults of a site and return 1 if there are any."""
    found = faults(folder)
    print("\n".join(found) or f"{folder}: all links lead somewhere, and nothing is loaded from elsewhere")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
