"""The written rule that chooses between compiling and interpreting."""

from __future__ import annotations

import itertools

from qsim_ex.kernels.cuda.compile.policy import RETURNS, CandidateSweep, choose, extra_seconds, may_choose
from qsim_ex.kernels.cuda.write.register_layout import visited_bits
from qsim_ex.precision import DOUBLE, PRECISIONS, SINGLE
from qsim_ex.steps import Sweep


def new(bits, runs=0):
    """A sweep over 2^bits amplitudes that has no kernel yet."""
    return CandidateSweep(at_hand=False, runs=runs, bits=bits)


def test_a_kernel_at_hand_is_used():
    """A compiled kernel is used even for a tiny state, while its neighbours are interpreted."""
    assert choose([CandidateSweep(True, 0, 3), new(3)], SINGLE, 16) == (True, False)


def test_first_small_runs_are_interpreted():
    """A circuit of 12 or 24 wires that runs once is interpreted."""
    for bits in (0, 12, 24):
        assert choose([new(bits)] * 8, SINGLE, 16) == (False,) * 8


def test_a_large_first_run_is_compiled():
    """At 35 wires sweeps are compiled, since interpreting them would cost seconds."""
    assert choose([new(35)] * 10, SINGLE, 16) == (True,) * 10


def test_each_sweep_is_judged_by_its_own_size():
    """While a state of 35 wires grows, its first sweeps are interpreted and its last ones compiled, in any order."""
    sizes = (12, 19, 26, 35, 35, 35, 22)
    assert choose([new(bits) for bits in sizes], SINGLE, 16) == tuple(bits == 35 for bits in sizes)


def test_sweeps_that_fill_the_last_round_badly_are_interpreted():
    """Four cores compile the four costliest kernels, and interpret one more that costs little."""
    assert choose([new(28), *[new(35)] * 4], SINGLE, 4) == (False, True, True, True, True)


def test_more_cores_compile_sooner():
    """Middling states are compiled on many cores, and interpreted on one."""
    assert all(choose([new(32)] * 10, DOUBLE, 16))
    assert not any(choose([new(29)] * 10, SINGLE, 1))


def test_what_came_back_is_compiled():
    """A structure that was interpreted `RETURNS` times gets its kernel, however small the state."""
    counts = range(RETURNS + 2)
    chosen = choose([new(5, runs) for runs in counts], SINGLE, 16)
    assert chosen == tuple(runs >= RETURNS for runs in counts)


def test_interpreting_costs_more_for_larger_states():
    """The prediction grows with bytes and never vanishes."""
    costs = [extra_seconds(n, row) for n in (0, 20, 30) for row in PRECISIONS.values()]
    assert costs == sorted(costs)
    assert costs[0] > 0


def test_a_growing_sweep_visits_less_than_the_state():
    """Bits that stay fresh halve what is visited; those in the tile do not."""
    sweep = Sweep(tile=(0, 1, 2, 3, 9), register_blocks=(), numbers=0, tables=0, fresh=0b11_0000_0011_0000_0000)
    assert visited_bits(sweep, 20) == 17


def test_what_may_not_be_chosen_is_not():
    """Where `may_choose` says no, no sweep that is as large or smaller and ran as often or less gets a kernel."""
    answers = set()
    for bits, runs, cores in itertools.product((4, 20, 26, 28, 31, 36), range(4), (1, 16)):
        may = may_choose(runs, bits, SINGLE)
        answers.add(may)
        some = [new(of, ran) for of in (bits, bits - 4) for ran in range(runs + 1)] * 8
        assert may or not any(choose(some, SINGLE, cores))
    assert answers == {True, False}
