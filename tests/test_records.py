"""Data classes (`scanopt/records.py`) behave as those of `dataclasses`."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from dataclasses import FrozenInstanceError, field, fields, replace
from typing import Any

import pytest

from scanopt.records import dataclass


@dataclass(frozen=True)
class Point:
    """A point."""

    x: int
    y: int = 2
    tags: list[str] = field(default_factory=list[str], compare=False, repr=False)


@dataclass(frozen=True)
class Far(Point):
    """A point with a distance, which is computed."""

    far: float = 0.0
    square: float = field(init=False, default=-1.0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "square", self.far**2)


@dataclass
class Counter:
    """Counts."""

    n: int = 0
    seen: dict[str, int] = field(init=False, default_factory=dict[str, int])


@dataclass(frozen=True, eq=False)
class Named:
    """Has an identity."""

    name: str


@dataclass(frozen=True, init=False)
class Own:
    """Makes itself."""

    names: tuple[str, ...]

    def __init__(self, *names: str) -> None:
        object.__setattr__(self, "names", names)

    def __repr__(self) -> str:
        return f"Own{self.names}"


def twin(cls: Any, **options: Any) -> Any:
    """The class that `dataclasses` makes of the same fields."""
    made = [
        (f.name, f.type, dataclasses.field(default=f.default, default_factory=f.default_factory)) for f in fields(cls)
    ]
    return dataclasses.make_dataclass(cls.__name__, [x for x in made if x[0] != "square"], **options)


@pytest.mark.parametrize(("given", "names"), [((1,), {}), ((1, 3), {}), ((), {"y": 4, "x": 3}), ((1, 2, ["a"]), {})])
def test_values_are_those_of_a_data_class(given: tuple[Any, ...], names: dict[str, Any]) -> None:
    ours, other = Point(*given, **names), twin(Point)(*given, **names)
    assert dataclasses.asdict(ours) == dataclasses.asdict(other)
    assert repr(ours) == f"Point(x={other.x}, y={other.y})"


@pytest.mark.parametrize(("given", "names"), [((), {}), ((1, 2, [], 4), {}), ((1,), {"x": 2}), ((1,), {"z": 2})])
def test_wrong_arguments_raise_as_a_data_class_does(given: tuple[Any, ...], names: dict[str, Any]) -> None:
    texts: list[str] = []
    for make in (Point, twin(Point)):
        with pytest.raises(TypeError) as found:
            make(*given, **names)
        texts.append(str(found.value))
    assert texts[0] == texts[1]


def test_equality_and_hashes() -> None:
    assert Point(1, tags=["a"]) == Point(1, 2)
    assert Point(1) != Point(2)
    assert Point(1) != Far(1)
    assert hash(Point(1, tags=["a"])) == hash(Point(1, 2))
    assert {Point(1): "found"}[Point(1)] == "found"
    assert Named("a") != Named("a")
    assert len({Named("a"), Named("a")}) == 2
    assert Counter(1) == Counter(1)
    with pytest.raises(TypeError, match="unhashable"):
        hash(Counter())


def test_frozen_ones_stay_as_they_are() -> None:
    p = Point(1)
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'x'"):
        p.x = 2  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'x'"):
        del p.x
    c = Counter()
    c.n += 1
    assert c == Counter(1)


def test_inheritance_and_what_is_computed_afterwards() -> None:
    far = Far(1, far=3.0)
    assert (far.x, far.y, far.square) == (1, 2, 9.0)
    assert [f.name for f in fields(far)] == ["x", "y", "tags", "far", "square"]
    assert repr(far) == "Far(x=1, y=2, far=3.0, square=9.0)"
    assert replace(far, far=2.0).square == 4.0


def test_each_instance_has_its_own_lists() -> None:
    assert Point(1).tags is not Point(1).tags
    assert Counter().seen is not Counter().seen


def test_matching_copies_and_pickles() -> None:
    match Point(3, 4):
        case Point(x, y):
            assert (x, y) == (3, 4)
    for p in (Point(3, 4), Far(1, far=2.0), Own("a", "b")):
        assert copy.deepcopy(p) == pickle.loads(pickle.dumps(p)) == p


def test_methods_of_the_class_itself_are_kept() -> None:
    assert repr(Own("a", "b")) == "Own('a', 'b')"
    assert Own("a") == Own("a")


def test_signatures_are_there_before_the_first_instance() -> None:
    @dataclass(frozen=True)
    class Fresh:
        """Has no instance."""

        x: int
        y: float = 1.5
        more: list[int] = field(default_factory=list[int])

    shown = "(x: 'int', y: 'float' = 1.5, more: 'list[int]' = <factory>) -> None"
    assert str(inspect.signature(Fresh)) == shown
    assert Fresh(1).__init__.__qualname__.endswith("Fresh.__init__")  # type: ignore[misc]
