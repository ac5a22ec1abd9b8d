"""Every option on every way in is honoured, which is seen by an effect, or refused, in words that help.

Ways in and options are read from signatures, so this test names each new one until it is decided. What an option does
stands in `effects`, and it does so everywhere but where `REFUSED` or `PLANNED` names the pair.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import cirq
import pytest
from contract.effects import CPU, EFFECTS
from contract.entries import CIRQ_METHODS, ENTRIES, PLANS, Entry

from qsim_ex import Simulator
from qsim_ex.errors import NotSupported, OptionError, OutOfMemory, QsimExError
from qsim_ex_cirq import QsimExSimulator
from qsim_ex_provider import EstimatorV2, SamplerV2

ANYTHING: Mapping[str, Mapping[str, Any]] = {
    "virtual_peers": {"virtual_peers": 2},
    "device_wires": {"device_wires": 4},
    "window_slots": {"window_slots": 2},
    "in_flight_buffers": {"in_flight_buffers": 2},
    "host_memory": {"host_memory": "spread"},
    "max_host_memory": {"max_host_memory": 1 << 20},
    "network": {"network": "mesh"},
    "devices": {"devices": [0, 1]},
    "processes": {"processes": 2},
    "checkpoint": {"checkpoint": "run"},
    "checkpoint_every": {"checkpoint": "run", "checkpoint_every": 0.0},
    "noise": {"noise": cirq.depolarize(0.1)},
    "method": {"method": "density_matrix"},
}
"""How each option that is refused somewhere is given."""

_UNDIVIDED = (OptionError, "a batch of states is in one piece on one device")
_OWNED = (OptionError, "checkpoint")
_VECTOR = ("Simulator.state", "StateVector.apply", "BatchedStateVector.apply", "QsimExSimulator.state")
_AMPLITUDES = tuple(f"compute_amplitudes{of}" for of in ("", "_sweep", "_sweep_iter"))
_STATES = ("simulate", "simulate_sweep", "simulate_sweep_iter", "simulate_into_1d_array", *_AMPLITUDES)
REFUSED: Mapping[tuple[str, str], tuple[type[Exception], str]] = {
    **{
        (option, "BatchedStateVector.apply"): _UNDIVIDED
        for option in (
            "devices",
            "virtual_peers",
            "device_wires",
            "window_slots",
            "in_flight_buffers",
            "host_memory",
            "network",
            "processes",
            "max_host_memory",
        )
    },
    **{
        (option, name): _OWNED
        for option in ("checkpoint", "checkpoint_every")
        for name in ("StateVector.apply", "BatchedStateVector.apply")
    },
    **{
        (option, f"QsimExSimulator.{name}"): _OWNED
        for option in ("checkpoint", "checkpoint_every")
        for name in ("sample_from_amplitudes", "simulate_moment_steps")
    },
    ("noise", "QsimExSimulator.sample_from_amplitudes"): (NotSupported, "noise"),
    ("noise", "QsimExSimulator.state"): (NotSupported, "noise channel"),
    **{("method", name): (OptionError, "make a qsim_ex.DensityMatrix") for name in _VECTOR},
    **{
        ("method", f"QsimExSimulator.{name}"): (QsimExError, "method='density_matrix'")
        for name in (*_STATES, "simulate_moment_steps", "sample_from_amplitudes")
    },
}
"""Pairs of (option, way in) that are refused: with which error, and what it says."""

PLANNED: Mapping[str, tuple[Mapping[str, Any], Mapping[str, Any], str]] = {
    "device": ({"device": "cpu"}, {"device": "gpu", "device_wires": 4}, "explain"),
    "device_id": ({"device": "gpu", "device_wires": 4}, {"device_id": 3}, "explain"),
    "devices": ({}, {"devices": [0, 1]}, "explain plans summary"),
    "virtual_peers": (CPU, {"virtual_peers": 2}, "explain plans summary placement"),
    "device_wires": (CPU, {"device_wires": 4}, "explain plans summary placement"),
    "window_slots": ({**CPU, "device_wires": 4}, {"window_slots": 2}, "explain plans summary placement"),
    "in_flight_buffers": ({**CPU, "device_wires": 4}, {"in_flight_buffers": 1}, "explain summary placement"),
    "host_memory": ({**CPU, "device_wires": 4}, {"host_memory": "spread"}, "explain placement"),
    "network": ({**CPU, "virtual_peers": 4}, {"network": "mesh"}, "explain plans summary placement"),
    "method": (CPU, {"method": "density_matrix"}, "explain plans summary placement"),
    "processes": (CPU, {"processes": 2}, "explain plans summary"),
    "precision": (CPU, {"precision": "single"}, "explain summary placement"),
    "max_memory": (CPU, {"max_memory": 64}, "explain placement"),
    "max_host_memory": ({**CPU, "device_wires": 4}, {"max_host_memory": 900}, "explain placement"),
    "threads": (CPU, {"threads": 1}, "explain placement"),
}
"""Options that what is only planned depends on: options without it and with it, and the methods that tell of it.

