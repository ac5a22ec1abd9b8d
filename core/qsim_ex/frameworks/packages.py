"""The installed packages, and the one command that installs the missing ones.

All of it is read from the metadata of the installed distribution, so that the advice of the command line and the
requirements in pyproject.toml cannot differ.
"""

from __future__ import annotations

import re
import shlex
from importlib import metadata

DISTRIBUTION = "qsim-ex"

NOT_INSTALLED = "qsim-ex runs from a checkout that is not installed"
"""Why nothing is known of packages: pytest and PYTHONPATH bring the code without its metadata."""

_EXTRA = re.compile(r"""extra\s*==\s*["']([^"']+)["']""")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def version(distribution: str = DISTRIBUTION) -> str | None:
    """Return the version of an installed distribution, None if it is not installed."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def requirements(extra: str = "", distribution: str = DISTRIBUTION) -> tuple[str, ...]:
    """Return the requirements of a distribution's extra (without one: always), as pip reads them; empty if unknown."""
    try:
        lines = metadata.requires(distribution) or []
    except metadata.PackageNotFoundError:
        return ()
    found = []
    for line in lines:
        wanted, _, marker = line.partition(";")
        named = _EXTRA.search(marker)
        if (named.group(1) if named else "") == extra:
            found.append(wanted.strip())
    return tuple(found)


def name_of(requirement: str) -> str:
    """Return the distribution that a requirement names: ``qiskit`` of ``qiskit[qasm3-import]>=2.0``."""
    found = _NAME.match(requirement)
    return found.group() if found else requirement


def install_command(extra: str, distribution: str = DISTRIBUTION) -> str:
    """Return the command that installs an extra's packages, whether or not an index has qsim-ex itself."""
    wanted = requirements(extra, distribution)
    if wanted:
        return "pip install " + " ".join(shlex.quote(requirement) for requirement in wanted)
    return f"pip install -e '.[{extra}]'"
