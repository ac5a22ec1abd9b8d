"""What is known to be wrong or undecided and therefore not drawn: THE one list, each entry with its reason.

An entry is removed together with the bug; the fuzzer then draws the combination again.
"""

from __future__ import annotations

READOUT_REACHES_CONDITIONS = "readout errors before conditions"
"""A measurement must write the misread bit, and conditions must see that one, as in Aer. The engine misreads bits at
the end alone, so conditions see the true bit."""

EXCLUDED: frozenset[str] = frozenset()
