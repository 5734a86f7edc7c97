"""Libraries that only some functions need: imported when one of these is called."""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["library"]


def library(module: str, extra: str, what: str) -> Any:
    """A module of another library.  Raises ImportError, saying what to install, where it is not installed.

    extra: the extra of this package that brings the library; "" for a library that this package always brings, but
    that may be missing where a saved program runs alone.  what: the function that needs it.

    >>> library("nonesuch.core", "jax", "from_jax")
    Traceback (most recent call last):
    ImportError: from_jax needs nonesuch: install it with pip install 'scanopt[jax]' (No module named 'nonesuch')
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        name = module.partition(".")[0]
        package = f"'scanopt[{extra}]'" if extra else name
        raise ImportError(f"{what} needs {name}: install it with pip install {package} ({error})") from error
