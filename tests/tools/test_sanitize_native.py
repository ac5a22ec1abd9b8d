"""What the native library is tested with under sanitizers, of which pytest tells only after a long build."""

from __future__ import annotations

from support.paths import ROOT

from tools.sanitize_native import OLDER, TESTS, UNFIT


def test_what_is_asked_for_is_there() -> None:
    """All files and folders of tests that run under sanitizers exist."""
    asked = [*TESTS, *OLDER, UNFIT.partition("::")[0]]
    assert [one for one in asked if not (ROOT / one).exists()] == []
