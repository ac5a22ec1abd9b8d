"""Random sweeps, with their packed numbers and states to run them on."""

from __future__ import annotations

import numpy as np
from support.directions import drawn, shuffled

from qsim_ex.circuit.ops import When
from qsim_ex.steps.algebra import columns_on, units
from qsim_ex.steps.step import NUMBERED, Diagonal, Mix, Permute, RegisterBlock, Slot, Sweep


class Numbers:
    """Numbers and tables in the making, laid out as a plan lays them out."""

    def __init__(self):
        self.numbers, self.tables, self.items = [], [], []

    def add(self, make, pattern, reads, values):
        """Remember an item whose entries have these values."""
        self.items.append((make, pattern, reads, values))

    def finish(self):
        """The items with their slots, and the packed array."""
        count = sum(e in NUMBERED for _, p, reads, _ in self.items if not reads for e in p)
        made, numbers, tables = [], [], []
        for make, pattern, reads, values in self.items:
            if reads:
                slot = Slot(count + len(tables), len(values))
                tables += list(values)
            else:
                kept = [v for v, e in zip(values, pattern, strict=True) if e in NUMBERED]
                slot = Slot(len(numbers), len(kept))
                numbers += kept
            made.append(make(slot))
        return made, np.array(numbers + tables, dtype=np.complex128), len(numbers), len(tables)


def random_entries(rng, count, classes, scale=1.0):
    """A pattern and values that it allows."""
    pattern = bytes(int(rng.choice(classes)) for _ in range(count))
    values = []
    for entry in pattern:
        x, y = rng.normal(size=2) * scale
        values.append({0: 0, 1: 1, 2: -1, 3: x, 4: 1j * y, 5: x + 1j * y}[entry])
    return pattern, values


def random_mask(rng, allowed, most):
    """A mask of up to `most` of the allowed bits, at least one."""
    count = int(rng.integers(1, min(most, len(allowed)) + 1))
    return sum(1 << int(bit) for bit in rng.choice(allowed, count, replace=False))


def random_item(rng, kind, near, num_bits, high_bits, numbers):
    """Append one random item that mixes near bits and reads anything, bits outside the buffer included."""
    everything = list(range(num_bits + high_bits))
    mixed = []
    if kind != "diagonal":
        mixed = [int(b) for b in rng.permutation(near)[: int(rng.integers(1, len(near) + 1))]]
    if kind == "block" and len(near) == 4:
        bits = tuple(int(b) for b in rng.permutation(near))
        pattern, values = random_entries(rng, 256, (5,), 0.2)
        numbers.add(lambda slot: Mix(bits, (), When(0, 0), pattern, slot, "block"), pattern, (), values)
        return
    if kind == "pair" and len(near) > 1:
        pair_of_rotations(rng, near, numbers)
        return
    if kind == "usual" and len(near) > 1:
        usual_pair(rng, near, numbers)
        return
    if kind == "cx":
        control = int(rng.choice([bit for bit in everything if bit != mixed[0]]))
        value = int(rng.random() < 0.8) << control
        numbers.add(lambda _: Permute((mixed[0],), When(1 << control, value), (1, 0), "cx"), b"", (), [])
        return
    if kind == "turn":
        turn(rng, mixed[0], numbers)
        return
    if kind == "exchange":
        exchange(rng, mixed[0], [bit for bit in everything if bit != mixed[0]], numbers)
        return
    if kind == "three":
        bits = tuple(int(bit) for bit in rng.permutation(near)[:3])
        pattern, values = random_entries(rng, 64, [(5,), (0, 1, 2, 3, 4, 5)][int(rng.integers(2))], 0.5)
        numbers.add(lambda slot: Mix(bits, (), When(0, 0), pattern, slot, "three"), pattern, (), values)
        return
    if kind == "fixed":
        fixed_item(rng, near, mixed[:2], numbers)
        return
    if kind == "chosen" and len(near) > 1:
        chosen_pair(rng, near, everything, numbers)
        return
    if kind == "selected":
        selected(rng, mixed[:2], [bit for bit in everything if bit not in mixed[:2]], numbers)
        return
    if kind == "controlled":
        controlled(rng, mixed[0], [bit for bit in everything if bit != mixed[0]], numbers)
        return
    allowed = [bit for bit in everything if bit not in mixed]
    when = When(0, 0)
    if allowed and rng.random() < 0.5:
        mask = random_mask(rng, allowed, 2)
        when = When(mask, mask & int(rng.integers(0, 1 << 62)))
    reads = ()
    if allowed and kind != "permute" and rng.random() < 0.6:
        most = 5 if kind == "diagonal" else 2
        reads = tuple(
            random_mask(rng, allowed, 3 if rng.random() < 0.5 else 1) for _ in range(rng.integers(1, most + 1))
        )
    classes = [(3,), (5,), (0, 1, 2, 3, 4, 5), (0, 4), (1, 2), (1, 3, 5), (1,)][int(rng.integers(7))]
    label = f"{kind} {mixed} \\"
    if kind == "permute":
        to = tuple(int(x) for x in rng.permutation(1 << len(mixed)))
        numbers.add(lambda _: Permute(tuple(mixed), when, to, label), b"", (), [])
    elif kind == "mix":
        count = 1 << 2 * len(mixed) + len(reads)
        pattern, values = random_entries(rng, count, classes, 0.5)
        numbers.add(lambda slot: Mix(tuple(mixed), reads, when, pattern, slot, label), pattern, reads, values)
    else:
        pattern, values = random_entries(rng, 1 << len(reads), classes)
        numbers.add(lambda slot: Diagonal(reads, when, pattern, slot, label), pattern, reads, values)


