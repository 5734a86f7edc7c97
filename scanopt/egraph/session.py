"""The e-graph: one program under some laws, in the engine.

The program goes in as tables (fast), laws run in rounds under limits, and all classes come out as
a `TermGraph`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from functools import cache, partial
from typing import Any

from scanopt.analysis.coinduction import PROVEN, Trial, facts_of, pairs, proven
from scanopt.analysis.constants import filled
from scanopt.analysis.few_numbers import in_numbers
from scanopt.analysis.initial_facts import Given, GivenFacts
from scanopt.analysis.last_steps import with_last_steps
from scanopt.analysis.lengths import KnownLengths, known_lengths
from scanopt.analysis.modes import laws_by_mode, mode_facts
from scanopt.analysis.states import passing_on
from scanopt.analysis.step_counts import as_many_steps
from scanopt.calculus.encoded import Encoded
from scanopt.calculus.forms import TermGraph, const_key
from scanopt.calculus.law import Law
from scanopt.egraph.engine import EngineError, RunReport, begin_to_start, take
from scanopt.egraph.folding import Constant, equality, folded, roles
from scanopt.egraph.introduced import Introduced
from scanopt.egraph.loading import Rows
from scanopt.egraph.provenance import NOTE_FACTS, NOTE_WRITTEN, Notes, Provenance, noting
from scanopt.egraph.readback import ReadBack, read_back, read_foldings, read_terms
from scanopt.egraph.rulebook import ActiveRules, facts_asked, own_laws, rules_beside, rules_text, rulesets_of
from scanopt.egraph.saturation import READ, Limits, Round, Saturation, run_schedule
from scanopt.egraph.schedule import EVERYTHING, Schedule
from scanopt.egraph.strata import rulesets_in
from scanopt.records import dataclass

__all__ = ["EGraph", "Limits", "Saturation", "UnsoundLawError"]


class UnsoundLawError(RuntimeError):
    """Laws made two values of different types equal."""


_FORMS = ("apply", "hold", "seq", "delay", "stack", "tail", "on", "both")
"""The constructors whose terms are counted as forms."""

_TOO_MANY = 4
"""Facts are stopped at this many times the forms that the program may have."""

_SMALL = 1_000
"""With at most this many forms, facts of the library end before they could take much memory."""

_LONG = 32
"""Laws that move something along a program need at most this many rounds more than its longest chain has terms."""

_TRIAL = 50
"""The most rounds of a trial."""


_MIXED = {"ndim": "they have different numbers of axes", "dtype": "they have different dtypes"}
"""What differs, by the function of the e-graph that has one value for each value."""


@contextmanager
def _typed() -> Iterator[None]:
    """Raise UnsoundLawError if values of different types became equal."""
    try:
        yield
    except EngineError as error:
        if "Illegal merge" in str(error):
            what = next((text for name, text in _MIXED.items() if f"function {name}" in str(error)), str(error))
            raise UnsoundLawError(f"a law made values of different types equal: {what}") from None
        raise


@dataclass
class _Loaded:
    """What the engine has been given: a program or a part of it.

    folded: operators of constants that were evaluated, as terms, and their values.
    """

    part: Encoded
    rows: Rows
    running: ActiveRules
    introduced: Introduced
    folded: dict[str, Constant | None] = field(default_factory=dict[str, Constant | None])


class EGraph:
    """One program in an e-graph, under some laws.

    more: further rules, removed with the program; those among the facts run with them.  noted: whether to record where
    forms come from.  load: whether to load the program at once, not when `load` is called.
    """

    def __init__(
        self,
        program: Encoded,
        laws: Sequence[Law],
        fp: str = "reassoc",
        more: str = "",
        noted: bool = False,
        load: bool = True,
    ) -> None:
        self.laws = laws_by_mode(laws, program)
        self.program = program = _with_more(program, self.laws)
        self._folding = [x.name for x in self.laws if x.folds]
        self._uniting = frozenset(x.name for x in self.laws if not x.makes_forms)
        self._asked = 0
        self._room = math.inf
        self._size = 0
        self._consts = dict(program.consts)
        self._dtypes = list(dict.fromkeys(t.dtype for t in program.types.values()))
        self._notes = Notes(self.laws) if noted else None
        self._rounds = 0
        self._meanwhile: Callable[[], object] = lambda: None
        self._given: tuple[Rows, list[Given]] | None = None
        self._first: dict[str, int] = {}  # if noted, by law the round in which it first found something
        begin_to_start()
        self._engine = take(rules_text(noted))
        try:
            self._begin(fp, more)
            if load:
                self.load()
        except BaseException:
            self.close()
            raise

    def _begin(self, fp: str, more: str) -> None:
        """Prepare the rules, and find what there is to load."""
        self._rulesets, own = rulesets_of(self.laws)
        self._more = rules_beside("\n".join(filter(None, (own, more))))
        if self._more:
            self._run(self._more)
        program, rows = self.program, Rows(self.program)
        lengths = cache(lambda: known_lengths(program))
        self._introduced = Introduced(GivenFacts(program, fp, lengths), self.laws)
        given = [*self._introduced.first(), *mode_facts(program, self.laws)]
        self.equal = self._proven(given, lengths)
        given += [*self.equal, *passing_on(program, self.equal), *filled(program), *as_many_steps(program, lengths())]
        self._given = rows, given

    def load(self) -> None:
        """Load the program, if it is not loaded yet."""
        if self._given is None:
            return
        rows, given = self._given
        running = self._runs(self._rulesets, {} if self._notes is None else self._notes.rulesets)
        self._load(_Loaded(self.program, rows, running, self._introduced), given)
        self._given = None
        if self._notes is not None:
            self._run(rules_beside("\n".join([*map(noting, own_laws(self.laws)), NOTE_WRITTEN])))

    def _runs(self, laws: Mapping[str, str], noted: Mapping[str, str]) -> ActiveRules:
        """The active rules of these laws and of facts.  noted: rulesets that run in place of some of theirs."""
        return ActiveRules(rules_text(self._notes is not None), self._more, laws, noted)

    def close(self) -> None:
        """Return the engine, emptied, for the next program."""
        self._engine.close()

    def _run(self, text: str) -> list[RunReport]:
        with _typed():
            return self._engine.run(text)

    # Loading

    def _load(self, loaded: _Loaded, given: Iterable[Given]) -> None:
        self._loaded, rows = loaded, loaded.rows
        rows.given(given)
        self._consts.update(self.program.consts)
        rows.integers()
        loaded.running.know(rows.there())
        self._load_rows(loaded.introduced.after(loaded.running.there))

    def _load_rows(self, given: Iterable[Given]) -> None:
        """Load what is not loaded yet, and these facts."""
        loaded = self._loaded
        loaded.rows.given(facts_of(loaded.part, given))
        loaded.running.know(loaded.rows.there())
        ruleset = loaded.running.loading(loaded.rows.waiting())
        loaded.rows.load(lambda text: self._run(f"{loaded.running.commands()}\n{text}"), ruleset)

    def _introduce(self, matches: Mapping[str, int]) -> bool:
        """Give the facts of operators that laws have brought; return whether there are any."""
        loaded = self._loaded
        loaded.running.fired(matches)
        given = loaded.introduced.after(loaded.running.there, self._engine.operators_in_use)
        if not given:
            return False
        known = {*loaded.rows.ops}
        self._load_rows(given)
        made = [value for value in loaded.folded.values() if value is not None]
        self._tell(roles(made, [op for op in loaded.rows.ops if op not in known], self._dtypes))
        return True

    # Coinduction

    def _proven(self, given: Sequence[Given], lengths: Callable[[], KnownLengths]) -> list[Given]:
        """Find states and loops that are equal at every step, if a law asks for them."""
        asked = facts_asked(self.laws)
        return list(proven(self.program, partial(self._answer, given), lengths())) if asked & PROVEN else []

    def _answer(self, given: Sequence[Given], trial: Trial) -> dict[int, Any]:
        """Run a trial with stepwise laws alone; return the classes of its terms.  It leaves nothing behind."""
        stepwise = {x.name: self._rulesets[x.name] for x in self.laws if x.stepwise}
        try:
            rows = Rows(trial.part)
            rows.equal("states", pairs(trial.states))
            rows.equal("clocks", pairs(trial.clocks))
            loaded = _Loaded(trial.part, rows, self._runs(stepwise, {}), self._introduced.apart())
            self._load(loaded, facts_of(trial.part, given))
            most = Limits().most(trial.part.size)
            for _ in range(_TRIAL):
                report, size = self._all_facts(stepwise)
                changed = self._followed_by(report.matches) or report.updated
                if not changed or size > most:
                    break
            return read_terms(self._engine)
        except UnsoundLawError:
            return {i: i for i in trial.terms}  # the claims contradict one another: none is proven
        finally:
            self._engine.clear()

    # Saturation

    def saturate(
        self,
        limits: Limits | None = None,
        schedule: Schedule = EVERYTHING,
        sought: str = "",
        meanwhile: Callable[[], object] = lambda: None,
    ) -> Saturation:
        """Run facts and laws in rounds until nothing new is found, a limit is hit, or the schedule ends.

        sought: a law; rounds end as soon as it has found something.  meanwhile: called in this process during the first
        round.
        """
        self._meanwhile = meanwhile
        size, long = self.program.size, _LONG + self.program.depth
        return run_schedule(schedule, self.laws, self.round, limits or Limits(), size, sought, long)

    def round(self, names: frozenset[str]) -> Round:
        """Derive all facts, then run the laws of these names once, and those that only unite terms once more."""
        start = time.perf_counter()
        report, size = self._all_facts(names)
        if self._notes is not None:
            self._first = dict.fromkeys(report.matches, self._rounds) | self._first
            self._rounds += 1
        return self._round(report, size, start)

    def run(self, ruleset: str) -> Round:
        """Run an egglog ruleset once."""
        start = time.perf_counter()
        (report,) = self._run(f"(run {ruleset} 1)")
        return self._round(report, self.size(), start)

    def _round(self, report: RunReport, size: int, start: float) -> Round:
        """The result of some runs, with constants folded and operators introduced."""
        seconds = _seconds(report.seconds, time.perf_counter() - start)
        more = self._followed_by(report.matches)
        return Round(report.matches, seconds, more or report.updated, size, self._room)

    def _all_facts(self, names: Collection[str]) -> tuple[RunReport, int]:
        """Run facts until nothing new follows, then the laws of these names; return a report of these, and the number
        of forms.

        Facts should end by themselves; those of large programs, or added to a program, are watched.  Laws that only
        unite terms run once more: as long as equal terms are not united, facts say the same of each of them, and of
        each list that contains one.
        """
        most = _TOO_MANY * Limits().most(self.program.size)
        notes = "" if self._notes is None else NOTE_FACTS
        running = self._loaded.running
        rulesets = running.laws(names), running.laws(self._uniting.intersection(names))
        firing = [ruleset for ruleset in rulesets if ruleset]
        watch = (most, READ) if self._more or max(self.program.size, self._size) > _SMALL else None
        with _typed():
            meanwhile, self._meanwhile = self._meanwhile, lambda: None
            report, size, self._room = self._engine.round(
                running.commands(), running.facts, notes, firing, _FORMS, watch, meanwhile
            )
        self._size = size
        return report, size

    def size(self) -> int:
        """The number of forms; also records the memory that is left."""
        size, self._room = self._engine.counted(_FORMS)
        return size

    def sizes(self) -> dict[str, int]:
        """The number of rows per constructor, function and relation."""
        return self._engine.sizes()[0]

    def pairs(self, relation: str) -> list[tuple[Any, Any]]:
        """The rows of a relation of two classes, without pairs of equal ones."""
        return [(a, b) for (a, b), _ in self._engine.tables([relation])[relation].rows if a != b]

    def may_fire(self, law: str) -> bool:
        """Whether a law can fire: whether all that it reads may be there."""
        return self._loaded.running.may_fire(law)

    def state(self, rules: str) -> None:
        """Add rules for which no other rules wait; they are removed with the program."""
        self._run(rules_beside(rules))

    def add(self, rules: str) -> list[str]:
        """Add rules, which are removed with the program; gives their rulesets."""
        named = rules_beside(rules)
        self._run(named)
        self._loaded.running.add(named)
        return rulesets_in(named)

    def _followed_by(self, matches: Mapping[str, int]) -> bool:
        """Introduce operators and fold constants that these matches have brought; return whether there are any."""
        brought = self._introduce(matches)
        return (any(map(matches.get, self._folding)) and self._fold()) or brought

    def _fold(self) -> bool:
        """Evaluate the operators of constants found by laws that fold."""
        loaded = self._loaded
        new = folded(read_foldings(self._engine), self._consts, loaded.folded)
        loaded.folded |= new
        made = {term: value for term, value in new.items() if value is not None}
        self._consts |= {const_key(value): value for value in made.values()}
        self._tell([*map(equality, made, made.values()), *roles(made.values(), loaded.rows.ops, self._dtypes)])
        return bool(made)

    def _tell(self, commands: Iterable[str]) -> None:
        text = [*commands]
        if text:
            self._run("\n".join(text))
            self._loaded.running.know_made(" ".join(text))

    # Asking

    def may_find(self, atoms: Sequence[str]) -> bool:
        """Whether a query may have an answer: whether all that it reads may be there."""
        return self._loaded.running.may_find(atoms)

    def ask(self, asked: Sequence[tuple[Mapping[str, str], Sequence[Sequence[str]]]]) -> list[list[str]]:
        """Answer questions, each the atoms of a query: per question, a relation whose rows satisfy it.

        asked: the columns of such relations (name: sort), each with its questions.  Nothing else changes.
        """
        if not asked:
            return []
        ruleset = f"questions_{self._asked}"
        text = [f"(ruleset {ruleset})"]
        out: list[list[str]] = []
        for columns, questions in asked:
            names = [f"question_{self._asked + n}" for n in range(len(questions))]
            self._asked += len(names)
            for name, atoms in zip(names, questions, strict=True):
                text.append(f"(relation {name} ({' '.join(columns.values())}))")
                text.append(f"(rule ({' '.join(atoms)}) (({name} {' '.join(columns)})) :ruleset {ruleset})")
            out.append(names)
        self.state("\n".join([*text, f"(run {ruleset} 1)"]))
        return out

    def read_back(self) -> tuple[ReadBack, TermGraph]:
        """Read all tables and all classes of values."""
        noted = self._notes.tables(self._first) if self._notes is not None else []
        back = read_back(self._engine, [*(f"question_{n}" for n in range(self._asked)), *noted])
        return back, back.term_graph(self.program, self._consts)

    def provenance(self, back: ReadBack) -> Provenance:
        """The origins of forms, in the numbers of the term graph.  They must have been recorded."""
        assert self._notes is not None
        return self._notes.provenance(back, self._first)

    # Reading back

    def snapshot(self) -> TermGraph:
        """All classes of values, including constants made by folding."""
        return self.read_back()[1]


def _with_more(program: Encoded, laws: Sequence[Law]) -> Encoded:
    """The program with arrays of few numbers written number by number, and with last steps, if laws ask for these."""
    asked = facts_asked(laws)
    if "followed_by" in asked:
        program = with_last_steps(program)
    return in_numbers(program, "same_sums" in asked) if "same_numbers" in asked else program


def _seconds(found: Mapping[str, float], most: float) -> dict[str, float]:
    """Seconds per rule of a run that took `most` seconds.

    egglog 13.2 gives truncated milliseconds and calls them microseconds: times that are far too short are scaled.
    """
    scale = 1000.0 if 1000.0 * sum(found.values()) <= most else 1.0
    return {n: scale * x for n, x in found.items()}
