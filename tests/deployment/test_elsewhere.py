"""Plans for machines that are not here: their memory, bytes and seconds by layer follow from what is said of them."""

from __future__ import annotations

import re
import time
from typing import Any

import numpy as np
import pytest

from qsim_ex import CircuitBuilder, Cluster, Options, Simulator
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.deployment.elsewhere import MODELS
from qsim_ex.devices import discover
from qsim_ex.errors import OptionError
from qsim_ex.planning.cost.rates import Rates


def bricks(num_wires: int, depth: int) -> Circuit:
    """Gates on random pairs of wires."""
    rng, builder = np.random.default_rng(depth), CircuitBuilder(num_wires)
    for _ in range(depth):
        order = rng.permutation(num_wires).tolist()
        for one, other in zip(order[::2], order[1::2], strict=False):
            builder.gate("ry", [one], 0.1).gate("cx", [one, other])
    return builder.build()


def test_a_thousand_processes_in_seconds() -> None:
    """45 wires on 1,024 processes of 8 GPUs are explained within seconds, with bytes, memory and time by layer."""
    machine = Cluster(processes=1024, devices=8, memory=141 << 30, network=[(3, "nvlink"), (4, "ib"), (6, "hdr", 10e9)])
    begun = time.process_time()
    text = Simulator().explain(bricks(45, 12), machine=machine)
    assert time.process_time() - begun < 20
    assert "ranks: 8192 sub state vectors of 32 wires, 64.2 GiB on each device" in text
    assert "machine: 1,024 processes of 8 H200, 8,192 devices; network: 3 over nvlink (396 GB/s), 4 over ib" in text
    assert "memory: 64.2 GiB of 141 GiB on each device; 514 GiB for each process, 514 TiB in all" in text
    for link in ("nvlink", "ib", "hdr"):
        assert re.search(rf"  over {link}: [\d.]+ [TP]iB; [\d.]+ m?s \(", text), link
    assert re.search(r"predicted: [\d.]+ s", text)


def test_slower_machines_take_longer() -> None:
    """Slower links, slower memory and slower arithmetic each make a prediction longer, and nothing else changes."""
    circuit = bricks(34, 8)
    fast = Cluster(processes=4, devices=4, network=[(2, "nvlink"), (2, "ib")])
    slow = Cluster(processes=4, devices=4, network=[(2, "nvlink"), (2, "ib", 20e9)])
    base = Simulator().summary(circuit, fast)
    assert Simulator().summary(circuit, slow).seconds > base.seconds
    for rates in (Rates(memory=1e12), Rates(fma=1e12)):
        other = Simulator().summary(circuit, Cluster(processes=4, devices=4, network=fast.network, rates=rates))
        assert other.seconds > base.seconds
        assert (other.bytes_layers, other.bytes_moved) == (base.bytes_layers, base.bytes_moved)
    old = Cluster(processes=4, devices=4, model="A100", network=fast.network)
    assert Simulator().summary(circuit, old).seconds > base.seconds


def test_one_process_with_several_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine may be one process; this machine's GPUs do not matter for it."""
    monkeypatch.setattr(discover, "gpu_missing", lambda: None)
    text = Simulator(precision="single").explain(bricks(33, 8), Cluster(devices=4))
    assert "peers: 4 sub state vectors of 31 wires" in text
    assert "2 device bits (2 over nvlink (396 GB/s))" in text


def test_what_does_not_fit_is_told() -> None:
    """A state that is too large for the devices is planned, and the explanation says what it lacks."""
    text = Simulator().explain(bricks(40, 8), Cluster(processes=4, model="A100"))
    assert "memory: 4 TiB of 39 GiB on each device: IT DOES NOT FIT" in text


def test_cpus() -> None:
    """A machine of CPUs is planned for as this CPU, with the rates of its model."""
    text = Simulator().explain(bricks(36, 8), Cluster(processes=64, model="A64FX"))
    assert "64 processes of 1 A64FX" in text
    assert "cpu" in text.splitlines()[0]


def test_options_are_replaced() -> None:
    """All options about devices, processes and the network are those of the machine; others stay."""
    given = Options(device="cpu", virtual_peers=2, processes=8, precision="single", seed=3)
    found = Cluster(devices=2).options(given)
    assert (found.device, found.devices, found.virtual_peers, found.processes) == ("gpu", (0, 1), 1, "never")
    assert (found.precision, found.seed) == ("single", 3)
    assert found.max_memory == MODELS["H200"].memory


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"processes": 3}, "processes: expected a power of two, got 3"),
        ({"devices": 0}, "devices: expected a power of two, got 0"),
        ({"devices": True}, "devices: expected a power of two, got True"),
        ({"model": "A10"}, "expected one of H200, .*, got 'A10'. Did you mean 'A100'"),
        ({"memory": "80 GiB"}, "memory: expected bytes, got '80 GiB'"),
        ({"processes": 8, "network": [(1, "ib")]}, "layers of 3 bits for 8 devices, got 1 bits"),
    ],
)
def test_nonsense(given: dict[str, Any], message: str) -> None:
    """A machine that cannot be meant is refused."""
    with pytest.raises(OptionError, match=message):
        Cluster(**given)
