"""Every kind of kernel on small states, for compute-sanitizer (a plain script, not a test).

    compute-sanitizer --tool memcheck  python tests/devices/sanitize.py
    compute-sanitizer --tool racecheck python tests/devices/sanitize.py

Each result is compared with `tests/support/plain_device.py`; buffers have exactly the size of the state, so that an
access beside it is found; CuPy's memory pool, which would hide it, is switched off.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

# ruff: noqa: E402  (the paths come first)
HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent.parent / "core"), str(HERE.parent)]

import numpy as np
from support.cuda.random_sweeps import numbers_of_rows, random_state, random_sweep
from support.cuda.unmixed_sweeps import unmixed_sweep
from support.plain_device import PlainDevice
from support.unitary_circuits import circuit as unitary_circuit

from qsim_ex import reference
from qsim_ex.circuit.builder import CircuitBuilder
from qsim_ex.circuit.circuit import Circuit
from qsim_ex.circuit.ops import ALWAYS, When
from qsim_ex.devices.gpu.device import GpuDevice
from qsim_ex.devices.gpu.shape import shape_of
from qsim_ex.execution.prepare import prepare
from qsim_ex.kernels.cuda.interpret.packing import CONSTANTS
from qsim_ex.kernels.cuda.launch.tables import TableRecipe
from qsim_ex.observe.sampling import drawing_of
from qsim_ex.placement.index_bits import indices as indices_of
from qsim_ex.placement.single import Single
from qsim_ex.planning.coefficients.binding import bind, fill, fill_batch
from qsim_ex.planning.coefficients.pullback import LEFT_OUT
from qsim_ex.planning.planner import make_plan
from qsim_ex.precision import BY_DTYPE
from qsim_ex.steps.coefficients import Bound, Coefficients, Euler, Fold, Product
from qsim_ex.steps.layout import Layout
from qsim_ex.steps.reversed import reversed_sweep
from qsim_ex.steps.step import BasisPermutation, DenseMatrix, InitialAmplitudes, Sweep

PLAIN = PlainDevice()
ANY, TURNS, USUAL = ("mix", "diagonal", "permute"), ("pair", "turn", "diagonal"), ("usual", "usual", "diagonal")
CHOSEN = ("chosen", "selected", "controlled", "diagonal")
WITH_CX = ("cx", "cx", "mix", "diagonal", "exchange")


def close(got: np.ndarray, want: np.ndarray, dtype: type, what: str) -> None:
    """Stop with a name if a result is wrong."""
    want = np.where(np.isnan(want), got, want)  # what a growing state does not visit may hold anything
    error = np.linalg.norm(np.asarray(got) - want) / max(float(np.linalg.norm(want)), 1e-30)
    if not error < (2e-5 if dtype == np.complex64 else 1e-11):
        raise SystemExit(f"{what} in {dtype.__name__}: relative error {error}")


def sweeps(gpu: GpuDevice, dtype: type) -> int:
    """Random sweeps by both kinds of kernels, from no bits to several tiles."""
    count = 0
    tile = gpu.shape(dtype).tile
    for num_bits in (0, 1, 3, 4, 6, 9, tile, tile + 2):
        drawn = [(seed, kinds, False) for seed, kinds in enumerate((ANY, ANY, TURNS, TURNS, USUAL, USUAL, CHOSEN))]
        drawn += [
            (seed, kinds, True) for seed, kinds in enumerate((ANY, TURNS, WITH_CX, WITH_CX, USUAL)) if num_bits > 1
        ]
        for seed, kinds, linear in drawn:
            count += both(gpu, dtype, seed, num_bits, random_sweep(seed, num_bits, tile, 3, 4, 2, kinds, linear))
    return count + unmixed(gpu, dtype)


def unmixed(gpu: GpuDevice, dtype: type) -> int:
    """Sweeps that grow by bits which nothing mixes, by both kinds of kernels."""
    count, tile = 0, gpu.shape(dtype).tile
    for seed in range(8):
        kinds, most = (WITH_CX, 5) if seed < 6 else (("block",), 0)
        drawn = unmixed_sweep(seed, tile + 2, tile, 2, 3, 2, most=most, linear=seed % 2 == 1, kinds=kinds)
        count += both(gpu, dtype, seed, tile + 2, drawn)
    return count


def both(gpu: GpuDevice, dtype: type, seed: int, num_bits: int, drawn: tuple[Sweep, np.ndarray]) -> int:
    """A sweep by both kinds of kernels; returns how many."""
    sweep, numbers = drawn
    kinds = ("always", "never")
    for compile in kinds:
        psi = random_state(seed, num_bits, dtype)
        want, buffer = psi.astype(np.complex128), gpu.allocate(len(psi), dtype)
        gpu.write(buffer, 0, psi)
        prepared = gpu.prepare((sweep,), num_bits, dtype, compile)
        gpu.run(buffer, num_bits, sweep, numbers, prepared, 1)
        PLAIN.run(want, num_bits, sweep, numbers, high=1)
        close(gpu.read(buffer, 0, len(psi)), want, dtype, f"sweep {seed} on {num_bits} bits, {compile}")
    return len(kinds)


def tables(gpu: GpuDevice, dtype: type) -> None:
    """Numbers that are made on the device, from few, some, many and very many operands."""
    rng = np.random.default_rng(3)
    for operands in (10, 300, 1000, 2100):
        incidence = rng.integers(0, 2, (2, 128, 40)).astype(np.float64)
        numbers = Coefficients(operands + 2, (Fold(incidence, rng.integers(2, operands + 2, (2, 40))),), ())
        bound = fill(numbers, np.concatenate([[0, 1], np.exp(1j * rng.uniform(-4, 4, operands))]))
        take = np.concatenate([rng.permutation(2 * operands) + 4, rng.integers(0, 2 * numbers.size() + 3, 700)])
        made = TableRecipe(take, numbers, np.empty(0, dtype).real.dtype.type).make(
            gpu._runtime, bound.given.view(np.float64)
        )
        want = np.concatenate([bound.buffer.view(np.float64), CONSTANTS])[take]
        close(gpu._runtime.download(made), want, dtype, f"tables of {operands} operands")


def fixed(gpu: GpuDevice, dtype: type, num_bits: int) -> None:
    """All fixed kernels on one state."""
    rng = np.random.default_rng(num_bits)
    psi = random_state(1, num_bits, dtype)
    buffer = gpu.allocate(len(psi), dtype)
    gpu.set_basis(buffer, len(psi) - 1)
    gpu.write(buffer, 0, psi)
    bits, when = (num_bits - 1, 0), When(2, 2)
    close(gpu.marginal(buffer, num_bits, bits, when), PLAIN.marginal(psi, num_bits, bits, when), dtype, "marginal")
    for order in (range(num_bits), range(num_bits - 1, -1, -1)):
        layout, numbers = Layout(tuple(order), 5), np.linspace(0.01, 0.99, 40)
        drawing = drawing_of(Single(gpu, buffer, layout), len(numbers))
        assert drawing is not None
        sums = np.cumsum(np.abs(psi[indices_of(layout, np.arange(len(psi)), range(num_bits))].astype(complex)) ** 2)
        drawn, norm = drawing(numbers)
        close(drawn, np.searchsorted(sums, numbers * sums[-1], side="right"), dtype, "drawn shots")
        close(np.array(norm), sums[-1], dtype, "the norm of drawn shots")
    close(gpu.norms(buffer, 4), PLAIN.norms(psi, 4), dtype, "norms")
    close(gpu.inner(buffer, buffer), np.array(PLAIN.inner(psi, psi)), dtype, "inner")
    zs = [int(z) for z in rng.integers(0, len(psi), 9)]
    close(gpu.pauli(buffer, num_bits, 3, zs), PLAIN.pauli(psi, num_bits, 3, zs), dtype, "pauli")
    close(gpu.density(buffer, num_bits, bits), PLAIN.density(psi, num_bits, bits), dtype, "density")
    indices = rng.integers(0, len(psi), 300)
    close(gpu.gather(buffer, indices), psi[indices], dtype, "gather")
    gpu.scale(buffer, num_bits, when, 0.5, 2.0)
    PLAIN.scale(psi, num_bits, when, 0.5, 2.0)
    gpu.move(buffer, num_bits, when, 0)
    PLAIN.move(psi, num_bits, when, 0)
    sources, flip = [int(b) for b in rng.permutation(num_bits)], int(rng.integers(0, len(psi)))
    gpu.permute(buffer, num_bits, sources, flip)
    PLAIN.permute(psi, num_bits, sources, flip)
    close(gpu.read(buffer, 0, len(psi)), psi, dtype, "scale, move, permute")
    other = gpu.allocate(len(psi), dtype)
    gpu.write(other, 0, psi[::-1].copy())
    for half in (0, 1):
        gpu.swap_half(buffer.reshape(-1, 4)[:, 2:], other.reshape(-1, 4)[:, :2], half)
    gpu.pull(other, buffer)
    psi.reshape(-1, 4)[:, 2:] = psi[::-1].reshape(-1, 4)[:, :2].copy()
    for one in (buffer, other):
        close(gpu.read(one, 0, len(psi)), psi, dtype, "swap_half, pull")
    want = psi.astype(np.complex128)
    wide = DenseMatrix((num_bits - 1, 0, 2), (1 << 1 | 1 << 3,), ALWAYS)
    steps = [
        (wide, rng.normal(size=128) + 0j),
        (BasisPermutation((0, num_bits - 1), (2, 0, 3, 1)), np.zeros(0, dtype=complex)),
        (InitialAmplitudes((0, 2), 1), rng.normal(size=4) + 0j),
    ]
    for step, numbers in steps:
        gpu.run(buffer, num_bits, step, numbers)
        PLAIN.run(want, num_bits, step, numbers)
        close(gpu.read(buffer, 0, len(psi)), want, dtype, type(step).__name__)


def batches(gpu: GpuDevice, dtype: type, rows: int) -> int:
    """Sweeps over rows by both kinds of kernels, the rows' numbers, and all that is asked of rows."""
    count = 0
    tile = gpu.shape(dtype).tile
    for num_bits in (0, 1, 3, 4, 6, 9, tile, tile + 2, 16):
        psi = np.array([random_state(row, num_bits, dtype) for row in range(rows)])
        buffer = gpu.allocate(psi.size, dtype)
        for seed, compile in ((num_bits, "always"), (num_bits, "never"), (3 * num_bits + 3, "always")):
            sweep, packed = random_sweep(seed, num_bits, tile, 3, 4, linear=num_bits % 2 == 1)
            numbers = numbers_of_rows(seed, sweep, packed, 1 if seed % 4 == 0 else rows)
            want = psi.ravel().astype(np.complex128)
            gpu.write(buffer, 0, psi.ravel())
            gpu.run_batch(buffer, num_bits, sweep, numbers, gpu.prepare_batch((sweep,), num_bits, dtype, compile))
            PLAIN.run_batch(want, num_bits, sweep, numbers)
            close(gpu.read(buffer, 0, psi.size), want, dtype, f"{rows} rows of {num_bits} bits, {seed}, {compile}")
            count += 1
        gpu.write(buffer, 0, psi.ravel())
        rng, size = np.random.default_rng(num_bits), 1 << num_bits
        strings = [(int(x), [int(z) for z in rng.integers(0, size, 9)]) for x in (0, size - 1)]
        close(gpu.paulis(buffer, num_bits, strings), PLAIN.paulis(psi, num_bits, strings), dtype, "paulis")
        for bits, when in (((), ALWAYS), (tuple(range(num_bits))[-2::-3], When(size >> 1, size >> 1))):
            want = PLAIN.marginals(psi, num_bits, bits, when)
            close(gpu.marginals(buffer, num_bits, bits, when), want, dtype, "marginals")
        chosen = rng.integers(0, rows, rows + 1)
        to = gpu.allocate(len(chosen) << num_bits, dtype)
        gpu.take_rows(to, buffer, num_bits, chosen)
        gpu.begin_batch(to, num_bits)
        psi[:, 0] = 1
        close(gpu.read(to, 0, len(chosen) << num_bits), psi[chosen].ravel(), dtype, "rows taken and begun")
    return count


