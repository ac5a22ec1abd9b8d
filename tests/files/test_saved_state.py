"""A state in a file loads unchanged into any placement, and a damaged file is refused."""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.deployments import ON_CPU
from support.held import Hold
from support.states import random_state

from qsim_ex import StateVector
from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.errors import CircuitError, SavedStateError

WIRES = 8


def made(deployment: str, precision: str = "double") -> StateVector:
    """A random state whose wires are not in order and of which one is inverted."""
    options = ON_CPU[deployment].options
    state = StateVector(WIRES, device="cpu", precision=precision, initial=random_state(WIRES, 3), **options)
    return state.gate("x", [2]).gate("swap", [0, 5]).gate("h", [1])


@pytest.mark.parametrize("to", ON_CPU)
@pytest.mark.parametrize("of", ON_CPU)
def test_a_state_comes_back_anywhere(tmp_path: Path, of: str, to: str, hold: Hold) -> None:
    """A state saved in one placement loads unchanged into any other, and rounded into the other precision."""
    hold(file_piece=16)
    with made(of) as state:
        wanted = state.to_numpy()
        state.save(tmp_path / "a")
    with StateVector.load(tmp_path / "a", device="cpu", **ON_CPU[to].options) as back:
        assert back.dtype == np.complex128
        assert back.placement == ON_CPU[to].kind
        assert np.array_equal(back.to_numpy(), wanted)
        back.gate("h", [1])  # and it goes on as a state does
        assert back.norm() == pytest.approx(1)
    with StateVector.load(tmp_path / "a", device="cpu", precision="single", **ON_CPU[to].options) as half:
        assert half.dtype == np.complex64
        assert half.to_numpy() == pytest.approx(wanted, abs=1e-7)
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_the_bytes_are_as_documented(tmp_path: Path) -> None:
    """The file is laid out as docs/saved_states.md says."""
    import json
    import zlib

    with made("single", "single") as state:
        state.save(tmp_path / "a")
        found, wanted = state.index_map, state.to_numpy()
    data = (tmp_path / "a").read_bytes()
    assert data[:16] == b"qsim-ex state 2\n"
    length, check = struct.unpack("<II", data[16:24])
    assert zlib.crc32(data[24 : 24 + length]) == check
    header = json.loads(data[24 : 24 + length])
    assert (header["parities"], header["flip"]) == ([hex(mask) for mask in found.parities], hex(found.flip))
    assert header["pieces"] == 1
    body = data[24 + length :]
    assert struct.unpack("<Q", body[:8]) == (0,)
    assert struct.unpack("<I", body[-4:]) == (zlib.crc32(body[:-4]),)
    values = np.frombuffer(body[8:-4], dtype="<c8")
    parities, flip = [int(mask, 16) for mask in header["parities"]], int(header["flip"], 16)
    for index in range(1 << WIRES):
        value = sum(((mask & index).bit_count() & 1) << wire for wire, mask in enumerate(parities)) ^ flip
        assert values[index] == wanted[value]


def state_of(amplitudes: np.ndarray) -> StateVector:
    """A state on one device, in the order of its wires."""
    return StateVector(WIRES, device="cpu", initial=amplitudes)


