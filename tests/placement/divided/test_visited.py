"""One question costs few visits of a divided state: a visit of a migrated state is a pass over the host link."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from contract.placements import put
from support.held import Hold
from support.held_state import Held
from support.states import random_state

from qsim_ex.circuit.observables import PauliString, PauliSum
from qsim_ex.circuit.ops import When
from qsim_ex.devices.cpu.device import CpuDevice
from qsim_ex.errors import NotSupported
from qsim_ex.observe import drawn_wires, expectation, sampling
from qsim_ex.placement.divided import divided
from qsim_ex.placement.index_bits import relabelled
from qsim_ex.placement.wires import cloned, extended, shrunk
from qsim_ex.steps import Layout, Levels

N, LOCAL, SLICE = 10, 6, 3
CPU = CpuDevice(1)


class Narrow(CpuDevice):
    """A device whose searches go through few wires, as a GPU's do."""

    def searched_bits(self, num_bits: int, shots: int) -> int:  # noqa: ARG002  (the protocol's)
        """Four."""
        return min(4, num_bits)


@pytest.fixture(params=["in order", "turned round"])
def state(request: pytest.FixtureRequest) -> Held:
    """A state of ten wires in sixteen sub state vectors, with its highest or its lowest wires far."""
    held = Held(N, np.complex128, Levels(LOCAL, 0, SLICE), [Narrow(1)])
    layout = Layout.identity(N)
    if request.param == "turned round":
        layout = relabelled(layout, range(N)[::-1])
    put(held, random_state(N), layout)
    held.visits = 0
    return held


def test_shots_cost_two_visits(state: Held) -> None:
    """Any number of shots costs two visits."""
    sampling.draw(state, sampling.uniforms(1, 0, 2000))
    assert state.visits == 2


def test_shots_of_more_wires_than_one_marginal(state: Held, hold: Hold) -> None:
    """Shots stay the same when the highest wires are drawn in several steps."""
    numbers = sampling.uniforms(1, 0, 50)
    wanted = sampling.draw(state, numbers)
    for most in (1, 2, 4):
        hold(divided_marginal_wires=most)
        assert sampling.draw(state, numbers).tolist() == wanted.tolist()
        assert drawn_wires.draw_wires(state, range(N), numbers[0]) == wanted[0]


def test_reading_costs_one_visit(state: Held) -> None:
    """Reading any amplitudes takes one visit, and reading none takes none."""
    whole = state.read(0, 1 << N, range(N))
    assert state.visits == 1
    assert np.array_equal(state.read(100, 900, range(N)), whole[100:900])
    assert np.array_equal(state.gather(np.arange(1 << N)[::-1], range(N)), whole[::-1])
    assert state.visits == 3
    assert state.gather(np.zeros(0, dtype=np.int64), range(N)).shape == (0,)
    assert state.read(5, 5, range(N)).shape == (0,)
    assert state.visits == 3


def test_sums_cost_one_visit(state: Held) -> None:
    """A marginal, a density matrix and a norm take one visit each."""
    state.marginal(range(N), When(0, 0))
    state.density([0, 9, 4])
    state.norm_squared()
    assert state.visits == 3


def test_pauli_strings_share_visits(state: Held) -> None:
    """X-parts that fit together share a visit, and all Z-parts take one."""
    terms = [PauliString(0b11 << wire, 0b101 << wire) for wire in range(N - 2)]
    expectation.pauli_sums(state, [PauliSum(tuple(terms))])
    assert state.visits <= 5
    state.visits = 0
    expectation.pauli_sums(state, [PauliSum(tuple(PauliString(0, 1 << wire) for wire in range(N)))])
    assert state.visits == 1


def test_x_on_all_wires(state: Held) -> None:
    """A string that mixes more wires than any visit brings near has its defined value, and the state stays."""
    psi = state.read(0, 1 << N, range(N))
    state.visits = 0
    found = expectation.pauli_sums(state, [PauliSum((PauliString((1 << N) - 1, 0b1010010110),))])
    signs = (-1.0) ** np.bitwise_count(np.arange(1 << N) & 0b1010010110)
    assert found[0] == pytest.approx((1j**5 * np.sum(psi[::-1].conj() * signs * psi)).real, abs=1e-12)
    assert state.visits == 5  # seven wires above a slice, three of which fit: two visits there, one, and two back
    assert np.array_equal(state.read(0, 1 << N, range(N)), psi)


def test_a_string_that_is_interrupted(state: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    """A state whose amplitudes were exchanged for a question that then failed is released."""
    monkeypatch.setattr(state.devices[0], "pauli", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        state.paulis([((1 << N) - 1, [0])])
    assert not hasattr(state, "home")
    state.release()


def test_fresh_wires_cost_nothing() -> None:
    """X on a wire that nothing has mixed costs no visit, and known zeros are not visited."""
    held = Held(N, np.complex128, Levels(LOCAL, 0, SLICE), [CPU])
    assert expectation.pauli_sums(held, [PauliSum((PauliString(1 << 9, 3),))]) == [0]
    assert held.visits == 0
    assert held.density([9, 8])[0, 0] == 1
    assert sum(1 for _ in held.visit()) == 1


def test_questions_that_no_visit_can_answer() -> None:
    """A question about more wires than a sub state vector has is refused with both numbers."""
    held = Held(5, np.complex128, Levels(2, 0, 2), [CPU])
    put(held, random_state(2), Layout.identity(5))
    assert held.density([0, 1, 4]).shape == (8, 8)  # wire 4 is known to be 0
    full = Held(5, np.complex128, Levels(3, 0, 1), [CPU])
    put(full, random_state(5), Layout.identity(5))
    with pytest.raises(NotSupported, match=r"4 wires .* 3 of 5 wires"):
        full.density([0, 1, 2, 4])


def test_a_kind_that_cannot_be_copied() -> None:
    """A placement that cannot make another of its kind refuses to clone, extend and shrink."""

    class Sole(Held):
        kind = "sole"
        another: Any = divided.Divided.another

    held = Sole(4, np.complex128, Levels(2, 0, 1), [CPU])
    for change in (lambda: cloned(held), lambda: extended(held, 1), lambda: shrunk(held, [3])):
        with pytest.raises(NotSupported, match="a state of kind 'sole'"):
            change()
    assert held.gather(np.array([0]), range(4)) == [1]
