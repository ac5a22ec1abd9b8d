"""Bad input is refused with its own error, which says what to do, before memory is touched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.plain_device import PlainDevice

from qsim_ex import errors
from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.devices import discover
from qsim_ex.simulator import Simulator
from qsim_ex.state.vector import StateVector


class Untouched(PlainDevice):
    """A device that fails the test as soon as anybody wants memory."""

    def allocate(self, _num_amplitudes: int, _dtype: Any) -> Any:
        """Nothing may get here."""
        raise AssertionError("memory was touched before the input was checked")


@pytest.fixture
def untouched(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without a GPU whose memory may not be touched."""
    device = Untouched(free=12 << 30)
    monkeypatch.setattr(discover, "cpu", lambda _threads=None: device)
    monkeypatch.setattr(discover, "driver_count", lambda: 0)


def bell() -> CircuitBuilder:
    """A circuit that is right so far."""
    return CircuitBuilder(2, 2).gate("h", [0]).gate("cx", [0, 1])


def measured() -> Circuit:
    """A circuit that could be run."""
    return bell().measure([0, 1], [0, 1]).build()


BAD: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "zero shots": (lambda: Simulator().run(measured(), shots=0), errors.ShotsError, ">= 1, got 0"),
    "negative shots": (lambda: Simulator().run(measured(), shots=-5), errors.ShotsError, "got -5"),
    "fractional shots": (lambda: Simulator().run(measured(), shots=1.5), errors.ShotsError, "got 1.5"),  # type: ignore[arg-type]
    "no measurement": (lambda: Simulator().run(bell().build(), shots=5), errors.MeasurementError, "measures nothing"),
    "unknown option": (lambda: Simulator(devise="cpu"), errors.OptionError, "Did you mean 'device'"),
    "unknown option of a state": (lambda: StateVector(2, precison="single"), errors.OptionError, "'precision'"),
    "bad option": (lambda: Simulator(device="tpu"), errors.OptionError, "'auto', 'cpu', 'gpu'"),
    "bad seed": (lambda: Simulator().run(measured(), shots=1, seed=-1), errors.OptionError, "seed=-1"),
    "large seed": (lambda: Simulator().run(measured(), shots=1, seed=1 << 64), errors.OptionError, "from 0 to 2"),
    "no GPU": (lambda: Simulator(device="gpu").run(measured()), errors.DeviceError, "no GPU found"),
    "no GPU for a state": (lambda: StateVector(2, device="gpu"), errors.DeviceError, "device='cpu'"),
    "more shots than memory": (
        lambda: Simulator().run(measured(), shots=10**12),
        errors.OutOfMemory,
        "1000000000000 shots needs .* the host has 12 GiB free",
    ),
    "60 wires": (lambda: StateVector(60), errors.OutOfMemory, "60 wires in complex128 need 16 EiB"),
    "60 wires in a circuit": (
        lambda: Simulator(precision="single").run(CircuitBuilder(60).gate("h", [3]).save().build()),
        errors.OutOfMemory,
        "60 wires in complex64 need 8 EiB; the host has 12 GiB free, enough for 30 wires .* Use fewer wires",
    ),
    "5000 wires": (lambda: Simulator().placement(5000), errors.OutOfMemory, "5000 wires .* 2.5004 bytes"),
    "more than allowed": (
        lambda: StateVector(10, max_memory=1000),
        errors.OutOfMemory,
        "need 16 KiB; max_memory allows 1000 bytes, enough for 6 wires .*; the host has 12 GiB free. Use fewer wires",
    ),
    "states to be saved": (
        lambda: Simulator().run(CircuitBuilder(29).save("a").save("b").build()),
        errors.OutOfMemory,
        "29 wires in complex128, 3 times, need 24 GiB",
    ),
    "measurement in the middle": (
        lambda: Simulator().state(bell().measure([1], [1]).gate("cx", [0, 1]).build()),
        errors.NotSupported,
        r"measurement in the middle of a circuit, .* instruction 3 \(cx\) acts on wire 1",
    ),
    "reset": (lambda: Simulator().state(bell().reset([1]).build()), errors.NotSupported, "reset of wires .* wire 1"),
    "initialise later": (
        lambda: Simulator().state(bell().initialize([1, 0], [0]).build()),
        errors.NotSupported,
        "initialising wires that were used before",
    ),
    "initialise a given state": (
        lambda: Simulator().state(CircuitBuilder(1).initialize([1, 0], [0]).build(), initial=1),
        errors.NotSupported,
        "initialising wires",
    ),
    "negative wires": (lambda: StateVector(-1), errors.CircuitError, "num_wires >= 0, got -1"),
    "fractional wires": (lambda: StateVector(2.5), errors.CircuitError, "whole number"),  # type: ignore[arg-type]
    "no circuit": (lambda: Simulator().state(), errors.CircuitError, "num_wires"),
    "basis value": (lambda: StateVector(2, initial=4), errors.CircuitError, "a basis value of 2 wires .*, got 4"),
    "unnormalised": (lambda: StateVector(1, initial=[1, 1]), errors.StateError, "of norm 1, got"),
    "wrong size": (lambda: StateVector(2, initial=[1, 0]), errors.StateError, "4 amplitudes for 2 wires, got 2"),
    "not finite": (lambda: StateVector(1, initial=[np.nan, 1]), errors.StateError, "NaN"),
    "no array": (lambda: StateVector(1, array=[1, 0]), errors.DeviceError, "NumPy or a CuPy array"),
    "array dtype": (lambda: StateVector(1, array=np.ones(2)), errors.StateError, "complex64 or complex128"),
    "array size": (lambda: StateVector(2, array=np.ones(2, complex)), errors.StateError, r"shape \(4,\), got \(2,\)"),
    "array stride": (lambda: StateVector(1, array=np.ones(4, complex)[::2]), errors.StateError, "contiguous"),
    "array on another device": (
        lambda: StateVector(1, array=np.ones(2, complex), device="gpu"),
        errors.DeviceError,
        "expected an array on device='gpu', got one on plain",
    ),
    "GPU array as amplitudes": (lambda: StateVector(1, initial=_OnGpu()), errors.StateError, "as array="),  # type: ignore[arg-type]
}


