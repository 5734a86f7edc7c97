"""Rules of a bridge by the names of operators, registered by decorators in the modules of a package."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TypeVar

__all__ = ["RuleRegistry"]

R = TypeVar("R", bound=Callable[..., object])


class RuleRegistry(dict[str, R]):
    """Rules by name.

    package, modules: the modules that register rules, imported by `loaded`.

    >>> rules = RuleRegistry()
    >>> @rules.rule("add", "plus")
    ... def added(x, y):
    ...     return x + y
    >>> rules["plus"](1, 2)
    3
    """

    def __init__(self, package: str = "", *modules: str) -> None:
        super().__init__()
        self._modules = [f"{package}.{name}" for name in modules]

    def rule(self, *names: str) -> Callable[[R], R]:
        """A decorator that registers the rule for operators of these names."""

        def keep(f: R) -> R:
            self.update(dict.fromkeys(names, f))
            return f

        return keep

    def loaded(self) -> RuleRegistry[R]:
        """All rules, after importing the modules that register them."""
        for name in self._modules:
            importlib.import_module(name)
        return self
