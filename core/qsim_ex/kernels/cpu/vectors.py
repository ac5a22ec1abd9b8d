"""Vector operations on rows: what Numba is asked to emit as LLVM vectors, written once for every width.

A **row** is one vector of real parts followed by one vector of imaginary parts, in planar scratch memory. A *kind*
is a tuple of L zeros of the real type; its type alone says what to emit: vectors of 2^L float32 or float64.
Addresses and offsets are in bytes. Coefficients are whole vectors, one number for each lane, so that a factor that
depends on lane bits costs no more than one that does not.
"""

from __future__ import annotations

import inspect

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from qsim_ex.kernels.cpu.program import LOW_MASK, LOW_ROWS

_I32 = ir.IntType(32)


class Emit:
    """Writes instructions on vectors of one kind at the place where `builder` stands."""

    def __init__(self, builder, kind):
        single = kind.dtype == types.float32
        self.builder = builder
        self.lanes = 1 << kind.count
        self.element = ir.FloatType() if single else ir.DoubleType()
        self.element_bytes = 4 if single else 8
        self.bytes = self.lanes * self.element_bytes
        self.vector = ir.VectorType(self.element, self.lanes)
        suffix = f"v{self.lanes}f{32 if single else 64}"
        signature = ir.FunctionType(self.vector, [self.vector] * 3)
        # fmuladd, not fma: the same instruction where there is one, no slow library call where there is none.
        self._fma = cgutils.get_or_insert_function(builder.module, signature, f"llvm.fmuladd.{suffix}")

    def address(self, base, *offsets):
        """Return base + offsets as a pointer."""
        for offset in offsets:
            offset = ir.Constant(ir.IntType(64), offset) if isinstance(offset, int) else offset
            base = self.builder.add(base, offset)
        return self.builder.inttoptr(base, ir.PointerType())

    def load(self, base, *offsets, align=None):
        """Load one vector."""
        return self.builder.load(self.address(base, *offsets), typ=self.vector, align=align or self.bytes)

    def coefficient(self, base, number):
        """Load the vector of coefficient `number`; nothing writes coefficients while a sweep runs."""
        value = self.load(base, number * self.bytes)
        value.set_metadata("invariant.load", self.builder.module.add_metadata([]))
        return value

    def splat(self, base, number):
        """Load scalar coefficient `number` into all lanes."""
        pointer = self.address(base, number * self.element_bytes)
        value = self.builder.load(pointer, typ=self.element, align=self.element_bytes)
        value.set_metadata("invariant.load", self.builder.module.add_metadata([]))
        empty = ir.Constant(self.vector, ir.Undefined)
        first = self.builder.insert_element(empty, value, ir.Constant(_I32, 0))
        return self.shuffle(first, first, [0] * self.lanes)

    def store(self, value, base, *offsets, align=None):
        """Store one vector."""
        self.builder.store(value, self.address(base, *offsets), align=align or self.bytes)

    def shuffle(self, left, right, lanes):
        """Pick lanes of two vectors; those of `right` count from the number of lanes."""
        mask = ir.Constant(ir.VectorType(_I32, len(lanes)), [ir.Constant(_I32, lane) for lane in lanes])
        return self.builder.shuffle_vector(left, right, mask)

    def mul(self, a, b):
        """a·b."""
        return self.builder.fmul(a, b)

    def fma(self, a, b, c):
        """a·b + c."""
        return self.builder.call(self._fma, [a, b, c])

    def fms(self, a, b, c):
        """C − a·b."""
        return self.builder.call(self._fma, [self.builder.fneg(a), b, c])

    def real_product(self, matrix, vectors):
        """Return matrix · vectors for a square list of real coefficient vectors in row order."""
        size, rows = len(vectors), []
        for r in range(size):
            total = self.mul(matrix[r * size], vectors[0])
            for c in range(1, size):
                total = self.fma(matrix[r * size + c], vectors[c], total)
            rows.append(total)
        return rows

    def complex_product(self, base, vectors, coefficient=None):
        """Return matrix · vectors; coefficients are (real, imaginary) in row order, vectors are pairs."""
        coefficient = coefficient or self.coefficient
        size, rows = len(vectors), []
        for r in range(size):
            real = imag = None
            for c, (x, y) in enumerate(vectors):
                p = coefficient(base, 2 * (r * size + c))
                q = coefficient(base, 2 * (r * size + c) + 1)
                real = self.mul(p, x) if real is None else self.fma(p, x, real)
                imag = self.mul(p, y) if imag is None else self.fma(p, y, imag)
                real = self.fms(q, y, real)
                imag = self.fma(q, x, imag)
            rows.append((real, imag))
        return rows

    def swapped(self, low, high, lane):
        """Exchange lane bit `lane` with the bit that tells two vectors apart."""
        bit, n = 1 << lane, self.lanes
        low_lanes = [i if not i & bit else n + (i ^ bit) for i in range(n)]
        high_lanes = [n + i if i & bit else i ^ bit for i in range(n)]
        return self.shuffle(low, high, low_lanes), self.shuffle(low, high, high_lanes)


