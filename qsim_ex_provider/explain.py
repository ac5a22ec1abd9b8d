"""The plans of a job in words, made without running it."""

from __future__ import annotations

from collections.abc import Sequence

from qiskit.circuit import QuantumCircuit

import qsim_ex
from qsim_ex import Simulator
from qsim_ex.frameworks import BindingGroup, Explanation, Noise, ParameterColumns
from qsim_ex.options import Options
from qsim_ex_provider.translation.circuits import translate_job


def explain_job(
    circuits: Sequence[QuantumCircuit],
    binds: Sequence[ParameterColumns],
    noise: Noise | None,
    options: Options,
    machine: qsim_ex.Cluster | None = None,
) -> Explanation:
    """Return the plan of each group of bindings that run together; of several groups each has a heading.

    machine: another machine to plan for.
    """
    translated, simulator = translate_job(circuits, binds, noise), Simulator(options)
    several = len(translated.owners) > 1
    return Explanation.joined(
        (
            _heading(named, group) if several else "",
            simulator.explain(group.template, machine),
        )
        for group, named in zip(translated.groups, translated.circuits, strict=True)
    )


def _heading(circuits: Sequence[tuple[int, str]], group: BindingGroup) -> str:
    names = ", ".join(f"{number} ({name!r})" for number, name in circuits)
    together = f", {len(group)} bindings that run together" if len(group) > 1 else ""
    return f"circuit{'s' * (len(circuits) > 1)} {names}{together}:"
