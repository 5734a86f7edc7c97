"""Programs made of programs: like one that is written, with other numbers and functions, or several as one.

The author of a law writes an example for which it is right; its conditions let more programs through.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from inspect import Parameter, Signature, signature
from typing import Any

import numpy as np

from scanopt import tensor as T
from scanopt.array.variable import Apply, Constant, Node, Variable
from scanopt.calculus.law import Program
from scanopt.extraction.roofline import MULTIPLY_ADDS
from scanopt.loops.graph import dependencies, loops_of, schedule
from scanopt.loops.rebuild import rebuild

__all__ = ["together", "variants"]

_FINITE = (-2.0, -1.0, -0.5, -0.0, 0.0, 1.0, 3.0)
_FLOATS = (*_FINITE, np.inf, -np.inf, np.nan)
_INTEGERS = (-3, -2, -1, 0, 1, 2, 5)
_FUNCTIONS: tuple[Callable[[Any], Any], ...] = (lambda x: x, T.exp, T.neg, T.sqrt)
_KEPT = 0.3
"""The share of numbers and functions that stay: laws ask for two that are the same, or for one above the other."""


def variants(program: Program, count: int) -> Iterator[Program]:
    """`count` programs like this one.

    >>> from scanopt import interpret
    >>> x = T.dscalar("x")
    >>> [float(interpret(f(x), {x: 1.0})[0]) for f in variants(lambda x: T.cos(x) + 2.0, 3)]
    [3.0, -0.45969769413186023, 3.0]
    """
    for seed in range(count):

        def changed(*given: Any, seed: int = seed) -> list[Any]:
            made = program(*given)
            outputs = list(made) if isinstance(made, list | tuple) else [made]
            return rebuild(outputs, dict(_changes(outputs, random.Random(seed))))

        changed.__signature__ = signature(program)  # type: ignore[attr-defined]
        yield changed


def together(programs: Sequence[Program]) -> Program:
    """Some programs as one, with the outputs of all; inputs of one name are one.

    >>> x, y = T.dvectors("x", "y")
    >>> len(together([lambda x: x + 1.0, lambda y, x: [y * x, y]])(x, y))
    3
    """
    read = [[*signature(program).parameters] for program in programs]
    names = dict.fromkeys(name for some in read for name in some)

    def all_of_them(*given: Any) -> list[Any]:
        values = dict(zip(names, given, strict=True))
        made = [program(*map(values.get, some)) for program, some in zip(programs, read, strict=True)]
        return [out for x in made for out in (x if isinstance(x, list | tuple) else [x])]

    parameters = [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in names]
    all_of_them.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return all_of_them


def _changes(outputs: Sequence[Variable], rng: random.Random) -> Iterator[tuple[Variable, Variable]]:
    """Yield replacements of constants, those inside loops included, and of functions outside loops.

    Integers on which lengths may depend stay as they are.
    """
    graphs = [outputs, *(loop.inner_outputs for loop in loops_of(outputs))]
    nodes = [node for graph in graphs for node in schedule(graph)]
    read = [v for graph in graphs for v in graph] + [v for node in nodes for v in dependencies(node)]
    finite = any(isinstance(node, Apply) and node.op.cost in MULTIPLY_ADDS for node in nodes)
    lengths = {v for node in nodes if not _by_element(node) for v in dependencies(node)}
    for v in dict.fromkeys(read):
        if isinstance(v, Constant) and (np.dtype(v.dtype).kind == "f" or (v.dtype != "bool" and v not in lengths)):
            yield v, _number(v, rng, finite)
        elif _is_function(v) and rng.random() > _KEPT:
            assert v.owner is not None
            yield v, rng.choice(_FUNCTIONS)(v.owner.inputs[0])


def _by_element(node: Node) -> bool:
    return isinstance(node, Apply) and node.op.spec.ufunc is not None


def _is_function(v: Variable) -> bool:
    """Whether a value is a function of one argument, by element, of floats."""
    given = v.owner.inputs if v.owner is not None and _by_element(v.owner) else ()
    return len(given) == 1 and v.type == given[0].type and np.dtype(v.dtype).kind == "f"


def _number(x: Constant, rng: random.Random, finite: bool) -> Constant:
    """A random constant of the same type and shape, in which some numbers stay."""
    pool = _INTEGERS if np.dtype(x.dtype).kind in "iu" else _FINITE if finite else _FLOATS
    drawn = [old if rng.random() < _KEPT else rng.choice(pool) for old in x.data.ravel().tolist()]
    return Constant(np.array(drawn).astype(x.dtype).reshape(x.data.shape))