def operation(emit):
    """Make ``emit(e, *operands)`` callable from kernels as ``name(kind, *operands)``; it returns nothing."""

    def define(typingctx, kind, *operands):  # noqa: ARG001  (Numba's)
        signature = types.void(kind, *operands)

        def codegen(context, builder, sig, args):
            words = [
                context.cast(builder, value, of, types.int64) for value, of in zip(args[1:], sig.args[1:], strict=True)
            ]
            emit(Emit(builder, kind), *words)
            return context.get_dummy_value()

        return signature, codegen

    # Numba counts operands in the signature, where *operands would be one tuple.
    names = ["typingctx", "kind", *list(inspect.signature(emit).parameters)[1:]]
    parameters = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names]
    setattr(define, "__signature__", inspect.Signature(parameters))  # noqa: B010  (mypy knows no such attribute)
    define.__name__, define.__doc__ = emit.__name__, emit.__doc__
    return intrinsic(define)


def _loop(e, free, count):
    """Yield row numbers: all values of the bits in `free`, counted through by carrying over the others."""
    builder, word = e.builder, ir.IntType(64)
    number = cgutils.alloca_once_value(builder, ir.Constant(word, 0))
    with cgutils.for_range(builder, count, intp=word):
        x = builder.load(number)
        yield x
        carried = builder.add(builder.or_(x, builder.not_(free)), ir.Constant(word, 1))
        builder.store(builder.and_(carried, free), number)


def over_rows(emit):
    """Make the loop that applies ``emit(e, row, o0, o1, o2, o3, table)`` to the rows that an instruction runs over.

    The loop is emitted here and not written in Python, since each function of Numba's costs 0.1 s to compile.
    """

    def loop(e, base, row_bytes, free, fixed, count, o0, o1, o2, o3, table):
        builder = e.builder
        begin = builder.add(base, builder.mul(fixed, row_bytes))
        for x in _loop(e, free, count):
            emit(e, builder.add(begin, builder.mul(x, row_bytes)), o0, o1, o2, o3, table)

    loop.__name__, loop.__doc__ = emit.__name__, emit.__doc__
    return operation(loop)


def over_reading_rows(emit):
    """The same, each row selecting its own coefficients: `low` and `high` are as `sweep.selectors` fills them."""

    def loop(e, base, row_bytes, free, fixed, count, o0, o1, o2, o3, table, low, high):
        builder, word = e.builder, ir.IntType(64)

        def entry(address, number):
            return builder.load(e.address(address, builder.shl(number, ir.Constant(word, 3))), typ=word, align=8)

        for x in _loop(e, free, count):
            row = builder.or_(x, fixed)
            first = entry(low, builder.and_(row, ir.Constant(word, LOW_MASK)))
            second = entry(high, builder.lshr(row, ir.Constant(word, LOW_ROWS)))
            block = builder.add(table, builder.xor(first, second))
            emit(e, builder.add(base, builder.mul(row, row_bytes)), o0, o1, o2, o3, block)

    loop.__name__, loop.__doc__ = f"reading_{emit.__name__}", emit.__doc__
    return operation(loop)


