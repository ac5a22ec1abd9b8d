"""A plan in words, for users who ask why a run was slow."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from qsim_ex.circuit.ops import wires_of
from qsim_ex.display.amounts import human, plural, whole
from qsim_ex.options.network import describe
from qsim_ex.planning.cost.first_run import first_run
from qsim_ex.planning.cost.rates import H200, Rates
from qsim_ex.planning.cost.stage_cost import passes, stage_costs
from qsim_ex.planning.cost.summary import PlanSummary, summary
from qsim_ex.planning.step_words import bits_in_words, step_lines
from qsim_ex.precision import Precision
from qsim_ex.steps.layout import Layout
from qsim_ex.steps.plan import Exchange, Migration, Plan, Stage, fresh_after

__all__ = ["PlanSummary", "explain", "predicted", "predicted_runs", "summary"]


def explain(
    plan: Plan,
    precision: Precision,
    bytes_per_second: float | None = None,
    *,
    rates: Rates = H200,
    register_blocks: bool = True,
    interprets: bool = False,
) -> str:
    """Describe a plan step by step: the motions at every level of memory, and the work of each sweep.

    bytes_per_second: a memory rate, for the seconds that memory alone would take (one device). rates: for the predicted
    seconds of a state on several levels. register_blocks: whether those of each sweep are listed. interprets: whether
    devices interpret the sweeps of a first run, whose time is then predicted too for a state on several levels.
    """
    if plan.levels.local < plan.num_wires:
        return "\n".join(_Levelled(plan, precision, rates, register_blocks, interprets).lines())
    total = summary(plan, precision)
    head = (
        f"{plural(total.gates, 'gate')} on {plural(plan.num_wires, 'wire')}: {plural(total.sweeps, 'sweep')}, "
        f"{plural(total.register_blocks, 'register block')}, {plural(total.wide, 'other step')}; "
        f"{human(total.bytes_moved)} moved, {whole(total.fma)} multiply-adds (plan {plan.key})"
    )
    lines = [
        head,
        f"wires on index bits at the start: {_ordering(plan.start)}",
    ]
    for number, step in enumerate(plan.steps, 1):
        lines += step_lines(number, step, plan.num_wires, precision, plan.shape, register_blocks)
    lines.append(f"wires on index bits at the end:   {_ordering(plan.end)}")
    if bytes_per_second:
        seconds = total.bytes_moved / bytes_per_second
        lines.append(f"memory alone: {seconds:.3g} s at {human(bytes_per_second)}/s")
    return "\n".join(lines)


def predicted(plans: Sequence[Plan], precision: Precision, rates: Rates) -> str:
    """Return a line with the predicted time of plans on one device whose first runs are like later ones."""
    return f"predicted: {_seconds(sum(summary(plan, precision, rates).seconds for plan in plans))} for the gates"


def predicted_runs(plans: Sequence[Plan], precision: Precision, compile: str, rates: Rates = H200) -> str:
    """Return a line with the predicted times of a first run on one GPU, and of later ones.

    compile: the option of this name. It says whether later runs have compiled kernels, and whether the first waits.
    """
    firsts = [first_run(plan, precision, rates) for plan in plans]
    host, work = sum(one.host for one in firsts), sum(one.work for one in firsts)
    later = sum(summary(plan, precision, rates).seconds for plan in plans)
    if compile == "always":
        return f"predicted: planning {_seconds(host)}, the compilation of its kernels, and then {_seconds(later)}"
    what = f"predicted: a first run {_seconds(host + work)} (planning {_seconds(host)}, interpreted {_seconds(work)})"
    if compile == "never":
        return f"{what}, later runs {_seconds(work)}"
    return f"{what}, later runs {_seconds(work)}, and {_seconds(later)} when their kernels are compiled"


class _Levelled:
    """The description of a plan whose state is on several devices, in host memory, or both."""

    def __init__(self, plan: Plan, precision: Precision, rates: Rates, register_blocks: bool, interprets: bool) -> None:
        self.plan, self.precision, self.rates = plan, precision, rates
        self.register_blocks, self.interprets = register_blocks, interprets
        given = plan.stages, plan.num_wires, plan.levels, precision, rates
        self.costs = stage_costs(*given, shape=plan.shape)
        self.step = 0

    def lines(self) -> list[str]:
        """Return all lines of the description."""
        plan = self.plan
        return [
            *self._head(),
            f"wires on index bits at the start: {_ordering(plan.start)}",
            *(line for number, group in enumerate(passes(plan.stages), 1) for line in self._pass(number, group)),
            f"wires on index bits at the end: {_ordering(plan.end)}",
            *(
                [f"zero wherever one of them is 1, and not written: index bits {bits_in_words(wires_of(plan.left))}"]
                if plan.left
                else []
            ),
            *self._sums(),
        ]

    def _head(self) -> list[str]:
        levels, plan = self.plan.levels, self.plan
        total = summary(plan, self.precision, self.rates)
        migration = levels.migration(plan.num_wires)
        size = human(self.precision.storage.bytes * 2.0**levels.local)
        state = human(self.precision.storage.bytes * 2.0**plan.num_wires)
        motions = [plural(total.passes, "pass", "passes")] * bool(migration)
        motions += [plural(total.exchanges, "exchange")] * bool(levels.peers)
        parts = [f"{levels.local} local bits: {size} on each of {plural(1 << levels.peers, 'device')}"]
        if levels.peers:
            network = describe(levels.layers) if levels.layers else _NETWORKS[levels.network]
            parts.append(f"{plural(levels.peers, 'device bit')} ({network})")
        if migration:
            slices = human(self.precision.storage.bytes * 2.0**levels.slice)
            where = "on the host" if not levels.ranks else f"on the hosts of {1 << levels.ranks} processes"
            parts.append(f"{plural(migration, 'migration bit')}: {state} at home {where}, in slices of {slices}")
        counts = (
            f"{plural(total.gates, 'gate')} on {plural(plan.num_wires, 'wire')}: {', '.join(motions)}, "
            f"{plural(total.stages, 'stage')}, {plural(total.sweeps, 'sweep')}, {plural(total.wide, 'other step')}; "
            f"predicted {_seconds(total.seconds)} (plan {plan.key})"
        )
        return [counts, "; ".join(parts)]

    def _pass(self, number: int, group: list[int]) -> list[str]:
        lines = []
        first, plan = self.costs[group[0]], self.plan
        if isinstance(plan.stages[group[0]].motion, Migration):
            work = sum(self.costs[k].work + self.costs[k].moving for k in group)
            total = max(work, first.copying - first.ends) + first.ends
            why = "waits for copies" if first.copying > work else "copies wait for work"
            devices = max(self.costs[k].devices for k in group)
            lines.append(
                f"pass {number}: {plural(first.windows, 'window')} on {plural(devices, 'device')}; "
                f"{human(first.host_in)} in, {human(first.host_out)} out; work {_seconds(work)}, "
                f"copies {_seconds(first.copying)}: {_seconds(total)}, {why}"
            )
        for k in group:
            lines += self._stage(k, plan.stages[k])
        return lines

    def _stage(self, k: int, stage: Stage) -> list[str]:
        cost, motion = self.costs[k], stage.motion
        lines = []
        if isinstance(motion, Migration):
            levels = self.plan.levels
            if motion.swaps:
                swaps = ", ".join(f"{bit}↔{rank}" for bit, rank in motion.swaps)
                lines.append(
                    f"  exchange {swaps} at home: {human(cost.peers)} between processes, "
                    f"{human(cost.sent)} from or to one: {_seconds(cost.moving)}"
                )
            away = motion.bits[levels.local + levels.peers : self.plan.num_wires - levels.ranks]
            lines.append(
                f"  migration: index bits {bits_in_words(away)} stay on the host, one window for each of their values"
            )
        elif isinstance(motion, Exchange):
            swaps = ", ".join(f"{local}↔{device}" for local, device in motion.swaps)
            levels = self.plan.levels
            links = f", {human(cost.link)} over a link" if levels.network == "mesh" else ""
            each = zip(levels.layers, cost.layers, strict=True)
            layers = [f"{_seconds(one.seconds)} over {layer.link}" for layer, one in each if one.bytes]
            links += f" ({', '.join(layers)})" if layers else ""
            lines.append(
                f"  exchange {swaps}: {human(cost.peers)} between devices, {human(cost.sent)} from or to "
                f"one{links}: {_seconds(cost.moving)}"
            )
        there = self.plan.num_wires - stage.fresh.bit_count()
        after = self.plan.num_wires - fresh_after(stage.fresh, stage.steps).bit_count()
        size = f"the state has {there} bits" if there == after else f"the state grows from {there} to {after} bits"
        lines.append(
            f"  stage {k + 1}: {plural(cost.windows * cost.devices, 'sub state vector')} on "
            f"{plural(cost.devices, 'device')}, {size}; {human(cost.memory)} in memory, "
            f"work {_seconds(cost.work)}"
        )
        for step in stage.steps:
            self.step += 1
            sizes = self.plan.levels.local, self.precision, self.plan.shape
            text = step_lines(self.step, step, *sizes, self.register_blocks)
            lines += [f"  {line}" for line in text]
        return lines

    def _sums(self) -> list[str]:
        levels, total = self.plan.levels, summary(self.plan, self.precision, self.rates)
        work = sum(cost.work for cost in self.costs)
        at_home = [k for k, stage in enumerate(self.plan.stages) if isinstance(stage.motion, Migration)]
        hosts = sum(self.costs[k].peers for k in at_home)
        between_hosts = sum(self.costs[k].moving for k in at_home)
        moving = sum(cost.moving for cost in self.costs) - between_hosts
        memory = f"{human(total.bytes_moved)}, {whole(total.fma)} multiply-adds; {_seconds(work)}"
        lines = [f"device memory: {memory} ({human(self.rates.memory)}/s on each device)"]
        if levels.peers:
            rate = "" if levels.layers else f" ({human(self.rates.peer)}/s each way on each device)"
            lines.append(f"between devices: {human(total.bytes_peers - hosts)}; {_seconds(moving)}{rate}")
            sums = zip_longest(total.bytes_layers, total.seconds_layers, fillvalue=0)
            lines += [
                f"  over {layer.link}: {human(count)}; {_seconds(time)} "
                f"({human(layer.bytes_per_second)}/s each way on each device)"
                for layer, (count, time) in zip(levels.layers, sums, strict=False)
            ]
        if levels.ranks:
            lines.append(f"between the hosts of processes: {human(hosts)}; {_seconds(between_hosts)}")
        if self.plan.num_wires > levels.local + levels.peers:
            copying = sum(cost.copying for cost in self.costs)
            lines.append(
                f"to and from the host: {human(total.bytes_host)}; {_seconds(copying)} "
                f"({human(self.rates.host)}/s one way, {human(self.rates.host_both)}/s both ways, on each "
                f"device; {human(self.rates.host_all)}/s for all)"
            )
        told = f"predicted: {_seconds(total.seconds)}"
        if self.interprets:
            first = first_run(self.plan, self.precision, self.rates)
            told += f"; a first run, interpreted: {_seconds(first.total)}, of which planning {_seconds(first.host)}"
        return [*lines, told]


_NETWORKS = {"switch": "a switch joins all devices", "mesh": "a link between each two devices"}


def _seconds(value: float) -> str:
    """Return a time in the unit that leaves a number above 1."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return "no time"


def _ordering(layout: Layout) -> str:
    """Return the wire on each index bit, the most significant first; an apostrophe marks an inverted wire."""
    if layout.is_identity():
        return "in order" if len(layout) else "none"
    marks = [f"{wire}{chr(39) * (layout.flip >> bit & 1)}" for bit, wire in enumerate(layout.wires())]
    return " ".join(reversed(marks))
