"""Tests of the list of other packages, and of the table of their versions."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType

import pytest
from support.paths import ROOT


@pytest.fixture(scope="module")
def ecosystem() -> ModuleType:
    """The tool as a module."""
    spec = importlib.util.spec_from_file_location("ecosystem", ROOT / "tools" / "ecosystem.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["ecosystem"] = module  # dataclasses look their module up there
    spec.loader.exec_module(module)
    return module


def test_every_package_has_its_jobs_and_every_job_its_package(ecosystem: ModuleType) -> None:
    """The test files in tests/ecosystem are those that the packages name."""
    assert {package.test for package in ecosystem.PACKAGES} == set(ecosystem.TESTS.glob("test_*.py"))


def test_the_page_names_every_package(ecosystem: ModuleType) -> None:
    """docs/ecosystem.md has the marks of the table, and says of each package how it takes a backend."""
    page = ecosystem.PAGE.read_text(encoding="utf-8")
    assert ecosystem.replaced(page, "").count(ecosystem.BEGIN) == 1
    before = page.partition(ecosystem.BEGIN)[0].lower()
    assert [package.name for package in ecosystem.PACKAGES if package.name not in before] == []


@pytest.mark.parametrize(
    ("passed", "failed", "skipped", "good"), [(3, 0, 0, True), (3, 1, 0, False), (3, 0, 1, False), (0, 0, 0, False)]
)
def test_only_jobs_that_all_ran_are_good(
    ecosystem: ModuleType, passed: int, failed: int, skipped: int, good: bool
) -> None:
    """A test that was skipped has shown nothing, and neither has a file without tests."""
    versions = {"mitiq": "1.1.0", "qiskit": "2.6.2"}
    (package,) = ecosystem.named(["mitiq"])
    outcome = ecosystem.Outcome(package, versions, passed, failed, skipped, 1.0)
    assert outcome.good == good
    assert f"mitiq 1.1.0, qiskit 2.6.2: {passed} passed, {failed} failed, {skipped} skipped" in outcome.line()


def test_the_table_replaces_the_one_before(ecosystem: ModuleType) -> None:
    """A page keeps what stands around its table, and its table is the last one written."""
    page = f"before\n{ecosystem.BEGIN}\nold\n{ecosystem.END}\nafter\n"
    first = ecosystem.replaced(page, "first")
    assert ecosystem.replaced(first, "second") == first.replace("first", "second")
    assert first.startswith("before\n")
    assert first.endswith("after\n")
    assert "old" not in first
    with pytest.raises(SystemExit, match="once each"):
        ecosystem.replaced("no marks", "table")


def test_an_unknown_package_is_refused(ecosystem: ModuleType) -> None:
    """A name that is not in the list is an error that names the list."""
    with pytest.raises(SystemExit, match=r"expected one of .*mitiq.*; got 'mitik'"):
        ecosystem.named(["mitik"])
