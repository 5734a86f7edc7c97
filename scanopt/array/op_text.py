"""Operators as text for people: one use of an operator, infix where that is natural."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from scanopt.array.op import Op

__all__ = ["nested_text", "op_text", "tight"]

INFIX = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "floor_divide": "//",
    "remainder": "%", "power": "**", "less": "<", "less_equal": "<=", "greater": ">",
    "greater_equal": ">=", "equal": "==", "not_equal": "!=", "matmul": "@", "bitwise_and": "&",
    "bitwise_or": "|", "bitwise_xor": "^", "left_shift": "<<", "right_shift": ">>",
}  # fmt: skip
PREFIX = {"negative": "-", "invert": "~"}
RELATIONS = {"ge": ">=", "gt": ">", "eq": "==", "ne": "!="}
LONGEST_MESSAGE = 32


def op_text(op: Op, args: Sequence[str]) -> str:
    """One use of an operator on arguments given as text.

    >>> op_text(Op.make("add"), ["a", "b"])
    'a + b'
    >>> op_text(Op.make("sum", axis=(0,), keepdims=False), ["x"])
    'sum(x, axis=0)'
    """
    if op.name in INFIX and len(args) == 2:
        return f"{args[0]} {INFIX[op.name]} {args[1]}"
    if op.name in PREFIX:
        return f"{PREFIX[op.name]}{args[0]}"
    if op.name in SPECIAL:
        return SPECIAL[op.name](op, args)
    params = [f"{k}={_value(v)}" for k, v in op.params if v is not None and v is not False]
    return f"{op.name}({', '.join([*args, *params])})"


def nested_text(op: Op, args: Sequence[str]) -> str:
    """One use of an operator on arguments that may be uses of operators themselves.

    >>> nested_text(Op.make("multiply"), ["a + b", "c"])
    '(a + b) * c'
    """
    if op.name == "power" and args[0].startswith((*PREFIX.values(),)):
        args = [f"({args[0]})", *args[1:]]
    if op.name in PREFIX or (op.name in INFIX and len(args) == 2):
        return op_text(op, [tight(a) for a in args])
    return op_text(op, [tight(args[0]), *args[1:]] if op.name in ("getitem", "shape_i") else args)


def tight(text: str) -> str:
    """The text, in parentheses if it has an infix operator outside of any brackets.

    >>> tight("a + b"), tight("f(a, b)")
    ('(a + b)', 'f(a, b)')
    """
    depth = 0
    for ch in text:
        depth += (ch in "([") - (ch in ")]")
        if ch == " " and depth == 0:
            return f"({text})"
    return text


def _value(v: Any) -> str:
    if isinstance(v, tuple):
        items = [_value(x) for x in v]
        return items[0] if len(items) == 1 else f"({', '.join(items)})"
    return "?" if v is None else repr(v)


def _index(index: Sequence[Any], inputs: Sequence[str]) -> str:
    rest = iter(inputs)

    def one(entry: Any) -> str:
        if isinstance(entry, tuple):
            return _slice([next(rest) if p == "in" else p for p in entry[1:]])
        if entry == "newaxis":
            return "None"
        return next(rest) if isinstance(entry, str) else str(entry)

    return f"[{', '.join(one(entry) for entry in index)}]"


def _slice(parts: Sequence[Any]) -> str:
    start, stop, step = ("" if p is None else str(p) for p in parts)
    return f"{start}:{stop}" + (f":{step}" if step else "")


def _setitem(op: Op, args: Sequence[str]) -> str:
    sign = "+=" if op.options["mode"] == "inc" else "="
    return f"{args[0]} with {_index(op.options['index'], args[2:])} {sign} {args[1]}"


def _require(op: Op, args: Sequence[str]) -> str:
    o = op.options
    message = o["message"] if len(o["message"]) <= LONGEST_MESSAGE else o["message"][: LONGEST_MESSAGE - 4] + " ..."
    return f"require({args[0]} {RELATIONS[o['relation']]} {args[1]}, {message!r})"


SPECIAL: dict[str, Callable[[Op, Sequence[str]], str]] = {
    "getitem": lambda op, args: args[0] + _index(op.options["index"], args[1:]),
    "setitem": _setitem,
    "require": _require,
    "cast": lambda op, args: f"{op.options['dtype']}({args[0]})",
    "rows_read": lambda op, args: f"rows_read({args[0]}, {_index(op.options['index'], args[1:])})",
    "rows_left": lambda op, args: f"rows_left({args[0]}, {_index(op.options['index'], args[1:])})",
    "shape_i": lambda op, args: f"{args[0]}.shape[{op.options['axis']}]",
}
