"""The interpreter of encoded sweeps: tile after tile, gather into rows, run the instructions, put back.

Everything here runs without the interpreter lock on a range of tiles, so threads share a sweep by sharing out its
tiles, and no result depends on which thread did what.
"""

from __future__ import annotations

import numba
import numpy as np

from qsim_ex.kernels.cpu import encode as e
from qsim_ex.kernels.cpu import vectors as v
from qsim_ex.kernels.cpu.cache import kernel

LANES, LANE, SCALE_REAL, SCALE_COMPLEX = e.LANES, e.LANE, e.SCALE_REAL, e.SCALE_COMPLEX
PAIR_REAL, PAIR_COMPLEX, QUAD_REAL, QUAD_COMPLEX = e.PAIR_REAL, e.PAIR_COMPLEX, e.QUAD_REAL, e.QUAD_COMPLEX
DENSE, EXCHANGE = e.DENSE, e.EXCHANGE
KIND, OUTSIDE_MASK, OUTSIDE_VALUE, FREE, FIXED, COUNT = (
    e.KIND, e.OUTSIDE_MASK, e.OUTSIDE_VALUE, e.FREE, e.FIXED, e.COUNT,
)  # fmt: skip
TABLE, BLOCK, READS, COLUMNS, SIZE, PER_LANE, OFFSETS = (
    e.TABLE, e.BLOCK, e.READS, e.COLUMNS, e.SIZE, e.PER_LANE, e.OFFSETS,
)  # fmt: skip
TO, BLOCKS, ENTRIES, FROM, LANE_COLUMNS, LANE_MASK, LANE_VALUE, IDENTITY, SPLAT = (
    e.TO, e.BLOCKS, e.ENTRIES, e.FROM, e.LANE_COLUMNS, e.LANE_MASK, e.LANE_VALUE, e.IDENTITY, e.SPLAT,
)  # fmt: skip
NUM_BITS, ROW_BITS, DIRECT, TILE_MASK, LOAD, STORE, LOAD_LANES, STORE_LANES = (
    e.NUM_BITS, e.ROW_BITS, e.DIRECT, e.TILE_MASK, e.LOAD, e.STORE, e.LOAD_LANES, e.STORE_LANES,
)  # fmt: skip
LOW_ROWS, NOWHERE = e.LOW_ROWS, e.NOWHERE
LOW_MASK = (1 << LOW_ROWS) - 1
ZERO, ONE = e.items.ZERO, e.items.ONE

part = numba.njit(nogil=True, error_model="numpy")


@part
def number(numbers, code):
    """The real number that a code stands for; see `items`."""
    if code >= 0:
        value = numbers[code >> 1]
        return -value if code & 1 else value
    if code == ZERO:
        return 0.0
    return 1.0 if code == ONE else -1.0


@kernel
def expand(kind, numbers, fills, codes, integers, out):
    """Look up all coefficients of a sweep, one for each lane; `numbers` are real and imaginary parts in turn."""
    lane_bits = len(kind)
    for f in range(len(fills)):
        fill = fills[f]
        columns = integers[fill[LANE_COLUMNS] : fill[LANE_COLUMNS] + lane_bits]
        entries = fill[ENTRIES]
        at = fill[TO]
        alike = fill[LANE_MASK] == 0
        for lane_bit in range(lane_bits):
            alike &= columns[lane_bit] == 0
        for block in range(fill[BLOCKS]):
            for entry in range(entries):
                if fill[SPLAT]:
                    out[at] = number(numbers, codes[fill[FROM] + block * entries + entry])
                    at += 1
                    continue
                if alike:
                    value = number(numbers, codes[fill[FROM] + block * entries + entry])
                    for lane in range(1 << lane_bits):
                        out[at + lane] = value
                else:
                    for lane in range(1 << lane_bits):
                        code = fill[IDENTITY] + entry
                        if lane & fill[LANE_MASK] == fill[LANE_VALUE]:
                            selected = block
                            for lane_bit in range(lane_bits):
                                if lane >> lane_bit & 1:
                                    selected ^= columns[lane_bit]
                            code = fill[FROM] + selected * entries + entry
                        out[at + lane] = number(numbers, codes[code])
                at += 1 << lane_bits


@part
def parity(value):
    """Whether a number has an odd count of ones."""
    value ^= value >> 32
    value ^= value >> 16
    value ^= value >> 8
    value ^= value >> 4
    return np.int64(0x6996) >> (value & 15) & 1


