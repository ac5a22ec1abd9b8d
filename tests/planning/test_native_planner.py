"""What native code plans is a plan like any other: it can be cancelled, copied and pickled, and bounds are errors."""

from __future__ import annotations

import copy
import pickle
import threading
from time import process_time

import numpy as np
import pytest
from support import literal_executor as literal
from support.strategies import random_unitary

from qsim_ex import reference
from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.ops import ALWAYS, Op, pattern
from qsim_ex.devices.gpu.shape import shape_of
from qsim_ex.errors import Cancelled, NotSupported
from qsim_ex.native.library import cancelled_by, check_cancelled
from qsim_ex.planning import planner
from qsim_ex.planning.planner import MOST_WIRES, compiled_plan, make_plan
from qsim_ex.precision import SINGLE
from qsim_ex.simulator import Simulator
from qsim_ex.steps import Layout, Levels
from qsim_ex.steps.compiled import arrays_of
from tools.drawn_plans import REAL_SHAPES

CPU = REAL_SHAPES[0]
MATRIX = random_unitary(4, 5)


def rotations(wires: int, gates: int) -> Circuit:
    """Gates of a transpiled circuit on neighbours, in a fixed order that looks drawn."""
    builder, rng = CircuitBuilder(wires), np.random.default_rng(7)
    for kind, wire in zip(
        rng.integers(4, size=gates).tolist(), rng.integers(wires - 1, size=gates).tolist(), strict=True
    ):
        match kind:
            case 0:
                builder.gate("cx", [wire, wire + 1])
            case 1:
                builder.gate("sx", [wire])
            case _:
                builder.gate("rz", [wire], 0.25)
    return builder.build()


@pytest.mark.parametrize("levels", [Levels(20), Levels(18, 2, 10), Levels(18, 0, 10)], ids=["one", "peers", "migrated"])
def test_planning_can_be_cancelled(levels: Levels) -> None:
    """An event that is set ends planning with `Cancelled`, and nothing is kept."""
    circuit, event = rotations(20, 100_000), threading.Event()
    event.set()
    given = circuit.instructions, 20, Layout.identity(20), CPU, (1 << 20) - 1, levels, False
    with cancelled_by(event), pytest.raises(Cancelled, match="planned"):
        make_plan(*given)
    with cancelled_by(threading.Event()):
        assert make_plan(*given).num_gates == len(circuit.instructions)


