"""Records behave as frozen dataclasses do, but that only the type checker keeps them from being changed."""

from __future__ import annotations

import dataclasses
import pickle
from dataclasses import field
from typing import Any

import pytest

from warplint.records import dataclass


@dataclass(frozen=True, slots=True)
class Ours:
    """A record of ours."""

    name: str
    places: tuple[int, ...] = ()
    note: str = field(default="", compare=False)
    hidden: int = field(default=0, repr=False)


@dataclasses.dataclass(frozen=True, slots=True)
class Theirs:
    """The same as Python makes it."""

    name: str
    places: tuple[int, ...] = ()
    note: str = field(default="", compare=False)
    hidden: int = field(default=0, repr=False)


@dataclass(frozen=True, slots=True)
class Other:
    """Another record with fields of the same names."""

    name: str
    places: tuple[int, ...] = ()


@dataclass(frozen=True)
class Own:
    """A record with methods of its own."""

    name: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Own)

    def __hash__(self) -> int:
        return 7

    def __repr__(self) -> str:
        return "mine"


@dataclass(frozen=True, slots=True)
class Nothing:
    """A record without fields."""


PAIRS: list[tuple[tuple[Any, ...], tuple[Any, ...]]] = [
    (("a",), ("a",)),
    (("a",), ("b",)),
    (("a", (1,)), ("a", (2,))),
    (("a", (1,), "said"), ("a", (1,), "not said")),
    (("a", (), "", 1), ("a", (), "", 2)),
]


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_equality_hash_and_text(one: tuple[Any, ...], other: tuple[Any, ...]) -> None:
    assert (Ours(*one) == Ours(*other)) is (Theirs(*one) == Theirs(*other))
    assert (hash(Ours(*one)) == hash(Ours(*other))) is (hash(Theirs(*one)) == hash(Theirs(*other)))
    assert repr(Ours(*one)) == repr(Theirs(*one)).replace("Theirs", "Ours")


def test_records_of_different_classes_differ() -> None:
    assert Ours("a") != Other("a")
    assert Ours("a") != ("a", ())
    assert Nothing() == Nothing()
    assert hash(Nothing()) == hash(Nothing())


def test_what_a_record_defines_itself_is_kept() -> None:
    assert Own("a") == Own("b")
    assert (hash(Own("a")), repr(Own("a"))) == (7, "mine")


def test_they_are_dataclasses() -> None:
    record = Ours("a", (1,), "said")
    assert [one.name for one in dataclasses.fields(record)] == ["name", "places", "note", "hidden"]
    assert dataclasses.replace(record, name="b") == Ours("b", (1,))
    assert pickle.loads(pickle.dumps(record)) == record
    assert not hasattr(record, "__dict__")
