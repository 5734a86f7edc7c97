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

_LOADED: dict[tuple[str, str, str], ModuleType] = {}
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
                for extension in _named():
                    _LOADED[extension] = _imported(*extension)
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
    return tuple(_LOADED[extension] for extension in sorted(_LOADED))


def _imported(name: str, target: str, distribution: str) -> ModuleType:
    module = target.partition(":")[0].strip()
    try:
        return importlib.import_module(module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # SystemExit, too
        raise ImportError(
            f"the extension {name!r} of the distribution {distribution!r} cannot be loaded from {target!r} "
            f"({type(error).__name__}: {error}); fix or uninstall that distribution"
        ) from error


def _named() -> list[tuple[str, str, str]]:
    """Name, module and distribution of each entry point of the group."""
    if not _any():
        return []
    from importlib.metadata import entry_points

    try:
        found = {(p.name, p.value, (p.dist and p.dist.name) or "?") for p in entry_points(group=GROUP)}
    except Exception as error:
        raise ImportError(
            f"the extensions that are installed cannot be listed: {_unreadable()} cannot be read "
            f"({type(error).__name__}: {error}); fix or uninstall that distribution"
        ) from error
    return sorted(found)


def _unreadable() -> str:
    """The distribution whose entry points cannot be read."""
    from importlib.metadata import distributions

    for d in distributions():
        try:
            _ = d.name, d.entry_points
        except Exception:
            return f"what is written in {str(getattr(d, '_path', d.locate_file('')))!r}"
    return "one of their distributions"


def _any() -> bool:
    """Whether any distribution may have entry points of the group.

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
            if name.endswith((".dist-info", ".egg-info")) and _holds(Path(place, name, "entry_points.txt"), group):
                return True
    return False


def _holds(file: Path, text: bytes) -> bool:
    """Whether `file` contains `text`; False where it does not exist or cannot be read."""
    try:
        return text in file.read_bytes()
    except OSError:
        return False
