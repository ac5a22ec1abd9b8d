"""The package has every kernel of a first run, and each is found again by its text."""

from __future__ import annotations

import json
import zipfile

import pytest
from support.cuda.spilled import MODE, expect_compiling, key_of
from support.paths import ROOT

from qsim_ex.errors import MissingPackage
from qsim_ex.kernels.cuda.compile import shipped
from qsim_ex.kernels.cuda.fixed import fixed
from qsim_ex.kernels.cuda.interpret import interpreter
from qsim_ex.precision import PRECISIONS
from tools import ship_kernels

COMPILED = ROOT / "tests/data/shipped_kernels.json"
FOLDER = "qsim_ex/kernels/cuda/compile/shipped_kernels"


def compiler(code, arch):
    """A compiler that is quick."""
    return f"{arch}:{code}".encode()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder of archives, three texts, and a quick compiler."""
    monkeypatch.setattr(shipped, "FOLDER", tmp_path)
    monkeypatch.setattr(ship_kernels, "codes", lambda: ["a", "b", "c"])
    monkeypatch.setattr(ship_kernels, "find_compiler", lambda: compiler)
    return tmp_path


@pytest.mark.parametrize("precision", PRECISIONS.values(), ids=list(PRECISIONS))
def test_what_a_device_begins_with_is_shipped(precision):
    """A new device and a first batch have nothing to compile."""
    begun = interpreter.texts(precision)
    begun += [*fixed.first(precision), *fixed.first(precision, fixed.FIRST_OF_ROWS)]
    assert {text.code for text in begun} <= set(ship_kernels.codes())


def test_real_kernels_are_found_by_their_texts(tmp_path, monkeypatch):
    """NVRTC's machine code for each text is in the archive that the engine reads.

    Here for the ten shortest texts; a wheel is checked for all of them (``./check wheel``).
    """
    pytest.importorskip("cuda.bindings.nvrtc", reason="its compiler is needed, and comes with it")
    texts = sorted(ship_kernels.codes(), key=len)
    assert len(texts) > 20
    monkeypatch.setattr(shipped, "FOLDER", tmp_path)
    monkeypatch.setattr(ship_kernels, "codes", lambda: texts[:10])
    ship_kernels.make(tmp_path, ["75"])
    found = [shipped.find(code, "75") for code in texts[:10]]
    assert len(found) == shipped.count("75")
    assert all(code is not None and code.startswith(b"\x7fELF") for code in found)


def test_every_text_compiles_for_every_architecture():
    """Each shipped text is known to compile for each architecture, from a file that `support.cuda.spilled` tells of.

    ``.ci/full wheels`` compiles all.
    """
    pytest.importorskip("cuda.bindings.nvrtc", reason="its compiler is needed, and comes with it")
    known = set(json.loads(COMPILED.read_text()))
    texts = {key_of(code, int(arch)): (code, arch) for code in ship_kernels.codes() for arch in shipped.ARCHITECTURES}
    for code, arch in (texts[key] for key in (texts.keys() if MODE == "all" else texts.keys() - known)):
        expect_compiling(COMPILED)
        assert ship_kernels.find_compiler()(code, arch).startswith(b"\x7fELF")
    if MODE == "write":
        COMPILED.write_text(json.dumps(sorted(texts), indent=0) + "\n")


def test_a_text_that_does_not_compile_is_an_error():
    """A broken kernel breaks the build, and its log says where."""
    pytest.importorskip("cuda.bindings.nvrtc", reason="its compiler is needed, and comes with it")
    with pytest.raises(RuntimeError, match=r"sm_90.*\n.*nonsense"):
        ship_kernels.find_compiler()("nonsense", "90")


def test_only_what_is_not_there_is_compiled(folder, monkeypatch):
    """Fresh archives need no compiler; those of other texts, damaged and missing ones are made anew."""
    ship_kernels.make(folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert set(before) == {f"sm_{arch}.zip" for arch in shipped.ARCHITECTURES}

    def missing():
        raise MissingPackage("no compiler")

    with monkeypatch.context() as context:
        context.setattr(ship_kernels, "find_compiler", missing)
        ship_kernels.make(folder)
        context.setattr(ship_kernels, "codes", lambda: ["a", "b", "new"])
        with pytest.raises(MissingPackage):
            ship_kernels.make(folder)
    (folder / "sm_75.zip").unlink()
    (folder / "sm_80.zip").write_bytes(before["sm_80.zip"][:-30])
    nines = before["sm_90.zip"]
    at = nines.index(b"PK", 1) - 2  # within the first member's data, which the next header follows
    (folder / "sm_90.zip").write_bytes(nines[:at] + bytes([nines[at] ^ 1]) + nines[at + 1 :])
    ship_kernels.make(folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def wheel(path, archives):
    """A wheel with these archives."""
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("qsim_ex/__init__.py", "")
        for name, data in archives.items():
            packed.writestr(f"{FOLDER}/{name}", data)
    return path


def test_a_wheel_is_checked(folder, tmp_path_factory, monkeypatch):
    """A wheel passes only with all archives, of the present texts, and no others; each that is wrong is named."""
    ship_kernels.make(folder)
    archives = {path.name: path.read_bytes() for path in folder.iterdir()}
    monkeypatch.setattr(shipped, "FOLDER", ship_kernels.ROOT / "core" / FOLDER)
    packed = tmp_path_factory.mktemp("wheel") / "some.whl"
    ship_kernels.check(wheel(packed, archives))
    old = {**archives, "sm_90.zip": archives["sm_80.zip"]}
    less = {name: data for name, data in archives.items() if name != "sm_90.zip"}
    for wrong in (old, less, {**archives, "sm_99.zip": b""}):
        with pytest.raises(SystemExit, match=r"sources: sm_9[09]\.zip$"):
            ship_kernels.check(wheel(packed, wrong))
    ship_kernels.check(wheel(packed, {"sm_90.zip": archives["sm_90.zip"]}), ["90"])
    with pytest.raises(SystemExit, match=r"sources: sm_80\.zip$"):
        ship_kernels.check(wheel(packed, {name: archives[name] for name in ("sm_80.zip", "sm_90.zip")}), ["90"])
    with pytest.raises(SystemExit, match=r"sm_100\.zip, sm_120\.zip, sm_75\.zip, sm_80\.zip, sm_90\.zip"):
        ship_kernels.check(wheel(packed, {}))