def pair_of_rotations(rng, near, numbers):
    """Append a matrix with the pattern of RXX·RYY: two rotations mostly, by multiples of π/4 too, or any numbers."""
    bits = tuple(int(b) for b in rng.permutation(near)[:2])
    matrix = np.zeros((4, 4), dtype=complex)
    for low, high in ((0, 3), (1, 2)):
        angle = rng.choice([rng.uniform(-np.pi, np.pi), np.pi / 4 * rng.integers(-4, 5)])
        block = np.array([[np.cos(angle), 1j * np.sin(angle)], [1j * np.sin(angle), np.cos(angle)]])
        if rng.random() < 0.3:
            block *= [np.array([[1, 1], [-1, -1]]), rng.normal(size=(2, 2)), 0.1][int(rng.integers(3))]
        matrix[np.ix_((low, high), (low, high))] = block
    add_pair(bits, matrix, numbers)
    if rng.random() < 0.6:
        reads = (1 << bits[0] | 1 << bits[1], 1 << bits[int(rng.integers(2))])[: int(rng.integers(1, 3))]
        pattern, values = random_entries(rng, 1 << len(reads), [(5,), (1, 5), (3,), (4,)][int(rng.integers(4))])
        numbers.add(lambda slot: Diagonal(reads, When(0, 0), pattern, slot, "parity"), pattern, reads, values)


def usual_pair(rng, near, numbers):
    """Append RXX·RYY by one small angle, and sometimes the RZZ of it or an RZ."""
    bits = tuple(int(b) for b in rng.permutation(near)[:2])
    angle = rng.uniform(-np.pi / 4, np.pi / 4)
    matrix = np.eye(4, dtype=complex)
    matrix[1:3, 1:3] = [[np.cos(angle), 1j * np.sin(angle)], [1j * np.sin(angle), np.cos(angle)]]
    add_pair(bits, matrix, numbers)
    if rng.random() < 0.6:
        read = 1 << bits[0] | 1 << bits[1] if rng.random() < 0.6 else 1 << int(rng.choice(near))
        pattern, values = bytes((1, 5)), [1, np.exp(1j * rng.uniform(-np.pi, np.pi))]
        numbers.add(lambda slot: Diagonal((read,), When(0, 0), pattern, slot, "rzz"), pattern, (read,), values)


def add_pair(bits, matrix, numbers):
    """Append a matrix with the pattern of RXX·RYY."""
    kinds = bytes([3, 0, 0, 4, 0, 3, 4, 0, 0, 4, 3, 0, 4, 0, 0, 3])
    numbers.add(lambda slot: Mix(bits, (), When(0, 0), kinds, slot, "pair"), kinds, (), list(matrix.ravel()))


def chosen_pair(rng, near, everything, numbers):
    """Append a matrix with zeros beside its diagonals, real or imaginary on the second, or one of two by a parity."""
    bits = tuple(int(b) for b in rng.permutation(near)[:2])
    allowed = [bit for bit in everything if bit not in bits]
    reads = (random_mask(rng, allowed, 4),) if allowed and rng.random() < 0.7 else ()
    beside = int(rng.choice([3, 4]))
    classes = [3 if row == column else beside if row + column == 3 else 0 for row in range(4) for column in range(4)]
    found = [random_entries(rng, 1, (kind,), 0.7) for _ in range(1 << len(reads)) for kind in classes]
    pattern, values = b"".join(kind for kind, _ in found), [value for _, (value,) in found]
    numbers.add(lambda slot: Mix(bits, reads, When(0, 0), pattern, slot, "chosen"), pattern, reads, values)


