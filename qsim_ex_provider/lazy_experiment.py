"""One experiment of Qiskit's result, whose data and metadata are made when they are first read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
from qiskit.result.models import ExperimentResult, ExperimentResultData

from qsim_ex import Result as EngineResult
from qsim_ex.frameworks import integers
from qsim_ex_provider.saves.kinds import SavedForm


class LazyData(ExperimentResultData):
    """The data of one circuit: ``counts``, ``memory`` and saved values, each made when it is first read."""

    def __init__(self, result: EngineResult, keep_memory: bool, forms: Mapping[str, SavedForm]) -> None:
        super().__init__()
        self._forms = forms
        self.engine_result = result
        has_shots = result.shots is not None
        self._data_attributes = ["counts"] * has_shots + ["memory"] * (has_shots and keep_memory) + [*result.saved]

    @cached_property
    def counts(self) -> dict[str, int]:
        """How often each outcome was found, by its value in hexadecimal."""
        return {hex(value): count for value, count in self.engine_result.counts().items()}

    @cached_property
    def memory(self) -> list[str]:
        """The outcome of every shot in hexadecimal."""
        if "memory" not in self._data_attributes:
            raise AttributeError("the outcomes of single shots were not kept; run with memory=True.")
        return [hex(value) for value in integers(np.asarray(self.engine_result.packed))]

    def __getattr__(self, name: str) -> Any:
        saved = self.__dict__["engine_result"].saved if "engine_result" in self.__dict__ else {}
        if name not in saved:
            raise AttributeError(f"this result holds no {name!r}.")
        value = self.__dict__["_forms"][name].of(saved[name])
        self.__dict__[name] = value
        return value


class LazyExperiment(ExperimentResult):
    """One circuit's outcome, whose metadata are made when they are first read: they count the costs of all plans."""

    def __init__(self, make_metadata: Callable[[], dict[str, Any]], **fields: Any) -> None:
        super().__init__(**fields)
        self._make_metadata = make_metadata

    def __getattr__(self, name: str) -> Any:
        if name == "metadata" and "metadata" not in self._metadata:
            self._metadata["metadata"] = self._make_metadata()
        return super().__getattr__(name)

    def __repr__(self) -> str:
        """Return what Qiskit shows of an experiment, with the metadata."""
        _ = self.metadata
        return str(super().__repr__())

    def __getstate__(self) -> dict[str, Any]:
        # A copy has the metadata, and not the other experiments of the job.
        _ = self.metadata
        return {name: value for name, value in self.__dict__.items() if name != "_make_metadata"}

    def to_dict(self) -> dict[str, Any]:
        """Return the experiment as a dictionary, with the metadata."""
        _ = self.metadata
        found: dict[str, Any] = super().to_dict()
        return found
