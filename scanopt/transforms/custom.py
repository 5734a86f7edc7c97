"""Functions with derivative rules of their own: custom_vjp and custom_jvp."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from scanopt.array.constants import as_variable
from scanopt.array.derivatives import smooth
from scanopt.array.operators.gradient import with_gradient
from scanopt.array.variable import Variable
from scanopt.gradient.pullback import pull, zeros_like
from scanopt.loops.location import user_location
from scanopt.loops.site import Site, show
from scanopt.loops.trees import rebuilt, same_structure, structure, tree_leaves
from scanopt.transforms.calls import signature_of, title
from scanopt.transforms.jit import as_results

__all__ = ["custom_jvp", "custom_vjp"]


@dataclass(frozen=True)
class _Call:
    """One call: its arguments, by position, those that get no gradients, and the variables in the others."""

    args: tuple[Any, ...]
    still: tuple[int, ...]

    @property
    def moving(self) -> list[Any]:
        """The arguments that gradients come to."""
        return [x for i, x in enumerate(self.args) if i not in self.still]

    @property
    def variables(self) -> list[Variable]:
        """The symbolic arrays among these."""
        return [x for _, x in tree_leaves(self.moving, "") if isinstance(x, Variable)]

    def with_variables(self, new: Sequence[Variable]) -> _Call:
        """The same call with others in their place."""
        rest = iter(new)
        leaves = [next(rest) if isinstance(x, Variable) else x for _, x in tree_leaves(self.moving, "")]
        moving = iter(rebuilt(self.moving, iter(leaves).__next__))
        return _Call(tuple(x if i in self.still else next(moving) for i, x in enumerate(self.args)), self.still)


@dataclass(frozen=True, eq=False)
class _Rule:
    """How gradients with respect to one leaf of the result of a call come to its variables."""

    owner: _Custom
    call: _Call
    result: Any
    number: int

    def __call__(self, variables: Sequence[Variable], g: Variable) -> list[Variable | None]:
        return self.owner.gradients(self.call.with_variables(variables), self.result, self.number, g)

    def __repr__(self) -> str:
        return title(self.owner)


class _Custom:
    """A function, and the rule of its gradients, which is given later."""

    _what = ""

    def __init__(self, fun: Callable[..., Any], nondiff_argnums: Sequence[int] = ()) -> None:
        self.site = Site(self._what, user_location())
        if not callable(fun):
            raise self.site.error(TypeError, f"{self._what} takes a Python function of arrays, found {show(fun)}")
        functools.update_wrapper(self, fun)
        self.fun, self.still = fun, tuple(nondiff_argnums)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function; gradients of what it returns are those of the rule."""
        call = _Call(self._by_position(args, kwargs), self.still)
        if not any(isinstance(x, Variable) for _, x in tree_leaves(call.args, "")):
            return self.fun(*call.args)
        self._check()
        result = as_results(self.fun, self.fun(*call.args))
        outs = [as_variable(x) for _, x in tree_leaves(result, "result")]
        rules = [_Rule(self, call, result, i) for i in range(len(outs))]
        pairs = zip(outs, rules, strict=True)
        made = [with_gradient(y, call.variables, rule) if smooth(y) else y for y, rule in pairs]
        return rebuilt(result, iter(made).__next__)

    def _by_position(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        known = None if isinstance(self.fun, np.ufunc) else signature_of(self.fun)
        if known is None or not (kwargs or len(args) < len(known.parameters)):
            return args
        bound = known.bind(*args, **kwargs)
        if bound.kwargs:
            text = f"{title(self.fun)} was given {', '.join(bound.kwargs)}, which it takes by keyword alone"
            raise self.site.error(TypeError, f"{text}: rules take their arguments by position")
        bound.apply_defaults()
        return bound.args

    def _check(self) -> None:
        """Raises AttributeError where there is no rule yet."""
        raise NotImplementedError

    def gradients(self, call: _Call, result: Any, number: int, g: Variable) -> list[Variable | None]:
        """The gradient with respect to each variable of a call, of g, that with respect to one leaf of its result."""
        raise NotImplementedError

    def __reduce__(self) -> str:
        return str(getattr(self, "__qualname__", title(self.fun)))  # by name, as functions are pickled


class custom_vjp(_Custom):  # noqa: N801  the name in JAX
    """A function with a rule of its own for gradients.

    fun: from arrays, and tuples, lists and dicts of them, to the same.  nondiff_argnums: the numbers of arguments that
    get no gradient; the rule is given them first.  Then `f.defvjp(forward, backward)`: forward(*args) gives the result
    and what backward reads; backward(*nondiff, residuals, g), with g in the structure of the result, gives a tuple with
    the gradient with respect to each argument, None for none.  It must be linear in g.
    Called with arrays it is `fun`.  Derivatives of the rule itself are those of what it computes.
    Raises AttributeError if it is called before `defvjp`; TypeError for a rule that returns anything else.

    >>> import numpy as np
    >>> from scanopt import grad
    >>> @custom_vjp
    ... def root(x):
    ...     return np.sqrt(x)
    >>> root.defvjp(lambda x: (root.fun(x), x), lambda x, g: (g / np.maximum(2 * np.sqrt(x), 0.1),))
    >>> grad(root)(0.0)
    array(10.)

    Source: `jax.custom_vjp`.
    """

    _what = "custom_vjp"
    forward: Callable[..., Any] | None = None
    backward: Callable[..., Any] | None = None

    def defvjp(self, fwd: Callable[..., Any], bwd: Callable[..., Any]) -> None:
        """Say what the gradients are: see the class."""
        self.forward, self.backward = fwd, bwd

    def _check(self) -> None:
        if self.forward is None:
            raise self.site.error(
                AttributeError,
                f"{title(self.fun)} has no gradient yet: call {title(self.fun)}.defvjp(forward, backward)",
            )

    def gradients(self, call: _Call, result: Any, number: int, g: Variable) -> list[Variable | None]:
        """By the backward rule, of what the forward rule hands on."""
        assert self.forward is not None
        assert self.backward is not None
        made = self.forward(*call.args)
        if not isinstance(made, tuple) or len(made) != 2:
            text = f"the forward rule of {title(self.fun)} returns (result, residuals), found {show(made)}"
            raise self.site.error(TypeError, text)
        outs = [x for _, x in tree_leaves(as_results(self.forward, made[0]), "result")]
        slopes = [g if i == number else zeros_like(as_variable(x)) for i, x in enumerate(outs)]
        still = [call.args[i] for i in call.still]
        found = self.backward(*still, made[1], rebuilt(result, iter(slopes).__next__))
        return _by_variable(self, call, found)


def _by_variable(owner: _Custom, call: _Call, found: Any) -> list[Variable | None]:
    """The gradients of a backward rule, one for each variable of a call."""
    moving, rule = call.moving, f"the backward rule of {title(owner.fun)}"
    if not isinstance(found, tuple | list) or len(found) != len(moving):
        raise owner.site.error(
            TypeError, f"{rule} returns a tuple of {len(moving)} gradients, one for each argument, found {show(found)}"
        )
    out: list[Variable | None] = []
    for i, (x, g) in enumerate(zip(moving, found, strict=True)):
        leaves = [v for _, v in tree_leaves(x, "")]
        if g is None:
            out += [None for v in leaves if isinstance(v, Variable)]
            continue
        if not same_structure(x, g):
            raise owner.site.error(TypeError, f"{rule} gives {structure(g)} for argument {i}, which is {structure(x)}")
        parts = [p for _, p in tree_leaves(g, "")]
        out += [_fitting(owner, i, v, p) for v, p in zip(leaves, parts, strict=True) if isinstance(v, Variable)]
    return out


def _fitting(owner: _Custom, number: int, x: Variable, g: Any) -> Variable:
    made, rule = as_variable(g), f"the backward rule of {title(owner.fun)}"
    if made.ndim != x.ndim:
        raise owner.site.error(
            TypeError,
            f"{rule} gives {made.type} for argument {number}, which is {x.type}: "
            "a gradient has the shape of its argument",
        )
    return made


class custom_jvp(_Custom):  # noqa: N801  the name in JAX
    """A function with a rule of its own for derivatives along tangents; gradients follow from it.

    fun, nondiff_argnums: as for `custom_vjp`.  Then `f.defjvp(rule)`: rule(*nondiff, primals, tangents), two tuples
    with an entry for each argument, gives the result and its tangent, which must be linear in the tangents.  Or
    `f.defjvps(rule, ...)`: one for each argument, rule(tangent, result, *args), None for none.
    Raises AttributeError if it is called before that; TypeError for a rule that returns anything else.

    >>> import numpy as np
    >>> from scanopt import grad
    >>> @custom_jvp
    ... def softplus(x):
    ...     return np.log1p(np.exp(x))
    >>> softplus.defjvps(lambda t, y, x: t / (1 + np.exp(-x)))
    >>> grad(softplus)(0.0)
    array(0.5)

    Source: `jax.custom_jvp`.
    """

    _what = "custom_jvp"
    rule: Callable[..., Any] | None = None

    def defjvp(self, jvp: Callable[..., Any]) -> Callable[..., Any]:
        """Say what the derivatives are: see the class.  A decorator, too."""
        self.rule = jvp
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """Say it argument by argument: see the class."""

        def rule(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
            y = self.fun(*primals)
            parts = [f(t, y, *primals) for f, t in zip(jvps, tangents, strict=True) if f is not None]
            return y, sum(parts[1:], parts[0])

        self.rule = rule

    def _check(self) -> None:
        if self.rule is None:
            raise self.site.error(
                AttributeError, f"{title(self.fun)} has no derivative yet: call {title(self.fun)}.defjvp(rule)"
            )

    def gradients(self, call: _Call, result: Any, number: int, g: Variable) -> list[Variable | None]:
        """The tangent is linear in the tangents of the arguments: gradients go back through that."""
        assert self.rule is not None
        still, moving = [call.args[i] for i in call.still], tuple(call.moving)
        tangents = [zeros_like(as_variable(x)) for _, x in tree_leaves(moving, "")]
        made = self.rule(*still, moving, rebuilt(moving, iter(tangents).__next__))
        if not isinstance(made, tuple) or len(made) != 2 or not same_structure(made[1], result):
            both = f"(result, tangent), both {structure(result)}"
            raise self.site.error(TypeError, f"the rule of {title(self.fun)} returns {both}, found {show(made)}")
        slopes = [as_variable(x) for _, x in tree_leaves(made[1], "tangent")]
        moved = [t for (_, x), t in zip(tree_leaves(moving, ""), tangents, strict=True) if isinstance(x, Variable)]
        return pull([slopes[number]], [g], moved)
