"""How processes of one host meet: who is late is told of."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from qsim_ex.comm import meeting


@pytest.mark.parametrize("late", [0, 1])
def test_a_rank_that_is_late_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, late: int) -> None:
    """Who waits says for whom, and what processes of different parents need; both meet all the same."""
    monkeypatch.setattr(meeting, "_PATIENCE", 0.05)
    monkeypatch.delenv(meeting.FOLDER, raising=False)
    found = []

    def come() -> None:
        time.sleep(0.5)
        found.append(meeting.met(late, 2, tmp_path / "here"))

    (tmp_path / "here").mkdir()
    thread = threading.Thread(target=come)
    thread.start()
    with pytest.warns(RuntimeWarning, match=f"rank {1 - late} of 2 still waits for rank {late} .* {meeting.FOLDER}"):
        found.append(meeting.met(1 - late, 2, tmp_path / "here"))
    thread.join()
    for sockets in found:
        for two in sockets.values():
            two.messages.close()
            two.announcements.close()
