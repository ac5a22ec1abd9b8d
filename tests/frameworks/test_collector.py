"""Work that the garbage collector does not interrupt."""

import gc

import pytest

from qsim_ex.frameworks import uncollected


@uncollected
def _asked(*, fail: bool = False) -> bool:
    if fail:
        raise ValueError("a failure")
    return gc.isenabled()


def test_the_collector_is_off_inside_and_on_again_afterwards() -> None:
    """It is on again after a failure, too."""
    assert gc.isenabled()
    assert not _asked()
    assert gc.isenabled()
    with pytest.raises(ValueError, match="a failure"):
        _asked(fail=True)
    assert gc.isenabled()


def test_a_collector_that_a_user_switched_off_stays_off() -> None:
    """Nobody else switches it on."""
    gc.disable()
    try:
        assert not _asked()
        assert not gc.isenabled()
    finally:
        gc.enable()
