"""Each rule of the house sees the source that breaks it, and lets the source that keeps it pass."""

from __future__ import annotations

import ast
import json
from typing import Any

import pytest

from tools.diagram import ENGINE_CONTRACT
from tools.house import measured, names, once, pages, placements, rooms, shape, tables, words
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
    """A file of 300 lines is allowed, and one of 301 lines is found with its number."""
    most, more = Source.parse("most.py", "a = 1\n" * 300), Source.parse("more.py", "\n" * 301)
    assert shape.file_lines([most]).findings == ()
    rule = shape.file_lines([most, more])
    assert rule.findings == (Finding("more.py", 1, "301 lines"),)
    assert "longest 301 (more.py); median 300.5; 1 of 2 above 300, of which 0 are tables" in rule.number


def test_tables_may_be_long() -> None:
    """A table has any length."""
    assert shape.file_lines([Source.parse(next(iter(shape.TABLES)), "a = 1\n" * 999)]).findings == ()


@pytest.mark.parametrize("define", ["def f():", "async def f():"])
def test_lines_of_functions_are_counted(define: str) -> None:
    """A function of 60 lines is allowed, and one of 61 is found where it begins, in a class too."""
    assert shape.function_lines(_one(f"{define}\n" + "    a = 1\n" * 59)).findings == ()
    rule = shape.function_lines(_one(f"class A:\n    {define}\n" + "        a = 1\n" * 60))
    assert rule.findings == (Finding(f"{ENGINE}run/a.py", 2, "f has 61 lines"),)


def test_three_files_of_a_folder_with_one_prefix_are_found() -> None:
    """Three files of one folder with one prefix break the rule; two do not, nor do exceptions while they are needed."""
    excepted = [f"{prefix}_{k}.py" for prefix in shape.PREFIXES for k in range(3)]

    def found(*paths: str) -> list[str]:
        return [one.path for one in shape.prefixes([Source.parse(path, "") for path in paths]).findings]

    assert found(*excepted, "a/b.py", "a/b_c.py", "c/b_d.py", "a/__init__.py") == []
    assert found(*excepted, "a/b.py", "a/b_c.py", "a/b_d.py") == ["a/b.py"]
    assert found("a/b.py") == ["tools/house/shape.py"] * len(shape.PREFIXES)


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


def test_questions_which_method_a_run_has_are_found() -> None:
    """A comparison of a method with a value of the option is found anywhere; other options' methods are none."""
    asked = 'a = options.method == "density_matrix" or call.options.method not in ("automatic", "statevector")\n'
    assert len(placements.methods_asked(_one(asked)).findings) == 2
    assert (
        placements.methods_asked(_one('a = config.gradient_method == "adjoint" or save.what == "stabilizer"')).findings
        == ()
    )


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


@pytest.mark.parametrize(
    ("source", "columns"),
    [
        ("def back(operation): return operation.inverse()", set()),
        ("x = GATES[name].factors", {"factors"}),
        ("row = GATES.get(name)\nprint(row.qubits)", {"get", "qubits"}),
        ("def f(gate: Gate, other: int): return gate.mixes + other.reads", {"mixes"}),
        ("names = [row.qiskit for row in GATES.values()]", {"values", "qiskit"}),
        ("if (row := GATES.get(name)) is not None: row.matrix()", {"get", "matrix"}),
    ],
)
def test_reads_of_a_row_are_found(source: str, columns: set[str]) -> None:
    """Reads of what is made of a table are found in each of these forms, and attributes of other objects are none."""
    nodes = tables.of_rows([*ast.walk(ast.parse(source))], frozenset({"GATES", "Gate"}))
    assert {node.attr for node in nodes if isinstance(node, ast.Attribute)} == columns


def test_a_column_that_only_another_object_has_is_found() -> None:
    """Of a table whose rows have names, an attribute of something else reads no column, and one of a row does."""
    reader = "def f(row: Row): return row.name, row.inverse, row.make(), row.fits(3)"
    for text, unread in ((reader, []), (reader.replace("row.inverse", "gate.inverse"), ["inverse"])):
        sources = [*_one(TABLE, "kinds/table.py"), *_one(text)]
        found = tables.columns_read(sources, AT, {"Row": frozenset({"Row"})}).findings
        assert [one.what.rpartition(".")[2] for one in found] == unread


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


# --- rooms of native code --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "name", "what"),
    [
        ("planner/plan.cpp", "base/bits.hpp", None),
        ("library.cpp", "planner/plan.hpp", None),
        ("base/bits.cpp", "exports.def", None),
        ("base/bits.cpp", "planner/plan.hpp", "which stands above it"),
        ("kernels/sums.cpp", "readers/qiskit.hpp", "which stands above it"),
        ("planner/plan.cpp", "bits.hpp", "which is not there"),
    ],
)
def test_includes_lead_to_the_own_room_or_below(path: str, name: str, what: str | None) -> None:
    """A file includes headers by their path, of its own room or one below; others are found with their line."""
    there = dict.fromkeys(("base/bits.hpp", "planner/plan.hpp", "readers/qiskit.hpp", "exports.def"), "")
    found = rooms.includes(there | {path: f'#include <cstdint>\n#include "{name}"\n'}).findings
    assert found == (() if what is None else (Finding(f"core/native/{path}", 2, f"includes {name}, {what}"),))


