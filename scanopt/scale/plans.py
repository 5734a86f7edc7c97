"""The plan of a divided function: the program for each part, and how the results are combined.

If no loop runs over the lanes, each part is computed by the function itself.  Otherwise in three phases: summaries of
the parts, round by round; from these the carries with which each part starts; the results of the parts.  Or as a
chain: one part after the other, each starting with the carries of the one before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from scanopt.array.shown import quoted
from scanopt.array.variable import Variable
from scanopt.compilation.callable import Runnable
from scanopt.compilation.compiled_function import Function
from scanopt.compilation.function import function
from scanopt.compilation.planning import OptimizationPlan
from scanopt.compilation.saving import text_of
from scanopt.compilation.signature import signature
from scanopt.forks import once
from scanopt.loops.node import MitSot
from scanopt.records import dataclass
from scanopt.scale.axes import Flow, kinds_of
from scanopt.scale.carries import CutProgram, PrefixRound, cut
from scanopt.scale.compositions import NoComposition
from scanopt.scale.kinds import COUNT, Kind, Mixed
from scanopt.scale.pattern import graph_of, output_names
from scanopt.scale.workers import Saved, Summary

__all__ = ["DependenceError", "PartPlan", "compiled_as", "plan"]


class DependenceError(ValueError):
    """Raised if a function is not independent along the axes to divide: the text names the dependence."""


@dataclass
class PartPlan:
    """How f is divided along axes of its inputs.

    lanes: the axis by number of input.  names, kinds: of the outputs.  cut: the program cut at the loops over the
    lanes, None if there are none.  rounds: how their states compose; empty for a chain.
    """

    f: Runnable
    lanes: Mapping[int, int]
    names: Sequence[str]
    kinds: Sequence[Kind]
    cut: CutProgram | None = None
    rounds: Sequence[PrefixRound] = ()

    def whole(self) -> Saved:
        """The program of the function itself."""
        return Saved.of(text_of(self.f))

    def start(self) -> Saved:
        """The program from the inputs to the first carries."""
        return Saved.of(text_of(self._start))

    def part(self) -> Saved:
        """The program from inputs and carries to outputs and carries."""
        return Saved.of(text_of(self._part))

    def again(self) -> Saved:
        """The program from inputs and carries to carries."""
        return Saved.of(text_of(self._again))

    @once
    def _start(self) -> Runnable:
        return compiled_as(self.f, graph_of(self.f)[0], self._cut.start)

    @once
    def _part(self) -> Runnable:
        return compiled_as(self.f, self._inputs, [*self._cut.outputs, *self._cut.after])

    @once
    def _again(self) -> Runnable:
        return compiled_as(self.f, self._inputs, self._cut.after)

    @once
    def _summaries(self) -> list[tuple[PrefixRound, Runnable]]:
        return [(r, compiled_as(self.f, [*self._inputs, *r.seeds], r.outputs)) for r in self.rounds]

    def summaries(self) -> list[Summary]:
        """The summary programs of all rounds."""
        strict = _is_exact(self.f)
        return [
            Summary(
                Saved.of(text_of(made)),
                r.how.name,
                r.how.ufunc,
                strict,
                r.places,
                tuple(s.depth if isinstance(s, MitSot) else 0 for s in (r.loop.made.states[i] for i in r.group.states)),
                r.lags,
            )
            for r, made in self._summaries
        ]

    @property
    def _cut(self) -> CutProgram:
        assert self.cut is not None
        return self.cut

    @once
    def _inputs(self) -> list[Variable]:
        return [*graph_of(self.f)[0], *self._cut.carries]

    def __str__(self) -> str:
        axes = ", ".join(f"axis {a} of {self.f.inputs[i]!r}" for i, a in self.lanes.items())
        lines = [f"divided along {axes}"]
        if self.cut is not None:
            how = [f"{r.loop.node.label(i)} is {r.how.name.lower()}" for r in self.rounds for i in r.group.states]
            lines.append("in three phases: " + "; ".join(how) if how else "as a chain, one part after the other")
        return "\n".join([*lines, *(f"{n}: {k}" for n, k in zip(self.names, self.kinds, strict=True))])


def _is_exact(f: Runnable) -> bool:
    return f.program.exact


def compiled_as(f: Runnable, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> Runnable:
    """Compile a function with these inputs and outputs, with the options of f."""
    if isinstance(f, Function):
        made = signature(list(inputs), list(outputs), None, "ignore", None, None, True)
        return Function(OptimizationPlan(replace(f._plan.request, signature=made, example=None)), None)
    fp = "exact" if _is_exact(f) else "reassoc"
    return function(list(inputs), list(outputs), fp=fp, backend=f.backend, on_unused_input="ignore")


def plan(f: Runnable, lanes: Mapping[int, int], schedule: str, what: str) -> PartPlan:
    """The plan to divide f.  Raises DependenceError, which names the dependence, if there is none."""
    inputs, outputs = graph_of(f)
    names, given = output_names(f), {inputs[i]: a for i, a in lanes.items()}
    for i, a in lanes.items():
        v = inputs[i]
        if v.type.shape[a] is not None:
            raise DependenceError(
                f"{what}: {v!r} is declared to have {v.type.shape[a]} entries along axis {a}, so it cannot be given "
                "fewer: declare that length None"
            )
    where = " and ".join(f"axis {a} of {quoted(inputs[i].name or f'input {i}')}" for i, a in lanes.items())
    flow = kinds_of(outputs, given)
    wrong = _mixed(flow, outputs)
    if wrong is None:
        _check_bits(f, flow, what, where)
        return PartPlan(f, lanes, names, [flow.kinds[v] for v in outputs])
    carried = kinds_of(outputs, given, carries=True)
    still = _mixed(carried, outputs)
    if still is not None:
        text = _text(what, where, names[wrong[0]], wrong[1])
        if still != wrong and still[1] is not None:
            text += f".  Were that handed on from part to part, {names[still[0]]} would: {still[1].dependence}"
        raise DependenceError(text)
    _check_bits(f, carried, what, where)
    made = PartPlan(f, lanes, names, [carried.kinds[v] for v in outputs], cut(outputs, carried.loops))
    if schedule == "chain":
        return made
    try:
        made.rounds = made._cut.rounds()
    except NoComposition as error:
        raise DependenceError(
            f"{_text(what, where, names[wrong[0]], wrong[1])}.  Nor does its step compose: {error}.  "
            'schedule="chain" computes the parts one after the other'
        ) from None
    for r in made.rounds:
        if _is_exact(f) and not r.how.exact:
            raise DependenceError(
                f"{what}: {r.loop.node.label(r.group.states[0])} of {r.loop.node} would be added up in another order "
                f"by parts along {where}, and so rounded otherwise, but the function is compiled with "
                'fp="exact": compile it with fp="reassoc", or ask for schedule="chain", which gives the same bits one '
                "part after the other"
            )
    return made


def _mixed(flow: Flow, outputs: Sequence[Variable]) -> tuple[int, Mixed | None] | None:
    for i, v in enumerate(outputs):
        k = flow.kinds[v]
        if isinstance(k, Mixed):
            return i, k
        if k == COUNT:
            return i, None
    return None


def _text(what: str, where: str, name: str, k: Mixed | None) -> str:
    why = str(k.dependence) if k is not None else "it is their number"
    return f"{what}: {name} depends on several entries along {where} at once: {why}"


def _check_bits(f: Runnable, flow: Flow, what: str, where: str) -> None:
    if flow.noted and _is_exact(f):
        raise DependenceError(
            f"{what}: the rounding of entries along {where} depends on which of them are computed together, and "
            f'the function is compiled with fp="exact": {", ".join(flow.noted)}.  '
            'Compile it with fp="reassoc", or write it for one entry and map it over them'
        )
