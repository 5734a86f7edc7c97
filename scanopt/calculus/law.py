"""Laws: named equations with their conditions, as a researcher writes them.

    @law(licence="exact", example=lambda x: scanopt.map(lambda v: v, x)[0], never=())
    def stack_of_sequence(c: Clock, X: Value) -> Equation:
        return Equation(stack(c, seq(c, X)), X, when=[runs_all(c)])

The parameters are the variables of the pattern; the name of the function is the name of the law;
the formula shown everywhere is printed from the pattern, so it cannot disagree with it.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import cached_property
from types import ModuleType
from typing import Any

from scanopt.array.op import Op as Operator
from scanopt.calculus.condition import FACTS, Condition, parameters
from scanopt.calculus.pattern import numbered
from scanopt.calculus.term import NO_NUMBER, operators_in
from scanopt.calculus.terms import Atom, Term
from scanopt.calculus.well_formed import complaint
from scanopt.extensions import extension_modules, load_extensions
from scanopt.forks import STARTING
from scanopt.pauses import without_collections
from scanopt.records import dataclass

__all__ = [
    "INPLACE", "LICENCES", "Equation", "Law", "allowed", "known_laws", "law", "listed_laws", "listed_names",
    "named_laws", "registered", "ruleset", "select", "standard_laws",
]  # fmt: skip

INPLACE = "inplace"
"""The name of a ruleset without laws: the rules of `scanopt.rewrites.inplace` decide what is computed in place."""

LICENCES = ("exact", "reassoc", "fast")
"""exact: equal bit for bit; reassoc: rounding may differ; fast: the formula may differ."""

Program = Callable[..., Any]


@dataclass(frozen=True)
class Equation:
    """left = right, where every condition in `when` holds.  Rewriting goes from left to right.

    found: the right side must be there already; the law unites the two and makes nothing.
    """

    left: Term
    right: Term
    when: Sequence[Condition] = ()
    found: bool = False

    def __str__(self) -> str:
        return f"{self.left} = {self.right}"


@dataclass(frozen=True)
class Law:
    """A named equation with all that is known of it.

    ruleset: the documented name of the optimization it belongs to (its file in rewrites/).
    example: programs (functions of named inputs) on which it fires.  never: programs on which it
    must not; dropping any one condition makes it fire on at least one of them.
    enabling: it pays only through other laws.  source: the document it comes from.
    folds: the right side is the value of the left, computed when the law fires.
    stepwise: both sides are equal at each step by what is read there, so coinduction may use it: no
    state's update takes part, and of a trace only the entry of that step.
    """

    name: str
    ruleset: str
    equation: Equation
    licence: str
    example: tuple[Program, ...]
    never: tuple[Program, ...]
    enabling: bool = False
    source: str = ""
    doc: str = ""
    folds: bool = False
    stepwise: bool = False

    @property
    def formula(self) -> str:
        """The equation as text."""
        return f"{self.equation.left} = its value" if self.folds else str(self.equation)

    @property
    def conditions(self) -> tuple[str, ...]:
        """The conditions as text."""
        return tuple(map(str, self.equation.when))

    def atoms(self, conditions: Sequence[Condition]) -> list[str]:
        """The left side and some of the conditions, as atoms of an egglog query."""
        left = self.equation.left
        facts = [c.egglog(n) for n, c in enumerate(conditions)]
        if left.args is None:
            return facts
        text = left.pattern()
        return [f"(= lhs_ {text})", *(f.replace(text, "lhs_") for f in facts)]

    def rule(self, ruleset: str, unite: str = "union", more: str = "") -> str:
        """The law as an egglog rule.  unite: the command applied to both sides.  more: further commands of the rule."""
        left, (right, numbers) = self.equation.left, numbered(self.equation.right)
        body = [*self._query(), *(f"(= {name.head} {n.egglog()})" for n, name in numbers.items())]
        here = left.egglog() if left.args is None else "lhs_"
        head = f"({unite} {here} {right.egglog()})"
        if self.equation.found:
            body, head = [*body, f"(= rhs_ {right.pattern()})", "(!= lhs_ rhs_)"], f"({unite} lhs_ rhs_)"
        if self.folds:
            head = f"(fold_ {' '.join(a.egglog() for a in left.args or () if isinstance(a, Term))})"
        return f'(rule ({" ".join(body)}) ({f"{head} {more}".rstrip()}) :ruleset {ruleset} :name "{self.name}")'

    def _query(self) -> list[str]:
        """The atoms of the query, in the order in which it is fastest: egglog joins in this order where it may.

        Facts come first, since they hold of few values; then the left side; then queries for what all values have, such
        as a type, those about values with facts first.
        """
        kinds = {c: FACTS[c.fact].kind for c in self.equation.when}
        facts = [c for c, kind in kinds.items() if kind != "query"]
        known = {v for c in facts for v in c.variables()}
        asked = sorted((c for c in kinds if c not in facts), key=lambda c: not c.variables() & known)
        atoms = self.atoms([*facts, *asked])
        left = len(atoms) - len(kinds)
        return [*atoms[left : left + len(facts)], *atoms[:left], *atoms[left + len(facts) :]]

    @property
    def makes_forms(self) -> bool:
        """Whether its right side may be a new form: it is neither a variable nor required to exist already."""
        return self.equation.right.args is not None and not self.equation.found

    def without(self, condition: int) -> Law:
        """The law without one of its conditions, by its place in `when`.

        It may state nothing any more: see `unbound`.
        """
        when = tuple(c for i, c in enumerate(self.equation.when) if i != condition)
        return replace(self, equation=replace(self.equation, when=when))

    def unbound(self) -> set[str]:
        """Variables that neither the left side nor a condition binds: there must be none."""
        e = self.equation
        bound = e.left.variables() if e.left.args is not None else set[str]()
        for c in e.when:
            bound |= c.variables()
        return (e.right.variables() | e.left.variables()) - bound

    @cached_property
    def operators(self) -> Sequence[Operator]:
        """The operators of the table that it may introduce, except those with variables as parameters."""
        return sorted({op for op, fixed in operators_in(self.equation.right) if fixed}, key=lambda op: op.key)

    def __str__(self) -> str:
        when = f"  when {', '.join(self.conditions)}" if self.conditions else ""
        return f"{self.name}: {self.formula}{when}  [{self.licence}]"


def law(
    *,
    licence: str,
    example: Program | Iterable[Program],
    never: Program | Iterable[Program] = (),
    enabling: bool = False,
    source: str = "",
    folds: bool = False,
    stepwise: bool = False,
    ruleset: str | None = None,
) -> Callable[[Callable[..., Equation]], Law]:
    """Make a law of a function that states an equation of its parameters.

    licence: "exact" if both sides have the same bits, "reassoc" if sums may be rounded differently, "fast" if the
    formula is another one.
    example, never: one or several programs (functions of named inputs) on which the law fires, and on which it must
    not.
    ruleset: the documented optimization that it belongs to; by default the name of its file.
    enabling, source, folds, stepwise: as in `Law`.
    Raises TypeError when a parameter has no sort (Clock, Value, ...) or the function returns no equation of terms,
    and ValueError when the licence is unknown, a condition is not a registered fact, a variable is bound nowhere, or
    the terms do not fit together (see `well_formed`).
    """
    if licence not in LICENCES:
        raise ValueError(f"licence must be one of {', '.join(LICENCES)}, found {licence!r}")

    def make(f: Callable[..., Equation]) -> Law:
        variables = parameters(f)[0]
        made = Law(
            name=f.__name__,
            ruleset=ruleset or f.__module__.rpartition(".")[2],
            equation=_stated(f.__name__, f(*variables.values())),
            licence=licence,
            example=_programs(example),
            never=_programs(never),
            enabling=enabling,
            source=source,
            doc=inspect.getdoc(f) or "",
            folds=folds,
            stepwise=stepwise,
        )
        if not str(f.__module__).startswith(f"{RULESETS}."):  # tests check those: it would take long at each start
            check(made, [*variables])
        return made

    return make


def _stated(name: str, found: Any) -> Equation:
    """Check that `found`, returned by the function of a law, is an equation of terms under conditions; return it."""
    if not isinstance(found, Equation):
        raise TypeError(f"law {name} must return an Equation, found {found!r}")
    for side in (found.left, found.right):
        if not isinstance(side, Term):
            raise TypeError(f"law {name}: the sides of an Equation are terms, found {side!r}: {NO_NUMBER}")
    when: Any = found.when
    if isinstance(when, Condition | Atom):
        raise TypeError(f"law {name}: when= is a list: write when=[{when}]")
    for c in when:
        if not isinstance(c, Condition):
            hint = "" if not isinstance(c, Atom) else _COMPARED
            shown = str(c) if isinstance(c, Atom) else repr(c)
            raise TypeError(
                f"law {name}: when= lists facts about the variables, as in when=[runs_all(c)], found {shown}{hint}"
            )
    return found


_COMPARED = ", which is for rules of facts: laws compare by less(j, k) and at_least(j, k) of scanopt.facts.values"


def _programs(x: Program | Iterable[Program]) -> tuple[Program, ...]:
    return (x,) if callable(x) else tuple(x)


def check(law: Law, parameters: Sequence[str] = ()) -> None:
    """Raise ValueError where a law is not well formed.  parameters: the names of those of its function."""
    for c in law.equation.when:
        if c.fact not in FACTS:
            raise ValueError(f"law {law.name}: {c.fact!r} is not a registered fact")
    e = law.equation
    for op, fixed in (o for x in (e.left, e.right, *(a for c in e.when for a in c.args)) for o in operators_in(x)):
        try:
            if fixed:
                op.check()
        except ValueError as error:
            raise ValueError(f"law {law.name}: {error}") from None
    if e.left.args is None and str(e.left) in law.unbound():
        raise ValueError(f"law {law.name}: its left side is {e.left} alone, and no condition says what that is")
    if free := law.unbound():
        raise ValueError(
            f"law {law.name}: {', '.join(sorted(free))} on the right is bound neither on the left nor by a condition"
        )
    if not law.folds and (wrong := complaint(e.left, e.right, e.when, parameters)):
        raise ValueError(f"law {law.name}: {wrong}")


RULESETS = "scanopt.rewrites"
"""The package of the laws: each of its modules is a ruleset."""

_STANDARD: list[Law] = []


def standard_laws() -> tuple[Law, ...]:
    """All laws of `scanopt.rewrites`, in the order of its files and of the laws in each file, then
    those of installed extensions.

    Raises ValueError when two laws have one name, ImportError where an extension cannot be imported.
    """
    if not _STANDARD:
        complete = load_extensions()
        with STARTING, without_collections():  # a process forked between two imports would have half of the laws
            names = sorted(info.name for info in pkgutil.iter_modules(importlib.import_module(RULESETS).__path__))
            modules = [ruleset(name) for name in names]
        found: dict[str, Law] = {}
        for module in (*modules, *extension_modules()):
            for x in registered(module):
                if found.setdefault(x.name, x) is not x:
                    raise ValueError(f"two laws are named {x.name!r}, one of them in {module.__name__}")
        if not complete:  # an extension that is being loaded asks for the laws there are
            return tuple(found.values())
        _STANDARD[:] = found.values()  # at once: threads may come here together
    return tuple(_STANDARD)


def ruleset(name: str) -> ModuleType:
    """The module of `scanopt.rewrites` of this name."""
    return importlib.import_module(f"{RULESETS}.{name}")


def registered(module: Any) -> list[Law]:
    """The laws that a module defines, in order."""
    return [x for x in vars(module).values() if isinstance(x, Law)]


def known_laws(extra: Iterable[Law] = ()) -> tuple[Law, ...]:
    """The standard laws and further ones.

    Raises TypeError for a rule that is not a law, ValueError for a name that is taken.

    >>> len(known_laws()) == len(standard_laws())
    True
    """
    own = listed_laws(extra)
    laws = {x.name: x for x in standard_laws()}
    for x in own:
        if x.name in laws:
            raise ValueError(f"rules holds a law named {x.name!r}, and there is one of that name already")
        laws[x.name] = x
    return tuple(laws.values())


def listed_laws(rules: Iterable[Law]) -> tuple[Law, ...]:
    """The laws in a list.  Raises TypeError for anything else, and for a rule that is not a law."""
    if isinstance(rules, Law):
        raise TypeError(f"rules must be a list of laws: write rules=[{rules.name}]")
    if not isinstance(rules, Iterable):
        raise TypeError(f"rules must be a list of laws, found {rules!r}")
    found = tuple(rules)
    for x in found:
        if not isinstance(x, Law):
            raise TypeError(f"rules must be laws made with scanopt.law, found {x!r}")
    return found


def listed_names(exclude: Iterable[str]) -> tuple[str, ...]:
    """The names in a list of laws and rulesets to leave out.  Raises TypeError for anything but a list."""
    if isinstance(exclude, str) or not isinstance(exclude, Iterable):
        raise TypeError(f"exclude must be a list of names of laws or rulesets, found {exclude!r}")
    return tuple(exclude)


def named_laws(laws: Sequence[Law], name: str) -> tuple[Law, ...]:
    """The laws of a name: one law, or those of a ruleset.

    Raises ValueError where there is none, suggesting laws and rulesets with similar names.

    >>> [x.name for x in named_laws(standard_laws(), "push_out_seq")][1:]
    ['stack_of_sequence', 'equal_sequences', 'sequence_with_an_axis']
    """
    found = tuple(x for x in laws if name in (x.name, x.ruleset))
    if not found:
        rulesets = list(dict.fromkeys(x.ruleset for x in laws))
        near = get_close_matches(str(name), [*rulesets, *(x.name for x in laws)], 3)
        hint = f"near: {', '.join(near)}" if near else f"the rulesets are {', '.join(rulesets)}"
        if name == INPLACE:
            hint = "what is computed in place is no matter of laws: exclude=['inplace'] shows the program without it"
        raise ValueError(f"no law or ruleset is named {name!r}; {hint}")
    return found


def select(fp: str = "reassoc", exclude: Iterable[str] = (), extra: Iterable[Law] = ()) -> tuple[Law, ...]:
    """The laws that may fire: those whose licence `fp` allows, without the excluded ones.

    exclude: names of laws or of rulesets.  extra: further laws.
    Raises ValueError for an unknown licence or name, TypeError for a rule that is not a law.

    >>> "push_out_seq" in {x.ruleset for x in select(exclude=["push_out_seq"])}
    False
    """
    return allowed(known_laws(extra), fp, exclude)


def allowed(laws: Sequence[Law], fp: str = "reassoc", exclude: Iterable[str] = ()) -> tuple[Law, ...]:
    """The laws among `laws` that the licence `fp` allows, without the excluded ones.

    exclude: names of laws or of rulesets ("inplace" among them, which has none).  Raises ValueError for an unknown
    licence or name, TypeError where exclude is no list of names.

    >>> {x.licence for x in allowed(standard_laws(), "exact")}
    {'exact'}
    """
    if fp not in LICENCES:
        near = get_close_matches(str(fp), LICENCES, 1)
        raise ValueError(
            f"fp must be one of {', '.join(LICENCES)}, found {fp!r}{f'; did you mean {near[0]!r}?' if near else ''}"
        )
    excluded = set(listed_names(exclude))
    known = {n for x in laws for n in (x.name, x.ruleset)} | {INPLACE}
    if unknown := excluded - known:
        near = sorted({n for name in unknown for n in get_close_matches(str(name), known, 3)})
        hint = (
            f"near: {', '.join(near)}" if near else f"the rulesets are {', '.join(sorted({x.ruleset for x in laws}))}"
        )
        raise ValueError(
            f"exclude names {', '.join(sorted(map(repr, unknown)))}, but there is no such law or ruleset; {hint}"
        )
    licences = LICENCES[: LICENCES.index(fp) + 1]
    return tuple(x for x in laws if x.licence in licences and not {x.name, x.ruleset} & excluded)
