"""Gives a wheel its native library and the tag of that library's platform; it belongs to no version of Python."""

from __future__ import annotations

import os
import platform
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class WheelTag(BuildHookInterface[Any]):
    """A hatchling hook; an editable install is for this machine in any case."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the library, which asks Python for nothing, and set the tag: what tools/backend.py built for."""
        if version == "editable":
            return
        target = os.environ.get("QSIM_EX_PLATFORM") or f"manylinux_2_17_{platform.machine()}"
        architecture = target.removeprefix("manylinux_2_17_").removeprefix("linux_").removeprefix("macosx_11_0_")
        name = f"qsim_ex/native/built/libqsim_ex_{architecture}.so"
        build_data["force_include"][f"core/{name}"] = name
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{target}"
