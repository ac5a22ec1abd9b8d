"""Faults that are planted one at a time, in places of every room: the fuzzer finds each within 10,000 circuits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support import gradient_faults, gradient_piece_faults
from support.planted import Fault, check_found, instead, method, on_the_cpu

import qsim_ex as noise
from qsim_ex import CircuitBuilder
from qsim_ex.circuit import builder as circuits
from qsim_ex.circuit import placed_gate
from qsim_ex.circuit.gates import GATES
from qsim_ex.circuit.noise.model import NoiseModel
from qsim_ex.circuit.ops import Save, When, mask_of, pattern
from qsim_ex.circuit.parameters.sweep import SweptGate
from qsim_ex.density import doubled, superoperators
from qsim_ex.devices.cpu.device import CpuDevice
from qsim_ex.observe import joint, sampling
from qsim_ex.placement import index_bits, migrated
from qsim_ex.placement.batch import Batch
from qsim_ex.placement.exchange.links import Links
from qsim_ex.planning.written.numbers import Combinations, Complex, Numbers, WrittenNumbers
from qsim_ex.program import choices as engine_choices
from qsim_ex.program import divide, division, gates, live, parts, separate, simplified
from qsim_ex.program.flow_block import FlowBlock
from qsim_ex.program.simplified import Simplifier
from qsim_ex.run import saved_values
from qsim_ex.run.request import BatchInputs
from qsim_ex.steps import Layout, Plan, Sweep
from qsim_ex.steps.algebra import inverse
from qsim_ex.steps.step import Item

MOST = 10_000
"""Circuits within which a fault must be found."""

# --- what the builder makes of a program ------------------------------------------------------------------------------


def flipped_phase(patch: pytest.MonkeyPatch) -> None:
    """The gate "t" turns the other way."""
    patch.setitem(GATES, "t", replace(GATES["t"], matrix=GATES["tdg"].matrix))
    patch.setattr(placed_gate, "_constants", placed_gate._constants.__wrapped__)  # entries that are kept stay right


def swapped_wires(patch: pytest.MonkeyPatch) -> None:
    """The gate "rzx" takes its two wires in the wrong order."""
    method(
        patch,
        CircuitBuilder,
        "gate",
        lambda right, self, name, wires, *angles, **named: right(
            self, name, wires[::-1] if name == "rzx" else wires, *angles, **named
        ),
    )


def conjugated_matrix(patch: pytest.MonkeyPatch) -> None:
    """Unitary matrices are conjugated."""
    method(
        patch,
        CircuitBuilder,
        "unitary",
        lambda right, self, matrix, *given, **named: right(self, np.conj(matrix), *given, **named),
    )


def lost_phase(patch: pytest.MonkeyPatch) -> None:
    """A global phase is dropped, also where controls make it visible."""

    def wrong(name: str, wires: Any, controls: Any, *others: Any) -> Any:
        mixes, reads, when, of = right(name, wires, controls, *others)
        return mixes, reads, when, pattern("1") if name == "global_phase" and controls else of

    right = placed_gate._factor
    patch.setattr(placed_gate, "_factor", wrong)
    patch.setattr(placed_gate, "on_arguments", placed_gate.on_arguments.__wrapped__)
    patch.setattr(circuits, "placed_gate", placed_gate.placed_gate.__wrapped__)  # which remembers nothing


def shifted_permutation(patch: pytest.MonkeyPatch) -> None:
    """A permutation moves every value one too far."""
    method(
        patch,
        CircuitBuilder,
        "permutation",
        lambda right, self, indices, wires: right(self, [(k + 1) % len(indices) for k in indices], wires),
    )


def lost_reset(patch: pytest.MonkeyPatch) -> None:
    """Of several wires, the last one is not reset."""
    method(
        patch, CircuitBuilder, "reset",
        lambda right, self, wires: right(self, list(wires)[:-1]) if len(wires) > 1 else right(self, wires),
    )  # fmt: skip


def wrong_condition(patch: pytest.MonkeyPatch) -> None:
    """A condition looks at the classical bit beside the one it should."""
    method(
        patch,
        CircuitBuilder,
        "condition",
        lambda right, self, clbits, values: right(self, [(bit + 1) % self.num_clbits for bit in clbits], values),
    )


def late_save(patch: pytest.MonkeyPatch) -> None:
    """A state is saved one instruction too late."""

    def wrong(right: Any, self: Any) -> Any:
        found = self._instructions
        for k in range(len(found) - 1):
            if isinstance(found[k], Save):
                found[k : k + 2] = found[k : k + 2][::-1]
                break
        return right(self)

    method(patch, CircuitBuilder, "build", wrong)


def stale_cache(patch: pytest.MonkeyPatch) -> None:
    """What is remembered of a gate on some wires forgets which values its controls must have."""
    known: dict[Any, Any] = {}

    def wrong(name: str, wires: Any, num_qubits: int, controls: Any = (), values: int = -1) -> Any:
        key = name, wires, num_qubits, controls
        if key not in known:
            known[key] = right(name, wires, num_qubits, controls, values)
        return known[key]

    right = circuits.placed_gate
    patch.setattr(circuits, "placed_gate", wrong)


# --- where amplitudes are, and who works on them ----------------------------------------------------------------------


def dropped_slice(patch: pytest.MonkeyPatch) -> None:
    """A state in host memory is worked on but for its last piece."""
    right = migrated._values
    patch.setattr(migrated, "_values", lambda *given: found[:-1] if len(found := right(*given)) > 2 else found)


def swapped_exchange(patch: pytest.MonkeyPatch) -> None:
    """Two devices each give the part that the other should have given."""

    def wrong(right: Any, self: Any, peer_buffers: Any, schedule: Any, *rest: Any) -> Any:
        trades = tuple(replace(trade, parts=trade.parts[::-1]) for trade in schedule.trades)
        return right(self, peer_buffers, replace(schedule, trades=trades), *rest)

    method(patch, Links, "exchange", wrong)


def mixed_rows(patch: pytest.MonkeyPatch) -> None:
    """Rows that are taken from a batch come in the wrong order."""
    method(patch, Batch, "take", lambda right, self, rows: right(self, rows[::-1].copy()))


def lost_inversion(patch: pytest.MonkeyPatch) -> None:
    """Wires that are stored inverted are told as if they were not."""
    instead(patch, index_bits.flipped_values, lambda *_: 0)


def coarse_sum(patch: pytest.MonkeyPatch) -> None:
    """An inner product is summed up in single precision."""
    method(patch, CpuDevice, "inner", lambda right, *given: complex(np.complex64(right(*given))))


def edited(patch: pytest.MonkeyPatch, kind: str, edit: Callable[[Plan], Plan]) -> None:
    """Edit each plan of a kind, "linear" or "far parities", that native code has made."""
    from qsim_ex.execution import prepare
    from qsim_ex.planning.planner import compiled_plan, compiled_stages

    for keeps in (prepare.plan_of, prepare.plans_of):  # plans that were made before stay right
        instead(patch, keeps, keeps.__wrapped__)  # type: ignore[attr-defined]
    for right in (compiled_plan, compiled_stages):

        def wrong(*given: Any, right: Callable[..., Plan] = right) -> Plan:
            plan = right(*given)
            return edit(plan) if plan.made_from[-1] == kind else plan

        instead(patch, right, wrong)


def with_sweeps(plan: Plan, edit: Callable[[Sweep], Sweep]) -> Plan:
    """The plan with every sweep edited."""
    stages = [
        replace(stage, steps=tuple([edit(step) if isinstance(step, Sweep) else step for step in stage.steps]))
        for stage in plan.stages
    ]
    return replace(plan, stages=tuple(stages))


def written_backwards(patch: pytest.MonkeyPatch) -> None:
    """A sweep over a subspace writes its tile by the inverse of the map that brings amplitudes where they belong."""

    def edit(sweep: Sweep) -> Sweep:
        return replace(sweep, store=inverse(sweep.stores(range(len(sweep.store)))))

    edited(patch, "linear", lambda plan: with_sweeps(plan, edit))


def forgotten_inversions(patch: pytest.MonkeyPatch) -> None:
    """A plan in a CNOT frame does not tell which bits are inverted in the end."""
    edited(patch, "linear", lambda plan: replace(plan, end=Layout(plan.end.address)))


def always_in_frame(patch: pytest.MonkeyPatch) -> None:
    """In plans in a CNOT frame a condition that acts at 0 acts at 1."""

    def item_of(item: Item) -> Item:
        return replace(item, when=When(item.when.mask, item.when.mask))

    def edit(sweep: Sweep) -> Sweep:
        return replace(
            sweep,
            register_blocks=tuple(
                [replace(block, items=tuple(map(item_of, block.items))) for block in sweep.register_blocks]
            ),
        )

    edited(patch, "linear", lambda plan: with_sweeps(plan, edit))


def overtaking(patch: pytest.MonkeyPatch) -> None:
    """Where parities are far, work runs before other work that waits and with which it does not commute."""

    def edit(sweep: Sweep) -> Sweep:
        return replace(
            sweep, register_blocks=tuple([replace(block, items=block.items[::-1]) for block in sweep.register_blocks])
        )

    edited(patch, "far parities", lambda plan: with_sweeps(plan, edit))


# --- chance -----------------------------------------------------------------------------------------------------------


def wrong_seed(patch: pytest.MonkeyPatch) -> None:
    """All bindings draw the random numbers of the first one."""
    right = sampling.uniforms_of
    instead(patch, right, lambda seeds, *rest, **named: right([seeds[0]] * len(seeds), *rest, **named))


def one_draw_for_all(patch: pytest.MonkeyPatch) -> None:
    """Every choice of a shot is made with the same random number."""
    method(patch, BatchInputs, "keys", lambda _right, self, _choice: [1] * len(self.seeds))


def wrong_probability(patch: pytest.MonkeyPatch) -> None:
    """The matrices of a mixed-unitary channel are equally likely, whatever their weights."""
    method(
        patch,
        engine_choices.Kraus,
        "mixed",
        lambda right, self, numbers: right(replace(self, mean=np.ones(len(self.mean))), numbers),
    )


def wrong_jump(patch: pytest.MonkeyPatch) -> None:
    """Damping towards an excited population goes the other way."""
    right = noise.amplitude_damping
    patch.setattr(noise, "amplitude_damping", lambda strength, excited=0.0: right(strength, 1 - excited))


def misread_elsewhere(patch: pytest.MonkeyPatch) -> None:
    """A wire is misread as its neighbour should be."""
    method(patch, NoiseModel, "misreading", lambda right, self, wire: right(self, wire ^ 1))


# --- separate parts ---------------------------------------------------------------------------------------------------


def separated_anew(patch: pytest.MonkeyPatch) -> None:
    """Remember no circuit's parts."""
    instead(patch, separate.separation_of, separate.separation_of.__wrapped__)


