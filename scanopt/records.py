"""Data classes as those of `dataclasses`, made in less time: a process makes up to 400 of them when it starts.

`dataclasses` compiles up to six methods of each class, before Python 3.13 one by one, which takes a millisecond.  Here
`__init__` is compiled when a class first has an instance, and many classes have none in a process; the other methods
are closures.  Fields, defaults, inheritance, `replace` and `match` work as with `dataclasses`; checkers of types see
that module's decorator.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls=None, /, *, init=True, repr=True, eq=True, frozen=False):
        """Make a class with a field for each of its annotations, as `dataclasses.dataclass` does."""

        def make(cls):
            own = {*vars(cls)}
            made = dataclasses.dataclass(cls, init=False, repr=False, eq=False)
            if frozen:
                made.__setattr__, made.__delattr__ = _refuse_to_set, _refuse_to_delete
            hashed = _hashed if frozen else lambda _: None
            ways = {
                "__repr__": (repr, _shown),
                "__eq__": (eq, _equal),
                "__hash__": (eq, hashed),
                "__init__": (init, _Init),
            }
            for name, (wanted, way) in ways.items():
                if wanted and name not in own:
                    setattr(made, name, way(made))
            return made

        return make if cls is None else make(cls)


__all__ = ["dataclass"]


class _New:
    """The default of an argument whose value is made anew."""

    def __repr__(self) -> str:
        return "<factory>"


class _Init:
    """The `__init__` of a class, which replaces itself by the function that it compiles."""

    def __init__(self, cls: Any) -> None:
        self._cls = cls

    def __get__(self, instance: Any, owner: Any) -> Any:
        self._cls.__init__ = made = _compiled(self._cls)
        return made if instance is None else made.__get__(instance)


def _compiled(cls: Any) -> Any:
    """The function `__init__` of a class, from its fields."""
    put = "put(self, {!r}, {})" if cls.__setattr__ is _refuse_to_set else "self.{} = {}"
    known: dict[str, Any] = {"put": object.__setattr__, "NEW": _New()}
    parameters, lines = ["self"], ["pass"]
    for f in fields(cls):
        new, default = f"new_{f.name}", f"default_{f.name}"
        known[new], known[default] = f.default_factory, f.default
        if f.default_factory is not MISSING:
            parameters += [f"{f.name}=NEW"] * f.init
            lines.append(put.format(f.name, f"{new}() if {f.name} is NEW else {f.name}" if f.init else f"{new}()"))
        elif f.init:
            parameters.append(f.name if f.default is MISSING else f"{f.name}={default}")
            lines.append(put.format(f.name, f.name))
    lines += ["self.__post_init__()"] * hasattr(cls, "__post_init__")
    exec(f"def __init__({', '.join(parameters)}):\n    " + "\n    ".join(lines), known)
    made = known["__init__"]
    made.__module__, made.__qualname__ = cls.__module__, f"{cls.__qualname__}.__init__"
    made.__annotations__ = {f.name: f.type for f in fields(cls) if f.init} | {"return": None}
    return made


def _shown(cls: Any) -> Callable[[Any], str]:
    names = [f.name for f in fields(cls) if f.repr]

    def shown(self: Any) -> str:
        return f"{type(self).__qualname__}({', '.join([f'{n}={getattr(self, n)!r}' for n in names])})"

    return shown


def _values(cls: Any) -> Callable[[Any], Any]:
    """A function that gives the values which instances are compared by."""
    names = [f.name for f in fields(cls) if f.compare]
    return attrgetter(*names) if names else lambda _: ()


def _equal(cls: Any) -> Callable[[Any, Any], Any]:
    values = _values(cls)

    def equal(self: Any, other: Any) -> Any:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    return equal


def _hashed(cls: Any) -> Callable[[Any], int]:
    values = _values(cls)

    def hashed(self: Any) -> int:
        return hash(values(self))

    return hashed


def _refuse_to_set(self: Any, name: str, value: Any) -> NoReturn:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: Any, name: str) -> NoReturn:
    raise FrozenInstanceError(f"cannot delete field {name!r}")