@part
def selectors(instruction, integers, row_bits, index, low, high):
    """Fill the two tables whose XOR is the block that a row selects: for its lowest bits, and for the others."""
    columns = instruction[COLUMNS]
    block = 0
    for k in range(instruction[READS]):
        block |= parity(index & integers[columns + row_bits + k]) << k
    low[0] = block
    high[0] = 0
    for bit in range(row_bits):
        column = integers[columns + bit]
        table, size = (low, 1 << bit) if bit < LOW_ROWS else (high, 1 << bit - LOW_ROWS)
        for x in range(size):
            table[size + x] = table[x] ^ column


@part
def run_scale(kind, instruction, base, row_bytes, table, block_bytes, low, high):
    """Multiply rows by factors."""
    free, fixed, count = instruction[FREE], instruction[FIXED], instruction[COUNT]
    real = instruction[KIND] == SCALE_REAL
    x = 0
    if instruction[READS] == 0:
        base += fixed * row_bytes
        if real:
            for _ in range(count):
                v.scale_real(kind, base + x * row_bytes, table)
                x = (x | ~free) + 1 & free
        else:
            for _ in range(count):
                v.scale_complex(kind, base + x * row_bytes, table)
                x = (x | ~free) + 1 & free
    else:
        for _ in range(count):
            row = x | fixed
            factor = table + (low[row & LOW_MASK] ^ high[row >> LOW_ROWS]) * block_bytes
            if real:
                v.scale_real(kind, base + row * row_bytes, factor)
            else:
                v.scale_complex(kind, base + row * row_bytes, factor)
            x = (x | ~free) + 1 & free


@part
def run_pair_real(kind, instruction, base, row_bytes, table, block_bytes, low, high):
    """Real 2×2 matrices."""
    free, fixed, count = instruction[FREE], instruction[FIXED], instruction[COUNT]
    a0, a1, b0, b1 = instruction[OFFSETS], instruction[OFFSETS + 1], instruction[OFFSETS + 2], instruction[OFFSETS + 3]
    x = 0
    if instruction[READS] == 0:
        base += fixed * row_bytes
        for _ in range(count):
            v.pair_real(kind, base + x * row_bytes, a0, a1, b0, b1, table)
            x = (x | ~free) + 1 & free
    else:
        for _ in range(count):
            row = x | fixed
            matrix = table + (low[row & LOW_MASK] ^ high[row >> LOW_ROWS]) * block_bytes
            v.pair_real(kind, base + row * row_bytes, a0, a1, b0, b1, matrix)
            x = (x | ~free) + 1 & free


@part
def run_pair_complex(kind, instruction, base, row_bytes, table, block_bytes, low, high):
    """Complex 2×2 matrices."""
    free, fixed, count = instruction[FREE], instruction[FIXED], instruction[COUNT]
    r0, r1 = instruction[OFFSETS], instruction[OFFSETS + 1]
    x = 0
    if instruction[READS] == 0:
        base += fixed * row_bytes
        for _ in range(count):
            v.pair_complex(kind, base + x * row_bytes, r0, r1, table)
            x = (x | ~free) + 1 & free
    else:
        for _ in range(count):
            row = x | fixed
            matrix = table + (low[row & LOW_MASK] ^ high[row >> LOW_ROWS]) * block_bytes
            v.pair_complex(kind, base + row * row_bytes, r0, r1, matrix)
            x = (x | ~free) + 1 & free


@part
def run_quad_real(kind, instruction, base, row_bytes, table, block_bytes, low, high):
    """Real 4×4 matrices, first on one plane of each row and then on the other."""
    free, fixed, count = instruction[FREE], instruction[FIXED], instruction[COUNT]
    plane = row_bytes >> 1
    for half in range(2):
        at = OFFSETS + 4 * half
        p0, p1, p2, p3 = instruction[at], instruction[at + 1], instruction[at + 2], instruction[at + 3]
        half_table = table + half * 16 * plane
        x = 0
        if instruction[READS] == 0:
            for _ in range(count):
                v.quad_real(kind, base + (x | fixed) * row_bytes, p0, p1, p2, p3, half_table)
                x = (x | ~free) + 1 & free
        else:
            for _ in range(count):
                row = x | fixed
                matrix = half_table + (low[row & LOW_MASK] ^ high[row >> LOW_ROWS]) * block_bytes
                v.quad_real(kind, base + row * row_bytes, p0, p1, p2, p3, matrix)
                x = (x | ~free) + 1 & free


