"""The benchmark of dense blocks: its kernels compute what they say, and those of the tensor cores compile."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from support.cuda.emulated_runtime import EmulatedRuntime, Kernel
from support.cuda.emulator import call, library, wrapped
from support.cuda.random_sweeps import random_state
from support.paths import TESTS

from benchmarks import blocks, fragments, rotations
from benchmarks.dense import relative_error
from benchmarks.fragments import KINDS
from benchmarks.gates import haar
from qsim_ex.errors import DeviceError
from qsim_ex.kernels.cuda.compile import compilation
from qsim_ex.kernels.cuda.write.emit import ROOM
from qsim_ex.kernels.cuda.write.register_layout import swizzle
from qsim_ex.precision import SINGLE

UNITS = (TESTS / "support" / "cuda" / "units.h").read_text()
ERRORS = {"tf32": 5e-3, "f16": 3e-3, "3xtf32": 1e-6, "3xtf32, 4 warps": 1e-6, "3xf16": 1e-6, "6xbf16": 1e-6}


def emulated(code):
    """A text with the tensor cores' instructions replaced by what their documentation says of them."""
    for file in ("instructions.cu", "tf32.cu"):
        code = code.replace((Path(fragments.__file__).parent / file).read_text(), UNITS)
    return code


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if kind.depth in (0, 16)])
def test_tensor_cores_multiply_by_the_matrices(name):
    """By the documented layouts, the kernel's text applies each phase's matrix to its bits, to the kind's precision."""
    kind, rng = KINDS[name], np.random.default_rng(3)
    near = [blocks.NEAR[kind.precision.name][k] for k in (0, 2, 1)]
    matrices = np.stack([haar(rng, 4) for _ in near])
    dtype = kind.precision.storage.dtype
    psi = (random_state(5, kind.tile + 1, dtype) * 2.0**-20).astype(dtype)
    words = fragments.table(kind, matrices, [fragments.arrange(bits, kind) for bits in near])
    run = library(wrapped(emulated(fragments.text(kind, near)), fragments.NAME, "launch")).launch
    got = psi.copy()
    call(run, 2, 32 * kind.warps, False, got, words)
    want = psi.astype(np.complex128).reshape(2, -1)
    for matrix, bits in zip(matrices, near, strict=True):
        want = blocks.applied(matrix, bits, want)
    assert relative_error(got.reshape(2, -1), want) < ERRORS.get(name, 1e-14)


@pytest.mark.parametrize("name", KINDS)
def test_no_bank_is_asked_twice(name):
    """The lanes that shared memory serves together, reading or writing, meet different banks."""
    kind = KINDS[name]
    together, bank = (16, 0xF) if kind.precision is SINGLE else (8, 0x7)
    for near in blocks.NEAR[kind.precision.name]:
        place = fragments.arrange(near, kind)
        everything = {*place.columns, *place.groups, *place.loops, *place.warps}
        assert everything == set(range(kind.tile))
        for positions in (place.reading, place.writing):
            slots = [
                swizzle(sum(1 << p for k, p in enumerate(positions) if t >> k & 1), kind.precision) for t in range(32)
            ]
            for start in range(0, 32, together):
                assert len({slot & bank for slot in slots[start : start + together]}) == together


@pytest.mark.parametrize("name", KINDS)
def test_tensor_kernels_compile_for_hopper(name):
    """Every shape exists on sm_90, and every kernel fits into its registers."""
    nvrtc = pytest.importorskip("cuda.bindings.nvrtc", reason="cuda-bindings compiles kernels without a GPU")
    kind = KINDS[name]
    near = [blocks.NEAR[kind.precision.name][k] for k in (0, 1)]
    for code in (fragments.text(kind, near), fragments.ceiling(kind)[0]):
        program = nvrtc.nvrtcCreateProgram(code.encode(), b"kernel.cu", 0, [], [])[1]
        options = [b"-arch=sm_90", *[option.encode() for option in compilation.OPTIONS]]
        status = nvrtc.nvrtcCompileProgram(program, len(options), options)[0]
        log = b" " * nvrtc.nvrtcGetProgramLogSize(program)[1]
        nvrtc.nvrtcGetProgramLog(program, log)
        assert status == nvrtc.nvrtcResult.NVRTC_SUCCESS, log.decode()
        assert compilation.report(log.decode()).spilled <= 256