def test_what_is_known_to_be_zero_takes_no_room(tmp_path: Path, hold: Hold) -> None:
    """A state that has not grown is written without its zeros, and loads unchanged."""
    hold(file_piece=16)
    with StateVector(WIRES, device="cpu", virtual_peers=4) as state:
        state.gate("h", [0]).save(tmp_path / "a")
        wanted = state.to_numpy()
    assert (tmp_path / "a").stat().st_size < 4096 + 16 * ((1 << WIRES) // 2)
    with StateVector.load(tmp_path / "a", device="cpu") as back:
        assert np.array_equal(back.to_numpy(), wanted)


@pytest.mark.parametrize("place", [3, 20, 40, 4096 + 3, 4096 + 200, -1])
def test_one_wrong_bit_is_found(tmp_path: Path, place: int, hold: Hold) -> None:
    """A file of which one bit has changed is refused."""
    hold(file_piece=16)
    path = tmp_path / "a"
    with made("single") as state:
        state.save(path)
    data = bytearray(path.read_bytes())
    data[place] ^= 4
    path.write_bytes(data)
    with pytest.raises(SavedStateError, match=r"damaged|is not a state saved by qsim-ex"):
        StateVector.load(path, device="cpu")
    with StateVector(2, device="cpu") as state:  # and the process goes on
        assert state.norm() == 1


def test_pieces_that_changed_places_are_found(tmp_path: Path, hold: Hold) -> None:
    """A piece in another's place is refused, while the order of the pieces in the file is free."""
    hold(file_piece=16)
    path = tmp_path / "a"
    with made("single") as state:
        state.save(path)
    data = path.read_bytes()
    step = 8 + 16 * 16 + 4
    one, two = data[4096 : 4096 + step], data[4096 + step : 4096 + 2 * step]
    path.write_bytes(data[:4096] + one + one + data[4096 + 2 * step :])
    with pytest.raises(SavedStateError, match="expected pieces at distinct multiples of their size"):
        StateVector.load(path, device="cpu")
    path.write_bytes(data[:4096] + two + one + data[4096 + 2 * step :])  # order in the file means nothing
    with StateVector.load(path, device="cpu") as back, made("single") as state:
        assert np.array_equal(back.to_numpy(), state.to_numpy())


@pytest.mark.parametrize("cut", [0, 10, 30, 4096, 4100, -1])
def test_a_file_that_was_cut_is_refused_before_memory_is_taken(
    tmp_path: Path, cut: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A truncated file is refused before memory is allocated for its state."""
    path = tmp_path / "a"
    with made("single") as state:
        state.save(path)
    path.write_bytes(path.read_bytes()[:cut])
    monkeypatch.setattr(StateVector, "__init__", None)
    with pytest.raises(SavedStateError, match=r"damaged|is not a state saved by qsim-ex"):
        StateVector.load(path, device="cpu")


def test_other_files_are_refused(tmp_path: Path) -> None:
    """A missing file, a folder, or a file of something else raises a SavedStateError."""
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(SavedStateError, match="cannot be read"):
            StateVector.load(path)
    (tmp_path / "text").write_text("hello")
    with pytest.raises(SavedStateError, match="is not a state saved by qsim-ex"):
        StateVector.load(tmp_path / "text")


def test_a_failing_disk_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that fails or is full leaves the old file as it was, and no other."""
    path = tmp_path / "a"
    with made("single") as state, made("peers 2") as other:
        state.save(path)
        before = path.read_bytes()

        def fail(_handle: int) -> None:
            raise OSError(28, os.strerror(28))

        monkeypatch.setattr(os, "fsync", fail)
        with pytest.raises(SavedStateError, match="No space left on device"):
            other.save(path)
        monkeypatch.undo()
        usage: Any = type("Usage", (), {"free": 100})
        monkeypatch.setattr("shutil.disk_usage", lambda _path: usage)
        with pytest.raises(SavedStateError, match=r"needs 12 KiB; the disk has 100 bytes free"):
            other.save(path)
        monkeypatch.undo()
        with pytest.raises(SavedStateError, match="cannot be written"):
            state.save(tmp_path / "no folder" / "a")
        assert path.read_bytes() == before
        assert [found.name for found in tmp_path.iterdir()] == ["a"]
        assert state.norm() == pytest.approx(1)  # a state that could not be saved is still a state


def test_what_was_touched_is_known_after_loading(tmp_path: Path) -> None:
    """After a load untouched wires can be initialised, and touched ones cannot."""
    initialise = [CircuitBuilder(3).initialize([0.6, 0.8], [wire]).build() for wire in range(3)]
    with StateVector(3, device="cpu").gate("h", [0]) as state:
        state.save(tmp_path / "a")
    with StateVector.load(tmp_path / "a", device="cpu") as back:
        back.apply(initialise[1])
        with pytest.raises(NotImplementedError):
            back.apply(initialise[0])
        with pytest.raises(CircuitError):
            back.apply(CircuitBuilder(4).build())
