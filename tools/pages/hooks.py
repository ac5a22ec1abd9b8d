"""Hooks of mkdocs: put files of the repository beside the pages, fill in tables, follow links out of docs/.

`mkdocs.yml` names this file. A page asks for a generated table by a comment of its own line:

    <!-- table: options -->

`tables.TABLES` has the names. Links of a page are those of its file in the repository, so that they work there too;
`links.for_site` says what a link out of docs/ becomes.
"""

from __future__ import annotations

import logging
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SOURCES = [str(ROOT / "core"), str(ROOT)]
sys.path[:0] = SOURCES  # for the imports below; mkdocs takes it back afterwards

from mkdocs.structure.files import File, Files  # noqa: E402  (after the paths)

from tools.pages import gallery, notebooks  # noqa: E402
from tools.pages.links import NOTEBOOKS, PAGES_BESIDE, STATIC, edit_link, for_site  # noqa: E402
from tools.pages.snippets import without_tags  # noqa: E402
from tools.pages.tables import TABLES  # noqa: E402

LOG = logging.getLogger("mkdocs.plugins.qsim_ex")
MARK = re.compile(r"^<!-- table: (\w+) -->$", re.MULTILINE)
STACKED = {"options": "entries", "run_options": "entries", "methods": "stacked"}
"""Tables with prose in a column, and their class in site.css: on a narrow screen cells stand below one another.

Those of "entries" have the columns of options.
"""
BACKGROUND = ("decisions/", "architecture.md", "adding.md", "changelog.md", "fuzzing.md")
"""Pages for those who read the source; in a search they come after the others."""


def on_config(config: Any) -> Any:
    """Let pages be made from this checkout, and put every decision into the navigation, after their index."""
    sys.path[:0] = SOURCES
    (develop,) = (part["Develop"] for part in config.nav if "Develop" in part)
    (decisions,) = (part["Decisions"] for part in develop if "Decisions" in part)
    decisions += [str(path.relative_to(ROOT / "docs")) for path in sorted((ROOT / "docs" / "decisions").glob("0*.md"))]
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the pages and downloads that lie outside docs/."""
    for source, place in PAGES_BESIDE.items():
        files.append(File.generated(config, place, content=(ROOT / source).read_text(encoding="utf-8")))
    for source, place in NOTEBOOKS.items():
        files.append(File.generated(config, place, content=notebooks.page(ROOT / source)))
        for name, content in notebooks.pictures(ROOT / source):
            files.append(File.generated(config, f"notebooks/{name}", content=content))
    for pattern in STATIC:
        for path in sorted(ROOT.glob(pattern)):
            files.append(File.generated(config, f"files/{path.relative_to(ROOT)}", abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Files) -> str:  # noqa: ARG001 (mkdocs' signature)
    """Return the page with its tables, its links as the site has them, and without the tags of code blocks."""
    place = page.file.src_uri
    beside = PAGES_BESIDE | NOTEBOOKS
    home = next((source for source, there in beside.items() if there == place), f"docs/{place}")

    def table(match: re.Match[str]) -> str:
        if match[1] not in TABLES:
            LOG.warning("%s: there is no table %r; known: %s", home, match[1], ", ".join(TABLES))
            return match[0]
        made = TABLES[match[1]]()
        return f'<div class="{STACKED[match[1]]}" markdown="1">\n\n{made}\n\n</div>' if match[1] in STACKED else made

    page.edit_url = edit_link(config.repo_url or "", home)
    if place.startswith(BACKGROUND):
        page.meta["search"] = {"boost": 0.3}
    text = without_tags(MARK.sub(table, markdown))
    if place == gallery.PLACE:
        text = gallery.with_cards(text)
    text, broken = for_site(text, home, place)
    for target in broken:
        LOG.warning("%s: the link to %s leads to no file of the repository", home, target)
    return notebooks.finished(text)
