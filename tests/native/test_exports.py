"""Tests of the native library's table of its functions."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from support.paths import ROOT

from qsim_ex.native import library

SOURCES = ROOT / "core/native"
COMPILER = next(filter(None, map(shutil.which, ("g++", "clang++"))), "")
ROW = re.compile(r'^QX_(\w+)\((\w+), ?(\w*)(?:, "(.+)")?\)$', re.MULTILINE)
TABLE = ROW.findall((SOURCES / "exports.def").read_text())


def test_the_library_carries_the_table_and_has_each_of_its_functions() -> None:
    """Every row of exports.def stands in the library, and its function is there; a kernel is there for each set."""
    assert library._exports() == {name: (sort.lower(), kinds, purpose) for sort, name, kinds, purpose in TABLE}
    for sort, name, kinds, _ in TABLE:
        for chosen in library.instruction_sets() if sort == "KERNEL" else ("",):
            assert len(library.function(name, chosen).argtypes) == len(kinds)


def test_functions_that_take_objects_hold_the_lock() -> None:
    """A row with an object is one of QX_OBJECTS, whose functions belong to the library that holds Python's lock."""
    assert all(sort == "OBJECTS" for sort, _, kinds, _ in TABLE if "o" in kinds)
    flags = {name: library.function(name)._flags_ for sort, name, *_ in TABLE if sort != "KERNEL"}
    held = {name for name, flag in flags.items() if flag & ctypes._FUNCFLAG_PYTHONAPI}
    assert held == {name for sort, name, *_ in TABLE if sort == "OBJECTS"}


@pytest.mark.skipif(not COMPILER, reason="needs g++ or clang++")
@pytest.mark.parametrize(
    ("definition", "right"),
    [
        ("QX_EXPORT(bits_flip, (const double*, qx::Int, qx::Int, double*)) { return 0; }", True),
        ("QX_EXPORT(bits_flip, (const double*, qx::Int, double*)) { return 0; }", False),
        ("QX_EXPORT(bits_flip, (const double*, qx::Int, double, double*)) { return 0; }", False),
        ("QX_EXPORT(bits_flip, (const double*, qx::Int, int, double*)) { return 0; }", False),
        ("QX_EXPORT(bits_turn, (const double*, qx::Int, qx::Int, double*)) { return 0; }", False),
        ("QX_EXPORT_SET(bits_flip, (const double*, qx::Int, qx::Int, double*)) { return 0; }", False),
        ("QX_EXPORT_SET(pauli_transfer, (const double*, qx::Int, qx::Int, double*)) { return 0; }", True),
        ("QX_EXPORT(keys_wires, (const void*, qx::Int, qx::python::Object*)) { return 0; }", True),
        ("QX_EXPORT(keys_wires, (const void*, qx::Int, void*)) { return 0; }", False),
    ],
)
def test_a_definition_that_differs_from_its_row_does_not_compile(definition: str, right: bool, tmp_path: Path) -> None:
    """A function with other arguments than its row has, or with no row of its sort, is an error of the compiler."""
    source = tmp_path / "source.cpp"
    source.write_text(f'#define QX_SET v3\n#include "base/export.hpp"\n{definition}\n')
    command = [COMPILER, "-std=c++20", "-fsyntax-only", f"-I{SOURCES}", str(source)]
    done = subprocess.run(command, capture_output=True, check=False)
    assert (done.returncode == 0) == right, done.stderr.decode()
