"""Records answer as Python's dataclasses of the same fields do, but that they may be changed at run time."""

from __future__ import annotations

import copy
import pickle
from dataclasses import astuple, field, fields, replace
from dataclasses import dataclass as original
from typing import Any

import pytest

from qsim_ex.records import dataclass


@dataclass(frozen=True, slots=True)
class Point:
    """Two numbers and a name that comparisons leave out."""

    x: int
    y: list[int] = field(default_factory=list)
    name: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class One:
    """One number, which a comparison must not take for a row of them."""

    x: object


@dataclass
class Open:
    """What may be changed has no hash."""

    x: int = 1


@dataclass(frozen=True)
class Own:
    """Methods that a class has itself stay."""

    x: int

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 7

    def __repr__(self) -> str:
        return "own"


@dataclass(frozen=True, eq=False, repr=False)
class Plain:
    """Without `eq` and `repr` it has those of any object."""

    x: int = 0


def test_it_compares_and_shows_its_fields() -> None:
    """Equal fields make equal records with equal hashes and words; other classes and other fields do not."""
    assert Point(1, [2]) == Point(1, [2], name="other") != Point(2, [2])
    assert Point(1) != (1, [])
    assert One((1, 2)) == One((1, 2)) != Point(1)
    assert hash(One(3)) == hash(One(3))
    assert len({One(3), One(3), One(4)}) == 2
    assert repr(Point(1, [2], "left out")) == "Point(x=1, y=[2])"
    with pytest.raises(TypeError, match="unhashable"):
        hash(Point(1))  # a list has none
    with pytest.raises(TypeError, match="unhashable"):
        hash(Open())


def test_what_a_class_says_itself_stays() -> None:
    """Neither are own methods replaced, nor are those made that are not asked for."""
    assert Own(1) == Own(2)
    assert hash(Own(1)) == 7
    assert repr(Own(1)) == "own"
    assert Plain() != Plain()
    assert "object at" in repr(Plain())


def test_it_is_a_dataclass() -> None:
    """What the standard library does with dataclasses, with copies and with pickles, it does with records."""
    point = Point(1, [2], "a")
    assert [one.name for one in fields(Point)] == ["x", "y", "name"]
    assert astuple(replace(point, x=3)) == (3, [2], "a")
    for made in (copy.deepcopy(point), pickle.loads(pickle.dumps(point))):
        assert astuple(made) == astuple(point)
    match point:
        case Point(x, _, name):
            assert (x, name) == (1, "a")


def test_a_record_that_holds_itself_has_words() -> None:
    """A record that is among its own fields is shown by three dots there, as Python's dataclasses are."""
    one, known = One([]), original(type("One", (), {"__annotations__": {"x": object}}))([])
    for each in (one, known):
        held: Any = each.x
        held.append(each)
    assert repr(one) == "One(x=[...])" == repr(known)
