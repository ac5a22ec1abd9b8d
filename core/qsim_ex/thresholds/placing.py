"""Thresholds of states in parts, batches, exchanges and migrations."""

from __future__ import annotations

from qsim_ex.native.thresholds import Table


class OfPlacing(Table):
    """Those of states in parts, batches, exchanges and migrations.

    batch_bytes: the bytes of states and numbers that a CPU works on at a time: about the size of its last cache.
    number_bytes: the bytes of numbers of a batch that are made on the host at a time; batch_rows: the most states.
    summed_bytes: the most bytes of answers that are summed at once, since each rank needs some copies of them.
    slice_message_bytes: the most bytes of one message of slices, unless a slice has more.
    pieces_of_a_part, small_piece: a part is cut into so many pieces at least, so that links and staging overlap, but
        not into pieces of fewer amplitudes than this.
    row_pitch: the largest stride of rows, in amplitudes: copy engines take at most 2 GiB.
    link_piece_bytes: the most bytes of one copy: a third of a millisecond over NVLink, far longer than queuing takes.
    linked_bytes: the most bytes that are queued on a device before the host waits, so that a cancelled run ends soon.
    mapped_piece_bytes: the most bytes of one launch into mapped memory: between two H200s launches of 32 MiB reached
        0.86 of the speed of those of 1 GiB. mapped_bytes: those that are queued before the host waits.
    rank_piece_bytes: the most bytes of one piece of a schedule between ranks.
    direct_bytes: the fewest bytes that are swapped in place: two small messages around it take as long as this size.
    group_bytes: the bytes of pieces after which a run can be cancelled, and two ranks wait for each other.
    window_piece: the bytes of one copy of a migration: 1.2 ms on a link of 55 GB/s, so that starting it takes little.
    window_bytes, window_copies: the most bytes, and copies, that are queued in one direction.
    rehearsed_slices: the most slices of a state that is rehearsed: with more, the table of places would take longer
        than planning. rehearsed_windows: the most windows, each of which takes up to a millisecond a pass.
    told_windows: the windows of which a user is told, since they take far longer than the work on them.
    queued_work: the most work that is queued on a device before the host waits.
    first_bytes: the bytes of a value, with its size, that ranks gather by one message, which takes 20 to 50 µs.
    reached_at_once: the bytes of another process's memory that are swapped at a time, a multiple of 16: on two cores
        256 and 512 KiB were fastest, which stay in a core's cache. reached_runs: the most runs of one call, 1,024 or
        fewer (IOV_MAX).
    file_piece: the amplitudes of a piece of a file; fewer where a sub state vector has fewer.
    """

    batch_bytes: int = 1 << 24
    number_bytes: int = 1 << 28
    batch_rows: int = 1 << 17
    summed_bytes: int = 1 << 26
    slice_message_bytes: int = 1 << 23
    pieces_of_a_part: int = 8
    small_piece: int = 1 << 20
    row_pitch: int = 1 << 26
    link_piece_bytes: int = 1 << 27
    linked_bytes: int = 1 << 33
    mapped_piece_bytes: int = 1 << 28
    mapped_bytes: int = 1 << 31
    rank_piece_bytes: int = 1 << 25
    direct_bytes: int = 1 << 16
    group_bytes: int = 1 << 28
    window_piece: int = 1 << 26
    window_bytes: int = 1 << 32
    window_copies: int = 256
    rehearsed_slices: int = 1 << 16
    rehearsed_windows: int = 1 << 8
    told_windows: int = 1 << 10
    queued_work: int = 1 << 37
    first_bytes: int = 1024
    reached_at_once: int = 1 << 19
    reached_runs: int = 1024
    file_piece: int = 1 << 22
