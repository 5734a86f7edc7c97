"""map, reduce, foldl, foldr and filter: the common special cases of scan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scanopt.array.variable import Constant, Variable
from scanopt.loops.canonical import SequenceArg, as_list, sequence_args
from scanopt.loops.location import user_location
from scanopt.loops.node import Scan
from scanopt.loops.options import Options
from scanopt.loops.scan import loop, returned
from scanopt.loops.site import Site
from scanopt.loops.steps import plan

__all__ = ["filter", "foldl", "foldr", "map", "reduce"]


def map(
    fn: Callable[..., Any],
    sequences: Any,
    non_sequences: Any = None,
    truncate_gradient: int = -1,
    go_backwards: bool = False,
    mode: Any = None,
    name: str | None = None,
    return_list: bool = False,
    return_updates: bool = True,
) -> Any:
    """Apply fn to each entry along the first axis: (outputs, updates).

    fn: from an entry of each of the sequences, then the non_sequences, to an array or a list of them.
    sequences: an array or a list of them, of at least one axis.  truncate_gradient, go_backwards, mode, name,
    return_list, return_updates: as in `scan`.
    Raises TypeError or ValueError as `scan` does.

    >>> from scanopt import tensor as T
    >>> squares, _ = map(lambda x, k: x**2 + k, T.matrix("x", "float32"), 1)
    >>> str(squares.type)
    'float32[?, ?]'

    Source: the documents' theano.map.
    """
    options = Options(name, truncate_gradient, go_backwards, mode=mode)
    outputs, updates = loop("map", fn, sequences, None, non_sequences, None, options).done()
    return returned(Site("map", user_location()), outputs, updates, return_list, return_updates)


def _fold(
    function: str,
    fn: Callable[..., Any],
    sequences: Any,
    outputs_info: Any,
    non_sequences: Any,
    options: Options,
    return_list: bool,
    return_updates: bool,
) -> Any:
    traces, updates = loop(function, fn, sequences, outputs_info, non_sequences, None, options).done()
    last = [trace[-1] for trace in traces]
    return returned(Site(function, user_location()), last, updates, return_list, return_updates)


def reduce(
    fn: Callable[..., Any],
    sequences: Any,
    outputs_info: Any,
    non_sequences: Any = None,
    go_backwards: bool = False,
    mode: Any = None,
    name: str | None = None,
    return_list: bool = False,
    return_updates: bool = True,
) -> Any:
    """The last value of each output of `scan`: (outputs, updates).

    fn: from an entry of each of the sequences, then the values so far, then the non_sequences, to the next values.
    outputs_info: the values at first, an array or a list of them.  go_backwards, mode, name, return_list,
    return_updates: as in `scan`.
    Running it over empty sequences raises IndexError.  Raises TypeError, ValueError as `scan` does.

    >>> from scanopt import tensor as T
    >>> total, _ = reduce(lambda x, s: s + x, T.vector("x", "int64"), outputs_info=0)
    >>> str(total.type)
    'int64[]'

    Source: the documents' theano.reduce.
    """
    options = Options(name, go_backwards=go_backwards, mode=mode)
    return _fold("reduce", fn, sequences, outputs_info, non_sequences, options, return_list, return_updates)


def foldl(
    fn: Callable[..., Any],
    sequences: Any,
    outputs_info: Any,
    non_sequences: Any = None,
    mode: Any = None,
    name: str | None = None,
    return_list: bool = False,
    return_updates: bool = True,
) -> Any:
    """`reduce` from the first entry to the last: fn(x2, fn(x1, fn(x0, initial))).

    fn, sequences, outputs_info, non_sequences, mode, name, return_list, return_updates: as in `reduce`, which see
    for what is raised.

    >>> from scanopt import tensor as T
    >>> number, _ = foldl(lambda d, n: 10 * n + d, T.vector("digits", "int64"), outputs_info=0)
    >>> str(number.type)
    'int64[]'

    Source: the documents' theano.foldl.
    """
    options = Options(name, mode=mode)
    return _fold("foldl", fn, sequences, outputs_info, non_sequences, options, return_list, return_updates)


def foldr(
    fn: Callable[..., Any],
    sequences: Any,
    outputs_info: Any,
    non_sequences: Any = None,
    mode: Any = None,
    name: str | None = None,
    return_list: bool = False,
    return_updates: bool = True,
) -> Any:
    """`reduce` from the last entry to the first: fn(x0, fn(x1, fn(x2, initial))).

    fn, sequences, outputs_info, non_sequences, mode, name, return_list, return_updates: as in `reduce`, which see
    for what is raised.

    >>> from scanopt import tensor as T
    >>> value, _ = foldr(lambda a, p: a + 2.0 * p, T.vector("a", "float64"), outputs_info=0.0)
    >>> str(value.type)
    'float64[]'

    Source: the documents' theano.foldr.
    """
    options = Options(name, go_backwards=True, mode=mode)
    return _fold("foldr", fn, sequences, outputs_info, non_sequences, options, return_list, return_updates)


def filter(
    fn: Callable[..., Any],
    sequences: Any,
    non_sequences: Any = None,
    go_backwards: bool = False,
    mode: Any = None,
    name: str | None = None,
    return_list: bool = False,
) -> Any:
    """The entries of the sequences where fn is true, in the order of the steps.

    fn: returns one truth value for all sequences, or one for each of them.  Of a sequence that is read at several
    taps, the entry of the present step (tap 0) is kept.  Called with the non_sequences behind the entries.
    go_backwards, mode, name, return_list: as in `scan`.
    Returns an array, or a list of them for several sequences.
    Raises TypeError for a result that is not a truth value, ValueError for a wrong number of them, and
    as `scan` does.

    >>> from scanopt import interpret, tensor as T
    >>> x = T.vector("x", "int64")
    >>> interpret(filter(lambda v: v > 4, x), {x: [3, 4, 5, 6]})
    array([5, 6])

    Source: PyTensor's scan views.
    """
    site = Site("filter", user_location())
    options = Options(name, go_backwards=go_backwards, mode=mode)
    masks, updates = loop("filter", fn, sequences, None, non_sequences, None, options).done()
    returned(site, masks, updates, return_updates=False)
    args = sequence_args(site, as_list(sequences))
    present = plan(site, tuple(SequenceArg(a.variable, (0, *a.taps), a.label) for a in args), None, go_backwards)
    _check_masks(site, masks, len(args))
    if len(masks) == 1:
        masks *= len(args)
    kept = [slices[0][mask] for slices, mask in zip(present.slices, masks, strict=True)]
    return returned(site, kept, updates, return_list)[0]


def _check_masks(site: Site, masks: list[Variable], sequences: int) -> None:
    """Raise TypeError, ValueError for masks that cannot pick entries."""
    for i, mask in enumerate(masks):
        if isinstance(mask.owner, Scan) and isinstance(mask.owner.traced[mask.index], Constant):
            raise site.error(
                TypeError,
                f"result {i} of fn is the same for all entries: write a == b to compare them, "
                "for a is b asks whether a and b are one variable",
            )
        if mask.dtype != "bool" or mask.ndim != 1:
            found = f"{mask.dtype}[{', '.join('?' if n is None else str(n) for n in mask.type.shape[1:])}]"
            raise site.error(
                TypeError, f"result {i} of fn must be a truth value, found {found}: compare, or reduce with all()"
            )
    if len(masks) not in (1, sequences):
        raise site.error(
            ValueError, f"fn returned {len(masks)} truth values for {sequences} sequences: return one, or one for each"
        )
