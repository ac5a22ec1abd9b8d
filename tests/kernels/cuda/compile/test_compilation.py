"""The cache of compiled kernels: its key holds all that matters, and damaged files are compiled anew."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from qsim_ex.errors import DeviceError, MissingPackage
from qsim_ex.kernels.cuda.compile import compilation, shipped
from tools.ship_kernels import write


class Nvrtc:
    """A compiler that counts its calls."""

    def __init__(self, version=(12, 9)):
        self.version = version
        self.calls = 0

    def getVersion(self):
        """Its version."""
        return self.version


@pytest.fixture
def nvrtc(monkeypatch, tmp_path):
    """A compiler that makes bytes out of the text, and an empty cache."""
    fake = Nvrtc()

    def translate(code, arch):
        fake.calls += 1
        return f"{arch}:{code}".encode(), ""

    monkeypatch.setattr(compilation, "compiler", lambda: fake)
    monkeypatch.setattr(compilation, "translate", translate)
    monkeypatch.setenv("QSIM_EX_CACHE_DIR", str(tmp_path / "cache"))
    compilation._prune.cache_clear()
    return fake


def test_a_text_is_compiled_once(nvrtc):
    """The second request is answered from disk; another architecture or text is another kernel."""
    assert compilation.machine_code("a", "90") == compilation.machine_code("a", "90") == b"90:a"
    assert nvrtc.calls == 1
    assert compilation.machine_codes(["a", "b", "a"], "80") == [b"80:a", b"80:b", b"80:a"]
    assert compilation.is_stored(compilation.key("b", "80"))
    assert not compilation.is_stored(compilation.key("b", "90"))


def test_another_compiler_compiles_again(nvrtc):
    """After an upgrade nothing of the old compiler is used."""
    compilation.machine_code("a", "90")
    nvrtc.version = (13, 0)
    compilation.machine_code("a", "90")
    assert nvrtc.calls == 2


def test_what_was_begun_is_not_compiled_twice(nvrtc):
    """A text under way in the background is waited for, and one on disk is not begun."""
    compilation.begin(["a", "b", "a"], "90")
    assert compilation.machine_codes(["a", "b"], "90") == [b"90:a", b"90:b"]
    compilation.begin(["a"], "90")
    assert compilation.machine_code("a", "90") == b"90:a"
    assert nvrtc.calls == 2
    assert not compilation._begun


@pytest.mark.usefixtures("nvrtc")
def test_what_fails_in_the_background_fails_when_it_is_wanted(monkeypatch):
    """The compiler's error reaches the caller who needs the kernel, and a second try compiles anew."""

    def fail(code, arch):
        raise DeviceError(f"{code} on {arch}")

    monkeypatch.setattr(compilation, "translate", fail)
    compilation.begin(["bad"], "90")
    for _ in range(2):
        with pytest.raises(DeviceError, match="bad on 90"):
            compilation.machine_code("bad", "90")


@pytest.mark.parametrize("damage", [b"", b"short", b"x" * 200])
def test_a_damaged_file_is_compiled_anew(nvrtc, damage):
    """Half-written or altered machine code never reaches a GPU."""
    compilation.machine_code("a", "90")
    path = compilation.folder() / f"{compilation.key('a', '90')}.cubin"
    path.write_bytes(damage)
    assert compilation.machine_code("a", "90") == b"90:a"
    assert nvrtc.calls == 2
    assert compilation.stored(path.stem) == b"90:a"


def test_a_folder_that_cannot_be_written_only_costs_time(nvrtc, monkeypatch, tmp_path):
    """Without a cache kernels are compiled each time."""
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("QSIM_EX_CACHE_DIR", str(tmp_path / "file" / "cache"))
    assert compilation.machine_code("a", "90") == compilation.machine_code("a", "90") == b"90:a"
    assert nvrtc.calls == 2


@pytest.mark.usefixtures("nvrtc")
def test_an_overgrown_cache_loses_its_older_half(monkeypatch):
    """The folder loses the older half of its files when it grows too large."""
    monkeypatch.setattr(compilation, "MOST_FILES", 4)
    compilation.machine_codes([str(k) for k in range(8)], "90")
    compilation._prune.cache_clear()
    compilation.machine_code("one more", "90")
    assert len(list(compilation.folder().glob("*.cubin"))) == 7


@pytest.mark.usefixtures("nvrtc")
def test_threads_that_store_at_once_prune_once(monkeypatch):
    """Of several threads that store kernels at the same time, one looks through the folder."""
    looks = []

    def slow(_path, pattern):
        looks.append(pattern)
        time.sleep(0.05)
        return iter(())

    monkeypatch.setattr(Path, "glob", slow)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(compilation.store, "abcd", [b"code"] * 4))
    assert looks == ["*.cubin", "*.sweep"]


def test_the_log_is_read():
    """Registers and spills come from the assembler's words."""
    log = "ptxas . 40 bytes stack frame, 36 bytes spill stores, 44 bytes spill loads\nptxas info : Used 80 registers"
    assert compilation.report(log) == (80, 44)


@pytest.fixture
def shipped_a(tmp_path, monkeypatch):
    """The text "a" came with the package for 9.0."""
    monkeypatch.setattr(shipped, "FOLDER", tmp_path)
    monkeypatch.setattr(shipped, "_refused", {})
    path = tmp_path / "sm_90.zip"
    write(path, {shipped.name("a", "90"): b"shipped"})
    return path


@pytest.mark.usefixtures("nvrtc", "shipped_a")
def test_no_compiler_is_needed_for_what_came_with_the_package(monkeypatch):
    """Shipped kernels are used without NVRTC, which is asked for other texts alone."""

    def missing():
        raise MissingPackage("no NVRTC")

    monkeypatch.setattr(compilation, "compiler", missing)
    assert compilation.at_hand("a", "90")
    compilation.begin(["a", "a"], "90")
    assert compilation.machine_code("a", "90") == b"shipped"
    assert compilation.machine_codes(["a", "a"], "90") == [b"shipped"] * 2
    assert not compilation.folder().exists()
    with pytest.raises(MissingPackage):
        compilation.begin(["a", "b"], "90")


@pytest.mark.usefixtures("shipped_a")
def test_what_did_not_come_with_the_package_is_compiled_and_kept(nvrtc):
    """Other texts and other GPUs use the cache as ever, also beside a shipped kernel."""
    assert compilation.machine_codes(["a", "b"], "90") == [b"shipped", b"90:b"]
    assert not compilation.at_hand("c", "90")
    compilation.begin(["a", "b", "c"], "90")
    assert compilation.machine_codes(["a", "b", "c"], "90") == [b"shipped", b"90:b", b"90:c"]
    assert compilation.machine_code("a", "75") == b"75:a"
    assert compilation.at_hand("c", "90")
    assert nvrtc.calls == 3


@pytest.mark.parametrize("damage", ["archive", "driver"])
def test_a_shipped_kernel_that_cannot_be_used_is_compiled(nvrtc, shipped_a, damage):
    """A damaged archive, or a driver that refuses, costs one compilation and later a look into the cache."""
    if damage == "archive":
        whole = shipped_a.read_bytes()
        at = whole.index(b"PK", 1) - 2  # within the data, which the next header follows
        shipped_a.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
    else:
        shipped.refuse("a", "90", "too old")
    assert compilation.machine_code("a", "90") == compilation.machine_code("a", "90") == b"90:a"
    assert nvrtc.calls == 1
