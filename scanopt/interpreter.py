"""The reference interpreter: a symbolic graph run as it was written, one NumPy call per operator.

Nothing is optimized, no loop is transformed: what this computes is what a program means, and every
optimized program is compared with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from time import perf_counter
from typing import Any

import numpy as np

from scanopt.array.abstract import concrete, concrete_shape
from scanopt.array.misfits import axis_named
from scanopt.array.numerics.c_order import laid_out
from scanopt.array.op import Op
from scanopt.array.shapes import axes_text
from scanopt.array.types import TensorType, array_of
from scanopt.array.variable import Apply, Constant, Node, SharedVariable, Variable, describe
from scanopt.loops.effects import CheckError
from scanopt.loops.failures import note_node
from scanopt.loops.graph import is_lazy, refuse_stray, schedule
from scanopt.loops.heap import Waiting, on_the_heap
from scanopt.loops.node import MitSot, Scan, State, wrong_rows
from scanopt.loops.profile import scan_profile
from scanopt.loops.shapes import changed_shape, other_rows, step_shapes
from scanopt.loops.site import show
from scanopt.records import dataclass

__all__ = ["interpret", "read_value"]

Array = np.ndarray[Any, Any]
Env = dict[Variable, Array]

_WIDE = {"f": np.longdouble, "c": np.clongdouble}


def read_value(variable: Variable, value: Any) -> Array:
    """`value` as an array of the variable's type.

    Arrays must have its dtype or one that converts to it without loss; lists and Python numbers
    convert where no value changes.  Raises TypeError for another dtype or number of axes,
    ValueError for another length of an axis.

    >>> read_value(Variable(TensorType("float32", (None,)), "x"), [1, 2])
    array([1., 2.], dtype=float32)
    """
    if isinstance(value, Variable):
        raise TypeError(f"the value of {describe(variable)} is symbolic: {describe(value)}")
    try:
        data = array_of(value)
    except TypeError as error:
        raise TypeError(f"the value of {describe(variable)}: {error}") from None
    except ValueError as error:
        raise TypeError(f"the value of {describe(variable)} is not an array of numbers: {error}") from None
    if data.dtype.kind not in "biufc":
        raise TypeError(f"the value of {describe(variable)} is not an array of numbers: {show(value)}")
    found = TensorType(data.dtype.name, data.shape)
    data = _cast(variable, value, data)
    if data.ndim != variable.ndim:
        raise TypeError(f"{describe(variable)} needs {axes_text(variable.ndim)}, found {found}")
    if not variable.type.accepts(TensorType(data.dtype.name, data.shape)):
        lengths = [*zip(variable.type.shape, data.shape, strict=True)]
        axis = next(i for i, (n, m) in enumerate(lengths) if n not in (None, m))
        where = f"{axis_named(axis, variable.axes)} has length {data.shape[axis]}, not {variable.type.shape[axis]}"
        raise ValueError(f"{describe(variable)} got an array of another shape: {found}: {where}")
    return data


def _cast(variable: Variable, value: Any, data: Array) -> Array:
    if data.dtype == variable.dtype:
        return data
    if np.can_cast(data.dtype, variable.dtype, "safe"):
        return data.astype(variable.dtype)
    if type(value) is float and value.is_integer():  # a number that someone wrote as 3.0
        data = np.asarray(int(value))
        value = int(value)
    if not isinstance(value, np.ndarray | np.generic) and np.can_cast(
        data.dtype, variable.dtype, "unsafe" if data.dtype.kind in "bi" else "same_kind"
    ):
        with np.errstate(all="ignore"):
            cast = data.astype(variable.dtype)
        if data.dtype.kind in "fc" or np.array_equal(cast, data):
            return cast
    raise TypeError(
        f"{describe(variable)} got an array of dtype {data.dtype.name}, which may lose values "
        f"as {variable.dtype}: write .astype({variable.dtype!r}) if that is meant"
    )


def interpret(
    outputs: Any,
    inputs: Mapping[Variable, Any] | Iterable[tuple[Variable, Any]] = (),
    *,
    extended: bool = False,
    profiled: bool = False,
) -> Any:
    """The values of `outputs` (a variable or a list of them), computed exactly as written.

    inputs: values of the input variables, as a dict or as pairs; shared variables have their own.
    extended: compute floats in long double, to measure the rounding of other programs.
    profiled: collect the times of all loops, not only of those with a profile of their own.
    Returns new arrays of the outputs' dtypes (long double with `extended`), a list for a list.
    Raises TypeError, ValueError for inputs that do not fit or are missing; what operators raise;
    ValueError where a loop's requirements are not met, or a state changes its shape.

    >>> from scanopt import scan, tensor as T
    >>> x = T.vector("x", "float64")
    >>> interpret(scan(lambda x, s: s + x, x, outputs_info=0.0)[0], {x: [1.0, 2.0]})
    array([1., 3.])
    """
    many = isinstance(outputs, list | tuple)
    wanted: list[Any] = list(outputs) if many else [outputs]
    for v in wanted:
        if not isinstance(v, Variable):
            raise TypeError(f"interpret computes symbolic arrays, found {v!r}")
    machine = _Machine(extended, profiled)
    env: Env = {}
    for variable, value in dict(inputs).items():
        if not isinstance(variable, Variable):
            raise TypeError(f"inputs are keyed by symbolic arrays, found {variable!r}")
        env[variable] = machine.widen(read_value(variable, value))
    with np.errstate(all="ignore"):
        values = machine.run(wanted, env)
    copies = [np.array(v) for v in values]
    return copies if many else copies[0]


@dataclass
class _Machine:
    """One run: its options, and the order of computation of each loop's step, found once."""

    extended: bool
    profiled: bool = False
    orders: dict[Scan, list[Node]] = field(default_factory=dict[Scan, list[Node]])

    def widen(self, value: Array) -> Array:
        """The value in the dtype that is computed in: long double with `extended`."""
        wide = _WIDE.get(value.dtype.kind) if self.extended else None
        return value if wide is None else value.astype(wide)

    def leaf(self, v: Variable) -> Array:
        """The value of a variable that no node makes."""
        if isinstance(v, Constant):
            return self.widen(v.data)
        if isinstance(v, SharedVariable):
            return self.widen(v.get_value(borrow=True))
        refuse_stray([v])
        raise ValueError(f"no value is given for the input {describe(v)}")

    def run(self, outputs: list[Variable], env: Env, order: list[Node] | None = None) -> list[Array]:
        """Compute `outputs`, adding all values on the way to `env`."""
        return on_the_heap(self.values(outputs, env, order))

    def values(self, outputs: list[Variable], env: Env, order: list[Node] | None = None) -> Waiting[list[Array]]:
        """The same as a generator that yields nested computations, which `on_the_heap` runs."""
        node: Node | None = None
        try:
            for node in schedule(outputs, env, lazy=True) if order is None else order:
                if isinstance(node, Scan):
                    env.update(zip(node.outputs, (yield self.scan(node, env)), strict=True))
                elif is_lazy(node):
                    chosen = node.inputs[1 if self.value(node.inputs[0], env) else 2]
                    (env[node.outputs[0]],) = yield self.values([chosen], env)
                elif isinstance(node, Apply):
                    args = [self.value(x, env) for x in node.inputs]
                    env[node.outputs[0]] = self.apply(node, args)
                else:
                    raise TypeError(f"no way to run a {type(node).__name__}")
        except Exception as error:
            note_node(error, node, env)
            raise
        return [self.value(v, env) for v in outputs]

    def value(self, v: Variable, env: Env) -> Array:
        """The value of `v`: from `env`, or that of a leaf."""
        return env[v] if v in env or v.owner is not None else env.setdefault(v, self.leaf(v))

    def apply(self, node: Apply, args: list[Array]) -> Array:
        """Apply one operator, and check its result against the type in the graph."""
        if self.extended:
            return self.widen(_extended(node.op, args))
        result = np.asarray(node.op.bind(np)(*laid_out(node.op, args)))
        expected = node.outputs[0].type
        found = TensorType(result.dtype.str, result.shape)  # NumPy puts `name` together each time
        if not expected.accepts(found):
            raise AssertionError(f"{node.op} computed {found}, but its entry in the operator table infers {expected}")
        return result

    def scan(self, node: Scan, env: Env) -> Waiting[list[Array]]:
        """Run a loop; return its outputs."""
        for requirement in node.requires:
            self.value(requirement.check, env)
        steps = int(self.value(node.n_steps, env))
        for m in node.mit_mots:
            if not m.fits(rows := len(self.value(m.buffer_outer, env)), steps):
                raise wrong_rows(node, m, rows, steps)
        loop, done, in_step, start = _Loop(self, node, env), 0, 0.0, perf_counter()
        stop = False
        while done < steps and not stop:
            before = perf_counter()
            try:
                stop = yield from loop.step(done)
            except CheckError as error:
                error.in_step(done)
                raise
            in_step += perf_counter() - before
            done += 1
        traces = [np.stack(rows) for rows in loop.rows] if done else self._no_rows(node, env)
        if title := node.title if self.profiled else node.profile:
            scan_profile(title).record(steps=done, in_step=in_step, total=perf_counter() - start)
        return traces + loop.buffers

    def _no_rows(self, node: Scan, env: Env) -> list[Array]:
        """The traces of a loop that runs no step."""
        known = {v: self.value(v, env).astype(v.dtype, copy=False) for v in node.inputs}
        shapes = step_shapes(node, {v: concrete(x) for v, x in known.items()})
        types = zip(shapes, node.traced, strict=True)
        return [self.widen(np.empty((0, *concrete_shape(s)), v.dtype)) for s, v in types]

    def order(self, node: Scan) -> list[Node]:
        """The order of computation of one step."""
        if node not in self.orders:
            self.orders[node] = schedule(node.inner_outputs, node.inner_inputs, lazy=True)
        return self.orders[node]


