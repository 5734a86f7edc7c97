"""Arrays of few numbers, written number by number beside the program, so that laws about numbers apply to them.

A state of few numbers is as many states, each a number.  What is computed from them is followed through operators that
arrange numbers, those that are computed element by element, sums and products.  An array that others read as a whole
is the stack of its numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from functools import partial, reduce
from math import prod
from typing import Any

import numpy as np

from scanopt.analysis.arranged_numbers import ARRANGING, arranged, count_of_data
from scanopt.array.batching import elementwise
from scanopt.array.op import Op, Operand
from scanopt.array.operators.indexing import FULL
from scanopt.array.types import FLOATS, Dim, TensorType
from scanopt.calculus.encoded import Encoded
from scanopt.calculus.forms import KEPT, ROOT, Form, StateInfo, const_key

__all__ = ["in_numbers"]

Numbers = np.ndarray[Any, Any]
"""Terms of numbers, in the shape of the array that they make up."""

_JOINING = ("concatenate", "setitem", "stack")

_MOST_OF_STATE, _MOST = 6, 16
"""The most numbers of a state, and of another array, that are written one by one."""
_MOST_MORE = 100
"""The most terms that are added to a program: laws work on them, too."""


def in_numbers(g: Encoded, loosely: bool) -> Encoded:
    """The program, with arrays of few numbers also written number by number; itself if there are none, or too many.

    loosely: whether sums may be added up in another order.
    """
    begins = (g.types[i] for i, f in g.forms() if _begins(f))
    if g.same_numbers or not any(type.ndim and _few(type.shape) for type in begins):
        return g
    told = _Telling(g, loosely).told()
    return told if told.same_numbers and len(told.classes) <= len(g.classes) + _MOST_MORE else g


def _begins(f: Form) -> bool:
    """Whether the numbers of an array may be known one by one: it is a state, or joined of parts."""
    return f.kind == "delay" or _named(f, *_JOINING)


def _named(f: Form, *names: str) -> bool:
    return f.operator is not None and f.operator.name in names


def _few(shape: Sequence[Dim], most: int = _MOST) -> bool:
    """Whether an array of this shape has at least one number, and at most `most`."""
    return None not in shape and 0 < prod(n or 0 for n in shape) <= most


class _Telling:
    """Follows the terms of a program in their order.

    of: the numbers of arrays.  instead: per term an equal one, made of numbers where these are known.
    """

    def __init__(self, g: Encoded, loosely: bool) -> None:
        self.g, self._loosely = copy(g), loosely
        for name in ("classes", "types", "states", "consts", "written"):
            setattr(self.g, name, dict(getattr(g, name)))
        self._ids = {f: i for i, f in g.forms()}
        self._next = 1 + max(g.classes, default=-1)
        self._order: dict[int, Form] = {}
        self._sites: tuple[str, ...] | None = None
        self._same: dict[tuple[int, int], None] = {}
        self.of: dict[int, Numbers] = {}
        self.instead: dict[int, int] = {}
        self._states = {s: states for s in g.states if (states := self._states_of(s)) is not None}

    def told(self) -> Encoded:
        """The program with the numbers added; each stands before the term to which it is equal."""
        for i, f in [*self.g.forms()]:
            self._sites = self.g.written.get(i)
            self.instead[i] = self._followed(i, f)
            self._order.setdefault(i, f)
        for s, states in self._states.items():
            (update,), label = self.g.states[s].updates, self.g.states[s].label
            numbers = self._numbers(self.instead[update])
            self.g.states |= {int(r): StateInfo(label, (int(numbers[at]),)) for at, r in np.ndenumerate(states)}
        self.g.classes = {i: [f] for i, f in self._order.items()}
        self.g.same_numbers = [*self._same]
        return self.g

    def _states_of(self, s: int) -> Numbers | None:
        """New states for the numbers of a state, if these are few and the program makes or reads some by themselves."""
        g, (update,) = self.g, self.g.states[s].updates
        read = [i for i, f in g.forms() if f.state == s]
        shape, *others = dict.fromkeys(g.types[i].shape for i in (update, *read))
        if others or not shape or not _few(shape, _MOST_OF_STATE) or not self._in_parts(update, read, shape):
            return None
        new = 1 + max(g.states) + np.arange(prod(n or 0 for n in shape)).reshape([n or 0 for n in shape])
        g.states |= {int(r): g.states[s] for r in new.flat}
        return new

    def _in_parts(self, update: int, read: Sequence[int], shape: Sequence[Dim]) -> bool:
        """Whether a state is joined of parts, initially or at each step, or read in parts, or has only one number."""
        inits = [a for i in read for a in self._form(i).args]
        starts = [a for i in inits for a in self._form(i).args]
        made = any(_named(self._form(i), *_JOINING) for i in (update, *inits, *starts))
        return made or {*shape} == {1} or any(self._takes_part(f, update, read) for _, f in self.g.forms())

    def _takes_part(self, f: Form, update: int, read: Sequence[int]) -> bool:
        """Whether a form is a part of a state, or the same part of it at several steps."""
        if not isinstance(f.operator, Op) or f.operator.name != "getitem":
            return False
        kept = self._form(f.args[0])
        columns = kept.kind in KEPT and kept.args == (update,) and any(isinstance(k, int) for k in _index(f)[1:])
        return f.args[0] in read or columns

    def _form(self, i: int) -> Form:
        (f,) = self.g.classes[i]
        return f

    # Terms

    def _new(self, form: Form, type: TensorType) -> int:
        """The term of a form; a new one is added to the order."""
        i = self._ids.setdefault(form, self._next)
        self._next = max(self._next, i + 1)
        if i not in self._order:
            self._order[i] = form
            self.g.classes[i], self.g.types[i] = [form], type
            if self._sites is not None:
                self.g.written.setdefault(i, self._sites)
        return i

    def _apply(self, op: Op, *args: int) -> int:
        """The term of an operator applied to numbers."""
        type = op.infer(*(Operand(self.g.types[a].dtype, ()) for a in args))
        return self._new(_applied(op, *args), type)

    def _whole(self, numbers: Numbers, type: TensorType) -> int:
        """The term of the array that these numbers make up."""
        if not numbers.ndim:
            return int(numbers)
        inner = TensorType(type.dtype, type.shape[1:])
        rows = tuple(self._whole(x, inner) for x in numbers)
        op = Op.make("stack", axis=0) if len(rows) > 1 else Op.make("expand_dims", axis=(0,))
        i = self._new(Form("apply", rows, operator=op), type)
        self.of[i] = numbers
        return i

    def _part(self, x: int, at: tuple[Any, ...]) -> int:
        """The part of an array at one integer per axis, or `FULL` for all of an axis."""
        type = self.g.types[x]
        shape = tuple(n for n, k in zip(type.shape, at, strict=True) if k == FULL)
        part = TensorType(type.dtype, shape)
        if x in self.of:
            return self._whole(self.of[x][tuple(slice(None) if k == FULL else k for k in at)], part)
        return self._new(Form("apply", (x,), operator=Op.make("getitem", index=at)), part)

    def _numbers(self, x: int) -> Numbers:
        """The terms of the numbers of an array of few numbers."""
        type, f = self.g.types[x], self._order[x]
        if x in self.of:
            return self.of[x]
        if not type.ndim:
            return np.array(x)
        if f.kind == "hold":
            return self._each(type, lambda y: f._replace(args=(y,)), self._numbers(f.args[0]))
        shape = [n or 0 for n in type.shape]
        if (number := self._filling(x)) is not None:
            return np.full(shape, number)
        if isinstance(f.operator, Op) and (found := self._by_element(f.operator, f.args, type)) is not None:
            return found
        out = np.empty(shape, int)
        for at in np.ndindex(out.shape):
            out[at] = self._constant(self.g.consts[f.key][at]) if f.kind == "const" else self._part(x, at)
        return out

    def _filling(self, x: int) -> int | None:
        """The constant number that fills an array, or the array whose rows it is, if there is one."""
        f = self._order[x]
        f = self._order[f.args[0]] if f.kind == "seq" else f
        if not _named(f, "full_like"):
            return None
        e = self._order[f.args[1]]
        while e.kind == "hold":
            e = self._order[e.args[0]]
        value = self.g.consts[e.key] if e.kind == "const" else None
        alike = value is not None and not value.ndim and value.dtype == self.g.types[x].dtype
        return self._constant(value, self._clock(x)) if alike else None

    def _constant(self, number: Any, clock: int = ROOT) -> int:
        """A constant number on a loop."""
        value = np.array(number)
        self.g.consts[const_key(value)] = value
        type = TensorType(value.dtype.name, ())
        x = self._new(Form("const", key=const_key(value)), type)
        for c in self.g.chain(clock):
            x = self._new(Form("hold", (x,), clock=c), type)
        return x

    def _clock(self, x: int) -> int:
        """The loop that a number is on."""
        f = self._order[x]
        while f.kind == "apply" and f.args:
            f = self._order[f.args[0]]
        return self.g.clocks[f.clock].level if f.kind in KEPT else f.clock

    def _each(self, type: TensorType, form: Callable[..., Form], *numbers: Numbers) -> Numbers:
        """A term for each number of an array of this type, from those at its place in other arrays."""
        out = np.empty([n or 0 for n in type.shape], int)
        beside = [np.broadcast_to(x, out.shape) for x in numbers]
        for at in np.ndindex(out.shape):
            out[at] = self._new(form(*(int(x[at]) for x in beside)), TensorType(type.dtype, ()))
        return out

    # What equals a term

    def _followed(self, i: int, f: Form) -> int:
        """A term equal to term i, made of numbers where they are known; i itself if only its own numbers are."""
        type, args = self.g.types[i], tuple(self.instead[a] for a in f.args)
        found: Numbers | None = None
        if f.kind == "delay" and f.state in self._states:
            found = self._of_state(f, args[0], type)
        elif f.kind == "hold" and args[0] in self.of:
            found = self._each(type, lambda x: f._replace(args=(x,)), self.of[args[0]])
        elif isinstance(f.operator, Op) and _few(type.shape):
            found = self._applied(f.operator, args, type)
        if found is None:
            args = tuple(self._term(a) for a in args)
            return i if args == f.args else self._new(f._replace(args=args), type)
        if found.ndim:
            self.of[i] = found
            return i
        if i != int(found):
            self._same[i, int(found)] = None
        return int(found)

    def _term(self, x: int) -> int:
        """A term as a whole: an array of known numbers is the stack of these."""
        if x not in self.of:
            return x
        found = self._whole(self.of[x], self.g.types[x])
        if found != x:
            self._same[x, found] = None
        return found

    def _of_state(self, f: Form, init: int, type: TensorType) -> Numbers:
        """The states of the numbers of a state, each with the initial rows of its place in the array."""
        out = np.copy(self._states[f.state])
        for at, state in np.ndenumerate(out):
            start = self._part(init, (FULL, *at))
            out[at] = self._new(f._replace(args=(start,), state=int(state)), TensorType(type.dtype, ()))
        return out

    def _applied(self, op: Op, args: Sequence[int], type: TensorType) -> Numbers | None:
        """The numbers of an operator's result, if they are known one by one; else None."""
        if op.name in ARRANGING:
            return self._arranged(op, args, type)
        types = [self.g.types[a] for a in args]
        if not any(a in self.of for a in args) or not all(_few(t.shape) for t in types):
            return None
        if op.spec.batch is elementwise:
            return self._by_element(op, args, type)
        if type.dtype in FLOATS and {t.dtype for t in types} == {type.dtype}:
            return self._added(op, [self._numbers(a) for a in args], type)
        return None

    def _by_element(self, op: Op, args: Sequence[int], type: TensorType) -> Numbers | None:
        """The numbers of the result of an elementwise operator on arrays of few numbers; else None."""
        types = [self.g.types[a] for a in args]
        if op.spec.batch is not elementwise or not all(_few(t.shape) for t in types):
            return None
        one = op.infer(*(Operand(t.dtype, ()) for t in types))
        alike = one == TensorType(type.dtype, ()) and (op.batch_exact(type.dtype) or self._loosen())
        return self._each(type, partial(_applied, op), *map(self._numbers, args)) if alike else None

    def _loosen(self) -> bool:
        """Whether numbers may be equal up to rounding; if so, all are from now on."""
        self.g.loose_numbers |= self._loosely
        return self._loosely

    def _arranged(self, op: Op, args: Sequence[int], type: TensorType) -> Numbers | None:
        """The numbers of an operator that arranges those of other arrays, found by what it does to their places."""
        data, rest = args[: count_of_data(op, len(args))], args[count_of_data(op, len(args)) :]
        types = [self.g.types[a] for a in data]
        known = any(a in self.of for a in data) or not any(t.ndim for t in types) or op.name == "setitem"
        if not known or not all(_few(t.shape) and t.dtype == type.dtype for t in types):
            return None
        values = [v for a in rest if (v := self._value(a)) is not None]
        found = arranged(op, [*map(self._numbers, data)], values) if len(values) == len(rest) else None
        if found is None or found[0].shape != type.shape:
            return None
        there, more = found
        out = there.copy()
        for at in np.argwhere(more >= 0):
            out[*at] = self._apply(Op.make("add"), int(there[*at]), int(more[*at]))
        return out

    def _added(self, op: Op, numbers: Sequence[Numbers], type: TensorType) -> Numbers | None:
        """The numbers of a sum, product or mean along axes, or of a product of matrices; else None."""
        if op.name in ("dot", "matmul") and self._loosen():
            x, y = numbers
            rows, columns = x.reshape(-1, x.shape[-1]), y.reshape(len(y), -1).T
            found = [
                self._joined("add", [self._joined("multiply", xy) for xy in zip(row, column, strict=True)])
                for row in rows
                for column in columns
            ]
        elif op.name in ("mean", "prod", "sum") and "dtype" not in op.options and self._loosen():
            (x,), axes = numbers, op.options["axis"]
            axes = range(x.ndim) if axes is None else axes
            rows = np.moveaxis(x, axes, range(len(axes))).reshape(prod(x.shape[k] for k in axes), -1)
            found = [self._joined("multiply" if op.name == "prod" else "add", column) for column in rows.T]
            if op.name == "mean":
                count = np.array(len(rows), type.dtype)
                found = [self._apply(Op.make("divide"), x, self._constant(count, self._clock(x))) for x in found]
        else:
            return None
        return np.array(found).reshape([n or 0 for n in type.shape])

    def _joined(self, name: str, numbers: Iterable[Any]) -> int:
        """The term of the numbers, added up or multiplied from first to last."""
        found: int = reduce(lambda x, y: self._apply(Op.make(name), int(x), int(y)), numbers)
        return found

    def _value(self, x: int) -> np.ndarray[Any, Any] | None:
        """The value of a small term that is made of constants and known lengths; else None."""
        f = self._order[x]
        if f.kind == "const":
            return self.g.consts[f.key]
        if f.kind == "hold":
            return self._value(f.args[0])
        if not isinstance(f.operator, Op) or not _few(self.g.types[x].shape):
            return None
        if f.operator.name == "shape_i":
            n = self.g.types[f.args[0]].shape[int(f.operator.options["axis"])]
            return None if n is None else np.array(n)
        values = [v for a in f.args if (v := self._value(a)) is not None]
        able = f.operator.name in _COUNTING and len(values) == len(f.args)
        return np.asarray(f.operator.bind()(*values)) if able else None


_COUNTING = {"add", "arange", "cast", "multiply", "negative", "stack", "subtract"}
"""Operators of which indices are made."""


def _index(part: Form) -> tuple[Any, ...]:
    assert isinstance(part.operator, Op)
    index: tuple[Any, ...] = part.operator.options["index"]
    return index


def _applied(op: Op, *args: int) -> Form:
    return Form("apply", args, operator=op)
