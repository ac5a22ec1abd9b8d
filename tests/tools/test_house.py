"""Each rule of the house sees the source that breaks it, and lets the source that keeps it pass."""

from __future__ import annotations

from typing import Any

import pytest

from tools.diagram import ENGINE_CONTRACT
from tools.house import measured, names, once, placements, shape, tables, words
from tools.house.__main__ import lines
from tools.house.sources import ENGINE, Finding, Rule, Source

HOUSE = {
    "program/divide.py": "node = Segment(work)\npoint = BranchPoint((), ())\nmade = Program((node, point))\n",
    "execution/prepare.py": (
        "from qsim_ex.planning.coefficients.binding import fill\n\n\n"
        "def prepare(plan, device):\n    return device.prepare(plan.steps)\n"
    ),
    "run/repeated.py": "ready = device.prepare(plan.steps)\n",
    "placement/executor.py": "for step in steps:\n    launch(step, packed)\n",
}
"""A small engine that keeps every rule of `once`."""


def _sources(*more: tuple[str, str], without: str = "") -> tuple[Source, ...]:
    """The small engine with more files, and without one."""
    files = [*((path, text) for path, text in HOUSE.items() if path != without), *more]
    return tuple(Source.parse(ENGINE + path, text) for path, text in files)


def _one(text: str, path: str = "run/a.py") -> tuple[Source, ...]:
    return (Source.parse(ENGINE + path, text),)


# --- shape -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("loose", "kept"), [(9, True), (10, False)])
def test_modules_at_the_root_are_counted(loose: int, kept: bool) -> None:
    """Nine modules at the root are allowed, and modules in rooms or of frameworks are not counted."""
    paths = [*(f"{ENGINE}m{k}.py" for k in range(loose)), f"{ENGINE}run/work.py", "qsim_ex_cirq/a.py"]
    rule = shape.root_modules([Source.parse(path, "") for path in paths])
    assert rule.number == str(loose)
    assert (not rule.findings) == kept
    assert len(rule.findings) in (0, loose)


@pytest.mark.parametrize(("count", "kept"), [(13, True), (14, False)])
def test_layers_are_counted(count: int, kept: bool) -> None:
    """Thirteen layers are allowed, and names beside each other are one."""
    contracts = [
        {"name": "Another", "layers": ["a"] * 40},
        {"name": ENGINE_CONTRACT, "layers": ["(a) | (b)"] * count},
    ]
    rule = shape.layers({"tool": {"importlinter": {"contracts": contracts}}})
    assert rule.number == str(count)
    assert (not rule.findings) == kept


def test_lines_of_files_are_counted() -> None:
    """A file of 500 lines is allowed, and one of 501 lines is found with its number."""
    most, more = Source.parse("most.py", "a = 1\n" * 500), Source.parse("more.py", "\n" * 501)
    assert shape.file_lines([most]).findings == ()
    rule = shape.file_lines([most, more])
    assert rule.findings == (Finding("more.py", 1, "501 lines"),)
    assert "longest 501 (more.py); median 500.5; 2 of 2 above 300" in rule.number


@pytest.mark.parametrize("define", ["def f():", "async def f():"])
def test_lines_of_functions_are_counted(define: str) -> None:
    """A function of 80 lines is allowed, and one of 81 is found where it begins, in a class too."""
    assert shape.function_lines(_one(f"{define}\n" + "    a = 1\n" * 79)).findings == ()
    rule = shape.function_lines(_one(f"class A:\n    {define}\n" + "        a = 1\n" * 80))
    assert rule.findings == (Finding(f"{ENGINE}run/a.py", 2, "f has 81 lines"),)


# --- names -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    ["class Sweep: pass", "class A:\n    class Sweep: pass", "def f():\n    class Sweep: pass"],
)
def test_a_class_name_that_stands_twice_is_found(text: str) -> None:
    """A class has its name alone in the engine, be it nested or local."""
    first = _one("class Sweep: pass\nclass _Plan: pass", "steps/a.py")
    rule = names.class_names([*first, *_one(text)])
    assert [(one.path, one.line) for one in rule.findings] == [(f"{ENGINE}steps/a.py", 1)]
    assert f"{ENGINE}run/a.py:" in rule.findings[0].what
    assert names.class_names(first).findings == ()


def test_class_names_of_frameworks_are_their_own() -> None:
    """A package of a framework may use a name that the engine has."""
    assert not names.class_names([*_one("class A: pass"), Source.parse("qsim_ex_cirq/a.py", "class A: pass")]).findings


# --- devices ---------------------------------------------------------------------------------------------------------


