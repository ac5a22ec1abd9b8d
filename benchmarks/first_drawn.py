"""First runs of drawn structures beside cuStateVec Ex: what ``python -m benchmarks.first_gpu --drawn`` measures.

A structure of a family has its wires in a drawn order and a square root of X at three drawn places, so that no kernel
of another one is there. Each is run as it is written and in rz, sx, x and cz, which ``--write FILE`` keeps beforehand
where Qiskit is, with all its angles: with others a circuit has another form. Where ``--seconds`` is named, what has not
been measured by then is left out. ``--write --qasm FOLDER`` keeps the circuits of files in OpenQASM 2 in place of these
structures, so that circuits may be measured which nobody here has made.
"""

from __future__ import annotations

import lzma
import pickle
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import geometric_mean, median
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.engine import circuit_of
from benchmarks.forms import LARGE
from benchmarks.gates import Gate
from benchmarks.peers.base import Setup
from benchmarks.peers.custatevec_ex_peer import ExSession
from benchmarks.peers.custatevec_library import Library
from qsim_ex import Options, Simulator
from qsim_ex.circuit.circuit import Circuit
from tools.golden_counts import FAMILIES
from tools.transpiled_circuits import BASIS

ROOTS = 3
"""The square roots of X that a structure has beyond its family's gates."""

TOLERANCE = 1e-3
"""The largest difference of absolute amplitudes, over the largest of them."""

AS, CZ = "as", "cz"
STRUCTURES = 3
"""How many structures of each family are run."""

Kept = dict[tuple[int, str, int], list[Gate]]
"""Structures in rz, sx, x and cz, by wires, family, or name of a file, and seed."""


def write(path: Path, sizes: Sequence[int], structures: int = STRUCTURES) -> None:
    """Keep structures of all families in rz, sx, x and cz, for so many wires."""
    from benchmarks.warm import transpiled

    found: Kept = {}
    for wires in sizes:
        for name, family in FAMILIES.items():
            if name in LARGE:
                continue
            for seed in range(structures):
                found[wires, name, seed] = transpiled(structure(family(wires), wires, seed), wires, list(BASIS))
            print(f"{wires} {name}", flush=True)
    path.write_bytes(lzma.compress(pickle.dumps(found)))


def write_files(path: Path, folder: Path) -> None:
    """Keep the circuits of a folder's files in OpenQASM 2, as Qiskit transpiles them at level 1."""
    from qiskit import transpile

    from benchmarks.predicted_bases import files
    from benchmarks.warm import gates_of

    found: Kept = {}
    for name, circuit in files(folder):
        made = transpile(circuit, basis_gates=list(BASIS), optimization_level=1, seed_transpiler=1)
        found[circuit.num_qubits, name, 0] = gates_of(made)
    path.write_bytes(lzma.compress(pickle.dumps(found)))


def kept(path: Path) -> Kept:
    """Return what `write` kept."""
    found: Kept = pickle.loads(lzma.decompress(path.read_bytes()))
    return found


def names(known: Kept, wires: int) -> list[str]:
    """Return what is run of what is kept: names of files, if there are some, else all families."""
    of_files = [name for size, name, _ in known if size == wires and name not in FAMILIES]
    return of_files or list(FAMILIES)


def structure(gates: Sequence[Gate], wires: int, seed: int) -> list[Gate]:
    """Return a drawn structure of a family."""
    rng = np.random.default_rng([seed, wires, len(gates)])
    order = rng.permutation(wires).tolist()
    made = [Gate(gate.name, tuple(order[w] for w in gate.wires), gate.params, gate.matrix) for gate in gates]
    for place in rng.integers(0, len(gates) + 1, ROOTS).tolist():
        made.insert(place, Gate("sx", (int(rng.integers(wires)),)))
    return made


