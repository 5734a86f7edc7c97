"""vectorize: makes a function of arrays with few axes work on arrays with more axes in front."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

from scanopt.array.operators.shaping import squeeze
from scanopt.array.shapes import axes_text
from scanopt.array.variable import Variable, describe
from scanopt.loops.carry import loop_over
from scanopt.loops.location import user_location
from scanopt.loops.site import Site

__all__ = ["vectorize"]

Core = tuple[str, ...]
"""The names of the last axes of one argument: those that the function sees."""


def vectorize(func: Callable[..., Any], signature: str | None = None) -> Callable[..., Any]:
    """The function that computes func for all entries along the axes in front.

    func: from arrays to an array or a list of them.  signature: the last axes, which func sees, of its arguments and
    results, as in "(m,n),(n)->(m)"; without it, func sees numbers.
    The axes in front broadcast where a length of 1 is known before the run; other lengths must agree in the run.
    Raises ValueError for an invalid signature; the function returned raises it where the number of arguments, of
    results or of their axes differs from the signature, and where lengths do not fit.

    >>> import numpy as np
    >>> vectorize(lambda a, b: a @ b, "(m,n),(n)->(m)")(np.ones((5, 2, 3)), np.ones(3)).type.shape
    (5, 2)

    Source: `pytensor.tensor.vectorize`.
    """
    cores, results = (None, None) if signature is None else _parsed(signature)

    @functools.wraps(func)
    def vectorized(*args: Any) -> Any:
        site = Site("vectorize", user_location())
        arrays = [site.array(x, f"argument {i}") for i, x in enumerate(args)]
        seen: list[Core] = [()] * len(arrays) if cores is None else cores
        _check(site, arrays, seen, str(signature))
        found: list[Any] = [None]

        def call(entries: list[Variable]) -> list[Variable]:
            found[0] = func(*entries)
            several = isinstance(found[0], list | tuple)
            values = [site.array(x, "a result") for x in (found[0] if several else [found[0]])]
            if results is not None and [v.ndim for v in values] != [len(core) for core in results]:
                raise site.error(ValueError, f"func gave {', '.join(map(describe, values))} for {signature}")
            return values

        traces = _mapped(site, call, arrays, [v.ndim - len(core) for v, core in zip(arrays, seen, strict=True)])
        return type(found[0])(traces) if isinstance(found[0], list | tuple) else traces[0]

    return vectorized


def _parsed(signature: str) -> tuple[list[Core], list[Core]]:
    """The names of axes of the arguments and of the results.  Raises ValueError."""
    core = r"\((?:\w+(?:,\w+)*)?\)"
    text = re.sub(r"\s", "", signature)
    if not re.fullmatch(f"(?:{core}(?:,{core})*)?->{core}(?:,{core})*", text):
        raise ValueError(f"a signature is written as '(m,n),(n)->(m)', found {signature!r}")
    left, right = ([tuple(re.findall(r"\w+", part)) for part in re.findall(core, side)] for side in text.split("->"))
    return left, right


def _check(site: Site, arrays: list[Variable], cores: list[Core], signature: str) -> None:
    """Raise ValueError for arguments that do not fit the signature."""
    if len(arrays) != len(cores):
        raise site.error(ValueError, f"{signature} takes {len(cores)} arguments, found {len(arrays)}")
    known: dict[str, int] = {}
    for v, core in zip(arrays, cores, strict=True):
        if v.ndim < len(core):
            raise site.error(
                ValueError, f"an argument of {signature} needs {axes_text(len(core))}, found {describe(v)}"
            )
        for name, n in zip(core, v.type.shape[v.ndim - len(core) :], strict=True):
            if n is not None and known.setdefault(name, n) != n:
                raise site.error(ValueError, f"{name} of {signature} is {known[name]}, but {describe(v)}")


def _mapped(
    site: Site, call: Callable[[list[Variable]], list[Variable]], arrays: list[Variable], more: list[int]
) -> list[Variable]:
    """The results for all entries along the front axes.  more: the number of front axes of each array."""
    depth = max(more, default=0)
    if not depth:
        return call(arrays)
    along = [i for i, n in enumerate(more) if n == depth]
    rows = [i for i in along if arrays[i].type.shape[0] != 1] or along
    held = [squeeze(v, 0) if i in along and i not in rows else v for i, v in enumerate(arrays)]
    inner = [min(n, depth - 1) for n in more]

    def step(_: None, entries: list[Variable]) -> tuple[None, list[Variable]]:
        of_entry = dict(zip(rows, entries, strict=True))
        return None, _mapped(site, call, [of_entry.get(i, v) for i, v in enumerate(held)], inner)

    labels = [f"argument {i}" for i in rows]
    _, traces = loop_over(site, step, None, [arrays[i] for i in rows], None, labels, None)
    return list(traces)
