"""A program as tables that egglog reads: far faster than commands.  Rules turn the rows into terms and facts."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from scanopt.array.op import Op
from scanopt.calculus.encode import Encoded
from scanopt.calculus.facts import ALL
from scanopt.calculus.forms import Batched, Form, Operator, const_value
from scanopt.calculus.given import Given

__all__ = ["Rows", "load_text", "operator_text", "quoted"]

_NODES = {
    "Value": "node", "Args": "args_node", "Op": "op_node", "Clock": "clock_node",
    "State": "state_node",
}  # fmt: skip

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
    "t_clock": ("i64 i64", "(union (clock_node a) (loop (to-string a))) (level (clock_node a) (clock_node b))"),
    "t_steps": ("i64 i64", "(union (steps (clock_node a)) (node b))"),
    "t_until": ("i64 i64", "(until (clock_node a) (node b))"),
    "t_root": ("i64", "(union (clock_node a) (root))"),
    "t_defines": ("i64 i64", "(union (state_node a) (state (to-string a))) (defines (state_node a) (node b))"),
    "t_type": ("i64 String i64", "(set (dtype (node a)) b) (set (ndim (node a)) c)"),
    "t_int": ("i64 i64", "(set (int_value (node a)) b)"),
    "t_equal_states": ("i64 i64", "(union (state_node a) (state_node b))"),
    "t_equal_clocks": ("i64 i64", "(union (clock_node a) (clock_node b))"),
}


def load_text() -> str:
    """The tables, and the rules that turn their rows into terms and facts."""
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


class Rows:
    """The rows of a program.  ops: the numbers of its operators."""

    def __init__(self, g: Encoded) -> None:
        self.ops: dict[Operator, int] = {}
        self._g = g
        self._tables: dict[str, list[str]] = {}
        self._lists: dict[tuple[int, ...], int] = {}
        self._constants: dict[str, int] = {}
        for i, f in g.forms():
            self._form(i, f)
            self._add("t_type", i, g.types[i].dtype, g.types[i].ndim)
        for c, info in g.clocks.items():
            self._add("t_clock", c, info.level)
            if info.steps >= 0:
                self._add("t_steps", c, info.steps)
            for u in info.until:
                self._add("t_until", c, u)
        self._add("t_root", -1)
        for s, state in g.states.items():
            for u in state.updates:
                self._add("t_defines", s, u)

    def _add(self, table: str, *row: int | str) -> None:
        self._tables.setdefault(table, []).append("\t".join(map(str, row)))

    def integers(self) -> None:
        """Note the values of constants that are integers."""
        for i, f in self._g.forms():
            if f.kind == "const":
                value = self._g.consts[f.key]
                if value.ndim == 0 and value.dtype.kind in "iu":
                    self._add("t_int", i, int(value))

    def given(self, facts: Iterable[Given]) -> None:
        """Facts; a text "const KEY" where a value is expected stands for that constant."""
        for name, args in facts:
            pairs = zip(ALL[name].sorts, args, strict=True)
            self._add(f"g_{name}", *(self._argument(sort, a) for sort, a in pairs))

    def _argument(self, sort: str, a: int | str | Operator) -> int | str:
        if isinstance(a, Op | Batched):
            return self._op(a)
        if sort != "Value" or not isinstance(a, str):
            return a
        key = a.removeprefix("const ")
        if key not in self._constants:
            i = self._constants[key] = -2 - len(self._constants)
            value = const_value(key, self._g.consts)
            self._add("t_const", i, key)
            self._add("t_type", i, value.dtype.name, value.ndim)
        return self._constants[key]

    def equal(self, what: str, pairs: Iterable[tuple[int, int]]) -> None:
        """Pairs that are to be united.  what: "states" or "clocks"."""
        for a, b in pairs:
            self._add(f"t_equal_{what}", a, b)

    def load(self, run: Callable[[str], Any]) -> None:
        """Hand the rows over."""
        with tempfile.TemporaryDirectory(prefix="scanopt-") as folder:
            text: list[str] = []
            for table, rows in self._tables.items():
                path = Path(folder) / table
                path.write_text("\n".join(rows) + "\n", encoding="utf-8")
                text.append(f"(input {table} {quoted(path.as_posix())})")
            run("\n".join(text))
        run("(run load 1)")

    # Terms

    def _form(self, i: int, f: Form) -> None:
        match f.kind:
            case "input" | "const":
                self._add(f"t_{f.kind}", i, f.key)
            case "apply":
                assert f.operator is not None
                self._add("t_apply", i, self._op(f.operator), self._list(f.args))
            case "hold" | "seq" | "stack":
                self._add(f"t_{f.kind}", i, f.clock, f.args[0])
            case "delay":
                self._add("t_delay", i, f.clock, f.args[0], f.state, f.k)
            case "tail":
                self._add("t_tail", i, f.clock, f.args[0], f.k)
            case kind:
                raise ValueError(f"the encoder makes no {kind} terms")

    def _op(self, op: Operator) -> int:
        if op not in self.ops:
            self.ops[op] = len(self.ops)
            if isinstance(op, Batched):
                raise TypeError("programs hold no batched operators")
            special = _special(op)
            table, about = special or ("prim", op.key)
            self._add(f"t_{table}", self.ops[op], about)
        return self.ops[op]

    def _list(self, args: Sequence[int]) -> int:
        for n in range(len(args) + 1):
            rest = tuple(args[len(args) - n :])
            if rest not in self._lists:
                self._lists[rest] = len(self._lists)
                if rest:
                    self._add("t_cons", self._lists[rest], rest[0], self._lists[rest[1:]])
                else:
                    self._add("t_nil", self._lists[rest])
        return self._lists[tuple(args)]


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


def operator_text(op: Operator) -> str:
    """An operator in egglog's syntax."""
    if isinstance(op, Batched):
        return f"(vmap {operator_text(op.op)} {quoted(op.flags)})"
    special = _special(op)
    return f"({special[0]} {special[1]})" if special else f"(prim {quoted(op.key)})"


def quoted(text: str) -> str:
    """A text in egglog's syntax."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
