"""Every parameter of `StateVector`, and what was decided about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from contract.asked_parameters import ASKED, Shared
from contract.decided import (
    ANGLES,
    OTHERS,
    Call,
    Method,
    basis,
    cancels,
    chances,
    gives,
    held,
    in_order,
    product,
    refuses,
    seeded,
)
from contract.engine_parameters import turned

from qsim_ex import CircuitBuilder, Options, Simulator, StateVector
from qsim_ex.errors import OptionError, StateError

MINE = product(*ANGLES)
SWAPPED = CircuitBuilder(3).gate("swap", [0, 2]).build()


def mine(**options: Any) -> StateVector:
    """Three wires, each turned by its angle."""
    return StateVector(3, **{"device": "cpu", **options}).apply(turned(*ANGLES))


def _state(method: str, read: Callable[[StateVector, Any], Any] | None = None, begin: str = "", **how: Any) -> Call:
    """read: of the state and of what the method gave. how: its options.

    begin: a method that is called before, or ``at home``, where amplitudes are looked at in the order of the wires.
    """

    def call(**given: Any) -> Any:
        with mine(**how) as state:
            if begin == "at home":
                state.canonical().expose()
            elif begin:
                getattr(state, begin)()
            found = asked(state, method, given)
            found = read(state, found) if read else found
            return np.array(found.to_numpy() if isinstance(found, StateVector) else found)

    return call


def asked(state: Any, method: str, given: Mapping[str, Any]) -> Any:
    """Call a method of a state by name; the parameters of a gate are given by their places."""
    if method != "gate":
        return getattr(state, method)(**given)
    angles = given.get("parameters", ())
    rest = {name: value for name, value in given.items() if name not in ("name", "wires", "parameters")}
    return state.gate(given["name"], given["wires"], *angles, **rest)


def _itself(state: StateVector, _: Any) -> Any:
    return state.to_numpy()


def _lies(state: StateVector, _: Any) -> Any:
    return state.array.copy()


def _saves(_: Method, name: str) -> None:
    with TemporaryDirectory() as folder, mine() as state:
        state.save(**{name: f"{folder}/state"})
        with StateVector.load(f"{folder}/state", device="cpu") as again:
            assert np.array_equal(again.to_numpy(), state.to_numpy())


def _load(read: Callable[[StateVector], Any] = StateVector.to_numpy) -> Call:
    """Of two files that were written before, one is loaded."""

    def call(path: str, **given: Any) -> Any:
        with TemporaryDirectory() as folder:
            for name, angles in (("mine", ANGLES), ("other", OTHERS)):
                with StateVector(3, device="cpu").apply(turned(*angles)) as state:
                    state.save(f"{folder}/{name}")
            with StateVector.load(f"{folder}/{path}", **given) as loaded:
                return read(loaded)

    return call


def _checks_norm(_: Method, name: str) -> None:
    told: list[float] = []
    with StateVector(3, device="cpu") as state:
        state.set(2 * MINE)
        state.draw(5, **{name: told.append})
    assert np.allclose(told, [4])


def _alone(name: str, shared: Shared) -> Method:
    """The questions that a state and a batch of states have in common."""
    return shared.of(lambda read: _state(name, read), lambda expected: expected(MINE))


def held_by(angles: Sequence[float]) -> StateVector:
    """Return a state of a wire for each angle."""
    return StateVector(len(angles), device="cpu", array=product(*angles).astype(complex))


RESET = product(0.0, *ANGLES[1:])
NOWHERE = (StateError, "sub state vector 9")
_GPU = (OptionError, "need a GPU")
PEERS = {"virtual_peers": 2}
WINDOWS = {"device_wires": 2}
HALVES = MINE.reshape(2, 4)
_MOVED = _state("permute_index_bits", _lies, begin="canonical")
STATE: Mapping[str, Method] = {
    "StateVector": Method(
        lambda **given: StateVector(**given, device="cpu"),
        {"num_wires": 2},
        {
            "num_wires": gives(3, basis(3, 0)),
            "initial": gives(2, basis(2, 2)),
            "options": gives(Options(precision="single"), 32, lambda **g: StateVector(**g, device="cpu").nbytes),
            "array": gives(product(*ANGLES[:2]).astype(complex), product(*ANGLES[:2])),
            "stream": refuses(object(), *_GPU),
            "allocator": refuses(object(), *_GPU),
            "where": gives(
                Simulator(device="cpu", virtual_peers=2).placement(2),
                1,
                lambda **given: len(StateVector(**given, device="cpu").peer_wires),
            ),
        },
    ),
    "StateVector.apply": Method(
        lambda **given: StateVector(3, device="cpu").apply(**given),
        {"circuit": turned(*ANGLES)},
        {
            "circuit": gives(turned(*OTHERS), product(*OTHERS)),
            "cancel": cancels(),
            "in_order": gives(True, [0, 1, 2], lambda **given: mine().apply(**given).wire_ordering, circuit=SWAPPED),
        },
    ),
    "StateVector.set_product": Method(
        lambda **given: StateVector(3, device="cpu").set_product(**given),
        {"low": held_by(ANGLES[:1]), "high": held_by(ANGLES[1:])},
        {
            "low": gives(held_by(OTHERS[:1]), product(OTHERS[0], *ANGLES[1:])),
            "high": gives(held_by(OTHERS[1:]), product(ANGLES[0], *OTHERS[1:])),
        },
    ),
    "StateVector.measure": Method(
        _state("measure"),
        {"wires": [0], "random": 0.9},  # less than the chance of wire 0 to be 0
        {
            "wires": gives([2, 0], 3, random=0.99),  # the last of the values is found above 0.94
            "random": gives(0.95, 1),
            "seed": seeded(wires=[0, 1, 2], random=None),
            "collapse": gives("reset", RESET, _state("measure", _itself), random=0.95),
        },
    ),
    "StateVector.collapse": Method(
        _state("collapse", _itself),
        {"wires": [0], "bits": 1},
        {
            "wires": gives([2], held(MINE, 2, 1) / np.sqrt(chances(MINE, 2)[1])),
            "bits": gives(0, held(MINE, 0, 0) / np.sqrt(chances(MINE, 0)[0])),
            "mode": gives("reset", RESET),
        },
    ),
    "StateVector.save": Method(lambda: None, {}, {"path": _saves}),
    "StateVector.load": Method(
        _load(),
        {"path": "mine"},
        {
            "path": gives("other", product(*OTHERS)),
            "options": gives(Options(device="cpu", precision="single"), 64, _load(lambda state: state.nbytes)),
        },
    ),
    "StateVector.inner": Method(
        _state("inner"), {"other": StateVector(3, device="cpu")}, {"other": gives(mine(), 1.0)}
    ),
    "StateVector.fidelity": Method(
        _state("fidelity"), {"other": StateVector(3, device="cpu")}, {"other": gives(mine(), 1.0)}
    ),
    "StateVector.draw": Method(
        lambda **given: mine().draw(**given),
        {"shots": 40},
        {
            "shots": gives(3, (3,), lambda **given: mine().draw(**given).shape),
            "seed": seeded(),
            "check_norm": _checks_norm,
        },
    ),
    "StateVector.sample": Method(
        lambda **given: StateVector(3, device="cpu", initial=5).sample(**given),
        {"shots": 2},
        {
            "shots": gives(3, [[1, 0, 1]] * 3),
            "wires": gives([1, 2], [[0, 1]] * 2),
            "seed": seeded(lambda **given: mine().sample(**given), shots=40),
            "packed": gives(True, [[5]] * 2),
        },
    ),
    "StateVector.permute_index_bits": Method(
        _MOVED,
        {"bits": [0, 1, 2]},
        {
            "bits": gives([1, 2, 0], in_order(MINE, [1, 2, 0])),
            "mode": gives("scatter", in_order(MINE, [2, 0, 1]), bits=[1, 2, 0]),
        },
    ),
    "StateVector.relabel": Method(
        _state("relabel"), {"names": [0, 1, 2]}, {"names": gives([1, 2, 0], product(2.0, 0.6, 1.1))}
    ),
    "StateVector.reassign": Method(
        _state("reassign", begin="canonical"),
        {"ordering": [0, 1, 2]},
        {"ordering": gives([1, 2, 0], product(2.0, 0.6, 1.1))},
    ),
    "StateVector.add_wires": Method(_state("add_wires"), {}, {"count": gives(2, product(*ANGLES, 0.0, 0.0))}),
    "StateVector.remove_wires": Method(
        lambda **given: StateVector(3, device="cpu", initial=4).remove_wires(**given),
        {"wires": [2]},
        {"wires": gives([0], basis(2, 2))},
    ),
    "StateVector.stage": Method(
        _state("stage", lambda state, _: state.staged, **WINDOWS), {"index": 0}, {"index": gives(1, [1])}
    ),
    "StateVector.sub_state_vector": Method(
        _state("sub_state_vector", begin="at home", **PEERS), {"index": 0}, {"index": gives(1, HALVES[1])}
    ),
    "StateVector.slice": Method(
        _state("slice", begin="at home", device_wires=2, window_slots=2),
        {"index": 0, "number": 0},
        {"index": gives(1, MINE[4:6]), "number": gives(1, MINE[2:4])},
    ),
    "StateVector.device_of": Method(
        _state("device_of", lambda _, found: found.kind == "cpu", begin="expose", **PEERS),
        {"index": 1},
        {"index": refuses(9, *NOWHERE)},  # all are on one CPU
    ),
    "StateVector.stream_of": Method(
        _state("stream_of", lambda _, found: found is None, begin="expose", **PEERS),
        {"index": 1},
        {"index": refuses(9, *NOWHERE)},
    ),
    **{f"StateVector.{name}": _alone(name, shared) for name, shared in ASKED.items()},
}