def dense(gpu: GpuDevice, dtype: type) -> int:
    """Dense blocks, interpreted and by tensor cores if the GPU has good ones, on one tile and on several.

    Of three runs with fresh numbers the first goes step by step, and the others queue all kernels at once.
    """
    for num_bits in (12, 15):
        everything = (1 << num_bits) - 1
        shape = replace(shape_of(BY_DTYPE[np.dtype(dtype)], tensor=True), block_made=0)
        structure = bricks(num_bits, 0).instructions
        plan = make_plan(structure, num_bits, Layout.identity(num_bits), shape, everything)
        for compile in ("always", "never"):
            for seed in range(3):
                circuit = bricks(num_bits, seed)
                work = prepare(plan, circuit.operands, (gpu,), np.dtype(dtype), compile)
                buffer = gpu.allocate(1 << num_bits, dtype)
                state = Single(gpu, buffer, plan.start, everything, begun=False)
                state.run(plan, work, lambda: None)
                got = state.read(0, 1 << num_bits, range(num_bits))
                close(got, reference.simulate(circuit), dtype, f"dense blocks on {num_bits} bits, {compile}, {seed}")
    return len(plan.sweeps)


def bricks(num_bits: int, seed: int) -> Circuit:
    """Eight layers of random gates on neighbours, and between them matrices on four wires under conditions."""
    builder, rng = CircuitBuilder(num_bits), np.random.default_rng([num_bits, seed])
    for layer in range(8):
        if layer % 3 == 2:
            wires = (
                np.random.default_rng(layer).permutation(num_bits).tolist()
            )  # of the structure, and not of the numbers
            matrix = np.linalg.qr(rng.normal(size=(16, 16)) + 1j * rng.normal(size=(16, 16)))[0]
            builder.unitary(matrix, wires[:4], controls=wires[4 : 4 + layer // 2])
        for wire in range(layer % 2, num_bits - 1, 2):
            matrix = np.linalg.qr(rng.normal(size=(4, 4)) + 1j * rng.normal(size=(4, 4)))[0]
            builder.unitary(matrix, [wire, wire + 1])
    return builder.build()


def programs(gpu: GpuDevice, rows: int) -> None:
    """Coefficients of rows that are made on the device from operands alone: products of several shapes, Euler angles.

    Those are of real rotations, and of imaginary ones, as RXX·RYY·RZZ has that is written with CX.
    """
    wires, circuits = 8, []
    for seed in range(rows):
        builder, rng = CircuitBuilder(wires), np.random.default_rng(seed)
        for layer in range(3):
            for wire in range(wires):
                for name in ("rz", "ry", "rx"):
                    builder.gate(name, [wire], rng.uniform(-3, 3))
            for wire in range(4):
                matrix = np.linalg.qr(rng.normal(size=(4, 4)) + 1j * rng.normal(size=(4, 4)))[0]
                builder.unitary(matrix, [wire, (wire + 1) % 4])
            for wire in range(4, wires):
                builder.gate("cz", [wire, layer])
            for wire in (4, 6):
                for turn, back in (("h", "h"), ("sx", "sxdg"), ("x", "x")):
                    builder.gate(turn, [wire]).gate(turn, [wire + 1])
                    builder.gate("cx", [wire, wire + 1]).gate("rz", [wire + 1], rng.uniform(-3, 3))
                    builder.gate("cx", [wire, wire + 1]).gate(back, [wire]).gate(back, [wire + 1])
            for wire in range(4, wires):
                builder.gate("cz", [wire, layer])
        circuits.append(builder.build())
    shape, everything = replace(gpu.batch_shape(np.complex128), start=0), (1 << wires) - 1
    plan = make_plan(circuits[0].instructions, wires, Layout.identity(wires), shape, everything)
    assert Product in {type(instruction) for instruction in plan.coefficients.program}
    assert {row.imaginary for row in plan.coefficients.program if isinstance(row, Euler)} == {False, True}
    bound = fill_batch(plan.coefficients, np.concatenate([circuit.operands for circuit in circuits]))
    buffer = gpu.allocate(rows << wires, np.complex128)
    gpu.begin_batch(buffer, wires)
    prepared = gpu.prepare_batch(plan.steps, wires, np.complex128, "always")
    for step, numbers in zip(plan.steps, gpu.load_batch(prepared, bound), strict=True):
        gpu.run_batch(buffer, wires, step, numbers, prepared)
    want = np.empty((rows, 1 << wires), dtype=np.complex128)
    want[:, [plan.end.index(value) for value in range(1 << wires)]] = [
        reference.simulate(circuit) for circuit in circuits
    ]
    close(gpu.read(buffer, 0, rows << wires), want.ravel(), np.complex128, f"coefficient programs of {rows} rows")


def tables_of_rows(gpu: GpuDevice, dtype: type, rows: int) -> None:
    """Coefficients of rows that are made on the device."""
    rng = np.random.default_rng(4)
    incidence = rng.integers(0, 2, (2, 128, 40)).astype(np.float64)
    numbers = Coefficients(302, (Fold(incidence, rng.integers(2, 302, (2, 40))),), ())
    operands = np.exp(1j * rng.uniform(-4, 4, (rows, 302)))
    operands[:, :2] = 0, 1
    take = np.concatenate([rng.permutation(600) + 4, rng.integers(0, 2 * numbers.size() + 3, 700)])
    given = np.array([fill(numbers, row).given for row in operands])
    made = TableRecipe(take, numbers, np.empty(0, dtype).real.dtype.type).make_rows(
        gpu._runtime, Bound(numbers, given, None)
    )
    want = [np.concatenate([fill(numbers, row).buffer.view(np.float64), CONSTANTS])[take] for row in operands]
    close(gpu._runtime.download(made), np.concatenate(want), dtype, f"tables of {rows} rows")


def gradients(gpu: GpuDevice, dtype: type) -> int:
    """Sweeps of adjoint differentiation, whose numbers are arguments or in memory, and sums of Pauli strings."""
    count = 0
    for num_bits, rows, each in ((1, 3, 2), (4, 2, 1), (6, 1, 2), (14, 1, 1), (14, 2, 1)):
        circuit = unitary_circuit(num_bits, num_bits)
        shape = replace(gpu.batch_shape(dtype), left_out=LEFT_OUT)
        plan = make_plan(circuit.instructions, num_bits, Layout.identity(num_bits), shape)
        psi = np.array([random_state(row, num_bits, dtype) for row in range(rows * (1 + each))])
        states, cotangents = (gpu.allocate(some.size, dtype) for some in (psi[:rows], psi[rows:]))
        gpu.write(states, 0, psi[:rows].ravel())
        gpu.write(cotangents, 0, psi[rows:].ravel())
        wanted = [np.ones(len(places), dtype=np.bool_) for places in plan.coefficients.packed]
        prepared = gpu.prepare_adjoint(plan.steps, num_bits, dtype, wanted)
        want = psi.astype(np.complex128).ravel()
        for number, (step, numbers) in enumerate(zip(plan.steps, bind(plan, circuit.operands), strict=True)):
            given = np.repeat(numbers[None], rows, axis=0)
            gpu.run_adjoint(states, cotangents, num_bits, number, given, prepared)
            PLAIN.run_batch(want, num_bits, step, numbers[None])
            count += 1
        got = [gpu.read(buffer, 0, buffer.size) for buffer in (states, cotangents)]
        close(np.concatenate(got), want, dtype, f"{rows} rows of {num_bits} bits with {each} cotangents")
        strings = [(x, z, 0.5 - 0.25j * (x & 1)) for x in (0, 1, (1 << num_bits) - 1) for z in (0, 1 << num_bits - 1)]
        gpu.begin_sums(states, cotangents, num_bits, [tuple(strings)] * each)()
        places = np.arange(1 << num_bits)
        for row in range(rows):
            mine, sum_of = want.reshape(-1, 1 << num_bits)[row], np.zeros(1 << num_bits, dtype=np.complex128)
            for x, z, coefficient in strings:
                sum_of[places ^ x] += coefficient * (1 - 2.0 * (np.bitwise_count(places & z) & 1)) * mine
            found = gpu.read(cotangents, row * each << num_bits, row * each + 1 << num_bits)
            close(found, sum_of, dtype, f"sums of Pauli strings on {num_bits} bits")
    return count


def pauli_sums(gpu: GpuDevice, dtype: type) -> int:
    """Sums of Pauli strings in tiles, whose X-parts are few bits, and strings of which many are on one X-part."""
    num_bits, places = 14, np.arange(1 << 14)
    psi = random_state(2, num_bits, dtype)
    states, to = gpu.allocate(len(psi), dtype), gpu.allocate(2 * len(psi), dtype)
    gpu.write(states, 0, psi)
    field = [(1 << bit, 0, 0.7) for bit in range(num_bits)] + [(0, 3 << bit, 1.0) for bit in range(num_bits - 1)]
    strings = [(5, z, 0.25j if z % 3 else 0.5) for z in range(1 << 8, 1 << 13, 97)] + [(1 << 13, 1, 1.0)]
    gpu.begin_sums(states, to, num_bits, [tuple(field), tuple(strings)])()
    for number, some in enumerate((field, strings)):
        want = np.zeros(len(psi), dtype=np.complex128)
        for x, z, coefficient in some:
            want[places ^ x] += coefficient * (1 - 2.0 * (np.bitwise_count(places & z) & 1)) * psi
        close(gpu.read(to, number << num_bits, number + 1 << num_bits), want, dtype, "sums of Pauli strings in tiles")
    return 2


def layers(num_bits: int) -> Circuit:
    """Three layers of RZZ and RX, whose sweeps backwards have tangents."""
    builder = CircuitBuilder(num_bits)
    for wire in range(num_bits):
        builder.gate("h", [wire])
    for layer in range(3):
        for wire in range(num_bits - 1):
            builder.gate("rzz", [wire, wire + 1], 0.1 + layer)
        for wire in range(num_bits):
            builder.gate("rx", [wire], 0.2 * layer - 0.3)
    return builder.build()


def written_gradients(gpu: GpuDevice, dtype: type) -> int:
    """Written sweeps of adjoint differentiation back to |0…0⟩, where a cotangent has its product with the state."""
    count = 0
    for num_bits, rows, each, made in ((9, 2, 2, unitary_circuit), (14, 1, 1, unitary_circuit), (14, 1, 2, layers)):
        circuit = made(num_bits, 3) if made is unitary_circuit else made(num_bits)
        shape = replace(gpu.batch_shape(dtype), left_out=LEFT_OUT)
        everything = (1 << num_bits) - 1
        plan = make_plan(circuit.instructions, num_bits, Layout.identity(num_bits), shape, everything, place=True)
        steps = [step for step in plan.steps if isinstance(step, Sweep)]
        bound = [own for step, own in zip(plan.steps, bind(plan, circuit.operands), strict=True) if step in steps]
        psi = np.zeros(1 << num_bits, dtype=np.complex128)
        psi[0] = 1
        for step, numbers in zip(steps, bound, strict=True):
            PLAIN.run(psi, num_bits, step, numbers)
        drawn = np.array([random_state(row, num_bits, dtype) for row in range(rows * each)])
        states, cotangents = gpu.allocate(rows << num_bits, dtype), gpu.allocate(drawn.size, dtype)
        gpu.write(states, 0, np.tile(psi, rows).astype(dtype))
        gpu.write(cotangents, 0, drawn.ravel())
        back = [reversed_sweep(step) for step in reversed(steps)]
        wanted = [np.ones(len(one.sources), dtype=np.bool_) for one in back]
        prepared = gpu.prepare_reversed(back, num_bits, dtype, wanted, "always")
        numbers = [own[None, one.sources].conj() for one, own in zip(back, reversed(bound), strict=True)]
        gpu.run_reversed(states, cotangents, num_bits, numbers, prepared, lambda: None)
        got = [gpu.read(states, row << num_bits, (row << num_bits) + 1) for row in range(rows)]
        got += [gpu.read(cotangents, row << num_bits, (row << num_bits) + 1) for row in range(rows * each)]
        want = [*np.ones(rows), *(drawn.astype(np.complex128) @ psi.conj())]
        close(np.ravel(got), np.array(want), dtype, f"written gradients of {rows} rows of {num_bits} bits")
        count += len(back)
    return count


def main() -> None:
    """Run everything once in both precisions."""
    import cupy

    cupy.cuda.set_allocator(None)  # exact allocations: the pool would hide accesses beside an array
    gpu = GpuDevice()
    for dtype in (np.complex64, np.complex128):
        count = sweeps(gpu, dtype) + dense(gpu, dtype)
        count += gradients(gpu, dtype) + written_gradients(gpu, dtype) + pauli_sums(gpu, dtype)
        tables(gpu, dtype)
        for num_bits in (5, 11, 14):
            fixed(gpu, dtype, num_bits)
        for rows in (1, 5, 33):
            count += batches(gpu, dtype, rows)
            tables_of_rows(gpu, dtype, rows)
            programs(gpu, rows)
        gpu.synchronize()
        print(f"{dtype.__name__}: {count} sweeps and all fixed kernels agree with the definition")  # noqa: T201


if __name__ == "__main__":
    main()
