"""Values of options, checked: whole numbers, sizes of memory, numbers of GPUs."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeGuard

import numpy as np

from qsim_ex.display.amounts import parse_size
from qsim_ex.errors import OptionError
from qsim_ex.precision import BY_REAL, PRECISIONS

_CHOSEN: Mapping[str, str] = {
    "cuda": "gpu",
    "clifford": "stabilizer",
    **{row.storage.dtype.name: row.name for row in PRECISIONS.values()},
    **{real.name: row.name for real, row in BY_REAL.items()},
}
"""Names of choices in other simulators, and the choice that they mean here."""


def no_choice(name: str, given: object, allowed: Sequence[str], default: object) -> OptionError:
    """Return the error of an option that is none of a few names; it advises the one that was meant, or the default."""
    written = str(getattr(given, "__name__", given)).lower()
    like = [_CHOSEN.get(written, written), *difflib.get_close_matches(written, allowed, n=1, cutoff=0.75)]
    meant = next((one for one in like if one in allowed), default)
    choices = ", ".join(map(repr, allowed))
    if name == "precision" and isinstance(given, float):
        return OptionError(
            f"precision: expected one of {choices}, which is how amplitudes are stored, got {given!r}; pass a standard "
            "error to EstimatorV2.run, or as default_precision."
        )
    return OptionError(f"{name}: expected one of {choices}, got {given!r}; pass {name}={meant!r}.")


def is_whole(value: object) -> TypeGuard[int]:
    """Return whether a value is a whole number; a truth value is none."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def size_in_bytes(name: str, given: object, least: int) -> int:
    """Return the bytes of a size; raises `OptionError`."""
    try:
        size = parse_size(given) if isinstance(given, str) else given
    except ValueError:
        size = None
    if not is_whole(size) or size < least:
        raise OptionError(
            f"{name}: expected a size such as '8 GiB', or a whole number of bytes from {least} up, got {given!r}; pass "
            f"{name}='8 GiB'."
        )
    return int(size)


def gpu_numbers(given: object, device: str) -> tuple[int, ...]:
    """Return the numbers of GPUs as a tuple; raises `OptionError`."""
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise OptionError(f"devices: expected a list of GPU numbers, got {given!r}; pass devices=[0, 1, 2, 3].")
    numbers = tuple(given)
    if not numbers or not all(is_whole(number) and number >= 0 for number in numbers):
        raise OptionError(f"devices: expected GPU numbers from 0 up, got {given!r}; pass devices=[0, 1, 2, 3].")
    numbers = tuple(map(int, numbers))
    if device == "cpu":
        raise OptionError(
            f"devices: expected no GPUs with device='cpu', got {list(numbers)}; to divide a state on the CPU, pass "
            "virtual_peers or device_wires."
        )
    if repeated := sorted({number for number in numbers if numbers.count(number) > 1}):
        raise OptionError(
            f"devices: expected each GPU once, got {list(numbers)} with GPU {', '.join(map(str, repeated))} more than "
            "once; pass virtual_peers to let several sub state vectors share a GPU."
        )
    if len(numbers).bit_count() != 1:
        fewer = 1 << (len(numbers).bit_length() - 1)
        raise OptionError(
            f"devices: expected a power of two of GPUs, got {len(numbers)}: {list(numbers)}; pass {fewer} of them, "
            f"such as devices={list(numbers[:fewer])}."
        )
    return numbers
