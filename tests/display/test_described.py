"""Classes that take options as keywords list each of them in their help and their signature."""

from __future__ import annotations

import inspect
import pydoc
from dataclasses import fields
from typing import Any, get_type_hints

import pytest

from qsim_ex import BatchedStateVector, Options, Simulator, StateVector
from qsim_ex.display.described import meanings, shown, with_options
from qsim_ex.options import EngineKeywords, OptionKeywords
from qsim_ex_cirq import QsimExSimulator
from qsim_ex_provider import EstimatorV2, QsimExBackend, QsimExProvider, SamplerV2
from qsim_ex_provider.keywords import RunKeywords
from qsim_ex_provider.options import KNOWN, RunOptions

ENGINE = {one.name for one in fields(Options)}
RUN = {*KNOWN}
UNKEPT = ENGINE - {"checkpoint", "checkpoint_every"}
OPTIONS: dict[type, set[str]] = {
    Simulator: ENGINE,
    StateVector: UNKEPT,
    BatchedStateVector: UNKEPT,
    SamplerV2: ENGINE,
    EstimatorV2: ENGINE,
    QsimExBackend: RUN,
    QsimExProvider: RUN,
    QsimExSimulator: ENGINE - {"precision"},
}


@pytest.mark.parametrize("owner", OPTIONS, ids=lambda owner: owner.__name__)
def test_the_signature_lists_every_option(owner: type) -> None:
    """Each option is a keyword with its default and its type, and nothing is hidden in ``**options``."""
    parameters = inspect.signature(owner).parameters
    assert {*parameters} >= OPTIONS[owner]
    assert not any(one.kind is one.VAR_KEYWORD for one in parameters.values())
    usual = {one.name: one.default for one in (*fields(Options), *fields(RunOptions))}
    assert all(parameters[name].default == usual[name] for name in OPTIONS[owner])
    assert all(parameters[name].annotation is not Any for name in OPTIONS[owner] & ENGINE)


@pytest.mark.parametrize("owner", OPTIONS, ids=lambda owner: owner.__name__)
def test_help_tells_what_every_option_means(owner: type) -> None:
    """``help`` shows each option with its default, and its meaning below it."""
    told = pydoc.render_doc(owner, renderer=pydoc.plaintext)
    own = inspect.signature(owner.__init__).parameters
    for name in OPTIONS[owner] - {*own}:
        line = next(line for line in told.splitlines() if line.startswith(f" |      {name}: "))
        assert " = " in line
    assert meanings(Options)["device"].splitlines()[0] in told


@pytest.mark.parametrize(
    ("table", "known"), [(Options, {*()}), (RunOptions, {"engine"})], ids=["Options", "RunOptions"]
)
def test_every_option_has_a_meaning(table: type, known: set[str]) -> None:
    """The docstring of a table has an entry for each field that a user gives and no other table describes."""
    assert {one.name for one in fields(table) if one.init} - known <= {*meanings(table)}


def test_keywords_are_the_fields() -> None:
    """Type checkers see the same options, of the same types, as the table has."""
    assert get_type_hints(OptionKeywords) == get_type_hints(Options)
    assert {*get_type_hints(EngineKeywords)} == ENGINE - {"precision", "seed"}
    assert {*get_type_hints(RunKeywords)} == RUN


def test_a_subclass_has_the_signature_of_its_own_constructor() -> None:
    """A subclass with arguments of its own shows them; one without shows the options."""

    class Other(Simulator):
        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

    class Same(Simulator):
        pass

    assert [*inspect.signature(Other).parameters] == ["name"]
    assert inspect.signature(Same) == inspect.signature(Simulator)


def test_a_class_without_docstring_is_left_without() -> None:
    """``python -OO`` drops docstrings, and nothing fails."""

    class Bare:
        def __init__(self, **options: Any) -> None:
            pass

    assert with_options(Options)(Bare).__doc__ is None
    assert {*inspect.signature(Bare).parameters} == ENGINE


def test_large_values_are_shown_by_their_class() -> None:
    """A representation has one line, whatever is in an object."""
    assert shown("Thing", "a", size=(list(range(99)), None), usual=(1, 1)) == "Thing('a', size=<list>)"
