"""Layers of the network are what was given, or an error says what cannot be meant."""

from __future__ import annotations

from typing import Any

import pytest

from qsim_ex.errors import OptionError
from qsim_ex.options.network import LINKS, Layer, describe, layers_of, nearest_bits


def test_layers_as_given() -> None:
    """A link that is known has its bandwidth, a given bandwidth counts, and any other name needs one."""
    made = layers_of([(2, "nvlink"), (1, "ib", 25e9), Layer(3, "tofu", 7e9)])
    assert made == (Layer(2, "nvlink", LINKS["nvlink"]), Layer(1, "ib", 25e9), Layer(3, "tofu", 7e9))
    assert describe(made) == "2 over nvlink (396 GB/s), 1 over ib (25 GB/s), 3 over tofu (7 GB/s)"
    assert layers_of(made) == made


def test_the_nearest_devices_of_a_machine() -> None:
    """Fewer devices than the machine has are its nearest ones; more of them are an error."""
    layers = layers_of([(2, "nvlink"), (3, "ib")])
    assert [one.bits for one in nearest_bits(layers, 3)] == [2, 1]
    assert [one.link for one in nearest_bits(layers, 2)] == ["nvlink"]
    assert nearest_bits(layers, 0) == ()
    with pytest.raises(OptionError, match="layers of 6 bits for 64 devices, got 5 bits; add layers"):
        nearest_bits(layers, 6)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("ring", "'auto', 'switch', 'mesh' or a list of layers, got 'ring'"),
        ([], "at least one layer, got none"),
        ([(2,)], r"layers such as \(2, 'nvlink'\), got \(2,\)"),
        (["nvlink"], "layers such as"),
        ([(0, "nvlink")], "from 1 to 40 bits in a layer, got 0"),
        ([(True, "nvlink")], "from 1 to 40 bits in a layer, got True"),
        ([(1.5, "nvlink")], "from 1 to 40 bits"),
        ([(1, 2)], "the name of a link, got 2"),
        ([(1, "nvlnk")], "bandwidth of the link 'nvlnk' is not known. Did you mean 'nvlink'"),
        ([(1, "ib", -1)], "a number of bytes per second, got -1"),
        ([(1, "ib", "fast")], "a number of bytes per second, got 'fast'"),
        ([(1, "ib", float("inf"))], "a number of bytes per second, got inf"),
        ([(1, "ib"), (2, "nvlink")], "the nearest and fastest layer first, got 'ib' with 4.5e.10 before 'nvlink'"),
    ],
)
def test_nonsense(given: Any, message: str) -> None:
    """What is no network is refused, and the error says what was expected."""
    with pytest.raises(OptionError, match=message):
        layers_of(given)
