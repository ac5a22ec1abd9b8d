"""Shots of a translated circuit: the records that Stim samples, some shots at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from qsim_ex import thresholds
from qsim_ex.stabilizer.gates import stim_module
from qsim_ex.stabilizer.stim_circuit import ShotPaulis, Translation

Bits = NDArray[np.uint8]

_BLOCK = 256
"""Stim's shots are sampled in blocks of so many."""


def samples_of(circuit: Translation, seed: int, shots: int) -> Iterator[Bits]:
    """Yield the records of all shots, uint8 [records, shots], some shots at a time."""
    if not circuit.records:
        yield np.zeros((0, shots), dtype=np.uint8)
        return
    most = max(_BLOCK, thresholds.now.stim_records // circuit.records // _BLOCK * _BLOCK)
    if circuit.between:
        yield from _Frames(circuit, seed, shots).samples()
        return
    sampler = stim_module().Circuit(circuit.texts[0]).compile_sampler(seed=seed)
    for first in range(0, shots, most):
        yield cast(Bits, sampler.sample(min(most, shots - first))).view(np.uint8).T


class _Frames:
    """The frames of all shots: in which Pauli gates each differs from a reference run that does none in some shots."""

    def __init__(self, circuit: Translation, seed: int, shots: int) -> None:
        module = stim_module()
        self._circuit = circuit
        self._pieces = [module.Circuit(text) for text in circuit.texts]
        whole = module.Circuit("\n".join(circuit.texts))
        self._reference: Bits = whole.reference_sample().view(np.uint8)
        self._wires: int = max([whole.num_qubits, *(1 + wire for one in circuit.between for wire in one.wires)])
        most = max(_BLOCK, thresholds.now.stim_records // max(circuit.records, self._wires) // _BLOCK * _BLOCK)
        self._batch = min(most, -(-shots // _BLOCK) * _BLOCK)
        self._shots = shots
        self._frames: Any = module.FlipSimulator(batch_size=self._batch, num_qubits=self._wires, seed=seed)
        self._random = np.random.default_rng([seed, len(circuit.between)])  # apart from Stim's random numbers

    def samples(self) -> Iterator[Bits]:
        """Yield the records of all shots, one batch after another."""
        for first in range(0, self._shots, self._batch):
            self._frames.clear()
            self._frames.do(self._pieces[0])
            for paulis, piece in zip(self._circuit.between, self._pieces[1:], strict=True):
                self._apply(paulis)
                self._frames.do(piece)
            found: NDArray[np.bool_] = self._frames.get_measurement_flips()
            yield (found.view(np.uint8) ^ self._reference[:, None])[:, : self._shots - first]

    def _apply(self, paulis: ShotPaulis) -> None:
        """Apply Pauli gates to the shots of a batch."""
        holds = np.ones(self._batch, dtype=np.bool_)
        for condition in paulis.conditions:
            holds &= condition.of(_Seen(self._frames, self._reference, self._batch)).astype(np.bool_)
        ends = np.cumsum([p for _, p in paulis.chosen])
        which = np.searchsorted(ends, self._random.random(self._batch), side="right")
        for k, (letters, _) in enumerate(paulis.chosen):
            if not (mine := holds & (which == k)).any():
                continue
            for pauli in set(letters) - {"I"}:
                mask = np.zeros((self._wires, self._batch), dtype=np.bool_)
                mask[[wire for letter, wire in zip(letters, paulis.wires, strict=True) if letter == pauli]] = mine
                self._frames.broadcast_pauli_errors(pauli=pauli, mask=mask)


class _Seen:
    """The records of a batch so far, each made when it is asked for."""

    def __init__(self, frames: Any, reference: Bits, shots: int) -> None:
        self._frames = frames
        self._reference = reference
        self.shape: tuple[int, ...] = (len(reference), shots)

    def __getitem__(self, record: int) -> Bits:
        flips: NDArray[np.bool_] = self._frames.get_measurement_flips(record_index=record)
        found: Bits = flips.view(np.uint8) ^ self._reference[record]
        return found
