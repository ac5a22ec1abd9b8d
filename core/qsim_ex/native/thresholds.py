"""The thresholds that native code asks for; `qsim_ex.thresholds` has all others, and changes them."""

from __future__ import annotations

from typing import Self


class Table:
    """Numbers by the names of their rows, which are those of the class; an object has others for some."""

    def __init__(self, **others: int) -> None:
        if unknown := others.keys() - set(self.names()):
            raise TypeError(f"no row of the table has the name {', '.join(sorted(unknown))}")
        vars(self).update(others)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a table stays as it is; use but({name}={value!r})")

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Return the names of all rows; those of each class are in order."""
        return tuple([name for one in reversed(cls.__mro__) for name in vars(one).get("__annotations__", ())])

    def numbers(self) -> dict[str, int]:
        """Return all numbers by the names of their rows, in order."""
        return {name: getattr(self, name) for name in self.names()}

    def but(self, **others: int) -> Self:
        """Return a table with other numbers for some rows."""
        return type(self)(**(vars(self) | others))


class Native(Table):
    """A row each, in the order of core/native/thresholds/table.hpp.

    Of rewriting:
    window: how many pieces back a CX or an H looks for its equal.
    looked_at: the most pieces on a bit that it looks at.
    relabeled: the most bits of a matrix that may turn out to be a permutation; for wider ones to look costs more.
    parities: the most independent parities of the conditions of an X between two H.
    run_work: the least multiply-adds of a run that becomes one matrix on two bits, which costs 16 at most and needs
        both bits near at once. With 20 there were more sweeps on a CPU; with 24 dense gates of three CX stayed apart on
        a GPU where the transpiler had merged what is between two of them.
    item_work: the most that an item costs, in multiply-adds beside its own, where a rotation and its share of a table
        are cheaper than one complex matrix.
    read_at_once: instructions that are read before planning goes on.
    instructions_at_once, runs_at_once, pieces_at_once: how many of them are rewritten between two looks at the clock.

    Of tiles and layouts:
    left_behind: the most pieces that wait before nobody looks further ahead, 768 or fewer.
    reasons: the most reasons, of those for which pieces wait, among which a tile is chosen, 192 or fewer.
    compared_pieces: the most pieces of work of a circuit of which several plans are made and compared, 1 or
        more.
    compared_bits: how many bits a state has more than `Shape.start` if several plans of it are compared, 26 on a GPU.
        On 24 they gain 0.3 % in the mean of 39 circuits, and 5 % at most, and make first runs longer.
    frame_conditions: the most conditions on sums of several bits, each of which doubles the table of an operation.
    scheduled_pieces: the most pieces that are put in an order by directions: which of them commute is found for all
        pairs.

    Of stages:
    staged_bits: how many bits a state has more than `Shape.start` if several ways to divide it are compared.
    divided_pieces: the most pieces that are divided by parities; divided_work: with what only changes the frame.
    parity_candidates: the most parities that may become far, besides those of the start and of the end, 512 or fewer.
    spared_from: fresh local positions from this one up are left out of an exchange, unless a slice has them; below,
        rows would be short: 32 KiB and less.
    alike_bits: the bits of a new state that all devices make alike before it is divided, so that nothing is sent.

    Of numbers, encoding and kernels:
    summed_entries: the fewest entries of a table of phases whose sums are looked up; smaller ones add factor by factor.
    blocks_at_once, sweeps_at_once: how many are scheduled, or encoded, between two looks at the clock.
    chunk_work: instructions times amplitudes of a chunk of a sweep; less than a millisecond.
    chunk_amplitudes: the most amplitudes of a chunk of other work; chunk_bytes: the bytes of one that only copies.
    distinct_rows: the most distinct rows of bits that are found by a table, 1,024 or fewer; more are sorted.
    coefficients_at_once: instructions whose coefficients are made between two looks whether the run is cancelled.
    written_bytes: the bytes of a piece of the text of a structure.
    slice_microseconds: how long a call may last between two checks for Ctrl-C; 0 stands for no limit.
    past_caches: the bytes above which a growing state is written past the caches; 0 stands for those of the machine's
        last cache, and for 64 MiB at least.
    scale_left: log2 of the most by which rotations that leave their scale to the end of a sweep make amplitudes larger
        or smaller until then.
    unmixed_tile: the fewest index bits of a tile without those that nothing mixes (`steps.unmixed`): with 9 each thread
        of a warp has 2^4 amplitudes.
    code_kilobytes: the most machine code of a GPU's kernel for a sweep, roughly: what takes more becomes several
        sweeps. code_bits: log2 of the amplitudes of a sweep from which on that is done.
    turned_bits: log2 of the amplitudes of a thread from which on dense blocks of a state alone are taken apart; see
        core/native/planner/blocks/turned.hpp.

    Of the form:
    layer_strings: the strings of a layer that are asked one by one; more are reduced to a basis first.
    layers_asked: the layers that a rotation asks one by one before it looks where there may be others.
    layers_looked_at: the most layers that it asks; one that commutes with more stays behind them.
    items_moved: the most items that a turn may have behind it to be written anew.
    selectors: the most wires that a gate only reads, if it becomes rotations; it is a block with more. 5 or fewer.
    rotations_ahead: the rotations of a form that there may be for each wire, besides two for each instruction on
        several wires; with more a circuit is dense, and nothing is written out of it.
    rotations_looked_at: the rotations that are looked at where a form is written out and its frame changes.
    change_microseconds: the time of a run for each change of the frame after which writing is given up, which takes
        half of that for a change; 0 stands for no limit.
    clustered_percent: how much of the gates on several wires has to be part of clusters, if these are written.
    clustered_entries: what may be looked at for clusters in a first run, for each of its microseconds.
    looks: how often clusters are looked for, in turns from either end of a circuit. looks_parts: the parts of what a
        first run allows, of which looks may have taken one so that another follows.
    left_percent: how many percent of the pieces that were read a look may leave so that another one follows.
    block_pieces: the fewest gates on two wires, as a transpiler writes them, of a matrix on four wires.
        sparse_pieces: of one of sparse_entries at most that are not zero.
    pieces_of_three: of one on three wires; fewer are no dearer one by one.
    selected_turns: the fewest turns of a wire between gates that read others, so that these select its matrix.
    phase_pairs: the most CZ for each parity that stay as they are; more phases side by side are those of parities, of
        which a table reads ten, too.

    Of pieces that are evaluated on bits, where an entry is a step through diagrams or a look at a product:
    pieces_ahead: the most pieces that are looked at from one on; pieces_behind: the most that are left behind what is
        evaluated while all its wires have some.
    many_pieces: how many pieces for each thing that is left are so many that more entries are looked at.
    evaluated_entries: for each piece in all, in the first look; again_entries: in each later one; first_entries: from a
        piece on; piece_entries: more for each that fits.
    look_entries: for what all pieces do, before looks at that may take but twice what acting takes. short_pieces: up to
        how many pieces it is looked at again though it may be half as many steps as it was.
    act_entries: for one piece; all_entries: for each piece, for what all is; part_entries: for a sum, or a number of
        products, that may be left.
    conditions_of_turns: the most conditions under which turns of a wire wait, 5 or fewer. written_products: the most
        products of what is written; phase_products: of which a phase of a function is made.
    """

    window: int = 1024
    looked_at: int = 64
    relabeled: int = 6
    parities: int = 4
    run_work: int = 22
    item_work: int = 1
    read_at_once: int = 1 << 16
    instructions_at_once: int = 1024
    runs_at_once: int = 256
    pieces_at_once: int = 1024
    left_behind: int = 768
    reasons: int = 192
    compared_pieces: int = 4096
    compared_bits: int = 6
    frame_conditions: int = 6
    scheduled_pieces: int = 4096
    staged_bits: int = 6
    divided_pieces: int = 1024
    divided_work: int = 1 << 15
    parity_candidates: int = 512
    spared_from: int = 12
    alike_bits: int = 24
    summed_entries: int = 32
    blocks_at_once: int = 64
    sweeps_at_once: int = 64
    chunk_work: int = 1 << 22
    chunk_amplitudes: int = 1 << 18
    chunk_bytes: int = 1 << 20
    distinct_rows: int = 1024
    coefficients_at_once: int = 1 << 16
    written_bytes: int = 1 << 22
    slice_microseconds: int = 50_000
    past_caches: int = 0
    scale_left: int = 60
    unmixed_tile: int = 9
    code_kilobytes: int = 144
    code_bits: int = 18
    turned_bits: int = 17
    layer_strings: int = 32
    layers_asked: int = 8
    layers_looked_at: int = 4096
    items_moved: int = 64
    selectors: int = 5
    rotations_ahead: int = 24
    rotations_looked_at: int = 200
    change_microseconds: int = 8
    clustered_percent: int = 25
    clustered_entries: int = 75
    looks: int = 3
    looks_parts: int = 4
    left_percent: int = 70
    block_pieces: int = 40
    sparse_pieces: int = 24
    sparse_entries: int = 40
    pieces_of_three: int = 12
    selected_turns: int = 8
    phase_pairs: int = 2
    pieces_ahead: int = 2000
    pieces_behind: int = 24
    many_pieces: int = 8
    evaluated_entries: int = 250
    again_entries: int = 63
    first_entries: int = 10_000
    piece_entries: int = 600
    look_entries: int = 1000
    short_pieces: int = 40
    act_entries: int = 4096
    all_entries: int = 8
    part_entries: int = 300
    conditions_of_turns: int = 5
    written_products: int = 48
    phase_products: int = 64
