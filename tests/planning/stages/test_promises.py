"""Plans with stages keep their promises: few motions, bytes as counted by hand, and work for all devices."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support import literal_executor as literal
from support.promises import verify

from qsim_ex import reference
from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.ops import Instruction
from qsim_ex.errors import NotSupported, OptionError, PlanError
from qsim_ex.planning import rules
from qsim_ex.planning.coefficients.binding import bind
from qsim_ex.planning.cost.rates import H200
from qsim_ex.planning.cost.stage_cost import stage_costs
from qsim_ex.planning.cost.summary import summary
from qsim_ex.planning.explain import explain
from qsim_ex.planning.planner import make_plan
from qsim_ex.precision import SINGLE
from qsim_ex.steps import Coefficients, Exchange, Layout, Levels, Migration, Plan, RegisterBlock, Shape, Stage, Sweep
from qsim_ex.steps.algebra import columns_on, units
from qsim_ex.steps.plan import begins_alike
from qsim_ex.steps.step import ZeroFill

H200_SHAPE = Shape(tile=12, registers=4, low=4, edge=4, most_blocks=None, dense=4, start=20)
TINY = Shape(tile=3, registers=2, low=1, edge=1, most_blocks=None, dense=2, start=2)


def new_state_plan(instructions: tuple[Instruction, ...], num_wires: int, levels: Levels) -> Plan:
    """The plan of unitary instructions on |0…0> for large GPUs."""
    fresh = (1 << num_wires) - 1
    return make_plan(instructions, num_wires, Layout.identity(num_wires), H200_SHAPE, fresh, levels, place=True)


def qft(num_wires: int) -> Circuit:
    """The quantum Fourier transform of a product state, swaps included."""
    builder = CircuitBuilder(num_wires)
    for wire in range(num_wires):
        builder.gate("ry", [wire], 0.3 + wire)
    for target in reversed(range(num_wires)):
        builder.gate("h", [target])
        for control in reversed(range(target)):
            builder.gate("cp", [control, target], np.pi / 2 ** (target - control))
    for wire in range(num_wires // 2):
        builder.gate("swap", [wire, num_wires - 1 - wire])
    return builder.build()


def layers(num_wires: int, depth: int) -> Circuit:
    """Dense layers of neighbours and of the ends, so that no division needs less than several motions."""
    builder = CircuitBuilder(num_wires)
    for layer in range(depth):
        for wire in range(num_wires):
            builder.gate("u3", [wire], 0.3 + wire, 0.1 * layer, 0.7)
        for wire in range(layer % 2, num_wires, 2):
            builder.gate("cx", [wire, (wire + 1) % num_wires])
            builder.gate("ch", [(wire + 1) % num_wires, wire])
    return builder.build()


def motions(plan: Plan, kind: type) -> int:
    """How many motions of a kind a plan has."""
    return sum(isinstance(stage.motion, kind) for stage in plan.stages)


@pytest.mark.parametrize("local", [29, 28, 27, 25])
def test_qft_takes_two_passes(local: int) -> None:
    """A QFT of 30 wires makes two passes, and the first one copies nothing that is known to be zero."""
    plan = new_state_plan(qft(30).instructions, 30, Levels(local, 0, 16))
    verify(plan)
    assert motions(plan, Migration) == 2
    far = 30 - local
    assert summary(plan, SINGLE).bytes_host <= 8 * (2**30 + 2 * 2 ** (30 - far)) + 8


def test_qft_on_four_devices_exchanges_little() -> None:
    """A QFT on four devices exchanges once, while the state is still small."""
    plan = new_state_plan(qft(30).instructions, 30, Levels(28, 2, 16))
    verify(plan)
    assert motions(plan, Exchange) == 1
    assert summary(plan, SINGLE).bytes_peers < 2**25


def test_what_only_reads_a_far_bit_moves_nothing() -> None:
    """Controls, phases and swaps on far wires move nothing."""
    builder = CircuitBuilder(8)
    for wire in range(4):
        builder.gate("h", [wire]).gate("cx", [7, wire]).gate("cp", [6, wire], 0.3).gate("rzz", [5, wire], 0.1)
    circuit = builder.gate("cz", [6, 7]).gate("swap", [0, 7]).build()
    plan = make_plan(circuit.instructions, 8, Layout.identity(8), TINY, 0, Levels(4, 2, 1))
    assert motions(plan, Exchange) == 0
    assert motions(plan, Migration) == 1
    plan = make_plan(circuit.instructions, 8, Layout.identity(8), TINY, 0, Levels(6, 2, 1))
    assert [stage.motion for stage in plan.stages] == [None]


def test_never_mixed_bits_stay_fresh() -> None:
    """Far wires that nothing mixes stay fresh, and are never exchanged."""
    circuit = CircuitBuilder(8).gate("h", [7]).gate("h", [6]).gate("cx", [7, 5]).build()
    for levels in (Levels(4, 2, 1), Levels(5, 3), Levels(4)):
        plan = make_plan(circuit.instructions, 8, Layout.identity(8), TINY, 255, levels, place=True)
        assert plan.left == 255 & ~((1 << levels.local) - 1)
        assert motions(plan, Exchange) == 0


@pytest.mark.parametrize("slice_bits", [2, 3, 4])
@pytest.mark.parametrize("fresh", [0, 255])
def test_wide_operations_fit_above_wide_slices(slice_bits: int, fresh: int) -> None:
    """A matrix on as many wires as are local is planned despite the slice, and is right."""
    rng = np.random.default_rng(1)
    matrix = np.linalg.qr(rng.normal(size=(32, 32)) + 1j * rng.normal(size=(32, 32)))[0]
    builder = CircuitBuilder(8)
    for wire in range(8):
        builder.gate("h", [wire]).gate("t", [wire])
    circuit = builder.unitary(matrix, [3, 4, 5, 6, 7]).unitary(matrix, [1, 3, 5, 7, 6]).gate("ch", [7, 0]).build()
    for levels in (Levels(5, 2, slice_bits), Levels(5, 3, slice_bits), Levels(5, 0, slice_bits)):
        plan = make_plan(circuit.instructions, 8, Layout.identity(8), TINY, fresh, levels)
        after = literal.run(plan, bind(plan, circuit.operands), reference.zero_state(8))
        found = after[[plan.end.index(value) for value in range(256)]]
        assert np.linalg.norm(found - reference.simulate(circuit)) <= 1e-12


def test_too_wide_is_refused() -> None:
    """An operation on more wires than are local is refused by name, and so are impossible levels."""
    matrix = np.linalg.qr(np.random.default_rng(0).normal(size=(32, 32)))[0]
    circuit = CircuitBuilder(8).unitary(matrix, [0, 1, 2, 3, 4]).build()
    with pytest.raises(NotSupported, match=r"'unitary' mixes 5 bits at once; .* 4 local bits"):
        make_plan(circuit.instructions, 8, Layout.identity(8), TINY, 0, Levels(4, 1))
    for levels in (Levels(4, 5), Levels(4, 1, 4), Levels(4, -1), Levels(4, 0, -1)):
        with pytest.raises(OptionError, match=r"expected 0 <= slice < local, peers >= 0 and local .* peers <= 8 wires"):
            make_plan(circuit.instructions, 8, Layout.identity(8), TINY, 0, levels)


def test_a_mesh_uses_all_links() -> None:
    """In a mesh an exchange swaps two bits and so uses all links, and over a switch it swaps one."""
    builder = CircuitBuilder(8)
    for wire in (7, 0, 1):
        builder.gate("h", [wire])
    circuit = builder.build()
    swaps = {}
    for network in ("switch", "mesh"):
        levels = Levels(6, 2, 1, network)  # type: ignore[arg-type]
        plan = make_plan(circuit.instructions, 8, Layout.identity(8), TINY, 0, levels)
        swaps[network] = [stage.motion.swaps for stage in plan.stages if isinstance(stage.motion, Exchange)]
    assert [len(pairs) for pairs in swaps["switch"]] == [1]
    assert [len(pairs) for pairs in swaps["mesh"]] == [2]


def test_bytes_of_an_exchange_by_hand() -> None:
    """The bytes of an exchange are those counted index by index, fresh bits or not."""
    step = new_state_plan(qft(8).instructions, 8, Levels(8)).steps[0]
    index = np.arange(256)
    for swaps in (((3, 6),), ((3, 6), (4, 7))):
        for fresh in (0, 1 << 3, 1 << 4 | 1 << 0, 1 << 6):
            there = index[index & fresh == 0]  # after the exchange
            before = there.copy()
            for one, other in swaps:
                differ = (before >> one ^ before >> other) & 1
                before ^= differ << one | differ << other
            moved = before >> 6 != there >> 6
            sent = np.zeros((4, 4), dtype=int)
            np.add.at(sent, (before[moved] >> 6, there[moved] >> 6), 8)
            stages = (Stage((step,), Exchange(swaps), fresh),)
            for network in ("switch", "mesh"):
                cost = stage_costs(stages, 8, Levels(6, 2, 0, network), SINGLE, shape=H200_SHAPE)[0]  # type: ignore[arg-type]
                assert cost.peers == sent.sum()
                most = max(sent.sum(axis=0).max(), sent.sum(axis=1).max())
                assert (cost.sent, cost.link) == (most, sent.max())
                slowest = most if network == "switch" else 3 * sent.max()
                assert cost.moving == pytest.approx(slowest / H200.peer + H200.exchange)


def test_a_tile_is_stored_where_it_was_read() -> None:
    """A tile that is stored elsewhere, or whose last register block mixes what goes to lanes, breaks the rules."""
    plan = make_plan(layers(8, 2).instructions, 8, Layout.identity(8), TINY)
    first = plan.sweeps[0]

    def stored(*to: int) -> Plan:
        stage = plan.stages[0]
        return replace(
            plan,
            stages=(replace(stage, steps=(replace(first, store=columns_on(first.tile, units(to))), *stage.steps[1:])),),
        )

    low, near = first.tile[0], first.register_blocks[-1].registers
    other = next(bit for bit in first.tile if bit in near)
    verify(stored(*first.tile))
    with pytest.raises(PlanError, match="where it was read"):
        verify(stored(*first.tile[:-1], first.tile[-1] + 1))
    with pytest.raises(PlanError, match="last register block"):
        verify(stored(*({low: other, other: low}.get(bit, bit) for bit in first.tile)))


def test_a_tile_of_directions_is_a_subspace() -> None:
    """Directions that are no basis, that touch the lowest bits, or that stores leave, break the plan's rules."""
    plan = make_plan(layers(8, 2).instructions, 8, Layout.identity(8), TINY)
    first, low = plan.sweeps[0], plan.shape.low
    outside = next(bit for bit in range(8) if bit not in first.tile)
    highest, lowest = first.tile[-1], units(first.tile[:low])

    def read(*others: int, store: tuple[int, ...] = ()) -> Plan:
        sweep = replace(first, load=columns_on(first.tile, lowest + others), store=store)
        return replace(plan, stages=(replace(plan.stages[0], steps=(sweep, *plan.stages[0].steps[1:])),))

    own = units(first.tile[low:])
    verify(read(*own))
    verify(read(*own[:-1], own[-1] | 1 << outside))
    verify(read(own[0] | own[-1], *own[1:]))
    with pytest.raises(PlanError, match="where it was read"):
        verify(read(*own[:-1], own[-1] | 1 << outside, store=units(range(8))))
    with pytest.raises(PlanError, match="disjoint"):
        verify(read(*own[:-1], 1 << outside))
    with pytest.raises(PlanError, match="lanes"):
        verify(read(*own[:-1], 1 << highest | 1))
    added = (1, *units(range(1, 8))[:-1], 1 << 7 | 1)
    verify(read(*own, store=added))
    with pytest.raises(PlanError, match="lanes"):
        verify(replace(read(*own, store=added), shape=replace(plan.shape, item_work=2.0)))
    fresh = 1 << outside
    grows = replace(first, load=columns_on(first.tile, (*lowest, *own[:-1], own[-1] | fresh)), fresh=fresh)
    stage = replace(plan.stages[0], steps=(grows, *plan.stages[0].steps[1:]), fresh=fresh)
    with pytest.raises(PlanError, match="in no other direction"):
        verify(replace(plan, fresh=fresh, stages=(stage,)))


