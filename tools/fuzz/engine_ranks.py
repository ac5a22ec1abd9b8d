"""The kind about ranks of the engine: one state over several of them, which are threads over a loopback."""

from __future__ import annotations

import threading
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

from tools.fuzz import compare, programs
from tools.fuzz.case import Case, Line
from tools.fuzz.engine import FEW, circuit_of, draw_readout, pauli_sum, readout_of, terms, values_of
from tools.fuzz.kinds import Kind
from tools.fuzz.options import layers

PATIENCE = 200
"""Seconds after which ranks are taken to wait for each other."""


def draw_ranks(random: Random) -> Case:
    """A program with or without chance, for some bindings, over ranks with a device each, or two, or windows on one."""
    wires = random.choice([3, 4, 4, 5, 6])
    size = random.choice([2, 2, 3, 4, 4, 5])
    draw = programs.Draw(random, wires, random.randint(1, 3))
    draw.bound = True
    lines = programs.chance(draw, 10) if random.random() < 0.5 else programs.unitary(draw, 14)
    saves = not any(line.text.startswith(("b.measure", "b.reset", "b.channel", "with")) for line in lines)
    if saves:
        lines.insert(random.randint(0, len(lines)), Line("b.save('s0')"))
    lines.append(programs.measured(draw))
    bits = size.bit_length() - 1
    options: dict[str, Any] = {"device": "cpu", "threads": 1}
    if bits + 1 < wires and random.random() < 0.3:
        options["virtual_peers"] = 2
        bits += 1
    elif bits + 1 < wires and random.random() < 0.4:
        options["device_wires"] = random.randint(1, wires - bits - 1)
        options["host_memory"] = random.choice(["whole", "spread", "spread"])
        options["in_flight_buffers"] = random.choice([1, 2, 3])
    if random.random() < 0.5:
        options["network"] = layers(random, bits)
    ask = {
        "ranks": size,
        "processes": size if random.random() < 0.8 else 2,
        "rows": random.choice([1, 1, 2, 5]),
        "values": draw.values,
        "seed": random.randrange(1 << 30),
        "readout": draw_readout(random, tuple(lines)) if random.random() < 0.2 else (),
        "observables": (terms(random, wires),) if random.random() < 0.5 else (),
    }
    # With fewer wires shots depend on how a circuit is parted; an undivided state's means may be exact; and another
    # method may take less for it, whose shots are others.
    ask["thresholds"] = {"chosen_wires": 40, "exact_wires": -3, "method_work": 1 << 40}
    if random.random() < 0.4:
        ask["thresholds"]["large_bytes"] = 1  # ranks map each other's memory
    return Case("ranks", wires, draw.bits, tuple(lines), options, ask)


def check_ranks(case: Case) -> str | None:
    """Every rank gets the shots, the saved states and the values of a state that is not divided."""
    from qsim_ex import Options, Simulator

    circuits = [circuit_of(case, None, values) for values in values_of(case)]
    operands = np.concatenate([circuit.operands for circuit in circuits])
    seeds = [case.ask["seed"] + k for k in range(case.ask["rows"])]
    asked = {"seeds": seeds, "observables": [pauli_sum(found) for found in case.ask["observables"]]}

    def results(processes: Any) -> tuple[Any, Any]:
        simulator = Simulator(Options(**{**case.options, **({} if processes else _ALONE), "processes": processes or 1}))
        shots = simulator.run_batch(circuits[0], operands, shots=FEW, seeds=seeds, readout=readout_of(case))
        return shots, simulator.run_batch(circuits[0], operands, **asked) if case.ask["observables"] else None

    alone, alone_values = results(None)
    for rank, (shots, values) in enumerate(on_ranks(case.ask["ranks"], lambda: results(case.ask["processes"]))):
        wrong = compare.equal(f"shots of rank {rank}", shots.packed, alone.packed)
        for label in alone.saved:
            name = f"{label!r} of rank {rank}"
            wrong = wrong or compare.arrays(name, shots.saved[label], alone.saved[label], 1e-9)
        if alone_values is not None:
            wrong = wrong or compare.arrays(f"values of rank {rank}", values.values, alone_values.values, 1e-9)
        if wrong:
            return wrong
    return None


_ALONE = {"virtual_peers": 1, "network": "auto", "device_wires": None, "in_flight_buffers": None}
"""Options of a state in one piece."""


def on_ranks(size: int, work: Callable[[], Any]) -> list[Any]:
    """What each rank finds; raises what one of them raises, or `TimeoutError` if they wait for each other."""
    from qsim_ex.comm.connection import connected
    from qsim_ex.errors import CommunicationError
    from tools.loopback import Loopback, loopback

    found: list[Any] = [None] * size
    errors: list[Exception] = []

    def run(end: Loopback) -> None:
        try:
            with connected(end, this_thread=True):
                found[end.rank] = work()
        except Exception as error:  # noqa: BLE001  (it is raised below)
            errors.append(error)
            end.abort(error)
        finally:
            end.close()

    threads = [threading.Thread(target=run, args=(end,), daemon=True) for end in loopback(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
        if thread.is_alive():
            raise TimeoutError("ranks wait for each other")
    if errors:
        raise next((error for error in errors if not isinstance(error, CommunicationError)), errors[0])
    return found


KINDS = [Kind("ranks", draw_ranks, check_ranks)]
