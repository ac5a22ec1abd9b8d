"""Mutants that nothing can tell apart from the product, and why."""

from __future__ import annotations

from collections.abc import Mapping

from tools.mutants.mutant import Mutant

_ENGINE = "core/qsim_ex/"
_SIMULATED = "return _simulated(over_ranks.quiet(ranks, call), inputs,"
_SQUARE = "if not (len(shape) == 2 and shape[0] == shape[1] <= thresholds.now.checked_rows"

PROVED: Mapping[tuple[str, str, str], str] = {
    (f"{_ENGINE}program/simplified.py", "before = -1", "before = - 2"): "any number below the least length, 0, does",
    (
        f"{_ENGINE}program/divide.py",
        "last = -1 if flow is None else flow.last",
        "last = - 2 if flow is None else flow.last",
    ): "without control flow the number tells alone how many zeros come first, and -1 of them are none, as 0 are",
    (
        f"{_ENGINE}planning/coefficients/binding.py",
        "rows.append([EULER, len(matrices), imaginary, 0, 0, 0, 0, at, 0])",
        "rows.append([EULER, len(matrices), imaginary, 0, 0, 0, 0, at, 1])",
    ): "the last number says where the incidences of a table begin, and native code reads it of tables alone",
    (
        f"{_ENGINE}run/loop_traversal.py",
        "if branches.in_place and len(branches) == group.states.rows:",
        "if branches.in_place and len(branches) >= group.states.rows:",
    ): "branches in place have rows 0, 1, …, which are rows of the states, so there are never more of them",
    (
        f"{_ENGINE}run/pipeline.py",
        "return result_of(run, collector, workers, seeds, (planned - began, ended - began))",
        "return result_of(run, collector, workers, seeds, (planned % began, ended - began))",
    ): "times count from when the machine started, and planning takes less time than it has run",
    (
        f"{_ENGINE}run/pipeline.py",
        f"{_SIMULATED} over_ranks.seeds_heard(call, bound, wheres[0].heard))",
        f"{_SIMULATED} over_ranks.seeds_heard(call, bound, wheres[ -1].heard))",
    ): "several places are of whole states, each of one rank alone, so that the seeds drawn for any of them do",
    (
        f"{_ENGINE}program/divide.py",
        "if wires is None and not {*map(type, instructions[:end])} <= {Op, Permutation}:",
        "if wires is None or not {*map(type, instructions[:end])} <= {Op, Permutation}:",
    ): "a circuit that is left to the divider has the same program, made in more time",
    (
        f"{_ENGINE}program/kraus.py",
        "return _kraus(operands[at : at + width].tobytes(), choice.count, choice.product and len(choice.wires) > 1)",
        "return _kraus(operands[at : at + width].tobytes(), choice.count, choice.product and len(choice.wires) >= 1)",
    ): "the factors of a matrix on one wire are the matrix itself, found in more time",
    (
        f"{_ENGINE}kernels/cuda/write/diagonals.py",
        "factors[r] = entry, at.get(constants[r], 0)",
        "factors[r] = entry, at.get(constants[r], 1)",
    ): "only 0 and -1 have no place, by which amplitudes are cleared or negated without reading a number",
    (
        f"{_ENGINE}placement/windows/pipeline.py",
        "return matrix.reshape(piece.times, -1)[:, column * self._slice : column * self._slice + k]",
        "return matrix.reshape(piece.times, - 2)[:, column * self._slice : column * self._slice + k]",
    ): "NumPy takes any negative length for the one that it finds",
    (
        f"{_ENGINE}placement/windows/rehearsal.py",
        "in_host_memory = False",
        "in_host_memory = True",
    ): "a rehearsal is told how much memory it may use, and only where that is not told it counts where memory lies",
    (
        f"{_ENGINE}circuit/matrices.py",
        f"{_SQUARE} and shape[0].bit_count() == 1):",
        f"{_SQUARE} and shape[ 1].bit_count() == 1):",
    ): "both lengths are equal where that is asked",
}
"""For a file, its lines and the mutant's lines: the reason that both do the same."""


def reason(mutant: Mutant) -> str:
    """Return why a mutant does what the product does, "" if nobody has said so."""
    return PROVED.get((mutant.path, mutant.before, mutant.after), "")