@part
def run_quad_complex(kind, instruction, base, row_bytes, table, block_bytes, low, high):
    """Complex 4×4 matrices."""
    free, fixed, count = instruction[FREE], instruction[FIXED], instruction[COUNT]
    r0, r1, r2, r3 = instruction[OFFSETS], instruction[OFFSETS + 1], instruction[OFFSETS + 2], instruction[OFFSETS + 3]
    reads = instruction[READS] != 0
    matrix = table
    x = 0
    for _ in range(count):
        row = x | fixed
        if reads:
            matrix = table + (low[row & LOW_MASK] ^ high[row >> LOW_ROWS]) * block_bytes
        v.quad_complex(kind, base + row * row_bytes, r0, r1, r2, r3, matrix)
        x = (x | ~free) + 1 & free


@part
def run_dense(kind, instruction, integers, base, row_bytes, table, block_bytes, low, high, real_bytes):
    """Larger matrices: the rows are copied aside, then four outputs at a time are summed up."""
    free, fixed, count, size = instruction[FREE], instruction[FIXED], instruction[COUNT], instruction[SIZE]
    offsets = instruction[OFFSETS]
    aside = base + (row_bytes << instruction[OFFSETS + 1])
    per_lane = instruction[PER_LANE] != 0
    group_bytes = 8 * size * (row_bytes >> 1 if per_lane else real_bytes)
    matrix = table
    x = 0
    for _ in range(count):
        row = x | fixed
        if instruction[READS] != 0:
            matrix = table + (low[row & LOW_MASK] ^ high[row >> LOW_ROWS]) * block_bytes
        here = base + row * row_bytes
        for k in range(size):
            v.copy_row(kind, here + integers[offsets + k], aside + k * row_bytes)
        for group in range(size >> 2):
            k = offsets + 4 * group
            at = matrix + group * group_bytes
            r0, r1 = here + integers[k], here + integers[k + 1]
            r2, r3 = here + integers[k + 2], here + integers[k + 3]
            if per_lane:
                v.four_outputs_by_lane(kind, aside, size, at, r0, r1, r2, r3)
            else:
                v.four_outputs(kind, aside, size, at, r0, r1, r2, r3)
        x = (x | ~free) + 1 & free


@part
def run_exchange(kind, instruction, base, row_bytes):
    """Rows trade places."""
    free, fixed = instruction[FREE], instruction[FIXED]
    x = 0
    for _ in range(instruction[COUNT]):
        v.exchange_rows(kind, base + (x | fixed) * row_bytes, instruction[OFFSETS], instruction[OFFSETS + 1])
        x = (x | ~free) + 1 & free


@part
def run_lanes(kind, instruction, base, row_bytes):
    """Lane bits and row bits trade places."""
    free, lane = instruction[FREE], instruction[SIZE]
    o0, o1, o2, o3 = instruction[OFFSETS], instruction[OFFSETS + 1], instruction[OFFSETS + 2], instruction[OFFSETS + 3]
    every = instruction[KIND] == LANES
    x = 0
    for _ in range(instruction[COUNT]):
        at = base + x * row_bytes
        if every:
            v.exchange_lanes(kind, at, o0, o1, o2, o3)
        elif lane == 0:
            v.exchange_lane_0(kind, at, o0)
        elif lane == 1:
            v.exchange_lane_1(kind, at, o0)
        elif lane == 2:
            v.exchange_lane_2(kind, at, o0)
        else:
            v.exchange_lane_3(kind, at, o0)
        x = (x | ~free) + 1 & free


@part
def load_tile(kind, state, scratch, base, place, rows, low, high, lanes, direct, amplitude_bytes, row_bytes):
    """Amplitudes → rows. `place` is where the tile begins; padding is zero."""
    if direct:
        memory = state.ctypes.data + place * amplitude_bytes
        for row in range(rows):
            offset = low[row & LOW_MASK] + high[row >> LOW_ROWS]
            v.load_row(kind, memory + offset * amplitude_bytes, base + row * row_bytes)
        return
    width = 1 << len(kind)
    first = (base - scratch.ctypes.data) // (row_bytes >> len(kind) + 1)
    for row in range(rows):
        offset = low[row & LOW_MASK] + high[row >> LOW_ROWS]
        at = first + row * 2 * width
        for lane in range(width):
            here = offset + lanes[lane]
            if here < NOWHERE:
                scratch[at + lane] = state[2 * (place + here)]
                scratch[at + width + lane] = state[2 * (place + here) + 1]
            else:
                scratch[at + lane] = 0
                scratch[at + width + lane] = 0


