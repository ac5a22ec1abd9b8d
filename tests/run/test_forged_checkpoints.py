"""Every field of every kind of checkpoint is checked: a forged one ends in a `SavedStateError`, and in nothing else."""

from __future__ import annotations

import copy
import io
import json
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from qsim_ex import Checkpoint, Circuit, CircuitBuilder, JobCheckpoint, PauliString, PauliSum, Simulator, StateVector
from qsim_ex.circuit.noise.channels import amplitude_damping
from qsim_ex.errors import SavedStateError

WIRES = 6
MISSING = object()
DEEP: Any = []
for _ in range(60):
    DEEP = [DEEP]
BAD: tuple[Any, ...] = (
    MISSING, None, True, "x", "-0x1", "0x" + "f" * 40, -1, 1.5, -0.5, float("nan"), 1e300, 1 << 40, 1 << 64, -(1 << 64),
    [], {}, [None], [[1]], {"a": [1]}, DEEP,
)  # fmt: skip

Step = str | int
LEGAL = {"levels", "at", "before", "binding"}
"""What files of version 0.1 do not have, or those of the first binding; without it a position is still one."""


def measured(builder: CircuitBuilder, layers: int = 4) -> CircuitBuilder:
    """Gates and a measurement in each layer."""
    for layer in range(layers):
        for wire in range(WIRES):
            builder.gate("ry", [wire], 0.3 + wire + layer)
        for wire in range(WIRES - 1):
            builder.gate("cx", [wire, wire + 1])
        builder.channel(amplitude_damping(0.1), [layer + 1]).measure([layer], [layer])
    return builder


def saves() -> Circuit:
    """Noise and measurements, and saves of every way to put values together."""
    builder = measured(CircuitBuilder(WIRES, WIRES), 3)
    for number, how in enumerate(("average", "accum", "list", "c_average", "c_accum", "c_list")):
        builder.save(f"s{number}", "probabilities", wires=[0, 1], how=how)
    builder.save("state").save("states", "statevector", how="c_single")
    return builder.measure(range(WIRES), range(WIRES)).build()


def loops() -> Circuit:
    """A loop that ends by chance, in which values are saved and recorded."""
    builder = CircuitBuilder(2, 3)
    with builder.loop(builder.bits([0]).invert()):
        builder.gate("ry", [0], 1.1).gate("ry", [1], 0.2).measure([0, 1], [0, 1])
        builder.save("each", "probabilities", how="list").save("mean", "probabilities", how="c_average")
        builder.record("seen", builder.bits([0, 1]))
    return builder.build()


class Kind(NamedTuple):
    """A kind of checkpoint: `stop` leaves one at a path, and `go_on` continues from it."""

    stop: Callable[[Path], object]
    go_on: Callable[[Path], object]


def stopping(at: int) -> Callable[[int, int], None]:
    """A progress callback that raises when so many steps are done."""
    calls = iter(range(1, 1 << 30))

    def progress(_done: int, _total: int) -> None:
        if next(calls) == at:
            raise KeyboardInterrupt

    return progress


def state_kind(at: int, near: tuple[int, ...] = (4,)) -> Kind:
    """A state in progress; near: the wires near a device in each of the runs that were stopped."""
    made = measured(CircuitBuilder(WIRES, WIRES)).measure(range(WIRES), range(WIRES)).build()
    asked: dict[str, Any] = {"shots": 3, "seeds": [3, 4], "bindings": np.repeat(made.operands, 2, axis=0)}

    def stop(path: Path) -> None:
        for wires in near:
            with pytest.raises(KeyboardInterrupt):
                Simulator(
                    device="cpu",
                    threads=1,
                    device_wires=wires,
                    checkpoint=path,
                    checkpoint_every=0,
                    progress=stopping(at),
                ).run_batch(made, **asked)

    return Kind(
        stop, lambda path: Simulator(device="cpu", threads=1, device_wires=4, checkpoint=path).run_batch(made, **asked)
    )


def results_kind(made: Circuit, **asked: Any) -> Kind:
    """The results of a run that has ended."""

    def go_on(path: Path) -> object:
        return Simulator(device="cpu", checkpoint=Checkpoint(path, keep=True)).run_batch(made, **asked)

    return Kind(go_on, go_on)


SUMS = [PauliSum((PauliString(0, 1),))]
STATES = {
    "a state on its way": state_kind(30),
    "a state of the second binding": state_kind(200),
    "a state that was divided otherwise before": state_kind(20, (5, 4, 5)),
}
RESULTS = {
    "saves": results_kind(
        saves(), shots=6, seeds=[3, 4], observables=SUMS, bindings=np.repeat(saves().operands, 2, axis=0)
    ),
    "loops": results_kind(loops(), shots=6, seeds=[3]),
}


# --- what is forged ---------------------------------------------------------------------------------------------------


def places(value: Any, at: tuple[Step, ...] = ()) -> Iterator[tuple[Step, ...]]:
    """The places of all values in a JSON value, itself among them; of long lists those of the first and the last."""
    if at:
        yield at
    if isinstance(value, dict):
        for name, one in value.items():
            yield from places(one, (*at, name))
    elif isinstance(value, list):
        for k in sorted({0, len(value) - 1}) if value else ():
            yield from places(value[k], (*at, k))


