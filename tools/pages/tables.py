"""Tables of the pages, made from the tables of the source: options, gates, channels, saved values, errors."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from functools import cached_property
from typing import Any

from qsim_ex import errors
from qsim_ex.circuit.cirq_gates import Attributes, CirqGates, OnePower, OneShift, Powers
from qsim_ex.circuit.gate import Gate
from qsim_ex.circuit.gates import GATES
from qsim_ex.circuit.saves import SAVE_KINDS
from qsim_ex.display.described import meanings, rows
from qsim_ex.options import OptionKeywords, Options, Progress
from qsim_ex.options.methods import METHODS
from qsim_ex.planning.cost.summary import PlanSummary
from qsim_ex.result import BatchResult, Provenance, Result
from tools.pages.examples import examples
from tools.pages.markdown import default_of, sentence, table, type_of


def options() -> str:
    """Return every option of the engine: `qsim_ex.Options`."""
    found = rows(Options, OptionKeywords).values()
    lines = ((f"`{row.name}`", type_of(row.type), default_of(row.default), sentence(row.meaning)) for row in found)
    return table(("option", "values", "default", "meaning"), lines)


def methods() -> str:
    """Return the methods of runs, by `qsim_ex.options.methods`."""
    lines = ((f"`{row.name}`", ", ".join(f'`"{one}"`' for one in row.under), row.suits) for row in METHODS)
    return table(("how it is run", "`method`", "what it is for"), lines)


def run_options() -> str:
    """Return the options that only the Qiskit backend has."""
    from qsim_ex_provider.keywords import RunKeywords
    from qsim_ex_provider.options import RunOptions

    others = {"engine", *(field.name for field in fields(Options))}
    found = [row for row in rows(RunOptions, RunKeywords).values() if row.name not in others]
    lines = ((f"`{row.name}`", type_of(row.type), default_of(row.default), sentence(row.meaning)) for row in found)
    return table(("option", "values", "default", "meaning"), lines)


def foreign_options() -> str:
    """Return what becomes of the options of other backends, by the table that `run` uses."""
    from qsim_ex_provider.foreign_options import ACCEPTED, OF_DEVICES, OF_OTHER_METHODS, RENAMED, TUNING

    lines = [(f"`{name}`", f"renamed to `{there.name}`") for name, there in sorted(RENAMED.items())]
    for name, option in ACCEPTED.items():
        if name in (*OF_DEVICES, *OF_OTHER_METHODS, *TUNING):
            continue
        if option.values is None:
            lines.append((f"`{name}`", "no effect"))
            continue
        taken = ", ".join(f"`{value!r}`" for value in option.values if value is not None)
        lines.append(
            (
                f"`{name}`",
                (f"{taken}: no effect. Other values are errors" if taken else "An error") + f": {option.instead}",
            )
        )
    return table(("option elsewhere", "here"), lines)


def names(which: str) -> Callable[[], str]:
    """Return a table's text for a tuple of names in `foreign_options`: the names, one after the other."""

    def listed() -> str:
        from qsim_ex_provider import foreign_options as foreign

        return ", ".join(f"`{name}`" for name in getattr(foreign, which)) + "."

    return listed


def gates() -> str:
    """Return the gate table: one line for each row of `qsim_ex.circuit.gates`."""
    return table(
        ("gate", "wires", "parameters", "controls", "mixes", "Qiskit", "Cirq", "as a product"),
        (_gate(gate) for gate in GATES.values()),
    )


def _gate(gate: Gate) -> tuple[str, ...]:
    mixed = ", ".join(map(str, gate.mixes)) or "nothing"
    controls = f"{gate.controls} on `{gate.of}`" if gate.of else ""
    return (
        f"`{gate.name}`",
        str(gate.qubits),
        ", ".join(f"`{name}`" for name in gate.parameters),
        controls,
        mixed,
        f"`{gate.qiskit}`" if gate.qiskit else "",
        ", ".join(_cirq(one) for one in gate.cirq),
        _factors(gate),
    )


def _cirq(one: CirqGates) -> str:
    match one:
        case Powers(kind=kind):
            return f"`{kind}`, any power"
        case OnePower(kind=kind, exponent=exponent):
            return f"`{kind}`" if exponent == 1 else f"`{kind}` with exponent {exponent:g}"
        case OneShift(kind=kind, shift=shift):
            return f"`{kind}` with shift {shift:g}"
        case Attributes(kind=kind):
            return f"`{kind}`"


def _factors(gate: Gate) -> str:
    """Return the gates of which a row is a product, in the order in which they act."""
    if gate.factors is None:
        return ""
    parameters = [0.5] * len(gate.parameters)
    return ", ".join(f"`{factor.name}`" for factor in gate.factors(*parameters))


