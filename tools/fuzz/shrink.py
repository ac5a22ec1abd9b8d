"""Makes a case that fails smaller: fewer lines, wires, bits and options, and simpler numbers."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain

from tools.fuzz.case import BIT, WIRE, Case, Line, used

SECONDS = 60.0
"""How long a failure is made smaller, at most."""

_NUMBER = re.compile(r"-?(?:\d+\*)?pi(?:/\d+)?|(?<![\w\[.])-?\d+\.\d+")
_SEED = re.compile(r"(?<=, )\d+(?=\))")
_EXTRA = re.compile(r", control_values=\d+|, controls=\[[^\]]*\]")


def shrink(case: Case, fails: Callable[[Case], bool], seconds: float = SECONDS) -> Case:
    """The smallest case found that still fails; one that fails by chance may stay larger than it must."""
    until = time.monotonic() + seconds
    while True:
        for smaller in _candidates(case):
            if time.monotonic() > until:
                return case
            if smaller != case and fails(smaller):
                case = smaller
                break
        else:
            return case


def _candidates(case: Case) -> Iterator[Case]:
    """Cases that are a step smaller, the largest steps first."""
    yield from chain(_fewer_lines(case), _fewer_options(case), _fewer_wires(case), _simpler(case))


def _fewer_lines(case: Case) -> Iterator[Case]:
    lines, size = case.program, len(case.program)
    while size:
        for at in range(0, len(lines), size):
            yield replace(case, program=lines[:at] + lines[at + size :])
        size //= 2
    for at, line in enumerate(lines):
        if line.body:
            yield replace(case, program=lines[:at] + line.body + lines[at + 1 :])
            for k in range(len(line.body) if len(line.body) > 1 else 0):
                kept = replace(line, body=line.body[:k] + line.body[k + 1 :])
                yield replace(case, program=(*lines[:at], kept, *lines[at + 1 :]))


def _fewer_options(case: Case) -> Iterator[Case]:
    for name in case.options:
        yield replace(case, options={key: value for key, value in case.options.items() if key != name})
    for name, value in case.ask.items():
        if isinstance(value, tuple) and value:
            for k in range(len(value)):
                yield replace(case, ask={**case.ask, name: value[:k] + value[k + 1 :]})
        elif isinstance(value, dict) and name in ("elsewhere", "thresholds"):
            yield replace(case, ask={**case.ask, name: None if name == "elsewhere" else {}})
            for key in value:
                yield replace(case, ask={**case.ask, name: {k: v for k, v in value.items() if k != key}})
        elif isinstance(value, int) and not isinstance(value, bool):
            yield from (replace(case, ask={**case.ask, name: low}) for low in (0, 1, 2) if low < value)


def _fewer_wires(case: Case) -> Iterator[Case]:
    """Only wires and bits that are named, numbered from 0, with or without wires above; then one at the end less."""
    wires, bits = used(WIRE, case), used(BIT, case)
    renumbered = _renumbered(case, wires, bits)
    yield replace(renumbered, wires=max(len(wires), 1))
    yield renumbered
    if case.wires > len(wires) and case.wires > 1:
        yield replace(case, wires=case.wires - 1)
    if case.bits > len(bits) and case.bits > 0:
        yield replace(case, bits=case.bits - 1)


def _renumbered(case: Case, wires: list[int], bits: list[int]) -> Case:
    """The same lines on the first wires and bits; what is asked about wires may stop failing, and is then kept."""
    program = tuple(
        line.renumbered(WIRE, "q", {w: k for k, w in enumerate(wires)}).renumbered(
            BIT, "c", {b: k for k, b in enumerate(bits)}
        )
        for line in case.program
    )
    return replace(case, program=program)


def _simpler(case: Case) -> Iterator[Case]:
    for at, line in enumerate(case.program):
        for text in _texts(line.text):
            yield replace(case, program=(*case.program[:at], replace(line, text=text), *case.program[at + 1 :]))
        for k, inner in enumerate(line.body):
            for text in _texts(inner.text):
                body = (*line.body[:k], Line(text, inner.body), *line.body[k + 1 :])
                yield replace(case, program=(*case.program[:at], replace(line, body=body), *case.program[at + 1 :]))


def _texts(text: str) -> Iterator[str]:
    """The statement without controls, with round numbers, with the first of some matrices."""
    for found in _EXTRA.finditer(text):
        yield text[: found.start()] + text[found.end() :]
    for pattern, simple in ((_NUMBER, ("1.0", "0.5", "0.3")), (_SEED, ("0", "1"))):
        for found in pattern.finditer(text):
            if found[0] not in simple:
                yield from (text[: found.start()] + value + text[found.end() :] for value in simple)
