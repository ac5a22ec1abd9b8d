"""Every parameter of `QsimExSimulator`, and what was decided about it.

All methods work on one circuit: X is to the power of a parameter on one qubit, and nothing happens to the other. So
everything is decided by the bits of two qubits, from which `_expected` tells what each kind of method gives.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import Any

import cirq
import numpy as np
import pytest
import sympy
from contract.decided import Call, Decision, Method, gives, refuses, seeded
from contract.entries import cirq_numbers

from qsim_ex import Cluster
from qsim_ex.errors import MeasurementError, ParameterError
from qsim_ex_cirq import QsimExSimulator

A, B = cirq.LineQubit.range(2)
POWER = cirq.X(A) ** sympy.Symbol("power")
SILENT = cirq.Circuit(POWER, cirq.I(B))
"""Nothing is measured."""
OTHER = cirq.Circuit(cirq.I(A), cirq.X(B) ** sympy.Symbol("power"))
"""The other qubit is flipped."""
TOSSED = cirq.Circuit(cirq.H(A), cirq.H(B))
OFF, ON = {"power": 0}, {"power": 1}
SWAPPED = [B, A]


def measured(circuit: cirq.Circuit) -> cirq.Circuit:
    """Both qubits are measured at the end."""
    return circuit + cirq.measure(A, B, key="m")


def _called(method: str, how: Mapping[str, Any] | None = None) -> Call:
    def call(**given: Any) -> Any:
        found = getattr(QsimExSimulator(device="cpu", **(how or {})), method)(**given)
        return cirq_numbers(method)(asyncio.run(found) if method.endswith("_async") else found)

    return call


def _made(method: str, **given: Any) -> Call:
    """A method of a simulator that is made with some parameters."""
    return lambda **how: np.asarray(_called(method, how)(**given))


def _size(**how: Any) -> int:
    found: int = QsimExSimulator(device="cpu", **how).simulate(SILENT, ON).final_state_vector.nbytes
    return found


# --- what each kind of method gives, of the bits of A and B ----------------------------------------------------------


def _state(value: int) -> list[float]:
    """Amplitudes of a basis state of two qubits, the first one most significant."""
    return [float(k == value) for k in range(4)]


def _sampling(point: str, swept: bool) -> dict[str, Decision]:
    on = [ON] if swept else ON
    return {
        "program": gives(measured(OTHER), [0, 1], **{point: on}),
        point: gives(on, [1, 0]),
        "repetitions": gives(3, [1, 0] * 3, **{point: on}),
    }


_PROGRAMS: dict[str, Decision] = {
    "programs": gives([measured(OTHER)], [0, 1], params_list=[ON]),
    "params_list": gives([[ON, OFF]], [1, 0, 0, 0]),
    "repetitions": gives([3], [0, 0] * 3),
}


def _values(point: str, swept: bool, wrap: Any) -> dict[str, Decision]:
    """<Z> of A; the state begins in |10>, so A is at 1 unless it is flipped."""
    on = [ON] if swept else ON
    return {
        "program": gives(OTHER, wrap(-1), **{point: on}),
        "observables": gives([cirq.Z(B), cirq.Z(A) * cirq.Z(B)], wrap(1, -1)),
        point: gives(on, wrap(1)),
        "qubit_order": gives(SWAPPED, wrap(1)),
        "initial_state": gives(0, wrap(1)),
        "permit_terminal_measurements": _permits,
    }


def _permits(method: Method, name: str) -> None:
    """Measurements at the end are refused unless they are permitted."""
    ends = {**method.usual, "program": measured(SILENT)}
    with pytest.raises((MeasurementError, ValueError), match="measurement"):
        method.call(**ends)
    assert np.array_equal(method.call(**ends, **{name: True}), method.call(**method.usual))


def _averages(_: Method, name: str) -> None:
    """The mean of this many samples of ±1 is a multiple of two over their number."""
    for count in (3, 7):
        mean = _called("sample_expectation_values")(program=TOSSED, observables=cirq.Z(A), **{name: count})
        assert (count * mean[0]) % 2 == pytest.approx(count % 2)


def _flat(*values: float) -> list[float]:
    return list(values)


def _estimates(*values: float) -> list[float]:
    """Values, and errors of 0."""
    return [*values, *(0.0 for _ in values)]


def _states(point: str, swept: bool) -> dict[str, Decision]:
    on = [ON] if swept else ON
    return {
        "program": gives(OTHER, _state(1), **{point: on}),
        point: gives(on, _state(2)),
        "qubit_order": gives(SWAPPED, _state(1), **{point: on}),
        "initial_state": gives(1, _state(3), **{point: on}),
    }


def _amplitudes(point: str, swept: bool) -> dict[str, Decision]:
    on = [ON] if swept else ON
    return {
        "program": gives(OTHER, [0, 1, 0], **{point: on}),
        "bitstrings": gives([3, 2], [0, 1], **{point: on}),
        point: gives(on, [0, 0, 1]),
        "qubit_order": gives(SWAPPED, [0, 1, 0], **{point: on}),
    }


def _explained(**given: Any) -> list[int]:
    """The qubits and the steps of the plan that is explained."""
    told = QsimExSimulator(device="cpu").explain(**given)
    return [int(re.search(r"(?:on|of) (\d+) wires?", told)[1]), int("sweep   tile" in told)]


ONE, MANY = {"param_resolver": OFF}, {"params": [OFF]}
_RUN = {"program": measured(SILENT), "repetitions": 1}
_SILENT = {"program": SILENT}
_ASKED = {**_SILENT, "bitstrings": [0, 1, 2]}
_VALUED = {**_SILENT, "observables": cirq.Z(A), "initial_state": 2}


_OF: dict[str, tuple[Mapping[str, Any], Mapping[str, Decision]]] = {
    **{name: ({**_RUN, **ONE}, _sampling("param_resolver", False)) for name in ("run", "run_async")},
    **{
        name: ({**_RUN, **MANY}, _sampling("params", True))
        for name in ("run_sweep", "run_sweep_async", "run_sweep_iter")
    },
    **{
        name: ({"programs": [measured(SILENT)], "params_list": [OFF], "repetitions": 1}, _PROGRAMS)
        for name in ("run_batch", "run_batch_async")
    },
    "sample": (
        {**_RUN, **MANY},
        {
            "program": gives(measured(OTHER), [[1, 1]], params=[ON]),  # the value of the symbol, and both bits as one
            "params": gives([ON], [[1, 2]]),
            "repetitions": gives(3, [[0, 0]] * 3),
        },
    ),
    "sample_expectation_values": (
        {**_SILENT, **MANY, "observables": cirq.Z(A), "num_samples": 10},
        {
            "program": gives(OTHER, [1, -1], params=[ON], observables=[cirq.Z(A), cirq.Z(B)]),
            "observables": gives([cirq.Z(B), cirq.Z(A)], [1, -1], params=[ON]),
            "params": gives([ON], [-1]),
            "num_samples": _averages,
            "permit_terminal_measurements": _permits,
        },
    ),
    "sample_from_amplitudes": (
        {"circuit": SILENT, **ONE, "seed": 1, "repetitions": 1},
        {
            "circuit": gives(OTHER, [[1, 1]], param_resolver=ON),
            "param_resolver": gives(ON, [[2, 1]]),
            "seed": seeded(circuit=TOSSED, repetitions=100),
            "repetitions": gives(5, [[0, 5]]),
            "qubit_order": gives(SWAPPED, [[1, 1]], param_resolver=ON),
        },
    ),
    **{name: ({**_SILENT, **ONE}, _states("param_resolver", False)) for name in ("simulate", "simulate_into_1d_array")},
    **{name: ({**_SILENT, **MANY}, _states("params", True)) for name in ("simulate_sweep", "simulate_sweep_iter")},
    "simulate_moment_steps": (
        {"circuit": SILENT, **ONE},
        {"circuit" if name == "program" else name: one for name, one in _states("param_resolver", False).items()},
    ),
    "compute_amplitudes": ({**_ASKED, **ONE}, _amplitudes("param_resolver", False)),
    **{
        name: ({**_ASKED, **MANY}, _amplitudes("params", True))
        for name in ("compute_amplitudes_sweep", "compute_amplitudes_sweep_iter")
    },
    "simulate_expectation_values": ({**_VALUED, **ONE}, _values("param_resolver", False, _flat)),
    **{
        name: ({**_VALUED, **MANY}, _values("params", True, _flat))
        for name in ("simulate_expectation_values_sweep", "simulate_expectation_values_sweep_iter")
    },
    "simulate_expectation_estimates_sweep": ({**_VALUED, **MANY}, _values("params", True, _estimates)),
}

_MIDWAY = cirq.Circuit(cirq.ry(0.6)(A), cirq.measure(A, key="midway"), cirq.ry(0.9)(A))


def _halves_errors(_: Method, name: str) -> None:
    """Four times as many trajectories halve the standard error."""
    few, many = (
        _made("simulate_expectation_estimates_sweep", program=_MIDWAY, observables=cirq.Z(A))(seed=1, **{name: count})[
            1
        ]
        for count in (500, 2000)
    )
    assert 1.7 < few / many < 2.3


def _changes_nothing(_: Method, name: str) -> None:
    """It is there for the sake of Cirq's simulator, where it never changed a result."""
    found = [_made("simulate", program=SILENT, param_resolver=ON)(**{name: value}) for value in (True, False)]
    assert np.array_equal(*found)


