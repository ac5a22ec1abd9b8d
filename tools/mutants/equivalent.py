"""Mutants that nothing can tell apart from the product, and why."""

from __future__ import annotations

from collections.abc import Mapping

from tools.mutants.mutant import Mutant

_ENGINE = "core/qsim_ex/"
_SIMULATED = "return _simulated(over_ranks.quiet(ranks, call), inputs,"
_SQUARE = "if not (len(shape) == 2 and shape[0] == shape[1] <= thresholds.now.checked_rows"
_NATIVE = "core/native/"

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
        f"{_ENGINE}program/choices.py",
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
    (
        f"{_NATIVE}base/memory.cpp",
        "__builtin_prefetch(mine + at + ahead, 1);",
        ";",
    ): "which line of a cache is asked for early changes no value",
    (
        f"{_NATIVE}base/memory.cpp",
        "__builtin_prefetch(mine + at + ahead, 1);",
        "__builtin_prefetch(mine + at - ahead, 1);",
    ): "which line of a cache is asked for early changes no value",
    (
        f"{_NATIVE}base/memory.cpp",
        "return 0;",
        "return 1;",
    ): "the line is compiled where the system has no name for its last cache, and Linux has one",
    (
        f"{_NATIVE}base/pool.cpp",
        "for (int k = 0; k < threads; ++k) __ulock_wake(compare_and_wait, &word, 0);",
        "for (int k = 0; k < threads; --k) __ulock_wake(compare_and_wait, &word, 0);",
    ): "the line is compiled for macOS alone",
    (
        f"{_NATIVE}base/pool.cpp",
        "++sleepers;",
        "--sleepers;",
    ): "the count falls by two for each sleep, so it is not 0 once a thread sleeps, and only that is asked",
    (
        f"{_NATIVE}base/pool.cpp",
        "Int chunks = 0;",
        "Int chunks = 1;",
    ): "who shares work writes the number before there are tickets, without which nobody reads it",
    (
        f"{_NATIVE}base/pool.cpp",
        "if (sleepers.load() != 0) wake(state, 1);",
        "if (sleepers.load() != 0) wake(state, 2);",
    ): "one thread at most sleeps over the state of a slot: its caller",
    (
        f"{_NATIVE}base/pool.cpp",
        "if (pool.sleepers.load() != 0) wake(pool.calls, 2);",
        "if (pool.sleepers.load() != 0) wake(pool.calls, 3);",
    ): "a thread that is woken without a ticket for it sleeps again",
    (
        f"{_NATIVE}base/refusal.cpp",
        "void* found = bytes > most || refuses() ? nullptr : aligned_alloc(line, in_lines(bytes));",
        "void* found = bytes >= most || refuses() ? nullptr : aligned_alloc(line, in_lines(bytes));",
    ): "half of all addresses is more than the system grants, so this many bytes are refused by it or by us",
    (
        f"{_NATIVE}kernels/gradients/pauli_products.cpp",
        "Weights found{true, true};",
        "Weights found{true, false};",
    ): "where all weights lie in the first vector, the transform that is left out else copies it to each vector",
    (
        f"{_NATIVE}kernels/sums.cpp",
        "qx::Array<double> memory(width * (2 * of.num_above + 3));",
        "qx::Array<double> memory(width * (2 * of.num_above + 4));",
    ): "nothing reads or writes what is behind the memory for three more rows",
    (
        f"{_NATIVE}planner/locality.cpp",
        "closes |= Mask{count(of_[bit].mixing) > capacity_} << (bit & 63);",
        "closes |= Mask{count(of_[bit].mixing) > capacity_} >> (bit & 63);",
    ): "a scan that does not end early finds reasons of more bits than are added, and nothing takes those",
    (
        f"{_NATIVE}planner/plan.cpp",
        "staging_.reset();",
        ";",
    ): "what made the stages is not asked again, and its memory is given back with the planner",
    (
        f"{_NATIVE}planner/stages/parities/linear_division.cpp",
        "const std::vector<WorkOutline> seen = outlines(candidate_->work, candidate_->work.size(), false, false);",
        "const std::vector<WorkOutline> seen = outlines(candidate_->work, candidate_->work.size(), false, true);",
    ): "work in a CNOT frame all runs in sweeps",
    (
        f"{_NATIVE}readers/operations.cpp",
        "for (Int k = 0; k < count; ++k)",
        "for (Int k = 0; k <= count; ++k)",
    ): "a mask of arguments has no bit behind those of the gate's wires",
    (
        f"{_NATIVE}readers/structure.cpp",
        "if (!(acted & ~groups[k])) return;",
        "if (!(acted | ~groups[k])) return;",
    ): "what follows joins wires with the group that has them already, which changes nothing",
    (
        f"{_NATIVE}readers/structure_text.cpp",
        "auto rest = static_cast<std::uint64_t>(number < 0 ? -number : number);",
        "auto rest = static_cast<std::uint64_t>(number < 1 ? -number : number);",
    ): "0 is its own negative",
}
"""For a file, its lines and the mutant's lines: the reason that both do the same."""


def reason(mutant: Mutant) -> str:
    """Return why a mutant does what the product does, "" if nobody has said so."""
    return PROVED.get((mutant.path, mutant.before, mutant.after), "")