class Drawn:
    """First runs of ours and of the peer, for one number of wires."""

    def __init__(self, wires: int, precision: Any, transpiled: Kept) -> None:
        watch = tuple(np.random.default_rng(wires).integers(0, 1 << wires, 16).tolist())
        self.wires, self._transpiled = wires, transpiled
        self._ours = Simulator(Options(device="gpu", precision=precision))
        self._always = Simulator(Options(device="gpu", precision=precision, compile="always"))
        self._watch = watch
        self._peer = ExSession(Library(), Setup(wires, precision, 1, watch=watch), "controls")
        for seed in (1001, 1002):  # memory, contexts, all modules
            gates = structure(FAMILIES["su2"](wires), wires, seed)
            self._first(circuit_of(gates, wires))
            self._peers(gates)

    def gates(self, family: str, basis: str, seed: int) -> list[Gate]:
        """Return the gates of a structure of a family as it is written, or in rz, sx, x and cz."""
        if basis == CZ:
            return self._transpiled[self.wires, family, seed]
        return structure(FAMILIES[family](self.wires), self.wires, seed)

    def cell(self, family: str, basis: str, structures: int) -> dict[str, Any]:
        """Measure first runs of some structures, in milliseconds; host: until everything is queued."""
        ms, host, peer = [], [], []
        for seed in range(structures):
            drawn = self.gates(family, basis, seed)
            queued, done, amplitudes = self._first(circuit_of(drawn, self.wires))
            other, expected = self._peers(drawn)
            if np.abs(np.abs(amplitudes) - np.abs(expected)).max() > TOLERANCE * max(np.abs(expected).max(), 1e-4):
                print(f"{self.wires} {family} {basis}: amplitudes differ: {amplitudes} and {expected}", flush=True)
            ms.append(done), host.append(queued), peer.append(other)
        return {
            "n": self.wires,
            "family": family,
            "basis": basis,
            "gates": len(drawn),
            "ms": ms,
            "host": host,
            "peer": peer,
            "times": median(peer) / median(ms),
        }

    def later(self, family: str, basis: str) -> float:
        """Return the milliseconds of a compiled run, least of three, after one that compiles all kernels."""
        circuit = circuit_of(self.gates(family, basis, 0), self.wires)
        return min([self._run(self._always, circuit)[1] for _ in range(4)][1:])

    def _first(self, circuit: Circuit) -> tuple[float, float, Any]:
        return self._run(self._ours, circuit)

    def _run(self, simulator: Simulator, circuit: Circuit) -> tuple[float, float, Any]:
        begin = perf_counter()
        with simulator.state(circuit) as state:
            queued = perf_counter()
            state.synchronize()
            done = perf_counter()
            return 1e3 * (queued - begin), 1e3 * (done - begin), state.amplitudes(self._watch)

    def _peers(self, gates: list[Gate]) -> tuple[float, Any]:
        self._peer.load(gates)
        return 1e3 * self._peer.run().seconds, self._peer.amplitudes()

    def close(self) -> None:
        """Give the peer's memory back."""
        self._peer.close()


def cells(
    sizes: Sequence[int],
    precision: str,
    families: Sequence[str] | None,
    texts: Path,
    seconds: float,
    structures: int = STRUCTURES,
) -> Iterator[dict[str, Any]]:
    """Yield a cell for each size, family and basis, and print them; then compiled runs of the first size.

    families: names of families or files; None for all that is kept. Of files there is one structure, in cz.
    """
    end, known = perf_counter() + seconds, kept(texts)
    made = []
    for wires in sizes:
        drawn = Drawn(wires, precision, known)
        rows = []
        for family in families or names(known, wires):
            bases = [CZ] if family not in FAMILIES else [AS] if family in LARGE else [AS, CZ]
            if perf_counter() > end:
                break
            row = [drawn.cell(family, basis, structures if family in FAMILIES else 1) for basis in bases]
            print(f"{wires} {family:14}" + " |".join(map(_told, row)), flush=True)
            rows += row
        _summary(rows)
        yield from rows
        made += rows if wires == sizes[0] else []
        drawn.close()
    drawn = Drawn(sizes[0], precision, known)
    for cell in made:
        if perf_counter() < end:
            cell["later"] = drawn.later(cell["family"], cell["basis"])
    pairs = [f"{c['family']} {c['basis']} {c['later']:.2f}" for c in made if "later" in c]
    print(f"{sizes[0]} compiled, ms: " + ", ".join(pairs))
    drawn.close()


def _told(cell: dict[str, Any]) -> str:
    host, ours, peer = (median(cell[key]) for key in ("host", "ms", "peer"))
    return f" {cell['basis']} {host:6.2f} {ours:7.2f} Ex {peer:7.2f} {cell['times']:5.2f}"


def _summary(rows: Sequence[dict[str, Any]]) -> None:
    for basis in (AS, CZ):
        times = [cell["times"] for cell in rows if cell["basis"] == basis]
        if times:
            told = f"geometric mean {geometric_mean(times):.2f}, least {min(times):.2f} of {len(times)} families"
            print(f"{rows[0]['n']} {basis}: {told}", flush=True)
