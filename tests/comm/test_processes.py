"""Processes of this host are watched: one that was killed is known to be dead, before anybody has waited for it."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from qsim_ex.comm.processes import Watched, host_key, processes_of

pytestmark = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="no pidfd on this system")


def test_a_killed_process_is_dead() -> None:
    """A process lives until it is killed; as a zombie it counts as dead."""
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as process:
        watched = Watched(process.pid)
        assert not watched.dead
        process.kill()
        until = time.monotonic() + 10
        while not watched.dead and time.monotonic() < until:
            time.sleep(0.01)
        assert watched.dead
        watched.close()
        watched.close()


def test_processes_of_other_hosts_are_not_watched() -> None:
    """Only ranks with this host's key are watched, and not this rank itself."""
    here = (host_key(), os.getpid())
    found = processes_of(lambda _: [here, (("another", "1"), 1), here], 0)
    assert list(found) == [2]
    assert found[2].pid == os.getpid()
    found[2].close()
