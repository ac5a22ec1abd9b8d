"""Names the platform in a wheel's tag: the native library belongs to one, but to no version of Python."""

from __future__ import annotations

import platform
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class WheelTag(BuildHookInterface[Any]):
    """Sets the tag of wheels; an editable install is for this machine in any case."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Set the tag: the library needs the glibc of manylinux2014, and asks Python for nothing."""
        if version != "editable":
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-manylinux_2_17_{platform.machine()}"
