"""The header of a saved state; every field is checked before anything is done with it.

A file may come from anybody, and its checksums only show that it was not damaged by chance. A header that passes here
can be given to a kernel.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from qsim_ex.precision import BY_DTYPE, AmplitudeDtype
from qsim_ex.steps.index_map import IndexMap

MOST_BYTES = 1 << 20
"""The most bytes of a header."""

MOST_WIRES = 58
"""The most wires of a state in a file: its bytes and its indices can be counted in 63 bits."""

_DTYPES: dict[str, AmplitudeDtype] = {dtype.name: dtype for dtype in BY_DTYPE}


_HEXADECIMAL = re.compile("0x[0-9a-f]{1,16}")


class BadHeader(ValueError):
    """A header that no state has; the message names the field, what was expected, and what the field holds."""


@dataclass(frozen=True, slots=True)
class Header:
    """The fields of a header, each in its range and consistent with the others.

    index_map: which basis state each index of the file holds. piece: amplitudes of a piece. pieces: the number of
    pieces. norm: of the state when it was saved. about: any JSON object that the caller
    of `save` wants to keep with the state.
    """

    num_wires: int
    dtype: AmplitudeDtype
    index_map: IndexMap
    piece: int
    pieces: int
    norm: float
    about: Mapping[str, Any]

    def encoded(self) -> bytes:
        """Return the header as JSON in UTF-8; raise `BadHeader` if it is too long, or `about` is not valid JSON."""
        fields = {
            "num_wires": self.num_wires,
            "dtype": self.dtype.name,
            "parities": [hex(one) for one in self.index_map.parities],
            "flip": hex(self.index_map.flip),
            "piece": self.piece,
            "pieces": self.pieces,
            "norm": self.norm,
            "about": dict(self.about),
        }
        try:
            text = json.dumps(fields, allow_nan=False).encode()
        except (TypeError, ValueError, RecursionError) as error:
            raise BadHeader(f"about: expected values that JSON can hold: {error}") from error
        if len(text) > MOST_BYTES:
            raise BadHeader(f"about: expected a header of at most {MOST_BYTES} bytes, got {len(text)}")
        return text


def parsed(text: bytes) -> Header:
    """Return the header that some bytes encode; raise `BadHeader` and no other error, whatever the bytes are."""
    if len(text) > MOST_BYTES:
        raise BadHeader(f"expected a header of at most {MOST_BYTES} bytes, got {len(text)}")
    fields = _fields(text)
    num_wires = whole(fields, "num_wires", 0, MOST_WIRES)
    name = _field(fields, "dtype")
    if not isinstance(name, str) or name not in _DTYPES:
        raise BadHeader(f"dtype: expected 'complex64' or 'complex128', got {_short(name)}")
    index_map = _index_map(fields, num_wires)
    piece = whole(fields, "piece", 1, 1 << num_wires)
    if piece & (piece - 1):
        raise BadHeader(f"piece: expected a power of two, got {piece}")
    pieces = whole(fields, "pieces", 0, (1 << num_wires) // piece)
    about = _field(fields, "about")
    if not isinstance(about, dict):
        raise BadHeader(f"about: expected an object, got {_short(about)}")
    return Header(num_wires, _DTYPES[name], index_map, piece, pieces, _norm(fields), about)


def _index_map(fields: Mapping[str, object], num_wires: int) -> IndexMap:
    """Return the index map: a mask of one index bit for each wire."""
    told = _field(fields, "parities")
    if not isinstance(told, list) or len(told) != num_wires:
        raise BadHeader(f"parities: expected a list of {num_wires} masks, got {_short(told)}")
    parities = [mask("parities", one, num_wires) for one in told]
    if sorted(parities) != [1 << bit for bit in range(num_wires)]:
        raise BadHeader(f"parities: expected an index bit of its own for each wire, got {_short(told)}")
    return IndexMap(tuple(parities), mask("flip", _field(fields, "flip"), num_wires))


def mask(name: str, told: object, num_bits: int) -> int:
    """Return a mask that is written as ``hex`` writes it."""
    value = int(told, 16) if isinstance(told, str) and _HEXADECIMAL.fullmatch(told) else -1
    if not 0 <= value < 1 << num_bits:
        raise BadHeader(f"{name}: expected a mask of {num_bits} bits such as '0x1', got {_short(told)}")
    return value


def _fields(text: bytes) -> dict[str, Any]:
    try:
        found = json.loads(
            text.decode("utf-8"), object_pairs_hook=_once, parse_constant=_no_number, parse_float=_finite
        )
    except RecursionError:
        raise BadHeader("expected JSON of a few levels, got too many") from None
    except ValueError as error:  # no UTF-8, no JSON, a number of thousands of digits
        raise error if isinstance(error, BadHeader) else BadHeader(f"expected JSON in UTF-8: {error}") from None
    if not isinstance(found, dict):
        raise BadHeader(f"expected a JSON object, got {_short(found)}")
    return found


def _once(pairs: Sequence[tuple[str, object]]) -> dict[str, Any]:
    """Return an object of unique names: programs would read a repeated name differently."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise BadHeader("expected every name once, got a repeated name")
    return found


def _no_number(name: str) -> NoReturn:
    raise BadHeader(f"expected numbers, got {name}")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise BadHeader(f"expected numbers that a float64 can hold, got {text[:40]}")
    return value


def _field(fields: Mapping[str, object], name: str) -> Any:
    if name not in fields:
        raise BadHeader(f"expected a field {name!r}, got none")
    return fields[name]


def whole(fields: Mapping[str, object], name: str, least: int, most: int) -> int:
    """Return a whole number in a range; ``true`` is not a number."""
    value = _field(fields, name)
    if type(value) is not int or not least <= value <= most:
        raise BadHeader(f"{name}: expected a whole number from {least} to {most}, got {_short(value)}")
    return value


def _norm(fields: Mapping[str, object]) -> float:
    value = _field(fields, "norm")
    if type(value) not in (int, float) or not 0 <= value <= 1e100:
        raise BadHeader(f"norm: expected a number from 0 to 1e100, got {_short(value)}")
    return float(value)


def _short(value: object) -> str:
    text = ascii(value)
    return text if len(text) <= 60 else f"{text[:60]}…"
