"""The written rule that chooses between compiling and interpreting."""

from __future__ import annotations

from qsim_ex.kernels.cuda.policy import RETURNS, Candidate, choose, extra_seconds, worth_a_look

NEW = Candidate(at_hand=False, runs=0)


def test_always_and_never_mean_what_they_say():
    """The option overrides all that the rule would weigh."""
    for at_hand in (False, True):
        candidates = [Candidate(at_hand, runs) for runs in (0, 99)]
        assert choose(candidates, 33, 16, 1, "always") == (True, True)
        assert choose(candidates, 33, 16, 1, "never") == (False, False)


def test_a_kernel_at_hand_is_used():
    """What is compiled already costs nothing, so even a tiny state uses it; its neighbours are interpreted."""
    assert choose([Candidate(True, 0), NEW], 3, 8, 16) == (True, False)


def test_first_small_runs_are_interpreted():
    """A circuit of 12 or 24 wires that runs once would take longer to compile than to interpret."""
    for num_bits in (0, 12, 24):
        assert choose([NEW] * 8, num_bits, 8, 16) == (False,) * 8


def test_a_large_first_run_is_compiled():
    """At 33 wires interpreting costs seconds, more than compiling does on many cores."""
    assert choose([NEW] * 10, 33, 8, 16) == (True,) * 10


def test_more_cores_compile_sooner():
    """With one core ten kernels take ten times as long, so that a middling state is interpreted."""
    assert all(choose([NEW] * 10, 31, 16, 16))
    assert not any(choose([NEW] * 10, 29, 8, 1))


def test_what_came_back_is_compiled():
    """A structure that was interpreted `RETURNS` times gets its kernel, however small the state."""
    counts = range(RETURNS + 2)
    chosen = choose([Candidate(False, runs) for runs in counts], 5, 8, 16)
    assert chosen == tuple(runs >= RETURNS for runs in counts)


def test_looking_at_the_disk_is_for_what_may_pay():
    """Kernels of small states that are new are not even written."""
    assert not worth_a_look(12, 8, 0)
    assert worth_a_look(12, 8, 1)
    assert worth_a_look(28, 8, 0)


def test_interpreting_costs_more_for_larger_states():
    """The prediction grows with bytes and never vanishes."""
    costs = [extra_seconds(n, itemsize) for n in (0, 20, 30) for itemsize in (8, 16)]
    assert costs == sorted(costs)
    assert costs[0] > 0
