"""Trades in mapped memory are measured in place of messages, pair by pair."""

from __future__ import annotations

import pytest
from support.sharing_cpu import SharingCpu
from support.together import together

from qsim_ex.comm.neighbours import MeasuredBy, layers_of_ranks
from qsim_ex.placement.exchange import mapped_rates
from qsim_ex.placement.exchange.mapped_rates import MappedRates
from tools.loopback import Loopback


@pytest.mark.parametrize(("deaf", "link"), [("", "mapped"), ("no right to map", "host")])
def test_the_link_between_ranks(monkeypatch: pytest.MonkeyPatch, deaf: str, link: str) -> None:
    """Ranks that map each other's memory are joined by that link, others by messages; a rank beyond them by none."""
    monkeypatch.setitem(mapped_rates._AMPLITUDES, "cpu", 1 << 10)
    devices = [SharingCpu(), SharingCpu(deaf=deaf), SharingCpu()]

    def by(end: Loopback) -> MeasuredBy:
        return MeasuredBy("test", lambda: MappedRates(end, devices[end.rank], 2))

    found = together(3, lambda end: layers_of_ranks(end, 2, by(end)))
    assert found == [found[0]] * 3
    ((layer,),) = {tuple(layers) for layers in found}
    assert (layer.bits, layer.link) == (1, link)
    assert [bool(device.swapped) for device in devices] == [not deaf, not deaf, False]
