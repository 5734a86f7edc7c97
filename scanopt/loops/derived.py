"""map, reduce, foldl and foldr: the common special cases of scan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scanopt.loops.canonical import refuse_unavailable
from scanopt.loops.location import user_location
from scanopt.loops.scan import Options, loop
from scanopt.loops.site import Site
from scanopt.loops.updates import Updates

__all__ = ["foldl", "foldr", "map", "reduce"]


def _unwrap(outputs: list[Any]) -> Any:
    return outputs if len(outputs) > 1 else (outputs[0] if outputs else None)


def map(
    fn: Callable[..., Any],
    sequences: Any,
    non_sequences: Any = None,
    truncate_gradient: int = -1,
    go_backwards: bool = False,
    mode: Any = None,
    name: str | None = None,
) -> tuple[Any, Updates]:
    """fn of each entry along the first axis: (outputs, updates); arguments as in `scan`.

    Raises TypeError or ValueError as `scan` does.

    >>> from scanopt import tensor as T
    >>> squares, _ = map(lambda x, k: x**2 + k, T.matrix("x", "float32"), 1)
    >>> str(squares.type)
    'float32[?, ?]'
    """
    refuse_unavailable(Site("map", user_location()), mode, False, None)
    options = Options(name, truncate_gradient, go_backwards)
    outputs, updates = loop("map", fn, sequences, None, non_sequences, None, options)
    return _unwrap(outputs), updates


def _fold(
    function: str,
    fn: Callable[..., Any],
    sequences: Any,
    outputs_info: Any,
    non_sequences: Any,
    mode: Any,
    options: Options,
) -> tuple[Any, Updates]:
    refuse_unavailable(Site(function, user_location()), mode, False, None)
    traces, updates = loop(function, fn, sequences, outputs_info, non_sequences, None, options)
    return _unwrap([trace[-1] for trace in traces]), updates


def reduce(
    fn: Callable[..., Any],
    sequences: Any,
    outputs_info: Any,
    non_sequences: Any = None,
    go_backwards: bool = False,
    mode: Any = None,
    name: str | None = None,
) -> tuple[Any, Updates]:
    """The last value of each output of `scan`: (outputs, updates); arguments as in `scan`.

    Running it over empty sequences raises IndexError.  Raises TypeError, ValueError as `scan` does.

    >>> from scanopt import tensor as T
    >>> total, _ = reduce(lambda x, s: s + x, T.vector("x", "int64"), outputs_info=0)
    >>> str(total.type)
    'int64[]'
    """
    options = Options(name, go_backwards=go_backwards)
    return _fold("reduce", fn, sequences, outputs_info, non_sequences, mode, options)


def foldl(
    fn: Callable[..., Any],
    sequences: Any,
    outputs_info: Any,
    non_sequences: Any = None,
    mode: Any = None,
    name: str | None = None,
) -> tuple[Any, Updates]:
    """`reduce` from the first entry to the last: f(x2, f(x1, f(x0, initial))).

    Raises as `reduce` does.

    >>> from scanopt import tensor as T
    >>> number, _ = foldl(lambda d, n: 10 * n + d, T.vector("digits", "int64"), outputs_info=0)
    >>> str(number.type)
    'int64[]'
    """
    options = Options(name)
    return _fold("foldl", fn, sequences, outputs_info, non_sequences, mode, options)


def foldr(
    fn: Callable[..., Any],
    sequences: Any,
    outputs_info: Any,
    non_sequences: Any = None,
    mode: Any = None,
    name: str | None = None,
) -> tuple[Any, Updates]:
    """`reduce` from the last entry to the first: f(x0, f(x1, f(x2, initial))).

    Raises as `reduce` does.

    >>> from scanopt import tensor as T
    >>> value, _ = foldr(lambda a, p: a + 2.0 * p, T.vector("a", "float64"), outputs_info=0.0)
    >>> str(value.type)
    'float64[]'
    """
    options = Options(name, go_backwards=True)
    return _fold("foldr", fn, sequences, outputs_info, non_sequences, mode, options)
