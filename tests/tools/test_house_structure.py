"""Rules of the house about imports, inheritance and types that say nothing."""

from __future__ import annotations

import pytest

from tools.house import imports, kinds, taken_apart
from tools.house.sources import ENGINE, Source


def _sources(**texts: str) -> list[Source]:
    """Modules of the engine by their names in `run/`."""
    return [Source.parse(f"{ENGINE}run/{name}.py", text) for name, text in texts.items()]


@pytest.mark.parametrize(
    ("back", "circles"),
    [
        ("from qsim_ex.run import one\n", 1),
        ("import qsim_ex.run.one\n", 1),
        ("def f():\n    from qsim_ex.run.one import f\n", 1),
        ('one = later("qsim_ex.run.one")\n', 1),
        ("if TYPE_CHECKING:\n    from qsim_ex.run import one\nelse:\n    one = later('qsim_ex.run.one')\n", 1),
        ("if TYPE_CHECKING:\n    from qsim_ex.run import one\n", 0),
        ("from qsim_ex.run import three\n", 0),
    ],
)
def test_a_circle_of_imports_is_found(back: str, circles: int) -> None:
    """Modules that load one another are found once, however they do it; types alone load nothing."""
    rule = imports.circles(_sources(one="from qsim_ex.run import two\n", two=back, three=""))
    assert len(rule.findings) == circles
    if circles:
        assert "qsim_ex.run.one → qsim_ex.run.two → qsim_ex.run.one" in rule.findings[0].what


def test_an_import_inside_of_a_function_needs_a_reason() -> None:
    """One without a comment is found; one with a comment is counted, and one of another package is not."""
    told = "def f():\n    from qsim_ex.run import two  # since it is large\n"
    assert imports.late_imports(_sources(one=told, two="")).findings == ()
    bare = "def f():\n    from qsim_ex.run import two\n    import numpy\n"
    rule = imports.late_imports(_sources(one=bare, two=""))
    assert [finding.line for finding in rule.findings] == [2]
    assert rule.number == "1"


def test_imports_inside_of_functions_are_few() -> None:
    """More of them than allowed are all found, whatever their comments say."""
    text = "def f():\n" + "    from qsim_ex.run import two  # so\n" * (imports.LATE + 1)
    assert len(imports.late_imports(_sources(one=text, two="")).findings) == imports.LATE + 1


def test_a_tower_of_classes_is_found() -> None:
    """A class on three others is found, one on two is not; neither is one on classes of other packages."""
    three = "class A(Other): pass\nclass B(A): pass\nclass C(Generic[T], B): pass\n"
    assert kinds.towers(_sources(one=three)).findings == ()
    (found,) = kinds.towers(_sources(one=three, two="class D(C[int]): pass\n")).findings
    assert (found.path, found.line) == (f"{ENGINE}run/two.py", 1)
    assert "class D is 4 high" in found.what


def test_errors_may_be_a_tree() -> None:
    """Exceptions are caught by the classes below them, so their tower may be of any height."""
    text = "class A(Exception): pass\nclass B(A): pass\nclass C(B): pass\nclass D(C): pass\n"
    assert kinds.towers(_sources(one=text)).findings == ()


def test_places_that_say_any_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number may not exceed the allowed one, which may only fall."""
    monkeypatch.setattr(kinds, "ANY", 2)
    sources = _sources(one="a: Any = 1\n", two="def f(a: dict[str, Any]) -> str: ...\n")
    assert kinds.anys(sources).findings == ()
    (found,) = kinds.anys([*sources, *_sources(three="b: Any\nc: Any\n")]).findings
    assert found.path == f"{ENGINE}run/three.py"


def test_who_takes_instructions_apart_is_counted() -> None:
    """A file that asks for the class of an instruction or node counts once; more files than allowed are all found."""
    unions = [
        Source.parse(f"{ENGINE}circuit/ops.py", "Instruction = Op | Measure"),
        Source.parse(f"{ENGINE}program/program.py", "Node = Segment | Join"),
    ]
    asking = ["isinstance(one, Measure | int)", "type(one) is Op", "match node:\n    case Join(depth): pass"]
    other = Source.parse(f"{ENGINE}run/other.py", "isinstance(one, Buffer)\none.saved is None\nOp(one)")
    many = [Source.parse(f"{ENGINE}run/a{k}.py", f"{asking[k % 3]}\n" * 2) for k in range(taken_apart.FILES + 1)]
    kept = taken_apart.taken_apart([*unions, other, *many[1:]])
    assert kept.findings == ()
    assert kept.number.startswith(f"{taken_apart.FILES} files, {2 * taken_apart.FILES} places, of 4 classes")
    assert [one.path for one in taken_apart.taken_apart([*unions, *many]).findings] == [one.path for one in many]