@pytest.mark.parametrize("way", rotations.WAYS)
@pytest.mark.parametrize("angles", rotations.ANGLES)
def test_every_way_turns(way, angles):
    """Each way makes the rotation; only the scaled one may fail, where its tangent has no bound."""
    theta = rotations.turns(angles, 1, np.random.default_rng(2))
    row = blocks.Row("rotations", "single", way, 1)
    made, packed = rotations.sweep(way, 1), rotations.numbers(way, theta)
    task = blocks.by_emitter(row, made, packed, lambda tiles: rotations.turned(tiles, theta), way, ROOM)
    psi = random_state(6, 12, np.complex64)
    got = psi.copy()
    call(
        library(wrapped(task.code, task.name, "launch")).launch,
        1,
        task.threads,
        False,
        got,
        *task.given(EmulatedRuntime()),
    )
    error = relative_error(got[None], task.exact(psi.astype(np.complex128)[None]))
    if way == "scaled" and angles == "near π":
        assert not error < 1e-4
    else:
        assert error < 1e-5


def test_the_matrix_of_a_phase_is_the_product_of_its_gates():
    """The matrix of a phase is the product of the emitter's gates, in the same order."""
    gates, product = blocks.block(np.random.default_rng(1))
    state = random_state(1, 4, np.complex128)[None]
    want = state
    for gate, pair in zip(gates, blocks.PAIRS, strict=True):
        want = blocks.applied(gate, pair, want)
    assert np.allclose(blocks.applied(product, range(4), state), want, atol=1e-14)


class EmulatedBench:
    """Kernels by g++; times mean nothing. One kernel is broken, and one does not compile."""

    def __init__(self):
        self.runtime = EmulatedRuntime()

    def function(self, code, name):
        """Compile."""
        if "#define BF16" in code:
            raise DeviceError("a kernel does not compile")
        if "#define F16" in code and "#define TERMS 2" in code:
            code = code.replace("mma(im, m.v[term][1][s]", "mma(im, m.v[term][0][s]")
        return Kernel(library(wrapped(emulated(code), name, "launch")).launch), compilation.KernelResources(77, 0)

    def load(self, compiled, name):
        """Nothing is left to do."""
        assert name
        return compiled

    def seconds(self, launch, repeat):
        """One launch is enough; work takes as long as it should."""
        assert repeat
        launch()
        return 1e-3


def test_the_whole_benchmark(monkeypatch):
    """Everything is measured except for what is wrong or does not compile, which is reported."""
    monkeypatch.setattr(blocks.sweeps, "measure_ceilings", lambda *_: blocks.sweeps.Ceilings(1e12, 1e13))
    monkeypatch.setattr(blocks, "CEILING_ROUNDS", 1)
    monkeypatch.setattr(blocks, "SIZES", (2,))
    monkeypatch.setattr(blocks, "ROUNDS", (1,))
    monkeypatch.setattr(blocks, "KINDS", {name: KINDS[name] for name in ("3xtf32", "3xf16", "6xbf16", "dmma 16x8x16")})
    options = blocks.parser().parse_args(["--n", "12", "--blocks", "1", "--commit", "x"])
    text, document = blocks.run(EmulatedBench(), options)
    notes = {(row["name"], row["note"].split(":")[0]) for row in document["rows"] if ":" in row["note"]}
    assert notes == {("3xf16", "WRONG"), ("6xbf16", "does not compile")}
    timed = {row["name"] for row in document["rows"] if row["seconds"]}
    assert timed == {"moves", "gates", "matrix", "3xtf32", "dmma 16x8x16", *rotations.WAYS}
    assert len(text) < 6_000
    json.dumps(document)


def test_the_page_says_how_many_gates_a_block_must_replace():
    """Beyond moving amplitudes, a block that takes half as long as four gates is worth two."""
    cost = {"moves": 0.25, "gates": 1.25, "3xtf32": 0.75}
    rows = [
        blocks.Row("dense", "single", name, size, seconds=1e-3 * (1 + size * each), error=1e-7)
        for name, each in cost.items()
        for size in (1, 2, 4)
    ]
    top = {"tensor": {"3xtf32": 2e14}, "fma_per_second": 2.5e13}
    lines = {line[:16].strip(): line[16:].split() for line in blocks.dense_page(rows, "single", 24, top)}
    assert lines["gates"][4:8] == ["1.250", "0.9", "3%", "4.00"]
    assert lines["3xtf32"][4:8] == ["0.750", "4.3", "2%", "2.00"]
