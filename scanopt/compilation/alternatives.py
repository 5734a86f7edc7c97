"""The forms that programs for other sizes are chosen from; kept with a program, and unpickled when first needed."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from scanopt.array.op import Operand
from scanopt.calculus.forms import TermGraph
from scanopt.compilation.magnitudes import Magnitudes
from scanopt.compilation.planning import OptimizationPlan
from scanopt.compilation.report import Report
from scanopt.forks import once
from scanopt.program.ir import Program
from scanopt.records import dataclass

if TYPE_CHECKING:
    from scanopt.extraction.resizing import Chosen

__all__ = ["Alternatives", "Known", "alternatives_of"]


class Forms:
    """All forms found for a function, and those chosen first; once unpickled, they are read when asked for."""

    def __init__(self, packed: bytes) -> None:
        self._packed = packed

    @once
    def all(self) -> tuple[TermGraph, Chosen]:
        """The e-graph, and what was chosen in it."""
        found: tuple[TermGraph, Chosen] = pickle.loads(self._packed)
        return found

    @staticmethod
    def of(graph: TermGraph, chosen: Chosen) -> Forms:
        """Wrap an e-graph and the choice made in it."""
        made = Forms(b"")
        vars(made)["all"] = graph, chosen
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return Forms, (self._packed or pickle.dumps(self.all, pickle.HIGHEST_PROTOCOL),)


@dataclass(frozen=True)
class Alternatives:
    """The forms that programs for other sizes are chosen from.

    own: the operands that the first program was chosen for.  magnitudes: the sizes of a call that matter.
    """

    own: Mapping[str, Operand]
    magnitudes: Magnitudes
    forms: Forms


@dataclass(frozen=True)
class Known:
    """The results of an optimization that were kept, so that a function need not be optimized again."""

    program: Program
    report: Report
    alternatives: Alternatives | None = None


def alternatives_of(plan: OptimizationPlan) -> Alternatives | None:
    """The alternatives of an optimized plan; None where no call can differ or a search would take too long."""
    from scanopt.analysis.counting import counting_inputs
    from scanopt.analysis.sizes import Sizes, example_operands
    from scanopt.extraction.resizing import MANY, Chosen

    done = plan.done
    if done.egraph.size > MANY:
        return None
    x = done.extraction
    own = example_operands(done.egraph, plan.settings.example)
    # The program as written was chosen from a graph of its own.
    sizes = x.problem.sizes if x.problem.graph is done.egraph else Sizes(done.egraph, own)
    magnitudes = Magnitudes.of(done.egraph.inputs, counting_inputs(done.egraph, sizes))
    if not magnitudes:
        return None
    return Alternatives(own, magnitudes, Forms.of(done.egraph, Chosen(x.problem.graph, x.choice, x.schedule, x.method)))