def channels() -> str:
    """Return the standard channels with their arguments and the first sentence of each."""
    import qsim_ex

    found = ("mixed_unitary", "pauli_channel", "bit_flip", "phase_flip", "depolarizing", "uniform_pauli")
    found += ("phase_damping", "amplitude_damping", "thermal_relaxation", "reset_channel", "pauli_lindblad")
    found += ("leakage", "heralded_loss")
    lines = []
    for name in found:
        function = getattr(qsim_ex, name)
        arguments = ", ".join(inspect.signature(function).parameters)
        lines.append((f"`{name}({arguments})`", _first(function).removeprefix("Return ")))
    return table(("channel", "what it is"), ((name, sentence(text)) for name, text in lines))


def _first(thing: Any) -> str:
    """Return the first line of a docstring."""
    return inspect.cleandoc(thing.__doc__ or "").splitlines()[0]


def fields_of(*kinds: type) -> Callable[[], str]:
    """Return a table's text for the fields and properties of some classes, from their docstrings."""
    return lambda: table(("field", "what it is"), (line for kind in kinds for line in _fields(kind)))


def _fields(kind: type) -> Iterable[tuple[str, str]]:
    told = _meanings(kind)
    own = {field.name: told.get(field.name, "") for field in fields(kind)}
    asked = {
        name: _first(thing)
        for one in reversed(kind.__mro__)
        for name, thing in vars(one).items()
        if not name.startswith("_") and getattr(thing, "__doc__", None) and _is_question(thing)
    }
    for name, text in {**own, **asked}.items():
        called = callable(getattr(kind, name, None))
        yield f"`{name}{'()' if called else ''}`", sentence(text.removeprefix("Return "))


def _is_question(thing: Any) -> bool:
    if inspect.isfunction(thing):
        return _first(thing).startswith("Return ")
    return isinstance(thing, property | cached_property)


def _meanings(kind: type) -> dict[str, str]:
    """Return the meaning of each field, where the docstring says it as ``name: meaning``, in a line or within one."""
    text = " ".join(inspect.cleandoc(kind.__doc__ or "").split())
    found = meanings(kind)
    names = [field.name for field in fields(kind)]
    one = rf"(?:{'|'.join(names)})"
    entry = rf"{one}(?:, {one})*: "
    for match in re.finditer(rf"(?:^|(?<=\. ))({entry})(.*?)(?=(?<=\. ){entry}|$)", text):
        found.update(dict.fromkeys(match[1].removesuffix(": ").split(", "), match[2].strip()))
    return found


def saves() -> str:
    """Return what a circuit can save, by `qsim_ex.circuit.saves`."""
    return table(
        ("saved value", "default `how`", "in Qiskit", "by `method`"),
        (
            (f'`"{name}"`', f'`"{kind.hows[0]}"`', _functions(name), f'`"{kind.method}"`' if kind.method else "")
            for name, kind in SAVE_KINDS.items()
        ),
    )


def _functions(what: str) -> str:
    """Return the functions of `qsim_ex_provider` that save a kind of value."""
    from qsim_ex_provider.saves.kinds import FUNCTIONS, SAVES

    return ", ".join(f"`{function}`" for function, name in FUNCTIONS.items() if SAVES[name].what == what)


def save_functions() -> str:
    """Return the functions of `qsim_ex_provider` that save values, with their arguments."""
    import qsim_ex_provider
    from qsim_ex_provider.saves.kinds import FUNCTIONS

    made = [(name, getattr(qsim_ex_provider, name)) for name in FUNCTIONS]
    return table(
        ("function", "what it does"),
        ((f"`{name}({', '.join(inspect.signature(one).parameters)})`", sentence(_first(one))) for name, one in made),
    )


def error_tree() -> str:
    """Return the tree of errors as it is drawn at the head of `qsim_ex.errors`."""
    tree = inspect.cleandoc(errors.__doc__ or "").split("::", 1)[1]
    return "```\n" + inspect.cleandoc(tree) + "\n```"


TABLES: Mapping[str, Callable[[], str]] = {
    "options": options,
    "methods": methods,
    "run_options": run_options,
    "foreign_options": foreign_options,
    "tuning": names("TUNING"),
    "of_other_methods": names("OF_OTHER_METHODS"),
    "of_devices": names("OF_DEVICES"),
    "gates": gates,
    "channels": channels,
    "result": fields_of(Result),
    "batch_result": fields_of(BatchResult),
    "provenance": fields_of(Provenance),
    "plan_summary": fields_of(PlanSummary),
    "progress": fields_of(Progress),
    "saves": saves,
    "save_functions": save_functions,
    "error_tree": error_tree,
    "examples": examples,
}
"""The tables that a page can ask for, by name."""
