"""Operations on many rows: each is written for one place and emitted as a loop over all rows of an instruction.

The loops are emitted and not written in Python, since each function of Numba's costs 0.1 s to compile.
"""

from __future__ import annotations

from qsim_ex.kernels.cpu.emit import operation
from qsim_ex.kernels.cpu.encoding import LOW_MASK, LOW_ROWS
from qsim_ex.kernels.interrupts import uninterrupted

with uninterrupted():
    from llvmlite import ir
    from numba.core import cgutils

_WORD = ir.IntType(64)


def _numbers(e, free, count):
    """Yield row numbers: all values of the bits in `free`, counted by carrying over the other bits."""
    builder = e.builder
    number = cgutils.alloca_once_value(builder, ir.Constant(_WORD, 0))
    with cgutils.for_range(builder, count, intp=_WORD):
        x = builder.load(number)
        yield x
        carried = builder.add(builder.or_(x, builder.not_(free)), ir.Constant(_WORD, 1))
        builder.store(builder.and_(carried, free), number)


def _entry(e, table, number):
    """Load an integer of a table."""
    return e.builder.load(e.address(table, e.builder.shl(number, ir.Constant(_WORD, 3))), typ=_WORD, align=8)


def _alike(e, one_place, base, row_bytes, free, fixed, count, offsets, table):
    """Emit the loop in which all rows have the same coefficients, so that these can stay in registers."""
    builder = e.builder
    begin = builder.add(base, builder.mul(fixed, row_bytes))
    for x in _numbers(e, free, count):
        one_place(e, builder.add(begin, builder.mul(x, row_bytes)), offsets, table)


def _selecting(e, one_place, base, row_bytes, free, fixed, count, offsets, table, low, high):
    """Emit the loop in which each row selects its own coefficients."""
    builder = e.builder
    for x in _numbers(e, free, count):
        row = builder.or_(x, fixed)
        first = _entry(e, low, builder.and_(row, ir.Constant(_WORD, LOW_MASK)))
        second = _entry(e, high, builder.lshr(row, ir.Constant(_WORD, LOW_ROWS)))
        block = builder.add(table, builder.xor(first, second))
        one_place(e, builder.add(base, builder.mul(row, row_bytes)), offsets, block)


def over_rows(one_place):
    """Emit ``one_place(e, row, offsets, table)`` for all rows that an instruction runs over.

    It acts on the row at address `row`, or on those at up to four offsets from it; `table` is the address of its
    coefficients. reads: whether rows select their coefficients; then `sweep.selectors` has filled `low` and
    `high`.
    """

    def loop(e, base, row_bytes, free, fixed, count, o0, o1, o2, o3, table, reads, low, high):
        where = (one_place, base, row_bytes, free, fixed, count, (o0, o1, o2, o3), table)
        selects = e.builder.icmp_signed("!=", reads, ir.Constant(_WORD, 0))
        with e.builder.if_else(selects) as (then, otherwise):
            with then:
                _selecting(e, *where, low, high)
            with otherwise:
                _alike(e, *where)

    return _named(loop, one_place)


def over_rows_alike(one_place):
    """Emit the loop of `over_rows` for operations that have no coefficients to select."""

    def loop(e, base, row_bytes, free, fixed, count, o0, o1, o2, o3):
        _alike(e, one_place, base, row_bytes, free, fixed, count, (o0, o1, o2, o3), None)

    return _named(loop, one_place)


def _named(loop, one_place):
    loop.__name__, loop.__doc__ = one_place.__name__, one_place.__doc__
    return operation(loop)


def _complex_matrix(e, row, offsets, matrix, coefficient=None):
    old = [(e.load(row, r), e.load(row, r, e.bytes)) for r in offsets]
    for r, (real, imag) in zip(offsets, e.complex_product(matrix, old, coefficient), strict=True):
        e.store(real, row, r)
        e.store(imag, row, r, e.bytes)


def _real_factor(e, row, factor):
    for plane in (0, e.bytes):
        e.store(e.mul(factor, e.load(row, plane)), row, plane)


def _real_matrix(e, row, planes, coefficients):
    new = e.real_product(coefficients, [e.load(row, plane) for plane in planes])
    for plane, value in zip(planes, new, strict=True):
        e.store(value, row, plane)


@over_rows
def scale_complex(e, row, _, factor):
    """Multiply a row by a number."""
    _complex_matrix(e, row, (0,), factor, e.splat)


@over_rows
def scale_complex_by_lane(e, row, _, factor):
    """Multiply each lane of a row by a number of its own."""
    _complex_matrix(e, row, (0,), factor)


@over_rows
def scale_real(e, row, _, factor):
    """Multiply a row by a real number."""
    _real_factor(e, row, e.splat(factor, 0))


@over_rows
def scale_real_by_lane(e, row, _, factor):
    """Multiply each lane of a row by a real number of its own."""
    _real_factor(e, row, e.coefficient(factor, 0))


@over_rows
def pair_real(e, row, offsets, matrix):
    """Apply real 2×2 matrices, one to the planes at the first two offsets, one to those at the others."""
    for half in range(2):
        coefficients = [e.coefficient(matrix, 4 * half + k) for k in range(4)]
        _real_matrix(e, row, offsets[2 * half : 2 * half + 2], coefficients)


@over_rows
def quad_real(e, row, offsets, matrix):
    """Apply a real 4×4 matrix to four planes."""
    _real_matrix(e, row, offsets, [e.coefficient(matrix, k) for k in range(16)])


@over_rows
def pair_complex(e, row, offsets, matrix):
    """Apply a complex 2×2 matrix to the rows at the first two offsets."""
    _complex_matrix(e, row, offsets[:2], matrix)


@over_rows
def quad_complex(e, row, offsets, matrix):
    """Apply a complex 4×4 matrix to four rows."""
    _complex_matrix(e, row, offsets, matrix)


@over_rows_alike
def exchange_rows(e, row, offsets, _):
    """Exchange two rows."""
    for plane in (0, e.bytes):
        first, second = (e.load(row, r, plane) for r in offsets[:2])
        e.store(second, row, offsets[0], plane)
        e.store(first, row, offsets[1], plane)


@over_rows_alike
def exchange_lanes(e, row, offsets, _):
    """Exchange every lane bit with a row bit: a transposition of 2^L rows in registers."""
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


def _exchange_lane(lane):
    def exchange_lane(e, row, offsets, _):
        """Exchange one lane bit with the row bit of the first offset."""
        if 1 << lane >= e.lanes:
            return  # narrower vectors have no such lane
        for plane in (0, e.bytes):
            low, high = e.swapped(e.load(row, plane), e.load(row, offsets[0], plane), lane)
            e.store(low, row, plane)
            e.store(high, row, offsets[0], plane)

    return over_rows_alike(exchange_lane)


exchange_lane_0, exchange_lane_1, exchange_lane_2, exchange_lane_3 = map(_exchange_lane, range(4))
