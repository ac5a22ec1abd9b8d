"""Benchmarks of states in several pieces do what they say, on the CPU with small pieces."""

import json
from pathlib import Path

import pytest

from benchmarks import run
from benchmarks.check import check
from benchmarks.families import FAMILIES
from benchmarks.measure import Case
from benchmarks.memory import Peak, watched_pool
from benchmarks.peers import load
from benchmarks.peers.base import CannotDivide, Setup
from benchmarks.peers.ours_peer import options
from benchmarks.table import markdown

DIVISIONS = {
    "1 migration wire": {"device_wires": 10},
    "3 migration wires": {"device_wires": 8},
    "peers": {"gpus": 4},
    "peers over host": {"gpus": 2, "device_wires": 8},
}


@pytest.mark.parametrize("division", DIVISIONS)
def test_divided_states_are_right(division: str) -> None:
    """A session gives the amplitudes of the definition, for every family, division and variant."""
    peer = load("ours", "cpu")
    for family in FAMILIES:
        case = Case(family, 11, "double", **DIVISIONS[division])
        for variant in peer.variants(case.setup(1, (0,))):
            assert check(peer, variant, case) is None


@pytest.mark.parametrize(("device_wires", "in_flight"), [(10, 1), (9, 3), (8, 3)])
@pytest.mark.parametrize("variant", ["whole", "spread"])
def test_facts_say_where_the_state_was(device_wires: int, in_flight: int, variant: str) -> None:
    """The facts of a session name its division, and a spread state is not on its device altogether."""
    setup = Setup(11, "single", 1, device_wires=device_wires, in_flight=in_flight)
    session = load("ours", "cpu").open(setup, variant)
    session.load(Case("qv", 11, "single").gates(0))
    session.run()
    found = session.facts()
    session.close()
    window = 8 << device_wires
    assert found["deployment"]["device_wires"] == device_wires
    assert found["deployment"]["host_memory"] == variant
    assert found["bytes_held"][0] <= (in_flight + 1) * window
    assert found["bytes_held_on_host"] > (0 if variant == "whole" else window // 2)
    assert sum(found["bytes_from_host"]) + sum(found["bytes_to_host"]) > 0
    planned = found["planned"]
    assert planned["passes"] >= 1
    assert planned["bytes_host_if_some_stay"] <= planned["bytes_host"]
    assert planned["seconds"] > 0


def test_bytes_between_devices_are_those_planned() -> None:
    """The bytes that are sent between devices are those of the plan."""
    session = load("ours", "cpu").open(Setup(11, "single", 1, gpus=4), "default")
    for family in FAMILIES:
        session.load(Case(family, 11, "single").gates(0))
        session.run()
        found = session.facts()
        assert sum(found["bytes_sent"].values()) == found["planned"]["bytes_peers"]
    session.close()


def test_gpus_are_named_on_a_gpu() -> None:
    """The options of a setup name every GPU, and the device wires if some were asked for."""
    several = options(Setup(30, "single", 1, gpus=4), "gpu", "default")
    assert several.devices == (0, 1, 2, 3)
    assert several.device_wires is None
    both = options(Setup(30, "single", 1, gpus=4, device_wires=26), "gpu", "whole")
    assert (both.devices, both.device_wires, both.host_memory) == ((0, 1, 2, 3), 26, "whole")


@pytest.mark.parametrize(
    ("device_wires", "in_flight", "whole", "spread"), [(29, None, 1, 1), (28, None, 3, 3), (29, 3, 2, 1), (28, 2, 2, 2)]
)
def test_some_of_a_state_is_elsewhere(device_wires: int, in_flight: int | None, whole: int, spread: int) -> None:
    """A state in host memory has at most as many buffers on the device as leave some of it elsewhere."""
    setup = Setup(30, "single", 1, device_wires=device_wires, in_flight=in_flight)
    assert options(setup, "gpu", "whole").in_flight_buffers == whole
    assert options(setup, "gpu", "spread").in_flight_buffers == spread


@pytest.mark.parametrize(
    "division", [{"gpus": 3}, {"device_wires": 12}, {"gpus": 4, "device_wires": 10}, {"device_wires": 0}]
)
def test_what_cannot_be_divided_is_an_error(division: dict[str, int]) -> None:
    """A division that contradicts the number of wires is refused before any peer gets it."""
    with pytest.raises(ValueError, match="expected"):
        Setup(11, "single", 1, **division)


@pytest.mark.parametrize("name", ["qsim", "aer", "lightning"])
def test_others_refuse_divided_states(name: str) -> None:
    """A peer that holds a state in one piece refuses divided ones with its reason."""
    pytest.importorskip({"qsim": "qsimcirq", "aer": "qiskit_aer", "lightning": "pennylane_lightning"}[name])
    with pytest.raises(CannotDivide, match=f"{name}: it holds a state in one piece only"):
        load(name, "cpu").variants(Setup(11, "single", 1, gpus=2))


def test_the_command_writes_a_table_of_levels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command divides the state, measures the ceilings, and its table names the levels."""
    out = tmp_path / "out.json"
    asked = ["cpu", "--n", "11", "--device-wires", "9", "--families", "qft", "--peers", "ours", "--repeat", "1"]
    assert run.main([*asked, "--threads", "2", "--commit", "c", "--out", str(out)]) == 0
    document = json.loads(out.read_text())
    assert {cell["variant"] for cell in document["cells"]} == {"whole", "spread"}
    assert all(cell["correct"] for cell in document["cells"])
    assert set(document["links"]["bytes_per_second"]) == {"host to device", "device to host", "both ways"}
    printed = capsys.readouterr().out
    assert "QFT with swaps, spread" in printed
    assert "states on 1 device, 9 wires on each" in markdown(document)


def test_what_cannot_be_divided_ends_the_command() -> None:
    """The command ends before it measures anything if the state cannot be divided so."""
    with pytest.raises(SystemExit):
        run.main(["cpu", "--n", "11", "--device-wires", "12"])


def test_peak_counts_what_is_held_at_once() -> None:
    """The peak of each device counts its own memory, and none that was given back."""
    peak = Peak()
    peak.taken(0, 100, 5)
    peak.taken(1, 100, 7)
    peak.given_back(0, 100)
    peak.given_back(0, 999)  # taken before it was watched
    peak.taken(0, 200, 6)
    assert peak.bytes_on(3) == [6, 7, 0]


@pytest.mark.gpu
def test_peak_sees_cupys_pool() -> None:
    """The peak of CuPy's pool counts memory once that is taken, given back and taken again."""
    cupy = pytest.importorskip("cupy")
    try:
        cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        pytest.skip(str(error))
    peak = Peak()
    with watched_pool(peak):
        for _ in range(2):
            held = cupy.empty(1 << 20, dtype=cupy.uint8)
            del held
    assert peak.bytes_on(1) == [1 << 20]
