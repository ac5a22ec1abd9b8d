"""The kind of 22 to 26 wires: on a GPU if there is one, in placements and over ranks, beside Aer."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
from qiskit.circuit import QuantumCircuit

from tools.fuzz.aer_kinds import circuit_of, drawn_program, saved_states, wrong
from tools.fuzz.aer_oracle import states
from tools.fuzz.case import Case
from tools.fuzz.engine_ranks import on_ranks
from tools.fuzz.kinds import Kind
from tools.fuzz.numbers import Matrix
from tools.fuzz.options import devices, placed

SIZES = (*(22,) * 12, *(23,) * 6, *(24,) * 4, 25, 26)
"""Wires of a circuit; Aer has one thread, for which each more doubles the time."""

_LOCAL = 17
"""The fewest wires of a sub state vector."""


def draw_state(random: Random) -> Case:
    """A circuit with numbers in it, on a GPU if there is one, in one piece, in several, or over ranks."""
    wires, lines = drawn_program(random, SIZES)
    options: dict[str, Any] = {"device": devices()[-1]}
    if random.random() < 0.5:
        options["precision"] = "single"
    if options["device"] == "gpu":
        options["compile"] = random.choice(["never", "auto", "always"])
    ranks = 1
    if (way := random.random()) < 0.3:
        options |= placed(random, wires, _LOCAL)
    elif way < 0.5:
        ranks = random.choice([2, 2, 4])
        options["processes"] = ranks
    return Case("large-state", wires, 0, lines, options, {"ranks": ranks})


def check_state(case: Case) -> str | None:
    """All amplitudes of a circuit of 22 to 26 wires are Aer's, on every rank."""
    circuit = circuit_of(case)
    if case.ask["ranks"] == 1:
        found = saved_states(case, [circuit])
    else:
        found = on_ranks(case.ask["ranks"], lambda: _saved_on_a_rank(case, circuit))
    expected = states([circuit])[0]
    return next((trouble for own in found if (trouble := wrong(case, circuit, own, expected))), None)


def _saved_on_a_rank(case: Case, circuit: QuantumCircuit) -> Matrix:
    """The state that the engine saves; jobs of the backend have threads of their own, which are no ranks."""
    from qsim_ex import Options, Simulator
    from qsim_ex_provider import save_statevector
    from qsim_ex_provider.translation.circuits import translate

    result = Simulator(Options(**case.options)).run(translate(save_statevector(circuit.copy())), shots=None)
    return np.asarray(result.saved["statevector"])


KINDS = [Kind("large-state", draw_state, check_state, as_it_is=True)]
