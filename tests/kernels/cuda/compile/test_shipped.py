"""Kernels that come with the package are found for exactly their text and their GPUs, and never damaged."""

from __future__ import annotations

import pytest

from qsim_ex.kernels.cuda.compile import shipped
from tools.ship_kernels import write


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder of archives, and no driver that has refused anything."""
    monkeypatch.setattr(shipped, "FOLDER", tmp_path)
    monkeypatch.setattr(shipped, "_refused", {})
    return tmp_path


def ship(folder, arch, **codes):
    """Write an archive; codes: the machine code of each text."""
    write(folder / f"sm_{arch}.zip", {shipped.name(text, arch): code for text, code in codes.items()})


def test_only_the_exact_text_is_found(folder, monkeypatch):
    """A text that differs, or that would be compiled with other options, is not found."""
    ship(folder, "90", text=b"code", other=b"other code")
    assert shipped.find("text", "90") == b"code"
    assert shipped.is_there("other", "90")
    assert shipped.count("90") == 2
    assert shipped.find("text ", "90") is None
    monkeypatch.setattr(shipped, "OPTIONS", ("-std=c++20",))
    assert shipped.find("text", "90") is None
    assert not shipped.is_there("text", "90")


@pytest.mark.parametrize(
    ("capability", "arch"),
    [("75", "75"), ("80", "80"), ("86", "80"), ("89", "80"), ("90", "90"), ("100", "100"), ("103", "100")]
    + [("120", "120"), ("121", "120")]
    + [(capability, None) for capability in ("70", "72", "87", "101", "110", "130", "")],
)
def test_machine_code_runs_on_the_same_major_and_a_higher_minor(folder, capability, arch):
    """A GPU gets code of its own generation; Tegra chips and unknown ones get none."""
    for made in shipped.ARCHITECTURES:
        ship(folder, made, text=made.encode())
    assert shipped.find("text", capability) == (arch and arch.encode())
    assert shipped.count(capability) == (1 if arch else 0)


def test_a_checkout_ships_nothing(folder):
    """Without archives nothing is found, and a missing folder is no error."""
    assert shipped.find("text", "90") is None
    assert shipped.count("90") == 0
    folder.rmdir()
    assert shipped.find("text", "80") is None


def test_a_damaged_archive_never_gives_wrong_code(folder):
    """Whatever byte of an archive is altered, and wherever it is cut, the right code is found or none."""
    ship(folder, "90", text=b"machine code " * 9)
    whole = (folder / "sm_90.zip").read_bytes()
    altered = [whole[:k] + bytes([whole[k] ^ flip]) + whole[k + 1 :] for k in range(len(whole)) for flip in (1, 0x80)]
    answers = []
    for damaged in (*altered, *(whole[:k] for k in range(len(whole))), b"x" * 99):
        (folder / "sm_90.zip").write_bytes(damaged)
        shipped._archive.cache_clear()
        shipped._names.cache_clear()
        answers.append(shipped.find("text", "90"))
    assert set(answers) == {None, b"machine code " * 9}
    assert answers.count(None) > len(altered) // 2


def test_a_driver_that_refused_is_not_asked_again(folder):
    """After a refusal no shipped kernel is offered to this GPU, while others keep theirs."""
    ship(folder, "80", text=b"code", other=b"other code")
    assert not shipped.refuse("unknown", "86", "no binary")
    assert shipped.refused("86") is None
    assert shipped.refuse("text", "86", "no binary")
    assert shipped.refuse("text", "86", "no binary"), "another thread may have loaded it at the same time"
    assert shipped.refused("86") == "no binary"
    assert shipped.find("other", "86") is None
    assert shipped.find("other", "80") == b"other code"
