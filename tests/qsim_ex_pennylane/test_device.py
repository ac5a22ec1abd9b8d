"""The device of PennyLane beside ``default.qubit``; its own suite of devices runs in .ci/full."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

qml: Any = pytest.importorskip("pennylane")
from qsim_ex_pennylane import QsimExQubit  # noqa: E402  (only where PennyLane is)


def device(**options: Any) -> Any:
    """The device on the CPU."""
    return QsimExQubit(device="cpu", **options)


def every_gate(x: Any, y: Any) -> None:
    """Parameters in every kind of gate: rows, products, under controls, and gates that are decomposed."""
    qml.StatePrep(np.array([0.6, 0.8]), wires=2)
    qml.RX(x, 0)
    qml.Rot(x, y, 0.3, 1)
    qml.ctrl(qml.RY(y, 2), control=[0, 1], control_values=[1, 0])
    qml.PauliRot(x * y, "XYZ", wires=[0, 1, 3])
    qml.MultiRZ(x, [0, 1, 2])
    qml.ctrl(qml.GlobalPhase(x), control=1)
    qml.SingleExcitation(x, wires=[0, 1])
    qml.DoubleExcitation(y, wires=[0, 1, 2, 3])
    qml.U2(x, y, 0)
    qml.CRot(x, y, x, wires=[2, 3])
    qml.IsingXY(x, [0, 1])
    qml.QFT(range(3))
    qml.adjoint(qml.S(0))


def energies(x: Any, y: Any) -> Any:
    """Two expectation values after all of them."""
    every_gate(x, y)
    hamiltonian = qml.Hamiltonian([0.3, 0.4], [qml.Z(2), qml.X(3) @ qml.Z(0)])
    return qml.expval(qml.X(0) @ qml.Y(1)), qml.expval(hamiltonian)


@pytest.mark.parametrize("method", ["adjoint", "device", "best", "parameter-shift"])
def test_gradients(method: str) -> None:
    """Values and Jacobians are those of ``default.qubit``, with each method of differentiation."""
    x, y = qml.numpy.array(0.4, requires_grad=True), qml.numpy.array(1.1, requires_grad=True)
    found = []
    for one, how in ((device(wires=4), method), (qml.device("default.qubit", wires=4), "adjoint")):
        node = qml.QNode(energies, one, diff_method=how)
        stacked = qml.jacobian(lambda a, b, node=node: qml.math.stack(node(a, b)))
        found.append((np.array(node(x, y)), np.array(stacked(x, y))))
    assert found[0][0] == pytest.approx(found[1][0], abs=1e-12)
    assert found[0][1] == pytest.approx(found[1][1], abs=1e-10)


def test_broadcast_gradients_share_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """Points of a broadcast are bindings of one sweep, with the gradients that each has alone."""
    one = device(wires=2)
    calls: list[int] = []
    true = one._simulator.gradient
    monkeypatch.setattr(
        one._simulator, "gradient", lambda sweep, *more: calls.append(sweep.count) or true(sweep, *more)
    )

    @qml.qnode(one, diff_method="adjoint")
    def node(x: Any) -> Any:
        qml.RX(x, 0)
        qml.CNOT([0, 1])
        return qml.expval(qml.Z(1))

    angles = qml.numpy.array([0.1, 0.7, 1.9], requires_grad=True)
    assert np.diag(qml.jacobian(node)(angles)) == pytest.approx(-np.sin(angles), abs=1e-12)
    assert 3 in calls


def test_state_probabilities_and_shots() -> None:
    """States, probabilities, variances and samples are those of ``default.qubit``."""

    def node(*measured: Any) -> Any:
        every_gate(0.4, 1.1)
        return [one() for one in measured]

    exact = [qml.state, lambda: qml.probs([2, 0]), lambda: qml.var(qml.Y(1)), lambda: qml.vn_entropy([0])]
    ours = qml.QNode(node, device(wires=4))(*exact)
    theirs = qml.QNode(node, qml.device("default.qubit", wires=4))(*exact)
    for one, other in zip(ours, theirs, strict=True):
        assert one == pytest.approx(other, abs=1e-10)
    shots = qml.set_shots(qml.QNode(node, device(wires=4, seed=1)), 20_000)(lambda: qml.probs([2, 0]))
    assert shots[0] == pytest.approx(theirs[1], abs=0.02)


def test_deferred_measurements() -> None:
    """Measurements on the way are deferred, and gates under conditions on them are right."""

    def node() -> Any:
        qml.Hadamard(0)
        qml.cond(qml.measure(0), qml.X)(1)
        return qml.probs(1)

    assert qml.QNode(node, device(wires=3))() == pytest.approx([0.5, 0.5])


@pytest.mark.parametrize("shots", [None, 10])
def test_postselection_is_refused(shots: int | None) -> None:
    """A measurement with `postselect` is refused before anything runs, and the message names it."""

    @qml.set_shots(shots)
    @qml.qnode(device(wires=["a", "b"]))
    def selected() -> Any:
        qml.Hadamard("a")
        qml.measure("a", postselect=1)
        return qml.expval(qml.Z("b"))

    with pytest.raises(qml.exceptions.DeviceError, match=r"measure\('a', postselect=1\), which is not supported"):
        selected()
