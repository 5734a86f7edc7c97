"""A program as tables that egglog reads: far faster than commands.  Rules turn the rows into terms and facts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from scanopt.analysis.initial_facts import Given
from scanopt.array.op import Op
from scanopt.calculus.condition import FACTS, noted
from scanopt.calculus.encoded import Encoded
from scanopt.calculus.forms import Batched, Form, Operator, const_value
from scanopt.calculus.terms import Term, prim
from scanopt.egraph.relation_files import COLUMNS, Tables, quoted, tables_text
from scanopt.egraph.strata import row, rows_of

__all__ = ["Rows", "integer", "load_text", "operator_text", "rows_of_operator", "unknown"]

_NODES = {
    "Value": "node", "Args": "args_node", "Op": "op_node", "Clock": "clock_node",
    "State": "state_node",
}  # fmt: skip

_COLUMNS = {*_NODES, "i64", "String"}

_TABLES = {
    # by name: the sorts of its columns, and what a row says; numbers are of terms, lists, operators, states
    "t_input": ("i64 String", "(union (node {0}) (input {1}))"),
    "t_const": ("i64 String", "(union (node {0}) (const {1}))"),
    "t_apply": ("i64 i64 i64", "(union (node {0}) (apply (op_node {1}) (args_node {2})))"),
    "t_hold": ("i64 i64 i64", "(union (node {0}) (hold (clock_node {1}) (node {2})))"),
    "t_seq": ("i64 i64 i64", "(union (node {0}) (seq (clock_node {1}) (node {2})))"),
    "t_delay": ("i64 i64 i64 i64 i64", "(union (node {0}) (delay (clock_node {1}) (node {2}) (state_node {3}) {4}))"),
    "t_stack": ("i64 i64 i64", "(union (node {0}) (stack (clock_node {1}) (node {2})))"),
    "t_tail": ("i64 i64 i64 i64", "(union (node {0}) (tail (clock_node {1}) (node {2}) {3}))"),
    "t_cons": ("i64 i64 i64", "(union (args_node {0}) (cons (node {1}) (args_node {2})))"),
    "t_nil": ("i64", "(union (args_node {0}) (nil))"),
    "t_prim": ("i64 String", "(union (op_node {0}) (prim {1}))"),
    "t_prim_with": ("i64 String i64", "(union (op_node {0}) (prim_with {1} (param_node {2})))"),
    "t_none_param": ("i64", "(union (param_node {0}) (none_param))"),
    "t_bool_param": ("i64 i64", "(union (param_node {0}) (bool_param {1}))"),
    "t_int_param": ("i64 i64", "(union (param_node {0}) (int_param {1}))"),
    "t_back_param": ("i64 i64", "(union (param_node {0}) (back_param {1}))"),
    "t_large_param": ("i64 String", "(union (param_node {0}) (large_param {1}))"),
    "t_float_param": ("i64 String", "(union (param_node {0}) (float_param {1}))"),
    "t_text_param": ("i64 String", "(union (param_node {0}) (text_param {1}))"),
    "t_pair_param": ("i64 i64 i64", "(union (param_node {0}) (pair_param (param_node {1}) (param_node {2})))"),
    "t_end_params": ("i64", "(union (param_node {0}) (end_params))"),
    "t_slice_param": (
        "i64 i64 i64 i64",
        "(union (param_node {0}) (slice_param (param_node {1}) (param_node {2}) (param_node {3})))",
    ),
    "t_clock": (
        "i64 i64",
        "(union (clock_node {0}) (loop (to-string {0}))) (set (within (clock_node {0}) (clock_node {1})) ())",
    ),
    "t_steps": ("i64 i64", "(union (steps (clock_node {0})) (node {1}))"),
    "t_until": ("i64 i64", "(set (until (clock_node {0}) (node {1})) ())"),
    "t_root": ("i64", "(union (clock_node {0}) (root))"),
    "t_defines": (
        "i64 i64", "(union (state_node {0}) (state (to-string {0}))) (set (becomes (state_node {0}) (node {1})) ())",
    ),
    "t_type": ("i64 String i64", "(set (dtype (node {0})) {1}) (set (ndim (node {0})) {2})"),
    "t_int": ("i64 i64", "(set (int_value (node {0})) {1})"),
    "t_equal_states": ("i64 i64", "(union (state_node {0}) (state_node {1}))"),
    "t_equal_clocks": ("i64 i64", "(union (clock_node {0}) (clock_node {1}))"),
}  # fmt: skip


def unknown(sort: str, number: int) -> str:
    """A term in egglog's syntax of which nothing is known; "" for a sort of which programs have no numbered terms.

    >>> unknown("Value", 1), unknown("Move", 1)
    ('(node -1000001)', '')
    """
    return f"({_NODES[sort]} {-1_000_000 - number})" if sort in _NODES else ""


def load_text() -> str:
    """Declarations of the tables, and the rules that turn their rows into terms and facts."""
    tables = {name: columns.split() for name, (columns, _) in _TABLES.items()}
    conclusions = {name: conclusion for name, (_, conclusion) in _TABLES.items()}
    for fact in FACTS.values():
        if fact.kind != "query" and len(fact.sorts) <= COLUMNS and {*fact.sorts} <= _COLUMNS:
            args = [f"({_NODES[s]} {{{i}}})" if s in _NODES else f"{{{i}}}" for i, s in enumerate(fact.sorts)]
            tables[f"g_{fact.name}"] = ["String" if s == "String" else "i64" for s in fact.sorts]
            conclusions[f"g_{fact.name}"] = noted(fact.name, *args)
    nodes = [f"(constructor {node} (i64) {sort})" for sort, node in {**_NODES, "Param": "param_node"}.items()]
    return "\n".join([*nodes, "(relation fold_ (Op Args))", tables_text(tables, conclusions)])


class Rows:
    """The rows of a program.  ops: the numbers of its operators."""

    def __init__(self, g: Encoded) -> None:
        self.ops: dict[Operator, int] = {}
        self._there = {"line", "text"}
        self._g = g
        self._tables = Tables()
        self._lists: dict[tuple[int, ...], int] = {}
        self._params: dict[tuple[int | str, ...], int] = {}
        self._constants: dict[str, int] = {}
        for i, f in g.forms():
            self._form(i, f)
            self._tables.add("t_type", i, g.types[i].dtype, g.types[i].ndim)
        for c, info in g.clocks.items():
            self._tables.add("t_clock", c, info.level)
            if info.steps >= 0:
                self._tables.add("t_steps", c, info.steps)
            for u in info.until:
                self._tables.add("t_until", c, u)
        self._tables.add("t_root", -1)
        for s, state in g.states.items():
            for u in state.updates:
                self._tables.add("t_defines", s, u)

    def integers(self) -> None:
        """Record the values of integer constants."""
        for i, f in self._g.forms():
            if f.kind == "const" and (number := integer(self._g.consts[f.key])) is not None:
                self._tables.add("t_int", i, number)

    def given(self, facts: Iterable[Given]) -> None:
        """Record facts; the string "const KEY" in place of a value stands for that constant."""
        for name, args in facts:
            row = [
                a if isinstance(a, int)
                else self._op(a) if not isinstance(a, str)
                else self._constant(a) if sort == "Value"
                else a
                for sort, a in zip(FACTS[name].sorts, args, strict=True)
            ]  # fmt: skip
            self._tables.add(f"g_{name}", *row)

    def _constant(self, text: str) -> int:
        """The number of a constant that laws and facts mention."""
        key = text.removeprefix("const ")
        if key not in self._constants:
            i = self._constants[key] = -2 - len(self._constants)
            value = const_value(key, self._g.consts)
            self._tables.add("t_const", i, key)
            self._tables.add("t_type", i, value.dtype.name, value.ndim)
        return self._constants[key]

    def equal(self, what: str, pairs: Iterable[tuple[int, int]]) -> None:
        """Record pairs that are to be united.  what: "states" or "clocks"."""
        for a, b in pairs:
            self._tables.add(f"t_equal_{what}", a, b)

    def there(self) -> set[str]:
        """The tables that have rows once all rows are loaded, by the rules that load them.

        Asked for each time before rows are loaded.
        """
        self._there.update(row("line", quoted(x)) for x in self._tables.waiting)
        return self._there

    def waiting(self) -> set[str]:
        """The tables with rows that are not loaded yet."""
        return self._tables.waiting

    def load(self, run: Callable[[str], Any], ruleset: str) -> None:
        """Load the rows by a function that runs commands.  ruleset: the one that loads them."""
        self._tables.load(run, ruleset)

    # Terms

    def _form(self, i: int, f: Form) -> None:
        match f.kind:
            case "input" | "const":
                self._tables.add(f"t_{f.kind}", i, f.key)
            case "apply":
                assert f.operator is not None
                self._tables.add("t_apply", i, self._op(f.operator), self._list(f.args))
            case "hold" | "seq" | "stack":
                self._tables.add(f"t_{f.kind}", i, f.clock, f.args[0])
            case "delay":
                self._tables.add("t_delay", i, f.clock, f.args[0], f.state, f.k)
            case "tail":
                self._tables.add("t_tail", i, f.clock, f.args[0], f.k)
            case kind:
                raise ValueError(f"the encoder makes no {kind} terms")

    def _op(self, op: Operator) -> int:
        found = self.ops.get(op)
        if found is None:
            if isinstance(op, Batched):
                raise TypeError("programs contain no batched operators")
            found = self.ops[op] = len(self.ops)
            self._there |= rows_of_operator(op)
            term = prim(op)
            name, *params = term.args or ()
            self._tables.add(f"t_{term.head}", found, str(name), *map(self._param, params))
        return found

    def _param(self, x: Term | int | str) -> int:
        """The number of an operator parameter."""
        assert isinstance(x, Term)
        parts = [self._param(a) if isinstance(a, Term) else a for a in x.args or ()]
        row = (x.head, *parts)
        if row not in self._params:
            self._params[row] = len(self._params)
            self._tables.add(f"t_{x.head}", self._params[row], *parts)
        return self._params[row]

    def _list(self, args: Sequence[int]) -> int:
        for n in range(len(args) + 1):
            rest = tuple(args[len(args) - n :])
            if rest not in self._lists:
                self._lists[rest] = len(self._lists)
                if rest:
                    self._tables.add("t_cons", self._lists[rest], rest[0], self._lists[rest[1:]])
                else:
                    self._tables.add("t_nil", self._lists[rest])
        return self._lists[tuple(args)]


@lru_cache(maxsize=4096)
def rows_of_operator(op: Op) -> frozenset[str]:
    """The rows that an operator is looked up by (see `strata`)."""
    return frozenset(rows_of(prim(op).egglog()))


def fits(number: int) -> bool:
    """Whether the engine, with its 64-bit integers, can represent this one."""
    return -(2**63) <= number < 2**63


def integer(value: np.ndarray[Any, Any]) -> int | None:
    """The value of a constant that is a single integer, if the engine can represent it."""
    if value.ndim or value.dtype.kind not in "iu":
        return None
    return int(value) if fits(int(value)) else None


def operator_text(op: Operator) -> str:
    """An operator in egglog's syntax."""
    if isinstance(op, Batched):
        return f"(vmap {operator_text(op.op)} {quoted(op.flags)})"
    return prim(op).egglog()