def test_questions_for_the_kind_of_a_device_are_found() -> None:
    """A comparison of a kind with "cpu" or "gpu" is found outside devices/; that of an option is none."""
    asked = 'a = device.kind == "cpu" or where.device.kind in ("gpu",)\n'
    assert len(placements.devices_asked(_one(asked)).findings) == 2
    assert placements.devices_asked(_one(asked, "devices/cpu/a.py")).findings == ()
    assert placements.devices_asked(_one('a = options.device == "cpu" or save.kind == "state"')).findings == ()


# --- once ------------------------------------------------------------------------------------------------------------

ONCE = (once.one_divider, once.one_prepare, once.one_executor, once.one_sum_of_memory)


@pytest.mark.parametrize("rule", ONCE, ids=lambda rule: rule.__name__)
def test_an_engine_that_does_everything_once_passes(rule: Any) -> None:
    """The small engine keeps each of the rules."""
    assert rule(_sources()).findings == ()


@pytest.mark.parametrize(
    ("rule", "path", "text"),
    [
        (once.one_divider, "run/a.py", "Segment(work)"),
        (once.one_divider, "run/a.py", "program.BranchPoint((), ())"),
        (once.one_divider, "program/second.py", "Program(())"),
        (once.one_prepare, "run/a.py", "device.prepare(plan.steps)"),
        (once.one_prepare, "state/a.py", "self.device.prepare_batch(plan.steps)"),
        (once.one_prepare, "run/a.py", "from qsim_ex.planning.coefficients.binding import fill_batch"),
        (once.one_executor, "run/a.py", "for step in plan.steps:\n    device.run(buffer, bits, step)"),
        (once.one_executor, "placement/a.py", "for k, one in enumerate(stage.steps):\n    if k:\n        launch(one)"),
        (once.one_executor, "placement/executor.py", "for step in steps:\n    target.run_batch(step)"),
        (once.one_executor, "placement/a.py", "self.device.run(buffer, bits, step, numbers)"),
        (once.one_sum_of_memory, "run/a.py", "size = STORAGE[dtype].nbytes(1 << num_wires)"),
        (once.one_sum_of_memory, "run/a.py", "size = self.storage.nbytes(rows << wires)"),
    ],
)
def test_what_is_done_a_second_time_is_found(rule: Any, path: str, text: str) -> None:
    """A second divider, prepare, loop over steps or sum of memory is found in its file."""
    assert ENGINE + path in {one.path for one in rule(_sources((path, text))).findings}


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("run/a.py", "match node:\n    case Segment(): pass\n    case BranchPoint(): pass"),
        ("circuit/a.py", "Save(label)"),
        ("kernels/a.py", "Program(numbers)"),
        ("run/a.py", "prepare(plan, devices)"),
        ("devices/a.py", "self.sweeps.prepare(steps)"),
        ("placement/a.py", "self.device.run(buffer, bits, Zeros(fresh), numbers)"),
        ("planning/a.py", "for step in plan.steps:\n    describe(step)"),
        ("placement/a.py", "for _ in plan.steps:\n    tick()"),
        ("placement/a.py", "size = storage.nbytes(1 << levels.local)"),
        ("planning/a.py", "size = storage.bytes * 2.0**bits"),
        ("run/a.py", "size = 1 << num_wires"),
    ],
)
def test_other_work_is_not_taken_for_a_second_one(path: str, text: str) -> None:
    """What only looks alike passes all four rules."""
    sources = _sources((path, text))
    assert [one for rule in ONCE for one in rule(sources).findings] == []


@pytest.mark.parametrize(
    ("rule", "path"),
    [
        (once.one_divider, "program/divide.py"),
        (once.one_prepare, "execution/prepare.py"),
        (once.one_prepare, "run/repeated.py"),
        (once.one_executor, "placement/executor.py"),
    ],
)
def test_a_rule_whose_one_place_is_gone_fails(rule: Any, path: str) -> None:
    """A file that was moved or renamed does not leave a rule that sees nothing."""
    assert rule(_sources(without=path)).findings


# --- tables ----------------------------------------------------------------------------------------------------------

TABLE = '''
class Row:
    """A row."""

    name: str
    inverse: str
    make: Callable[[], int]
    limit: int

    def fits(self, size):
        return size <= self.limit
'''
AT = {"Row": f"{ENGINE}kinds/table.py"}


def _unread(reader: str) -> list[str]:
    found = tables.columns_read([*_one(TABLE, "kinds/table.py"), *_one(reader)], AT).findings
    return [one.what.rpartition(".")[2] for one in found]


