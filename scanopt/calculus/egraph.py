"""The e-graph: the only module that speaks to egglog.

The program goes in as tables (fast), laws run in rounds under limits, and all classes come out as
a `TermGraph`.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np

from scanopt.array.op import Op, Operand
from scanopt.calculus.condition import facts_text
from scanopt.calculus.encode import Encoded
from scanopt.calculus.engine import ENGINES
from scanopt.calculus.facts import ALL
from scanopt.calculus.forms import Batched, Form, Operator, TermGraph, const_key, const_value
from scanopt.calculus.given import Given, constant_facts, given_facts
from scanopt.calculus.law import Law
from scanopt.calculus.machinery import machinery_text
from scanopt.calculus.readback import ReadBack, read_back
from scanopt.calculus.saturation import Limits, Round, Saturation, run_schedule
from scanopt.calculus.schedule import EVERYTHING, Schedule
from scanopt.calculus.terms import DECLARATIONS

__all__ = ["EGraph", "Limits", "Saturation", "UnsoundLawError", "apart", "rules_of"]


class UnsoundLawError(RuntimeError):
    """Laws made two values of different types equal."""


_NODES = {
    "Value": "node", "Args": "args_node", "Op": "op_node", "Clock": "clock_node",
    "State": "state_node",
}  # fmt: skip

_FORMS = ("apply", "hold", "seq", "delay", "stack", "tail", "on")
"""The constructors that are counted."""

_TABLES = {
    # table: (columns, conclusion); an i64 is the number of a term, list, operator or state
    "t_input": ("i64 String", "(union (node a) (input b))"),
    "t_const": ("i64 String", "(union (node a) (const b))"),
    "t_apply": ("i64 i64 i64", "(union (node a) (apply (op_node b) (args_node c)))"),
    "t_hold": ("i64 i64 i64", "(union (node a) (hold (clock_node b) (node c)))"),
    "t_seq": ("i64 i64 i64", "(union (node a) (seq (clock_node b) (node c)))"),
    "t_delay": ("i64 i64 i64 i64 i64", "(union (node a) (delay (clock_node b) (node c) (state_node d) e))"),
    "t_stack": ("i64 i64 i64", "(union (node a) (stack (clock_node b) (node c)))"),
    "t_tail": ("i64 i64 i64 i64", "(union (node a) (tail (clock_node b) (node c) d))"),
    "t_cons": ("i64 i64 i64", "(union (args_node a) (cons (node b) (args_node c)))"),
    "t_nil": ("i64", "(union (args_node a) (nil))"),
    "t_prim": ("i64 String", "(union (op_node a) (prim b))"),
    "t_item": ("i64 i64", "(union (op_node a) (item b))"),
    "t_last_rows": ("i64 i64", "(union (op_node a) (last_rows b))"),
    "t_length": ("i64 i64", "(union (op_node a) (length b))"),
    "t_clock": (
        "i64 i64 i64",
        "(union (clock_node a) (loop (to-string a))) (level (clock_node a) (clock_node b))"
        " (union (steps (clock_node a)) (node c))",
    ),
    "t_until": ("i64 i64", "(until (clock_node a) (node b))"),
    "t_root": ("i64", "(union (clock_node a) (root))"),
    "t_defines": ("i64 i64", "(union (state_node a) (state (to-string a))) (defines (state_node a) (node b))"),
    "t_type": ("i64 String i64", "(set (dtype (node a)) b) (set (ndim (node a)) c)"),
    "t_int": ("i64 i64", "(set (int_value (node a)) b)"),
}


def _load_text() -> str:
    """Tables for the program and the rules that turn their rows into terms and facts."""
    out = [f"(constructor {node} (i64) {sort})" for sort, node in _NODES.items()]
    out.append("(relation fold_ (Op Args))")
    names = "abcdef"
    for table, (columns, head) in _TABLES.items():
        out.append(f"(relation {table} ({columns}))")
        row = " ".join(names[: len(columns.split())])
        out.append(f"(rule (({table} {row})) ({head}) :ruleset load)")
    for fact in ALL.values():
        if fact.pattern or not set(fact.sorts) <= {*_NODES, "String"}:
            continue
        columns = " ".join("String" if s == "String" else "i64" for s in fact.sorts)
        args = [names[i] if s == "String" else f"({_NODES[s]} {names[i]})" for i, s in enumerate(fact.sorts)]
        out.append(f"(relation g_{fact.name} ({columns}))")
        row = " ".join(names[: len(fact.sorts)])
        out.append(f"(rule ((g_{fact.name} {row})) (({fact.name} {' '.join(args)})) :ruleset load)")
    return "\n".join(out)


def apart(law: Law) -> str:
    """A law as a ruleset of its own, so that it can run without the others."""
    return f"(ruleset law_{law.name})\n{law.rule(f'law_{law.name}')}"


def rules_of(laws: Sequence[Law], write: Callable[[Law], str] = Law.rule) -> str:
    """Declarations, facts, machinery and laws, for egglog."""
    return "\n".join([DECLARATIONS, facts_text(), _load_text(), machinery_text(), *map(write, laws)])


class EGraph:
    """One program in an e-graph, under some laws.

    write: a law as egglog's rules: all together, or `apart`, so that phases can run some of them.
    """

    def __init__(
        self, program: Encoded, laws: Sequence[Law], fp: str = "reassoc", write: Callable[[Law], str] = Law.rule
    ) -> None:
        self.program = program
        self.laws = tuple(laws)
        self._apart = write is not Law.rule
        self._phases: dict[frozenset[str], str] = {}
        self._asked = 0
        self._ops: dict[Operator, int] = {}
        self._consts = dict(program.consts)
        self._folded: set[str] = set()
        self._dtypes = list(dict.fromkeys(t.dtype for t in program.types.values()))
        self._text = rules_of(self.laws, write)
        self._egraph = ENGINES.take(self._text)
        self._load(program, fp)

    def close(self) -> None:
        """Hand the engine back, emptied, for the next program under the same laws."""
        ENGINES.put(self._text, self._egraph)

    def _run(self, text: str) -> list[Any]:
        try:
            results: list[Any] = self._egraph.run_program(*self._egraph.parse_program(text))
            return results
        except Exception as error:
            if "Illegal merge" in str(error):
                raise UnsoundLawError(f"a law made values of different types equal ({error})") from None
            raise

    # Loading

    def _load(self, g: Encoded, fp: str) -> None:
        rows = _Rows()
        lists: dict[tuple[int, ...], int] = {}
        for i, f in g.forms():
            _form_rows(rows, i, f, self._op(f.operator, rows), lists)
            rows.add("t_type", i, g.types[i].dtype, g.types[i].ndim)
        for c, info in g.clocks.items():
            rows.add("t_clock", c, info.level, info.steps)
            for u in info.until:
                rows.add("t_until", c, u)
        rows.add("t_root", -1)
        for s, state in g.states.items():
            for u in state.updates:
                rows.add("t_defines", s, u)
        more = [Op.parse(key) for x in self.laws for key in sorted(x.operators())]
        extra = iter(range(-2, -1_000_000, -1))
        self._given(rows, given_facts(g, fp, more), extra)
        self._consts.update(g.consts)
        for i, f in g.forms():
            if f.kind == "const":
                value = g.consts[f.key]
                if value.ndim == 0 and value.dtype.kind in "iu":
                    rows.add("t_int", i, int(value))
        with tempfile.TemporaryDirectory(prefix="scanopt-") as folder:
            self._run(rows.write(Path(folder)))
        self._run("(run load 1)")

    def _given(self, rows: _Rows, facts: Iterable[Given], fresh: Iterable[int]) -> None:
        """Facts; a text "const KEY" where a value is expected stands for that constant."""
        fresh = iter(fresh)
        constants: dict[str, int] = {}
        for name, args in facts:
            out: list[int | str] = []
            for sort, a in zip(ALL[name].sorts, args, strict=True):
                if isinstance(a, Op | Batched):
                    out.append(self._op(a, rows))
                elif sort == "Value" and isinstance(a, str):
                    key = a.removeprefix("const ")
                    if key not in constants:
                        constants[key] = next(fresh)
                        rows.add("t_const", constants[key], key)
                        value = const_value(key, self.program.consts)
                        rows.add("t_type", constants[key], value.dtype.name, value.ndim)
                    out.append(constants[key])
                else:
                    out.append(a)
            rows.add(f"g_{name}", *out)

    def _op(self, op: Operator | None, rows: _Rows) -> int:
        if op is None:
            return -1
        if op not in self._ops:
            self._ops[op] = len(self._ops)
            rows.add(*_op_row(self._ops[op], op))
        return self._ops[op]

    # Saturation

    def saturate(self, limits: Limits | None = None, schedule: Schedule = EVERYTHING) -> Saturation:
        """Run facts and laws in rounds until nothing new is found, a limit is hit, or the schedule ends."""
        return run_schedule(schedule, self.laws, self.round, limits or Limits(), self.program.size)

    def round(self, names: frozenset[str], facts: bool = True) -> Round:
        """All that follows from facts, then the laws of these names once."""
        # Facts end by themselves, or should: a round that goes on and on could not be stopped.
        parts = [
            *(["(repeat 1000 (run facts))"] if facts else []),
            *([f"(run {self._ruleset(names)})"] if names else []),
        ]
        start = time.perf_counter()
        report = self._run(f"(run-schedule (seq {' '.join(parts)}))")[0].report
        seconds = _seconds(report.search_and_apply_time_per_rule, time.perf_counter() - start)
        matches = report.num_matches_per_rule
        changed = bool(report.updated)
        if any(x.folds and matches.get(x.name) for x in self.laws):
            changed = self._fold() or changed
        return Round(matches, seconds, changed, self.size())

    def _ruleset(self, names: frozenset[str]) -> str:
        """The egglog ruleset of some of the laws."""
        if len(names) == len(self.laws) and not self._apart:
            return "laws"
        if not self._apart:
            raise ValueError("laws that run in phases must be loaded apart")
        if names not in self._phases:
            self._phases[names] = f"phase_{len(self._phases)}"
            rulesets = " ".join(f"law_{n}" for n in sorted(names))
            self._run(f"(unstable-combined-ruleset {self._phases[names]} {rulesets})")
        return self._phases[names]

    def size(self) -> int:
        """The number of forms."""
        sizes = dict(self._run("(print-size)")[0].sizes)
        return sum(sizes.get(k, 0) for k in _FORMS)

    def pairs(self, relation: str) -> list[tuple[Any, Any]]:
        """The rows of a relation of two classes that are not the same."""
        rows = (r.inputs for r in self._egraph.freeze().functions[relation].rows)
        return [(a, b) for a, b in rows if a != b]

    def run(self, ruleset: str) -> None:
        """Run an egglog ruleset once."""
        self._run(f"(run {ruleset} 1)")

    def _fold(self) -> bool:
        """Evaluate the operators of constants found by laws that fold."""
        ops = [op for op in self._ops if isinstance(op, Op)]
        text: list[str] = []
        for op, args in read_back(self._egraph).foldings():
            term = f"(apply {_op_text(op)} {_list_text(args)})"
            if term in self._folded:
                continue
            self._folded.add(term)
            value = _evaluate(op, [const_value(k, self._consts) for k in args])
            if value is None:
                continue
            key = const_key(value)
            self._consts[key] = value
            const = f"(const {_quote(key)})"
            text.append(f"(union {term} {const})")
            text.append(f'(set (dtype {const}) "{value.dtype.name}") (set (ndim {const}) {value.ndim})')
            if value.ndim == 0 and value.dtype.kind in "iu":
                text.append(f"(set (int_value {const}) {int(value)})")
            for name, about in constant_facts(0, value, ops, self._dtypes):
                text.append(f"({name} {' '.join(_about(a, const) for a in about)})")
        if text:
            self._run("\n".join(text))
        return bool(text)

    # Asking

    def ask(self, columns: Mapping[str, str], questions: Sequence[Sequence[str]]) -> list[str]:
        """Per question, atoms of a query, a relation of the columns (name: sort) that satisfy it.

        Nothing else changes.
        """
        first, text = self._asked, ["(ruleset questions)"] if not self._asked else []
        for atoms in questions:
            name = f"question_{self._asked}"
            self._asked += 1
            text.append(f"(relation {name} ({' '.join(columns.values())}))")
            text.append(f"(rule ({' '.join(atoms)}) (({name} {' '.join(columns)})) :ruleset questions)")
        self._run("\n".join([*text, "(run questions 1)"]))
        return [f"question_{n}" for n in range(first, self._asked)]

    def read_back(self) -> tuple[ReadBack, TermGraph]:
        """All tables, and all classes of values."""
        back = read_back(self._egraph)
        return back, back.term_graph(self.program, self._consts)

    # Reading back

    def snapshot(self) -> TermGraph:
        """All classes of values (constants made by folding included)."""
        return self.read_back()[1]


class _Rows:
    """Rows of tables, handed over as files: far faster than commands."""

    def __init__(self) -> None:
        self._tables: dict[str, list[str]] = {}

    def add(self, table: str, *row: int | str) -> None:
        self._tables.setdefault(table, []).append("\t".join(map(str, row)))

    def write(self, folder: Path) -> str:
        """Write the tables; the commands that read them."""
        out: list[str] = []
        for table, rows in self._tables.items():
            path = folder / table
            path.write_text("\n".join(rows) + "\n", encoding="utf-8")
            out.append(f"(input {table} {_quote(path.as_posix())})")
        return "\n".join(out)


def _seconds(times: Mapping[str, timedelta], most: float) -> dict[str, float]:
    """Seconds per rule of a run that took `most` seconds.

    egglog 13.2 gives milliseconds, cut off, where it says microseconds: what is far too short is that.
    """
    found = {n: t.total_seconds() for n, t in times.items()}
    scale = 1000.0 if 1000.0 * sum(found.values()) <= most else 1.0
    return {n: scale * x for n, x in found.items()}


def _form_rows(rows: _Rows, i: int, f: Form, op: int, lists: dict[tuple[int, ...], int]) -> None:
    match f.kind:
        case "input" | "const":
            rows.add(f"t_{f.kind}", i, f.key)
        case "apply":
            rows.add("t_apply", i, op, _list_row(rows, f.args, lists))
        case "hold" | "seq" | "stack":
            rows.add(f"t_{f.kind}", i, f.clock, f.args[0])
        case "delay":
            rows.add("t_delay", i, f.clock, f.args[0], f.state, f.k)
        case "tail":
            rows.add("t_tail", i, f.clock, f.args[0], f.k)
        case kind:
            raise ValueError(f"the encoder makes no {kind} terms")


def _list_row(rows: _Rows, args: tuple[int, ...], lists: dict[tuple[int, ...], int]) -> int:
    for n in range(len(args) + 1):
        rest = args[len(args) - n :]
        if rest not in lists:
            lists[rest] = len(lists)
            if rest:
                rows.add("t_cons", lists[rest], rest[0], lists[rest[1:]])
            else:
                rows.add("t_nil", lists[rest])
    return lists[args]


def _special(op: Op) -> tuple[str, int] | None:
    """Operators with a constructor of their own: x[k], x[-k:] and x.shape[k]."""
    if op.name == "shape_i":
        return "length", op.options["axis"]
    if op.name == "getitem":
        index = op.options["index"]
        if len(index) == 1 and isinstance(index[0], int):
            return "item", index[0]
        if len(index) == 1 and index[0][0] == "slice" and index[0][2:] == (None, None):
            start = index[0][1]
            if isinstance(start, int) and start < 0:
                return "last_rows", -start
    return None


def _op_row(i: int, op: Operator) -> tuple[str, int, int | str]:
    if isinstance(op, Batched):
        raise TypeError("programs hold no batched operators")
    special = _special(op)
    if special is None:
        return "t_prim", i, op.key
    return f"t_{special[0]}", i, special[1]


def _op_text(op: Operator) -> str:
    if isinstance(op, Batched):
        return f'(vmap {_op_text(op.op)} "{op.flags}")'
    special = _special(op)
    return f"({special[0]} {special[1]})" if special else f"(prim {_quote(op.key)})"


def _about(a: int | str | Operator, const: str) -> str:
    """One argument of a fact about a constant: an operator, a dtype, or the constant itself."""
    if isinstance(a, Op | Batched):
        return _op_text(a)
    return _quote(a) if isinstance(a, str) else const


def _list_text(keys: Sequence[str]) -> str:
    out = "(nil)"
    for k in reversed(keys):
        out = f"(cons (const {_quote(k)}) {out})"
    return out


def _quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


_FOLD_LIMIT = 4096


def _evaluate(op: Operator, args: list[np.ndarray[Any, Any]]) -> np.ndarray[Any, Any] | None:
    """The operator's value, or None where it is too large to keep as a constant."""
    if isinstance(op, Batched):
        return None
    shape = op.infer(*(Operand(a.dtype.name, a.shape, a) for a in args)).shape
    size = math.prod(n if n is not None else _FOLD_LIMIT + 1 for n in shape)
    if size > max(_FOLD_LIMIT, sum(a.size for a in args)):
        return None
    with np.errstate(all="ignore"):
        return np.asarray(op.bind(np)(*args))