def controlled(rng, bit, allowed, numbers):
    """Append a matrix on one bit under a condition on others, if there are any."""
    mask = random_mask(rng, allowed, 3) if allowed else 0
    when = When(mask, mask & int(rng.integers(0, 1 << 62)))
    classes = [(5, 5, 5, 5), (3, 3, 3, 3), (3, 4, 4, 3), (4, 3, 3, 4), (1, 0, 0, 5), (0, 4, 4, 0)]
    kinds = classes[int(rng.integers(len(classes)))]
    found = [random_entries(rng, 1, (kind,), 0.7) for kind in kinds]
    pattern, values = bytes(kinds), [value for _, (value,) in found]
    numbers.add(lambda slot: Mix((bit,), (), when, pattern, slot, "controlled"), pattern, (), values)


def selected(rng, bits, allowed, numbers):
    """Append a matrix that up to six parities select, the identity mostly, and else one of few entries, or of any."""
    reads = tuple(random_mask(rng, allowed, 1 if rng.random() < 0.8 else 3) for _ in range(int(rng.integers(1, 7))))
    size, share = 1 << len(bits), rng.choice([0.1, 0.4, 0.9])
    pattern, values = b"", []
    for _ in range(1 << len(reads)):
        kinds, entries = np.eye(size, dtype=int), np.eye(size, dtype=complex)
        if rng.random() < share:
            order = rng.permutation(size)
            kinds, entries = kinds[order], entries[order] * rng.choice([1, -1])
            kinds[entries == -1] = 2
            if rng.random() < 0.5:
                kinds[kinds > 0] = kind = int(rng.choice([3, 4, 5]))
                entries[kinds > 0] = random_entries(rng, size, (kind,), 0.7)[1]
        pattern += bytes(kinds.ravel().tolist())
        values += entries.ravel().tolist()
    when = random_mask(rng, allowed, 2) if rng.random() < 0.3 else 0
    condition = When(when, when & int(rng.integers(0, 1 << 62)))
    numbers.add(lambda slot: Mix(tuple(bits), reads, condition, pattern, slot, "selected"), pattern, reads, values)


def exchange(rng, bit, allowed, numbers):
    """Append an X where parities select it, and nothing elsewhere."""
    reads = tuple(random_mask(rng, allowed, 3) for _ in range(int(rng.integers(1, 4))))
    one = bytes((0, 1, 1, 0))
    pattern = b"".join([one if rng.random() < 0.4 else bytes((1, 0, 0, 1)) for _ in range(1 << len(reads))])
    when = random_mask(rng, allowed, 2) if rng.random() < 0.4 else 0
    condition = When(when, when & int(rng.integers(0, 1 << 62)))
    values = [complex(entry) for entry in pattern]
    numbers.add(lambda slot: Mix((bit,), reads, condition, pattern, slot, "ccx"), pattern, reads, values)


def turn(rng, bit, numbers):
    """Append a matrix with the pattern of RX, RY or H: a rotation or a reflection mostly, or any numbers."""
    imaginary = rng.random() < 0.4
    angle = rng.choice([rng.uniform(-np.pi, np.pi), np.pi / 4 * rng.integers(-4, 5)])
    c, s = np.cos(angle), np.sin(angle)
    matrix = np.array([c, 1j * s, 1j * s, c] if imaginary else [c, s, -s, c] if rng.random() < 0.5 else [c, s, s, -c])
    if rng.random() < 0.2:
        matrix = matrix * np.array([1, 1, -1, -1] if rng.random() < 0.5 else rng.normal(size=4))
    kinds = bytes([3, 4, 4, 3] if imaginary else [3] * 4)
    numbers.add(lambda slot: Mix((bit,), (), When(0, 0), kinds, slot, "turn"), kinds, (), list(matrix))


