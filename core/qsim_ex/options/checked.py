"""Values of options, checked: whole numbers, sizes of memory, numbers of GPUs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeGuard

import numpy as np

from qsim_ex.display.amounts import parse_size
from qsim_ex.errors import OptionError


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
