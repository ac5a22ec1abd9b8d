"""The form of a run on a GPU as flat arrays: the meaning of each integer.

`kernels/cuda/launch/launches.py` writes it, `enqueue` reads it. `words`, int64, are instructions one behind the other;
`places`, int32, are indices into the coefficient buffer, or into it as real numbers; `room`, float64, begins with the
number buffer and, behind it, the constants of `packing`.
"""

from __future__ import annotations

# An instruction begins with what it is:
# OPERANDS: how many of the circuit's operands the coefficient buffer begins with.
# PRODUCTS: where its places begin, how many results it has, and how many terms each is the sum of; for each result its
#   own place, and then two places a term.
# EULERS: where its places begin, how many matrices it has, and whether their rotations are imaginary; for each its four
#   places, and that of its first result.
# ENTRY, of a small table: its own place, where the places of its factors begin, and how many there are.
# TAKE, TAKE_SINGLE: where its places (of reals) begin, how many there are, and where they go: the number of a float64
#   in the room, or of a float32.
# LAUNCH: the kernel's handle, blocks, threads, how many arguments it has; behind it the arguments.
# BIND: the address of a compiled plan's coefficient program, its rows, the addresses of its places and of its
# incidence, and   how many operands there are; all numbers but tables are made at once.
# PIVOTS, behind a TAKE: where the places of that begin, where the records of pivots begin (see
#   core/native/kernels/pivots.hpp), how many words they have, where the taken numbers went, and the bytes of one.
# ROWS, products whose right factors are rows of 16 numbers (see core/native/kernels/matrix_rows.hpp): its first place,
#   how many products there are, the rows that the left factor mixes, and how often; for each product its first result's
#   place, the places of the left factor, and where each row begins, or -1 - j for row j of the unit matrix.
# END.
END, OPERANDS, PRODUCTS, EULERS, ENTRY, TAKE, TAKE_SINGLE, LAUNCH, BIND, PIVOTS, ROWS = range(11)

LENGTH = (1, 2, 4, 4, 4, 4, 4, 5, 6, 6, 5)
"""The words of each instruction, except for the arguments of a launch."""

# An argument: its kind, and a number: itself; what is added to the state's address, or to that of the tables; the byte
# of the room at which a struct begins; or the address of a struct that stays.
PLAIN, STATE, TABLES, STRUCT, KEPT = range(5)

MOST_ARGUMENTS = 12

# The head of `words`: where in the room arguments are laid out (their values, and then pointers to them).
SLOTS = 0
HEAD = 1
