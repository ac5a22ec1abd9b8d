"""A machine whose shape is so small that circuits of ten wires have many sweeps, with memory that others may fill."""

from __future__ import annotations

from support.plain_device import PlainDevice

from qsim_ex.devices.memory import HostCopies


class TinyMachine(PlainDevice, HostCopies):
    """The plain device with the host memory and copies of the CPU, so that every placement can be made on it."""
