"""einsum, composed of existing products and sums: diagonals first, then contractions of two arrays at a time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from scanopt.array.batching import dims_of, expand, transpose
from scanopt.array.constants import as_variable
from scanopt.array.op import Op
from scanopt.array.operators.creation import arange
from scanopt.array.operators.elementwise import cast, elementwise
from scanopt.array.operators.lengths import times
from scanopt.array.operators.products import matmul
from scanopt.array.operators.reductions import reduce as reduction
from scanopt.array.operators.shaping import reshape_to
from scanopt.array.operators.subtensor import getitem
from scanopt.array.registry import public
from scanopt.array.shapes import axes_text
from scanopt.array.variable import Variable, apply, describe
from scanopt.records import dataclass

__all__ = ["einsum"]

Label = str | int
"""The name of an axis: a letter, or for an axis of the ellipsis its number counted from the back."""


@dataclass(frozen=True)
class _Term:
    """An array with a label for each axis."""

    x: Variable
    labels: tuple[Label, ...]


@public("einsum", numpy=("einsum",))
def einsum(*operands: Any, optimize: Any = False, **kwargs: Any) -> Variable:
    """The sum of products that subscripts describe, as `einsum("ij,jk->ik", a, b)`.

    operands: subscripts and arrays; or each array followed by its list of axes (ints and Ellipsis), and that of the
    result.  dtype: the arrays are cast to it.  optimize: an order of contraction that np.einsum_path gave; any other
    choice means the one found by itself.  Lengths of axes of one name are equal, or known to be 1.
    Raises ValueError for subscripts that do not fit.

    >>> einsum("ij,j", np.ones((2, 3)), np.ones(3)).type.shape
    (2,)
    """
    if extra := sorted(set(kwargs) - {"dtype", "order", "casting"}):
        raise TypeError(f"einsum of symbolic arrays takes no {', '.join(extra)}")
    subscripts, arrays = _read(operands)
    dtype = kwargs.get("dtype")
    common = np.result_type(*(v.dtype for v in arrays)) if dtype is None else np.dtype(dtype)
    for v in arrays:
        if not np.can_cast(v.dtype, common, kwargs.get("casting", "safe")):
            raise TypeError(f"einsum cannot cast {describe(v)} to {common} safely: cast it, or give casting=")
    inputs, output = _labels(subscripts, arrays)
    terms = [_diagonals(_Term(cast(v, common), names)) for v, names in zip(arrays, inputs, strict=True)]
    if unknown := [k for k in output if all(k not in t.labels for t in terms)]:
        raise ValueError(f"einsum: {unknown[0]!r} of the result is in no argument of {subscripts!r}")
    if len(set(output)) < len(output):
        raise ValueError(f"einsum: the result of {subscripts!r} has an axis twice")
    terms = _without_ones(terms, output)
    for pair in _order(terms, output, optimize):
        chosen = [terms[i] for i in pair]
        rest = [t for i, t in enumerate(terms) if i not in pair]
        needed = {*output, *(k for t in rest for k in t.labels)}
        chosen = [_summed(t, {*needed, *(k for u in chosen if u is not t for k in u.labels)}) for t in chosen]
        terms = [*rest, _together(chosen, needed)]
    (last,) = terms
    last = _summed(last, set(output))
    return transpose(last.x, [last.labels.index(k) for k in output])


def _read(operands: Sequence[Any]) -> tuple[str, list[Variable]]:
    """Subscripts as text, and the arrays."""
    if not operands:
        raise ValueError("einsum needs subscripts and arrays")
    if isinstance(operands[0], str):
        return operands[0].replace(" ", ""), [as_variable(x) for x in operands[1:]]
    arrays = [as_variable(x) for x in operands[: len(operands) // 2 * 2 : 2]]
    lists = [_letters(names) for names in operands[1::2]]
    text = ",".join(lists)
    return (f"{text}->{_letters(operands[-1])}" if len(operands) % 2 else text), arrays


def _letters(names: Iterable[Any]) -> str:
    """A letter for each axis given as an int, in the order of the ints."""
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    return "".join("..." if k is Ellipsis else letters[k] for k in names)


def _labels(subscripts: str, arrays: Sequence[Variable]) -> tuple[list[tuple[Label, ...]], tuple[Label, ...]]:
    """For each argument the labels of its axes, and those of the result."""
    given, arrow, wanted = subscripts.partition("->")
    texts = given.split(",")
    if len(texts) != len(arrays):
        raise ValueError(f"einsum: {subscripts!r} names {len(texts)} arrays, found {len(arrays)}")
    inputs = [_of_one(text, v.ndim, describe(v)) for text, v in zip(texts, arrays, strict=True)]
    most = max((-k for names in inputs for k in names if isinstance(k, int)), default=0)
    dots: tuple[Label, ...] = tuple(range(-most, 0))
    if arrow:
        if most and "..." not in wanted:
            raise ValueError(
                f"einsum: the result of {subscripts!r} has no '...' for the axes that arguments have there"
            )
        before, _, after = wanted.partition("...")
        return inputs, (*before, *(dots if "..." in wanted else ()), *after)
    letters = given.replace(",", "").replace(".", "")
    return inputs, (*dots, *sorted(k for k in set(letters) if letters.count(k) == 1))


def _of_one(text: str, ndim: int, what: str) -> tuple[Label, ...]:
    before, dots, after = text.partition("...")
    letters = before + after
    if not all(k.isalpha() and k.isascii() for k in letters):
        raise ValueError(f"einsum: subscripts are letters, ',', '...' and '->', found {text!r}")
    more = ndim - len(letters)
    if more < 0 or (more and not dots):
        raise ValueError(f"einsum: {text!r} names {axes_text(len(letters))} of {what}")
    return (*before, *(range(-more, 0) if dots else ()), *after)


def _diagonals(term: _Term) -> _Term:
    """Take the diagonal of axes that have the same label."""
    x, labels = term.x, term.labels
    while len(set(labels)) < len(labels):
        twice = next(k for k in labels if labels.count(k) > 1)
        i = labels.index(twice)
        j = labels.index(twice, i + 1)
        known = {n for n in (x.type.shape[i], x.type.shape[j]) if n is not None}
        if len(known) > 1:
            raise ValueError(f"einsum: the axes {twice!r} of {describe(x)} have different lengths")
        rest = [n for n in range(x.ndim) if n not in (i, j)]
        x = transpose(x, (*rest, i, j))
        x = getitem(x, (Ellipsis, *(arange(n) for n in dims_of(x)[-2:])))  # raises where the axes are not equally long
        labels = (*(labels[n] for n in rest), twice)
    return _Term(x, labels)


def _without_ones(terms: list[_Term], output: Sequence[Label]) -> list[_Term]:
    """Drop axes of length 1 whose label has another length in another argument: they broadcast."""
    found = []
    for term in terms:
        others = [(k, n) for t in terms if t is not term for k, n in zip(t.labels, t.x.type.shape, strict=True)]
        drop = [
            i
            for i, (k, n) in enumerate(zip(term.labels, term.x.type.shape, strict=True))
            if n == 1 and any(k == name and m != 1 for name, m in others)
        ]
        x = apply(Op.make("squeeze", axis=tuple(drop)), term.x) if drop else term.x
        found.append(_Term(x, tuple(k for i, k in enumerate(term.labels) if i not in drop)))
    return found


def _order(terms: list[_Term], output: Sequence[Label], optimize: Any) -> list[tuple[int, ...]]:
    """The order of contractions: each removes the arguments at these places of the list and appends their product."""
    if isinstance(optimize, list | tuple) and optimize and optimize[0] == "einsum_path":
        return [tuple(pair) for pair in optimize[1:]]
    if len(terms) < 3:
        return [tuple(range(len(terms)))]
    names = {k: i for i, k in enumerate(dict.fromkeys(k for t in terms for k in t.labels))}
    lengths = {k: n for t in terms for k, n in zip(t.labels, t.x.type.shape, strict=True) if n is not None}
    given: list[Any] = []
    for t in terms:
        given += [
            np.broadcast_to(0.0, [max(lengths.get(k, _UNKNOWN), 2) for k in t.labels]),
            [names[k] for k in t.labels],
        ]
    path, _ = np.einsum_path(*given, [names[k] for k in output], optimize="greedy")
    return [tuple(pair) for pair in path[1:]]


_UNKNOWN = 32
"""The value assumed for an unknown length when the order is chosen."""


def _summed(term: _Term, needed: set[Label]) -> _Term:
    """Sum over the axes whose labels are not in `needed`."""
    over = tuple(i for i, k in enumerate(term.labels) if k not in needed)
    if not over:
        return term
    x = reduction("sum", term.x, over, False, term.x.dtype)
    return _Term(x, tuple(k for k in term.labels if k in needed))


def _together(terms: Sequence[_Term], needed: set[Label]) -> _Term:
    """The product of several terms, one after the other; an axis that a later term has too is summed only there."""
    first, *others = terms
    for i, term in enumerate(others):
        later = (k for t in others[i + 1 :] for k in t.labels)
        first = _contracted(first, term, {*needed, *later})
    return first


def _contracted(a: _Term, b: _Term, needed: set[Label]) -> _Term:
    """The product of two terms, summed over common axes whose labels are not in `needed`."""
    both = [k for k in a.labels if k in b.labels]
    summed = [k for k in both if k not in needed]
    if not summed:
        return _multiplied(a, b)
    kept = [k for k in both if k in needed]
    if kept:
        return _batched(a, b, kept, summed)
    axes = tuple(tuple(t.labels.index(k) for k in summed) for t in (a, b))
    labels = tuple(k for t in (a, b) for k in t.labels if k not in summed)
    if a.x.ndim <= 2 and axes == ((a.x.ndim - 1,), (0,)) and b.x.ndim <= 2:
        return _Term(apply(Op.make("dot"), a.x, b.x), labels)
    return _Term(apply(Op.make("tensordot", axes=axes), a.x, b.x), labels)


def _multiplied(a: _Term, b: _Term) -> _Term:
    labels = (*a.labels, *(k for k in b.labels if k not in a.labels))
    x, y = (_spread(t, labels) for t in (a, b))
    return _Term(elementwise("multiply", x, y), labels)


def _spread(term: _Term, labels: Sequence[Label]) -> Variable:
    """The array of a term with its axes in the order of `labels`, and an axis of length 1 for each label it lacks."""
    x = transpose(term.x, [term.labels.index(k) for k in labels if k in term.labels])
    return expand(x, [i for i, k in enumerate(labels) if k not in term.labels])


def _batched(a: _Term, b: _Term, kept: list[Label], summed: list[Label]) -> _Term:
    """Products of matrices, one for each entry along the common axes that are kept."""
    own = [[k for k in t.labels if k not in (*kept, *summed)] for t in (a, b)]
    x, y = _spread(a, [*kept, *own[0], *summed]), _spread(b, [*kept, *summed, *own[1]])
    dims, others = dims_of(x), dims_of(y)
    at, to, of = len(kept), len(kept) + len(own[0]), len(kept) + len(summed)
    size = _product(dims[to:])
    left = reshape_to(x, (*dims[:at], _product(dims[at:to]), size))
    right = reshape_to(y, (*others[:at], _product(others[at:of]), _product(others[of:])))
    found = reshape_to(matmul(left, right), (*dims[:at], *dims[at:to], *others[of:]))
    return _Term(found, (*kept, *own[0], *own[1]))


def _product(dims: Sequence[Any]) -> Any:
    return reduce(times, dims, 1)