def test_planning_that_has_begun_is_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planning looks at the event again and again, also while a large circuit is read part by part."""
    circuit, event, looked = rotations(28, 200_000), threading.Event(), []

    def look() -> None:
        looked.append(None)
        if len(looked) == 3:
            event.set()
        check_cancelled()

    monkeypatch.setattr(planner, "check_cancelled", look)
    with cancelled_by(event), pytest.raises(Cancelled, match="planned"):
        compiled_plan(circuit.instructions, 28, Layout.identity(28), CPU, (1 << 28) - 1, place=True)
    assert len(looked) == 3


def test_time_grows_with_the_work() -> None:
    """Eight times the gates take less than 16 times as long: nothing is looked at again and again."""
    seconds = []
    for gates in (8_000, 64_000):
        circuit = rotations(28, gates)
        begin = process_time()
        compiled_plan(circuit.instructions, 28, Layout.identity(28), CPU, (1 << 28) - 1, place=True)
        seconds.append(process_time() - begin)
    assert seconds[1] < 16 * seconds[0]


def test_circuits_that_are_read_in_parts() -> None:
    """A plan of instructions of all kinds that are read in parts does what they say, which is a power of a round."""
    matrix, rounds = random_unitary(4, 0), 3_400

    def matrix_of(circuit: Circuit) -> np.ndarray:
        return np.array([reference.simulate(circuit, column) for column in np.eye(32, dtype=np.complex128)]).T

    def repeated(times: int) -> Circuit:
        builder = CircuitBuilder(5)
        for k in range(5 * times):
            builder.gate("rz", [k % 5], 0.1).gate("cx", [k % 5, (k + 1) % 5]).unitary(matrix, [k % 5, (k + 2) % 5])
            builder.gate("swap", [k % 5, (k + 3) % 5])
        return builder.permutation([2, 0, 1, 3], [0, 4]).build()

    circuit, psi = repeated(rounds), reference.zero_state(5)
    assert len(circuit.instructions) > 1 << 16
    plan = make_plan(circuit.instructions, 5, Layout.identity(5), CPU)
    last = matrix_of(repeated(0))
    once = last.conj().T @ matrix_of(repeated(1))
    assert np.linalg.norm(literal.after(plan, circuit, psi) - last @ np.linalg.matrix_power(once, rounds) @ psi) < 1e-9


def test_dense_blocks_take_few_bytes() -> None:
    """A plan on tensor cores takes less than 600 bytes for a matrix on two wires: its block is listed row by row.

    The blocks' numbers are 256 for about four matrices, and 4 bytes each.
    """
    builder, rng, gates = CircuitBuilder(24), np.random.default_rng(3), 1000
    for _ in range(gates):
        builder.unitary(MATRIX, rng.permutation(24)[:2].tolist())
    shape = shape_of(SINGLE, tensor=True)
    arrays = arrays_of(make_plan(builder.build().instructions, 24, Layout.identity(24), shape).steps)
    assert arrays
    assert arrays.bytes < 600 * gates


def test_more_wires_than_a_mask_has() -> None:
    """A state of more index bits than native masks have is refused with what was given; one of as many is planned."""
    op = CircuitBuilder(1).gate("h", [0]).build().instructions
    for levels in (None, Levels(40, 3, 10)):
        with pytest.raises(NotSupported, match=r"expected a state of at most 62 wires, got 63; use fewer wires"):
            make_plan(op, MOST_WIRES + 1, Layout.identity(MOST_WIRES + 1), CPU, 0, levels)
        assert len(make_plan(op, MOST_WIRES, Layout.identity(MOST_WIRES), CPU, 0, levels).sweeps) == 1


def test_too_many_wires_are_refused_before_memory_is_touched() -> None:
    """A circuit whose gates join 63 wires has no plan, and says so; no device is asked for memory."""
    builder = CircuitBuilder(MOST_WIRES + 1).gate("h", [0])
    for wire in range(MOST_WIRES):
        builder.gate("cx", [wire, wire + 1]).gate("ry", [wire + 1], 0.1)
    with pytest.raises(NotSupported, match="at most 62 wires, got 63"):
        Simulator(device="cpu").explain(builder.build())


def test_more_numbers_than_native_code_counts() -> None:
    """A circuit with 2^32 numbers and more is refused; no number is read for that, so none has to exist."""
    op = Op((0,), (), ALWAYS, pattern("cccc"), (1 << 32) - 4, "matrix")
    with pytest.raises(NotSupported, match="entries"):
        make_plan((op,), 3, Layout.identity(3), CPU)
    assert make_plan((op._replace(operand=(1 << 32) - 5),), 3, Layout.identity(3), CPU).num_gates == 1


def test_plans_are_pickled_and_copied() -> None:
    """A plan that another process or a deep copy gets is equal, step by step and number by number."""
    builder = CircuitBuilder(12, 12)
    for wire in range(12):
        builder.gate("ry", [wire], 0.3).gate("cx", [wire, (wire + 1) % 12]).gate("rzz", [wire, (wire + 5) % 12], 0.2)
    (plan,) = Simulator(device="cpu").plans(builder.build())
    for other in (pickle.loads(pickle.dumps(plan)), copy.deepcopy(plan)):
        assert other.stages == plan.stages
        made, own = other.coefficients, plan.coefficients
        assert str(made.program) == str(own.program)  # arrays inside are compared by what they print
        assert all(map(np.array_equal, made.packed, own.packed))
