"""Whether counts can come from a distribution: bounds on probabilities that hold exactly, for any number of shots.

Chernoff's bound P(X ≥ k) ≤ exp(−N·D(k/N ‖ p)) (Cover and Thomas, "Elements of Information Theory", section 11.4) on
each outcome and on parities of bits, and Hoeffding's on means, both multiplied by the number of questions. They err
on the safe side, so a threshold of 1e-9 means less than one false alarm in 10^9 cases.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import combinations

SUSPICION = 1e-3
"""What is less likely than this is asked again, with another seed and more shots."""

PROOF = 1e-9
"""What is less likely than this, the second time, is a failure."""

MORE = 20
"""How many times more shots the second time."""

IMPOSSIBLE = 1e-12
"""An outcome that has less probability than this in exact arithmetic is never found."""


def divergence(found: float, expected: float) -> float:
    """D(found ‖ expected) of two coins, in nats."""
    total = 0.0
    for a, b in ((found, expected), (1 - found, 1 - expected)):
        if a > 0:
            total += a * math.log(a / b) if b > 0 else math.inf
    return max(total, 0.0)


def of_counts(counts: Mapping[int, int], expected: Mapping[int, float], bits: int) -> float:
    """A bound on the probability of counts that are as far from the distribution as these, or farther."""
    shots = sum(counts.values())
    if any(expected.get(value, 0.0) < IMPOSSIBLE for value, count in counts.items() if count):
        return 0.0
    events = [(counts.get(value, 0), p) for value, p in expected.items()]
    masks = [1 << bit for bit in range(bits)] + [1 << a | 1 << b for a, b in combinations(range(bits), 2)]
    for mask in masks:
        odd = sum(count for value, count in counts.items() if (value & mask).bit_count() & 1)
        events.append((odd, sum(p for value, p in expected.items() if (value & mask).bit_count() & 1)))
    worst = max((divergence(found / shots, min(max(p, 0.0), 1.0)) for found, p in events), default=0.0)
    return min(1.0, 2 * len(events) * math.exp(-min(shots * worst, 700)))


def of_mean(found: float, expected: float, largest: float, count: int) -> float:
    """A bound on the probability that a mean of `count` values within ±largest is so far from what is expected."""
    if largest == 0:
        return 1.0 if abs(found - expected) < 1e-9 else 0.0
    return min(1.0, 2 * math.exp(-min(count * (found - expected) ** 2 / (2 * largest**2), 700)))
