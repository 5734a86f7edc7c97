"""loop, fori_loop and while_loop: a step from a carry and an entry to a carry and a result.

Carry, entries and results are arrays in arbitrarily nested tuples and dicts; there are no taps and no flat
argument lists.  A thin layer: the leaves of the carry are the states of a Scan, those of xs its sequences.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from scanopt.array.registry import FUNCTIONS
from scanopt.array.variable import Constant, Variable
from scanopt.loops.canonical import Initial, SequenceArg, sequence_args
from scanopt.loops.location import user_location
from scanopt.loops.node import Requirement, Scan
from scanopt.loops.options import Options, check_truth
from scanopt.loops.scan import Arguments, scan_node
from scanopt.loops.shared import last_values
from scanopt.loops.site import Site, is_bare, show
from scanopt.loops.step import Building, call_step, check_step
from scanopt.loops.steps import StepPlan, first_rows, given_steps, literal, not_negative, requirement, rows_of, turned
from scanopt.loops.trees import aligned, rebuilt, tree_leaves
from scanopt.loops.until import until

__all__ = ["fori_loop", "loop", "loop_over", "while_loop"]


def loop(
    step: Callable[..., Any],
    init: Any,
    xs: Any = None,
    length: Any = None,
    reverse: bool = False,
    name: str | None = None,
) -> tuple[Any, Any]:
    """A loop over the first axis of `xs` that carries a value along: (last carry, results).

    step: from (carry, x) to (carry, y), or to (carry, y, until(condition)) to end the loop early.
    init: the first carry.  Bare Python numbers in it take the dtype that the step gives them.
    xs: arrays of equal length, whose entries are x, step by step; or an int n for the numbers from 0 to n - 1.
    length: number of steps; needed without xs (x is then None), otherwise equal to the length of xs.
    reverse: from the last entry to the first; results are in the order of the entries.  name: of the loop.
    init, xs and y: arrays, or tuples, lists, dicts, named tuples and dataclasses of them; None holds nothing.

    The last carry is `init` after 0 steps; the leaves of the results have one row for each step.
    Raises TypeError, ValueError naming the place in the carry for a step that changes its structure,
    dtypes or shapes, and for lengths that differ, known ones at once, others when the loop runs.

    >>> from scanopt import interpret, tensor as T
    >>> def step(carry, x):
    ...     total = carry["total"] + x
    ...     return {"total": total, "n": carry["n"] + 1}, total
    >>> last, totals = loop(step, {"total": 0.0, "n": 0}, T.constant([1.0, 2.0, 4.0]))
    >>> interpret(totals), interpret([last["total"], last["n"]])
    (array([1., 3., 7.]), [array(7.), array(3)])
    """
    site = Site("loop", user_location())
    return _run(site, step, init, xs, length, reverse, name)


def loop_over(
    site: Site, step: Callable[..., Any], init: Any, xs: list[Variable], length: Any, labels: list[str], name: Any,
    whole: Sequence[Variable] = (),
) -> tuple[Any, Any]:  # fmt: skip
    """A `loop` over arrays; error messages call them by these labels.

    whole: the arrays that must be equally long, if xs are parts of them; the labels are then theirs.
    """
    return _run(site, step, init, xs, length, False, name, labels=labels, whole=whole)


def _run(
    site: Site,
    step: Callable[..., Any],
    init: Any,
    xs: Any,
    length: Any,
    reverse: Any,
    name: Any,
    begins: Callable[[Any], until] | None = None,
    labels: list[str] | None = None,
    whole: Sequence[Variable] = (),
) -> tuple[Any, Any]:
    """Build a loop.  begins: from the first carry, whether there is a step.  labels: of xs, if not their paths."""
    check_truth(site, "reverse", reverse)
    options = replace(Options(name).checked(site), go_backwards=bool(reverse))
    check_step(site, step, ["carry", "x"], "a step takes the carry and the entry of this step")
    if isinstance(xs, int | np.integer) and not isinstance(xs, bool):
        xs = FUNCTIONS["arange"](xs)
    states = _states(site, init)
    sequences = _sequences(site, xs, labels)
    steps = _plan(site, sequences, length, bool(reverse), "length" if begins is None else "max_steps")
    if whole:
        steps = replace(steps, requires=_equally_long(site, labels or [], whole))
    shape: list[Any] = [None]  # the structure of the results of the step built last, which is the one that is kept

    def flat(*args: Any) -> list[Any]:
        leaves = [*args[len(sequences) :], *args[: len(sequences)]]
        feed = iter(leaves).__next__
        carry, y, end = _results(site, step(rebuilt(init, feed), rebuilt(xs, feed)))
        shape[0] = y
        return [*aligned(site, init, carry, "carry"), *(leaf for _, leaf in tree_leaves(y, "y")), *end]

    node = Building(site, flat, scan_node(site, Arguments(sequences, states), steps, options)).done()
    if begins is not None:
        first = rebuilt(init, iter([s.init_outer for s in node.sit_sots]).__next__)
        there = call_step(site, begins, [first]).condition
        node = replace(node, n_steps=FUNCTIONS["where"](there, node.n_steps, 0))
    for x, value in last_values(node).items():
        x.default_update = value  # streams of random numbers made in the step: `function` updates them after each call
    traces = iter(node.returned)
    last = [_last(node, state.init_outer, next(traces)) for state in node.sit_sots]
    rows = [turned(y, bool(reverse)) for y in traces]
    return rebuilt(init, iter(last).__next__), rebuilt(shape[0], iter(rows).__next__)


def _states(site: Site, init: Any) -> tuple[Initial, ...]:
    out: list[Initial] = []
    for path, leaf in tree_leaves(init, "carry"):
        value = leaf if is_bare(leaf) else site.array(leaf, path)
        out.append(Initial(value, (-1,), path, written="init" + path.removeprefix("carry")))
    return tuple(out)


def _sequences(site: Site, xs: Any, labels: list[str] | None) -> tuple[SequenceArg, ...]:
    leaves = list(tree_leaves(xs, "xs"))
    if labels is not None:
        leaves = [(label, leaf) for label, (_, leaf) in zip(labels, leaves, strict=True)]
    for path, leaf in leaves:
        if is_bare(leaf):
            raise site.error(
                TypeError, f"{path} is {leaf!r}: it must be an array with an entry for each step; write np.asarray(...)"
            )
    args = [sequence_args(site, [site.array(leaf, path)])[0] for path, leaf in leaves]
    return tuple(replace(arg, label=path) for arg, (path, _) in zip(args, leaves, strict=True))


def _plan(site: Site, args: tuple[SequenceArg, ...], length: Any, reverse: bool, word: str) -> StepPlan:
    """Plan one step for each row of the sequences, with checks that these are equally long.  word: names `length`."""
    requires: tuple[Requirement, ...] = ()
    known = [(arg.label, arg.variable.type.shape[0]) for arg in args]
    first = next((Constant(np.int64(n)) for _, n in known if n is not None), None)
    if length is not None:
        n = given_steps(site, length, word)
        requires += not_negative(site, word, n)
        what = "length"
    elif args:
        n = rows_of(args[0].variable) if first is None else first
        what = next((label for label, rows in known if rows is not None), args[0].label)
    else:
        raise site.error(ValueError, "the number of steps is not known: give xs, or length")
    for arg in args:
        requires += _same_length(site, arg.label, arg.variable, n, what)
    return StepPlan(n, tuple((turned(first_rows(arg.variable, n), reverse),) for arg in args), requires)


def _equally_long(site: Site, labels: Sequence[str], arrays: Sequence[Variable]) -> tuple[Requirement, ...]:
    n, what = rows_of(arrays[0]), labels[0]
    return tuple(r for label, x in zip(labels, arrays, strict=True) for r in _same_length(site, label, x, n, what))


def _same_length(site: Site, label: str, x: Variable, n: Variable, what: str) -> tuple[Requirement, ...]:
    rows = rows_of(x)
    if what == label:
        return ()
    steps = "length is {expected}" if what == "length" else f"{literal(what)} has {{expected}}"
    message = f"{literal(label)} has {{found}} rows but {steps}: all must be equally long {literal(site.place)}"
    if rows.operand.value is None or n.operand.value is None:
        return (requirement("rows", rows, n, message, "eq"),)
    if rows.operand.value != n.operand.value:
        raise ValueError(message.format(found=int(rows.operand.value), expected=int(n.operand.value)))
    return ()


def _results(site: Site, raw: Any) -> tuple[Any, Any, list[until]]:
    """The carry, the results, and a list with the `until` that ends the loop, if any.  Raises TypeError."""
    if not isinstance(raw, tuple | list) or len(raw) not in (2, 3):
        raise site.error(TypeError, f"the step must return (carry, y), found {show(raw)}; y may be None")
    carry, y, *end = raw
    if end and not isinstance(end[0], until):
        raise site.error(
            TypeError,
            f"the step may return until(condition) after (carry, y), found {show(end[0])}; "
            "updates of shared variables go through the carry",
        )
    return carry, y, end


def _last(node: Scan, init: Variable, trace: Variable) -> Variable:
    """One leaf of the carry after the loop: its initial value if no step ran."""
    if node.static_steps:
        last: Variable = trace[-1]
        return last
    if node.static_steps == 0:
        return init
    value: Variable = FUNCTIONS["concatenate"]([FUNCTIONS["expand_dims"](init, 0), trace], 0)[-1]
    return value


def fori_loop(lower: Any, upper: Any, body: Callable[..., Any], init: Any, name: str | None = None) -> Any:
    """The carry after `carry = body(i, carry)` for i from lower to upper - 1.

    lower, upper: integers, which may be symbolic.  init, name: the first carry, and the name of the loop, as in `loop`.
    Raises as `loop` does; ValueError for bounds that are not integers.

    >>> from scanopt import interpret
    >>> interpret(fori_loop(1, 5, lambda i, product: i * product, 1))
    array(24)
    """
    site = Site("fori_loop", user_location())
    check_step(site, body, ["i", "carry"], "a body takes the number of the step and the carry")
    checked = given_steps(site, lower, "lower"), given_steps(site, upper, "upper")
    bounds = [n if isinstance(bound, float) else bound for n, bound in zip(checked, (lower, upper), strict=True)]
    indices = FUNCTIONS["arange"](*bounds)
    return _run(site, lambda carry, i: (body(i, carry), None), init, indices, None, False, name)[0]


def while_loop(
    cond: Callable[..., Any], body: Callable[..., Any], init: Any, max_steps: Any, name: str | None = None
) -> Any:
    """The carry after `carry = body(carry)` for as long as cond(carry) holds, but max_steps times at most.

    init, name: the first carry, and the name of the loop, as in `loop`.  max_steps: an integer, which may be symbolic.
    Raises as `loop` does.

    >>> from scanopt import interpret
    >>> interpret(while_loop(lambda n: n < 45, lambda n: 2 * n, 1, max_steps=100))
    array(64)
    """
    site = Site("while_loop", user_location())
    check_step(site, cond, ["carry"], "a condition takes the carry")
    check_step(site, body, ["carry"], "a body takes the carry")
    most = given_steps(site, max_steps, "max_steps")

    def step(carry: Any, _: Any) -> tuple[Any, None, until]:
        new = body(carry)
        aligned(site, carry, new, "carry")  # or an error in cond would hide that the body returns another structure
        return new, None, until(FUNCTIONS["logical_not"](until(cond(new)).condition))

    return _run(site, step, init, None, most, False, name, lambda carry: until(cond(carry)))[0]