def test_files_of_a_folder_are_counted() -> None:
    """25 files are allowed in a folder, and 26 are found; those of folders in it are not counted."""
    files = {f"base/{k}.cpp": "" for k in range(25)} | {"base/more/a.cpp": ""}
    assert rooms.folder_files(files).findings == ()
    assert [one.what for one in rooms.folder_files({**files, "base/b.cpp": ""}).findings] == ["26 files"]


# --- pages -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["README.md", "docs/how-to/a.md", "notebooks/01_first_circuit.ipynb"])
def test_links_that_lead_nowhere_are_found(path: str) -> None:
    """A link to a file that is there passes, from wherever it is followed; one to another file is found."""
    up = "../" * path.count("/")
    for target, there in ((f"{up}LICENSE", True), (f"{up}nowhere.md", False)):
        text = f"[a]({target})"
        if path.endswith(".ipynb"):
            text = json.dumps({"cells": [{"cell_type": "markdown", "source": [text]}]})
        assert (pages.links({path: text}).findings == ()) == there


def test_what_pages_name_is_there() -> None:
    """A file may be named by an end of its path, in the pages about the source; others may name what they like."""
    names = {"core/qsim_ex/run/a.py", "run/a.py", "a.py"}
    for path, name, kept in (
        ("docs/decisions/0001-a.md", "run/a.py", True),
        ("docs/decisions/0001-a.md", "run/b.py", False),
        ("docs/architecture.md", "n/a.py", False),
        ("docs/how-to/a.md", "b.py", True),
    ):
        assert (pages.files_named({path: f"see `{name}`"}, names).findings == ()) == kept


def test_a_decision_without_its_line_is_found() -> None:
    """A decision has a line in the index."""
    texts = {
        "docs/decisions/README.md": "[1](0001-a.md)",
        "docs/decisions/0001-a.md": "",
        "docs/decisions/0002-b.md": "",
    }
    assert [one.path for one in pages.decisions_indexed(texts).findings] == ["docs/decisions/0002-b.md"]


@pytest.mark.parametrize(
    ("status", "newer", "kept"),
    [
        ("accepted, 2026-11-20", "", True),
        ("the first half accepted", "", True),
        ("proposed", "", True),
        ("replaced by [0002](0002-b.md)", "Status: accepted; it replaces 0001", True),
        ("accepted; one half is replaced by [0002](0002-b.md)", "Status: accepted; it replaces 0001", True),
        ("replaced by [0002](0002-b.md)", "Status: accepted", False),
        ("replaced by [0003](0003-c.md)", "Status: accepted; it replaces 0001", False),
        ("good", "", False),
    ],
)
def test_decisions_say_what_replaced_them(status: str, newer: str, kept: bool) -> None:
    """A decision has a status that is known, and the one that replaces it names it."""
    texts = {"docs/decisions/0001-a.md": f"# 0001\n\nStatus: {status}\n"}
    texts |= {"docs/decisions/0002-b.md": newer} if newer else {}
    assert (not pages.decisions_replaced(texts).findings) == kept


def test_a_readme_is_short_and_has_the_commands_of_ci() -> None:
    """120 lines are allowed; one more, a command that lacks and one that stands twice are found."""
    text = "```bash test\n```\n```bash demo\n```\n" + "a\n" * 116
    assert pages.readme({"README.md": text}).findings == ()
    for wrong in (
        text + "a\n",
        text.replace("bash demo", "bash run"),
        text.replace("a\na\n", "```bash test\n```\n", 1),
    ):
        assert len(pages.readme({"README.md": wrong}).findings) == 1


def _notebook(*numbers: int, check: str = "assert a", end: str = "## What to try next", kind: str = "display") -> str:
    output = {"output_type": kind, "data": {"image/png": ""}}
    code = [{"cell_type": "code", "source": [check], "execution_count": k, "outputs": [output]} for k in numbers]
    return json.dumps({"cells": [*code, {"cell_type": "markdown", "source": [end]}]})


def test_notebooks_are_kept_as_one_run_left_them() -> None:
    """Cells in order, pictures, no error, a check, an end, and eleven of them: whatever lacks is found."""
    right = {f"notebooks/{k:02}_a.ipynb": _notebook(1, 2) for k in range(1, 12)}
    assert pages.notebooks(right).findings == ()
    wrong = (
        _notebook(2, 1),
        _notebook(1, kind="error"),
        _notebook(1, check="a"),
        _notebook(1, end="the end"),
        _notebook(),
    )
    for text, count in zip(wrong, (1, 1, 1, 1, 2), strict=True):  # without cells there are neither pictures nor checks
        assert len(pages.notebooks({**right, "notebooks/03_a.ipynb": text}).findings) == count
    assert len(pages.notebooks({path: text for path, text in right.items() if "04" not in path}).findings) == 1


def test_examples_check_and_say_how_long_they_take() -> None:
    """An example has an assertion and a command with a time and a machine; each that lacks is found."""
    text = '"""It.\n\n    python examples/a.py --small  # 3 s on two cores\n"""\nassert 1 + 1 == 2\n'
    assert pages.examples({"examples/a.py": text}).findings == ()
    assert pages.examples({}).findings
    for part, other in (("assert 1", "print(1)"), ("a.py", "b.py"), ("3 s", "soon"), ("cores", "chairs")):
        assert len(pages.examples({"examples/a.py": text.replace(part, other)}).findings) == 1


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