@part
def store_tile(kind, state, scratch, base, place, rows, low, high, lanes, direct, amplitude_bytes, row_bytes):
    """Rows → amplitudes."""
    if direct:
        memory = state.ctypes.data + place * amplitude_bytes
        for row in range(rows):
            offset = low[row & LOW_MASK] + high[row >> LOW_ROWS]
            v.store_row(kind, base + row * row_bytes, memory + offset * amplitude_bytes)
        return
    width = 1 << len(kind)
    first = (base - scratch.ctypes.data) // (row_bytes >> len(kind) + 1)
    for row in range(rows):
        offset = low[row & LOW_MASK] + high[row >> LOW_ROWS]
        at = first + row * 2 * width
        for lane in range(width):
            here = offset + lanes[lane]
            if here < NOWHERE:
                state[2 * (place + here)] = scratch[at + lane]
                state[2 * (place + here) + 1] = scratch[at + width + lane]


@part
def run_instruction(kind, instruction, integers, base, row_bytes, real_bytes, coefficients, row_bits, index, low, high):
    """One instruction on one tile."""
    if index & instruction[OUTSIDE_MASK] != instruction[OUTSIDE_VALUE]:
        return
    what = instruction[KIND]
    table = coefficients + instruction[TABLE] * real_bytes
    block_bytes = instruction[BLOCK] * real_bytes
    if instruction[READS] != 0:
        selectors(instruction, integers, row_bits, index, low, high)
    if what == SCALE_REAL or what == SCALE_COMPLEX:
        run_scale(kind, instruction, base, row_bytes, table, block_bytes, low, high)
    elif what == PAIR_REAL:
        run_pair_real(kind, instruction, base, row_bytes, table, block_bytes, low, high)
    elif what == PAIR_COMPLEX:
        run_pair_complex(kind, instruction, base, row_bytes, table, block_bytes, low, high)
    elif what == QUAD_REAL:
        run_quad_real(kind, instruction, base, row_bytes, table, block_bytes, low, high)
    elif what == QUAD_COMPLEX:
        run_quad_complex(kind, instruction, base, row_bytes, table, block_bytes, low, high)
    elif what == DENSE:
        run_dense(kind, instruction, integers, base, row_bytes, table, block_bytes, low, high, real_bytes)
    elif what == EXCHANGE:
        run_exchange(kind, instruction, base, row_bytes)
    else:
        run_lanes(kind, instruction, base, row_bytes)


@kernel
def run_tiles(kind, state, scratch, coefficients, instructions, integers, geometry, first, last, high):
    """Run a sweep on tiles `first` … `last` − 1.

    state: real and imaginary parts in turn; scratch: as large as a tile and 32 rows, aligned to 64 bytes;
    high: the value of all index bits outside the state.
    """
    lane_bits = len(kind)
    real_bytes = scratch.itemsize
    row_bytes = (2 << lane_bits) * real_bytes
    row_bits = geometry[ROW_BITS]
    rows = 1 << row_bits
    split = LOW_MASK + 1
    load, store = integers[geometry[LOAD] :], integers[geometry[STORE] :]
    load_lanes, store_lanes = integers[geometry[LOAD_LANES] :], integers[geometry[STORE_LANES] :]
    low_block = np.empty(split, dtype=np.int64)
    high_block = np.empty(max(1, rows >> LOW_ROWS), dtype=np.int64)
    outside = ((1 << geometry[NUM_BITS]) - 1) & ~geometry[TILE_MASK]
    direct, amplitude_bytes = geometry[DIRECT] != 0, 2 * real_bytes
    base = scratch.ctypes.data
    place = 0
    left = first
    for bit in range(geometry[NUM_BITS]):
        if outside >> bit & 1:
            place |= (left & 1) << bit
            left >>= 1
    for _ in range(first, last):
        load_tile(kind, state, scratch, base, place, rows, load, load[split:], load_lanes, direct,
                  amplitude_bytes, row_bytes)  # fmt: skip
        index = place | high << geometry[NUM_BITS]
        for k in range(len(instructions)):
            run_instruction(kind, instructions[k], integers, base, row_bytes, real_bytes, coefficients.ctypes.data,
                            row_bits, index, low_block, high_block)  # fmt: skip
        store_tile(kind, state, scratch, base, place, rows, store, store[split:], store_lanes, direct,
                   amplitude_bytes, row_bytes)  # fmt: skip
        place = (place | ~outside) + 1 & outside
