"""The network between the devices that share a state, described as layers from near to far.

A layer is a group of bits of the device numbers. Devices whose numbers differ in one of its bits, and in no bit of a
farther layer, exchange amplitudes over its link: another GPU of the host, another host, another rack.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from qsim_ex.errors import OptionError, nearest

LINKS = {
    "nvlink": 396e9,
    "nvlink3": 264e9,
    "nvlink5": 790e9,
    "pcie": 22e9,
    "pcie5": 50e9,
    "memory": 10e9,
    "host": 5e9,
    "ib": 45e9,
    "hdr": 22e9,
    "slingshot": 22e9,
    "ethernet": 1.1e9,
}
"""The bytes that one device sends over a link in a second, while as many arrive, unless they are given or measured.

nvlink was measured on H200s (NVLink 4); nvlink3 (A100) and nvlink5 (B200) are the same share, 88 %, of their peak. pcie
is version 4, ib is InfiniBand NDR (400 Gb/s for each device), hdr InfiniBand HDR and slingshot Slingshot 11 (both 200
Gb/s for each device), ethernet has 10 Gb/s: 90 % of each. memory is between devices that share a memory, and host is
between processes of one host over MPI; both depend on the machine.
"""


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer of the network: some bits of the device numbers, and the link between devices that differ in them.

    bits: 2^bits groups of devices are joined by this link; at least 1. link: a name of `LINKS`, or any other name with
    a bandwidth. bytes_per_second: what one device sends while as many bytes arrive, when all devices do so at once.
    Raises `OptionError`.
    """

    bits: int
    link: str
    bytes_per_second: float = 0.0

    def __post_init__(self) -> None:
        given: tuple[object, ...] = (self.bits, self.link, self.bytes_per_second)  # whatever a user has passed
        bits, link, rate = given
        if isinstance(bits, bool) or not isinstance(bits, int) or not 1 <= bits <= 40:
            raise OptionError(
                f"network: expected from 1 to 40 bits in a layer, got {bits!r}; a layer of 2 bits joins 4 groups "
                "of devices."
            )
        if not isinstance(link, str) or not link:
            raise OptionError(f"network: expected the name of a link, got {link!r}; pass (2, 'nvlink').")
        if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 <= rate < math.inf:
            raise OptionError(
                f"network: expected a number of bytes per second, got {rate!r}; pass (1, {self.link!r}, 25e9)."
            )
        if not rate:
            if self.link not in LINKS:
                raise OptionError(
                    f"network: the bandwidth of the link {self.link!r} is not known.{nearest(self.link, [*LINKS])} "
                    f"Known: {', '.join(LINKS)}; pass the bytes per second as well: (1, {self.link!r}, 25e9)."
                )
            object.__setattr__(self, "bytes_per_second", LINKS[self.link])

    def to_json(self) -> dict[str, object]:
        """Return the fields as JSON values."""
        return {"bits": self.bits, "link": self.link, "bytes_per_second": self.bytes_per_second}


Layers = tuple[Layer, ...]


def layers_of(given: object) -> Layers:
    """Return layers from pairs ``(bits, link)`` or triples ``(bits, link, bytes_per_second)``, the nearest first.

    Raises `OptionError` for anything else, for no layer, and for a layer that is faster than a nearer one.
    """
    how = "pass network=[(2, 'nvlink'), (1, 'ib')], the nearest layer first"
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise OptionError(f"network: expected 'auto', 'switch', 'mesh' or a list of layers, got {given!r}; {how}.")
    layers: list[Layer] = []
    for one in given:
        if isinstance(one, Layer):
            layers.append(one)
        elif isinstance(one, Sequence) and not isinstance(one, str | bytes) and len(one) in (2, 3):
            layers.append(Layer(*one))
        else:
            raise OptionError(f"network: expected layers such as (2, 'nvlink'), got {one!r}; {how}.")
    if not layers:
        raise OptionError(f"network: expected at least one layer, got none; {how}.")
    for near, far in pairwise(layers):
        if far.bytes_per_second > near.bytes_per_second:
            raise OptionError(
                f"network: expected the nearest and fastest layer first, got {near.link!r} with "
                f"{near.bytes_per_second:.3g} before {far.link!r} with {far.bytes_per_second:.3g} bytes per second; "
                "pass them in another order."
            )
    return tuple(layers)


def nearest_bits(layers: Layers, bits: int) -> Layers:
    """Return the layers of the nearest `bits` bits; raise `OptionError` if there are fewer.

    2^bits devices of a larger machine are neighbours, so they use its nearest links.
    """
    found: list[Layer] = []
    left = bits
    for layer in layers:
        if left == 0:
            break
        found.append(replace(layer, bits=min(layer.bits, left)))
        left -= found[-1].bits
    if left:
        raise OptionError(
            f"network: expected layers of {bits} bits for {1 << bits} devices, got {bits - left} bits; add layers, or "
            "use fewer devices."
        )
    return tuple(found)


def describe(layers: Layers) -> str:
    """Return the layers in words, the nearest first."""
    return ", ".join(f"{one.bits} over {one.link} ({_rate(one.bytes_per_second)})" for one in layers)


def _rate(bytes_per_second: float) -> str:
    return f"{bytes_per_second / 1e9:.3g} GB/s"