def test_a_fresh_bit_of_a_tile_flips_alone() -> None:
    """A fresh bit of the tile breaks the rules if it is in the direction of another bit, and only then."""
    sweep = Sweep((0, 1, 2), (RegisterBlock((1, 2), ()),), 0, 0, load=columns_on((0, 1, 2), (1, 2 | 4, 4)))
    shape = Shape(tile=3, registers=2, low=1, edge=1, most_blocks=None, dense=2)

    def plan(fresh: int) -> Plan:
        stage = Stage((replace(sweep, fresh=fresh),), fresh=fresh)
        numbers = Coefficients(2, (), (np.zeros(0, dtype=np.int64),))
        return Plan(3, (stage,), Layout.identity(3), Layout.identity(3), numbers, shape, 0, (), Levels(3), fresh)

    for fresh in (0, 1, 2, 3):
        verify(plan(fresh))
    for fresh in (4, 5, 6, 7):
        with pytest.raises(PlanError, match="in no direction but its own"):
            verify(plan(fresh))


GOLDEN = Path(__file__).parent / "qft_38.txt"


def test_explain_reads_well() -> None:
    """A QFT of 38 wires on 4 GPUs with host memory is explained in the words of qft_38.txt."""
    text = explain(new_state_plan(qft(38).instructions, 38, Levels(33, 2, 20)), SINGLE, register_blocks=False)
    text = re.sub(r" \(plan [0-9a-f]+\)", "", text)
    assert text + "\n" == GOLDEN.read_text(encoding="utf-8")


