"""The checks of one room: which rooms there are, which tests reach them, and what runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import room

ROOMS = room.rooms()


def test_every_package_is_a_room() -> None:
    """Rooms are the packages of the engine, of the frameworks, and the folders of native code; their folders exist."""
    engine = {path.parent.name for path in (room.ROOT / "core/qsim_ex").glob("*/__init__.py")}
    native = {f"native/{path.name}" for path in room.NATIVE.iterdir() if path.is_dir()}
    assert set(ROOMS) == engine | native | {"qsim_ex_provider", "qsim_ex_cirq", "qsim_ex_pennylane"}
    assert all((room.ROOT / folder).is_dir() for folder in ROOMS.values())


@pytest.mark.parametrize("name", ROOMS)
def test_every_room_has_tests(name: str) -> None:
    """Some tests reach each room, they are there, and those of its own folder come first and once."""
    found = room.tests_of(name)
    assert found
    assert all((room.ROOT / path).exists() for path in found)
    if (room.TESTS / name).is_dir():
        assert found[0] == f"tests/{name}"
        assert not any(path.startswith(f"tests/{name}/") for path in found[1:])


def test_what_imports_a_room_reaches_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A test reaches a room by an import of it or in it, in a function too, or in a helper's helper; else not."""
    monkeypatch.setattr(room, "TESTS", tmp_path)
    (tmp_path / "support" / "cuda").mkdir(parents=True)
    (tmp_path / "support" / "made.py").write_text("from support.cuda import deep\n")
    (tmp_path / "support" / "cuda" / "deep.py").write_text(
        "from qsim_ex.run.pipeline import run\nimport support.made\n"
    )
    for k, (text, reached) in enumerate(
        [
            ("import qsim_ex.run.joint", True),
            ("from qsim_ex import run", True),
            ("def f():\n    from qsim_ex.run import joint", True),
            ("from support.made import thing", True),
            ("from support import made", True),
            ("from qsim_ex.running import a", False),
            ("from qsim_ex import Simulator", False),
            ("from support.missing import thing", False),
        ]
    ):
        file = tmp_path / f"test_{k}.py"
        file.write_text(text)
        assert room.reaches(file, "qsim_ex.run") == reached, text


def test_the_contract_of_placements_reaches_their_room() -> None:
    """A contract that stands elsewhere is run for the room that it is about."""
    assert {"tests/placement", "tests/contract/test_placements.py"} <= set(room.tests_of("placement"))


def test_what_runs() -> None:
    """A package has style, types and tests; native code its own style and tests; pytest gets further arguments."""
    python = [" ".join(command) for command in room.commands("planning", ["-x"])]
    assert python[:3] == [f"{check} core/qsim_ex/planning" for check in ("ruff format --check", "ruff check", "mypy")]
    assert python[3].startswith("pytest -q -n auto --dist worksteal -x tests/planning ")
    native = [command[1:] for command in room.commands("native/planner")]
    assert native[:2] == [["-m", "tools.lint_native"], ["-m", "tools.native", "--test", "--source-file=*planner/*"]]
    assert native[2][-2:] == ["tests/native", "tests/planning"]


def test_an_unknown_room_is_refused() -> None:
    """A name that is no room is an error that lists the rooms."""
    with pytest.raises(SystemExit, match=r"expected a room, got 'kitchen'.*placement"):
        room.commands("kitchen")