@pytest.mark.parametrize(
    ("reader", "unread"),
    [
        ("row.name, row.inverse, row.make(), row.fits(3)", []),
        ("row.name, row.inverse, row.make, row.limit", []),
        ("row.name, row.inverse, row.make()", ["limit"]),
        ("row.name, gate.inverse(), row.make(), row.limit", ["inverse"]),
        ("row.inverse = row.name, row.make(), row.limit", ["inverse"]),
        ("name, inverse = row.make(), row.fits", ["name", "inverse"]),
    ],
)
def test_a_column_without_a_reader_is_found(reader: str, unread: list[str]) -> None:
    """A column is read as an attribute elsewhere, or by a method of the row that somebody elsewhere asks for."""
    assert _unread(reader) == unread


def test_a_table_that_is_gone_is_found() -> None:
    """A table that was moved or renamed is not taken for one whose columns are all read."""
    (found,) = tables.columns_read(_one(TABLE, "kinds/moved.py"), AT).findings
    assert found.path == AT["Row"]


# --- words -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a = 'a number is wanted'", 1),
        ("a = f'{b} wires are wanted.'", 1),
        ("a = ('shots were '\n     'wanted')", 1),
        ('"""First.\n\nWhat was\nwanted."""', 3),
    ],
)
def test_wanted_is_found_in_strings(text: str, line: int) -> None:
    """All four forms are found, in messages, in f-strings, across lines and in docstrings."""
    (found,) = words.wanted(_one(text)).findings
    assert found.line == line


def test_wanted_may_be_a_word_and_a_name() -> None:
    """Comments, names and other uses of the word pass."""
    assert words.wanted(_one("wanted = 'this wanted poster, as wanted'  # is wanted")).findings == ()


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("def f() -> None: pass", "f has no docstring"),
        ("class A: pass", "A has no docstring"),
        ("class A:\n    '''It.'''\n    def f(self) -> None: pass", "f has no docstring"),
        ("class A:\n    '''It.'''\n    @property\n    def f(self) -> int: pass", "f has no docstring"),
        ("def f(a, *b, c=1, **d) -> None:\n    '''It.'''", "f has no annotation of a, c, b, d"),
        ("async def f():\n    '''It.'''", "f has no annotation of return"),
    ],
)
def test_a_public_name_without_its_words_is_found(text: str, what: str) -> None:
    """Functions, classes, methods and properties need a docstring, and all arguments and results a type."""
    assert [one.what for one in words.public_names(_one(text)).findings] == [what]


@pytest.mark.parametrize(
    "text",
    [
        "def f(a: int, *b: str) -> None:\n    '''It.'''",
        "def _f(a): pass",
        "class _A:\n    def f(self): pass",
        "class A:\n    '''It.'''\n    def __len__(self): pass\n    @f.setter\n    def f(self, to: int) -> None: pass",
        "def f() -> None:\n    '''It.'''\n    def inner(a): pass",
    ],
)
def test_private_names_need_no_words(text: str) -> None:
    """Private names, what is inside them, overloads and setters pass, and so does what is complete."""
    assert words.public_names(_one(text)).findings == ()


# --- measured --------------------------------------------------------------------------------------------------------


def test_an_option_that_is_tried_nowhere_is_found() -> None:
    """Each field of `Options` is tried on some way in; options of others are counted too."""
    pairs = ["seed-Simulator.run", "seed-QsimExBackend(...)", "memory-QsimExBackend.run"]
    rule = measured.options_tried(["seed", "threads"], pairs)
    assert [one.what for one in rule.findings] == ["no test tries threads"]
    assert "2 options (2 of the engine) × 3 ways in, 3 pairs" in rule.number


def test_a_walk_that_is_too_long_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A walk keeps its goal with as many files and hops as the goal says, and not with one more of either."""
    case = measured.CASES["qiskit"]
    for files, hops, kept in ((0, 0, True), (1, 0, False), (0, 1, False)):
        counted = {"files": case.files + files, "hops": case.hops + hops}
        monkeypatch.setattr(measured, "walk", lambda _, counted=counted: counted)
        assert (not measured.length_of_walk("qiskit").findings) == kept


# --- what is printed -------------------------------------------------------------------------------------------------


def test_findings_are_printed_below_their_rule() -> None:
    """A rule that is kept is one line; one that is not has its findings below, and says how many more there are."""
    assert lines(Rule("names", "0", "0", ()), 2) == ["ok   names: 0 (goal: 0)"]
    broken = Rule("names", "3", "0", tuple(Finding("a.py", k, "twice") for k in (1, 2, 3)))
    assert lines(broken, None) == ["NOT  names: 3 (goal: 0)", *(f"       a.py:{k}  twice" for k in (1, 2, 3))]
    *shown, more = lines(broken, 2)
    assert shown == lines(broken, None)[:3]
    assert "1 more" in more
