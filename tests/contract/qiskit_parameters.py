"""Every parameter of the backend and of Qiskit's primitives, and what was decided about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from contract.decided import Call, Decision, Method, gives
from qiskit.circuit import Parameter, QuantumCircuit
from qiskit.providers.fake_provider import GenericBackendV2

from qsim_ex import Cluster
from qsim_ex.circuit.noise.model import NoiseModel
from qsim_ex_provider import EstimatorV2, QsimExBackend, QsimExProvider, SamplerV2

ANGLE = Parameter("angle")


def turned(angle: Any, measured: bool = True) -> QuantumCircuit:
    """One qubit, turned by an angle."""
    made = QuantumCircuit(1, 1)
    made.ry(angle, 0)
    if measured:
        made.measure(0, 0)
    return made


def left_to_chance() -> QuantumCircuit:
    """One qubit is measured on the way."""
    made = turned(0.6)
    made.ry(0.1, 0)
    return made


ALWAYS_FLIPPED = NoiseModel().with_misreading(np.array([[0.0, 1.0], [1.0, 0.0]]))
FLIPPED = NoiseModel().with_error("ry", [[[0, 1], [1, 0]]])


def _run(run_input: Any, **given: Any) -> Any:
    """The share of 1s in each experiment."""
    result = QsimExBackend(device="cpu").run(run_input, **given).result()
    return [result.get_counts(k).get("1", 0) / result.results[k].shots for k in range(len(result.results))]


def _explained(run_input: Any, **given: Any) -> list[int]:
    """The number of plans in the explanation, and whether two bindings run together."""
    told = QsimExBackend(device="cpu").explain(run_input, **given)
    return [told.count("index bits at the end"), int("2 bindings that run together" in told)]


def _sampled(pubs: Any = (), run: Mapping[str, Any] | None = None, **options: Any) -> Any:
    """The bits of each shot of each PUB, one after the other."""
    result = SamplerV2(**{"device": "cpu", **options}).run(pubs or [turned(0.0)], **(run or {})).result()
    return np.concatenate([one.data.c.array.reshape(-1) for one in result])


def _estimated(pubs: Any = (), run: Mapping[str, Any] | None = None, **options: Any) -> Any:
    """The values and standard errors of each PUB."""
    usual = [(turned(0.6, measured=False), "Z")]
    result = EstimatorV2(**{"device": "cpu", **options}).run(pubs or usual, **(run or {})).result()
    return np.array([(float(one.data.evs), float(one.data.stds)) for one in result])


def _errors(*given: Any, **named: Any) -> Any:
    """The standard errors alone."""
    return _estimated(*given, **named)[:, 1]


def _running(call: Call) -> Call:
    """A call of `run`, some parameters of which are its own."""
    return lambda pubs=(), **run: call(pubs, run)


def _halves_errors(_: Method, name: str) -> None:
    """Four times as many trajectories halve the standard error."""
    pubs = [(left_to_chance(), "X")]
    few, many = (_errors(pubs=pubs, seed=1, **{name: count})[0] for count in (500, 2000))
    assert 1.7 < few / many < 2.3


NOISY = QsimExBackend(device="cpu", noise_model=ALWAYS_FLIPPED)
FLIPPING = QsimExBackend(device="cpu", noise_model=FLIPPED)

_NAMED: dict[str, Decision] = {
    "provider": gives(PROVIDER := QsimExProvider(), 1, lambda **g: int(QsimExBackend(**g).provider is PROVIDER)),
    "name": gives("mine", 1, lambda **given: int(QsimExBackend(**given).name == "mine")),
}
QISKIT: Mapping[str, Method] = {
    "QsimExBackend": Method(QsimExBackend, {}, _NAMED),
    "QsimExBackend.run": Method(
        _run,
        {"run_input": turned(0.0)},
        {
            "run_input": gives([turned(np.pi), turned(0.0)], [1, 0]),
            "parameter_binds": gives(
                [{ANGLE: [np.pi, 0.0]}],
                [1, 0],
                lambda parameter_binds=None, **_: _run(
                    turned(ANGLE) if parameter_binds else turned(0.0), parameter_binds=parameter_binds
                ),
            ),
        },
    ),
    "QsimExBackend.explain": Method(
        _explained,
        {"run_input": turned(0.0)},
        {
            "run_input": gives([turned(np.pi), turned(0.0, measured=False)], [2, 0]),
            "parameter_binds": gives(
                [{ANGLE: [np.pi, 0.0]}],
                [1, 1],
                lambda parameter_binds=None, **_: _explained(
                    turned(ANGLE) if parameter_binds else turned(0.0), parameter_binds=parameter_binds
                ),
            ),
            "machine": gives(Cluster(), 1, lambda **given: int("H200" in QsimExBackend(device="cpu").explain(**given))),
        },
    ),
    "QsimExBackend.state": Method(
        lambda **given: QsimExBackend(device="cpu").state(**given).to_numpy().tolist(),
        {"circuit": QuantumCircuit(1)},
        {"circuit": gives(QuantumCircuit(2), [1, 0, 0, 0])},
    ),
    "QsimExBackend.from_backend": Method(
        lambda **given: QsimExBackend.from_backend(**given).num_qubits,
        {"backend": GenericBackendV2(2)},
        {"backend": gives(GenericBackendV2(5), 5)},
    ),
    "SamplerV2": Method(
        _sampled,
        {"default_shots": 2},
        {
            "default_shots": gives(3, [0] * 3),
            "noise_model": gives(ALWAYS_FLIPPED, [1, 1]),
            "backend": gives(NOISY, [1, 1]),
            "mode": gives(NOISY, [1, 1]),
            "options": gives({"run_options": {"noise_model": ALWAYS_FLIPPED}}, [1, 1]),
        },
    ),
    "SamplerV2.from_backend": Method(
        lambda backend: SamplerV2.from_backend(backend).run([turned(0.0)], shots=2).result()[0].data.c.array[:, 0],
        {"backend": QsimExBackend(device="cpu")},
        {"backend": gives(NOISY, [1, 1])},
    ),
    "SamplerV2.run": Method(
        _running(_sampled),
        {"pubs": [turned(0.0)], "shots": 2},
        {
            "pubs": gives([turned(np.pi), (turned(ANGLE), [[np.pi], [0.0]])], [1, 1, 1, 1, 0, 0]),
            "shots": gives(3, [0] * 3),
        },
    ),
    "EstimatorV2": Method(
        _estimated,
        {},
        {
            "default_precision": gives(0.125, [0.125], _errors),
            "trajectories": _halves_errors,
            "noise_model": gives(FLIPPED, [[-np.cos(0.6), 0.0]]),
            "backend": gives(FLIPPING, [[-np.cos(0.6), 0.0]]),
            "mode": gives(FLIPPING, [[-np.cos(0.6), 0.0]]),
            "options": gives({"backend_options": {"noise_model": FLIPPED}}, [[-np.cos(0.6), 0.0]]),
        },
    ),
    "EstimatorV2.from_backend": Method(
        lambda backend: EstimatorV2.from_backend(backend).run([(turned(0.6, False), "Z")]).result()[0].data.evs,
        {"backend": QsimExBackend(device="cpu")},
        {"backend": gives(FLIPPING, -np.cos(0.6))},
    ),
    "EstimatorV2.run": Method(
        _running(_estimated),
        {},
        {
            "pubs": gives(
                [(turned(0.6, measured=False), "X"), (turned(np.pi, measured=False), "Z")], [[np.sin(0.6), 0], [-1, 0]]
            ),
            "precision": gives(0.25, [0.25], _running(_errors)),
        },
    ),
}