class _OnGpu:
    __cuda_array_interface__: dict[str, Any] = {}  # noqa: RUF012  (the protocol's name)


@pytest.mark.usefixtures("untouched")
@pytest.mark.parametrize("name", BAD)
def test_bad_input(name: str) -> None:
    """Each bad input raises its own error with its message."""
    action, error, message = BAD[name]
    with pytest.raises(error, match=message) as caught:
        action()
    assert isinstance(caught.value, errors.QsimExError)


BAD_QUESTIONS: dict[str, tuple[Callable[[StateVector], Any], type[Exception], str]] = {
    "wire out of range": (lambda s: s.probabilities([3]), errors.WireError, "wire 3, which is out of range"),
    "wire twice": (lambda s: s.sample(2, [1, 1]), errors.WireError, "wire 1 twice"),
    "qudit": (lambda s: s.measure(["q0"]), errors.WireError, "whole number"),
    "wire asked and held": (lambda s: s.probabilities([0], {0: 1}), errors.WireError, "asked for and held"),
    "held at 2": (lambda s: s.probabilities([0], {1: 2}), errors.CircuitError, "0 or 1 for a wire, got 2"),
    "value out of range": (lambda s: s.amplitudes([8]), errors.CircuitError, "a basis value of 3 wires .*, got 8"),
    "values out of range": (lambda s: s.amplitudes(np.array([1, -1])), errors.CircuitError, "got -1"),
    "short string": (lambda s: s.amplitudes(["01"]), errors.CircuitError, "3 characters 0 or 1"),
    "not a sequence": (lambda s: s.amplitudes("010"), errors.CircuitError, "a sequence of basis values"),
    "some wires": (lambda s: s.amplitudes([0], [0, 1]), errors.WireError, "all 3 wires"),
    "bits": (lambda s: s.collapse([0, 1], [0, 2]), errors.CircuitError, "0 or 1 for each of 2 wires"),
    "random": (lambda s: s.measure([0], random=1.0), errors.OptionError, "random=1.0"),
    "range": (lambda s: s.get(3, 9), errors.StateError, "amplitudes 3 to 9"),
    "set range": (lambda s: s.set([1, 0], 7), errors.StateError, "amplitudes 7 to 9"),
    "set NaN": (lambda s: s.set([np.inf], 0), errors.StateError, "infinity"),
    "wide circuit": (
        lambda s: s.apply(CircuitBuilder(4).build()),
        errors.CircuitError,
        "at most 3 wires, got one of 4",
    ),
    "wide inner": (
        lambda s: s.inner(StateVector(2, device="cpu")),
        errors.StateError,
        "state of 3 wires, got one of 2",
    ),
    "relabel": (lambda s: s.relabel([0, 1, 1]), errors.WireError, "twice"),
    "relabel one": (lambda s: s.relabel({5: 0}), errors.WireError, "wire 5|twice|out of range"),
    "not unitary": (lambda s: s.unitary([[1, 1], [0, 1]], [0]), errors.MatrixError, "a unitary matrix"),
    "unknown gate": (lambda s: s.gate("cnot", [0, 1]), errors.UnknownInstruction, "cnot"),
}


@pytest.mark.parametrize("name", BAD_QUESTIONS)
def test_bad_questions(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bad question is refused, and the state stays."""
    device = PlainDevice()
    monkeypatch.setattr(discover, "cpu", lambda _threads=None: device)
    question, error, message = BAD_QUESTIONS[name]
    with StateVector(3, device="cpu", initial=5) as state:
        with pytest.raises(error, match=message):
            question(state)
        assert state.amplitudes([5]) == [1]


def test_a_large_copy_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy of a state that the host cannot hold is refused with both sizes."""
    device = PlainDevice()
    monkeypatch.setattr(discover, "cpu", lambda _threads=None: device)
    with StateVector(3, device="cpu") as state:
        monkeypatch.setattr(PlainDevice, "memory", lambda _self: (1 << 20, 1 << 20))
        state._fits_host("a copy", 1 << 21)  # not worth the question
        with pytest.raises(errors.OutOfMemory, match=r"needs 1 GiB; the host has 1 MiB free"):
            state._fits_host("a copy", 1 << 30)


KINDS = [one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, Exception)]


@pytest.mark.parametrize("kind", KINDS)
def test_errors_are_made_without_their_constructor(kind: type[Exception]) -> None:
    """Every error can be made with ``__new__`` alone, as Dask makes those that come from its workers."""
    assert kind.__new__(kind, "what happened").args == ("what happened",)


def test_a_message_names_some_of_many() -> None:
    """Twelve names are listed, and of more the first twelve and how many follow."""
    assert errors.some_of("abc") == "a, b, c"
    assert errors.some_of(map(str, range(12))).endswith("10, 11")
    assert errors.some_of(map(str, range(200))).endswith("10, 11 and 188 more")
