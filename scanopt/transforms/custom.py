"""Functions with user-defined derivative rules: custom_vjp and custom_jvp."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
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
from scanopt.records import dataclass
from scanopt.transforms.calls import signature_of, title
from scanopt.transforms.jit import as_results

__all__ = ["custom_jvp", "custom_vjp"]


@dataclass(frozen=True)
class _Call:
    """The arguments of one call by position.  still: the numbers of arguments that get no gradients."""

    args: tuple[Any, ...]
    still: tuple[int, ...]

    @property
    def moving(self) -> list[Any]:
        """The arguments that get gradients."""
        return [x for i, x in enumerate(self.args) if i not in self.still]

    @property
    def variables(self) -> list[Variable]:
        """The symbolic arrays in the arguments that get gradients."""
        return [x for _, x in tree_leaves(self.moving, "") if isinstance(x, Variable)]

    def with_variables(self, new: Sequence[Variable]) -> _Call:
        """The same call with new variables in place of these."""
        rest = iter(new)
        leaves = [next(rest) if isinstance(x, Variable) else x for _, x in tree_leaves(self.moving, "")]
        moving = iter(rebuilt(self.moving, iter(leaves).__next__))
        return _Call(tuple(x if i in self.still else next(moving) for i, x in enumerate(self.args)), self.still)


@dataclass(frozen=True, eq=False)
class _Rule:
    """The gradient rule from leaf number `number` of the result of a call to the call's variables."""

    owner: _Custom
    call: _Call
    result: Any
    number: int

    def __call__(self, variables: Sequence[Variable], g: Variable) -> list[Variable | None]:
        return self.owner.gradients(self.call.with_variables(variables), self.result, self.number, g)

    def __repr__(self) -> str:
        return title(self.owner)


class _Custom:
    """A function with a rule for its gradients, which is set after it is made."""

    _what = ""

    def __init__(self, fun: Callable[..., Any], nondiff_argnums: Sequence[int] = ()) -> None:
        self.site = Site(self._what, user_location())
        if not callable(fun):
            raise self.site.error(TypeError, f"{self._what} takes a Python function of arrays, found {show(fun)}")
        functools.update_wrapper(self, fun)
        self.fun, self.still = fun, tuple(nondiff_argnums)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function; gradients through its results follow the rule."""
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
        """Raise AttributeError if no rule is set yet."""
        raise NotImplementedError

    def gradients(self, call: _Call, result: Any, number: int, g: Variable) -> list[Variable | None]:
        """The gradients with respect to a call's variables.  g: that with respect to leaf `number` of its result."""
        raise NotImplementedError

    def __reduce__(self) -> str:
        return str(getattr(self, "__qualname__", title(self.fun)))  # pickled by name, as functions are


class custom_vjp(_Custom):  # noqa: N801  the name in JAX
    """A function with a user-defined rule for gradients.

    fun: takes and returns arrays, and tuples, lists and dicts of them.  nondiff_argnums: the numbers of arguments that
    get no gradient; the rule gets them first.  Then call `f.defvjp(forward, backward)`: forward(*args) returns the
    result and the residuals that backward needs; backward(*nondiff, residuals, g), with g in the structure of the
    result, returns a tuple with the gradient with respect to each argument, None for no gradient.  It must be linear
    in g.
    Called with arrays it is `fun`.  Derivatives of the rule itself are those of the operators in it.
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
        """Set the rule for gradients: see the class."""
        self.forward, self.backward = fwd, bwd

    def _check(self) -> None:
        if self.forward is None:
            raise self.site.error(
                AttributeError,
                f"{title(self.fun)} has no gradient yet: call {title(self.fun)}.defvjp(forward, backward)",
            )

    def gradients(self, call: _Call, result: Any, number: int, g: Variable) -> list[Variable | None]:
        """The gradients from the backward rule, applied to the residuals of the forward rule."""
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
    """Check the result of a backward rule and list its gradients, one for each variable of a call."""
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
    """A function with a user-defined rule for derivatives along tangents; gradients follow from it.

    fun, nondiff_argnums: as for `custom_vjp`.  Then call `f.defjvp(rule)`: rule(*nondiff, primals, tangents), with two
    tuples that have an entry for each argument, returns the result and its tangent, which must be linear in the
    tangents.  Or `f.defjvps(rule, ...)`: one rule(tangent, result, *args) for each argument, None for no derivative.
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
        """Set the rule for derivatives: see the class.  Also usable as a decorator."""
        self.rule = jvp
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """Set one rule for each argument: see the class."""

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
        """The gradients, pulled back through the rule's tangent, which is linear in the tangents of the arguments."""
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
