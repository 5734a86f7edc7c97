"""The rules of axes for reductions, and for operators that run along an axis."""

from __future__ import annotations

from scanopt.scale.axis_rules import Rule, Use, aligned, rule
from scanopt.scale.kinds import LAST, WHOLE, ZERO, Kind, LaneKind, Partial

__all__: list[str] = []

_COMBINED = {"sum": "add", "prod": "multiply", "max": "maximum", "min": "minimum", "any": "logical_or",
             "all": "logical_and"}  # fmt: skip


@rule("sum", "prod", "max", "min", "any", "all", "mean", "var", "std")
def _reduction(u: Use) -> Kind:
    (x,), name = u.kinds, u.op.name
    axes, keepdims = u.options["axis"], u.options["keepdims"]
    if isinstance(x, Partial):
        linear = x == Partial("add") and name in ("sum", "mean")
        fits = linear or (x.ufunc == _COMBINED.get(name) and name not in ("any", "all"))
        return x if fits else u.mixed(f"the parts, {x}, must be combined first", 0)
    if not isinstance(x, LaneKind):
        return x if x in (WHOLE, LAST) or name in ("sum", "mean", "max", "min") else WHOLE
    if x.axis in axes:
        if name not in _COMBINED:
            return u.mixed("all entries along this axis count: sum them, and divide afterwards", 0)
        u.rounds("over this axis")
        return Partial(_COMBINED[name])
    if not u.op.batch_exact(u.out.dtype) and any(i < x.axis for i in axes):
        u.rounds("over an axis before it")
    return LaneKind(x.axis if keepdims else x.axis - sum(i < x.axis for i in axes))


def _along(drops: bool, steady: bool = True) -> Rule:
    """The rule of operators along one axis.  drops: the result lacks it.  steady: bits do not depend on the lanes."""

    def of(u: Use) -> Kind:
        axis = u.options["axis"]
        if any(k not in (WHOLE, ZERO) and not isinstance(k, LaneKind) for k in u.kinds):
            return u.mixed("all entries along an axis count")
        if not steady and any(axis < a for a in u.lanes().values()):
            u.rounds("along an axis before it")
        found = aligned(u, u.args[0].ndim) if len(u.args) > 1 else u.kinds[0]
        if not isinstance(found, LaneKind):
            return found
        if found.axis == axis:
            return u.mixed("it runs along this axis, from entry to entry (a scan may, where its step composes)")
        return LaneKind(found.axis - (drops and axis < found.axis))

    return of


rule("cumsum", "cumprod", "cummax", "cummin", "sort", "argsort", "fft", "rfft", "irfft")(_along(False))
rule("cumaffine")(_along(False))
rule("argmax", "argmin", "first_true", "nanargmax", "nanargmin")(_along(True))
rule("softmax")(_along(False, steady=False))
