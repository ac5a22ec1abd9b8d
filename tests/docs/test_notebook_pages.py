"""Pages of notebooks and examples on the site: their text, code, outputs and downloads are there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tools.pages import gallery, notebooks
from tools.pages.examples import examples
from tools.pages.links import NOTEBOOKS, ROOT, for_site


def notebook(path: Path, outputs: list[dict[str, object]]) -> Path:
    """Write a notebook with one cell of text and one of code with these outputs."""
    cells = [
        {"cell_type": "markdown", "source": ["# Title\n", "Words."]},
        {"cell_type": "code", "source": ["1 + 1"], "outputs": outputs},
    ]
    path.write_text(json.dumps({"cells": cells}), encoding="utf-8")
    return path


def test_a_page_has_text_code_and_outputs(tmp_path: Path) -> None:
    """Text stays as it is, code becomes a block, and of each output the best form is shown."""
    outputs: list[dict[str, object]] = [
        {"output_type": "stream", "text": ["two\n"]},
        {"output_type": "display_data", "data": {"image/png": "AAEC", "text/plain": ["<Figure>"]}},
        {"output_type": "execute_result", "data": {"text/html": ["<table></table>"], "text/plain": ["plan"]}},
        {"output_type": "display_data", "data": {"text/html": [""], "text/plain": ["<bar>"]}},
    ]
    path = notebook(tmp_path / "one.ipynb", outputs)
    text = notebooks.finished(notebooks.page(path))
    assert text.startswith("# Title\n\n[Download this notebook](../files/notebooks/one.ipynb)")
    assert "Words." in text
    assert "```python\n1 + 1\n```" in text
    assert "```text\ntwo\n```" in text
    assert "](one_1_1.png)" in text
    assert "<table></table>" in text
    assert "Figure" not in text
    assert "bar" not in text
    assert list(notebooks.pictures(path)) == [("one_1_1.png", b"\x00\x01\x02")]


@pytest.mark.parametrize("home", sorted(NOTEBOOKS))
def test_links_of_a_page_survive(home: str) -> None:
    """All links of the notebook lead somewhere on the site, and each picture of it has its file."""
    text, broken = for_site(notebooks.page(ROOT / home), home, NOTEBOOKS[home])
    assert broken == []
    names = [name for name, _ in notebooks.pictures(ROOT / home)]
    assert names
    assert all(f"({name})" in notebooks.finished(text) for name in names)


def test_a_link_to_a_notebook_leads_to_its_page() -> None:
    """On the site a notebook is a page, and an example a download."""
    text = "[a](../notebooks/06_noise.ipynb) [b](../examples/xeb_cirq.py)"
    assert for_site(text, "docs/x.md", "x.md") == ("[a](notebooks/06_noise.md) [b](files/examples/xeb_cirq.py)", [])


def test_every_example_is_on_its_page() -> None:
    """The page has each example with its commands and its source."""
    text = examples()
    for path in (ROOT / "examples").glob("*.py"):
        assert f"## {path.name}" in text
        assert f"    python examples/{path.name} --small" in text
        assert path.read_text(encoding="utf-8").splitlines()[-1].strip() in text


def test_the_gallery_has_every_notebook() -> None:
    """The page of notebooks becomes a card for each, with a picture that the site has and a link to its page."""
    home = f"docs/{gallery.PLACE}"
    text = gallery.with_cards((ROOT / home).read_text(encoding="utf-8"))
    assert "| notebook |" not in text
    links, broken = for_site(text, home, gallery.PLACE)
    assert broken == []
    shown = notebooks.finished(links)
    for source in NOTEBOOKS:
        path = ROOT / source
        picture = notebooks.chosen_picture(path)
        assert picture in dict(notebooks.pictures(path))
        assert f"]({picture})]({path.stem}.md)" in shown


def test_a_gallery_without_its_table_or_a_picture_is_refused(tmp_path: Path) -> None:
    """A page without the table, and a notebook in which no cell is chosen, are errors that say what is missing."""
    with pytest.raises(ValueError, match="expected one table of notebooks"):
        gallery.with_cards("# Notebooks\n")
    with pytest.raises(ValueError, match=r'one\.ipynb: expected a cell with the tag "gallery"'):
        notebooks.chosen_picture(notebook(tmp_path / "one.ipynb", []))
