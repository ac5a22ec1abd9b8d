"""Seeds of the runs of a job."""

from __future__ import annotations

import numpy as np
import pytest

from qsim_ex.frameworks import derived_seeds, fresh_job_seed, job_seeds, random_generator


@pytest.mark.parametrize("count", [0, 1, 2, 7])
def test_the_first_circuit_has_the_base_seed(count: int) -> None:
    """The first seed of a job is the one that was given, and all others are below 2^63."""
    seeds = job_seeds(11, count)
    assert len(seeds) == len(set(seeds)) == count
    assert seeds[:1] == [11][:count]
    assert all(0 <= seed < 1 << 63 for seed in seeds)


def test_a_seed_does_not_depend_on_how_many_there_are() -> None:
    """The seeds of a short job are the first ones of a long job with the same base."""
    assert job_seeds(5, 9)[:4] == job_seeds(5, 4)
    assert derived_seeds(5, 9, 2)[:4].tolist() == derived_seeds(5, 4, 2).tolist()


def test_places_have_seeds_of_their_own() -> None:
    """No two places in a job share a seed, and neither do two base seeds."""
    places = [(), (0,), (1,), (0, 0), (0, 1), (1, 0)]
    seeds = [seed for base in (1, 2) for place in places for seed in derived_seeds(base, 3, *place).tolist()]
    assert len(set(seeds)) == len(seeds) == 36


def test_a_place_has_one_generator() -> None:
    """The numbers of a place are the same whenever they are drawn, and others at another place."""
    first = random_generator(3, 1).random(4)
    np.testing.assert_array_equal(random_generator(3, 1).random(4), first)
    assert not np.isin(random_generator(3, 2).random(4), first).any()


def test_fresh_seeds_differ() -> None:
    """Nobody gets the seed of another, and each fits a signed integer of 64 bits."""
    seeds = {fresh_job_seed() for _ in range(20)}
    assert len(seeds) == 20
    assert max(seeds) < 1 << 63