def _differentiated(**given: Any) -> list[float]:
    """The values, and then the derivatives."""
    found = QsimExSimulator(device="cpu", dtype=np.complex128).simulate_expectation_values_and_gradients(**given)
    return [*found.values.ravel(), *found.gradients.ravel()]


CIRQ: Mapping[str, Method] = {
    "QsimExSimulator.explain": Method(
        _explained,
        {"program": SILENT, "param_resolver": ON},
        {
            "program": gives(cirq.Circuit(cirq.I(A)), [1, 0]),
            "param_resolver": refuses({}, ParameterError, "power"),
            "qubit_order": gives([A, B, *cirq.LineQubit.range(2, 4)], [4, 1]),
            "machine": gives(
                Cluster(), 1, lambda **given: int("H200" in QsimExSimulator(device="cpu").explain(**given))
            ),
        },
    ),
    "QsimExSimulator.simulate_expectation_values_and_gradients": Method(
        _differentiated,
        {"program": SILENT, "observables": cirq.Z(A), "params": [{"power": 0.5}]},
        {
            "program": gives(OTHER, [1, 0]),
            "observables": gives([cirq.Z(A), cirq.Z(B)], [0, 1, -np.pi, 0]),
            "params": gives([{"power": 0.25}], [np.sqrt(0.5), -np.pi * np.sqrt(0.5)]),
            "qubit_order": refuses([B], ValueError, "qubit"),
        },
    ),
    "QsimExSimulator.state": Method(
        lambda **given: np.abs(QsimExSimulator(device="cpu").state(**given).to_numpy()).round(3).tolist(),
        {"program": SILENT, "param_resolver": ON},
        {
            "program": gives(cirq.Circuit(cirq.X(A)), [0, 1]),
            "param_resolver": refuses({}, ParameterError, "power"),
            "qubit_order": gives([B, A], [0, 1, 0, 0]),
        },
    ),
    "QsimExSimulator": Method(
        _made("run", program=measured(SILENT), param_resolver=ON),
        {},
        {
            "dtype": gives(np.complex128, 4 * 16, _size),
            "noise": gives(cirq.ConstantQubitNoiseModel(cirq.X), [0, 1]),
            "seed": seeded(_made("run", program=measured(TOSSED), repetitions=40)),
            "split_untangled_states": _changes_nothing,
            "trajectories": _halves_errors,
        },
    ),
    **{f"QsimExSimulator.{name}": Method(_called(name), *given) for name, given in _OF.items()},
}
