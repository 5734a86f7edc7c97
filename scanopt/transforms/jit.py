"""jit: a Python function of arrays, traced and compiled at its first call for each kind of arguments."""

from __future__ import annotations

import functools
import inspect
import types
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import field
from difflib import get_close_matches
from threading import RLock
from typing import Any

from scanopt.array.constants import as_variable
from scanopt.array.types import TensorType
from scanopt.array.variable import SharedVariable, Variable
from scanopt.compilation.compiled_function import Function
from scanopt.compilation.function import function
from scanopt.forks import lock, once
from scanopt.loops.frozen import generators, warn_if_traced
from scanopt.loops.graph import leaves, refuse_stray
from scanopt.loops.location import user_location
from scanopt.loops.site import Site, show
from scanopt.loops.tracing import attached, collecting, pending
from scanopt.loops.trees import rebuilt, tree_leaves
from scanopt.records import dataclass
from scanopt.transforms.calls import CallArguments, Statics, Symbolic, leaf_type, signature_of, title
from scanopt.transforms.compiled_calls import CompiledCalls

__all__ = ["Jitted", "Traced", "as_results", "jit"]

_MINE = ("inputs", "outputs", "updates", "givens", "example", "on_unused_input")
"""Options of `function` that users may not give: they follow from the Python function."""

_WITHOUT_EFFECT = ("donate_argnums", "donate_argnames", "inline", "keep_unused")
"""Options of `jax.jit` that are accepted but have no effect."""


def as_results(f: Callable[..., Any], results: Any) -> Any:
    """The structure of results with all leaves as variables.  Raises TypeError for a leaf that is no array."""
    feed = [_result(f, path, x) for path, x in tree_leaves(results, "result")]
    return rebuilt(results, iter(feed).__next__)


def _result(f: Callable[..., Any], path: str, x: Any) -> Variable:
    try:
        if isinstance(x, str | bytes) or callable(x):
            raise TypeError
        return as_variable(x)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(
            f"{path} of {title(f)} is {show(x)}, which is not an array: a traced function returns arrays, tuples, "
            "lists and dicts of them"
        ) from None


@dataclass(frozen=True, eq=False)
class Traced:
    """A Python function traced into a graph: its inputs and its results.

    inputs: a variable for each array among the arguments, named by its path.  result: variables in the structure that
    the function returned.  options: those of `function`.
    """

    name: str
    inputs: list[Variable]
    result: Any
    options: dict[str, Any] = field(default_factory=dict[str, Any])

    @property
    def outputs(self) -> list[Variable]:
        """The leaves of the result."""
        return [x for _, x in tree_leaves(self.result, "result")]

    @property
    def types(self) -> Any:
        """The types of the results, in their structure."""
        return rebuilt(self.result, iter([x.type for x in self.outputs]).__next__)

    @once
    def _function(self) -> Function:
        return function(self.inputs, self.outputs, on_unused_input="ignore", **{"name": self.name, **self.options})

    def compile(self) -> Function:
        """The compiled function: it takes the arrays among the arguments one by one and returns a list of results."""
        return self._function

    def as_text(self) -> str:
        """The program as text."""
        return str(self.compile().program)

    def packed(self, values: list[Any]) -> Any:
        """Values of the outputs in the structure of the result."""
        return rebuilt(self.result, iter(values).__next__)


def traced(call: CallArguments, arrays: list[Any], options: dict[str, Any], exact: bool) -> Traced:
    """Trace a call into a graph.  arrays: those among its arguments.  Errors get a note on what was traced."""
    inputs = [Variable(_type(x, exact), path) for path, x in zip(call.paths, arrays, strict=True)]
    for v in inputs:
        v.only_in = f"{title(call.f)} while that is traced"
    before = generators(call.f)
    try:
        with collecting() as asked:
            results = call.traced(inputs)
    except Exception as error:
        given = ", ".join(f"{v.name} {v.type}" for v in inputs)
        error.add_note(f"while tracing {title(call.f)} with {given or 'no arrays'}")
        raise
    warn_if_traced(Site("jit", user_location()), title(call.f), call.f, before)
    return Traced(title(call.f), inputs, attached(as_results(call.f, results), asked), options)


