"""The form of a run on a GPU as flat arrays: which integer means what.

`kernels/cuda/launches.py` writes it, `enqueue` reads it. `words` says what is done, int64; `places` are indices into the
number buffer and into its real numbers, int32; `room` is float64, begins with the number buffer, and is written to.
"""

from __future__ import annotations

# The head of `words`. Where in `words` instructions, entries of small tables and launches begin, and how many there
# are; where in `places` the takes of what tables and launches are given begin, where in `room` it goes, and how many
# numbers it is. SINGLE: whether launches are given float32. SLOTS: where in `room` arguments are laid out.
OPERANDS, INSTRUCTIONS, NUM_INSTRUCTIONS, ENTRIES, NUM_ENTRIES, LAUNCHES, NUM_LAUNCHES = range(7)
FACTORS, FACTORS_TO, NUM_FACTORS, VALUES, VALUES_TO, NUM_VALUES, SINGLE, SLOTS = range(7, 15)
HEAD = 15

# An instruction: what it does; where its places begin; how many results it has, and which number of the buffer is the
# first; how many terms each of them is the sum of. Products have two places for each term, Euler angles four for each
# matrix (whose results are seven numbers).
PRODUCTS, EULERS = range(2)
INSTRUCTION = 5

# An entry of a small table is a product: which number of the buffer it is, where its factors' places begin, and how
# many there are.
ENTRY = 3

# A launch: the kernel's handle, blocks, threads, how many arguments it has; behind it the arguments. An argument: its
# kind, and a number: itself; what is added to the state's address, or to that of the tables; or the byte of `room` at
# which a struct begins.
LAUNCH = 4
PLAIN, STATE, TABLES, STRUCT = range(4)
ARGUMENT = 2
MOST_ARGUMENTS = 12