def unweighted_save(patch: pytest.MonkeyPatch) -> None:
    """A saved value counts once for a branch, however many trajectories are in it."""
    instead(patch, saved_values._weighted, lambda values, _weights: values)


def dropped_open_control(patch: pytest.MonkeyPatch) -> None:
    """An operation that an idle wire controls with 0 is dropped, as if it were controlled with 1."""

    def wrong(mixes: Any, reads: Any, when: Any, alive: int) -> Any:
        return None if when.mask & ~(alive | mask_of(mixes)) else gates.left_of.__wrapped__(mixes, reads, when, alive)

    separated_anew(patch)
    for module in gates, simplified:
        patch.setattr(module, "left_of", wrong)


def stale_bit(patch: pytest.MonkeyPatch) -> None:
    """A measurement of an idle wire leaves a bit at the value that was measured into it before."""

    def wrong(right: Any, self: Any, wire: int, clbit: int, stream: int) -> None:
        if self._used >> wire & 1:
            right(self, wire, clbit, stream)

    separated_anew(patch)
    method(patch, Simplifier, "_measure", wrong)


def forgotten_outcomes(patch: pytest.MonkeyPatch) -> None:
    """The bits that a part needs of other parts are 0."""
    from qsim_ex.run.joint import _JointRun

    def wrong(right: Any, self: Any, parts: Any) -> Any:
        found = right(self, parts)
        return None if found is None else np.zeros_like(found)

    method(patch, _JointRun, "_given", wrong)


