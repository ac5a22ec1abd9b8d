"""A forged file of a state is refused, and the error names what is wrong; or it is a valid state."""

from __future__ import annotations

import io
import json
import math
import struct
import subprocess
import sys
import tempfile
import zlib
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from qsim_ex import StateVector, thresholds
from qsim_ex.errors import SavedStateError
from qsim_ex.files import saved_state
from qsim_ex.files.header import MOST_BYTES, MOST_WIRES, BadHeader, Header, parsed
from qsim_ex.steps import IndexMap

GOOD: dict[str, Any] = {
    "num_wires": 4,
    "dtype": "complex128",
    "parities": ["0x2", "0x1", "0x4", "0x8"],
    "flip": "0x5",
    "piece": 4,
    "pieces": 1,
    "norm": 1.0,
    "about": {"touched": "0xf"},
}
"""A header whose wires are not in order and of which two are stored inverted."""


def file_of(fields: Any, body: bytes | None = None) -> bytes:
    """A file with right checksums and a header of these fields, or of this text."""
    text = fields if isinstance(fields, bytes) else json.dumps(fields).encode()
    frame = struct.pack("<Q", 4) + np.array([0.6, 0, 0, 0.8j]).tobytes()
    body = frame + struct.pack("<I", zlib.crc32(frame)) if body is None else body
    return saved_state.MAGIC + struct.pack("<II", len(text), zlib.crc32(text)) + text + body


def test_a_good_header_is_taken() -> None:
    """The file that the forgeries below start from is a state of four wires, and a header comes back as written."""
    found = saved_state.look_into(io.BytesIO(file_of(GOOD)), Path("a"))
    index_map = IndexMap((2, 1, 4, 8), 5)
    assert found.header == Header(4, np.dtype(complex), index_map, 4, 1, 1.0, {"touched": "0xf"})
    assert parsed(found.header.encoded()) == found.header


@pytest.mark.parametrize("magic", [b"qsim-ex state 1\n", b"qsim-ex state 3\n", b"#!/usr/bin/python\n"])
def test_another_format_is_refused(magic: bytes) -> None:
    """A file that begins with the name of another format, or of none, is refused, and the error says what to load."""
    body = file_of(GOOD)[len(saved_state.MAGIC) :]
    with pytest.raises(SavedStateError, match=r"format that this version reads\. Load a file"):
        saved_state.look_into(io.BytesIO(magic + body), Path("a"))


FORGED: list[tuple[str, Any, str]] = [
    ("num_wires", True, "num_wires: expected a whole number"),
    ("num_wires", 4.0, "num_wires: expected a whole number"),
    ("num_wires", -1, "num_wires: expected a whole number"),
    ("num_wires", "4", "num_wires: expected a whole number"),
    ("num_wires", MOST_WIRES + 1, "num_wires: expected a whole number"),
    ("dtype", "float64", "dtype: expected 'complex64' or 'complex128'"),
    ("dtype", "O", "dtype: expected"),
    ("dtype", ["complex64"], "dtype: expected"),
    ("piece", 0, "piece: expected"),
    ("piece", 3, "piece: expected a power of two"),
    ("piece", 32, "piece: expected"),
    ("pieces", 5, "pieces: expected a whole number from 0 to 4"),
    ("pieces", 2, "expected .* bytes, got"),
    ("norm", -1.0, "norm: expected a number from 0 to 1e100"),
    ("norm", "1", "norm: expected"),
    ("norm", True, "norm: expected"),
    ("norm", 10**400, "norm: expected"),
    ("about", [], "about: expected an object"),
    ("about", None, "about: expected an object"),
    ("num_wires", 5, "parities: expected a list of 5 masks"),
    ("parities", ["0x2", "0x1", "0x4"], "parities: expected a list of 4 masks"),
    ("parities", "0x3", "parities: expected a list of 4 masks"),
    ("parities", ["0x2", "0x1", "0x4", 8], "parities: expected a mask of 4 bits such as '0x1', got 8"),
    ("parities", ["0x2", "0x1", "0x4", "8"], "parities: expected a mask of 4 bits"),
    ("parities", ["0x2", "0x1", "0x4", "-0x8"], "parities: expected a mask"),
    ("parities", ["0x2", "0x1", "0x4", "0x1_0"], "parities: expected a mask"),
    ("parities", ["0x2", "0x1", "0x4", "0x10"], "parities: expected a mask of 4 bits"),
    ("parities", ["0x2", "0x1", "0x4", "0x" + "f" * 5000], "parities: expected a mask of 4 bits"),
    ("parities", ["0x2", "0x2", "0x4", "0x8"], "parities: expected an index bit of its own for each wire"),
    ("parities", ["0x2", "0x3", "0x4", "0x8"], "parities: expected an index bit of its own for each wire"),
    ("parities", ["0x2", "0x1", "0x4", "0x0"], "parities: expected an index bit of its own for each wire"),
    ("flip", "0x10", "flip: expected a mask of 4 bits"),
    ("flip", 5, "flip: expected a mask of 4 bits"),
    ("flip", False, "flip: expected a mask"),
    ("norm", None, "norm: expected"),
]


