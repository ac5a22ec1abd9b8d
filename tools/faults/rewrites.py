"""Faults planted into native code that rewrites work, one at a time: signs, conjugates, phases, what is inverted."""

from __future__ import annotations

from tools.faults.planted import Fault

KIND = ("words",)
"""The kind of cases that has to find them."""


def _fault(file: str, right: str, wrong: str) -> Fault:
    return Fault(file, right, wrong, "rewrite")


FAULTS = {
    # pairs of rotations
    "a pair's sign": _fault("rotate.cpp", "if (!before) after = after || sign;", "(void)sign;"),
    "the sign of one of two entries": _fault(
        "trial.cpp", "return size_of(one - other) <=", "return std::min(size_of(one - other), size_of(one + other)) <="
    ),
    "phases before a pair": _fault(
        "rotate.cpp",
        "before = before || !Trial::same(a * c, b * d);",
        "before = before || !Trial::same(a * c, -(b * d));",
    ),
    "phases behind a pair": _fault(
        "rotate.cpp", "after = after || !Trial::same(a * b, c * d);", "after = after || !Trial::same(a, d);"
    ),
    "a pair that is not transposed": _fault(
        "rotate.cpp",
        "imaginary && needed.after ? transposed",
        "imaginary && needed.before && needed.after ? transposed",
    ),
    "a conjugated phase of a pair": _fault("rotate.cpp", "numbers + (imaginary ? 5 : 4)", "numbers + 4"),
    "which of a pair's scales": _fault("rotate.cpp", "{0, 2, 1, 3};  // the bits", "{0, 1, 2, 3};  // the bits"),
    # rotations between phases
    "phases in the other order": _fault(
        "rotate.cpp", "add(Kind::diagonal, bit, phase, 5, 1,", "add(Kind::diagonal, bit, phase, 4, 1,"
    ),
    # trial numbers
    "a conjugated product of trial numbers": _fault(
        "trial.cpp", "re * with.imag() + im * with.real()", "re * with.imag() - im * with.real()"
    ),
    "a conjugated root": _fault(
        "trial.cpp", "case minus_imag_root_half: return {0, -root};", "case minus_imag_root_half: return {0, root};"
    ),
    "a root's sign": _fault("trial.cpp", "case minus_root_half: return -root;", "case minus_root_half: return root;"),
    "a small entry that is taken for 0": _fault("trial.cpp", "near = 1e-9;", "near = 0.3;"),
    # eighth turns
    "a phase that undoes its equal": _fault(
        "controls/eighths.cpp",
        "(eighths(one_of[k]) + eighths(other_of[k])) % turn",
        "(eighths(one_of[k]) - eighths(other_of[k])) % turn",
    ),
    "a turn that is not negative": _fault(
        "controls/flips.cpp", "eighths(of[entry]) : -eighths(of[entry])", "eighths(of[entry]) : 0"
    ),
    "an inverted bit's turn": _fault(
        "controls/flips.cpp", "!= shift.inverted ? -turns : turns", "!= shift.inverted ? turns : turns"
    ),
    "a shift that is not inverted": _fault(
        "controls/eighths.cpp", "read & at && shift.inverted ? ", "read & at && !shift.inverted ? "
    ),
    "a known phase's sign": _fault(
        "controls/eighths.cpp", "number(of, turns & (turn - 1))", "number(of, -turns & (turn - 1))"
    ),
    # X under conditions
    "a Z at the other value": _fault("controls/controls.cpp", "piece.when.value | unit(bit)}", "piece.when.value}"),
    "a quarter turn before an inverted bit": _fault(
        "controls/controls.cpp", "shift_.inverted ? last.beta : 0", "shift_.inverted ? 0 : last.beta"
    ),
    "a joint phase": _fault("controls/controls.cpp", "gamma = left ? gamma : 0;", "gamma = left ? 0 : gamma;"),
    # pairs of CX
    "a phase between CX of the other value": _fault("cancel.cpp", "== cx.value : !cx.value;", "== cx.value : false;"),
    "a condition between CX": _fault(
        "cancel.cpp", "((phase.when.value & target) != 0) != flips", "(phase.when.value & target) != 0"
    ),
    # layouts
    "a flip that is not undone": _fault("absorb.cpp", "layout_.flip ^= unit(bit);", "layout_.flip |= unit(bit);"),
    "a condition on an inverted bit": _fault(
        "absorb.cpp", "moved(wanted) ^ (layout_.flip & out.when.mask)", "moved(wanted)"
    ),
    "a row of an inverted bit": _fault(
        "absorb.cpp", "(row ^ mix_flip) * size + (column ^ mix_flip)", "row * size + (column ^ mix_flip)"
    ),
    "a parity of inverted bits": _fault(
        "absorb.cpp", "count(masks_[k] & layout_.flip) & 1", "(masks_[k] & layout_.flip) != 0"
    ),
    "a known zero that is inverted": _fault(
        "absorb.cpp", "(value >> wire & 1) ^ (layout_.flip >> bit & 1)", "value >> wire & 1"
    ),
    # products
    "a condition's value in a matrix": _fault(
        "fuse.cpp", ", value = bits.local(piece.when.value)", ", value = bits.local(piece.when.mask)"
    ),
    "a block's parity": _fault(
        "fuse.cpp", "(count(column & bits.local(reads[k])) & 1) << k", "((column & bits.local(reads[k])) != 0) << k"
    ),
    "phases that something mixes between": _fault(
        "rotate.cpp", "mixed_[bit] == none || mixed_[bit] < group", "mixed_[bit] == none || mixed_[bit] <= group + 1"
    ),
}
"""By name."""
