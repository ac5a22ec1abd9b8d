"""The answers of a call whose shots Stim samples: bits, values and what is recorded, from the records of shots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from qsim_ex import thresholds
from qsim_ex.circuit.ops import Save
from qsim_ex.devices import discover
from qsim_ex.devices.memory import require_on_host
from qsim_ex.observe.readout import apply_readout
from qsim_ex.result import Records
from qsim_ex.run.pipeline import BatchCall
from qsim_ex.run.request import Request
from qsim_ex.run.saved_rows import SavedRows, SavedSizes
from qsim_ex.run.saved_values import SavedValues, bytes_of, saved_values
from qsim_ex.stabilizer.parities import Parity
from qsim_ex.stabilizer.stim_circuit import Translation
from qsim_ex.stabilizer.values import SavedPoint

Bits = NDArray[np.uint8]


@dataclass(frozen=True, eq=False, slots=True)
class SampledAnswers:
    """The answers of a call so far; packed, sums, squares: as in `Collector`. recorded: for each binding, by label."""

    call: BatchCall
    request: Request
    packed: Bits | None
    saves: dict[str, SavedValues]
    sums: NDArray[np.complex128]
    squares: NDArray[np.float64]
    recorded: list[dict[str, list[Bits]]]

    @classmethod
    def empty(cls, call: BatchCall, request: Request, saves: Sequence[Save]) -> SampledAnswers:
        """Return memory for all answers; raises `OutOfMemory`."""
        count, structure = call.bound.count, call.circuit.structure
        width, shots, n = -(-structure.num_clbits // 8), request.shots, structure.num_qubits
        free = discover.free_bytes(discover.HOST, 0)
        sizes = {
            save: SavedSizes(count, request.trajectories, save.shape(n), save.dtype(call.options.dtype), width)
            for save in saves
        }
        needed = sum(bytes_of(save, of) for save, of in sizes.items()) + (shots or 0) * count * width
        require_on_host("shots and what is saved", needed, free)
        return cls(
            call,
            request,
            None if shots is None else np.zeros((count, shots, width), dtype=np.uint8),
            {save.label: saved_values(save, of, free) for save, of in sizes.items()},
            np.zeros((count, len(request.observables)), dtype=np.complex128),
            np.zeros((count, len(request.observables))),
            [{} for _ in range(count)],
        )

    def take(self, binding: int, circuit: Translation, first: int, samples: Bits) -> None:
        """Take the records of some shots."""
        shots = samples.shape[1]
        if self.packed is not None:
            self.packed[binding, first : first + shots] = _packed(circuit.clbits, samples)
            for label, values in circuit.recorded.items():
                each = [[bit.of(samples) for bit in value] for value in values]  # [times, bits, shots]
                self.recorded[binding].setdefault(label, []).append(np.array(each).transpose(2, 0, 1))
        shots = min(shots, self.request.trajectories - first)
        if shots <= 0:
            return
        samples = samples[:, :shots]
        for point in circuit.saves:
            self._save(binding, point, first, samples)
        for k, point in enumerate(circuit.observables):
            found = point.of(samples)
            self.sums[binding, k] += found.sum()
            self.squares[binding, k] += (np.abs(found) ** 2).sum()

    def _save(self, binding: int, point: SavedPoint, first: int, samples: Bits) -> None:
        """Put in the values of some trajectories at a save, some at a time, since tableaus are large."""
        save, shots = point.save, samples.shape[1]
        if save.how == "single":  # the value of the first trajectory
            shots = 1 if first == 0 else 0
        size = np.prod(save.shape(self.call.circuit.num_qubits), dtype=np.int64)
        step = max(1, thresholds.now.values_at_once // int(size))
        for begin in range(0, shots, step):
            some = samples[:, begin : min(begin + step, shots)]
            count = some.shape[1]
            alone, branch_of = _branches(point, some)
            some = some[:, alone]
            self.saves[save.label].add(
                SavedRows(
                    values=point.of(some).real,
                    binding=np.full(len(alone), binding),
                    memory=_packed(point.memory or (Parity(),) * self.call.circuit.num_clbits, some),
                    branch_of=branch_of,
                    trajectories=np.arange(first + begin, first + begin + count),
                )
            )

    def misread(self, binding: int, circuit: Translation, seed: int) -> None:
        """Misread the bits of all shots, but for those that Stim has misread."""
        if self.packed is not None and self.call.readout:
            bits = self.packed[binding]
            bits[...] = apply_readout(bits, self.call.readout, seed, circuit.read)

    def records(self, circuits: Sequence[Translation]) -> tuple[dict[str, Records], ...]:
        """Return what the shots of each binding have recorded."""
        if self.packed is None or not circuits[0].recorded:
            return ()
        found = []
        for of in self.recorded:
            whole = {label: np.concatenate(arrays) for label, arrays in of.items()}  # [shots, times, bits]
            found.append(
                {
                    label: Records(one.reshape(-1, one.shape[2]), np.full(len(one), one.shape[1], dtype=np.int64))
                    for label, one in whole.items()
                }
            )
        return tuple(found)


def _branches(point: SavedPoint, samples: Bits) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return one shot for each value of what a save reads, and the place of each shot's value among these."""
    reads = point.reads
    if point.memory or len(reads) > _READ:
        every = np.arange(samples.shape[1])
        return every, every
    found = np.zeros(samples.shape[1], dtype=np.int64)
    for bit, record in enumerate(reads):
        found |= samples[record].astype(np.int64) << bit
    _, alone, branch_of = np.unique(found, return_index=True, return_inverse=True)
    return alone, branch_of


_READ = 10
"""The most records of a save for which shots with equal ones share a value."""


def _packed(bits: Sequence[Parity], samples: Bits) -> Bits:
    """Return classical bits of all shots, uint8 [shots, bytes]; bit c is bit c % 8 of byte c // 8."""
    found = np.zeros((samples.shape[1], len(bits)), dtype=np.uint8)
    single = [k for k, bit in enumerate(bits) if len(bit.records) == 1]
    if single:
        found[:, single] = samples[[next(iter(bits[k].records)) for k in single]].T
    for k, bit in enumerate(bits):
        if len(bit.records) > 1:
            found[:, k] = replace(bit, constant=0).of(samples)
        if bit.constant:
            found[:, k] ^= 1
    return np.packbits(found, axis=1, bitorder="little")
