"""The peers: one file each, found by name, imported only when asked for."""

from __future__ import annotations

from importlib import import_module

from benchmarks.peers.base import Peer, PeerMissing

_FILES = {
    "ours": "ours_peer",
    "qsim": "qsim_peer",
    "aer": "aer_peer",
    "lightning": "lightning_peer",
    "custatevec_ex": "custatevec_ex_peer",
}

PEERS = {
    "cpu": ("ours", "qsim", "aer", "lightning"),
    "gpu": ("ours", "custatevec_ex"),
}
"""The peers of each kind of machine; ours comes first, because ratios are against it."""


def load(name: str, device: str) -> Peer:
    """Import a peer; raise `PeerMissing` that says what is not there and how to get it."""
    if name not in PEERS[device]:
        raise ValueError(f"no peer {name!r} on {device}; known: {', '.join(PEERS[device])}")
    module = import_module(f"benchmarks.peers.{_FILES[name]}")
    peer: Peer = module.peer(device)
    return peer


__all__ = ["PEERS", "Peer", "PeerMissing", "load"]