def fixed_item(rng, near, mixed, numbers):
    """Append an item for which the interpreter has a body of its own: nothing but near bits matters to it."""
    patterns = {1: [(3,) * 4, (5,) * 4, (3, 4, 4, 3), (1, 4, 4, 2)], 2: [(5,) * 16, _CROSS, (3,) * 16]}[len(mixed)]
    choice = int(rng.integers(len(patterns) + 3))
    if choice < len(patterns):
        kinds = patterns[choice]
        values = [random_entries(rng, 1, (kind,), 0.5)[1][0] for kind in kinds]
        numbers.add(
            lambda slot: Mix(tuple(mixed), (), When(0, 0), bytes(kinds), slot, "fixed"), bytes(kinds), (), values
        )
        return
    mask = sum(1 << bit for bit in near if bit not in mixed[:1] and rng.random() < 0.5)
    when = When(mask, mask)
    if choice == len(patterns):
        numbers.add(lambda _: Permute(tuple(mixed[:1]), when, (1, 0), "flip"), b"", (), [])
        return
    reads = tuple(random_mask(rng, near, 2) for _ in range(3)) if choice == len(patterns) + 1 else ()
    pattern, values = random_entries(rng, 1 << len(reads), (5,))
    numbers.add(lambda slot: Diagonal(reads, when, pattern, slot, "fixed"), pattern, reads, values)


_CROSS = tuple(5 if column in (row, 3 - row) else 0 for row in range(4) for column in range(4))


def maps(seed, tile, num_bits, fresh, low):
    """Drawn maps of a sweep over a subspace, by which it is stored and loaded; one of the two is often left out.

    low: the lowest bits that stay alone, as planning has it; some maps have none.
    """
    rng = np.random.default_rng([seed, 4])
    low = low if rng.random() < 0.7 else 0
    load = drawn(rng, tile, num_bits, fresh, low) if rng.random() < 0.8 else ()
    if load and rng.random() < 0.3:
        return (), load
    return shuffled(rng, tile, load or units(range(num_bits)), fresh, low), load


def random_sweep(
    seed, num_bits, tile_bits, num_blocks, num_items, high_bits=0, kinds=("mix", "diagonal", "permute"), linear=False
):
    """A random sweep over a random tile that holds the lowest bits, and its packed numbers; half store it permuted.

    linear: whether its tiles are subspaces.
    """
    rng = np.random.default_rng(seed)
    size = min(num_bits, tile_bits)
    low = min(4, size)
    others = rng.permutation(np.arange(low, num_bits))[: size - low]
    tile = tuple(sorted([*range(low), *map(int, others)]))
    numbers, shape = Numbers(), []
    for _ in range(num_blocks):
        order = rng.permutation(tile) if tile else np.zeros(0, dtype=np.int64)
        count = int(rng.integers(0, min(4, size) + 1)) if tile and "block" not in kinds else 4
        near = sorted(int(b) for b in order[:count])
        before = len(numbers.items)
        for _ in range(num_items):
            kind = str(rng.choice(kinds if near else [k for k in kinds if k == "diagonal"] or ["diagonal"]))
            random_item(rng, kind, near, num_bits, high_bits, numbers)
        shape.append((tuple(near), len(numbers.items) - before))
    made, packed, count, tables = numbers.finish()
    register_blocks, at = [], 0
    for near, length in shape:
        register_blocks.append(RegisterBlock(near, tuple(made[at : at + length])))
        at += length
    fresh = random_mask(rng, list(range(num_bits)), 4) if num_bits and seed % 3 == 0 else 0
    store = np.random.default_rng([seed, 3]).permutation(tile).tolist() if tile and seed % 2 else []
    stored, loaded = columns_on(tile, units(store)) if store else (), ()
    if linear:
        stored, loaded = maps(seed, tile, num_bits, fresh, low)
    return Sweep(tile, tuple(register_blocks), count, tables, fresh, stored, loaded), packed


def random_state(seed, num_bits, dtype):
    """A random vector of norm 1."""
    rng = np.random.default_rng([seed, 1])
    psi = rng.normal(size=1 << num_bits) + 1j * rng.normal(size=1 << num_bits)
    return (psi / np.linalg.norm(psi)).astype(dtype)


def numbers_of_rows(seed, sweep, numbers, rows):
    """Packed arrays for rows of a batch, [rows, count]: every number that has a class of its own differs."""
    rng = np.random.default_rng([seed, 2])
    free = np.zeros(len(numbers), dtype=bool)
    for block in sweep.register_blocks:
        for item in block.items:
            if not isinstance(item, Permute):
                kinds = [e in NUMBERED for e in item.pattern if item.reads or e in NUMBERED]
                free[item.slot.at : item.slot.at + item.slot.count] = kinds
    return numbers * np.where(free, rng.uniform(0.5, 1.5, (rows, len(numbers))), 1)
