"""The kind about checkpoints of the engine: runs that are stopped and go on."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path
from random import Random

from tools.fuzz import compare, programs
from tools.fuzz.case import Case, Line
from tools.fuzz.engine import FEW, circuit_of, distribution_of
from tools.fuzz.kinds import Kind
from tools.fuzz.options import options, tolerance


class _Stopped(Exception):
    """Ends a run as a kill would."""


def draw_checkpoint(random: Random) -> Case:
    """A run of many steps with saved states, that is stopped after some of them."""
    wires = random.randint(4, 7)
    draw = programs.Draw(random, wires, wires)
    lines = programs.unitary(draw, 25)
    lines.insert(random.randint(0, len(lines)), Line("b.save('s0')"))
    lines.append(programs.measured(draw))
    ask = {"seed": random.randrange(1 << 40), "stop": random.randint(1, 5)}
    chosen = options(random, wires)
    if "virtual_peers" not in chosen and "device_wires" not in chosen and random.random() < 0.5:
        chosen["device_wires"] = random.randint(2, wires - 2)
    return Case("checkpoint", wires, wires, tuple(lines), chosen, ask)


def check_checkpoint(case: Case) -> str | None:
    """A run that was stopped and goes on ends as one that was never stopped, and leaves no file."""
    from qsim_ex import Options, Simulator

    made, (oracle, _) = circuit_of(case), distribution_of(case)
    whole = Simulator(Options(**case.options)).run(made, shots=FEW, seed=case.ask["seed"])

    def stop(done: int, _all: int) -> None:
        if done >= case.ask["stop"]:
            raise _Stopped

    with tempfile.TemporaryDirectory() as folder:
        kept = Options(**case.options, checkpoint=Path(folder) / "run", checkpoint_every=0)
        with contextlib.suppress(_Stopped):
            Simulator(kept.with_({"progress": stop})).run(made, shots=FEW, seed=case.ask["seed"])
        again = Simulator(kept).run(made, shots=FEW, seed=case.ask["seed"])
        left = [path.name for path in Path(folder).iterdir()]
    if left:
        return f"files are left after the end: {left}"
    return compare.equal("shots of a run that goes on", again.packed, whole.packed) or compare.arrays(
        "saved state of a run that goes on", again.saved["s0"], oracle.saved["s0"][0][:, 0], tolerance(case.options)
    )


KINDS = [Kind("checkpoint", draw_checkpoint, check_checkpoint, 0.5)]