class _Loop:
    """A loop while it runs: its buffers, the past of its states and the rows of its traces."""

    def __init__(self, machine: _Machine, node: Scan, env: Env) -> None:
        self.machine, self.node = machine, node
        self.states, self.traced, self.computed = node.states, node.traced, list(node.inner_outputs)
        self.sequences = [(s.u_inner, machine.value(s.u_outer, env)) for s in node.sequences]
        self.held: Env = {s.w_inner: machine.value(s.w_outer, env) for s in node.non_sequences}
        self.buffers = [np.array(machine.value(m.buffer_outer, env)) for m in node.mit_mots]
        self.past = [self._start(s, machine.value(s.init_outer, env)) for s in self.states]
        self.rows: list[list[Array]] = [[] for _ in self.traced]

    @staticmethod
    def _start(state: State, init: Array) -> list[Array]:
        """The rows of a state before the first step, oldest first."""
        return list(init) if isinstance(state, MitSot) else [init]

    def reads(self, t: int) -> Env:
        """The values of all variables that step `t` reads."""
        env: Env = {inner: np.asarray(x[t]) for inner, x in self.sequences}
        env.update(self.held)
        for m, buffer in zip(self.node.mit_mots, self.buffers, strict=True):
            for tap, v in zip(m.in_taps, m.input_states, strict=True):
                env[v] = np.array(buffer[t + tap - m.low])  # a copy: the row may be written later
        for state, past in zip(self.states, self.past, strict=True):
            for tap, v in zip(state.taps, state.input_states, strict=True):
                env[v] = np.asarray(past[tap])
        return env

    def step(self, t: int) -> Waiting[bool]:
        """Run step t; whether the loop ends after it."""
        node, env = self.node, self.reads(t)
        yield self.machine.values(self.computed, env, self.machine.order(node))
        values = [self.machine.value(v, env) for v in self.traced]
        self._check_shapes(t, values)
        self._write(t, env)
        for rows, value in zip(self.rows, values, strict=True):
            rows.append(np.asarray(value))
        for past, value in zip(self.past, values, strict=False):
            past.append(np.asarray(value))
        return node.until is not None and bool(self.machine.value(node.until, env))

    def _write(self, t: int, env: Env) -> None:
        """Write the results of step `t` into the mit-mot buffers."""
        for m, buffer in zip(self.node.mit_mots, self.buffers, strict=True):
            for tap, v in zip(m.out_taps, m.output_states, strict=True):
                value = self.machine.value(v, env)
                if np.shape(value) != buffer.shape[1:]:
                    raise other_rows(self.node, m, buffer.shape[1:], np.shape(value))
                buffer[t + tap - m.low] = value

    def _check_shapes(self, t: int, values: list[Array]) -> None:
        for i, (rows, value) in enumerate(zip(self.rows, values, strict=True)):
            before = self.past[i][-1] if i < len(self.past) else rows[-1] if rows else value
            if np.shape(before) != np.shape(value):
                raise changed_shape(self.node, i, np.shape(before), np.shape(value), t)


def _extended(op: Op, args: list[Array]) -> Array:
    """An operator on long doubles, or on doubles where NumPy has no other form of it."""
    wide = {"float16": "longdouble", "float32": "longdouble", "float64": "longdouble",
            "complex64": "clongdouble", "complex128": "clongdouble"}  # fmt: skip
    options = {k: wide.get(p, p) if isinstance(p, str) else p for k, p in op.params}
    try:
        return np.asarray(Op.make(op.name, **options).bind(np)(*args))
    except (TypeError, ValueError, NotImplementedError):  # an error caused by the values is raised again below
        narrow = {np.dtype(np.longdouble): np.float64, np.dtype(np.clongdouble): np.complex128}
        return np.asarray(op.bind(np)(*(a.astype(narrow.get(a.dtype, a.dtype)) for a in args)))
