"""Calls a function with new variables in place of some arguments, to differentiate it with respect to them.

Everything else that the function reads is then constant, whatever the arguments are computed from, and gradients
nest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from scanopt.array.constants import as_variable
from scanopt.array.derivatives import smooth
from scanopt.array.variable import Variable, describe
from scanopt.loops.rebuild import rebuild
from scanopt.loops.tracing import attached, collecting
from scanopt.loops.trees import mapped_leaves, rebuilt, tree_leaves
from scanopt.records import dataclass
from scanopt.transforms.calls import labels_of, leaf_type, title
from scanopt.transforms.jit import as_results

__all__ = ["Fresh", "chosen", "fresh_call"]


@dataclass(frozen=True, eq=False)
class Fresh:
    """The record of a call of f with new variables.

    points: the arguments that were replaced, as they were given.  variables, actual: the new variables, and the values
    that they stand for, leaf by leaf.  result: the result of f, aux: its auxiliary output; both in the new variables.
    """

    points: Any
    variables: list[Variable]
    actual: list[Variable]
    result: Any
    aux: Any
    asked: list[Variable]

    @property
    def outputs(self) -> list[Variable]:
        """The leaves of the result."""
        return [x for _, x in tree_leaves(self.result, "result")]

    def back(self, tree: Any) -> Any:
        """A structure computed from the new variables, rebuilt to be computed from the values they stand for."""
        feed = [x for _, x in tree_leaves(attached(tree, self.asked), "")]
        made = rebuild(feed, dict(zip(self.variables, self.actual, strict=True)))
        return rebuilt(tree, iter(made).__next__)

    def like_points(self, values: Sequence[Any]) -> Any:
        """Values, one for each leaf, in the structure of the replaced arguments."""
        return rebuilt(self.points, iter(values).__next__)


def chosen(f: Callable[..., Any], what: str, argnums: Any, count: int) -> tuple[int, ...]:
    """The positions of the arguments that a derivative is with respect to.  Raises TypeError, ValueError."""
    many = argnums if isinstance(argnums, tuple | list) else (argnums,)
    for n in many:
        if isinstance(n, bool) or not isinstance(n, int):
            raise TypeError(f"argnums of {what} must be an integer or several, found {argnums!r}")
        if not -count <= n < count:
            raise ValueError(f"{what} of {title(f)} with respect to argument {n}, but it was called with {count}")
    places = tuple(n % count for n in many)
    if not places or len(set(places)) < len(places):
        raise ValueError(f"argnums of {what} must name each argument once, found {argnums!r}")
    return places


def fresh_call(
    f: Callable[..., Any],
    what: str,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    places: Sequence[int],
    has_aux: bool,
    still: bool = False,
) -> Fresh:
    """Call f with new variables in place of the arguments at these places.

    still: leaves that are neither float nor complex are left as they are; otherwise they raise TypeError.
    """
    names = labels_of(f, len(args))
    variables: list[Variable] = []
    actual: list[Variable] = []
    new = list(args)
    for i in places:
        feed: list[Any] = []
        for path, x in tree_leaves(args[i], names[i]):
            v = as_variable(x) if isinstance(x, Variable) or leaf_type(x) is not None else None
            if v is not None and smooth(v):
                variables.append(Variable(v.type, path))
                variables[-1].only_in = f"{title(f)} while {what} calls it"
                actual.append(v)
            elif not still:
                raise TypeError(
                    f"{what} of {title(f)} with respect to {path}, which is "
                    f"{describe(v) if v is not None else repr(x)}: only floats and complex numbers have derivatives; "
                    "cast it, or leave it out of argnums"
                )
            feed.append(variables[-1] if v is not None and smooth(v) else x)
        new[i] = rebuilt(args[i], iter(feed).__next__)
    with collecting() as asked:
        found = f(*new, **kwargs)
    result, aux = _with_aux(f, what, found) if has_aux else (found, None)
    points = tuple(args[i] for i in places)
    return Fresh(points, variables, actual, as_results(f, result), mapped_leaves(_kept, aux), asked)


def _kept(x: Any) -> Any:
    return x if not isinstance(x, Variable) and leaf_type(x) is None else as_variable(x)


def _with_aux(f: Callable[..., Any], what: str, found: Any) -> tuple[Any, Any]:
    if not isinstance(found, tuple) or len(found) != 2:
        raise TypeError(f"{what} with has_aux=True needs {title(f)} to return (result, aux), found {found!r}")
    return found
