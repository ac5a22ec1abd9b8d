"""Tests of tools/native.py: what is compiled again after an edit."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tools import native

COMPILER = next(filter(None, map(shutil.which, ("g++", "clang++"))), "")

pytestmark = pytest.mark.skipif(not COMPILER, reason="needs g++ or clang++")


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two sources, of which one reads a header."""
    folder = tmp_path / "with space"
    (folder / "room").mkdir(parents=True)
    (folder / "room/number.hpp").write_text("inline int number() { return 1; }\n")
    (folder / "room/one.cpp").write_text('#include "room/number.hpp"\nint one() { return number(); }\n')
    (folder / "two.cpp").write_text("int two() { return 2; }\n")
    monkeypatch.setattr(native, "SOURCES", folder)
    return folder


def compiled(folder: Path, version: str = "", flags: tuple[str, ...] = ("-I.",)) -> list[str]:
    """Make both objects, and return the names of those that were not there already."""
    jobs = [native.Job(name, ".o", ()) for name in ("room/one.cpp", "two.cpp")]
    before = {job.source: _age(folder, job) for job in jobs}
    for job in jobs:
        job.make(folder, [COMPILER], flags, version)
    return [job.source for job in jobs if _age(folder, job) != before[job.source]]


def _age(folder: Path, job: native.Job) -> int:
    file = folder / Path(job.source).with_suffix(".o")
    return file.stat().st_mtime_ns if file.exists() else 0


def test_an_edit_compiles_what_reads_the_file(sources: Path, tmp_path: Path) -> None:
    """An edited source compiles alone, an edited header those that include it, and nothing compiles without an edit."""
    assert compiled(tmp_path) == ["room/one.cpp", "two.cpp"]
    assert compiled(tmp_path) == []
    (sources / "two.cpp").write_text("int two() { return 3; }\n")
    assert compiled(tmp_path) == ["two.cpp"]
    (sources / "room/number.hpp").write_text("inline int number() { return 7; }\n")
    assert compiled(tmp_path) == ["room/one.cpp"]
    (sources / "two.cpp").touch()
    assert compiled(tmp_path) == []


def test_a_source_behind_a_header_reads_it(sources: Path, tmp_path: Path) -> None:
    """A source that includes nothing finds what stands in the header before it, and is made anew after its edit."""
    (sources / "all.hpp").write_text("using Count = int;\n")
    (sources / "room/number.hpp").write_text("inline Count number() { return 1; }\n")
    jobs = [native.Job(name, ".o", ()) for name in ("room/one.cpp", "kernels/sweep.cpp")]
    behind, kernel = native._behind("all.hpp", jobs)
    assert kernel is jobs[1]
    for text in ("using Count = int;\n", "using Count = long;\n"):
        (sources / "all.hpp").write_text(text)
        assert not behind.is_made(tmp_path, ["-I."], "")
        behind.make(tmp_path, [COMPILER], ["-I."], "")
        assert behind.is_made(tmp_path, ["-I."], "")


@pytest.mark.skipif(not native.compiler_present(), reason="needs ziglang")
def test_a_header_that_was_read_serves_while_it_is_there_and_says_the_same(
    sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not read again after it was touched, but for a copy of the sources, which compiles without the first."""
    (sources / "all.hpp").write_text('#include "room/number.hpp"\n')
    command, _ = native._commands(platform.machine(), "")
    job = native.Job("two.cpp", ".o", (), also="all.hpp")

    def made(number: str) -> int:
        (native.SOURCES / "two.cpp").write_text(f"int two() {{ return number() + {number}; }}\n")
        read = native._read(job, tmp_path, command, ["-I."], "", native._headers(""))
        replace(job, behind=("-include-pch", str(read))).make(tmp_path, command, ["-I."], "")
        return read.stat().st_mtime_ns

    first = made("1")
    later = time.time() + 100
    for file in (sources / "all.hpp", sources / "room/number.hpp"):
        os.utime(file, (later, later))
    assert made("2") == first
    copy = tmp_path / "copy"
    sources.rename(copy)
    monkeypatch.setattr(native, "SOURCES", copy)
    assert made("3") != first


@pytest.mark.usefixtures("sources")
def test_other_flags_and_another_compiler_compile_all(tmp_path: Path) -> None:
    """Objects of other flags, or of another version of the compiler, are made anew."""
    compiled(tmp_path)
    assert compiled(tmp_path, version="next") == ["room/one.cpp", "two.cpp"]
    assert compiled(tmp_path, version="next", flags=("-I.", "-O1")) == ["room/one.cpp", "two.cpp"]


def test_a_failed_compilation_leaves_no_object_that_counts(sources: Path, tmp_path: Path) -> None:
    """After an error of the compiler the repaired source compiles, also if it is the one that compiled before."""
    compiled(tmp_path)
    good = (sources / "two.cpp").read_text()
    (sources / "two.cpp").write_text("int two() { return")
    with pytest.raises(subprocess.CalledProcessError):
        compiled(tmp_path)
    (sources / "two.cpp").write_text(good)
    assert compiled(tmp_path) == ["two.cpp"]
