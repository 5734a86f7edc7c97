"""Checks of the arguments of grad and its relatives; errors name the argument, what was found, and the call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from scanopt.array.constants import as_tensor_variable
from scanopt.array.derivatives import smooth
from scanopt.array.lengths import length, same_length
from scanopt.array.operators.shaping import reshape_to
from scanopt.array.variable import Constant, Variable, describe
from scanopt.gradient.errors import DisconnectedInputError, DisconnectedInputWarning
from scanopt.loops.canonical import unsliced
from scanopt.loops.graph import leaves
from scanopt.loops.location import user_location, warn_at
from scanopt.loops.require import require
from scanopt.loops.site import Site, show
from scanopt.loops.steps import literal
from scanopt.records import dataclass

__all__ = [
    "Asked",
    "choice",
    "disconnected",
    "known_gradients",
    "like_given",
    "scalar_cost",
    "variables",
    "vector",
    "vectors",
]

Pairs = list[tuple[Variable, Variable]]


@dataclass(frozen=True)
class Asked:
    """The checked arguments of a call.  constant: variables held constant.  disconnected: "raise", "warn", "ignore"."""

    site: Site
    wrt: list[Variable]
    constant: list[Variable]
    disconnected: str = "raise"

    @classmethod
    def of(cls, function: str, wrt: Any, consider_constant: Any = None, disconnected_inputs: Any = "raise") -> Asked:
        """The arguments of a call, checked.  Raises TypeError, ValueError."""
        site = Site(function, user_location())
        how = choice(site, "disconnected_inputs", disconnected_inputs, ("raise", "warn", "ignore"))
        constant = [] if consider_constant is None else variables(site, "consider_constant", consider_constant)
        return cls(site, variables(site, "wrt", wrt), constant, how)

    def alone(self, x: Variable) -> Asked:
        """The same call, with respect to x alone."""
        return replace(self, wrt=[x])

    def say(self, cost: Variable, x: Variable) -> None:
        """Raise, warn or do nothing, as asked for, because cost does not depend smoothly on x."""
        text = f"{describe(cost)} has no gradient with respect to {describe(x)}: {_reason(cost, x)}"
        disconnected(
            self.site, self.disconnected, f"{text} {self.site.place}; disconnected_inputs='ignore' gives zeros"
        )


def disconnected(site: Site, how: str, text: str) -> None:
    """Raise the text, or warn with it for the line of the call.  how: "raise", "warn" or "ignore"."""
    if how == "raise":
        raise DisconnectedInputError(text)
    if how == "warn":
        warn_at(site.location, text, DisconnectedInputWarning)


def variables(site: Site, argument: str, given: Any) -> list[Variable]:
    """The user's argument, one variable or several, as a list.  Raises TypeError."""
    many: Iterable[Any] = given if isinstance(given, list | tuple) else [given]
    out = list(many)
    for v in out:
        if not isinstance(v, Variable):
            raise site.error(TypeError, f"{argument} must be symbolic arrays, found {show(v)}")
    return out


def choice(site: Site, argument: str, given: Any, allowed: tuple[str, ...]) -> str:
    """That of `allowed` which is given, in capitals or not.  Raises ValueError if it is none of them."""
    found = given.lower() if isinstance(given, str) else given
    if found not in allowed:
        names = f"{', '.join(map(repr, allowed[:-1]))} or {allowed[-1]!r}"
        raise site.error(ValueError, f"{argument} is {names}, found {show(given)}")
    return str(found)


def _reason(cost: Variable, x: Variable) -> str:
    if not smooth(x):
        return f"it is of dtype {x.dtype}, and only floats and complex numbers have gradients: cast it before its use"
    if isinstance(x, Constant):
        return "this very constant is not in the graph (a number that is written twice makes two constants)"
    if x.owner is None and x.name and unsliced(x.name) != x.name:
        return "it is a value of one step of a loop, and no part of the graph outside: ask for what the loop reads"
    if any(not v.name or unsliced(v.name) != v.name for v in leaves([cost])):
        return (
            "what a step is given of a sequence is a value of its own, of which it is not known what it was computed "
            "from: pass y in non_sequences and T.arange(y.shape[0]) in sequences, and take the gradient of y[i]"
        )
    return "it is not in the graph, or only behind integers, comparisons, shapes or what is considered constant"


