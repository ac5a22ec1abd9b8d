"""The χ² test of counts against a distribution that is known exactly."""

from __future__ import annotations

from collections.abc import Mapping

from scipy.stats import chi2

_LEAST = 5
"""The least expected count of an outcome by itself; rarer ones are taken together."""


def probability(counts: Mapping[int, int], exact: Mapping[int, float]) -> float:
    """Return how probable counts are that differ from their distribution as much as these; 0 for an impossible one."""
    total = sum(counts.values())
    if any(exact.get(value, 0) < 1e-12 for value in counts):
        return 0.0
    pairs = [(counts.get(value, 0), p * total) for value, p in exact.items()]
    often, seldom = [pair for pair in pairs if pair[1] >= _LEAST], [pair for pair in pairs if pair[1] < _LEAST]
    if sum(expected for _, expected in seldom) >= _LEAST:
        often.append((sum(found for found, _ in seldom), sum(expected for _, expected in seldom)))
    if len(often) < 2:
        return 1.0
    return float(chi2.sf(sum((found - expected) ** 2 / expected for found, expected in often), len(often) - 1))
