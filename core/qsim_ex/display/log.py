"""The logger of the engine and its adapters, which is silent until a program configures `logging`.

INFO has a line for each run: what ran, where and why, and how long it took. DEBUG adds what was planned, compiled and
found in a cache: ``logging.basicConfig(level=logging.INFO)``, or a level for the logger ``qsim_ex`` alone.
"""

from __future__ import annotations

import logging

LOGGER = logging.getLogger("qsim_ex")
LOGGER.addHandler(logging.NullHandler())
