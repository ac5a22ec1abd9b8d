"""Links of the pages: they lead to files of the repository, and to pages of the site."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tools.pages.built import faults
from tools.pages.links import PAGES_BESIDE, ROOT, for_site

PAGES = {
    f"docs/{page.relative_to(ROOT / 'docs')}": str(page.relative_to(ROOT / "docs"))
    for page in (ROOT / "docs").rglob("*.md")
}
PAGES |= PAGES_BESIDE | {"README.md": "index.md"}


@pytest.mark.parametrize("home", sorted(PAGES))
def test_links_lead_to_files_of_the_repository(home: str) -> None:
    """No page links to a file that is not there."""
    _, broken = for_site((ROOT / home).read_text(encoding="utf-8"), home, PAGES[home])
    assert broken == []


@pytest.mark.parametrize("notebook", sorted((ROOT / "notebooks").glob("*.ipynb")), ids=lambda path: path.name)
def test_links_of_notebooks(notebook: Path) -> None:
    """No notebook links to a file that is not there."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    text = "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    assert for_site(text, f"notebooks/{notebook.name}", "index.md")[1] == []


def test_pages_about_the_source_name_no_file_that_is_gone() -> None:
    """Each file that a decision or the page of the architecture names is there, by its path or the end of it."""
    folders = (".ci", "benchmarks", "core", "docs", "notebooks", "qsim_ex_cirq", "qsim_ex_provider", "tests", "tools")
    there = [f"/{path.relative_to(ROOT)}" for folder in folders for path in (ROOT / folder).rglob("*.*")]
    there += [f"/{path.name}" for path in ROOT.glob("*.*")]
    ends = {path[at:] for path in there for at, letter in enumerate(path) if letter == "/"}
    named = re.compile(r"`([\w./-]+\.(?:py|cpp|hpp|cu|json|md|toml|sh|def))`")
    pages = [*(ROOT / "docs/decisions").glob("*.md"), ROOT / "docs/architecture.md", ROOT / "docs/adding.md"]
    gone = [
        f"{page.name}: {name}"
        for page in pages
        for name in named.findall(page.read_text(encoding="utf-8"))
        if f"/{name}" not in ends
    ]
    assert gone == []


def test_what_a_link_becomes() -> None:
    """A page stays a page, a result becomes a download, a source file becomes its path, and a wrong link is told."""
    text = (
        "[a](../saved_states.md#checkpoints) [b](../../benchmarks/results/cpu_many.json) "
        "[c](../../core/qsim_ex/options/__init__.py) [d](../nowhere.md) `[e](../nowhere.md)` [f](https://example.org)\n"
        "```python\n[g](../nowhere.md)\n```\n"
    )
    found, broken = for_site(text, "docs/how-to/noise.md", "how-to/noise.md")
    assert "[a](../saved_states.md#checkpoints)" in found
    assert "[b](../files/benchmarks/results/cpu_many.json)" in found
    assert "c (`core/qsim_ex/options/__init__.py`)" in found
    assert "[f](https://example.org)" in found
    assert broken == ["../nowhere.md"]


def test_the_readme_is_short_and_has_the_commands_of_ci() -> None:
    """The README has 120 lines at most, and the two commands that CI reads out of it."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 120
    assert text.count("```bash test\n") == text.count("```bash demo\n") == 1


def test_the_check_of_a_built_site_finds_faults(tmp_path: Path) -> None:
    """A link without a file, one without an anchor, and a script of another server are found, and nothing else."""
    assert faults(tmp_path)
    (tmp_path / "right.html").write_text('<p id="here"><a href="#here"></a><a href="https://a.org"></a></p>')
    assert faults(tmp_path) == []
    (tmp_path / "wrong.html").write_text(
        '<a href="nowhere.html"></a><a href="right.html#there"></a><a href="right.html#here"></a>'
        '<script src="https://cdn.example.org/x.js"></script>'
    )
    assert len(faults(tmp_path)) == 3
    assert all(fault.startswith("wrong.html") for fault in faults(tmp_path))