def _type(x: Any, exact: bool) -> TensorType:
    found = leaf_type(x)
    assert found is not None
    return TensorType(found.dtype, tuple(x.shape)) if exact and found.ndim else found


@dataclass(eq=False)
class _Entry:
    """The cache entry for one kind of arguments; held: a lock held while they are traced and compiled.

    traced: None if the function reads symbolic arrays that are not among its arguments, so that it has no value.
    """

    held: RLock = field(default_factory=lock)
    made: bool = False
    traced: Traced | None = None


class Jitted(CompiledCalls):
    """A Python function of arrays that is traced and compiled at its first call for each kind of arguments.

    Threads may call it at the same time.  With symbolic arguments, and while another function is traced, it is the
    Python function itself.
    """

    def __init__(
        self, f: Callable[..., Any], static_argnums: Any, static_argnames: Any, exact: bool, size: int, options: Any
    ) -> None:
        functools.update_wrapper(self, f)
        self._f, self._options, self._exact, self._size = f, options, exact, size
        self._signature = signature_of(f)
        self._statics = Statics.of(f, static_argnums, static_argnames)
        self._entries: OrderedDict[Hashable, _Entry] = OrderedDict()
        self._lock = lock(whole=True)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The results, as arrays in the structure that the function returns."""
        if pending() is not None:
            return self._f(*args, **kwargs)
        call = self._call(args, kwargs)
        try:
            key, arrays = call.key(self._exact)
        except Symbolic:
            return self._f(*args, **kwargs)
        found = self._traced(call, key, arrays)
        if found is None:
            return self._f(*args, **kwargs)
        return found.packed(found.compile()(*arrays))

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __reduce__(self) -> str:
        return str(getattr(self, "__qualname__", ""))  # pickled by name, as functions are

    def __repr__(self) -> str:
        return f"<jit of {title(self._f)}, {len(self._entries)} traced>"

    # Tracing

    def _call(self, args: Any, kwargs: Any) -> CallArguments:
        return CallArguments.of(self._f, self._signature, self._statics, args, kwargs)

    def _traced(self, call: CallArguments, key: Hashable, arrays: list[Any]) -> Traced | None:
        with self._lock:
            entry = self._entries.setdefault(key, _Entry())
            self._entries.move_to_end(key)
            while len(self._entries) > self._size:
                self._entries.popitem(last=False)
        if not entry.made:
            with entry.held:
                if not entry.made:
                    entry.traced, entry.made = self._new(call, arrays), True
        return entry.traced

    def _new(self, call: CallArguments, arrays: list[Any]) -> Traced | None:
        found = traced(call, arrays, self._options, self._exact)
        free = [v for v in leaves(found.outputs, found.inputs) if not isinstance(v, SharedVariable)]
        if free:
            refuse_stray(free)
            return None
        found.compile()
        return found

    def lower(self, *args: Any, **kwargs: Any) -> Traced:
        """The function as a graph, for arguments like these: arrays, or anything with a dtype and a shape.

        Without arguments the graph of the last call.  Raises TypeError if there was none.
        """
        if not args and not kwargs and self._entries:
            with self._lock:
                entry = next(reversed(self._entries.values()))
            found = entry.traced
        else:
            try:
                call = self._call(args, kwargs)
                found = self._traced(call, *call.key(self._exact))
            except Symbolic:
                raise TypeError(f"{title(self._f)} is lowered for arrays, found symbolic ones among them") from None
            except TypeError as error:
                if not args and not kwargs:
                    error.add_note(f"call {title(self._f)} first, or give arguments like those of a call")
                raise
        if found is None:
            raise TypeError(f"{title(self._f)} reads symbolic arrays that are not among its arguments: pass them to it")
        return found

    def compiled(self, *args: Any, **kwargs: Any) -> Function:
        """The compiled function for arguments like these (default: those of the last call), with all that it has.

        It takes the arrays among the arguments one by one and returns a list of results.
        """
        return self.lower(*args, **kwargs).compile()

    def unoptimized(self, *args: Any, **kwargs: Any) -> Any:
        """The same call by the reference interpreter."""
        found = self.lower(*args, **kwargs)
        return found.packed(found.compile().unoptimized(*self._call(args, kwargs).key(self._exact)[1]))

    def clear_cache(self) -> None:
        """Delete all traces and compiled functions."""
        with self._lock:
            self._entries.clear()


def _options(given: dict[str, Any]) -> dict[str, Any]:
    """The options of `function` among those given.  Raises TypeError for others."""
    known = [name for name in inspect.signature(function).parameters if name not in _MINE]
    for name in given:
        if name in _MINE:
            raise TypeError(f"jit takes no {name}: it follows from the function and its arguments")
        if name not in known and name not in _WITHOUT_EFFECT:
            near = get_close_matches(name, [*known, "static_argnums", "static_argnames", "static_shapes"], 1)
            raise TypeError(
                f"jit has no option {name!r}{f'; near: {near[0]}' if near else ''}: it takes those of function"
            )
    return {name: x for name, x in given.items() if name not in _WITHOUT_EFFECT}


def jit(
    f: Callable[..., Any] | None = None,
    *,
    static_argnums: Any = None,
    static_argnames: Any = None,
    static_shapes: bool = False,
    cache_size: int = 128,
    **options: Any,
) -> Any:
    """Compile a Python function of arrays: `jit(f)`, `@jit` or `@jit(fp="exact")`.

    f: takes and returns arrays, numbers, and tuples, lists, dicts, named tuples and dataclasses of them; it may use
        NumPy's functions, `scanopt.tensor`, loops, gradients, and other jitted functions.
    static_argnums, static_argnames: arguments that f gets as they are, by position and by name; it is traced anew
        for each value of them.  Strings, functions and the like are always static.
    static_shapes: trace anew for all shapes, so that lengths are numbers (`range(x.shape[0])`).
    cache_size: how many kinds of arguments are remembered.  options: those of `function` (fp, exclude, cost, ...);
        donate_argnums, donate_argnames, inline and keep_unused are accepted but have no effect.

    f is called once for each structure of arguments, their dtypes and numbers of axes, and which lengths are 1.
    A bare Python float takes the precision of the floating-point arrays among the arguments, if all have the same, else
    it is a float64; integers and truth values have NumPy's dtypes.  Shared variables are read at each call.
    The result has `explain()`, `program()`, `lower()`, `compiled()`, `why_not()`, `unoptimized()`.
    Raises TypeError, ValueError for options and arguments that do not fit, naming them.

    >>> import numpy as np
    >>> @jit
    ... def step(params, x):
    ...     return {"w": params["w"] * x, "b": params["b"] + np.sum(x)}
    >>> step({"w": 2.0, "b": 1.0}, np.array([1.0, 2.0]))
    {'w': array([2., 4.]), 'b': array(4.)}

    Source: `jax.jit`.
    """
    options = _options(options)
    if type(cache_size) is not int or cache_size < 1:
        raise ValueError(f"cache_size must be a number from 1 up, found {show(cache_size)}")
    if f is None:
        return functools.partial(
            jit, static_argnums=static_argnums, static_argnames=static_argnames, static_shapes=static_shapes,
            cache_size=cache_size, **options,
        )  # fmt: skip
    if not callable(f):
        raise TypeError(f"jit takes a Python function of arrays, found {show(f)}")
    if getattr(f, "is_compiled", False):
        raise TypeError(f"jit takes a Python function of arrays, found {show(f)}, which is compiled already")
    return Jitted(f, static_argnums, static_argnames, static_shapes, cache_size, options)
