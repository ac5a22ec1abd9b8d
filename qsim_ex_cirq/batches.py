"""Points of sweeps in batches: those of one structure are one run of the engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from qsim_ex import BatchResult, Result
from qsim_ex.frameworks import JobRuns, binding_groups
from qsim_ex_cirq.results import Bits
from qsim_ex_cirq.translation.translation import Translation


class BatchMember(NamedTuple):
    """One point of a sweep that was run: its translation, and the batch that it is a member of."""

    translation: Translation
    batch: BatchResult
    member: int

    def result(self) -> Result:
        """Return the point's own result."""
        return self.batch[self.member]

    def bits(self) -> Bits:
        """Return what a point that was run with one shot, or with none, has measured: uint8 [1, classical bits]."""
        if self.batch.packed is None:
            return np.zeros((1, self.translation.circuit.num_clbits), dtype=np.uint8)
        return self.result().bits()


def run_batches(
    runs: JobRuns, translations: Sequence[Translation], seeds: Sequence[int], **asked: object
) -> list[BatchMember]:
    """Run all bindings of some translations, each with its seed; members come in the order of the bindings.

    asked: other arguments of `Simulator.run_batch`.
    """
    of = [translation for translation in translations for _ in range(translation.sweep.count)]
    members: list[Any] = [None] * len(of)
    for group in binding_groups([one.sweep for one in translations], [one.readout for one in translations]):
        places = group.places
        batch = group.run(runs.next(), [seeds[place] for place in places], **asked)
        for number, place in enumerate(places):
            members[place] = BatchMember(of[place], batch, number)
    return members