def begun_again_as_0(patch: pytest.MonkeyPatch) -> None:
    """A wire that was measured as 1 and gave up its place is |0⟩ where it is used again."""
    separated_anew(patch)
    patch.setattr(parts, "_FLIP_ENTRIES", parts._FLIP_ENTRIES[[1, 0, 3, 2]])


def equal_rounds(patch: pytest.MonkeyPatch) -> None:
    """Every round of a loop has the random numbers of the first one."""
    from qsim_ex.run.request import BatchInputs

    patch.setattr(BatchInputs, "_in_round", lambda _inputs, key: key)


def numbers_used_again(patch: pytest.MonkeyPatch) -> None:
    """Wires of a part without a table leave the random number as it was, so the wires below repeat their choice."""
    right = joint._by_states
    instead(patch, right, lambda *given: (right(*given)[0], given[3]))


def equal_further_numbers(patch: pytest.MonkeyPatch) -> None:
    """The wires after the first forty that are drawn have the random numbers of those."""
    right = sampling.uniforms_of
    instead(patch, right, lambda seeds, key, *rest: right(seeds, 0 if key >= joint._FURTHER else key, *rest))


# --- readout errors ---------------------------------------------------------------------------------------------------


def divided_anew(patch: pytest.MonkeyPatch) -> None:
    """Remember no circuit's program."""
    instead(patch, divide.program_of, divide.program_of.__wrapped__)


