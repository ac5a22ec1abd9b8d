"""Exchanges between the GPUs of different ranks by NCCL, through CuPy, over whatever links NCCL finds.

It is for ranks that do not map each other's memory, such as those of different hosts. Each rank needs a GPU of its own,
since NCCL refuses two ranks on one. The other communicator, over which ranks meet, tells who has failed: then NCCL is
aborted, so that no GPU waits forever.
"""

from __future__ import annotations

import contextlib
import time
import weakref
from collections.abc import Iterator
from typing import Any, NamedTuple

from qsim_ex.comm.neighbours import place
from qsim_ex.comm.protocol import Communicator, Watches

_LOOK = 0.05
"""Seconds between two looks at whether the other ranks live."""

_PAUSE = 2e-5
"""Seconds between two looks at whether the GPU is done."""


class _Offer(NamedTuple):
    """What a rank with amplitudes has: the version of NCCL, or why it has none; and its GPU, by host and bus."""

    version: int
    why: str
    gpu: tuple[str, str]


class NcclRanks:
    """The ranks whose GPUs exchange arrays by NCCL.

    nccl: CuPy's module. device: CuPy's device of this rank. members: the ranks; all of them make one together. unique:
    the identifier that one of them has made.
    """

    def __init__(self, nccl: Any, device: Any, members: tuple[int, ...], rank: int, unique: Any) -> None:
        self._nccl = nccl
        self._device = device
        self._members = members
        with device:
            self._group = nccl.NcclCommunicator(len(members), unique, members.index(rank))
        self.failed = False

    def exchange(self, queue: Any, other: int, sent: Any, received: Any) -> None:
        """Queue an exchange of contiguous GPU arrays with another rank; an empty one stands for nothing to send."""
        nccl, peer = self._nccl, self._members.index(other)
        with self._device:
            nccl.groupStart()
            if sent.size:
                self._group.send(sent.data.ptr, sent.nbytes, nccl.NCCL_UINT8, peer, queue.stream)
            if received.size:
                self._group.recv(received.data.ptr, received.nbytes, nccl.NCCL_UINT8, peer, queue.stream)
            nccl.groupEnd()

    @contextlib.contextmanager
    def exchanging(self, queue: Any, ranks: Communicator) -> Iterator[None]:
        """Wait in the end until all that was queued is done; abort NCCL after an error, also of another rank."""
        try:
            yield
            mark, looked = queue.mark(), time.monotonic()
            while not mark.done:
                time.sleep(_PAUSE)
                if isinstance(ranks, Watches) and time.monotonic() > looked + _LOOK:
                    ranks.check()
                    looked = time.monotonic()
        except BaseException:
            self.failed = True
            self._group.abort()
            raise


_made: weakref.WeakKeyDictionary[Communicator, NcclRanks] = weakref.WeakKeyDictionary()


def ranks_with_nccl(ranks: Communicator, device_id: int | None) -> tuple[NcclRanks | None, str]:
    """Return the ranks whose GPUs exchange by NCCL, or None; and in words which NCCL, or why none. All ranks call it.

    device_id: CUDA's number of this rank's GPU; None if it has no amplitudes, which gets None and the words. The
    connection is made once.
    """
    offers: list[_Offer | None] = ranks.allgather(None if device_id is None else _offer(device_id))
    members = tuple(rank for rank, offer in enumerate(offers) if offer is not None)
    if why := _refused([offers[rank] for rank in members], members):
        return None, why
    version = max(offer.version for offer in offers if offer is not None)
    words = f"NCCL {version // 10000}.{version // 100 % 100}.{version % 100}"
    known = None
    with contextlib.suppress(TypeError):  # an object that cannot be referred to weakly
        known = _made.get(ranks)
    if all(ranks.allgather(device_id is None or (known is not None and not known.failed))):
        return known, words
    unique = None
    if ranks.rank == members[0]:
        from cupy.cuda import nccl

        unique = nccl.get_unique_id()
    unique = ranks.broadcast(unique, root=members[0])
    if device_id is None:
        return None, words
    import cupy
    from cupy.cuda import nccl

    made = NcclRanks(nccl, cupy.cuda.Device(device_id), members, ranks.rank, unique)
    with contextlib.suppress(TypeError):
        _made[ranks] = made
    return made, words


def _offer(device_id: int) -> _Offer:
    """Return what this rank has."""
    try:
        import cupy
        from cupy.cuda import nccl

        bus = cupy.cuda.runtime.deviceGetPCIBusId(device_id)
        if not nccl.available:
            return _Offer(0, "CuPy finds no NCCL; pip install 'qsim-ex[nccl13]' or 'qsim-ex[nccl12]'", ("", ""))
        return _Offer(int(nccl.get_version()), "", (place()[0], str(bus)))
    except ImportError as error:
        return _Offer(0, f"no CuPy with NCCL ({error})", ("", ""))


def _refused(offers: list[_Offer | None], members: tuple[int, ...]) -> str:
    """Return why ranks do not use NCCL; empty if they do."""
    seen: dict[tuple[str, str], int] = {}
    version = 0
    for rank, offer in zip(members, offers, strict=True):
        assert offer is not None
        if offer.why:
            return f"rank {rank}: {offer.why}"
        if offer.gpu in seen:
            return f"ranks {seen[offer.gpu]} and {rank} share a GPU, which NCCL refuses"
        if version and offer.version != version:
            return f"rank {rank} has another version of NCCL than rank {members[0]}"
        seen[offer.gpu] = rank
        version = offer.version
    return ""
