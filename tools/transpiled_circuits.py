"""The structure of circuits in rz, sx, x and cz, as one version of Qiskit's transpiler wrote them: kept as text.

Versions of Qiskit write different circuits, so what plans are counted for is kept in a file. A line is a family: its
name, and its gates as letters. ``s7`` is SX on wire 7, ``x7`` X, ``c7a`` CZ on wires 7 and 10, and ``r7`` with one more
sign RZ: a hexadecimal digit for its angle in eighth turns, or ``~`` for any other angle. Plans of a circuit as it came
do not depend on that; forms do.
``python -m tools.transpiled_circuits`` writes the file anew, with the Qiskit that is installed; then all golden counts
of these circuits are others, so do it for new families alone (``--only``).
"""

from __future__ import annotations

import argparse
import lzma
import math
import string
from collections.abc import Iterable, Iterator
from pathlib import Path

from benchmarks.gates import Gate
from qsim_ex.circuit.quarters import quarter

FILE = Path(__file__).parent.parent / "tests" / "data" / "in_rz_sx_x_cz.txt.xz"
BASIS = {"rz": "r", "sx": "s", "x": "x", "cz": "c"}
WIRES = 28

_NAMES = {letter: name for name, letter in BASIS.items()}
_DIGITS = string.digits + string.ascii_lowercase
_ANY, _ANGLE = "~", 0.3
_EIGHTH = math.pi / 4


def written(gates: Iterable[Gate]) -> str:
    """Return the structure of gates as text."""
    return "".join(
        BASIS[gate.name] + "".join(_DIGITS[wire] for wire in gate.wires) + (_turn(gate) if gate.name == "rz" else "")
        for gate in gates
    )


def _turn(gate: Gate) -> str:
    known = quarter("rz", gate.params)  # as circuits of the engine are built
    return _DIGITS[round(gate.params[0] / _EIGHTH) % 16] if known else _ANY


def read(text: str) -> list[Gate]:
    """Return the gates of a text; angles that it does not know are 0.3."""
    letters = iter(text)
    return list(_gates(letters))


def _gates(letters: Iterator[str]) -> Iterator[Gate]:
    for letter in letters:
        name = _NAMES[letter]
        wires = tuple(_DIGITS.index(next(letters)) for _ in range(2 if name == "cz" else 1))
        if name == "rz":
            turn = next(letters)
            yield Gate("rz", wires, (_ANGLE if turn == _ANY else _DIGITS.index(turn) * _EIGHTH,))
        else:
            yield Gate(name, wires)


def circuits() -> dict[str, list[Gate]]:
    """Return the gates of all families that the file has."""
    return {name: read(text) for name, text in _lines().items()}


def _lines() -> dict[str, str]:
    if not FILE.exists():
        return {}
    return dict(line.split() for line in lzma.decompress(FILE.read_bytes()).decode().splitlines())


def main() -> None:
    """Transpile the families of `golden_counts`, or some of them, and write the file."""
    from benchmarks.warm import transpiled
    from tools.golden_counts import FAMILIES

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", choices=FAMILIES, default=list(FAMILIES))
    given = parser.parse_args()
    lines = _lines()
    for name in given.only:
        lines[name] = written(transpiled(FAMILIES[name](WIRES), WIRES, list(BASIS)))
        print(f"{name}: {len(read(lines[name]))} gates")
    text = "".join(f"{name} {lines[name]}\n" for name in FAMILIES)
    FILE.write_bytes(lzma.compress(text.encode(), preset=9))


if __name__ == "__main__":
    main()