def overwritten_and_misread(patch: pytest.MonkeyPatch) -> None:
    """A bit that a store overwrites is misread at the end, as if it still were what was measured."""
    divided_anew(patch)
    instead(patch, division.misread_with, lambda _clbits, _group_of: iter(()))


def group_read_again(patch: pytest.MonkeyPatch) -> None:
    """A store into a bit does not take it out of its group: all bits of the group are misread once more."""

    def wrong(right: Any, self: Any, target: Any, value: Any) -> None:
        right(self, target, value)
        for clbit in target.value if target.op == "bits" else ():
            self._division.read.discard(self._division.group_of.get(clbit))

    divided_anew(patch)
    method(patch, FlowBlock, "_store", wrong)


def read_too_early(patch: pytest.MonkeyPatch) -> None:
    """Conditions and stores see what was measured, and not what was read."""

    def read(right: Any, self: Any, group: Any, measurement: int) -> None:
        true = [self._bits[clbit] for clbit in group]
        right(self, group, measurement)
        self.true = getattr(self, "true", {}) | dict(zip([self._bits[clbit] for clbit in group], true, strict=True))

    def columns(right: Any, self: Any, token: Any) -> Any:
        return tuple(getattr(self, "true", {}).get(column, column) for column in right(self, token))

    divided_anew(patch)
    method(patch, FlowBlock, "_read_at_once", read)
    method(patch, FlowBlock, "_columns", columns)


# --- density matrices -------------------------------------------------------------------------------------------------


def phaseless_channel(patch: pytest.MonkeyPatch) -> None:
    """The Kraus matrices of a channel lose their phases."""
    right = superoperators.superoperators

    def wrong(operands: Any, place: Any) -> Any:
        turned = operands.copy()
        size = place.matrices * 4**place.wires
        turned[:, place.operand : place.operand + size] = np.abs(operands[:, place.operand : place.operand + size])
        return right(turned, place)

    instead(patch, right, wrong)


def lost_bit(patch: pytest.MonkeyPatch) -> None:
    """A bit is forgotten when its wire is mixed again, although something reads it."""
    patch.setattr(doubled, "_doubled", doubled._doubled.__wrapped__)  # circuits that were doubled before stay right
    patch.setattr(doubled.BitLife, "is_read", lambda *_: False)


def forgetful_merge(patch: pytest.MonkeyPatch) -> None:
    """Branches that meet are added up, although classical memory in which they differ is read later."""
    import qsim_ex.run.exact.traversal  # noqa: F401  (so that the fault is put in there, and taken out)

    instead(patch, live.live_columns, lambda program, _sampled: ((),) * (1 + len(program.nodes)))


