"""The tests of the native library that are written in C++: they stand beside its sources."""

from __future__ import annotations

import subprocess

import pytest

from tools import native


def _header() -> bool:
    try:
        return native.doctest().is_dir()
    except FileNotFoundError:
        return False


@pytest.mark.slow
@pytest.mark.skipif(not _header(), reason="needs doctest's header: apt-get install doctest-dev")
@pytest.mark.skipif(not native.compiler_present(), reason="needs ziglang, whose objects of the library the tests link")
def test_the_tests_in_cpp_pass() -> None:
    """Each test in C++ passes, linked with the objects of which the library is made."""
    done = subprocess.run([native.build_tests(), "--no-colors"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert " 0 failed" in done.stdout