def forged(about: Any) -> Iterator[tuple[str, Any]]:
    """All forgeries of one field of a JSON object, each with its name."""
    for at in places(about):
        if at[0] == "run" and len(at) == 1:
            continue
        for bad in BAD:
            made = copy.deepcopy(about)
            *way, last = at
            inner = made
            for step in way:
                inner = inner[step]
            if bad is MISSING and last in LEGAL:
                continue
            if at[:2] == ("branch", "scales") and type(bad) is float and 0 < bad < 2:
                continue  # a factor is any number above 0
            if bad is MISSING:
                del inner[last]
            elif type(inner[last]) is type(bad) and inner[last] == bad:
                continue
            else:
                inner[last] = copy.deepcopy(bad)
            if last == -1 or (bad is MISSING and at[:2] == ("branch", "shots")):
                continue  # fewer shots are a branch too
            yield f"{at} {'missing' if bad is MISSING else repr(bad)[:40]}", made
        if isinstance(value := _at(about, at), list) and at[:2] != ("branch", "shots"):
            for other in (value * 2, value[:-1]):
                if other != value:
                    made = copy.deepcopy(about)
                    _at(made, at[:-1])[at[-1]] = other
                    yield f"{at} of length {len(other)}", made


def _at(value: Any, way: tuple[Step, ...]) -> Any:
    for step in way:
        value = value[step]
    return value


def refused(kind: Kind, path: Path, name: str) -> str | None:
    """What happened instead of a `SavedStateError`; None if nothing did."""
    try:
        kind.go_on(path)
    except SavedStateError:
        return None
    except Exception as error:  # noqa: BLE001 - which is what the test is about
        return f"{name}: {type(error).__name__}: {error}"
    return f"{name}: the run went on"


@pytest.mark.parametrize("name", STATES)
def test_every_field_of_a_state_in_progress(tmp_path: Path, name: str) -> None:
    """No field beside a state can be of another type, out of its range, of another length, or missing."""
    kind, path = STATES[name], tmp_path / "run"
    kind.stop(path)
    data, beside = path.read_bytes(), tmp_path / "run.found"
    others = beside.read_bytes() if beside.exists() else None
    (length,) = struct.unpack("<I", data[16:20])
    header = json.loads(data[24 : 24 + length])
    assert {"parts", "at", "branch", "levels", "seeds"} <= {*header["about"]}
    assert header["about"].get("binding", 0) == (name == "a state of the second binding")
    wrong: list[str | None] = []
    for what, about in forged(header["about"]):
        text = json.dumps({**header, "about": about}).encode()
        path.write_bytes(data[:16] + struct.pack("<II", len(text), zlib.crc32(text)) + text + data[24 + length :])
        if others is not None:
            beside.write_bytes(others)
        wrong.append(refused(kind, path, what))
    assert not any(wrong), "\n".join(filter(None, wrong))
    assert len(wrong) > 300


@pytest.mark.parametrize("name", STATES)
def test_fields_that_do_not_fit_each_other(tmp_path: Path, name: str) -> None:
    """Fields in their ranges that are not those of the state go unnoticed or are refused, and end no other way."""
    kind, path = STATES[name], tmp_path / "run"
    kind.stop(path)
    data, found = path.read_bytes(), sorted(tmp_path.iterdir())
    beside = {one: one.read_bytes() for one in found}
    (length,) = struct.unpack("<I", data[16:20])
    header = json.loads(data[24 : 24 + length])
    at, wrong = header["about"]["at"], []
    others: list[dict[str, Any]] = [
        *({"flip": mask} for mask in ("0x0", "0x1", "0x3f", "0x20")),
        *({"fresh": mask} for mask in ("0x0", "0x1", "0x3f")),
        {"address": at["address"][::-1]}, {"address": at["address"][1:] + at["address"][:1]},
        {"before": [[header["about"]["levels"], 1]]}, {"before": []},
        {"before": at["before"][::-1]}, {"before": at["before"] * 2},
    ]  # fmt: skip
    for change in others:
        for parts in {0, header["about"]["parts"]}:
            about = {**header["about"], "at": {**at, **change}, "parts": parts}
            text = json.dumps({**header, "about": about}).encode()
            for one, content in beside.items():
                one.write_bytes(content)
            path.write_bytes(data[:16] + struct.pack("<II", len(text), zlib.crc32(text)) + text + data[24 + length :])
            told = refused(kind, path, f"{change}, {parts} parts")
            wrong.append(None if told is None or told.endswith("the run went on") else told)
    assert not any(wrong), "\n".join(filter(None, wrong))