def scalar_cost(site: Site, cost: Any) -> Variable:
    """The cost as a real scalar.  Raises TypeError."""
    if isinstance(cost, list | tuple):
        raise site.error(
            TypeError,
            f"{site.function} needs one scalar cost, found {show(cost)}: add several up; of what scan returns, "
            "(outputs, updates), take outputs",
        )
    v = site.array(cost, "the cost")
    if v.ndim:
        raise site.error(
            TypeError,
            f"{site.function} needs a scalar cost, found {describe(v)}: take its sum or mean, or use jacobian for "
            "all its entries",
        )
    if np.dtype(v.dtype).kind != "f":
        raise site.error(
            TypeError,
            f"{site.function} needs a real floating point cost, found {describe(v)}: cast it if that is meant",
        )
    return v


def known_gradients(site: Site, known: Any) -> Pairs:
    """Pairs of a variable and the gradient with respect to it.  Raises TypeError, ValueError where they do not fit."""
    if known is None:
        return []
    if not isinstance(known, Mapping):
        raise site.error(TypeError, f"known_grads is a dict from variables to their gradients, found {show(known)}")
    out: Pairs = []
    for v, g in known.items():
        if not isinstance(v, Variable):
            raise site.error(TypeError, f"known_grads is keyed by symbolic arrays, found {show(v)}")
        out.append((v, vector(site, f"the known gradient of {describe(v)}", v, g)))
    return out


def vectors(site: Site, of: Sequence[Variable], points: Any, what: str) -> list[Any]:
    """The evaluation points as a list, one for each of `of`.  what: a plural noun for these in messages."""
    many = list(points) if isinstance(points, list | tuple) else [points]
    if len(many) != len(of):
        raise site.error(
            ValueError, f"{site.function} needs one evaluation point for each of {len(of)} {what}, found {len(many)}"
        )
    return many


def vector(site: Site, label: str, v: Variable, given: Any) -> Variable:
    """An evaluation point as an array of the shape of v, real if v is.  Raises TypeError, ValueError.

    Lengths that are not known before the run are checked in the run.
    """
    g = site.array(given, label)
    if g.ndim != v.ndim:
        raise site.error(
            TypeError, f"{label} is {describe(g)}, not of the shape of {v.type}: the numbers of axes differ"
        )
    for axis, (n, m) in enumerate(zip(g.type.shape, v.type.shape, strict=True)):
        if n is not None and m is not None and n != m:
            raise site.error(ValueError, f"{label} is {describe(g)}, not of the shape of {v.type}: axis {axis} differs")
    if np.dtype(g.dtype).kind == "c" and np.dtype(v.dtype).kind != "c":
        raise site.error(TypeError, f"{label} is {describe(g)}, complex where {v.type} is real: take its T.real(...)")
    return reshape_to(g, [_length(site, label, v, g, axis) for axis in range(g.ndim)])


def _length(site: Site, label: str, v: Variable, g: Variable, axis: int) -> int | Variable:
    """The length of an axis of g, with a check in the run that it is that of v, unless they are known to be equal."""
    if same_length(g, axis, v, axis):
        return length(g, axis)
    which = f"along axis {axis}" if v.ndim > 1 else "entries"
    message = literal(f"{label} is {describe(g)} with ") + "{found} " + literal(f"{which}, but {describe(v)} has ")
    found, expected = (as_tensor_variable(length(x, axis), dtype="int64") for x in (g, v))
    return require(found, expected, message + "{expected} " + literal(site.place), relation="eq")


def like_given(given: Any, results: Sequence[Any]) -> Any:
    """Results in the form of `given`: a list or tuple if it is one, else the only result."""
    if isinstance(given, list | tuple):
        return type(given)(results) if type(given) in (list, tuple) else list(results)
    return results[0]
