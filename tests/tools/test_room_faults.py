"""Faults in rooms that other lists leave out, planted one at a time: sums, kernels, memory, Stim, swaps, the form."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.planted import Fault, check_found, instead, method, on_the_cpu

from qsim_ex import CircuitBuilder
from qsim_ex.circuit import blocks
from qsim_ex.circuit.ops import Conditional, Op
from qsim_ex.comm import reach
from qsim_ex.devices.cpu import device, sums
from qsim_ex.devices.cpu.device import CpuDevice
from qsim_ex.frameworks import observable_group
from qsim_ex.kernels.cpu.encoded_plan import NativeSweep
from qsim_ex.observe import sampling
from qsim_ex.placement.single import Single
from qsim_ex.placement.windows import rehearsal
from qsim_ex.planning import behind, form
from qsim_ex.run import stim_samples, written_out
from qsim_ex.run.exact import parts as density_parts

MOST = 20_000
"""Circuits within which a fault must be found."""

# --- expectation values, sums and sampling ----------------------------------------------------------------------------


def unsigned_strings(patch: pytest.MonkeyPatch) -> None:
    """Pauli strings with two X or more have the other sign."""

    def wrong(right: Any, self: Any, parts: Any) -> Any:
        found = zip(parts, right(self, parts), strict=True)
        return [-one if x.bit_count() > 1 else one for (x, _), one in found]

    method(patch, Single, "paulis", wrong)


def lost_unit(patch: pytest.MonkeyPatch) -> None:
    """The last unit of an inner product that threads share is not added."""

    def wrong(*given: Any) -> Any:
        found = right(*given)
        return found[:-1] if len(found) > 1 else found

    right = sums._run_inner
    patch.setattr(sums, "_run_inner", wrong)


def nothing_left(patch: pytest.MonkeyPatch) -> None:
    """Wires that are drawn from further marginals all fall on the first value that there is."""
    right = sampling._by_marginals
    patch.setattr(
        sampling, "_by_marginals", lambda state, prefixes, rest, *where: right(state, prefixes, 0 * rest, *where)
    )


# --- the CPU: kernels and memory --------------------------------------------------------------------------------------


def low_parts_alone(patch: pytest.MonkeyPatch) -> None:
    """A sweep over a part of a state takes all index bits outside the part for 0."""
    method(
        patch, NativeSweep, "run",
        lambda right, self, state, rows, numbers, _high, threads: right(self, state, rows, numbers, 0, threads),
    )  # fmt: skip


def lent_twice(patch: pytest.MonkeyPatch) -> None:
    """Memory that is kept is lent to another state while one still has it."""
    kept: dict[int, Any] = {}
    right = device.take
    patch.setattr(device, "take", lambda size: kept.setdefault(size, right(size)))


def first_half_twice(patch: pytest.MonkeyPatch) -> None:
    """Two ranks whose memory is mapped both swap the first half."""
    method(patch, CpuDevice, "swap_half", lambda right, self, mine, theirs, _half: right(self, mine, theirs, 0))


def late_half(patch: pytest.MonkeyPatch) -> None:
    """Of memory of another process that is swapped in several pieces, the last piece is left."""
    right = reach.MemoryRuns.chunks

    def wrong(self: Any) -> Iterator[Any]:
        found = list(right(self))
        yield from found[:-1] or found

    patch.setattr(reach.MemoryRuns, "chunks", wrong)


# --- what is copied, and the form -------------------------------------------------------------------------------------


def one_slot_more(patch: pytest.MonkeyPatch) -> None:
    """A run over host memory is rehearsed with a window more than it has."""
    right = rehearsal.rehearse
    instead(patch, right, lambda plan, dtype, slots, scenario: right(plan, dtype, slots + 1, scenario))


def forgotten_signs(patch: pytest.MonkeyPatch) -> None:
    """The Clifford operator of a form has no signs."""

    def unsigned(strings: Any) -> Any:
        return tuple([replace(one, coefficient=1.0) for one in strings])

    right = form.Clifford
    patch.setattr(form, "Clifford", lambda xs, zs: right(unsigned(xs), unsigned(zs)))


def unsigned_phases(patch: pytest.MonkeyPatch) -> None:
    """Observables pass S at the end of a circuit as if it were S†."""
    method(
        patch, behind._Strings, "pass_gate",
        lambda right, self, gate: right(self, replace(gate, name="sdg") if gate.name == "s" else gate),
    )  # fmt: skip
    patch.setattr(written_out, "before", behind.before.__wrapped__)


# --- methods and adapters ---------------------------------------------------------------------------------------------


def unconditional_paulis(patch: pytest.MonkeyPatch) -> None:
    """Pauli gates under conditions act in every shot of a stabilizer state."""
    method(
        patch, stim_samples._Frames, "_apply",
        lambda right, self, paulis: right(self, replace(paulis, conditions=())),
    )  # fmt: skip


def quiet_batches(patch: pytest.MonkeyPatch) -> None:
    """Shots of stabilizer states beyond the first batch are those of the reference run."""
    right = stim_samples._Frames.samples

    def wrong(self: Any) -> Iterator[Any]:
        for number, found in enumerate(right(self)):
            yield np.repeat(self._reference[:, None], found.shape[1], axis=1) if number else found

    patch.setattr(stim_samples._Frames, "samples", wrong)


def a_number_again(patch: pytest.MonkeyPatch) -> None:
    """All wires of a density matrix in parts are drawn by the bits of one number, which are used up."""
    right = sampling.uniforms
    patch.setattr(density_parts.sampling, "uniforms", lambda seed, _key, count: right(seed, 0, count))


def exchanged_pairs(patch: pytest.MonkeyPatch) -> None:
    """The values of an estimator's observables belong to each other's bindings."""

    def wrong(right: Any, self: Any, bindings: Any) -> Any:
        pairs, rows, columns = right(self, bindings)
        return pairs, rows, columns[::-1]

    method(patch, observable_group.ObservableGroup, "of", wrong)


def exchanged_halves(patch: pytest.MonkeyPatch) -> None:
    """The product of two halves of a circuit's qubits is made the wrong way round."""
    from qsim_ex_cirq.halves import Halves

    def wrong(self: Any, state: Any) -> None:
        low, high = self._states
        state.set_product(high, low)

    patch.setattr(Halves, "write", wrong)


