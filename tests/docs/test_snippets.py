"""Every snippet of the documentation runs, and every example of an error raises that error."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qsim_ex import errors, reference
from qsim_ex.devices.discover import gpu_missing
from tools.pages.snippets import Block, blocks, without_tags

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    page
    for page in (ROOT / "docs").rglob("*.md")
    if "decisions" not in page.parts and any(block.language == "python" for block in blocks(page))
)
FRONTENDS = "qiskit=qsim_ex_provider.frontend:frontend,cirq=qsim_ex_cirq.frontend:frontend"


def name(page: Path) -> str:
    """Return the page's path among the pages."""
    return str(page.relative_to(ROOT / "docs"))


def runs_here(block: Block) -> bool:
    """Return whether a block of Python can run on this machine."""
    return not {"skip", "gpu"} & set(block.tags) and ("no-gpu" not in block.tags or bool(gpu_missing()))


def compiled(block: Block, page: Path) -> Any:
    """Return the code of a block, with the numbers of its lines in the page."""
    return compile("\n" * (block.line - 1) + block.text, str(page), "exec")


def message(block: Block, error: str) -> str:
    """Return the message that a block shows in its last lines, as a comment that begins with the error's name.

    "…" stands for any text.
    """
    _, _, shown = block.text.partition(f"\n# {error}: ")
    return " ".join(shown.replace("\n# ", " ").split())


def run(block: Block, page: Path, names: dict[str, Any]) -> None:
    """Run a block of Python after the blocks above it; an error that it is an example of has to come."""
    code = compiled(block, page)
    expected = [tag for tag in block.tags if hasattr(errors, tag)]
    if not expected:
        exec(code, names)
        return
    with pytest.raises(getattr(errors, expected[0])) as raised:
        exec(code, names)
    assert type(raised.value).__name__ == expected[0]
    assert any(letter.islower() for letter in str(raised.value))
    if shown := message(block, expected[0]):
        assert re.fullmatch(re.escape(shown).replace("…", ".*"), " ".join(str(raised.value).split())), raised.value


def sums_of_a_sweep(names: dict[str, Any]) -> None:
    """Check that the values are those of the state cos|00> + sin|11>, and what a batch of states answers."""
    np.testing.assert_allclose(names["values"][:, 0], np.sin(np.linspace(0, np.pi, 50)), atol=1e-12)
    assert {value for counts in names["counts"] for value in counts} == {0, 3}
    np.testing.assert_allclose(names["energies"], np.full(1000, 1.5), atol=1e-12)
    assert names["shots"].shape == (1000, 20, 2)
    assert np.array_equal(names["left"].argmax(axis=1), names["found"])


def means_of_noise(names: dict[str, Any]) -> None:
    """Check the mean over trajectories against the density matrix, by the definition of the channels."""
    ones = reference.density_matrix(names["circuit"]).diagonal().real.reshape(2, 2).sum(axis=1)  # of wire 1
    assert abs(names["value"] - (ones[0] - ones[1])) < 4 * names["error"]
    assert sum(names["shots"].counts().values()) == 1000


def values_of_primitives(names: dict[str, Any]) -> None:
    """Check the shape of exact values, and the mean with noise: depolarizing noise leaves 0.98 of ZZ."""
    assert names["values"].shape == (2, 100)
    assert abs(names["data"].evs - 0.98) <= 5 * names["data"].stds < 0.1


VALUES = {
    "how-to/noise.md": means_of_noise,
    "how-to/primitives.md": values_of_primitives,
    "how-to/sweeps.md": sums_of_a_sweep,
}
"""What the examples of a page have to find, where it is known; most pages assert it themselves."""


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_the_snippets_of_a_page_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks of a page run one after the other, as a reader would paste them."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks(page):
        if block.language == "python":
            _ = run(block, page, names) if runs_here(block) else compiled(block, page)
    if check := VALUES.get(name(page)):
        check(names)


def test_the_commands_of_the_command_line_page_run(tmp_path: Path) -> None:
    """The commands of the page about the command line run in a shell."""
    page = ROOT / "docs" / "reference" / "command-line.md"
    texts = [block.text for block in blocks(page) if block.tags == ("run",)]
    assert texts
    command = f'qsim-ex() {{ "{sys.executable}" -m qsim_ex "$@"; }}\n' + "".join(texts)
    paths = os.pathsep.join([str(ROOT / "core"), str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": paths, "QSIM_EX_FRONTENDS": FRONTENDS, "COLUMNS": "100"}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert set(re.findall(r"^  (\d\d) +\d+ ", done.stdout, re.MULTILINE)) == {"00", "11"}
    assert "sweep" in done.stdout


def test_the_page_of_errors_shows_every_message() -> None:
    """Each example of an error on the page about errors ends with the message that it gets."""
    page = ROOT / "docs" / "reference" / "errors.md"
    examples = [(block, tag) for block in blocks(page) for tag in block.tags if hasattr(errors, tag)]
    assert len(examples) >= 15
    assert [tag for block, tag in examples if not message(block, tag)] == []


def test_every_tag_is_known() -> None:
    """A tag is a name that the tests know or an error, so that a misspelt one does not hide a block."""
    for page in PAGES:
        for block in blocks(page):
            for tag in block.tags:
                assert tag in ("gpu", "no-gpu", "skip", "run") or hasattr(errors, tag), f"{name(page)}: {tag}"


def test_the_site_shows_blocks_without_tags() -> None:
    """No block keeps a tag, which the site would take for text, and the code stays as it is."""
    for page in PAGES:
        shown = without_tags(page.read_text(encoding="utf-8"))
        assert re.findall(r"^ *```\w+ .*$", shown, re.MULTILINE) == []
    assert without_tags("```python no-gpu OptionError\nx ```a b\n```\n") == "```python\nx ```a b\n```\n"


def test_every_error_is_described() -> None:
    """The page about errors has a section for every error that qsim-ex raises."""
    text = (ROOT / "docs" / "reference" / "errors.md").read_text(encoding="utf-8")
    kinds = {
        one.__name__ for one in vars(errors).values() if isinstance(one, type) and issubclass(one, errors.QsimExError)
    } - {"QsimExError", "InvalidInput"}
    assert {kind for kind in kinds if f"### {kind}\n" not in text} == set()
