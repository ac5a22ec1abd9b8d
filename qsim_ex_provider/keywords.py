"""The options of a run as keywords, for type checkers and editors."""

from __future__ import annotations

import concurrent.futures
from typing import Any

from qsim_ex.options import EngineKeywords


class RunKeywords(EngineKeywords, total=False):
    """The options of a run, `options.KNOWN`: ``**options: Unpack[RunKeywords]``."""

    precision: Any
    shots: int
    memory: bool
    seed_simulator: int | None
    executor: concurrent.futures.Executor | None
    noise_model: Any