All others are about a run (its kernels, its seed, what happens meanwhile), and the others of these methods tell nothing
that the option could change.
"""

PAIRS = [(option, entry) for entry in ENTRIES if entry.runs for option in entry.takes]

_ESTIMATES = tuple(entry.name for entry in CIRQ_METHODS if ".simulate_expectation_" in entry.name)
APART: Mapping[str, tuple[str, Callable[[str], bool]]] = {
    "split_untangled_states": ("taken for cirq.Simulator's sake, where it changes no result either", lambda _: True),
    "trajectories": (
        "how many an expectation value is the mean of; all other methods give none",
        lambda name: name.startswith("QsimExSimulator.") and name not in _ESTIMATES,
    ),
    "seed": (
        "the method has a seed of its own, which its caller must give",
        lambda name: name == "QsimExSimulator.sample_from_amplitudes",
    ),
}
"""Options of a simulator that some of its methods have no use for: why, and which these are."""


def try_all(names: Iterable[str], attempt: Callable[[str], None]) -> None:
    """Call a function with each name; what fails leaves no other untried, and is raised with the name in the end."""
    failed: list[BaseException] = []
    for name in names:
        try:
            attempt(name)
        except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 - all are raised below
            error.add_note(f"The case is {name!r}.")
            failed.append(error)
    if failed:
        raise BaseExceptionGroup(f"{len(failed)} cases fail", failed)


@pytest.mark.parametrize("entry", [entry for entry in ENTRIES if entry.runs], ids=str)
def test_every_option_is_honoured_or_refused(entry: Entry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each option of a way in has the effect that `effects` looks for, or the error that the table names."""

    def attempt(option: str) -> None:
        folder = tmp_path / option
        folder.mkdir()
        with monkeypatch.context() as patch:
            try_option(option, entry, folder, patch)

    try_all((option for option, tried_on in PAIRS if tried_on is entry), attempt)


def try_option(option: str, entry: Entry, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give an option to a way in; folder: is empty, and is so again where the option is refused."""
    pair = (option, entry.name)
    if option in APART and APART[option][1](entry.name):
        entry.call({**CPU, option: 1})
        return
    if pair in REFUSED:
        error, words = REFUSED[pair]
        monkeypatch.chdir(folder)
        with pytest.raises(error, match=words):
            entry.call({**({} if option == "devices" else CPU), **ANYTHING[option]})
        assert list(folder.iterdir()) == []
        return
    effect = EFFECTS[option]  # a KeyError here asks for a decision: what can be seen of this option?
    more = {"monkeypatch": monkeypatch} if "monkeypatch" in inspect.signature(effect).parameters else {}
    effect(entry, folder, **more)


@pytest.mark.parametrize("entry", PLANS, ids=str)
def test_what_is_planned_depends_on_options(entry: Entry) -> None:
    """A plan, its summary, its explanation and a placement change with the options that they are about."""

    def attempt(option: str) -> None:
        usual, changed, _ = PLANNED[option]
        assert _told(entry, usual) != _told(entry, {**usual, **changed})

    name = entry.name.removeprefix("Simulator.")
    try_all((option for option, (_, _, told) in PLANNED.items() if name in told.split()), attempt)


def test_cases_that_fail_are_all_named() -> None:
    """A case that fails keeps none from being tried, and each that fails is raised with its name."""
    tried: list[str] = []

    def attempt(name: str) -> None:
        tried.append(name)
        assert name == "b"

    with pytest.RaisesGroup(AssertionError, AssertionError) as raised:
        try_all("abc", attempt)
    assert tried == [*"abc"]
    assert [one.__notes__ for one in raised.value.exceptions] == [["The case is 'a'."], ["The case is 'c'."]]


def _told(entry: Entry, options: Mapping[str, Any]) -> bytes:
    try:
        return entry.call(options).found.tobytes()
    except OutOfMemory as error:  # as `placement` says that a state has no place
        return str(error).encode()


def _public(owner: Any) -> set[str]:
    return {name for name in dir(owner) if not name.startswith("_") and callable(getattr(owner, name))}


LEFT_OUT: Mapping[type, set[str]] = {
    Simulator: {"explain", "plans", "summary", "placement", "explain_gradient", "gradient", "vjp", "overlap"},
    QsimExSimulator: {"explain", "simulate_expectation_values_and_gradients"},
    SamplerV2: {"from_backend"},
    EstimatorV2: {"from_backend"},
}
"""Methods that run nothing, and gradients, which refuse most options (tests/run/gradients/test_gradient.py)."""


@pytest.mark.parametrize("owner", LEFT_OUT, ids=lambda owner: owner.__name__)
def test_every_method_is_a_way_in(owner: type) -> None:
    """Every method that runs circuits stands in the list of ways in, so that all options are tried on it."""
    known = {entry.name.removeprefix(f"{owner.__name__}.") for entry in ENTRIES if entry.runs}
    assert _public(owner) - LEFT_OUT[owner] <= known


def test_every_option_of_a_plan_is_decided() -> None:
    """An option that an engine's plan could depend on is in the table, or is known to be about runs.

    `separate` changes the plans of other circuits than this one, whose wires are all joined: see tests of `preview`.
    """
    about_runs = {"compile", "seed", "progress", "watch", "checkpoint", "checkpoint_every", "max_loop_rounds"}
    assert set(PLANS[0].takes) - about_runs - {"separate"} == set(PLANNED)


def test_no_decision_is_stale() -> None:
    """Pairs that are named in a table exist."""
    existing = {(option, entry.name) for option, entry in PAIRS}
    assert set(REFUSED) <= existing
    assert set(EFFECTS) | set(APART) >= {option for option, _ in PAIRS}


@pytest.mark.parametrize("entry", ENTRIES, ids=str)
def test_an_unknown_option_is_refused(entry: Entry) -> None:
    """An unknown option raises an error at every way in."""
    with pytest.raises((OptionError, AttributeError), match="presicion"):
        entry.call({"presicion": "single"})