# --- adapters ---------------------------------------------------------------------------------------------------------


def wrong_binding(patch: pytest.MonkeyPatch) -> None:
    """The numbers of one binding go to the next one."""
    method(patch, SweptGate, "fill", lambda right, self, operands, values: right(self, operands, np.roll(values, 1, 0)))


def closed_controls(patch: pytest.MonkeyPatch) -> None:
    """Open controls of Qiskit's gates are taken for closed ones."""
    from qsim_ex_provider.translation.place import Controls

    method(patch, Controls, "and_", lambda right, self, wires, _values: right(self, wires, (1 << len(wires)) - 1))


def wrong_endian(patch: pytest.MonkeyPatch) -> None:
    """Matrices of Cirq's are taken with their first qubit as the least significant."""
    from qsim_ex_cirq.translation.gates import Place

    method(patch, Place, "matrix", lambda right, self, *given: right(self._replace(wires=self.wires[::-1]), *given))


def inverted_levels(patch: pytest.MonkeyPatch) -> None:
    """An inverted digit changes its lowest bit whatever it is, not only 0 and 1."""
    from qsim_ex_cirq.qudits import digits

    def wrong(bits: Any, shape: tuple[int, ...], invert: Any) -> Any:
        found = digits.Levels(shape).digits_of_bits(bits)
        return found ^ np.array(invert, dtype=found.dtype)

    patch.setattr(digits, "records", wrong)


def forgotten_levels(patch: pytest.MonkeyPatch) -> None:
    """Of the levels that a control may have, only the first counts."""
    from qsim_ex_cirq.qudits.translator import QuditTranslator

    method(patch, QuditTranslator, "conjunctions", lambda right, self, *given: [next(right(self, *given))])


# --- the numbers of what is written out for all bindings --------------------------------------------------------------


def written_wrongly(patch: pytest.MonkeyPatch, edit: Callable[[Combinations], Numbers]) -> None:
    """The multiples in written angles edited; a place below 0 is a number beside phases."""

    def wrong(right: Callable[[WrittenNumbers, Complex], Complex], self: WrittenNumbers, operands: Complex) -> Complex:
        return right(replace(self, angles=replace(self.angles, by=edit(self.angles))), operands)

    method(patch, WrittenNumbers, "__call__", wrong)


def turned_phase(patch: pytest.MonkeyPatch) -> None:
    """The first phase has the other sign in all angles."""
    written_wrongly(patch, lambda angles: np.where(angles.places == 0, -angles.by, angles.by))


def lost_numbers(patch: pytest.MonkeyPatch) -> None:
    """Angles that vary have no number beside their phases."""

    def edit(angles: Combinations) -> Numbers:
        alone = np.diff(angles.starts, append=len(angles.by)) == 1
        return np.where(
            (angles.places < 0) & ~np.repeat(alone, np.diff(angles.starts, append=len(angles.by))), 0, angles.by
        )

    written_wrongly(patch, edit)


def counted_once(patch: pytest.MonkeyPatch) -> None:
    """A phase counts in the first of its angles alone."""

    def edit(angles: Combinations) -> Numbers:
        first = np.isin(np.arange(len(angles.by)), np.unique(angles.places, return_index=True)[1])
        return np.where(first | (angles.places < 0), angles.by, 0)

    written_wrongly(patch, edit)


