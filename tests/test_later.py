"""Modules that are loaded when something of them is used."""

from __future__ import annotations

import copy
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from qsim_ex.later import later


def test_a_module_is_loaded_by_the_first_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Naming a module runs nothing of it; its first attribute loads it, and what is assigned to it later is seen."""
    (tmp_path / "loaded_later.py").write_text("number = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    module = later("loaded_later")
    assert "loaded_later" not in sys.modules
    assert "not loaded yet" in repr(module)
    try:
        assert module.number == 1
        sys.modules["loaded_later"].number = 2
        assert module.number == 2
    finally:
        sys.modules.pop("loaded_later", None)


def test_a_module_that_is_missing_is_told_by_its_first_use() -> None:
    """A name without a module raises what an import raises, when it is used; so does a name that the module lacks."""
    with pytest.raises(ModuleNotFoundError, match="loaded_never"):
        _ = later("loaded_never").number
    with pytest.raises(AttributeError, match="sixth"):
        _ = later("math").sixth


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
@pytest.mark.parametrize("used", [False, True])
def test_what_stands_for_a_module_can_be_copied(copied: Callable[[Any], Any], used: bool) -> None:
    """A copy, and what comes out of a pickle, stands for the same module, whether that was loaded before or not."""
    module = later("math")
    assert not used or module.pi
    assert copied(module).pi == copied({"module": module})["module"].pi == module.pi
