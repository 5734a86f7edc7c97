"""Extensions: modules of other distributions that add laws, facts, operators, cost models and schedules.

A distribution names them in its pyproject.toml,

    [project.entry-points."scanopt.extensions"]
    any_name = "package.module"

and each is imported when laws, or a name that is not known, are first asked for.
"""

from __future__ import annotations

import importlib
import os
import sys
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType

from scanopt.forks import STARTING

__all__ = ["GROUP", "extension_modules", "load_extensions"]

GROUP = "scanopt.extensions"
"""The group of entry points."""

_LOADED: dict[str, ModuleType] = {}
_state = "new"  # then "loading", then "loaded"


def load_extensions() -> bool:
    """Import the extensions that are installed, once.  False while one of them is being imported.

    Raises ImportError naming the extension and its distribution where one cannot be imported.

    >>> load_extensions()
    True
    """
    global _state
    with STARTING:
        if _state == "new":
            _state = "loading"
            try:
                for name, target, distribution in _named():
                    _load(name, target, distribution)
                _state = "loaded"
            finally:
                _state = "loaded" if _state == "loaded" else "new"
        return _state == "loaded"


def extension_modules() -> tuple[ModuleType, ...]:
    """The modules of the extensions, by the names of their entry points.

    Raises ImportError as `load_extensions` does.

    >>> extension_modules()
    ()
    """
    load_extensions()
    return tuple(_LOADED[name] for name in sorted(_LOADED))


def _load(name: str, target: str, distribution: str) -> None:
    module = target.partition(":")[0].strip()
    try:
        _LOADED[name] = importlib.import_module(module)
    except Exception as error:
        raise ImportError(
            f"the extension {name!r} of the distribution {distribution!r} cannot be loaded from {target!r} "
            f"({type(error).__name__}: {error}); mend or uninstall that distribution"
        ) from error


def _named() -> list[tuple[str, str, str]]:
    """Name, module and distribution of each entry point of the group."""
    if not _any():
        return []
    from importlib.metadata import entry_points

    found = {(p.name, p.value, p.dist.name if p.dist else "?") for p in entry_points(group=GROUP)}
    return sorted(found)


def _any() -> bool:
    """Whether any distribution may have such entry points.

    A look at their files takes a millisecond; importing importlib.metadata takes 20, which every program would pay.
    """
    finders = [x for x in sys.meta_path if x is not PathFinder and hasattr(x, "find_distributions")]
    if finders:
        return True
    group = GROUP.encode()
    for place in sys.path:
        if os.path.isfile(place):  # a zip file
            return True
        try:
            names = os.listdir(place or os.curdir)
        except OSError:
            continue
        for name in names:
            if name.endswith((".dist-info", ".egg-info")):
                file = Path(place, name, "entry_points.txt")
                if file.is_file() and group in file.read_bytes():
                    return True
    return False
