"""Operations on one row, and the parts of larger matrices. `emit` defines rows and kinds."""

from __future__ import annotations

from qsim_ex.kernels.cpu.emit import operation
from qsim_ex.kernels.interrupts import uninterrupted

with uninterrupted():
    from llvmlite import ir
    from numba.core import cgutils

_I32 = ir.IntType(32)


@operation
def load_row(e, memory, row):
    """Load one row from interleaved amplitudes in memory."""
    n = e.lanes
    first = e.load(memory, align=e.element_bytes)
    second = e.load(memory, e.bytes, align=e.element_bytes)
    e.store(e.shuffle(first, second, range(0, 2 * n, 2)), row)
    e.store(e.shuffle(first, second, range(1, 2 * n, 2)), row, e.bytes)


@operation
def prefetch_row(e, memory):
    """Prefetch the amplitudes of a row, without waiting for them."""
    signature = ir.FunctionType(ir.VoidType(), [ir.PointerType(), _I32, _I32, _I32])
    prefetch = cgutils.get_or_insert_function(e.builder.module, signature, "llvm.prefetch.p0")
    how = [ir.Constant(_I32, k) for k in (0, 2, 1)]  # to read, into the second level, data
    for line in range(0, 2 * e.bytes, 64):
        e.builder.call(prefetch, [e.address(memory, line), *how])


@operation
def store_row(e, row, memory):
    """Store one row to interleaved amplitudes in memory."""
    n = e.lanes
    real, imag = e.load(row), e.load(row, e.bytes)
    for half in range(2):
        lanes = [lane for k in range(half * n // 2, (half + 1) * n // 2) for lane in (k, n + k)]
        e.store(e.shuffle(real, imag, lanes), memory, half * e.bytes, align=e.element_bytes)


def _four_outputs(e, inputs, size, matrix, out0, out1, out2, out3, coefficient, stride):
    """Compute four rows of matrix · inputs, the inputs being `size` rows one after the other."""
    builder = e.builder
    zero = ir.Constant(e.vector, [ir.Constant(e.element, 0.0)] * e.lanes)
    totals = [cgutils.alloca_once_value(builder, zero) for _ in range(8)]
    with cgutils.for_range(builder, size, intp=ir.IntType(64)) as loop:
        here = builder.add(inputs, builder.mul(loop.index, ir.Constant(ir.IntType(64), 2 * e.bytes)))
        column = builder.add(matrix, builder.mul(loop.index, ir.Constant(ir.IntType(64), 8 * stride)))
        x, y = e.load(here), e.load(here, e.bytes)
        for k in range(4):
            p, q = coefficient(column, 2 * k), coefficient(column, 2 * k + 1)
            real, imag = builder.load(totals[2 * k]), builder.load(totals[2 * k + 1])
            builder.store(e.fms(q, y, e.fma(p, x, real)), totals[2 * k])
            builder.store(e.fma(q, x, e.fma(p, y, imag)), totals[2 * k + 1])
    for k, out in enumerate((out0, out1, out2, out3)):
        e.store(builder.load(totals[2 * k]), out)
        e.store(builder.load(totals[2 * k + 1]), out, e.bytes)


@operation
def four_outputs(e, inputs, size, matrix, out0, out1, out2, out3):
    """Compute four rows of a complex matrix times `size` input rows; scalar coefficients, column after column."""
    _four_outputs(e, inputs, size, matrix, out0, out1, out2, out3, e.splat, e.element_bytes)


@operation
def four_outputs_by_lane(e, inputs, size, matrix, out0, out1, out2, out3):
    """Compute `four_outputs` with coefficients that differ between lanes."""
    _four_outputs(e, inputs, size, matrix, out0, out1, out2, out3, e.coefficient, e.bytes)


@operation
def clear_row(e, row):
    """Set a row to 0."""
    zero = ir.Constant(e.vector, [ir.Constant(e.element, 0.0)] * e.lanes)
    for plane in (0, e.bytes):
        e.store(zero, row, plane)


@operation
def copy_row(e, source, target):
    """Copy row `source` to row `target`."""
    for plane in (0, e.bytes):
        e.store(e.load(source, plane), target, plane)
