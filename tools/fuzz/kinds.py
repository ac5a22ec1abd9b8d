"""What a kind of case is, and all kinds that can be drawn with the packages that are installed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from random import Random

from tools.fuzz import thresholds
from tools.fuzz.case import Case
from tools.fuzz.options import MACHINES, rules_left_out


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of case: how one is drawn, and what is compared.

    check: says in words what differs, or None. weight: how often it is drawn. as_it_is: whether the engine's own
    numbers hold for it, where other kinds have small CPUs and other thresholds here and there.
    """

    name: str
    draw: Callable[[Random], Case]
    check: Callable[[Case], str | None]
    weight: float = 1.0
    as_it_is: bool = False


ENGINE = (
    "states",
    "batched",
    "runs",
    "bindings",
    "machines",
    "checkpoints",
    "wide",
    "saves",
    "density",
    "loops",
    "ranks",
    "linear",
    "words",
    "stabilizer",
    "forms",
    "copies",
    "gradients",
    "noisy_gradients",
)
"""Modules with the engine's own kinds."""

BESIDE_AER = ("aer", "large")
"""Beginnings of the names of kinds that are compared with Aer."""

FRAMEWORKS = {
    "qiskit": ("qiskit_kinds", "qiskit_loops", "qiskit_bases"),
    "cirq": ("cirq_kinds", "cirq_loops", "cirq_qudit_kinds"),
}
"""Modules with the kinds of each framework, which take seconds to load."""


@lru_cache(maxsize=64)
def kinds(only: tuple[str, ...] = ()) -> dict[str, Kind]:
    """The kinds whose packages are installed, by name: all, or those whose name begins as one of `only` does."""
    found: list[Kind] = []
    for name in ENGINE:
        found += import_module(f"tools.fuzz.engine_{name}").KINDS
    for framework, modules in FRAMEWORKS.items():
        named = not only or any(framework.startswith(name) or name.startswith(framework) for name in only)
        if named and installed(framework):
            for name in modules:
                found += import_module(f"tools.fuzz.{name}").KINDS
    for name in BESIDE_AER:  # which are large: only if asked for
        if any(asked.startswith(name) for asked in only) and not missing(only):
            found += import_module(f"tools.fuzz.{name}_kinds").KINDS
    return {kind.name: kind for kind in found if not only or kind.name.startswith(only)}


def missing(only: tuple[str, ...]) -> str:
    """The package to install for kinds that are asked for and compare with Aer; "" if all are here."""
    beside = any(name.startswith(BESIDE_AER) for name in only)
    needs = {"qiskit": "qiskit", "qiskit_aer": "qiskit-aer"} if beside else {}
    return " ".join(name for package, name in needs.items() if not installed(package))


def installed(package: str) -> bool:
    """Whether a package can be imported."""
    return find_spec(package) is not None


def drawn(seed: int, only: tuple[str, ...] = ()) -> Case:
    """The case of a seed among some kinds, or all; a name chooses every kind that begins with it."""
    random = Random(seed)
    every = list(kinds(only).values())
    kind = random.choices(every, [kind.weight for kind in every])[0]
    case = kind.draw(random)
    if kind.as_it_is:
        return case
    small = random.randint(1, len(MACHINES)) if random.random() < 0.25 else 0
    others = thresholds.drawn(random) | case.ask.get("thresholds", {})
    without = rules_left_out(random)
    return replace(case, ask={**case.ask, "machine": small, "thresholds": others, "without": without})