def arrays_forged(arrays: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """All forgeries of one array of results."""
    for name, array in arrays.items():
        if name == "about":
            continue
        changed: dict[str, Any] = {
            "missing": None,
            "longer": np.concatenate([array, array]) if len(array) else np.zeros((1, *array.shape[1:]), array.dtype),
            "nested": array[None],
            "a number": np.array(5),
            "text": np.full(array.shape, "x"),
            "of another type": np.zeros(array.shape, np.float32 if array.dtype != np.float32 else np.int64),
        }
        if len(array):
            changed["shorter"] = array[:-1]
        if array.size and array.dtype.kind in "fc":
            changed |= {"NaN": np.full_like(array, np.nan), "infinite": np.full_like(array, np.inf)}
        if array.size and array.dtype == np.int64:
            changed |= {"negative": np.full_like(array, -1), "too large": np.full_like(array, 1 << 40)}
        if name == "packed" or name.endswith("_values"):
            changed["too large"] = np.full_like(array, 255)
        for how, one in changed.items():
            made = {**arrays, name: one}
            yield f"{name} {how}", {key: value for key, value in made.items() if value is not None}


@pytest.mark.parametrize("name", RESULTS)
def test_every_array_of_the_results(tmp_path: Path, name: str) -> None:
    """No array of the results so far can be of another type or shape, out of its range, or missing."""
    kind, path = RESULTS[name], tmp_path / "run"
    kind.stop(path)
    with np.load(path) as file:
        arrays: dict[str, Any] = {key: file[key] for key in file.files}
    assert len(arrays) > (12 if name == "saves" else 8)
    wrong = []
    for what, made in arrays_forged(arrays):
        with path.open("wb") as out:
            np.savez(out, **made)
        wrong.append(refused(kind, path, what))
    assert not any(wrong), "\n".join(filter(None, wrong))


@pytest.mark.parametrize("name", RESULTS)
def test_every_field_beside_the_results(tmp_path: Path, name: str) -> None:
    """No field beside the results can be of another type, out of its range, of another length, or missing."""
    kind, path = RESULTS[name], tmp_path / "run"
    kind.stop(path)
    with np.load(path) as file:
        arrays: dict[str, Any] = {key: file[key] for key in file.files}
    wrong = []
    for what, about in forged(json.loads(arrays["about"].tobytes())):
        with path.open("wb") as out:
            np.savez(out, **{**arrays, "about": np.frombuffer(json.dumps(about).encode(), dtype=np.uint8)})
        wrong.append(refused(kind, path, what))
    assert not any(wrong), "\n".join(filter(None, wrong))


def test_results_that_are_no_arrays(tmp_path: Path) -> None:
    """A zip that holds something else than arrays, or says so, is refused."""
    kind, path = RESULTS["loops"], tmp_path / "run"
    kind.stop(path)
    good = path.read_bytes()
    with zipfile.ZipFile(io.BytesIO(good)) as file:
        parts = {name: file.read(name) for name in file.namelist()}
    body = parts["done.npy"]
    bodies = [
        b"", b"x", body[:-1], body.replace(b"|b1", b"|O "), body.replace(b"|b1", b"<V9"),
        body.replace(b"(1, 6)", b"(1<<62,)"), body.replace(b"(1, 6)", b"(-1, 6)"), body[:8] + b"\xff\xff" + body[10:],
        body.replace(b"'shape'", b"'shapf'"), body.replace(b"{", b"("),
    ]  # fmt: skip
    wrong = []
    for number, one in enumerate(bodies):
        with zipfile.ZipFile(path, "w") as out:
            for name, data in {**parts, "done.npy": one}.items():
                out.writestr(name, data)
        wrong.append(refused(kind, path, f"body {number}"))
    for at in range(0, len(good), 37):  # any byte
        for flip in (0x01, 0xFF):
            path.write_bytes(good[:at] + bytes([good[at] ^ flip]) + good[at + 1 :])
            found = refused(kind, path, f"byte {at} ^ {flip}")
            wrong.append(None if found is None or found.endswith("the run went on") else found)
    assert not any(wrong), "\n".join(filter(None, wrong))


def test_every_field_of_a_job(tmp_path: Path) -> None:
    """No field of the file of a job can be of another type, out of its range, or missing."""
    path = tmp_path / "job"
    kind = Kind(lambda at: JobCheckpoint(at, "key", 2, 5), lambda at: JobCheckpoint(at, "key", 2, 5))
    kind.stop(path)
    told = json.loads(path.read_bytes())
    wrong = []
    for what, about in forged(told):
        path.write_text(json.dumps(about))
        wrong.append(refused(kind, path, what))
    assert not any(wrong), "\n".join(filter(None, wrong))


def test_the_field_of_a_state(tmp_path: Path) -> None:
    """What a saved state says of its wires is a mask of them."""
    path = tmp_path / "a"
    kind = Kind(lambda _: None, lambda at: StateVector.load(at, device="cpu").close())
    with StateVector(WIRES, device="cpu") as state:
        state.gate("h", [0]).save(path)
    data = path.read_bytes()
    (length,) = struct.unpack("<I", data[16:20])
    header = json.loads(data[24 : 24 + length])
    wrong = []
    for bad in BAD[1:]:
        text = json.dumps({**header, "about": {"touched": bad}}).encode()
        path.write_bytes(data[:16] + struct.pack("<II", len(text), zlib.crc32(text)) + text + data[24 + length :])
        wrong.append(refused(kind, path, repr(bad)[:40]))
    assert not any(wrong), "\n".join(filter(None, wrong))