def test_two_devices_move_as_many_amplitudes_as_one() -> None:
    """A QFT of 30 wires on two devices moves in their memories what it moves in one's, and a tenth more at most."""
    shape = replace(H200_SHAPE, floats=True, balance=88.0)
    given = qft(30).instructions, 30, Layout.identity(30), shape, (1 << 30) - 1
    one, two = make_plan(*given, None, True), make_plan(*given, Levels(29, 1, 16), True)
    verify(two)
    assert summary(two, SINGLE).bytes_moved <= 1.1 * summary(one, SINGLE).bytes_moved


def test_lowest_bits_change_in_stages_and_never_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sweeps of stages store bits elsewhere, and exchanges take none from below the slice.

    Where parities are far instead of bits, the lowest bits stay.
    """
    monkeypatch.setattr(rules, "PARITIES", 0)
    shape = replace(H200_SHAPE, floats=True)
    plan = make_plan(layers(28, 12).instructions, 28, Layout.identity(28), shape, 0, Levels(26, 2, 16))
    verify(plan)
    assert any(sweep.store for sweep in plan.sweeps)
    assert motions(plan, Exchange) > 0


def test_small_beginnings_are_made_alike() -> None:
    """Devices make the beginning of a new state alike unless it is large, and then nothing is sent or waited for."""
    plan = new_state_plan(qft(30).instructions, 30, Levels(28, 2, 16))
    assert begins_alike(plan.stages, 30, plan.levels)
    first, then = stage_costs(plan.stages, 30, plan.levels, SINGLE, shape=plan.shape)[:2]
    assert (first.devices, then.peers, then.sent) == (4, 0, 0)
    full = make_plan(qft(30).instructions, 30, Layout.identity(30), H200_SHAPE, 0, Levels(28, 2, 16))
    assert motions(full, Exchange) > 0
    assert not begins_alike(full.stages, 30, full.levels)
    late = replace(plan, stages=(replace(plan.stages[0], steps=(ZeroFill((1 << 28) - 1),)), *plan.stages[1:]))
    assert not begins_alike(late.stages, 30, late.levels)


def test_all_devices_work_on_a_state_whose_wires_are_not_all_mixed() -> None:
    """A wire that is only read is not what divides two devices while the others carry all amplitudes."""
    wires, rng = 32, np.random.default_rng(4)
    builder = CircuitBuilder(wires)
    for _ in range(120):
        one, two = rng.permutation(wires - 1)[:2].tolist()
        builder.gate("rx", [one], 0.3).gate("cx", [one, two]).gate("cp", [two, wires - 1], 0.2).gate("ry", [two], 0.1)
    circuit = builder.build()
    shape = Shape(tile=12, registers=4, low=4, edge=4, most_blocks=None, dense=4, start=18)
    plan = make_plan(
        circuit.instructions, wires, Layout.identity(wires), shape, (1 << wires) - 1, Levels(wires - 1, 1, 8), True
    )
    costs = stage_costs(plan.stages, wires, plan.levels, SINGLE, shape=shape)
    assert max(costs, key=lambda cost: cost.work).devices == 2
    assert sum(cost.fma for cost in costs if cost.devices == 1) < 0.02 * sum(cost.fma for cost in costs)
