"""Primitives of JAX that hold jaxprs: calls, conditions, loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import scanopt.tensor as T
from scanopt.array.variable import Constant, Variable
from scanopt.bridges.jaxprs.reading import JaxprEquation, read_jaxpr, rule
from scanopt.lax.branches import cond, switch
from scanopt.loops import carry as carried

_MOST = 2**63 - 1
"""A limit that no loop reaches."""


def read_closed(closed: Any, inputs: Sequence[Variable]) -> list[Variable]:
    """The results of a closed jaxpr, or of an open one without constants."""
    inner = getattr(closed, "jaxpr", closed)
    return read_jaxpr(inner, getattr(closed, "consts", ()), inputs)


@rule(
    "jit", "pjit", "closed_call", "core_call", "call", "remat", "remat2", "checkpoint", "custom_jvp_call",
    "custom_vjp_call", "custom_vjp_call_jaxpr",
)  # fmt: skip
def _call(eq: JaxprEquation) -> list[Variable]:
    """Read the body of a call.  A custom derivative rule of it is not used: to use it, take gradients in JAX."""
    for word in ("jaxpr", "call_jaxpr", "fun_jaxpr"):
        if word in eq.params:
            return read_closed(eq.params[word], eq.inputs)
    raise eq.refused("a call without a jaxpr")


@rule("cond")
def _cond(eq: JaxprEquation) -> list[Variable]:
    index, *operands = eq.inputs
    branches = eq.params["branches"]
    if isinstance(index, Constant):
        return read_closed(branches[min(max(int(index.data), 0), len(branches) - 1)], operands)
    functions = [lambda *xs, b=b: tuple(read_closed(b, xs)) for b in branches]
    if len(functions) == 2:
        test = index if index.dtype == "bool" else T.gt(index, 0)
        return list(cond(test, functions[1], functions[0], *operands))
    return list(switch(index, functions, *operands))


@rule("scan")
def _scan(eq: JaxprEquation) -> list[Variable]:
    p = eq.params
    consts, states = int(p["num_consts"]), int(p["num_carry"])
    held, init, xs = eq.inputs[:consts], eq.inputs[consts : consts + states], eq.inputs[consts + states :]

    def step(carry: tuple[Variable, ...], x: tuple[Variable, ...]) -> tuple[Any, Any]:
        found = read_closed(p["jaxpr"], [*held, *carry, *x])
        return tuple(found[:states]), tuple(found[states:])

    last, rows = carried.loop(step, tuple(init), tuple(xs), int(p["length"]), bool(p["reverse"]))
    return [*last, *rows]


@rule("while")
def _while(eq: JaxprEquation) -> list[Variable]:
    p, given = eq.params, eq.inputs
    of_cond, of_body = int(p["cond_nconsts"]), int(p["body_nconsts"])
    held, body_held, init = given[:of_cond], given[of_cond : of_cond + of_body], given[of_cond + of_body :]
    counter = _counter(p["cond_jaxpr"].jaxpr, p["body_jaxpr"].jaxpr, of_cond, of_body)
    if counter is not None:
        return _counted(eq, counter, held, body_held, init)

    def test(carry: tuple[Variable, ...]) -> Variable:
        return read_closed(p["cond_jaxpr"], [*held, *carry])[0]

    def body(carry: tuple[Variable, ...]) -> tuple[Variable, ...]:
        return tuple(read_closed(p["body_jaxpr"], [*body_held, *carry]))

    return list(carried.while_loop(test, body, tuple(init), _MOST))


# While loops whose number of steps is known before they run: fori_loop with computed bounds


def _counter(test: Any, body: Any, of_cond: int, of_body: int) -> tuple[int, Any] | None:
    """The number of the state that counts steps, and its bound, if the loop has the form `while i < n: i = i + 1`.

    The bound is an atom of the condition: a literal, a constant of it, or a state that the body does not change.
    """
    if len(test.eqns) != 1 or test.eqns[0].primitive.name != "lt":
        return None
    i, n = test.eqns[0].invars
    states, after = list(test.invars[of_cond:]), list(body.outvars)
    if test.eqns[0].outvars[0] is not test.outvars[0] or all(i is not v for v in states):
        return None
    k = next(j for j, v in enumerate(states) if v is i)
    before = list(body.invars[of_body:])
    made = next((e for e in body.eqns if e.outvars and e.outvars[0] is after[k]), None)
    one = made is not None and made.primitive.name == "add" and made.invars[0] is before[k] and _is_one(made.invars[1])
    if not one or np.dtype(before[k].aval.dtype).kind not in "iu" or before[k].aval.shape:
        return None
    where = next((j for j, v in enumerate(states) if v is n), None)
    if where is not None and after[where] is not before[where]:
        return None
    return k, n


def _is_one(atom: Any) -> bool:
    value = getattr(atom, "val", None)
    return value is not None and np.ndim(value) == 0 and value == 1


def _counted(
    eq: JaxprEquation, counter: tuple[int, Any], held: list[Variable], body_held: list[Variable], init: list[Variable]
) -> list[Variable]:
    k, bound = counter
    p = eq.params
    known = dict(zip(p["cond_jaxpr"].jaxpr.invars, [*held, *init], strict=True))
    consts = zip(p["cond_jaxpr"].jaxpr.constvars, p["cond_jaxpr"].consts, strict=True)
    known |= {v: Constant(np.asarray(c)) for v, c in consts}
    last = Constant(np.asarray(bound.val)) if hasattr(bound, "val") else known[bound]
    steps: Any = T.maximum(T.cast(last, "int64") - T.cast(init[k], "int64"), 0)
    if isinstance(last, Constant) and isinstance(init[k], Constant):
        steps = max(int(last.data) - int(init[k].data), 0)

    def step(carry: tuple[Variable, ...], _: Any) -> tuple[Any, None]:
        return tuple(read_closed(p["body_jaxpr"], [*body_held, *carry])), None

    return list(carried.loop(step, tuple(init), None, steps)[0])


@rule("platform_index")
def _platform(eq: JaxprEquation) -> Variable:
    """The number of the branch for a CPU among branches for platforms, else of the default branch."""
    platforms = list(eq.params["platforms"])
    found = next((i for i, names in enumerate(platforms) if names is None or "cpu" in names), len(platforms) - 1)
    return Constant(np.asarray(found, eq.types[0].dtype))
