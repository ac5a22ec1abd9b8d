"""Generated kernels are written to be read, and one is read here."""

from __future__ import annotations

from pathlib import Path

from qsim_ex.circuit.ops import ALWAYS, When, pattern
from qsim_ex.kernels.cuda.write.emit import emit, source
from qsim_ex.kernels.cuda.write.mixes import KEPT_BYTES
from qsim_ex.precision import DOUBLE, SINGLE
from qsim_ex.steps import Diagonal, Mix, Permute, RegisterBlock, Slot, Sweep
from qsim_ex.steps.algebra import units

GOLDEN = Path(__file__).parent / "golden_sweep.cu"
GOLDEN_ROWS = Path(__file__).parent / "golden_rows.cu"

SWEEP = Sweep(
    tile=(0, 1, 2, 5),
    register_blocks=(
        RegisterBlock(
            (1, 2, 5),
            (
                Mix((5,), (), ALWAYS, pattern("rrrr"), Slot(0, 4), "ry 5"),
                Permute((2,), When(1 << 1 | 1 << 7, 1 << 1 | 1 << 7), (1, 0), "ccx 1 7 2"),
                Permute((2,), When(1 << 1, 1 << 1), (1, 0), "cx 1 2"),
                Diagonal((1 << 0 | 1 << 5, 1 << 6), ALWAYS, pattern("cccc"), Slot(4, 4), "rzz 0 5, rz 6"),
                Diagonal((), When(1 << 0, 1 << 0), pattern("-"), Slot(0, 0), "z 0"),
            ),
        ),
    ),
    numbers=4,
    tables=4,
)


def test_a_kernel_reads_like_this():
    """The text for a small sweep is the one kept beside this file."""
    assert source(SWEEP) == GOLDEN.read_text(encoding="utf-8")


def test_a_kernel_for_rows_reads_like_this():
    """The text for the same sweep over rows of a batch, with another frame, is the one kept beside this file."""
    assert source(SWEEP, rows=True) == GOLDEN_ROWS.read_text(encoding="utf-8")


def test_numbers_and_labels_are_not_in_the_code():
    """Sweeps that differ in labels or in numbers share a kernel; another structure has another."""
    other = Sweep(
        SWEEP.tile,
        tuple(
            RegisterBlock(
                p.registers, tuple(type(i)(**{f: getattr(i, f) for f in i.__slots__} | {"label": "x"}) for i in p.items)
            )
            for p in SWEEP.register_blocks
        ),
        SWEEP.numbers,
        SWEEP.tables,
    )
    assert other == SWEEP
    assert emit.__wrapped__(other, SINGLE).code == emit(SWEEP, SINGLE).code
    assert emit(SWEEP, DOUBLE).code != emit(SWEEP, SINGLE).code
    shorter = Sweep(SWEEP.tile, (RegisterBlock((1, 2, 5), SWEEP.register_blocks[0].items[:2]),), 4, 0)
    assert emit(shorter, SINGLE).code != emit(SWEEP, SINGLE).code


def test_a_permutation_of_registers_costs_no_statement():
    """A controlled X within the registers only changes which name is stored where."""
    block = RegisterBlock((1, 2, 5), (Permute((2,), When(1 << 1, 1 << 1), (1, 0), "cx"),))
    text = source(Sweep((0, 1, 2, 5), (block,), 0, 0))
    assert "swap" not in text
    assert text.count("if (") == 0


def test_a_permuted_tile_is_written_behind_a_barrier():
    """A tile that is written back with its bits permuted is, though one block would do, put behind a barrier."""
    block = RegisterBlock((4, 5, 6, 7), ())
    tile = tuple(range(8))
    stays, moves = [source(Sweep(tile, (block,), 0, 0, store=units(bits))) for bits in ((), (4, 1, 2, 3, 0, 5, 6, 7))]
    assert "__syncthreads" not in stays
    assert moves.index("__syncthreads") < moves.index("const u64 there")
    assert "state[there" not in stays
    assert "state[here" not in moves[moves.index("__syncthreads") :]


def test_numbers_of_large_matrices_are_loaded_for_each_group():
    """A matrix of more than `KEPT_BYTES` has a block for each group of registers, a smaller one has one for all."""
    matrix = Mix((4, 5), (), ALWAYS, pattern("c" * 16), Slot(0, 16), "u")
    sweep = Sweep(tuple(range(7)), (RegisterBlock((4, 5, 6), (matrix,)),), 16, 0)
    for precision, blocks in ((SINGLE, 1), (DOUBLE, 4)):  # a thread has 16 amplitudes, which are four groups
        assert (32 * precision.storage.computed_bytes > KEPT_BYTES) == (blocks > 1)
        assert source(sweep, precision).count("if (on)") == blocks
