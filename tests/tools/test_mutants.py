"""Tests of tools/mutants: what it draws, which tests it gives to a mutant, and what it makes of what they say."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.mutants import cpp, crew
from tools.mutants.mutant import Mutant, Record, Result, differing, share
from tools.mutants.reach import Reach
from tools.mutants.runner import Checkout, outcome

PRODUCT = "def larger(a, b):\n    return a > b\n"
TEST = "from product import larger\n\n\ndef test_larger():\n    assert larger(2, 1) and not larger(1, 2)\n"
NAME = "tests/test_product.py::test_larger"


@pytest.fixture(scope="module")
def tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Checkout]:
    """A folder with one function and one test, which asks nothing of equal numbers."""
    folder = tmp_path_factory.mktemp("project")
    project(folder)
    with Checkout(folder, imported=("pytest", "hypothesis")) as running:
        yield running


def project(folder: Path) -> None:
    """Write the product and its test."""
    (folder / "core").mkdir(parents=True)
    (folder / "tests").mkdir()
    (folder / "core/product.py").write_text(PRODUCT)
    (folder / NAME.split("::", maxsplit=1)[0]).write_text(TEST)
    (folder / "pytest.ini").write_text("[pytest]\n")


def mutant_with(sign: str) -> Mutant:
    """Return the product with another sign."""
    text = PRODUCT.replace(">", sign)
    return Mutant("core/product.py", "room", 2, 2, "sign", *differing(PRODUCT, text), text)


def result(tests: Checkout, sign: str) -> Result:
    """Run the product with another sign."""
    mutant = mutant_with(sign)
    return outcome(tests, mutant, {mutant.path: mutant.text.encode()}, [NAME], lambda _name: 0.5)


def test_a_mutant_that_a_test_tells_apart_is_killed(tests: Checkout) -> None:
    """A planted fault is killed, by the test that fails, and the folder has the product again."""
    found = result(tests, "<")
    assert (found.outcome, found.by) == ("killed", NAME)
    assert (tests.folder / "core/product.py").read_text() == PRODUCT


def test_a_mutant_that_no_test_tells_apart_survives(tests: Checkout) -> None:
    """A planted change of what the test does not ask survives."""
    assert result(tests, ">=").outcome == "survived"


def test_tests_that_are_not_found_say_nothing_of_a_mutant(tests: Checkout) -> None:
    """Tests that pytest does not find are an error, since a mutant would count as a survivor without having run."""
    mutant, names = mutant_with("<"), [NAME, NAME.replace("larger", "gone")]
    with pytest.raises(ValueError, match="test_gone"):
        outcome(tests, mutant, {mutant.path: mutant.text.encode()}, names, lambda _name: 0.5)


def test_a_mutant_that_never_ends_is_killed(tests: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mutant whose tests do not end counts as killed when their time is over."""
    monkeypatch.setattr("tools.mutants.runner.LEAST_SECONDS", 0.5)
    text = "def larger(a, b):\n    while True:\n        pass\n"
    mutant = Mutant("core/product.py", "room", 2, 2, "loop", "", "", text)
    found = outcome(tests, mutant, {mutant.path: text.encode()}, [NAME], lambda _name: 0.01)
    assert (found.outcome, found.by) == ("killed", "time")


def test_a_test_that_ends_the_process_hides_no_other(tests: Checkout) -> None:
    """Where tests end the product's process too, those beside them are asked without them, and they never again."""
    (tests.folder / "tests/test_ends.py").write_text("import os\n\n\ndef test_ends():\n    os._exit(3)\n")
    mutant, ends = mutant_with("<"), "tests/test_ends.py::test_ends"
    found = outcome(tests, mutant, {mutant.path: mutant.text.encode()}, [ends, NAME], lambda _name: 0.5)
    assert (found.outcome, found.by) == ("killed", NAME)
    assert tests.mute == {ends}


