"""Settings of the whole library."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np

__all__ = ["Config", "config"]


class Config:
    """The settings, one attribute each; assignments are checked.

    floatX: the dtype of `T.vector()` and the like where none is given.

    >>> config.floatX
    'float64'
    """

    __slots__ = ("_floatX",)

    def __init__(self) -> None:
        self._floatX = "float64"

    @property
    def floatX(self) -> str:  # noqa: N802
        """Default dtype of new floating point variables: "float32" or "float64"."""
        return self._floatX

    @floatX.setter
    def floatX(self, dtype: str) -> None:  # noqa: N802
        name = np.dtype(dtype).name
        if name not in ("float16", "float32", "float64"):
            raise ValueError(f"config.floatX: expected 'float32' or 'float64', found {dtype!r}")
        self._floatX = name


config = Config()
"""The settings in use."""


class _Settings(ModuleType):
    """This module, so that `scanopt.config.floatX` is the setting by either way of import."""

    def __getattr__(self, name: str) -> Any:
        return getattr(config, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(getattr(Config, name, None), property):
            setattr(config, name, value)
        else:
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Settings
