"""What `import` statements of Theano, Aesara and PyTensor find: `from scanopt.tensor.nlinalg import matrix_inverse`.

There `theano.tensor` and others are packages; here most of what is in them are names of one module, and some are
functions (`theano.ifelse`).  Such a statement finds what the attribute of that name is.
"""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from types import FunctionType, ModuleType
from typing import Any

from scanopt.absent import ABSENT
from scanopt.namespaces import Namespace

__all__ = ["Finder"]

PACKAGES = ("scanopt", "scanopt.tensor", "scanopt.graph", "scanopt.gof", "scanopt.compile", "scanopt.sandbox",
            "scanopt.tensor.nnet", "scanopt.tensor.random")  # fmt: skip
"""What modules are looked for in."""


class Finder:
    """Comes last, for what no file is."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Raises ModuleNotFoundError with what to write, for modules that are not here on purpose."""
        home, _, own = name.rpartition(".")
        if home not in PACKAGES or own.startswith("_"):
            return None
        found = getattr(sys.modules[home], own, None)
        ours = isinstance(found, ModuleType) and found.__name__.startswith("scanopt.")
        if ours or isinstance(found, Namespace) or (isinstance(found, FunctionType) and vars(found)):
            return ModuleSpec(name, _Loader(found), is_package=True)  # type: ignore[arg-type]  # has what is called
        if own in ABSENT and found is None:
            raise ModuleNotFoundError(f"No module named {name!r}; {ABSENT[own]}", name=name)
        return None


class _Loader:
    """Puts what was found in the place of a new module."""

    def __init__(self, found: Any) -> None:
        self.found = found

    def create_module(self, spec: ModuleSpec) -> None:
        """Python makes one."""

    def exec_module(self, module: ModuleType) -> None:
        """What Python gives to the statement is what stands here afterwards."""
        sys.modules[module.__name__] = self.found