def test_mutants_run_in_several_copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two copies run mutants at once until there are as many as asked; one that does not compile is none of them."""
    monkeypatch.setattr("tools.mutants.crew.copy", project)
    record = Record(tmp_path / "results.jsonl")

    def run(tests: Checkout, mutant: Mutant) -> Result | None:
        return None if "==" in mutant.text else result(tests, mutant.text.split()[-2])

    with crew.Crew(tmp_path, 2, imported=("pytest", "hypothesis")) as copies:
        mutants = iter([mutant_with("=="), mutant_with("<"), mutant_with(">="), mutant_with("<=")])
        found = crew.campaign(copies, record, mutants, 2, run, again=False)
        assert copies.map(lambda tests, names: tests.failing(names, 10), [[NAME], [NAME]]) == [set(), set()]
    assert [one.outcome for one in found] == ["killed", "survived"]
    assert next(mutants) == mutant_with("<=")


def test_cores_are_shared_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes have cores of their own while there are two for each, and take turns beyond."""
    monkeypatch.setattr("os.sched_getaffinity", lambda _pid: {2, 3, 4, 5, 6}, raising=False)
    assert crew.shares(2) == [[2, 3], [4, 5]]
    assert crew.shares(3) == [[2, 3], [4, 5], [6, 2]]
    assert crew.shares(1) == [[2, 3, 4, 5, 6]]


def test_python_is_changed_where_it_computes() -> None:
    """Annotations, promises of dataclasses and defaults of abstract methods are no place for a mutant; numbers are."""
    pytest.importorskip("cosmic_ray", reason="needs cosmic-ray, which the extra dev has")
    from tools.mutants import python

    source = "@dataclass(frozen=True)\nclass A:\n    x: int | None = 1\n\n    def f(self, y: int | None): return y"
    assert python.meaning(source) == python.meaning(source.replace("int | None", "int & None").replace("True", "False"))
    assert python.meaning(source) != python.meaning(source.replace("= 1", "= 2"))
    abstract = 'def f(x=1, *, y=False):\n    """What it does."""\n'
    assert python.meaning(abstract) == python.meaning(abstract.replace("1", "2").replace("False", "True"))
    assert python.meaning(f"{abstract}    return x") != python.meaning(f"{abstract.replace('1', '2')}    return x")


def test_cpp_is_changed_where_it_computes() -> None:
    """Comments, texts and pointers are no place for a mutant; signs, numbers and statements are."""
    text = '#include "a < b"\n// x + 1\nint *f(V<3> &v) {\n    a.b = v * 2;\n    return "1 + 1";\n}\n'
    found = {kind: [text[start:end] for start, end, _ in places] for kind, places in cpp.places(text).items()}
    assert found == {"sign": ["*"], "word": [], "not": [], "number": ["3", "2"], "statement": ["    a.b = v * 2;"]}
    mutant = cpp.changed(text, "core/native/a.cpp", "native/base", random.Random(1))
    assert mutant is not None
    assert mutant.text != text


def test_the_nearest_tests_come_first() -> None:
    """A mutant gets the tests of its line, those of its name first; on import, those of the file."""
    path = "core/qsim_ex/run/methods.py"
    near, far, other = "tests/run/test_methods.py::a", "tests/state/test_x.py::b", "tests/run/test_y.py::c"
    reach = Reach({far: 0.1, other: 0.5, near: 0.9}, {path: {7: [far, near], 9: [other]}})
    assert reach.tests(path, 7, 7) == [near, far]
    assert reach.tests(path, 1, 1) == [near, other, far]


def test_results_stay(tmp_path: Path) -> None:
    """A record has what an earlier one wrote, so a campaign goes on; the share is of mutants that can be told apart."""
    mutant = Mutant("a.py", "room", 1, 1, "sign", "a", "b", "b")
    kinds = ("survived", "killed", "killed", "killed", "equivalent", "none")
    found = [Result.of(mutant, kind) for kind in kinds]
    record = Record(tmp_path / "results.jsonl")
    record.add(found[1])
    assert Record(tmp_path / "results.jsonl")[mutant.name] == found[1]
    assert share(found) == 0.75
