"""The peer cuStateVec Ex passes what is meant for states in several pieces to a library that only listens."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest

from benchmarks.gates import Gate
from benchmarks.peers import custatevec_ex_peer as ex
from benchmarks.peers import custatevec_library as cu
from benchmarks.peers.base import CannotDivide, Setup

ORDERING = (2, 0, 1, 3)
"""Wire 2 sits on index bit 0, and so on, after the listener's circuits."""


class Listener:
    """In place of the library: keeps its calls, and has the amplitude `index` at each index."""

    version = "1.15.0"

    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple[Any, ...]]] = []

    def call(self, name: str, *arguments: Any) -> None:
        """Answer the two questions that a session asks; check every argument against the declared types."""
        declared = cu._SIGNATURES[f"custatevecEx{name}"]
        assert len(declared) == len(arguments), name
        for kind, argument in zip(declared, arguments, strict=True):
            kind.from_param(argument)  # type: ignore[attr-defined]  # raises what ctypes would raise
        self.calls.append((name, arguments))
        if name == "StateVectorGetProperty" and arguments[1] == cu.PROPERTY_WIRE_ORDERING:
            arguments[2][:] = ORDERING
        if name == "StateVectorGetState":
            _, address, _, begin, end, _ = arguments
            (ctypes.c_float * 2).from_address(address)[0] = begin
            assert end == begin + 1

    def create(self, name: str, *arguments: Any) -> ctypes.c_void_p:
        """As `call`, with the place for the new descriptor in front."""
        handle = ctypes.c_void_p(1)
        self.call(name, ctypes.byref(handle), *arguments)
        return handle

    def told(self, name: str) -> tuple[Any, ...]:
        """The arguments of the only call of that name."""
        (found,) = (arguments for called, arguments in self.calls if called == name)
        return found


def peer(monkeypatch: pytest.MonkeyPatch) -> tuple[ex.ExPeer, Listener]:
    """The peer with a listener for a library."""
    listener = Listener()
    monkeypatch.setattr(cu, "Library", lambda: listener)
    monkeypatch.setattr(ex, "free_bytes", lambda gpus: [0] * gpus)
    return ex.ExPeer(), listener


@pytest.mark.parametrize("device_wires", [None, 3, 1])
def test_host_memory_is_asked_for_by_device_wires(monkeypatch: pytest.MonkeyPatch, device_wires: int | None) -> None:
    """The library is given all wires, and as device wires those that were asked for or all of them."""
    found, listener = peer(monkeypatch)
    found.open(Setup(4, "single", 1, device_wires=device_wires), "controls").close()
    told = listener.told("ConfigureStateVectorSingleDevice")
    assert told[1:] == (4, 4, device_wires or 4, 0, cu.CAPABILITY_NONE)


def test_several_devices_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library is given every device, and each device has the wires that are left."""
    found, listener = peer(monkeypatch)
    found.open(Setup(4, "double", 1, gpus=4), "controls").close()
    _, kind, wires, local, devices, count, network, capability = listener.told("ConfigureStateVectorMultiDevice")
    assert (kind, wires, local, list(devices), count) == (5, 4, 2, [0, 1, 2, 3], 4)
    assert (network, capability) == (cu.NETWORK_SWITCH, cu.CAPABILITY_NONE)


@pytest.mark.parametrize("setup", [Setup(4, "single", 1, device_wires=2), Setup(4, "single", 1, gpus=2)])
def test_amplitudes_are_read_where_the_ordering_says(monkeypatch: pytest.MonkeyPatch, setup: Setup) -> None:
    """Amplitudes are read after pending operations, at the indices of the library's wire ordering."""
    watch = Setup(4, "single", 1, (0, 1, 2, 4, 8, 15), setup.gpus, setup.device_wires)
    found, listener = peer(monkeypatch)
    session = found.open(watch, "controls")
    session.load([Gate("h", (0,)), Gate("cx", (0, 3))])
    session.run()
    assert session.amplitudes().real.tolist() == [0, 2, 4, 1, 8, 15]
    names = [name for name, _ in listener.calls]
    exposed = names.index("StateVectorExposeResources")
    assert names.index("SVUpdaterApply") < exposed < names.index("StateVectorGetProperty")
    assert names[-1] == "StateVectorSynchronize"
    assert set(session.facts()) >= {"device_wires", "migration_wires", "bytes_held"}


@pytest.mark.parametrize(
    ("setup", "reason"),
    [
        (Setup(6, "single", 1, device_wires=2), "4 migration wires; it takes at most 3"),
        (Setup(6, "single", 1, gpus=2, device_wires=3), "several GPUs and in host memory"),
    ],
)
def test_what_the_library_refuses_is_not_tried(monkeypatch: pytest.MonkeyPatch, setup: Setup, reason: str) -> None:
    """A state that the library cannot hold is refused with the reason before it is measured."""
    with pytest.raises(CannotDivide, match=reason):
        peer(monkeypatch)[0].variants(setup)