def loops_that_end(patch: pytest.MonkeyPatch) -> None:
    """What goes on with the next round of a loop leaves it."""
    method(patch, CircuitBuilder, "next_round", lambda right, self: self.leave())  # noqa: ARG005


def constant_conditions(patch: pytest.MonkeyPatch) -> None:
    """A gate under a condition on no bit stays under it."""

    def wrong(condition: Any, *given: Any) -> Any:
        found = right(condition, *given)
        if condition.clbits or found is None:
            return found
        return [Conditional(one, (), (0,)) if isinstance(one, Op) else one for one in found]

    right = blocks._flat
    patch.setattr(blocks, "_flat", wrong)


FAULTS = [
    Fault("signs of strings", unsigned_strings, ("state", "values"), seed=21),
    Fault("a unit that is not added", lost_unit, ("state",), seed=1401),
    Fault("nothing left of a number", nothing_left, ("shots", "state"), seed=105),
    Fault("bits above a part", low_parts_alone, ("state",)),
    Fault("memory that is lent twice", lent_twice, ("state",), seed=3),
    Fault("the first half twice", first_half_twice, ("ranks",), seed=27),
    Fault("a piece that is left", late_half, ("swaps",)),
    Fault("a window more", one_slot_more, ("rehearsed",)),
    Fault("signs of the Clifford operator", forgotten_signs, ("form",)),
    Fault("a sign behind S", unsigned_phases, ("qiskit-bases",), "qiskit"),
    Fault("loops that end", loops_that_end, ("qiskit-loops",), "qiskit", seed=293),
    Fault("conditions on no bit", constant_conditions, ("qiskit-loops",), "qiskit", seed=64),
    Fault("Pauli gates in every shot", unconditional_paulis, ("stabilizer",), "stim"),
    Fault("batches without noise", quiet_batches, ("stabilizer",), "stim", seed=402),
    Fault("a number that is used up", a_number_again, ("density",), seed=3099),
    Fault("observables of another binding", exchanged_pairs, ("qiskit-binds",), "qiskit", seed=6),
    Fault("halves in the wrong order", exchanged_halves, ("cirq-state",), "cirq", seed=104),
]


@pytest.fixture(autouse=True)
def _on_the_cpu() -> Iterator[None]:
    with on_the_cpu():
        yield


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_of_a_room_is_found(fault: Fault) -> None:
    """A fault in a room shows within 20,000 circuits, and is gone when it is taken out again."""
    check_found(fault, MOST)
