"""The tables of the pages are complete, and every page asks for tables that there are."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields
from pathlib import Path

import pytest

import qsim_ex
import qsim_ex_cirq
import qsim_ex_provider
from qsim_ex.circuit.gates import GATES
from qsim_ex.circuit.noise import channels, leakage, lindblad
from qsim_ex.options import Options
from qsim_ex_provider.foreign_options import NAMES
from qsim_ex_provider.options import KNOWN
from tools.pages.class_options import CLASSES
from tools.pages.entries import as_markdown
from tools.pages.tables import TABLES

DOCS = Path(__file__).parents[2] / "docs"
MARK = re.compile(r"<!-- table: (\w+) -->")


def cells(name: str) -> list[list[str]]:
    """Return the cells of a table, line by line, without its head."""
    return [re.split(r" (?<!\\)\| ", line.strip("| ")) for line in TABLES[name]().splitlines()[2:]]


def test_every_table_has_a_page_and_every_page_its_tables() -> None:
    """The names that pages ask for are the names of the tables."""
    asked = {name for page in DOCS.rglob("*.md") for name in MARK.findall(page.read_text(encoding="utf-8"))}
    assert asked == set(TABLES)


@pytest.mark.parametrize("name", ["options", "run_options", "result", "batch_result", "provenance", "plan_summary"])
def test_every_field_is_explained(name: str) -> None:
    """No option and no field stands without a meaning."""
    for line in cells(name):
        assert all(cell.strip() for cell in line), line


@pytest.mark.parametrize(
    "described",
    [
        qsim_ex.Simulator,
        qsim_ex_provider.QsimExBackend,
        qsim_ex_provider.SamplerV2,
        qsim_ex_provider.EstimatorV2,
        qsim_ex_cirq.QsimExSimulator,
    ],
    ids=lambda described: described.__name__,
)
def test_a_class_has_a_table_of_its_options(described: type) -> None:
    """Every option of its signature has a line with a type, a default and a meaning; the device comes at the top."""
    lines = [re.split(r" (?<!\\)\| ", line.strip("| ")) for line in CLASSES[described.__name__]().splitlines()[2:]]
    found = [line[0].strip("`") for line in lines]
    given = [key for key, one in inspect.signature(described).parameters.items() if one.kind is one.KEYWORD_ONLY]
    assert set(found) >= {*given} - {"mode", "backend", "options"}
    assert "device" in found[:2]
    assert all(cell.strip(" `") for line in lines for cell in line)


def test_the_options_are_all_there() -> None:
    """Each option of the engine and of the backend has its line."""
    assert [line[0].strip("`") for line in cells("options")] == [field.name for field in fields(Options)]
    both = {line[0].strip("`") for name in ("options", "run_options") for line in cells(name)}
    assert both - {"seed"} == set(KNOWN)


def test_every_option_of_other_backends_is_there() -> None:
    """Each option that is understood stands on the page about them."""
    text = "".join(TABLES[name]() for name in ("foreign_options", "tuning", "of_other_methods", "of_devices"))
    assert set(re.findall(r"`(\w+)`", text)) >= set(NAMES)


def test_every_gate_is_there() -> None:
    """Each row of the gate table has its line."""
    assert [line[0].strip("`") for line in cells("gates")] == list(GATES)


def test_every_public_channel_is_there() -> None:
    """Each channel that `qsim_ex` offers has its line."""
    public = {
        name
        for module in (channels, leakage, lindblad)
        for name, thing in vars(module).items()
        if name in qsim_ex.__all__ and inspect.isfunction(thing) and thing.__module__ == module.__name__
    }
    assert {line[0].strip("`").split("(")[0] for line in cells("channels")} == public


def test_entries_of_a_docstring_become_a_list() -> None:
    """Entries ``name: meaning`` become items, their further lines stay with them, and other text stays as it is."""
    text = """Return a thing.

    one: the first,
        in two lines. two, three: others.
    four: the last.
    Raises `ValueError`.
    """
    lines = as_markdown(text).splitlines()
    assert lines[0] == "Return a thing."
    assert "- **one**: the first, in two lines." in lines
    assert "- **two, three**: others." in lines
    assert "- **four**: the last." in lines
    assert lines[-2:] == ["", "Raises `ValueError`."]