FAULTS = [
    Fault("flipped phase", flipped_phase, ("state",)),
    Fault("swapped wires", swapped_wires, ("state",), seed=101),
    Fault("conjugated matrix", conjugated_matrix, ("state",)),
    Fault("lost phase under controls", lost_phase, ("state",)),
    Fault("shifted permutation", shifted_permutation, ("state",)),
    Fault("lost reset", lost_reset, ("chance",)),
    Fault("wrong bit of a condition", wrong_condition, ("chance",), seed=53),
    Fault("save taken too late", late_save, ("shots",)),
    Fault("stale cache", stale_cache, ("state",), seed=387),
    Fault("dropped slice", dropped_slice, ("shots",), seed=21),
    Fault("swapped exchange", swapped_exchange, ("shots",)),
    Fault("mixed rows", mixed_rows, ("batched", "chance")),
    Fault("lost inversion", lost_inversion, ("state",), seed=10),
    Fault("sum in single precision", coarse_sum, ("state",), seed=23),
    Fault("inverted controls in linear layouts", always_in_frame, ("linear",)),
    Fault("written back the wrong way round", written_backwards, ("linear",)),
    Fault("forgotten inversions of linear layouts", forgotten_inversions, ("linear",)),
    Fault("overtaking where parities are far", overtaking, ("far",)),
    Fault("wrong seed", wrong_seed, ("bindings",), seed=7),
    Fault("one random number for all choices", one_draw_for_all, ("chance",)),
    Fault("wrong probabilities of a channel", wrong_probability, ("chance", "machine"), seed=54),
    Fault("jumps the wrong way", wrong_jump, ("chance",), seed=130),
    Fault("another wire's readout error", misread_elsewhere, ("machine",), seed=23),
    Fault("dropped open control", dropped_open_control, ("wide",)),
    Fault("stale bit", stale_bit, ("wide",), seed=7),
    Fault("forgotten outcomes of other parts", forgotten_outcomes, ("wide",), seed=1962),
    Fault("begun again as 0", begun_again_as_0, ("wide",), seed=860),
    Fault("random numbers used again", numbers_used_again, ("wide",)),
    Fault("equal numbers for further wires", equal_further_numbers, ("wide",), seed=15),
    Fault("the same numbers in every round", equal_rounds, ("loops",), seed=34),
    Fault("saves without weights", unweighted_save, ("saves",)),
    Fault("an overwritten bit misread", overwritten_and_misread, ("loops", "density loops"), seed=91),
    Fault("an overwritten bit left in its group", group_read_again, ("loops", "density loops")),
    Fault("conditions before the readout error", read_too_early, ("loops", "density loops"), seed=58),
    Fault("channels without phases", phaseless_channel, ("density",), seed=30),
    Fault("bits lost on the way", lost_bit, ("density",), seed=25),
    Fault("memory lost where branches meet", forgetful_merge, ("density loops",)),
    Fault("numbers of another binding", wrong_binding, ("qiskit-binds",), "qiskit"),
    Fault("open controls closed", closed_controls, ("qiskit-state",), "qiskit"),
    Fault("a phase with the other sign", turned_phase, ("written",)),
    Fault("numbers beside phases lost", lost_numbers, ("written",)),
    Fault("a shared phase counted once", counted_once, ("written",)),
    Fault("a gradient's sign", gradient_faults.sign, ("gradient",)),
    Fault("a gradient's conjugate", gradient_faults.conjugate, ("gradient",)),
    Fault("a gate that a gradient drops", gradient_faults.dropped_gate, ("gradient",)),
    Fault("a shared parameter counted once", gradient_faults.shared_once, ("gradient",)),
    Fault("a gradient's chosen factors as they are", gradient_faults.whole_norms, ("trajectory",)),
    Fault("a noisy gradient's conjugates lost", gradient_faults.lost_conjugates, ("noisy",)),
    Fault("a piece whose sums a gradient drops", gradient_piece_faults.dropped_sums, ("gradient",)),
    Fault("a piece to which an observable is not applied", gradient_piece_faults.dropped_piece, ("gradient",)),
    Fault("bits of a matrix in the wrong order", wrong_endian, ("cirq-state",), "cirq"),
    Fault("inverted levels above 1", inverted_levels, ("cirq-qudits",), "cirq", seed=23),
    Fault("forgotten levels of a control", forgotten_levels, ("cirq-qudits",), "cirq", seed=11),
]


@pytest.fixture(autouse=True)
def _on_the_cpu() -> Iterator[None]:
    with on_the_cpu():
        yield


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_planted_fault_is_found(fault: Fault) -> None:
    """A fault in one place shows within 10,000 circuits, and is gone when it is taken out again."""
    check_found(fault, MOST)


def test_there_are_twenty_faults() -> None:
    """At least twenty faults are planted, each of them another one."""
    assert len({fault.plant for fault in FAULTS}) == len(FAULTS) >= 20
