"""How fast each device of a machine reads, computes and sends."""

from __future__ import annotations

from dataclasses import dataclass, replace

from qsim_ex.steps.layout import Shape


@dataclass(frozen=True, slots=True)
class Rates:
    """The rates of each device of a machine, per second; the defaults were measured on H200s.

    memory: bytes read and written in a device's memory. fma: real multiply-adds in single precision; double: the share
        of them in double. seen: the share of the shorter time, of memory and arithmetic, that the longer does not hide.
    peer: bytes sent to other devices while as many arrive; with a mesh it is the sum over all links.
    host, host_both: bytes between a device and the host in one direction alone, and in both directions together.
    host_all: bytes between the host and all devices together. homes: bytes that ranks of one host send from home to
        home while as many arrive, by the processor.
    launch: seconds to start one step on one device. exchange: seconds to start one on all devices.
    interpreted, interpreted_seen: `fma` and `seen` of the interpreter, of whose instructions only a part takes twice as
        long in double. plan, plan_gate, plan_entry: seconds in which the host prepares a first run: once, for each
        gate, and for each entry of a table; levels, levels_gate: the first two for states on several levels.
    surely: the share of a plan's predicted time below which another circuit's has to be if that is to take less indeed.
        On an H100, at 28 wires, plans of 24 families in three bases took 0.9 to 1.6 times as long as native code
        predicts, and those of what is written out of forms 1.1 to 1.8 times; on a thread of a CPU, at 20 wires, with
        the 126 pairs of plans that costs were fitted to, the measured ratio is within 13 % of the predicted one in the
        mean, and single times below 10 ms are 0.6 to 1.2 of them (decision 0056).
    """

    memory: float = 4.24e12
    fma: float = 28e12
    seen: float = 0.2
    peer: float = 396e9
    host: float = 55e9
    host_both: float = 101e9
    host_all: float = 150e9
    homes: float = 24e9
    launch: float = 15e-6
    exchange: float = 1.2e-3
    double: float = 0.55
    interpreted: float = 21.4e12
    interpreted_seen: float = 0.4
    plan: float = 1.3e-3
    plan_gate: float = 0.8e-6
    plan_entry: float = 0.2e-6
    levels: float = 4e-3
    levels_gate: float = 3e-6
    surely: float = 0.85

    def shared(self, count: int) -> Rates:
        """Return the rates of each of `count` sub state vectors that share a device, and exchange within its memory."""
        if count == 1:
            return self
        each = {name: getattr(self, name) / count for name in ("memory", "fma", "interpreted", "host", "host_both")}
        within = each["memory"] / 4  # an exchange reads and writes both pieces
        return replace(self, peer=within, **each)


def cpu_rates(shape: Shape, threads: int) -> Rates:
    """Return the rates of so many threads of a CPU, as nearly as two ways to run one circuit are compared by them.

    A thread reads and writes 10 GB/s, up to ten of them.
    """
    memory = 1e10 * min(threads, 10)
    return Rates(memory=memory, fma=shape.balance * memory / 16, double=0.5, seen=shape.seen, launch=1e-5, surely=0.9)


H200 = Rates()