@operation
def load_row(e, memory, row):
    """Interleaved amplitudes in memory → one row."""
    n = e.lanes
    first = e.load(memory, align=e.element_bytes)
    second = e.load(memory, e.bytes, align=e.element_bytes)
    e.store(e.shuffle(first, second, range(0, 2 * n, 2)), row)
    e.store(e.shuffle(first, second, range(1, 2 * n, 2)), row, e.bytes)


@operation
def prefetch_row(e, memory):
    """Ask for the amplitudes of a row to be brought near, without waiting for them."""
    signature = ir.FunctionType(ir.VoidType(), [ir.PointerType(), _I32, _I32, _I32])
    prefetch = cgutils.get_or_insert_function(e.builder.module, signature, "llvm.prefetch.p0")
    how = [ir.Constant(_I32, k) for k in (0, 2, 1)]  # to read, into the second level, data
    for line in range(0, 2 * e.bytes, 64):
        e.builder.call(prefetch, [e.address(memory, line), *how])


@operation
def store_row(e, row, memory):
    """One row → interleaved amplitudes in memory."""
    n = e.lanes
    real, imag = e.load(row), e.load(row, e.bytes)
    for half in range(2):
        lanes = [lane for k in range(half * n // 2, (half + 1) * n // 2) for lane in (k, n + k)]
        e.store(e.shuffle(real, imag, lanes), memory, half * e.bytes, align=e.element_bytes)


# What follows acts on the row at `row`, or on those at up to four offsets from it. All have the same operands, whether
# they look at them or not, so that one loop serves them all: see `over_rows`.


def _complex_factor(e, row, factor, coefficient):
    x, y = e.load(row), e.load(row, e.bytes)
    ((real, imag),) = e.complex_product(factor, [(x, y)], coefficient)
    e.store(real, row)
    e.store(imag, row, e.bytes)


def _real_factor(e, row, factor, coefficient):
    p = coefficient(factor, 0)
    e.store(e.mul(p, e.load(row)), row)
    e.store(e.mul(p, e.load(row, e.bytes)), row, e.bytes)


def _scale_complex(e, row, o0, o1, o2, o3, factor):
    """Row ← factor · row."""
    _complex_factor(e, row, factor, e.splat)


def _scale_complex_by_lane(e, row, o0, o1, o2, o3, factor):
    """Row ← factor · row, each lane having a factor of its own."""
    _complex_factor(e, row, factor, e.coefficient)


def _scale_real(e, row, o0, o1, o2, o3, factor):
    """Row ← factor · row, the factor being real."""
    _real_factor(e, row, factor, e.splat)


def _scale_real_by_lane(e, row, o0, o1, o2, o3, factor):
    """Row ← factor · row, each lane having a real factor of its own."""
    _real_factor(e, row, factor, e.coefficient)


def _pair_real(e, row, a0, a1, b0, b1, matrix):
    """Real 2×2 matrices on the planes at offsets a0, a1 and on those at b0, b1."""
    for half, planes in enumerate(((a0, a1), (b0, b1))):
        coefficients = [e.coefficient(matrix, 4 * half + k) for k in range(4)]
        new = e.real_product(coefficients, [e.load(row, p) for p in planes])
        for p, value in zip(planes, new, strict=True):
            e.store(value, row, p)


def _quad_real(e, row, p0, p1, p2, p3, matrix):
    """A real 4×4 matrix on four planes."""
    planes = (p0, p1, p2, p3)
    coefficients = [e.coefficient(matrix, k) for k in range(16)]
    new = e.real_product(coefficients, [e.load(row, p) for p in planes])
    for p, value in zip(planes, new, strict=True):
        e.store(value, row, p)


def _complex(e, row, rows, matrix):
    old = [(e.load(row, r), e.load(row, r, e.bytes)) for r in rows]
    for r, (real, imag) in zip(rows, e.complex_product(matrix, old), strict=True):
        e.store(real, row, r)
        e.store(imag, row, r, e.bytes)


def _pair_complex(e, row, r0, r1, r2, r3, matrix):
    """A complex 2×2 matrix on the rows at offsets r0, r1."""
    _complex(e, row, (r0, r1), matrix)


def _quad_complex(e, row, r0, r1, r2, r3, matrix):
    """A complex 4×4 matrix on four rows."""
    _complex(e, row, (r0, r1, r2, r3), matrix)


def _exchange_rows(e, row, r0, r1, r2, r3, table):
    """Two rows trade places."""
    for plane in (0, e.bytes):
        first, second = e.load(row, r0, plane), e.load(row, r1, plane)
        e.store(second, row, r0, plane)
        e.store(first, row, r1, plane)


def _exchange_lane(lane):
    def emit(e, row, o0, o1, o2, o3, table):
        if 1 << lane >= e.lanes:
            return
        for plane in (0, e.bytes):
            low, high = e.swapped(e.load(row, plane), e.load(row, o0, plane), lane)
            e.store(low, row, plane)
            e.store(high, row, o0, plane)

    emit.__name__ = f"_exchange_lane_{lane}"
    emit.__doc__ = f"Lane bit {lane} trades places with the row bit of offset o0."
    return emit


def _exchange_lanes(e, row, o0, o1, o2, o3, table):
    """Every lane bit trades places with a row bit: a transposition of 2^L rows in registers."""
    offsets = (o0, o1, o2, o3)
    lane_bits = e.lanes.bit_length() - 1
    for plane in (0, e.bytes):
        places = [(plane, *(offsets[k] for k in range(lane_bits) if r >> k & 1)) for r in range(e.lanes)]
        rows = [e.load(row, *place) for place in places]
        for lane in range(lane_bits):
            for r in range(e.lanes):
                if not r >> lane & 1:
                    rows[r], rows[r | 1 << lane] = e.swapped(rows[r], rows[r | 1 << lane], lane)
        for place, value in zip(places, rows, strict=True):
            e.store(value, row, *place)


scale_complex = over_rows(_scale_complex)
reading_scale_complex = over_reading_rows(_scale_complex)
scale_complex_by_lane = over_rows(_scale_complex_by_lane)
reading_scale_complex_by_lane = over_reading_rows(_scale_complex_by_lane)
scale_real = over_rows(_scale_real)
reading_scale_real = over_reading_rows(_scale_real)
scale_real_by_lane = over_rows(_scale_real_by_lane)
reading_scale_real_by_lane = over_reading_rows(_scale_real_by_lane)
pair_real = over_rows(_pair_real)
reading_pair_real = over_reading_rows(_pair_real)
pair_complex = over_rows(_pair_complex)
reading_pair_complex = over_reading_rows(_pair_complex)
quad_real = over_rows(_quad_real)
reading_quad_real = over_reading_rows(_quad_real)
reading_quad_complex = over_reading_rows(_quad_complex)
exchange_rows = over_rows(_exchange_rows)
exchange_lanes = over_rows(_exchange_lanes)
exchange_lane_0, exchange_lane_1, exchange_lane_2, exchange_lane_3 = (over_rows(_exchange_lane(k)) for k in range(4))


# What a larger matrix needs.


def _four_outputs(e, inputs, size, matrix, out0, out1, out2, out3, coefficient, stride):
    """Four rows of matrix · inputs, the inputs being `size` rows one after the other."""
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
    """Four rows of a complex matrix times `size` input rows; scalar coefficients, column after column."""
    _four_outputs(e, inputs, size, matrix, out0, out1, out2, out3, e.splat, e.element_bytes)


@operation
def four_outputs_by_lane(e, inputs, size, matrix, out0, out1, out2, out3):
    """The same with coefficients that differ between lanes."""
    _four_outputs(e, inputs, size, matrix, out0, out1, out2, out3, e.coefficient, e.bytes)


@operation
def copy_row(e, source, target):
    """Target ← source."""
    for plane in (0, e.bytes):
        e.store(e.load(source, plane), target, plane)
