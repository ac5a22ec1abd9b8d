"""Programs of the interpreter, taken apart: their operations, by the names that the interpreter's text has for them."""

from __future__ import annotations

import re
from importlib import resources


def named(file, package="qsim_ex.kernels.cuda.interpret", folder="interpreter_kernels"):
    """The constants of enumerations in a kernel's text, of the interpreter's if nothing else is said, by name."""
    folder = resources.files(package).joinpath(folder)
    text = re.sub(r"//.*", "", folder.joinpath(file).read_text(encoding="utf-8"))
    found = {}
    for body in re.findall(r"enum \{(.*?)\};", text, re.DOTALL):
        value = -1
        for name, given in re.findall(r"(\w+)(?: = (\d+))?", body):
            value = found[name] = int(given) if given else value + 1
    return found


WORD = named("functions.cu") | {"FRAGMENTS": named("fragments.cu")["FRAGMENTS"]}
"""Codes of operations, and the places and numbers of words."""


_LENGTHS = {
    WORD["LAYER"]: 2,
    WORD["CXS"]: 2,
    **{WORD["PHASE_2"] + pair: 2 for pair in range(6)},
    **{WORD["FLIP_IF"] + bit: WORD["FLIP_WORDS"] for bit in range(4)},
    **{WORD["PHASE_IF"] + body: WORD["IF_WORDS"] for body in range(6)},
    **{WORD["MIX_IF"] + bit: WORD["IF_WORDS"] for bit in range(4)},
    **{WORD["PARITY"] + body: WORD["PARITY_WORDS"] for body in range(5)},
}
"""The words of operations that the interpreter of derivatives lacks, by their codes."""


def steps(words):
    """The first word of each operation, and the number of its words."""
    at = WORD["HEAD"] + (int(words[0]) & 0xFF) + WORD["ADDED"] * (int(words[0]) >> 8)
    while True:
        first = int(words[at])
        code = first & 0xFF
        if code in _LENGTHS:
            length = _LENGTHS[code]
        elif code == WORD["EXCHANGE"]:
            length = 13 + WORD["FRAGMENTS"] * (first >> 8)
        elif WORD["PAIR_2"] <= code < WORD["FLIP_IF"]:
            length = WORD["PARITY_WORDS"] if first & WORD["PAIR_BY_PARITY"] else 2
        elif (
            code == WORD["FACTORS"] or WORD["MIX_1"] <= code <= WORD["BLOCK"] or WORD["MIX_3"] <= code < WORD["PAIR_2"]
        ):
            length = 2
        elif WORD["PHASE"] <= code < WORD["MIX_1"]:
            length = 7
        else:
            length = WORD["REST"] + 3 * int(words[at + WORD["READS"]]) if code != WORD["END"] else 1
        yield first, length
        if code == WORD["END"]:
            return
        at += length


def operations(words):
    """The codes of a program's operations."""
    return {first & 0xFF for first, _ in steps(words)}


def exchanged(words):
    """The matrices for the tensor cores at each exchange."""
    return [first >> 8 for first, _ in steps(words) if first & 0xFF == WORD["EXCHANGE"]]