@pytest.mark.parametrize(("name", "value", "message"), FORGED, ids=[f"{n}={str(v)[:50]}" for n, v, _ in FORGED])
def test_a_forged_field_is_named(name: str, value: Any, message: str) -> None:
    """A field of a wrong type or out of its range is refused, with what was expected and what is there."""
    with pytest.raises(SavedStateError, match=message):
        saved_state.look_into(io.BytesIO(file_of({**GOOD, name: value})), Path("a"))


@pytest.mark.parametrize("name", GOOD)
def test_a_missing_field_is_named(name: str) -> None:
    """A header without one of its fields is refused by the field's name."""
    fields = {key: value for key, value in GOOD.items() if key != name}
    with pytest.raises(SavedStateError, match=f"expected a field '{name}'"):
        saved_state.look_into(io.BytesIO(file_of(fields)), Path("a"))


TEXTS = {
    "no JSON": (b"{", "expected JSON in UTF-8"),
    "no UTF-8": (b'{"\xff": 1}', "expected JSON in UTF-8"),
    "UTF-16": (json.dumps(GOOD).encode("utf-16"), "expected JSON in UTF-8"),
    "a list": (b"[1]", "expected a JSON object"),
    "deep": (b"[" * 100_000 + b"]" * 100_000, "too many"),
    "deep objects": (b'{"about":' * 90_000 + b"1" + b"}" * 90_000, "too many"),
    "twice": (b'{"flip": 0, "flip": 1}', "expected every name once"),
    "NaN": (json.dumps({**GOOD, "norm": math.nan}).encode(), "expected numbers, got NaN"),
    "infinite": (b'{"norm": 1e999}', "expected numbers that a float64 can hold"),
    "huge number": (b'{"flip": ' + b"9" * 10_000 + b"}", "expected JSON"),
    "too long": (b" " * (MOST_BYTES + 1), f"expected at most {MOST_BYTES} bytes"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_text_that_is_no_header_is_refused(name: str) -> None:
    """Text that is not one JSON object of finite numbers and unique names, of a few levels, is a SavedStateError."""
    text, message = TEXTS[name]
    with pytest.raises(SavedStateError, match=message):
        saved_state.look_into(io.BytesIO(file_of(text)), Path("a"))


def test_a_length_that_nobody_wrote_is_refused_before_it_is_read() -> None:
    """A header that claims 4 GiB is refused without reading that many bytes."""

    class Watched(io.BytesIO):
        most = 0

        def read(self, size: int | None = -1, /) -> bytes:
            self.most = max(self.most, size or 0)
            return super().read(size)

    file = Watched(saved_state.MAGIC + struct.pack("<II", 0xFFFFFFFF, 0))
    with pytest.raises(SavedStateError, match="expected at most"):
        saved_state.look_into(file, Path("a"))
    assert file.most < 100


def outcome(data: bytes, folder: Path) -> SavedStateError | None:
    """Load a file as a user does and ask the state something; None, or the error with which it was refused."""
    path = folder / "forged"
    path.write_bytes(data)
    try:
        found = saved_state.look(path)
        if found.num_wires > 6:
            return None  # a larger state is as good as any, and takes longer
        state = StateVector.load(path, device="cpu")
    except SavedStateError as error:
        return error
    with state:
        state.gate("h", [0] if state.num_wires else [])
        assert np.isfinite(state.to_numpy()).all()
    return None


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for all the files of a test of hypothesis."""
    return tmp_path_factory.mktemp("forged")


PLACED: tuple[dict[str, Any], ...] = (
    {"num_wires": 3, "precision": "double"},
    {"num_wires": 4, "precision": "single"},
    {"num_wires": 5, "precision": "double", "virtual_peers": 2},
    {"num_wires": 5, "precision": "single", "device_wires": 3},
    {"num_wires": 5, "precision": "double", "virtual_peers": 2, "device_wires": 3},
)


@cache
def written() -> tuple[bytes, ...]:
    """Files of states in several placements and both precisions, of several pieces; one does without its zeros."""
    files = []
    with tempfile.TemporaryDirectory() as folder, thresholds.instead(file_piece=4):
        for number, options in enumerate(PLACED):
            with StateVector(device="cpu", **options) as state:
                for wire in range(1 if number == len(PLACED) - 1 else state.num_wires):
                    state.gate("ry", [wire], 0.3 + wire)
                state.gate("swap", [0, 2]).gate("x", [1]).save(Path(folder) / "a")
            files.append((Path(folder) / "a").read_bytes())
    return tuple(files)


LOOSE = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@LOOSE
@given(
    number=st.integers(0, len(PLACED) - 1),
    flips=st.lists(st.tuples(st.integers(0, 4800), st.integers(1, 255)), max_size=4),
)
def test_bytes_that_changed_are_refused(folder: Path, number: int, flips: list[tuple[int, int]]) -> None:
    """Whatever bytes of a file are changed, it is refused, or loads as the state that it was."""
    data = written()[number]
    changed = bytearray(data)
    for place, mask in flips:
        changed[place % len(data)] ^= mask
    assert (outcome(bytes(changed), folder) is None) == (bytes(changed) == data)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.integers(0, 8),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
FIELDS = {
    "num_wires": st.integers(-1, 6),
    "dtype": st.sampled_from(["complex64", "complex128", "c8", "<c16"]),
    "parities": st.permutations(GOOD["parities"]) | st.lists(st.integers(0, 17).map(hex), min_size=4, max_size=4),
    "flip": st.integers(0, 20).map(hex),
    "piece": st.integers(-1, 17),
    "pieces": st.integers(-1, 5),
    "norm": st.floats(0, 2),
    "about": st.dictionaries(st.just("touched"), st.text("0123xf-_ ", max_size=6), max_size=1),
}


@LOOSE
@given(
    changes=st.fixed_dictionaries({}, optional={name: known | JSON for name, known in FIELDS.items()}),
    first=st.integers(0, 1 << 64 - 1) | st.integers(0, 20),
    values=st.lists(st.complex_numbers(allow_nan=True, allow_infinity=True) | st.just(0.5), min_size=4, max_size=4),
)
@example(changes={"about": {"touched": "0x10"}}, first=4, values=[0.6, 0, 0, 0.8j])
@example(changes={}, first=4, values=[0.6, 0, math.nan, 0.8j])
@example(changes={}, first=4, values=[1e200, 0, 0, 0.8j])
def test_forged_files_with_right_checksums_are_states_or_refused(
    folder: Path, changes: dict[str, Any], first: int, values: list[complex]
) -> None:
    """Whatever fields and amplitudes a file with right checksums has, it is a state or a SavedStateError."""
    frame = struct.pack("<Q", first % (1 << 64)) + np.array(values, dtype=complex).tobytes()
    refused = outcome(file_of({**GOOD, **changes}, frame + struct.pack("<I", zlib.crc32(frame))), folder)
    if refused is None:
        parsed(json.dumps({**GOOD, **changes}).encode())


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200) | JSON.map(lambda value: json.dumps(value).encode()))
def test_any_bytes_are_a_header_or_a_bad_one(text: bytes) -> None:
    """The reader of headers raises BadHeader and nothing else, whatever bytes it is given."""
    try:
        header = parsed(text)
    except BadHeader:
        return
    assert parsed(header.encoded()) == header


@pytest.mark.parametrize(
    ("name", "value"), [("parities", ["0x1"] * 12), ("parities", [hex(1 << 40)] * 12), ("flip", hex(1 << 40))], ids=str
)
def test_a_forged_layout_reaches_no_kernel(tmp_path: Path, name: str, value: Any) -> None:
    """A process that loads a file with a forged layout gets an error and lives on."""
    path = tmp_path / "a"
    with StateVector(12, device="cpu") as state:
        state.gate("h", [0]).save(path)
    data = path.read_bytes()
    length = struct.unpack("<I", data[16:20])[0]
    fields = {**json.loads(data[24 : 24 + length]), name: value}
    path.write_bytes(file_of(fields, data[24 + length :]))
    script = f"""
from qsim_ex import StateVector
from qsim_ex.errors import SavedStateError
from qsim_ex import thresholds
try:
    state = StateVector.load({str(path)!r}, device="cpu")
except SavedStateError as error:
    print(error)
else:
    print(state.sample(100), state.probabilities([0, 5, 11]))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"{name}: expected" in done.stdout


def test_amplitudes_that_are_no_state_are_refused(tmp_path: Path) -> None:
    """A file whose amplitudes have another norm than it says is refused with both norms, and one that says so loads."""
    path = tmp_path / "a"
    for fields, message in (
        ({**GOOD, "norm": 0.7}, "expected amplitudes of norm 0.7, as recorded, got norm 1"),
        ({**GOOD, "pieces": 0}, "expected amplitudes of norm 1, as recorded, got norm 0"),
    ):
        path.write_bytes(file_of(fields, b"" if not fields["pieces"] else None))
        with pytest.raises(SavedStateError, match=message):
            StateVector.load(path, device="cpu")
    with StateVector(3, device="cpu") as state:
        state.set([0.5, 0.5])
        wanted = state.to_numpy()
        state.save(path)
    with StateVector.load(path, device="cpu") as back:
        assert back.norm() == pytest.approx(math.sqrt(0.5))
        assert np.array_equal(back.to_numpy(), wanted)


def test_a_state_that_is_not_finite_is_not_saved(tmp_path: Path) -> None:
    """Saving a state with a NaN is an error, and the file that was there stays."""
    path = tmp_path / "a"
    path.write_text("before")
    with StateVector(3, device="cpu") as state:
        with state.placed() as placed:
            placed.write(2, np.array([math.nan + 0j]))
        with pytest.raises(SavedStateError, match="expected finite amplitudes"):
            state.save(path)
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]
