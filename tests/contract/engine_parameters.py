"""Every parameter of `Simulator`, and what was decided about it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from contract.decided import (
    ANGLES,
    OTHERS,
    Call,
    Decision,
    Method,
    cancels,
    gives,
    product,
    seeded,
)

from qsim_ex import (
    Circuit,
    CircuitBuilder,
    Cluster,
    Options,
    ParameterSweepBuilder,
    PauliString,
    PauliSum,
    Simulator,
    bit_flip,
)
from qsim_ex.circuit.noise.readout import ReadoutError
from qsim_ex.circuit.parameters.sweep import ParameterSweep

FLIP = np.array([[0.0, 1.0], [1.0, 0.0]])
Z = tuple(PauliSum((PauliString.parse("Z", [wire]),)) for wire in range(3))
X = PauliSum((PauliString.parse("X", [0]),))


def turned(*angles: float, measured: bool = False) -> Circuit:
    """Each wire turned by its angle."""
    builder = CircuitBuilder(len(angles), len(angles) if measured else 0)
    for wire, angle in enumerate(angles):
        builder.gate("ry", [wire], angle)
    return (builder.measure(range(len(angles)), range(len(angles))) if measured else builder).build()


def heard() -> Circuit:
    """Bit 0 is read of a wire at 0; where it is read as 1, another wire is flipped, and bit 1 is read of that."""
    builder = CircuitBuilder(3, 3).measure([0], [0])
    with builder.condition([0], [1]):
        builder.gate("x", [1])
    return builder.measure([1], [1]).build()


def left_to_chance() -> Circuit:
    """Wire 0 is measured on the way, and wire 1 flipped if it was 1."""
    builder = CircuitBuilder(2, 1).gate("ry", [0], ANGLES[0]).measure([0], [0])
    with builder.condition([0], [1]):
        builder.gate("x", [1])
    return builder.build()


def swept(angle: float, wires: int = 1) -> ParameterSweep:
    """One wire, of some, turned by an angle that is a parameter."""
    builder = ParameterSweepBuilder(wires, 0)
    builder.gate("ry", [0], np.array([angle]))
    return builder.sweep(1)


def mixed() -> ParameterSweep:
    """The same wire, flipped by chance before and behind its turn."""
    builder = ParameterSweepBuilder(1, 0).channel(bit_flip(0.3), [0])
    return builder.gate("ry", [0], np.array([0.6])).channel(bit_flip(0.2), [0]).sweep(1)


def _told(found: str) -> int:
    """What an explanation says: 1 for five wires, 2 for processes, 4 for observables."""
    wide = "5 wires" in found or "5 qubits" in found
    return wide + 2 * ("processes" in found) + 4 * ("observables at the end" in found)


def _said(pattern: str) -> Call:
    """A call that returns a number of an explanation of a gradient."""
    return _engine("explain_gradient", lambda found: int(re.findall(pattern, str(found))[0]))


# --- Simulator -------------------------------------------------------------------------------------------------------


def _engine(method: str, read: Callable[[Any], Any]) -> Call:
    return lambda **given: read(getattr(Simulator(device="cpu"), method)(**given))


def _values(**given: Any) -> Any:
    return Simulator(device="cpu").run_batch(**given).values


def _differentiated(call: Callable[..., Any]) -> Decision:
    """The result is a mean of this many trajectories, and four times as many halve its standard error."""

    def decide(method: Method, name: str) -> None:
        few, many = (call(**{**method.usual, "sweep": mixed(), "seeds": 1, name: count}) for count in (500, 2000))
        assert [few.trajectories, many.trajectories] == [500, 2000]
        assert 1.7 < few.errors.ravel()[0] / many.errors.ravel()[0] < 2.3
        assert abs(many.values.ravel()[0] - 0.4 * 0.6 * np.cos(0.6)) < 5 * many.errors.ravel()[0]

    return decide


def _chosen(name: str) -> dict[str, Decision]:
    """What is decided of trajectories and their seeds."""
    return {
        "trajectories": _differentiated(_engine(name, lambda found: found)),
        "seeds": seeded(sweep=mixed(), trajectories=20),
    }


def _packed(found: Any) -> Any:
    return found.packed[..., 0]


def _trajectories(_: Method, name: str) -> None:
    """The result averages and reports this many, and four times as many halve the standard error."""
    found = [
        Simulator(device="cpu", seed=1).run_batch(left_to_chance(), observables=[Z[1]], **{name: count})
        for count in (500, 2000)
    ]
    assert [one.trajectories for one in found] == [500, 2000]
    few, many = (one.errors[0, 0] for one in found)
    assert 1.7 < few / many < 2.3
    for one in found:
        assert abs(one.values[0, 0] - np.cos(ANGLES[0])) < 5 * one.errors[0, 0]


MISREAD = (ReadoutError((0,), FLIP),)
SHOT = turned(np.pi, 0.0, measured=True)
MANY = turned(*ANGLES, measured=True)
_SAMPLED: dict[str, Decision] = {
    "circuit": gives(turned(0.0, np.pi, measured=True), [2, 2]),
    "shots": gives(3, [1, 1, 1]),
    "cancel": cancels(),
    "readout": gives(MISREAD, [3, 3], circuit=heard()),  # the condition hears what was read
}


def _batched(decision: Decision) -> Decision:
    """The same of a batch with one binding."""

    def decide(method: Method, name: str) -> None:
        decision(Method(lambda **given: method.call(**given)[0], method.usual, {}), name)

    return decide


OPERANDS = np.concatenate([turned(*angles).operands for angles in (ANGLES, OTHERS)])
SIMULATOR: Mapping[str, Method] = {
    "Simulator": Method(
        lambda **given: Simulator(**given).placement(3).deployment.device_bytes,
        {"options": Options(device="cpu", precision="double")},
        {"options": gives(Options(device="cpu", precision="single"), 64)},
    ),
    "Simulator.run": Method(
        _engine("run", _packed),
        {"circuit": SHOT, "shots": 2},
        {**_SAMPLED, "seed": seeded(circuit=MANY, shots=40)},
    ),
    "Simulator.run_batch": Method(
        _engine("run_batch", _packed),
        {"circuit": SHOT, "shots": 2},
        {
            **{name: _batched(decision) for name, decision in _SAMPLED.items()},
            "seeds": seeded(circuit=MANY, shots=40, make=lambda seed: [seed]),
            "bindings": gives(
                OPERANDS,
                np.cos([ANGLES, OTHERS]),
                _values,
                circuit=turned(0.0, 0.0, 0.0),
                shots=None,
                observables=Z,
            ),
            "observables": gives(Z, [np.cos(ANGLES)], _values, circuit=turned(*ANGLES), shots=None),
            "trajectories": _trajectories,
        },
    ),
    "Simulator.state": Method(
        _engine("state", lambda found: found),
        {"circuit": turned(*ANGLES)},
        {
            "circuit": gives(turned(*OTHERS), product(*OTHERS)),
            "num_wires": gives(4, product(*ANGLES, 0.0)),
            "initial": gives(4, product(0.6, 1.1, 2.0 + np.pi)),
            "cancel": cancels(),
        },
    ),
    "Simulator.placement": Method(
        _engine("placement", lambda found: found.deployment.device_bytes),
        {"num_wires": 3},
        {"num_wires": gives(5, 16 << 5)},
    ),
    "Simulator.gradient": Method(
        _engine("gradient", lambda found: [*found.values.ravel(), *found.jacobian.ravel()]),
        {"sweep": swept(0.6), "observables": Z[0]},
        {
            "sweep": gives(swept(1.4), [np.cos(1.4), -np.sin(1.4)]),
            "observables": gives(X, [np.sin(0.6), np.cos(0.6)]),
            "cancel": cancels(),
            **_chosen("gradient"),
        },
    ),
    "Simulator.vjp": Method(
        _engine("vjp", lambda found: [*found.values.ravel(), *found.products.ravel()]),
        {"sweep": swept(0.6), "observables": [Z[0], X], "cotangents": [1.0, 2.0]},
        {
            "sweep": gives(swept(1.4), [np.cos(1.4), np.sin(1.4), 2 * np.cos(1.4) - np.sin(1.4)]),
            "observables": gives([X, Z[0]], [np.sin(0.6), np.cos(0.6), np.cos(0.6) - 2 * np.sin(0.6)]),
            "cotangents": gives([0.5, 0.0], [np.cos(0.6), np.sin(0.6), -0.5 * np.sin(0.6)]),
            "cancel": cancels(),
            **_chosen("vjp"),
        },
    ),
    "Simulator.overlap": Method(
        _engine("overlap", lambda found: [found.values.real[0], found.derivatives.real[0, 0]]),
        {"sweep": swept(0.6), "other": turned(1.0)},
        {
            "sweep": gives(swept(1.4), [np.cos(0.2), -np.sin(0.2) / 2]),
            "other": gives(turned(0.2), [np.cos(0.2), -np.sin(0.2) / 2]),
            "cancel": cancels(),
        },
    ),
    "Simulator.explain_gradient": Method(
        _engine("explain_gradient", _told),
        {"sweep": swept(0.6, 4), "observables": Z[0]},
        {
            "sweep": gives(swept(0.6, 5), 512, _said(r"states of (\d+) bytes")),
            "observables": gives(Z, 3, _said(r"(\d+) observables?,")),
            "machine": gives(Cluster(processes=2, devices=1), 2),
        },
    ),
    "Simulator.explain": Method(
        _engine("explain", _told),
        {"circuit": turned(*ANGLES)},
        {
            "circuit": gives(turned(*ANGLES, *ANGLES[:2]), 1),
            "machine": gives(Cluster(processes=2, devices=2), 2),
            "observables": gives(Z, 4),
        },
    ),
    "Simulator.plans": Method(
        _engine("plans", lambda found: [plan.num_wires for plan in found]),
        {"circuit": turned(*ANGLES)},
        {"circuit": gives(turned(*ANGLES, *ANGLES[:2]), [5])},
    ),
    "Simulator.summary": Method(
        _engine("summary", lambda found: [found.sweeps, found.exchanges]),
        {"circuit": turned(*ANGLES)},
        {
            "circuit": gives(CircuitBuilder(3).build(), [0, 0]),
            "machine": gives(Cluster(processes=2, devices=1, network=[(1, "ib")]), [2, 1]),
        },
    ),
}
