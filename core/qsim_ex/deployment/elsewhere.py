"""A machine to plan for that need not be here: how many devices, how they are connected, and how fast they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

from qsim_ex.display.amounts import human
from qsim_ex.errors import OptionError, nearest
from qsim_ex.options import Options
from qsim_ex.options.network import Layers, describe, layers_of, nearest_bits
from qsim_ex.placement.deployment import Deployment
from qsim_ex.planning.cost.rates import H200, Rates


class DeviceModel(NamedTuple):
    """A model of device. memory: bytes of one. inside: the link between devices of one host; see `network.LINKS`."""

    kind: str
    memory: int
    rates: Rates
    inside: str


_GIB = 1 << 30

MODELS: Mapping[str, DeviceModel] = MappingProxyType(
    {
        "H200": DeviceModel("gpu", 139 * _GIB, H200, "nvlink"),
        "H100": DeviceModel("gpu", 79 * _GIB, Rates(memory=2.96e12), "nvlink"),
        "A100": DeviceModel("gpu", 39 * _GIB, Rates(1.37e12, 7.9e12, peer=264e9, host=22e9, host_both=40e9), "nvlink3"),
        "GH200": DeviceModel("gpu", 94 * _GIB, Rates(memory=3.5e12, host=350e9, host_both=400e9), "nvlink"),
        "A64FX": DeviceModel("cpu", 30 * _GIB, Rates(memory=0.8e12, fma=2.2e12), "host"),
    }
)
"""Models of devices by name. The rates of the H200 were measured.

Those of the others follow from their data sheets: the same share of the peak as on the H200 (88 % of memory and of
links, 80 % of multiply-adds), and for the A64FX the rate of STREAM that its makers state.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """A machine to plan for; it need not be here. Raises `OptionError`.

    processes: how many processes share a state; a power of two. devices: how many devices each process has; a power of
        two. model: the model of device, a name of `MODELS`.
    network: layers from near to far, as in `Options`, or None: the devices of a process are joined by the link of their
        model, and processes by InfiniBand.
    memory: bytes of each device, in place of those of the model. rates: in place of those of the model.
    """

    processes: int = 1
    devices: int = 1
    model: str = "H200"
    network: Any = None
    memory: int | None = None
    rates: Rates | None = None
    layers: Layers = field(init=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("processes", "devices"):
            count: Any = getattr(self, name)
            if isinstance(count, bool) or not isinstance(count, int) or count < 1 or count.bit_count() != 1:
                raise OptionError(f"Cluster: {name}: expected a power of two, got {count!r}; pass {name}=8.")
        if self.model not in MODELS:
            raise OptionError(
                f"Cluster: model: expected one of {', '.join(MODELS)}, got {self.model!r}."
                f"{nearest(str(self.model), [*MODELS])} Pass one of them, with memory= and rates= for another device."
            )
        memory: Any = self.memory
        if memory is not None and (isinstance(memory, bool) or not isinstance(memory, int) or memory < 1):
            raise OptionError(f"Cluster: memory: expected bytes, got {memory!r}; pass memory=80 << 30.")
        near, far = (count.bit_length() - 1 for count in (self.devices, self.processes))
        given = self.network
        if given is None:
            given = [(bits, link) for bits, link in ((near, MODELS[self.model].inside), (far, "ib")) if bits]
        object.__setattr__(self, "layers", nearest_bits(layers_of(given), near + far) if near + far else ())

    @property
    def speeds(self) -> Rates:
        """The rates of each device."""
        return MODELS[self.model].rates if self.rates is None else self.rates

    @property
    def device_bytes(self) -> int:
        """The bytes of memory of each device."""
        return MODELS[self.model].memory if self.memory is None else self.memory

    def options(self, options: Options) -> Options:
        """Return options for a state on this machine: all about devices, processes and their network is replaced."""
        model = MODELS[self.model]
        apart = model.inside != "host"  # each has a memory of its own
        return options.with_(
            {
                "device": model.kind,
                "device_id": 0,
                "devices": tuple(range(self.devices)) if apart and self.devices > 1 else None,
                "virtual_peers": 1 if apart else self.devices,
                "processes": self.processes if self.processes > 1 else "never",
                "network": self.layers or "auto",
                "max_memory": self.device_bytes,
            }
        )

    def describe(self, deployment: Deployment) -> str:
        """Return the machine in words, with the memory that a state takes at each level."""
        count = self.processes * self.devices
        held = f"{human(deployment.device_bytes)} of {human(self.device_bytes)}"
        words = [f"machine: {self.processes:,} processes of {self.devices} {self.model}, {count:,} devices"]
        if self.layers:
            words.append(f"network: {describe(self.layers)}")
        fits = "" if deployment.device_bytes <= self.device_bytes else ": IT DOES NOT FIT"
        words.append(f"memory: {held} on each device{fits}")
        inside = deployment.device_bytes * self.devices
        words.append(f"{human(inside)} for each process, {human(inside * self.processes)} in all")
        if deployment.host_bytes:
            words.append(f"{human(deployment.host_bytes)} of host memory for each process")
        return "; ".join(words)
