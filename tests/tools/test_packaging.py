"""Tests of what makes packages: compilers, the recipe, the workflows and the citation agree with the source."""

from __future__ import annotations

import importlib
import os
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from support.paths import ROOT

from tools import native

yaml = pytest.importorskip("yaml")

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


def names(requirements: list[str]) -> set[str]:
    """Return requirements without what stands in brackets, as conda writes them."""
    return {re.sub(r"\[.*?\]", "", one).replace(">=", " >=") for one in requirements}


def test_the_recipe_asks_for_what_the_project_asks_for() -> None:
    """Requirements of the conda recipe, for the build and for a run, are those of pyproject.toml."""
    recipe = yaml.safe_load((ROOT / "packaging/conda/recipe.yaml").read_text())
    needs = recipe["requirements"]
    python = f"python {PROJECT['project']['requires-python']}"
    assert set(needs["run"]) == {python, *names(PROJECT["project"]["dependencies"])}
    assert set(needs["host"]) == {"python", "pip", *names(PROJECT["build-system"]["requires"])}
    oldest = PROJECT["project"]["requires-python"].removeprefix(">=")
    assert f'match(python, "<{oldest}")' in recipe["build"]["skip"]  # of the Pythons for which the channel builds
    assert recipe["about"]["license"] == PROJECT["project"]["license"]


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.name)
def test_workflows_run_programs_of_this_checkout(file: Path) -> None:
    """Every program that a workflow calls by its path is there and may be executed."""
    found = re.findall(r"(?:\.ci|packaging|tools)/[\w./]+", file.read_text())
    assert found
    for name in found:
        assert os.access(ROOT / name, os.X_OK), name


def test_workflows_and_classifiers_name_the_same_pythons() -> None:
    """CI runs every Python that the package says it supports."""
    tried = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())["jobs"]["run"]["strategy"]["matrix"][
        "python"
    ]
    stated = [row.rpartition(" ")[2] for row in PROJECT["project"]["classifiers"] if re.search(r":: 3\.\d+$", row)]
    assert tried == stated


def test_the_citation_has_the_project_s_licence_and_title() -> None:
    """CITATION.cff says what pyproject.toml says, and no version, which a tag has."""
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["cff-version"] == "1.2.0"
    assert (citation["title"], citation["license"]) == (PROJECT["project"]["name"], PROJECT["project"]["license"])
    assert "version" not in citation


def test_a_compiler_of_the_machine_serves_where_ziglang_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without ziglang $CXX compiles, then clang++, then g++; for another machine, or with none, there is an error."""
    there = {"clang++", "g++", "mine"}
    monkeypatch.setattr(native, "compiler_present", lambda: False)
    monkeypatch.setattr(native.shutil, "which", lambda name: name if name in there else None)
    monkeypatch.setenv("CXX", "mine")
    assert native.compiler_here() == "mine"
    monkeypatch.delenv("CXX")
    assert native.compiler_here() == "clang++"
    there.discard("clang++")
    assert native.compiler_here() == "g++"
    with pytest.raises(FileNotFoundError, match="compiles for other machines; run `pip install ziglang"):
        native.compiler_here("another")
    there.clear()
    with pytest.raises(FileNotFoundError, match=r"found neither ziglang, \$CXX, clang\+\+ nor g\+\+"):
        native.compiler_here()


def test_a_checkout_whose_library_is_built_needs_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """An installation asks for ziglang only where a library of these sources, for this machine, is missing."""
    backend = pytest.importorskip("tools.backend")
    for built in (True, False):
        monkeypatch.setattr(backend, "_built", lambda there=built: there)
        assert (backend.NATIVE[0] in backend.get_requires_for_build_editable()) != built
        assert (backend.NATIVE[0] in backend.get_requires_for_build_wheel()) != built
        assert backend.NATIVE[0] in backend.get_requires_for_build_wheel({"target": "aarch64"})


@pytest.mark.parametrize("settings", [None, {}, {"kernels": "all"}, {"kernels": "90"}])
def test_wheels_of_a_checkout_have_kernels_where_they_can_run(
    settings: dict[str, str] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wheel asks for NVIDIA's compiler where there is a driver, or with ``kernels=``; an sdist always does."""
    backend = pytest.importorskip("tools.backend")

    monkeypatch.setattr(backend.platform, "libc_ver", lambda: ("glibc", "2.36"))
    monkeypatch.setattr(backend, "_came", lambda: False)
    monkeypatch.setattr(backend, "_built", lambda: True)
    for driver in (False, True):
        monkeypatch.setattr(backend, "_driver", lambda there=driver: there)
        wanted = driver or bool(settings)
        assert (backend.COMPILER[1] in backend.get_requires_for_build_wheel(settings)) == wanted
        assert backend.COMPILER[1] in backend.get_requires_for_build_sdist(settings)
        assert not {*backend.COMPILER} & {*backend.get_requires_for_build_wheel({"kernels": "none"})}


def test_a_package_without_kernels(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """``kernels=none`` packs no kernels, not even those that an earlier build has left, and needs no compiler."""
    backend = pytest.importorskip("tools.backend")
    monkeypatch.setattr(backend, "KERNELS", tmp_path)
    (tmp_path / "sm_90.zip").touch()
    backend._ship({"kernels": "none"})
    assert not [*tmp_path.iterdir()]
    assert not {*backend.COMPILER} & {*backend.get_requires_for_build_sdist({"kernels": "none"})}


def test_a_package_has_kernels_of_the_architectures_that_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By default there is an archive for each, with ``kernels=80,90`` for these alone; a wrong name is an error."""
    backend = pytest.importorskip("tools.backend")
    pytest.importorskip("hatchling.build")
    monkeypatch.syspath_prepend(str(ROOT / "tools"))  # where the backend finds what lies beside it
    ship_kernels = importlib.import_module("ship_kernels")
    monkeypatch.setattr(ship_kernels.shipped, "FOLDER", tmp_path)
    monkeypatch.setattr(ship_kernels, "find_compiler", lambda: lambda code, arch: f"{arch}:{code}".encode())
    for settings, wanted in (({}, ship_kernels.shipped.ARCHITECTURES), ({"kernels": "80,90"}, ("80", "90"))):
        backend._ship(settings)
        assert {path.name for path in tmp_path.iterdir()} == {f"sm_{arch}.zip" for arch in wanted}
    with pytest.raises(ValueError, match=r"kernels=91: expected all, none, or some of 75,80"):
        backend._ship({"kernels": "91"})
