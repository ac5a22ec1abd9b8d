"""The diagram of the layers is that of the import contracts, and only its place in the page is written."""

from __future__ import annotations

from typing import Any

import pytest

from tools.diagram import BEGIN, END, ENGINE_CONTRACT, FRAMEWORKS_CONTRACT, contract, diagram, layer, replaced


def _project(*rooms: str) -> dict[str, Any]:
    contracts = [
        {"name": ENGINE_CONTRACT, "layers": list(rooms)},
        {"name": FRAMEWORKS_CONTRACT, "layers": ["qiskit_side | cirq_side", "qsim_ex"]},
    ]
    return {"tool": {"importlinter": {"contracts": contracts}}}


def test_layers_stand_below_one_another_in_the_order_of_the_contract() -> None:
    """The frameworks stand on the engine, and the engine's layers follow in their order."""
    drawn = diagram(_project("(cli)", "(run)", "(devices) | (comm)", "(errors)"))
    assert drawn.splitlines() == [
        "qiskit_side │ cirq_side",
        "└─ qsim_ex",
        "   cli",
        "   run",
        "   devices │ comm",
        "   errors",
    ]


@pytest.mark.parametrize("text", ["(one) | two", "one|two", "one : (two)"])
def test_names_of_a_layer_stand_side_by_side(text: str) -> None:
    """Brackets and both of the contract's separators are read."""
    assert layer(text) == "one │ two"


def test_only_the_diagram_is_replaced() -> None:
    """What stands before and after the marks stays, and writing the same diagram again changes nothing."""
    page = f"# Before\n\n{BEGIN}\n\n```\nold\n```\n\n{END}\n\nAfter, {{braces}} and `\\1`.\n"
    written = replaced(page, "   new\\1")
    assert written == page.replace("old", "   new\\1")
    assert replaced(written, "   new\\1") == written


@pytest.mark.parametrize("page", ["nothing", BEGIN, END, f"{END}\n{BEGIN}", f"{BEGIN}\n{END}\n{BEGIN}\n{END}"])
def test_a_page_without_its_marks_is_refused(page: str) -> None:
    """A page on which the place of the diagram is missing or not clear is not written."""
    with pytest.raises(SystemExit, match="once each"):
        replaced(page, "new")


def test_a_contract_of_another_name_is_an_error() -> None:
    """A contract that was renamed is not taken for one without layers."""
    with pytest.raises(SystemExit, match="no import contract 'Other'"):
        contract(_project("(run)"), "Other")
