"""Links of the pages: what the site makes of them; tools/house finds those that lead nowhere."""

from __future__ import annotations

from pathlib import Path

from tools.pages.built import faults
from tools.pages.links import edit_link, for_site


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


def test_a_page_is_edited_where_its_file_lies() -> None:
    """With a repository on the web the link leads to the page's file in it, and without one there is none."""
    assert edit_link("https://example.org/q/", "CHANGELOG.md") == "https://example.org/q/edit/main/CHANGELOG.md"
    assert edit_link("", "docs/index.md") is None
